//! Locks of a table's folder: one process writes to it, or several make parts of one epoch.

use super::TableDir;
use crate::files::TEMP_PREFIX;
use crate::{DbError, Result};
use sotto_core::Epoch;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// File name of the lock that a writer holds.
pub const LOCK: &str = "write.lock";

/// Exclusive lock for writing to a folder. It is released on drop, and by the system if the process
/// dies.
#[derive(Debug)]
pub struct WriteLock {
    dir: TableDir,
    _file: File,
}

/// Shared lock for making parts of an existing epoch. It is released like [`WriteLock`].
#[derive(Debug)]
pub struct PartLock(#[expect(dead_code, reason = "the file is locked as long as it is open")] File);

impl TableDir {
    /// Locks the folder for writing, and removes what a killed writer left behind.
    ///
    /// # Errors
    /// [`DbError::Locked`], [`DbError::Io`].
    pub fn lock(&self) -> Result<WriteLock> {
        let lock = WriteLock { dir: self.clone(), _file: self.take(File::try_lock)? };
        lock.remove_leftovers()?;
        Ok(lock)
    }

    /// Locks the folder for making parts of the existing epoch. Several processes may hold this
    /// lock at the same time, but none while another writes.
    ///
    /// # Errors
    /// The errors of [`TableDir::lock`].
    pub fn share(&self) -> Result<PartLock> {
        Ok(PartLock(self.take(File::try_lock_shared)?))
    }

    fn take(&self, lock: fn(&File) -> Result<(), TryLockError>) -> Result<File> {
        let path = self.path.join(LOCK);
        let failed = |e| DbError::io("locking the table's folder", &path, e);
        loop {
            let file =
                OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
            match lock(&file) {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(DbError::Locked { dir: self.path.clone() }),
                Err(TryLockError::Error(e)) => return Err(failed(e)),
            }
            // The lock's holder may have removed the file between opening and locking; such a lock
            // excludes no one.
            if is_at(&file, &path).map_err(failed)? {
                return Ok(file);
            }
        }
    }
}

impl WriteLock {
    /// The folder that is locked.
    pub fn dir(&self) -> &TableDir {
        &self.dir
    }

    /// The epoch to write next.
    ///
    /// # Errors
    /// [`DbError::Io`].
    pub fn next_epoch(&self) -> Result<Epoch> {
        // The number of an epoch of which only a remnant is left was published to clients, so it is
        // not used again.
        let last = self.dir.latest()?.max(self.dir.remnants()?.pop());
        Ok(Epoch(last.map_or(1, |epoch| epoch.0.saturating_add(1))))
    }

    /// Removes unfinished files of dead processes. Only the holder of the lock writes images, so
    /// every unfinished one is of a dead process. A temporary file of rows may be of a process that
    /// is still reading its source; that process keeps it open and loses only the name.
    fn remove_leftovers(&self) -> Result<()> {
        let failed = |e| DbError::io("removing leftovers", &self.dir.path, e);
        let unfinished = self.dir.names()?.into_iter().filter(|name| name.starts_with(TEMP_PREFIX));
        let unfinished = unfinished.map(|name| self.dir.path.join(name));
        // The front is written after the parts, unless these are made one by one.
        let parts = self.dir.parts_in_folder()?.into_iter().filter(|(front, _)| !front.exists());
        unfinished.chain(parts.map(|(_, part)| part)).try_for_each(fs::remove_file).map_err(failed)?;
        self.dir.prune_update_files(self.dir.latest()?)
    }
}

/// Whether `path` still names this file.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let held = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (held.dev(), held.ino())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}
