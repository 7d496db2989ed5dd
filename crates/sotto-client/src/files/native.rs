//! Files of the operating system.

use super::{FileIdentity, StorageBackend};
use std::fs::{self, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use tempfile::NamedTempFile;

pub(crate) use std::fs::{File, rename};

pub(super) use std::fs::remove_file as remove_one;

/// Files in which a system stores the id of its machine.
const MACHINE: [&str; 2] = ["/etc/machine-id", "/var/lib/dbus/machine-id"];

/// Opens a file for reading.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Opens a file for writing, and makes it if it does not exist.
pub(crate) fn open_to_write(path: &Path) -> io::Result<File> {
    File::options().create(true).write(true).truncate(false).open(path)
}

/// Opens a file for reading and writing, readable for this user alone.
pub(crate) fn open_private(path: &Path, truncate: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.read(true).write(true).create(true).truncate(truncate).open(path)
}

/// A file has one user, so that nobody else moves its offset.
impl StorageBackend for File {
    fn len(&self) -> io::Result<u64> {
        length(self)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut file = self;
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        File::set_len(self, len)
    }

    fn sync_data(&self) -> io::Result<()> {
        File::sync_data(self)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut file = self;
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(data)
    }
}

/// Size of an open file in bytes.
pub(crate) fn length(file: &File) -> io::Result<u64> {
    file.metadata().map(|meta| meta.len())
}

/// Size of the file at `path` in bytes.
pub(crate) fn length_at(path: &Path) -> io::Result<u64> {
    fs::metadata(path).map(|meta| meta.len())
}

/// Whether only its owner can read a file, as far as the system knows.
pub(crate) fn is_private(path: &Path) -> io::Result<bool> {
    fs::metadata(path).map(|meta| is_private_by(&meta))
}

fn is_private_by(meta: &Metadata) -> bool {
    #[cfg(unix)]
    let private = std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o077 == 0;
    #[cfg(not(unix))]
    let private = meta.is_file();
    private
}

/// The identity of an open file.
pub(crate) fn identity(path: &Path) -> io::Result<FileIdentity> {
    let meta = fs::metadata(path)?;
    #[cfg(unix)]
    let (device, inode) = {
        use std::os::unix::fs::MetadataExt;
        (meta.dev(), meta.ino())
    };
    #[cfg(not(unix))]
    let (device, inode) = (0, 0);
    let born = meta.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let born = born.map_or(0, |age| u64::try_from(age.as_nanos()).unwrap_or(u64::MAX));
    Ok(FileIdentity { device, inode, born })
}

/// The id of this machine, if the system has one.
pub(crate) fn machine() -> Option<String> {
    MACHINE.iter().find_map(|file| fs::read_to_string(file).ok())
}

/// The files in a folder.
pub(crate) fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}

/// Makes a folder and its parents for this user alone: the names of the tables that someone uses
/// are private.
pub(crate) use sotto_private_folder::create as make_folder;
/// Makes a folder for this user alone, and refuses an existing one that others can write in.
pub(crate) use sotto_private_folder::create_private as make_private_folder;

/// Makes the names in a folder durable. Only Unix can open a folder; other systems do this by
/// themselves.
pub(crate) fn sync_names(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

/// Replaces a file that only its owner can read. A crash leaves the old contents or the new; once
/// this returns, the new.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Such files have mode 0600 from the start, on systems with modes.
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    sync_names(folder)
}

/// An open lock file. A lock on it ends with the process, or when it is dropped.
pub(crate) type LockFile = File;

/// Opens a lock file, and makes it if it does not exist.
pub(crate) fn open_lock(path: &Path) -> io::Result<LockFile> {
    File::options().create(true).append(true).open(path)
}

/// Tries to take the system's advisory lock on a file. Returns whether it did.
pub(crate) fn try_lock(file: &LockFile) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
