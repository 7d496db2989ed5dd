//! `sotto audit`: what anyone can verify of a publisher or a server, and show to others: whether a
//! table's rows are those that its catalog commits to, and the stored evidence against publishers
//! that showed different people different documents.

use crate::connect_args::default_cache;
use crate::download;
use crate::failure::{Failure, FileContext, Result};
use crate::screen::progress::ProgressLine;
use crate::screen::{Report, Screen};
use clap::Subcommand;
use schemars::JsonSchema;
use serde::Serialize;
use sotto_catalog::{Catalog, PublicKey, RowsRoot, SignedCatalog, TableName};
use sotto_client::cache::Cache;
use sotto_core::{Epoch, SchemeEntry};
use sotto_db::{ImageFile, PathKind, TableDir, audit};
use sotto_wire::routes;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EXAMPLE: &str = "\
A catalog commits to the rows of its table by the root of a Merkle tree. `sotto audit rows` reads all rows \
of a directory, or of a server whose rows are public, and computes the root again. A server does the same \
before it serves a table.

A client refuses two catalogs of one epoch under one key, and two forks of a publisher's log, and stores \
both with their signatures. `sotto audit evidence` exports them to files that others can verify, each pair \
with a sentence that says what it proves.

Example:
  sotto audit rows tables/words
  sotto audit rows https://lookup.example --table hints
  sotto audit evidence --out evidence";

/// Arguments of `sotto audit`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Audit {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Compare all rows of a table with the root that its publisher signed
    Rows(AuditRows),
    /// Export evidence of publishers that signed contradicting catalogs or logs
    Evidence(Evidence),
}

impl Audit {
    pub(crate) fn run(self, screen: Screen) -> Result<Report> {
        match self.verb {
            Verb::Rows(verb) => verb.run(screen),
            Verb::Evidence(verb) => verb.run(),
        }
    }
}

/// Arguments of `sotto audit rows`.
#[derive(Debug, clap::Args)]
struct AuditRows {
    /// Directory of a table or stack, or address of a server
    #[arg(value_name = "DIR|URL")]
    target: String,
    /// Table of a server or stack [default: all of a stack]
    #[arg(long, value_name = "NAME")]
    table: Option<TableName>,
    /// Epoch of a table's directory [default: the newest]
    #[arg(long, value_name = "N")]
    epoch: Option<u64>,
    /// Accept only a table signed by this key
    #[arg(long, value_name = "sotto-pk:...")]
    pin: Option<PublicKey>,
}

/// Tables whose rows match what their publisher signed.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AuditReport<'a> {
    audited: Vec<AuditedTable<'a>>,
}

/// A table whose rows match what its publisher signed.
#[derive(Serialize, JsonSchema)]
struct AuditedTable<'a> {
    /// Name of the table.
    table: &'a TableName,
    epoch: Epoch,
    /// Number of rows.
    rows: u64,
    rows_root: RowsRoot,
    /// Public key of the publisher.
    public_key: String,
}

impl AuditRows {
    fn run(self, screen: Screen) -> Result<Report> {
        let bars = screen.bars();
        let audited = match crate::is_url(&self.target) {
            true => vec![self.remote(&bars)?],
            false => self.local(&bars)?,
        };
        bars.finish();
        let tables = audited.iter().map(|(catalog, key)| {
            let Catalog { table, epoch, rows, rows_root, .. } = catalog;
            let public_key = key.to_string();
            let json = AuditedTable { table, epoch: *epoch, rows: *rows, rows_root: *rows_root, public_key };
            (
                format!(
                    "table {table}, epoch {epoch}: all {rows} rows match the signed root {}",
                    rows_root.root
                ),
                json,
            )
        });
        let (lines, audited): (Vec<_>, Vec<_>) = tables.unzip();
        Ok(Report::new(lines.join("\n"), &AuditReport { audited }))
    }

    fn local(&self, bars: &ProgressLine) -> Result<Vec<(Catalog, PublicKey)>> {
        let target = Path::new(&self.target);
        let stack = match PathKind::of(target)? {
            PathKind::Stack(stack) => Some(stack),
            PathKind::Foreign(..) | PathKind::ForeignFile => {
                return Err(Failure::usage("tables of Apple's lookups are not signed and have no root")
                    .fix("compare every byte with the file's digests: `sotto inspect --verify`"));
            }
            _ => None,
        };
        let dirs = match (stack, &self.table) {
            (Some(stack), Some(name)) => vec![stack.table(name)],
            (Some(stack), None) => {
                let (_, document) = stack.read()?;
                document.shards.iter().map(|shard| stack.table(&shard.table)).collect()
            }
            (None, Some(_)) => {
                let text = "--table does not apply to the directory of a table";
                return Err(Failure::usage(text).fix("omit --table"));
            }
            (None, None) => vec![target.to_owned()],
        };
        dirs.iter().map(|dir| self.image(dir, bars)).collect()
    }

    fn image(&self, dir: &Path, bars: &ProgressLine) -> Result<(Catalog, PublicKey)> {
        let dir = TableDir::open(dir)?;
        let image: Arc<ImageFile> = match self.epoch {
            Some(epoch) => dir.open_epoch(Epoch(epoch)),
            None => dir.open_latest(),
        }?;
        let (catalog, key) = (image.catalog(), image.signed_catalog().public_key());
        self.check_key(key)?;
        audit::audit(scheme(catalog)?, &image, &|at| bars.watch(None, at), &|| true)?;
        Ok((catalog.clone(), key))
    }

    /// Audits a server, of which only public rows can be read: streamed ones, and downloads.
    fn remote(&self, bars: &ProgressLine) -> Result<(Catalog, PublicKey)> {
        let Some(name) = &self.table else {
            return Err(Failure::usage("no table of the server is given").fix("give --table NAME"));
        };
        let mut server = download::connect(&self.target, None)?;
        let body = download::catalog(&mut server, &routes::table(name.as_str(), self.epoch.map(Epoch)))?;
        let signed = SignedCatalog::parse(&body)?;
        let catalog = signed.verify(self.pin.as_ref())?;
        let entry = scheme(&catalog)?;
        let Some(rows) = audit::rows_artifact(entry, &catalog) else {
            let text = format!("rows of table {name} are not public");
            return Err(Failure::usage(text)
                .fix("run this on the directory of the table, or look rows up with --require-row-proofs"));
        };
        let path = std::env::temp_dir();
        let mut file = tempfile::tempfile().doing("making a file in", &path)?;
        download::whole(&mut server, rows, bars, &mut |chunk| {
            file.write_all(chunk).doing("writing into", &path)
        })?;
        let watch = |at: sotto_db::Progress| bars.watch(None, at);
        match audit::is_committed(entry, &catalog, &file, &path, &watch)? {
            true => Ok((catalog, signed.public_key())),
            false => Err(Failure::peer(format!(
                "the rows that {} serves for table {name} do not match the signed root",
                self.target
            ))
            .fix("do not use this server, and tell the publisher")),
        }
    }

    fn check_key(&self, found: PublicKey) -> Result<()> {
        match self.pin.filter(|pinned| !pinned.accepts(&found)) {
            Some(pinned) => Err(pinned.refusal(found).into()),
            None => Ok(()),
        }
    }
}

fn scheme(catalog: &Catalog) -> Result<&'static SchemeEntry> {
    sotto_registry::find(&catalog.scheme)
        .ok_or_else(|| Failure::usage(format!("scheme {:?} is not in this build", catalog.scheme)))
}

/// Arguments of `sotto audit evidence`.
#[derive(Debug, clap::Args)]
struct Evidence {
    /// Folder for the exported files; created if missing
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Folder of the client's cache [default: sotto/ in the user's cache folder]
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
}

impl Evidence {
    fn run(self) -> Result<Report> {
        let folder = self.cache.map_or_else(default_cache, Ok)?;
        if !folder.is_dir() {
            return Err(Failure::missing(format!("no such cache: {}", folder.display()))
                .fix("give the cache of `sotto get` with --cache DIR"));
        }
        let all = Cache::open(&folder).and_then(|cache| cache.evidence())?;
        fs::create_dir_all(&self.out).doing("making", &self.out)?;
        let write = |name: &str, bytes: &[u8]| {
            let path = self.out.join(name);
            fs::write(&path, bytes).doing("writing", &path)
        };
        let (mut lines, mut evidence) = (Vec::new(), Vec::new());
        for one in &all {
            let (name, statement) = (one.name(), one.statement());
            let files = [format!("{name}.first"), format!("{name}.other"), format!("{name}.txt")];
            let texts = [one.first.as_slice(), one.other.as_slice(), &[statement.as_bytes(), b"\n"].concat()];
            files.iter().zip(texts).try_for_each(|(name, bytes)| write(name, bytes))?;
            lines.push(format!("{name}: {statement}"));
            evidence.push(EvidenceFiles { publisher: one.publisher.to_string(), files, statement });
        }
        if all.is_empty() {
            lines.push("no evidence in this cache".to_owned());
        }
        let report = EvidenceReport { evidence };
        let text =
            serde_json::to_string_pretty(&report).map_err(|error| Failure::internal(error.to_string()))?;
        write("evidence.json", format!("{text}\n").as_bytes())?;
        Ok(Report::new(lines.join("\n"), &report))
    }
}

/// Evidence against publishers that signed two documents which contradict each other.
#[derive(Serialize, JsonSchema)]
pub(crate) struct EvidenceReport {
    evidence: Vec<EvidenceFiles>,
}

/// Evidence against one publisher.
#[derive(Serialize, JsonSchema)]
struct EvidenceFiles {
    /// Public key of the publisher.
    publisher: String,
    /// Names of the files: the two documents, and the statement.
    files: [String; 3],
    /// What they prove.
    statement: String,
}
