//! `sotto backup`: what cannot be made again from the rows, copied while a server runs. The server
//! copies its state, and the files next to images are copied from here.
//!
//! The manifest of a backup has the size and digest of each file, and is written last, so a folder
//! without one is no backup. `sotto restore` verifies all files against it before anything is written.

use crate::failure::{Exit, Failure, FileContext, Result};
use crate::screen::{Report, units};
use crate::{apple, files};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sotto_catalog::{Hex32, TableName};
use sotto_client::transport::http::{HttpSettings, HttpTransport};
use sotto_client::transport::{Request, Transport};
use sotto_core::Epoch;
use sotto_db::epoch::LOCK;
use sotto_db::{PathKind, TableDir};
use sotto_guest_server::GuestConfig;
use sotto_wire::routes::ADMIN_HEADER;
use std::fs;
use std::fs::{File, TryLockError};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// Copies a file with its permissions, and syncs it to the disk.
fn copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(folder) = to.parent() {
        private(folder)?;
    }
    fs::copy(from, to).doing("copying", from)?;
    let synced = fs::File::open(to).and_then(|file| file.sync_all());
    synced.doing("writing", to)
}

/// Creates a folder for this user alone, if it does not exist, since it contains keys.
fn private(folder: &Path) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.doing("making", folder)
}

/// The names of the files in a folder, sorted; empty if the folder does not exist.
fn files(folder: &Path) -> Result<Vec<String>> {
    let failed = |error| Failure::file("reading", folder, &error);
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        if entry.file_type().map_err(failed)?.is_file() {
            names.extend(entry.file_name().to_str().map(str::to_owned));
        }
    }
    names.sort();
    Ok(names)
}

const EXAMPLE: &str = "\
A backup has the server's state folder (clients' keys, counts of evaluations, spent tokens and the keys \
that sign tokens, the server's own certificate) and, for each table, the keys and small files beside its \
images (signing.key, oprf.key, succession.json, source.json); for a stack also its document and public \
files. It has no images unless --images is given, since they can be encoded again from the rows, and no \
signing key that --signing-key stores elsewhere.

The server keeps running. It copies each database at one moment into the folder `backup` of its state \
folder, and this command takes the copy from there: --state, or the configuration, names that folder. If \
the server is not running, copy its state folder directly.

A backup holds secret keys. Only this user can read it; protect it like the keys themselves. `sotto \
restore` restores it.

Example:
  sotto backup /backups/monday tables/people --admin http://127.0.0.1:8081 --state /var/lib/sotto
  sotto backup /backups/monday --config /etc/sotto/sotto.toml";

/// Folder in a server's state folder that it copies its state into.
const COPY: &str = "backup";

/// Maximum time in which a server has to copy its state.
const MAX_WAIT: Duration = Duration::from_secs(3600);

/// Arguments of `sotto backup`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Backup {
    /// Folder to create
    #[arg(value_name = "OUT")]
    out: PathBuf,
    /// Directories of tables, stacks, or Apple's tables
    #[arg(value_name = "DIR")]
    tables: Vec<PathBuf>,
    /// Server's configuration file, which names its tables and admin address
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Admin address of the server, if it has state [default: from the configuration]
    #[arg(long, value_name = "URL")]
    admin: Option<String>,
    /// State folder of the server on this machine [default: from the configuration]
    #[arg(long, value_name = "DIR", requires = "admin")]
    state: Option<PathBuf>,
    /// Include the newest image of each table
    #[arg(long)]
    images: bool,
}

impl Backup {
    pub(crate) fn run(self) -> Result<Report> {
        if self.out.exists() {
            return Err(Failure::usage(format!("{} already exists", self.out.display()))
                .fix("give a folder that does not exist"));
        }
        let mut next = self.out.clone().into_os_string();
        next.push(".part");
        let next = PathBuf::from(next);
        let begun = fs::remove_dir_all(&next);
        if let Err(error) = begun.as_ref()
            && error.kind() != std::io::ErrorKind::NotFound
        {
            return Err(Failure::file("removing", &next, error));
        }
        private(&next)?;
        let (dirs, from) = self.sources()?;
        let mut paths = Vec::new();
        if let Some((admin, folder)) = &from {
            paths.extend(state(admin, folder, &next)?);
        }
        let mut tables = Vec::new();
        for dir in &dirs {
            tables.push(self.copy_table(dir, &next, &mut paths)?);
        }
        if paths.is_empty() {
            return Err(Failure::usage("nothing to back up")
                .fix("give directories of tables or stacks, --admin of a server with state, or --config"));
        }
        let entries =
            paths.into_iter().map(|path| ManifestEntry::of(&next, path)).collect::<Result<Vec<_>>>()?;
        let bytes = entries.iter().map(|entry| entry.bytes).sum();
        let created = crate::unix_time();
        let manifest = Manifest::new(created, tables, entries);
        let text =
            serde_json::to_vec_pretty(&manifest).map_err(|error| Failure::internal(error.to_string()))?;
        let file = next.join(FILE);
        fs::write(&file, text).doing("writing", &file)?;
        fs::rename(&next, &self.out).doing("renaming", &next)?;
        let (out, count) = (self.out.display(), manifest.files.len());
        let text = format!(
            "{out}: {count} files, {}; it holds secret keys\n\n\
             to restore it: sotto restore {out} --state DIR --tables DIR",
            units::bytes(bytes)
        );
        Ok(Report::new(text, &json!({ "backup": self.out, "bytes": bytes, "manifest": manifest })))
    }

    /// The tables' folders; and the server's admin address, with its state folder.
    fn sources(&self) -> Result<(Vec<PathBuf>, Option<(String, PathBuf)>)> {
        let (mut dirs, mut admin, mut state) = (self.tables.clone(), self.admin.clone(), self.state.clone());
        if let Some(file) = &self.config {
            if !file.exists() {
                return Err(Failure::missing(format!("no such file: {}", file.display())));
            }
            let (config, guests) = GuestConfig::read(file)?;
            // A single file is in its table's folder.
            let folder = |path: &Path| match path.is_file() {
                true => path.parent().map(Path::to_owned),
                false => Some(path.to_owned()),
            };
            let tables = config.tables.iter().flat_map(|table| [&table.dir, &table.path]).flatten();
            let all = tables.chain(&config.stacks).chain(&guests.apple.use_cases);
            dirs.extend(all.filter_map(|path| folder(path)));
            if config.state.is_some() && admin.is_none() {
                admin = Some(format!("http://{}", config.admin_listen));
            }
            state = state.or(config.state);
        }
        dirs.sort();
        dirs.dedup();
        match (admin, state) {
            (Some(_), None) => Err(Failure::usage("--admin needs the server's state folder")
                .fix("give --state, as given to the server")),
            (admin, state) => Ok((dirs, admin.zip(state))),
        }
    }

    /// Copies the files next to the images of a table, or of all tables of a stack, and the newest
    /// image, if that is requested.
    fn copy_table(&self, dir: &Path, next: &Path, paths: &mut Vec<String>) -> Result<TableName> {
        let copying = |name: &TableName| Copying { from: dir, to: next, below: format!("{TABLES}/{name}") };
        match PathKind::of(dir)? {
            PathKind::Stack(stack) => {
                let (_, document) = stack.read()?;
                let copying = copying(&document.stack);
                copying.all("", |file| self.images || !file.ends_with(".rows"), paths)?;
                copying.all(FILES, |_| true, paths)?;
                for shard in &document.shards {
                    let below = format!("{TABLES}/{}", shard.table);
                    copying.all(&below, |file| self.is_kept(file, shard.epoch), paths)?;
                }
                Ok(document.stack)
            }
            PathKind::Foreign(folder, newest) => {
                let opened = apple::open(&newest)?;
                // The name of a use case may not be valid for a folder; then the folder's own name
                // is used.
                let own = folder.path().file_name().and_then(|name| name.to_str()).unwrap_or_default();
                let name = opened.name.parse().or_else(|_| own.parse::<TableName>());
                let name =
                    name.map_err(|error| Failure::usage(error.to_string()).fix("rename the folder"))?;
                copying(&name).all("", |file| self.is_kept(file, Epoch(opened.epoch)), paths)?;
                Ok(name)
            }
            _ => {
                let folder = TableDir::open(dir)?;
                if let Some(stack) = folder.stack() {
                    let (dir, stack) = (dir.display(), stack.path().display());
                    return Err(Failure::usage(format!("{dir} is a table of the stack {stack}"))
                        .fix("give the stack, whose key signs its tables"));
                }
                let newest = folder.open_latest()?;
                let (name, epoch) = (newest.catalog().table.clone(), newest.catalog().epoch);
                copying(&name).all("", |file| self.is_kept(file, epoch), paths)?;
                Ok(name)
            }
        }
    }

    /// Whether a file belongs into the backup, in the folder of a table whose newest epoch is
    /// `newest`.
    fn is_kept(&self, file: &str, newest: Epoch) -> bool {
        match file.starts_with("epoch-") {
            true => self.images && file.starts_with(&format!("epoch-{:08}.", newest.0)),
            false => true,
        }
    }
}

/// A folder whose files are copied, and the destination.
struct Copying<'a> {
    from: &'a Path,
    /// Folder of the backup, and the name in it.
    to: &'a Path,
    below: String,
}

impl Copying<'_> {
    /// Copies the matching files of a folder below. A subfolder belongs to another table, or is a
    /// log, which is public.
    fn all(&self, folder: &str, is_kept: impl Fn(&str) -> bool, paths: &mut Vec<String>) -> Result<()> {
        let from = self.from.join(folder);
        let is_kept = |file: &String| is_kept(file) && file != LOCK && !file.starts_with('.');
        for file in files(&from)?.into_iter().filter(is_kept) {
            let below = if folder.is_empty() { file.clone() } else { format!("{folder}/{file}") };
            let path = format!("{}/{below}", self.below);
            if paths.contains(&path) {
                let name = self.below.trim_start_matches(TABLES).trim_start_matches('/');
                return Err(Failure::usage(format!("two directories have a table {name}"))
                    .fix("back them up separately"));
            }
            copy(&from.join(&file), &self.to.join(&path))?;
            paths.push(path);
        }
        Ok(())
    }
}

/// Makes a server copy its state, and takes the copy from the folder `state`, whatever path the
/// server names.
fn state(admin: &str, state: &Path, next: &Path) -> Result<Vec<String>> {
    let settings = HttpSettings { overall: MAX_WAIT, ..HttpSettings::default() };
    let http = HttpTransport::new(admin, &settings)?;
    let mut http = http.with_headers(vec![(ADMIN_HEADER, "1".to_owned())]);
    let asked = http.call(&Request::post("/backup".to_owned(), Vec::new(), 1 << 20));
    let answer = asked.map_err(|error| {
        Failure::from(error)
            .fix("start the server; or copy the state folder of a stopped server directly, and omit --admin")
    })?;
    let reply: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    if !answer.is_success() {
        let why = reply.get("detail").or_else(|| reply.get("message")).and_then(Value::as_str);
        return Err(Failure::new(
            Exit::Refused,
            format!("the server does not copy its state: {}", why.unwrap_or("no reason given")),
        )
        .fix("see the server's log"));
    }
    let reply = reply.get("folder").and_then(Value::as_str).map(PathBuf::from).ok_or_else(|| {
        Failure::peer("the response to /backup is malformed")
            .fix("check that the address is the admin address of a server of this version")
    })?;
    let folder = state.join(COPY);
    let is_link = fs::symlink_metadata(&folder).is_ok_and(|meta| meta.is_symlink());
    let same =
        reply.canonicalize().ok().zip(folder.canonicalize().ok()).is_some_and(|(one, other)| one == other);
    if is_link || !same {
        let (reply, folder) = (reply.display(), folder.display());
        return Err(Failure::peer(format!("the copy is in {reply}, expected {folder}"))
            .fix("give --state and --admin of the same server"));
    }
    let mut paths = Vec::new();
    for file in files(&folder)? {
        let path = format!("{STATE}/{file}");
        copy(&folder.join(&file), &next.join(&path))?;
        paths.push(path);
    }
    Ok(paths)
}

/// Name of the manifest in a backup.
const FILE: &str = "backup.json";
/// Format that a manifest names.
const FORMAT: &str = "sotto-backup/1";
/// Maximum bytes of a manifest: some hundred thousand files.
const MAX_BYTES: u64 = 16 << 20;

/// Folders of a backup; below a stack's name the last two are as in its own folder.
const STATE: &str = "state";
const TABLES: &str = "tables";
const FILES: &str = "files";

/// The manifest of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    format: String,
    /// Time of the backup, in seconds since 1970.
    created: u64,
    /// Names of its tables and stacks.
    tables: Vec<TableName>,
    /// Entries of its files.
    files: Vec<ManifestEntry>,
}

/// A file of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ManifestEntry {
    /// Path below the backup's folder, with `/` between names.
    path: String,
    bytes: u64,
    /// BLAKE3 digest of the file.
    digest: Hex32,
}

impl Manifest {
    fn new(created: u64, tables: Vec<TableName>, files: Vec<ManifestEntry>) -> Self {
        Manifest { format: FORMAT.to_owned(), created, tables, files }
    }

    /// Reads the manifest of a backup, and verifies every file.
    fn read(backup: &Path) -> Result<Self> {
        let path = backup.join(FILE);
        let text = files::read("reading", &path, MAX_BYTES)?;
        let wrong = |why: String| {
            Failure::input(format!("{}: {why}", path.display())).fix("use another backup, or create it again")
        };
        let manifest: Manifest = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
        if manifest.format != FORMAT {
            return Err(wrong(format!("format is {:?}, expected {FORMAT:?}", manifest.format)));
        }
        for entry in &manifest.files {
            // A path that leads out of the folder was not written here.
            let parts: Vec<_> = Path::new(&entry.path).components().collect();
            let names: Vec<_> = parts.iter().map(|part| part.as_os_str()).collect();
            let is_known = match names.as_slice() {
                [first, _] => *first == STATE,
                [first, _, _] => *first == TABLES,
                [first, _, files, _] => *first == TABLES && *files == FILES,
                [first, _, tables, _, _] => *first == TABLES && *tables == TABLES,
                _ => false,
            };
            if !is_known || !parts.iter().all(|part| matches!(part, Component::Normal(_))) {
                return Err(wrong(format!("{:?} is not a file name of a backup", entry.path)));
            }
            if ManifestEntry::of(backup, entry.path.clone())? != *entry {
                return Err(wrong(format!("{} differs from its digest", entry.path)));
            }
        }
        Ok(manifest)
    }
}

impl ManifestEntry {
    /// The entry of an existing file.
    fn of(backup: &Path, path: String) -> Result<Self> {
        let place = backup.join(&path);
        let (bytes, digest) = digest(&place).doing("reading", &place)?;
        Ok(ManifestEntry { path, bytes, digest })
    }
}

/// The size of a file in bytes, and its digest.
fn digest(path: &Path) -> std::io::Result<(u64, Hex32)> {
    let (mut file, mut hasher) = (File::open(path)?, blake3::Hasher::new());
    let bytes = std::io::copy(&mut file, &mut hasher)?;
    Ok((bytes, hasher.finalize().into()))
}

const RESTORE_EXAMPLE: &str = "\
What was registered, spent or counted after the backup is lost: clients register again by themselves, \
tokens spent since then can be spent a second time, and addresses regain the evaluations that they used \
since then. To rule out double spending, leave tokens.redb out (--exclude tokens.redb): phones then fetch \
new tokens, and no old token is valid.

Existing files are not overwritten without --replace, and none is while a server has the folder open.

Example:
  sotto restore /backups/monday --state /var/lib/sotto --tables /srv/sotto";

/// Arguments of `sotto restore`.
#[derive(Debug, clap::Args)]
#[command(after_help = RESTORE_EXAMPLE)]
pub(crate) struct Restore {
    /// Folder of the backup
    #[arg(value_name = "BACKUP")]
    backup: PathBuf,
    /// Folder to restore the server's state to
    #[arg(long, value_name = "DIR", required_unless_present = "tables")]
    state: Option<PathBuf>,
    /// Folder to restore tables to, each in a folder of the table's name
    #[arg(long, value_name = "DIR")]
    tables: Option<PathBuf>,
    /// File to leave out; repeatable
    #[arg(long, value_name = "FILE")]
    exclude: Vec<String>,
    /// Overwrite existing files
    #[arg(long)]
    replace: bool,
}

impl Restore {
    pub(crate) fn run(self) -> Result<Report> {
        let manifest = Manifest::read(&self.backup)?;
        let mut copies = Vec::new();
        for entry in &manifest.files {
            let Some((kind, rest)) = entry.path.split_once('/') else { continue };
            let to = match kind {
                STATE => self.state.as_ref(),
                TABLES => self.tables.as_ref(),
                _ => None,
            };
            let name = rest.rsplit('/').next().unwrap_or(rest);
            if let Some(to) = to.filter(|_| !self.exclude.iter().any(|file| file == name)) {
                copies.push((self.backup.join(&entry.path), to.join(rest)));
            }
        }
        // An existing identical file is no reason to refuse the rest.
        copies.retain(|(from, to)| !to.exists() || digest(from).ok() != digest(to).ok());
        if let Some((_, existing)) = copies.iter().find(|(_, to)| to.exists() && !self.replace) {
            return Err(Failure::usage(format!("{} exists with different content", existing.display()))
                .fix("move it, or give --replace"));
        }
        for (_, to) in &copies {
            unused(to)?;
        }
        if let Some(state) = &self.state {
            private(state)?;
        }
        for (from, to) in &copies {
            // Written under another name first: the existing file stays until that is complete.
            let mut next = to.clone().into_os_string();
            next.push(".restored");
            let next = PathBuf::from(next);
            copy(from, &next)?;
            fs::rename(&next, to).doing("renaming", &next)?;
        }
        let (count, backup) = (copies.len(), self.backup.display());
        let text = format!("{count} files of {backup} restored\n\nnext: sotto serve, with --state as before");
        let restored: Vec<_> = copies.iter().map(|(_, to)| to).collect();
        Ok(Report::new(text, &json!({ "restored": restored, "created": manifest.created })))
    }
}

/// Refuses files that a server has open: it would continue with files that are gone.
fn unused(path: &Path) -> Result<()> {
    let Ok(file) = File::open(path) else { return Ok(()) };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(Failure::new(Exit::Refused, format!("a server has {} open", path.display()))
                .fix("stop the server first"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_out_of_a_backup_or_was_changed_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let backup = dir.path().join("backup");
        std::fs::create_dir_all(backup.join("state")).unwrap();
        std::fs::write(backup.join("state/a"), "a").unwrap();
        std::fs::write(dir.path().join("b"), "b").unwrap();
        let write = |files: Vec<ManifestEntry>| {
            let manifest = Manifest::new(7, Vec::new(), files);
            std::fs::write(backup.join(FILE), serde_json::to_vec(&manifest).unwrap()).unwrap();
            Manifest::read(&backup)
        };
        let good = ManifestEntry::of(&backup, "state/a".to_owned()).unwrap();
        assert_eq!(write(vec![good.clone()]).unwrap().files, std::slice::from_ref(&good));
        for path in ["../b", "state/../../b", "/b", "state", "b", "", "tables/x/tables/../b", "state/files/b"]
        {
            let entry = ManifestEntry { path: path.to_owned(), ..good.clone() };
            assert!(
                write(vec![entry]).unwrap_err().message.contains("is not a file name of a backup"),
                "{path}"
            );
        }
        std::fs::write(backup.join("state/a"), "c").unwrap();
        assert!(write(vec![good]).unwrap_err().message.contains("differs from its digest"));
    }
}
