//! The operations of a folder that a state needs, behind a trait, so that tests can simulate power
//! loss at every step.

use super::StateError;
use super::metadata::FileFingerprint;
use crate::ClientError;
use crate::cache::CacheError;
use crate::cache::lock::Lock;
use crate::files::{self, StorageBackend};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// Writes the contents of a file.
pub(crate) type WriteFn<'a> = &'a mut dyn FnMut(&mut dyn Write) -> sotto_core::Result<()>;

/// Takes the lock of this name, if it is free.
pub(crate) type LockFn<'a> = &'a dyn Fn(&Path) -> Result<Option<Lock>, CacheError>;

/// A folder of files with plain names.
pub(crate) trait Disk: Send + Sync {
    /// Opens a file that is written in place, and makes it if it does not exist.
    fn open(&self, name: &str) -> io::Result<Box<dyn StorageBackend>>;
    /// Writes a whole file: after a success it is durable; after a crash it has the old contents or
    /// the new.
    fn write(&self, name: &str, fill: WriteFn<'_>) -> sotto_core::Result<()>;
    /// Reads a file from its start; `None` if it does not exist.
    fn read(&self, name: &str) -> io::Result<Option<Box<dyn Read>>>;
    /// Removes a file, if it exists.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// The names of all files.
    fn names(&self) -> io::Result<Vec<String>>;
    /// The fingerprint of a file: which file on which machine.
    fn home(&self, name: &str) -> io::Result<FileFingerprint>;
    /// The path of the folder, for messages.
    fn path(&self) -> PathBuf;
}

/// The error for a failure of the disk or of a scheme.
pub(crate) fn disk_error(disk: &dyn Disk, error: sotto_core::Error) -> ClientError {
    match error {
        sotto_core::Error::Storage(error) => StateError::at(&disk.path(), error).into(),
        error => error.into(),
    }
}

/// A folder of the file system.
pub(crate) struct LockedFolder {
    path: PathBuf,
    _lock: Option<Lock>,
}

/// Name of the file whose lock says that a folder is in use.
const LOCK: &str = "lock";
/// Suffix of a file that is not complete.
const NEW: &str = ".new";

impl LockedFolder {
    /// Opens a folder for one process, until it is dropped. `take_lock` takes its lock, and may wait for
    /// it.
    pub(crate) fn locked(path: &Path, take_lock: LockFn<'_>) -> Result<Self, StateError> {
        let mut folder = LockedFolder::shared(path)?;
        let lock = path.join(LOCK);
        match take_lock(&lock) {
            Ok(Some(held)) => folder._lock = Some(held),
            Ok(None) => return Err(StateError::Busy(path.to_owned())),
            Err(error) => return Err(StateError::at(&lock, io::Error::other(error))),
        }
        Ok(folder)
    }

    /// Opens a folder that other processes may use as well.
    pub(crate) fn shared(path: &Path) -> Result<Self, StateError> {
        files::make_private_folder(path).map_err(|error| StateError::at(path, error))?;
        Ok(LockedFolder { path: path.to_owned(), _lock: None })
    }
}

impl Disk for LockedFolder {
    fn open(&self, name: &str) -> io::Result<Box<dyn StorageBackend>> {
        let path = self.path.join(name);
        let is_new = files::length_at(&path).is_err();
        let file = files::open_private(&path, false)?;
        if is_new {
            files::sync_names(&self.path)?;
        }
        Ok(Box::new(file))
    }

    fn write(&self, name: &str, fill: WriteFn<'_>) -> sotto_core::Result<()> {
        let aside = self.path.join(format!("{name}{NEW}"));
        let mut out = BufWriter::with_capacity(1 << 20, files::open_private(&aside, true)?);
        fill(&mut out)?;
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        files::rename(&aside, self.path.join(name))?;
        Ok(files::sync_names(&self.path)?)
    }

    fn read(&self, name: &str) -> io::Result<Option<Box<dyn Read>>> {
        let file = files::found(files::open(&self.path.join(name)))?;
        Ok(file.map(|file| Box::new(BufReader::with_capacity(1 << 20, file)) as Box<dyn Read>))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        files::remove(&self.path.join(name))
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let all = files::entries(&self.path)?;
        Ok(all.iter().filter_map(|path| path.file_name()?.to_str()).map(str::to_owned).collect())
    }

    fn home(&self, name: &str) -> io::Result<FileFingerprint> {
        FileFingerprint::of(&self.path.join(name))
    }

    fn path(&self) -> PathBuf {
        self.path.clone()
    }
}
