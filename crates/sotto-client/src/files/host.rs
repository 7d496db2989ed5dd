//! Files that whoever calls gives, since a browser has none that wait for the disk: see [`set_host_files`].
//!
//! A file is a name here, a path as text. There are no folders and no modes, and no other process: who shares the files with
//! whom is settled by whoever gives them.

use super::FileIdentity;
#[cfg(feature = "state")]
use redb::StorageBackend;
use std::cell::{OnceCell, RefCell};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What a browser's program gives the client. Every name is a whole path.
pub trait HostFiles {
    /// Bytes of a file; [`ErrorKind::NotFound`] if there is none.
    fn length(&self, name: &str) -> io::Result<u64>;
    /// Makes an empty file, unless there is one.
    fn make(&self, name: &str) -> io::Result<()>;
    /// Reads bytes from an offset on, and gives how many there were.
    fn read(&self, name: &str, at: u64, out: &mut [u8]) -> io::Result<usize>;
    /// Writes bytes at an offset.
    fn write(&self, name: &str, at: u64, bytes: &[u8]) -> io::Result<()>;
    /// Cuts a file, or fills it up with zeros.
    fn set_length(&self, name: &str, bytes: u64) -> io::Result<()>;
    /// Returns once what was written is on disk.
    fn sync(&self, name: &str) -> io::Result<()>;
    /// Removes a file, durably.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Gives a file another name, durably; what had that name is gone. A crash leaves one of the two under it.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// All names.
    fn names(&self) -> io::Result<Vec<String>>;
    /// Waits.
    fn pause(&self, time: Duration);
}

thread_local! {
    static GIVEN: OnceCell<Box<dyn HostFiles>> = const { OnceCell::new() };
    /// Names that are locked. All who could want one are in this thread.
    static LOCKED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Gives the client its files, once. Without them every file is an error of kind [`ErrorKind::Unsupported`]. Gives whether these
/// were the first.
pub fn set_host_files(files: Box<dyn HostFiles>) -> bool {
    GIVEN.with(|given| given.set(files).is_ok())
}

fn with<T>(work: impl FnOnce(&dyn HostFiles) -> io::Result<T>) -> io::Result<T> {
    GIVEN.with(|given| given.get().map_or_else(|| Err(ErrorKind::Unsupported.into()), |given| work(&**given)))
}

/// Waits, as well as this can be done here.
pub(crate) fn pause(time: Duration) {
    GIVEN.with(|given| given.get().into_iter().for_each(|given| given.pause(time)));
}

fn name(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// A file that is read or written, at a place.
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

/// What a database asks of a file.
#[cfg(feature = "state")]
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

/// Opens a file to read it.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    length_at(path).map(|_| File { name: name(path), at: 0 })
}

/// Opens a file to write in it, and makes it if it is not there.
pub(crate) fn open_to_write(path: &Path) -> io::Result<File> {
    open_private(path, false)
}

/// Opens a file to read and write in it. All of them are this user's alone.
pub(crate) fn open_private(path: &Path, truncate: bool) -> io::Result<File> {
    let file = File { name: name(path), at: 0 };
    with(|given| given.make(&file.name))?;
    if truncate {
        file.set_len(0)?;
    }
    Ok(file)
}

/// An open file, for a database.
#[cfg(feature = "state")]
pub(crate) fn backend(file: File) -> io::Result<Box<dyn StorageBackend>> {
    Ok(Box::new(file))
}

/// Bytes of an open file.
pub(crate) fn length(file: &File) -> io::Result<u64> {
    with(|given| given.length(&file.name))
}

/// Bytes of a file.
pub(crate) fn length_at(path: &Path) -> io::Result<u64> {
    with(|given| given.length(&name(path)))
}

/// Whether nobody but its owner may read a file, as far as a browser says: it keeps one site from another.
pub(crate) fn is_private(path: &Path) -> io::Result<bool> {
    length_at(path).map(|_| true)
}

/// Which file this is, of which a browser says nothing.
pub(crate) fn identity(path: &Path) -> io::Result<FileIdentity> {
    length_at(path).map(|_| FileIdentity { device: 0, inode: 0, born: 0 })
}

/// No browser tells one machine from another.
pub(crate) fn machine() -> Option<String> {
    None
}

/// What is in a folder, and in those below.
pub(crate) fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let all = with(|given| given.names())?;
    Ok(all.into_iter().map(PathBuf::from).filter(|path| path.starts_with(folder)).collect())
}

/// Folders are names here.
pub(crate) fn make_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Nobody else has them.
pub(crate) fn make_private_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Names are durable at once.
pub(crate) fn sync_names(_: &Path) -> io::Result<()> {
    Ok(())
}

pub(super) fn remove_one(path: &Path) -> io::Result<()> {
    with(|given| given.remove(&name(path)))
}

/// Gives a file another name.
pub(crate) fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    with(|given| given.rename(&name(from.as_ref()), &name(to.as_ref())))
}

/// Writes a file: a crash leaves the old one or this.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let aside = PathBuf::from(format!("{}.new", name(path)));
    let mut file = open_private(&aside, true)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    rename(&aside, path)
}

/// A lock that is wanted, and perhaps held, until it is dropped.
#[derive(Debug)]
pub(crate) struct LockFile {
    name: String,
    held: AtomicBool,
}

/// Names a lock.
pub(crate) fn open_lock(path: &Path) -> io::Result<LockFile> {
    Ok(LockFile { name: name(path), held: AtomicBool::new(false) })
}

/// Takes a lock. Gives whether it could.
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
