//! The manifest of a backup, with the size and digest of each file; and `sotto restore`, which
//! verifies all files against it before anything is written.
//!
//! A manifest is written last, so a folder without one is no backup.

use crate::failure::{Exit, Failure, FileContext, Result};
use crate::files;
use crate::screen::Report;
use crate::verbs::backup::{copy, private};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sotto_catalog::{Hex32, TableName};
use std::fs;
use std::fs::{File, TryLockError};
use std::path::{Component, Path, PathBuf};

/// Name of the manifest in a backup.
pub(crate) const FILE: &str = "backup.json";
/// Format that a manifest names.
const FORMAT: &str = "sotto-backup/1";
/// Maximum bytes of a manifest: some hundred thousand files.
const MAX_BYTES: u64 = 16 << 20;

/// Folders of a backup; below a stack's name the last two are as in its own folder.
pub(crate) const STATE: &str = "state";
pub(crate) const TABLES: &str = "tables";
pub(crate) const FILES: &str = "files";

/// The manifest of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    format: String,
    /// Time of the backup, in seconds since 1970.
    pub(crate) created: u64,
    /// Names of its tables and stacks.
    pub(crate) tables: Vec<TableName>,
    /// Entries of its files.
    pub(crate) files: Vec<ManifestEntry>,
}

/// A file of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ManifestEntry {
    /// Path below the backup's folder, with `/` between names.
    pub(crate) path: String,
    pub(crate) bytes: u64,
    /// BLAKE3 digest of the file.
    pub(crate) digest: Hex32,
}

impl Manifest {
    pub(crate) fn new(created: u64, tables: Vec<TableName>, files: Vec<ManifestEntry>) -> Self {
        Manifest { format: FORMAT.to_owned(), created, tables, files }
    }

    /// Reads the manifest of a backup, and verifies every file.
    pub(crate) fn read(backup: &Path) -> Result<Self> {
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
    pub(crate) fn of(backup: &Path, path: String) -> Result<Self> {
        let place = backup.join(&path);
        let (bytes, digest) = digest(&place).doing("reading", &place)?;
        Ok(ManifestEntry { path, bytes, digest })
    }
}

/// The size of a file in bytes, and its digest.
pub(crate) fn digest(path: &Path) -> std::io::Result<(u64, Hex32)> {
    let (mut file, mut hasher) = (File::open(path)?, blake3::Hasher::new());
    let bytes = std::io::copy(&mut file, &mut hasher)?;
    Ok((bytes, hasher.finalize().into()))
}

const EXAMPLE: &str = "\
What was registered, spent or counted after the backup is lost: clients register again by themselves, \
tokens spent since then can be spent a second time, and addresses regain the evaluations that they used \
since then. To rule out double spending, leave tokens.redb out (--exclude tokens.redb): phones then fetch \
new tokens, and no old token is valid.

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
