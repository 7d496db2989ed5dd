//! The manifest of a backup: the size and digest of each file. It is written last, so a folder without
//! one is no backup.

use crate::failure::{Failure, FileContext, Result};
use crate::files;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sotto_catalog::{Hex32, TableName};
use std::fs;
use std::fs::File;
use std::path::{Component, Path};

/// Name of the manifest in a backup.
pub(super) const FILE: &str = "backup.json";
/// Format that a manifest names.
const FORMAT: &str = "sotto-backup/1";
/// Maximum bytes of a manifest: some hundred thousand files.
const MAX_BYTES: u64 = 16 << 20;

/// Folders of a backup; below a stack's name the last two are as in its own folder.
pub(super) const STATE: &str = "state";
pub(super) const TABLES: &str = "tables";
pub(super) const FILES: &str = "files";

/// The manifest of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    /// Name and version of the format.
    format: String,
    /// Time of the backup, in seconds since 1970.
    pub(super) created: u64,
    /// Names of its tables and stacks.
    pub(super) tables: Vec<TableName>,
    /// Entries of its files.
    pub(super) files: Vec<ManifestEntry>,
}

/// A file of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ManifestEntry {
    /// Path below the backup's folder, with `/` between names.
    pub(super) path: String,
    pub(super) bytes: u64,
    /// BLAKE3 digest of the file.
    digest: Hex32,
}

impl Manifest {
    pub(super) fn new(created: u64, tables: Vec<TableName>, files: Vec<ManifestEntry>) -> Self {
        Manifest { format: FORMAT.to_owned(), created, tables, files }
    }

    /// Reads the manifest of a backup, and verifies every file.
    pub(super) fn read(backup: &Path) -> Result<Self> {
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
    pub(super) fn of(backup: &Path, path: String) -> Result<Self> {
        let place = backup.join(&path);
        let (bytes, digest) = digest(&place).doing("reading", &place)?;
        Ok(ManifestEntry { path, bytes, digest })
    }
}

/// The size of a file in bytes, and its digest.
pub(super) fn digest(path: &Path) -> std::io::Result<(u64, Hex32)> {
    let (mut file, mut hasher) = (File::open(path)?, blake3::Hasher::new());
    let bytes = std::io::copy(&mut file, &mut hasher)?;
    Ok((bytes, hasher.finalize().into()))
}

/// Copies a file with its permissions, and syncs it to the disk.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(folder) = to.parent() {
        private(folder)?;
    }
    fs::copy(from, to).doing("copying", from)?;
    let synced = fs::File::open(to).and_then(|file| file.sync_all());
    synced.doing("writing", to)
}

/// Creates a folder for this user alone, if it does not exist, since it contains keys.
pub(super) fn private(folder: &Path) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.doing("making", folder)
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
