//! `sotto restore`: the files of a backup, copied back. All are verified against the manifest before
//! anything is written.

use super::manifest::{Manifest, STATE, TABLES, copy, digest, private};
use crate::failure::{Exit, Failure, FileContext, Result};
use crate::screen::Report;
use schemars::JsonSchema;
use serde::Serialize;
use std::fs;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

const EXAMPLE: &str = "\
What was registered or counted after the backup is lost: clients register again by themselves, and \
addresses regain the evaluations that they used since then. Nothing tells which tokens were spent since \
then, so a server that starts with a restored tokens.redb makes new keys: no earlier token is valid, and \
phones fetch new ones, up to the limit of each user.

Existing files are not overwritten without --replace, and none is while a server has the folder open.

Example:
  sotto restore /backups/monday --state /var/lib/sotto --tables /srv/sotto";

/// Arguments of `sotto restore`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
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
        let restored = copies.into_iter().map(|(_, to)| to).collect();
        Ok(Report::new(text, &RestoreReport { restored, created: manifest.created }))
    }
}

/// Files that were restored.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RestoreReport {
    /// Paths of the files.
    restored: Vec<PathBuf>,
    /// Time of the backup, in seconds since 1970.
    created: u64,
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
