//! A table's folder: its epochs, its signing key, its write lock.
//!
//! ```text
//! DIR/epoch-00000001.sotto   one image per epoch, never changed once it exists
//! DIR/epoch-00000002.sotto
//! DIR/epoch-00000003.front   the front of an image in parts; its parts are beside it
//! DIR/epoch-00000003.part-0000-of-0002
//! DIR/epoch-00000001.delta   the remnant of an older epoch: its catalog and its rows delta
//! DIR/epoch-00000002.rows    plaintext rows of the newest epoch, where updates need them: see [`crate::sidecars`]
//! DIR/epoch-00000002.written write counts of the newest epoch, if it is whitened: see [`crate::sidecars`]
//! DIR/signing.key            signs the catalogs; mode 0600
//! DIR/oprf.key               opens the rows of a symmetric table; mode 0600
//! DIR/write.lock             locked by the one process that writes
//! ```

use crate::files::{TEMP_PREFIX, remove};
use crate::{DbError, ImageFile, ImageProblem, Result};
use sotto_core::Epoch;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// File name of the signing key, unless it is stored elsewhere.
pub const KEY: &str = "signing.key";
/// File name of the key that opens the rows of a symmetric table. The key is in no image and in no
/// catalog.
pub const OPRF_KEY: &str = "oprf.key";

const IMAGE_PREFIX: &str = "epoch-";
const IMAGE_SUFFIX: &str = ".sotto";
const FRONT_SUFFIX: &str = ".front";
const REMNANT_SUFFIX: &str = ".delta";
const ROWS_SUFFIX: &str = ".rows";
const WRITTEN_SUFFIX: &str = ".written";

/// The folder of a table. Reading needs no lock: images appear atomically and never change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableDir {
    path: PathBuf,
}

impl TableDir {
    /// Opens an existing folder.
    ///
    /// # Errors
    /// [`DbError::Io`] if the folder does not exist.
    pub fn open(path: &Path) -> Result<Self> {
        fs::read_dir(path).map_err(|e| DbError::io("opening the table's folder", path, e))?;
        Ok(TableDir { path: path.to_owned() })
    }

    /// Opens a folder, and creates it if it does not exist.
    ///
    /// # Errors
    /// [`DbError::Io`].
    pub fn create(path: &Path) -> Result<Self> {
        fs::create_dir_all(path).map_err(|e| DbError::io("making the table's folder", path, e))?;
        TableDir::open(path)
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Epochs in the folder, oldest first.
    ///
    /// # Errors
    /// [`DbError::Io`].
    pub fn epochs(&self) -> Result<Vec<Epoch>> {
        let mut epochs = self.numbered(IMAGE_SUFFIX)?;
        epochs.extend(self.numbered(FRONT_SUFFIX)?);
        epochs.sort();
        epochs.dedup();
        Ok(epochs)
    }

    /// Epochs of which only a remnant is in the folder, oldest first.
    ///
    /// # Errors
    /// [`DbError::Io`].
    pub fn remnants(&self) -> Result<Vec<Epoch>> {
        self.numbered(REMNANT_SUFFIX)
    }

    /// Removes the files stored beside images for updates, of all epochs except `newest`: only the
    /// newest epoch is updated.
    pub(crate) fn prune_update_files(&self, newest: Option<Epoch>) -> Result<()> {
        let rows = self.numbered(ROWS_SUFFIX)?.into_iter().map(|epoch| (epoch, self.rows_path(epoch)));
        let written = self.numbered(WRITTEN_SUFFIX)?.into_iter();
        let written = written.map(|epoch| (epoch, self.write_counts_path(epoch)));
        let mut older = rows.chain(written).filter(|(epoch, _)| Some(*epoch) != newest);
        older.try_for_each(|(_, path)| remove(&path))
    }

    /// Names of the files in the folder, without those that are not text.
    fn names(&self) -> Result<Vec<String>> {
        let entries = fs::read_dir(&self.path).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
        let entries = entries.map_err(|e| DbError::io("reading the table's folder", &self.path, e))?;
        Ok(entries.into_iter().filter_map(|entry| entry.file_name().into_string().ok()).collect())
    }

    fn numbered(&self, suffix: &str) -> Result<Vec<Epoch>> {
        let epoch = |name: &String| {
            let digits = name.strip_prefix(IMAGE_PREFIX)?.strip_suffix(suffix)?;
            let is_number = digits.len() >= 8 && digits.bytes().all(|c| c.is_ascii_digit());
            Some(Epoch(digits.parse().ok().filter(|_| is_number)?))
        };
        let mut epochs: Vec<_> = self.names()?.iter().filter_map(epoch).collect();
        epochs.sort();
        Ok(epochs)
    }

    /// Path of a file of `epoch` with this ending.
    fn path_of(&self, epoch: Epoch, suffix: &str) -> PathBuf {
        self.path.join(format!("{IMAGE_PREFIX}{:08}{suffix}", epoch.0))
    }

    /// The newest epoch in the folder, if there is one.
    ///
    /// # Errors
    /// [`DbError::Io`].
    pub fn latest(&self) -> Result<Option<Epoch>> {
        Ok(self.epochs()?.pop())
    }

    /// Path of the image of `epoch`, whether it exists or not.
    pub fn image_path(&self, epoch: Epoch) -> PathBuf {
        self.path_of(epoch, IMAGE_SUFFIX)
    }

    /// Path of the front of `epoch`, whether it exists or not.
    pub fn front_path(&self, epoch: Epoch) -> PathBuf {
        self.path_of(epoch, FRONT_SUFFIX)
    }

    /// Files that hold the image of `epoch`, whole or in pieces. The front comes first, so that
    /// removing the files in order removes the table first.
    ///
    /// # Errors
    /// [`DbError::Io`].
    pub(crate) fn files_of(&self, epoch: Epoch) -> Result<Vec<PathBuf>> {
        let front = self.front_path(epoch);
        let parts = self.parts_in_folder()?.into_iter().filter(|(front_of, _)| *front_of == front);
        let parts: Vec<_> = parts.map(|(_, path)| path).collect();
        Ok([front, self.image_path(epoch)].into_iter().filter(|path| path.exists()).chain(parts).collect())
    }

    /// All parts in the folder, each with the path of its front, which may be missing.
    fn parts_in_folder(&self) -> Result<Vec<(PathBuf, PathBuf)>> {
        let parts = self.names()?.into_iter();
        let parts = parts.filter(|name| name.starts_with(IMAGE_PREFIX) && name.contains(".part-"));
        let paths = parts.map(|name| self.path.join(name));
        Ok(paths.map(|path| (path.with_extension(FRONT_SUFFIX.trim_start_matches('.')), path)).collect())
    }

    /// Path of the remnant of `epoch`, whether it exists or not.
    pub fn remnant_path(&self, epoch: Epoch) -> PathBuf {
        self.path_of(epoch, REMNANT_SUFFIX)
    }

    /// Path of the stored rows of `epoch`, whether they exist or not.
    pub fn rows_path(&self, epoch: Epoch) -> PathBuf {
        self.path_of(epoch, ROWS_SUFFIX)
    }

    /// Path of the write counts of `epoch`, which exist if it is whitened.
    pub fn write_counts_path(&self, epoch: Epoch) -> PathBuf {
        self.path_of(epoch, WRITTEN_SUFFIX)
    }

    /// Opens the remnant of `epoch`, or else its image. Only the catalog and the rows delta of
    /// either are read.
    ///
    /// # Errors
    /// The errors of [`TableDir::open_epoch`].
    pub fn open_delta_source(&self, epoch: Epoch) -> Result<Arc<ImageFile>> {
        let path = self.remnant_path(epoch);
        if !path.exists() {
            return self.open_epoch(epoch);
        }
        of_epoch(ImageFile::open_remnant(&path)?, epoch)
    }

    /// Opens the image of `epoch`, or its front if it is in parts.
    ///
    /// # Errors
    /// [`DbError::NoEpoch`], and the errors of [`ImageFile::open`].
    pub fn open_epoch(&self, epoch: Epoch) -> Result<Arc<ImageFile>> {
        let paths = [self.front_path(epoch), self.image_path(epoch)];
        let Some(path) = paths.into_iter().find(|path| path.exists()) else {
            return Err(DbError::NoEpoch { dir: self.path.clone(), epoch });
        };
        of_epoch(ImageFile::open(&path)?, epoch)
    }
}

/// Checks that an image has the epoch that its file name says.
fn of_epoch(image: Arc<ImageFile>, epoch: Epoch) -> Result<Arc<ImageFile>> {
    if image.catalog().epoch == epoch {
        return Ok(image);
    }
    Err(image.refuse(ImageProblem::Malformed("the file's name has another epoch than its catalog")))
}

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
                Err(TryLockError::WouldBlock) => return Err(DbError::Locked(self.path.clone())),
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
