//! `sotto backup`: what cannot be made again from the rows, copied while a server runs. The server
//! copies its state, and the files next to images are copied from here.

mod manifest;
pub(crate) mod restore;

use crate::apple;
use crate::failure::{Exit, Failure, FileContext, Result};
use crate::screen::{Report, units};
use manifest::{FILE, FILES, Manifest, ManifestEntry, STATE, TABLES, copy, private};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use sotto_catalog::TableName;
use sotto_client::transport::http::{HttpSettings, HttpTransport};
use sotto_client::transport::{Request, Transport};
use sotto_core::Epoch;
use sotto_db::epoch::LOCK;
use sotto_db::{PathKind, TableDir};
use sotto_guest_server::GuestConfig;
use sotto_wire::routes::ADMIN_HEADER;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) use restore::Restore;

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
the server is not running, copy its state folder directly, without tokens.redb: put back later, that file \
would let tokens be spent again, while a copy that the server makes says that it is one.

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

/// A backup.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BackupReport<'a> {
    /// Folder of the backup.
    backup: &'a Path,
    /// Bytes of all files.
    bytes: u64,
    manifest: &'a Manifest,
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
        Ok(Report::new(text, &BackupReport { backup: &self.out, bytes, manifest: &manifest }))
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
    let response = http.call(&Request::post("/backup".to_owned(), Vec::new(), 1 << 20));
    let answer = response.map_err(|error| {
        Failure::from(error)
            .fix("start the server; or copy the state folder of a stopped server directly, without tokens.redb, and omit --admin")
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
