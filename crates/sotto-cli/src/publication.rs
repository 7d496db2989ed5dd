//! What verbs that publish have in common. Their arguments: the log that a publisher writes catalogs
//! into, the lifetime of these, and the key that signs them. Checks of the output directory, before
//! another table's epoch is put on top of an existing one; and cleanup after an encoding that failed,
//! which removes the files that it created and nothing else.
//!
//! The next epoch of a table may have other rows. A table that is queried in another way, served by
//! another scheme or made from other columns is most likely meant for another directory, so it
//! requires `--replace`.

use crate::connect_args::duration;
use crate::failure::{Exit, Failure, Result};
use sotto_catalog::{Anchor, BatchAccess, Catalog, SigningKey, TableKind};
use sotto_core::{Compose, SchemeEntry};
use sotto_db::epoch::{KEY, LOCK, OPRF_KEY};
use sotto_db::ingest::{ColumnSelector, SourceLayout};
use sotto_db::{LogUpdate, PathKind, StackDir, TableDir, WriteLock, publish_log};
use sotto_layers::Keyword;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Arguments of every verb that publishes.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct PublishArgs {
    /// Folder of the publisher's log, to add this catalog and later ones to: it exposes a second
    /// catalog of the same epoch. See `sotto log`
    #[arg(long, value_name = "DIR")]
    catalog_log: Option<PathBuf>,
    /// Lifetime of the catalog: 7d, 12h; 0: no limit [default: no limit; for an update, as before]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    expires: Option<Duration>,
    /// State of another system that the table is made from, such as a block of a chain; clients can
    /// demand it (`sotto get --anchor`)
    #[arg(long, value_name = "TEXT")]
    pub(crate) anchor: Option<Anchor>,
    /// Sign with ML-DSA-44 too, which a quantum computer does not break: adds such a key to the file
    /// of the signing key. Later epochs are then signed with both
    #[arg(long)]
    post_quantum: bool,
}

impl PublishArgs {
    /// Sets a log, and nothing else.
    pub(crate) fn with_log(catalog_log: Option<PathBuf>) -> Self {
        PublishArgs { catalog_log, ..PublishArgs::default() }
    }

    /// Whether any of the arguments was given.
    pub(crate) fn is_given(&self) -> bool {
        self.catalog_log.is_some() || self.expires.is_some() || self.anchor.is_some() || self.post_quantum
    }

    /// The lifetime that was given, in seconds.
    pub(crate) fn given_lifetime(&self) -> Option<u64> {
        self.expires.map(|lifetime| lifetime.as_secs())
    }

    /// The lifetime of a new catalog in seconds.
    pub(crate) fn lifetime(&self) -> Option<u64> {
        self.given_lifetime().filter(|lifetime| *lifetime > 0)
    }

    /// Writes everything published in a folder into the log, if there is one.
    pub(crate) fn write(&self, dir: &Path, key: &SigningKey) -> Result<Option<LogUpdate>> {
        Ok(publish_log::publish_to_log(dir, self.catalog_log.as_deref(), key)?)
    }

    /// Writes everything published in a folder into the log, as [`Self::write`] does, with the key
    /// that signed it.
    pub(crate) fn write_with(&self, dir: &Path, key: Option<&Path>) -> Result<Option<LogUpdate>> {
        let folder = TableDir::open(dir)?;
        self.write(dir, &self.signing_key(&folder, key)?)
    }

    /// The key that signs the table in `dir`, with the ML-DSA-44 half that was asked for.
    pub(crate) fn signing_key(&self, dir: &TableDir, path: Option<&Path>) -> Result<SigningKey> {
        let mut rng = sotto_prg::system_rng()?;
        let key = dir.signing_key(path, &mut rng)?;
        if !self.post_quantum {
            return Ok(key);
        }
        let path = path.map_or_else(|| dir.path().join(KEY), Path::to_owned);
        Ok(dir.add_ml_dsa(&path, key, &mut rng)?)
    }
}

/// The line about what was added to a log.
pub(crate) fn log_line(LogUpdate { folder, added, entries }: &LogUpdate) -> String {
    let folder = folder.display();
    format!(
        "log: {added} added, {entries} entries in {folder}; have it cosigned (sotto log cosign {folder} ...)"
    )
}

/// The properties by which tables are told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableIdentity {
    /// The kind of lookups, in words.
    asked_by: String,
    is_symmetric: bool,
    scheme: String,
    /// Names of the columns that the table was made from, if they have names.
    columns: Vec<(&'static str, String)>,
}

/// Roles of columns, one for each part of a line.
const PARTS: [&str; 5] = ["row", "key", "start", "end", "value"];

/// The kind of output for a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    Table,
    Stack,
    Apple,
}

/// Refuses a directory with output of another kind, which would be mixed up with the new one or
/// served in its place.
pub(crate) fn check_kind(out: &Path, output: Output) -> Result<()> {
    let kind = PathKind::of(out)?;
    let holds = match (&kind, output) {
        (PathKind::Stack(_), Output::Table) => "holds a stack, not a table",
        (PathKind::Stack(_), Output::Apple) => "holds a stack, not a table of Apple's lookups",
        (PathKind::Foreign(..), Output::Table) => "holds a table of Apple's lookups",
        (PathKind::Foreign(..), Output::Stack) => "holds a table of Apple's lookups, not a stack",
        (PathKind::Table(dir), Output::Stack) if dir.latest()?.is_some() => "holds a table, not a stack",
        _ => return Ok(()),
    };
    Err(Failure::usage(format!("directory {} {holds}", out.display()))
        .fix("give another directory, or the options that made this one, such as --batch or --apple"))
}

const BY_ROW: &str = "looked up by row number";

fn by_key(form: &str) -> String {
    format!("looked up by key ({form})")
}

fn by_range(key: &impl std::fmt::Debug) -> String {
    format!("looked up by range ({})", format!("{key:?}").to_lowercase())
}

impl TableIdentity {
    /// The identity of a table that is to be encoded.
    pub(crate) fn new(layout: &SourceLayout, is_symmetric: bool, scheme: &SchemeEntry) -> Self {
        let name = |column: &ColumnSelector| match column {
            ColumnSelector::Name(name) => Some(name.clone()),
            ColumnSelector::Number(_) => None,
        };
        let (asked_by, columns) = match layout {
            SourceLayout::Keyword(keyword) => {
                let value = keyword.value.as_ref().and_then(name);
                (by_key(keyword.form.name()), vec![("key", name(&keyword.key)), ("value", value)])
            }
            SourceLayout::Range(range) => {
                let columns = [("start", &range.start), ("end", &range.end), ("value", &range.value)];
                (by_range(&range.key), columns.map(|(part, column)| (part, name(column))).to_vec())
            }
            SourceLayout::Index(index) => {
                let row = index.row.as_ref().and_then(name);
                (BY_ROW.to_owned(), vec![("row", row), ("value", name(&index.value))])
            }
            SourceLayout::Raw { .. } => (BY_ROW.to_owned(), Vec::new()),
        };
        let columns = columns.into_iter().filter_map(|(part, name)| Some((part, name?))).collect();
        TableIdentity { asked_by, is_symmetric, scheme: scheme.id.to_string(), columns }
    }

    /// The identity of the table in a directory. A damaged table is no reason to refuse a new
    /// epoch.
    pub(crate) fn read(out: &Path) -> Result<Option<Self>> {
        let Ok(dir) = TableDir::open(out) else { return Ok(None) };
        let (asked_by, catalog) = match StackDir::find(out) {
            Some(stack) => {
                let (_, document) = stack.read()?;
                let (Some(first), Ok(Some(layers))) = (document.shards.first(), BatchAccess::of(&document))
                else {
                    return Ok(None);
                };
                let table =
                    TableDir::open(&stack.table(&first.table)).and_then(|dir| dir.open_epoch(first.epoch));
                let Ok(image) = table else { return Ok(None) };
                let asked_by = match &layers {
                    BatchAccess::Rows { kind, .. } => asked_by(kind, None),
                    BatchAccess::Keys(Compose(keywords, _)) => {
                        asked_by(&TableKind::Keyword, Some(keywords.keyword()))
                    }
                };
                (asked_by, image.catalog().clone())
            }
            None => {
                let Ok(image) = dir.open_latest() else { return Ok(None) };
                let catalog = image.catalog().clone();
                (asked_by(&catalog.kind, catalog.keyword().ok().flatten().as_ref()), catalog)
            }
        };
        let origin = dir.origin().ok().flatten().unwrap_or_default();
        let columns = PARTS.iter().filter_map(|part| Some((*part, origin.name(part)?.to_owned()))).collect();
        let Catalog { scheme, .. } = &catalog;
        let is_symmetric = catalog.symmetric_layer().is_ok_and(|masked| masked.is_some());
        Ok(Some(TableIdentity { asked_by, is_symmetric, scheme: scheme.clone(), columns }))
    }

    /// Whether this can be the next epoch of the existing table. Columns without names are not
    /// compared.
    pub(crate) fn continues(&self, existing: &TableIdentity) -> bool {
        let same_columns = self.columns.iter().all(|(part, name)| {
            existing.columns.iter().all(|(other, existing)| part != other || name == existing)
        });
        let Self { asked_by, is_symmetric, scheme, .. } = self;
        (asked_by, is_symmetric, scheme) == (&existing.asked_by, &existing.is_symmetric, &existing.scheme)
            && same_columns
    }

    /// The refusal to replace the existing table, of another kind, in a directory.
    pub(crate) fn refusal(&self, out: &Path, existing: &TableIdentity) -> Failure {
        let (dir, there) = (out.display(), existing.text(self));
        let becomes = self.text(&TableIdentity { columns: Vec::new(), ..self.clone() });
        Failure::usage(format!("{dir} holds a table {there}, and its next epoch would be {becomes}"))
            .fix("give another --out, or --replace to replace the existing table")
    }

    /// The identity in words; of columns, those that differ from those of `other`.
    fn text(&self, other: &TableIdentity) -> String {
        let mut text = self.asked_by.clone();
        if self.is_symmetric {
            text += ", symmetric";
        }
        text += &format!(", with scheme {}", self.scheme);
        let columns = self.columns.iter().filter(|column| !other.columns.contains(column));
        let columns: Vec<String> =
            columns.map(|(part, name)| format!("{part} from column `{name}`")).collect();
        if !columns.is_empty() {
            text += &format!(", {}", columns.join(", "));
        }
        text
    }
}

fn asked_by(kind: &TableKind, keyword: Option<&Keyword>) -> String {
    match kind {
        TableKind::Range { key, .. } => by_range(key),
        TableKind::Keyword => by_key(keyword.map_or("text", |keyword| keyword.params().form.name())),
        _ => BY_ROW.to_owned(),
    }
}

/// Refuses a parameter set that the scheme does not have, and names those that it has.
pub(crate) fn check_set(scheme: &SchemeEntry, set: Option<&str>) -> Result<()> {
    let names: Vec<&str> = (scheme.sets)().iter().map(|set| set.name).collect();
    let Some(set) = set.filter(|set| !names.contains(set)) else { return Ok(()) };
    let id = scheme.id;
    Err(match names.as_slice() {
        [] => Failure::new(Exit::Params, format!("{id} has no named parameter sets, so no {set:?}"))
            .fix("omit --set"),
        names => Failure::new(
            Exit::Params,
            format!("{id} has no parameter set {set:?}, only {}", names.join(", ")),
        )
        .fix(format!("give one of these, or omit --set; `sotto schemes {id}` describes each")),
    })
}

/// Runs an encoding into a directory, which is created if it is missing, and locked meanwhile. If the
/// encoding fails, what it created is removed.
pub(crate) fn encode_into<T>(out: &Path, encode: impl FnOnce(&WriteLock) -> Result<T>) -> Result<T> {
    let traces = CreatedFiles::before(out);
    let lock = TableDir::create(out)?.lock()?;
    let traces = traces.locked(&lock);
    encode(&lock).inspect_err(|_| traces.remove(&lock))
}

/// Paths that did not exist before the command.
struct CreatedFiles {
    files: Vec<PathBuf>,
    /// Folders, the innermost first.
    folders: Vec<PathBuf>,
}

impl CreatedFiles {
    /// Records which paths exist.
    fn before(out: &Path) -> Self {
        let above = out.ancestors().filter(|folder| !folder.as_os_str().is_empty());
        let folders = above.take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
        let lock = out.join(LOCK);
        CreatedFiles { files: if lock.exists() { Vec::new() } else { vec![lock] }, folders }
    }

    /// Checks for the keys again once no other process can make them.
    fn locked(mut self, lock: &WriteLock) -> Self {
        let keys = [KEY, OPRF_KEY].map(|key| lock.dir().path().join(key));
        self.files.extend(keys.into_iter().filter(|key| !key.exists()));
        self
    }

    /// Removes what was created since. A key stays as soon as an image may be signed or masked with
    /// it, and one in another place (`--key`) stays in any case: others may use it by now.
    fn remove(self, lock: &WriteLock) {
        if !lock.dir().epochs().is_ok_and(|epochs| epochs.is_empty()) {
            return;
        }
        // The first error is the one to report, not a failed cleanup.
        for file in self.files {
            let _ = fs::remove_file(file);
        }
        for folder in self.folders {
            // Only empty folders are removed.
            let _ = fs::remove_dir(folder);
        }
    }
}
