//! A backup of the state folder, made while the server runs: everything that a server cannot
//! recreate by itself, or not at once.
//!
//! Each database is copied as it is at one moment; other files are written whole or once. A
//! complete backup replaces the previous one, in the folder `backup` of the state folder. Where it
//! goes from there is up to the operator (`sotto backup`).

use crate::database::DatabaseError;
use crate::service::Service;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Name of the backup in the state folder, with a suffix for an incomplete one and for the previous
/// one.
const FOLDER: &str = "backup";
const NEXT: &str = "backup.next";
const BEFORE: &str = "backup.before";

/// Why there is no backup.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BackupError {
    /// The server has no state folder: everything is in memory.
    #[error("no state folder, so the server keeps its state in memory only; give one with --state DIR")]
    NoState,
    /// A database cannot be copied.
    #[error("{file}: {error}")]
    Database {
        /// Name of the database file.
        file: String,
        /// Error of the database.
        error: DatabaseError,
    },
    /// A file or folder cannot be read or written.
    #[error("{}: {error}", .path.display())]
    Disk {
        /// Path of the file or folder.
        path: PathBuf,
        /// Error of the operating system.
        error: io::Error,
    },
}

/// A finished backup.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BackupSummary {
    /// Folder of the backup.
    pub(crate) folder: PathBuf,
    /// Files of the backup, with their sizes in bytes.
    pub(crate) files: Vec<(String, u64)>,
}

/// Copies the state of a server. Blocks on the disk.
pub(crate) fn copy(service: &Service, state: Option<&Path>) -> Result<BackupSummary, BackupError> {
    let state = state.ok_or(BackupError::NoState)?;
    // The times at which keys were last used are written first.
    service.sweep();
    let next = state.join(NEXT);
    remove(&next)?;
    sotto_private_folder::create_private(&next).map_err(at(&next))?;
    for store in service.stores() {
        let file = store.file();
        store
            .copy(&next.join(file))
            .map_err(|error| BackupError::Database { file: file.to_owned(), error })?;
    }
    for entry in fs::read_dir(state).map_err(at(state))? {
        let entry = entry.map_err(at(state))?;
        let (path, to) = (entry.path(), next.join(entry.file_name()));
        if entry.file_type().map_err(at(&path))?.is_file() && !to.exists() && !is_database(&path) {
            // The copy has the same permissions.
            fs::copy(&path, &to).map_err(at(&path))?;
            fs::File::open(&to).and_then(|file| file.sync_all()).map_err(at(&to))?;
        }
    }
    let files = files(&next)?;
    let (folder, before) = (state.join(FOLDER), state.join(BEFORE));
    remove(&before)?;
    if folder.exists() {
        fs::rename(&folder, &before).map_err(at(&folder))?;
    }
    fs::rename(&next, &folder).map_err(at(&next))?;
    fs::File::open(state).and_then(|state| state.sync_all()).map_err(at(state))?;
    remove(&before)?;
    Ok(BackupSummary { folder, files })
}

/// Whether a file is a database. The server copies those that it has open; any other is from
/// another run, with other settings, and is left out.
fn is_database(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "redb")
}

fn files(folder: &Path) -> Result<Vec<(String, u64)>, BackupError> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        let entry = entry.map_err(at(folder))?;
        let bytes = entry.metadata().map_err(at(&entry.path()))?.len();
        files.push((entry.file_name().to_string_lossy().into_owned(), bytes));
    }
    files.sort();
    Ok(files)
}

fn remove(folder: &Path) -> Result<(), BackupError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(folder)(error)),
        _ => Ok(()),
    }
}

fn at(path: &Path) -> impl Fn(io::Error) -> BackupError + '_ {
    |error| BackupError::Disk { path: path.to_owned(), error }
}
