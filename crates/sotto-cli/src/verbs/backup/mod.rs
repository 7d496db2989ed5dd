//! `sotto backup` and `sotto restore`: what cannot be made again from the rows, copied while a
//! server runs, and restored.
//!
//! | module | contents |
//! |---|---|
//! | `manifest` | the manifest of a backup, with a digest of each file |
//! | `create` | creation of a backup |
//! | `restore` | restoring a backup |

mod create;
mod manifest;
mod restore;

pub(crate) use create::Backup;
pub(crate) use restore::Restore;

use crate::failure::{Failure, Result};
use std::fs;
use std::path::Path;

/// Copies a file with its permissions, and syncs it to the disk.
fn copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(folder) = to.parent() {
        private(folder)?;
    }
    fs::copy(from, to).map_err(|error| Failure::file("copying", from, &error))?;
    let synced = fs::File::open(to).and_then(|file| file.sync_all());
    synced.map_err(|error| Failure::file("writing", to, &error))
}

/// Creates a folder for this user alone, if it does not exist, since it contains keys.
fn private(folder: &Path) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| Failure::file("making", folder, &error))
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
