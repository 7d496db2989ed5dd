//! Files that the caller provides, since a browser has no files with blocking calls: see
//! [`set_host_files`].
//!
//! A file is identified by its name, a path as text. There are no folders, no modes and no other
//! processes: the caller decides which programs share the files.

use super::{FileIdentity, StorageBackend};
use std::cell::{OnceCell, RefCell};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Files that a browser's program provides for the client. Every name is a whole path.
pub trait HostFiles {
    /// The size of a file in bytes; [`ErrorKind::NotFound`] if it does not exist.
    fn length(&self, name: &str) -> io::Result<u64>;
    /// Makes an empty file, unless it exists.
    fn make(&self, name: &str) -> io::Result<()>;
    /// Reads bytes from an offset on, and returns how many were read.
    fn read(&self, name: &str, at: u64, out: &mut [u8]) -> io::Result<usize>;
    /// Writes bytes at an offset.
    fn write(&self, name: &str, at: u64, bytes: &[u8]) -> io::Result<()>;
    /// Truncates a file, or extends it with zeros.
    fn set_length(&self, name: &str, bytes: u64) -> io::Result<()>;
    /// Returns once all written bytes are on disk.
    fn sync(&self, name: &str) -> io::Result<()>;
    /// Removes a file, durably.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Renames a file durably, and replaces a file of the new name. A crash leaves the old file or
    /// the new one under it.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// The names of all files.
    fn names(&self) -> io::Result<Vec<String>>;
    /// Blocks for `time`.
    fn pause(&self, time: Duration);
}

thread_local! {
    static GIVEN: OnceCell<Box<dyn HostFiles>> = const { OnceCell::new() };
    /// Names that are locked. All callers are on this thread.
    static LOCKED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Provides the client's files, once. Before that, every file operation fails with
/// [`ErrorKind::Unsupported`]. Returns whether this was the first call.
pub fn set_host_files(files: Box<dyn HostFiles>) -> bool {
    GIVEN.with(|given| given.set(files).is_ok())
}

fn with<T>(work: impl FnOnce(&dyn HostFiles) -> io::Result<T>) -> io::Result<T> {
    GIVEN.with(|given| given.get().map_or_else(|| Err(ErrorKind::Unsupported.into()), |given| work(&**given)))
}

/// Blocks for `time`, if the host can.
pub(crate) fn pause(time: Duration) {
    GIVEN.with(|given| given.get().into_iter().for_each(|given| given.pause(time)));
}

fn name(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// An open file and the offset at which it is read or written next.
#[derive(Debug)]
pub(crate) struct File {
    name: String,
    at: u64,
}

impl File {
    pub(crate) fn set_len(&self, bytes: u64) -> io::Result<()> {
        with(|given| given.set_length(&self.name, bytes))
    }

    pub(crate) fn sync_all(&self) -> io::Result<()> {
        with(|given| given.sync(&self.name))
    }
}

impl Read for File {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = with(|given| given.read(&self.name, self.at, out))?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        with(|given| given.write(&self.name, self.at, bytes))?;
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => length(self)?.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or(ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

impl StorageBackend for File {
    fn len(&self) -> io::Result<u64> {
        length(self)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        match with(|given| given.read(&self.name, offset, out))? {
            read if read == out.len() => Ok(()),
            _ => Err(ErrorKind::UnexpectedEof.into()),
        }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        File::set_len(self, len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.sync_all()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        with(|given| given.write(&self.name, offset, data))
    }
}

/// Opens a file for reading.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    length_at(path).map(|_| File { name: name(path), at: 0 })
}

/// Opens a file for writing, and makes it if it does not exist.
pub(crate) fn open_to_write(path: &Path) -> io::Result<File> {
    open_private(path, false)
}

/// Opens a file for reading and writing. All files belong to this user alone.
pub(crate) fn open_private(path: &Path, truncate: bool) -> io::Result<File> {
    let file = File { name: name(path), at: 0 };
    with(|given| given.make(&file.name))?;
    if truncate {
        file.set_len(0)?;
    }
    Ok(file)
}

/// Size of an open file in bytes.
pub(crate) fn length(file: &File) -> io::Result<u64> {
    with(|given| given.length(&file.name))
}

/// Size of the file at `path` in bytes.
pub(crate) fn length_at(path: &Path) -> io::Result<u64> {
    with(|given| given.length(&name(path)))
}

/// Whether only its owner can read a file. A browser separates the files of different sites.
pub(crate) fn is_private(path: &Path) -> io::Result<bool> {
    length_at(path).map(|_| true)
}

/// The identity of a file, which a browser does not provide.
pub(crate) fn identity(path: &Path) -> io::Result<FileIdentity> {
    length_at(path).map(|_| FileIdentity { device: 0, inode: 0, born: 0 })
}

/// The name of the machine, which a browser does not provide.
pub(crate) fn machine() -> Option<String> {
    None
}

/// All files in a folder and in the folders below.
pub(crate) fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let all = with(|given| given.names())?;
    Ok(all.into_iter().map(PathBuf::from).filter(|path| path.starts_with(folder)).collect())
}

/// Makes a folder, which does nothing here: a folder is a part of a name.
pub(crate) fn make_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Makes a folder for this user alone, which does nothing here: no other user has the files.
pub(crate) fn make_private_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Makes the names in a folder durable, which they are already here.
pub(crate) fn sync_names(_: &Path) -> io::Result<()> {
    Ok(())
}

pub(super) fn remove_one(path: &Path) -> io::Result<()> {
    with(|given| given.remove(&name(path)))
}

/// Renames a file.
pub(crate) fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    with(|given| given.rename(&name(from.as_ref()), &name(to.as_ref())))
}

/// Replaces a file. A crash leaves the old contents or the new.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let aside = PathBuf::from(format!("{}.new", name(path)));
    let mut file = open_private(&aside, true)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    rename(&aside, path)
}

/// A lock that is requested, and held once [`try_lock`] succeeds, until it is dropped.
#[derive(Debug)]
pub(crate) struct LockFile {
    name: String,
    held: AtomicBool,
}

/// Names a lock without taking it.
pub(crate) fn open_lock(path: &Path) -> io::Result<LockFile> {
    Ok(LockFile { name: name(path), held: AtomicBool::new(false) })
}

/// Tries to take a lock. Returns whether it did.
pub(crate) fn try_lock(lock: &LockFile) -> io::Result<bool> {
    let free = LOCKED.with(|locked| {
        let mut locked = locked.borrow_mut();
        let free = !locked.contains(&lock.name);
        if free {
            locked.push(lock.name.clone());
        }
        free
    });
    lock.held.store(free, Ordering::Relaxed);
    Ok(free)
}

impl Drop for LockFile {
    fn drop(&mut self) {
        if *self.held.get_mut() {
            LOCKED.with(|locked| locked.borrow_mut().retain(|name| *name != self.name));
        }
    }
}
