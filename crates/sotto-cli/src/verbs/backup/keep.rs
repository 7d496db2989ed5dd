//! A backup is made: the server copies its state, and what lies beside images is copied from here.

use super::manifest::{Entry, FILE, Manifest, STATE, TABLES};
use super::{copy, files, private};
use crate::blame;
use crate::failure::{Failure, Result};
use crate::screen::{Screen, units};
use serde_json::{Value, json};
use sotto_catalog::TableName;
use sotto_client::transport::http::{Http, Settings};
use sotto_client::transport::{Request, Transport};
use sotto_db::TableDir;
use sotto_db::epoch::LOCK;
use sotto_server::Config;
use sotto_wire::routes::ADMIN_HEADER;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const EXAMPLE: &str = "\
What it holds: what the server keeps in its state folder (clients' keys, counts of evaluations, spent tokens and the keys that \
they are signed with, its own certificate), and of each table the keys and the small files beside its images (signing.key, \
oprf.key, succession.json, source.json). Images are not in it, unless --images says so: they can be made again from the rows.

The server goes on meanwhile. It copies each database as it is at one moment, into the folder `backup` of its state folder; from \
there this command takes it. A server that does not run has nothing to copy: its state folder can be copied as it is.

A backup holds secret keys. It is for this user alone; keep it as well as the keys themselves. `sotto restore` puts it back.

Example:
  sotto backup /backups/monday tables/people --admin http://127.0.0.1:8081
  sotto backup /backups/monday --config /etc/sotto/sotto.toml";

/// The longest a server may take to copy its state.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Arguments of `sotto backup`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Backup {
    /// The folder to make
    #[arg(value_name = "OUT")]
    out: PathBuf,
    /// Table directories
    #[arg(value_name = "DIR")]
    tables: Vec<PathBuf>,
    /// The server's configuration file: its tables, and its address for operators
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The server's address for operators, if it has state [default: the configuration's]
    #[arg(long, value_name = "URL")]
    admin: Option<String>,
    /// The newest image of each table too
    #[arg(long)]
    images: bool,
}

impl Backup {
    pub(crate) fn run(self, screen: Screen) -> Result<()> {
        if self.out.exists() {
            return Err(Failure::usage(format!("{} is there already", self.out.display()))
                .fix("name a folder that is not there"));
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
        let (dirs, admin) = self.what()?;
        let mut paths = Vec::new();
        if let Some(admin) = &admin {
            paths.extend(state(admin, &next)?);
        }
        let mut tables = Vec::new();
        for dir in &dirs {
            tables.push(self.table(dir, &next, &mut paths)?);
        }
        if paths.is_empty() {
            return Err(Failure::usage("there is nothing to keep")
                .fix("name table directories, --admin of a server with a state folder, or --config"));
        }
        let entries = paths.into_iter().map(|path| Entry::of(&next, path)).collect::<Result<Vec<_>>>()?;
        let bytes = entries.iter().map(|entry| entry.bytes).sum();
        let created = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let manifest = Manifest::new(created, tables, entries);
        let text =
            serde_json::to_vec_pretty(&manifest).map_err(|error| Failure::internal(error.to_string()))?;
        let file = next.join(FILE);
        fs::write(&file, text).map_err(|error| Failure::file("writing", &file, &error))?;
        fs::rename(&next, &self.out).map_err(|error| Failure::file("renaming", &next, &error))?;
        let (out, count) = (self.out.display(), manifest.files.len());
        screen.say(format!(
            "{out}: {count} files, {}; it holds secret keys\n\n\
             next: sotto restore {out} --state DIR --tables DIR, when it is needed",
            units::bytes(bytes)
        ))?;
        screen.report(&json!({ "backup": self.out, "bytes": bytes, "manifest": manifest }))
    }

    /// The tables' folders, and where the server is asked for its state.
    fn what(&self) -> Result<(Vec<PathBuf>, Option<String>)> {
        let (mut dirs, mut admin) = (self.tables.clone(), self.admin.clone());
        if let Some(file) = &self.config {
            if !file.exists() {
                return Err(Failure::missing(format!("there is no file {}", file.display())));
            }
            let config = Config::read(file).map_err(blame::start)?;
            let folder = |table: &sotto_server::TableConfig| {
                let beside = table.path.as_deref().and_then(Path::parent).map(Path::to_owned);
                table.dir.clone().or(beside)
            };
            dirs.extend(config.tables.iter().filter_map(folder));
            if config.state.is_some() && admin.is_none() {
                admin = Some(format!("http://{}", config.admin_listen));
            }
        }
        dirs.sort();
        dirs.dedup();
        Ok((dirs, admin))
    }

    /// What lies beside the images of a table; and the newest of these, if that is asked for.
    fn table(&self, dir: &Path, next: &Path, paths: &mut Vec<String>) -> Result<TableName> {
        let folder = TableDir::open(dir).map_err(blame::db)?;
        let newest = folder.open_latest().map_err(blame::db)?;
        let name = newest.catalog().table.clone();
        let of_newest = format!("epoch-{:08}.", newest.catalog().epoch.0);
        // A folder below is of another table, or a log, which is public.
        let is_kept = |file: &String| match file.starts_with("epoch-") {
            true => self.images && file.starts_with(&of_newest),
            false => file != LOCK && !file.starts_with('.'),
        };
        for file in files(dir)?.into_iter().filter(is_kept) {
            let path = format!("{TABLES}/{name}/{file}");
            if paths.contains(&path) {
                return Err(Failure::usage(format!("two of the directories hold a table {name}"))
                    .fix("make a backup of each"));
            }
            copy(&dir.join(&file), &next.join(&path))?;
            paths.push(path);
        }
        Ok(name)
    }
}

/// Has a server copy its state, and takes the copy.
fn state(admin: &str, next: &Path) -> Result<Vec<String>> {
    let settings = Settings { overall: PATIENCE, ..Settings::default() };
    let http = Http::new(admin, &settings).map_err(|error| blame::client(error.into()))?;
    let mut http = http.speaking(vec![(ADMIN_HEADER, "1".to_owned())]);
    let asked = http.call(&Request::post("/backup".to_owned(), Vec::new(), 1 << 20));
    let answer = asked.map_err(|error| {
        blame::client(error.into())
            .fix("a server that does not run has nothing to copy: copy its state folder as it is, and leave --admin out")
    })?;
    let said: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    if !answer.is_success() {
        let why = said.get("detail").or_else(|| said.get("message")).and_then(Value::as_str);
        return Err(Failure::new(
            crate::exit::Exit::Refused,
            format!("the server did not copy its state: {}", why.unwrap_or("it does not say why")),
        )
        .fix("see its log"));
    }
    let folder = said.get("folder").and_then(Value::as_str).map(PathBuf::from).ok_or_else(|| {
        Failure::new(crate::exit::Exit::Peer, "what the server said is no answer to /backup")
            .fix("check that the address is the operator's, of a server of this version")
    })?;
    let mut paths = Vec::new();
    for file in files(&folder)? {
        let path = format!("{STATE}/{file}");
        copy(&folder.join(&file), &next.join(&path))?;
        paths.push(path);
    }
    Ok(paths)
}
