//! One artifact on disk: whole, or the part downloaded so far.

use super::{CacheError, lock::Lock};
use crate::files;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file of one artifact in the cache, whole or incomplete.
///
/// Reading needs no lock: files only grow, a whole one never changes, and the session checks what
/// it reads. Writing needs one. A process that does not get the lock still works, and writes
/// nothing.
#[derive(Debug)]
pub struct CachedArtifact {
    whole: PathBuf,
    part: PathBuf,
    bytes: u64,
    lock: Option<Lock>,
}

impl CachedArtifact {
    pub(super) fn new(whole: PathBuf, bytes: u64) -> Self {
        let part = whole.with_extension("part");
        CachedArtifact { whole, part, bytes, lock: None }
    }

    /// Prepares to download, and waits at most `max_wait` while another process downloads the same
    /// artifact. Returns whether the artifact is complete or may be written.
    ///
    /// # Errors
    /// [`CacheError`] if the lock file cannot be made.
    pub fn claim(&mut self, max_wait: Duration) -> Result<bool, CacheError> {
        if self.is_whole() {
            return Ok(true);
        }
        if self.lock.is_none() {
            self.lock = Lock::take(&self.whole.with_extension("lock"), max_wait)?;
        }
        if self.is_whole() {
            // The other process has completed it.
            self.lock = None;
            return Ok(true);
        }
        Ok(self.lock.is_some())
    }

    /// Whether the artifact is complete.
    pub fn is_whole(&self) -> bool {
        length(&self.whole) == Some(self.bytes)
    }

    /// Bytes of the artifact that are on disk.
    pub fn held(&self) -> u64 {
        let held = if self.is_whole() { Some(self.bytes) } else { length(&self.part) };
        held.unwrap_or(0).min(self.bytes)
    }

    /// Reads the part of `range` that is on disk: its first bytes, possibly none.
    ///
    /// # Errors
    /// [`CacheError`] if the file is there and cannot be read.
    pub fn read(&self, range: Range<u64>) -> Result<Vec<u8>, CacheError> {
        let path = if self.is_whole() { &self.whole } else { &self.part };
        let at = |e| CacheError::at(path, e);
        let Some(mut file) = files::found(files::open(path)).map_err(at)? else { return Ok(Vec::new()) };
        file.seek(SeekFrom::Start(range.start)).map_err(at)?;
        let mut out = Vec::new();
        file.take(range.end.saturating_sub(range.start)).read_to_end(&mut out).map_err(at)?;
        Ok(out)
    }

    /// Writes verified bytes at `offset` and discards everything from there on. The last byte
    /// completes the artifact.
    ///
    /// # Errors
    /// [`CacheError::Full`] and others; the bytes before `offset` are still there.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), CacheError> {
        if self.lock.is_none() {
            // A complete file is damaged, or another process holds the lock, which is not waited
            // for.
            self.lock = Lock::take(&self.whole.with_extension("lock"), Duration::ZERO)?;
            if self.lock.is_none() {
                return Ok(());
            }
        }
        if length(&self.whole).is_some() {
            files::rename(&self.whole, &self.part).map_err(|e| CacheError::at(&self.whole, e))?;
        }
        let at = |e| CacheError::at(&self.part, e);
        let mut file = files::open_to_write(&self.part).map_err(at)?;
        if files::length(&file).map_err(at)? < offset {
            // The bytes before `offset` were never written.
            return Ok(());
        }
        file.set_len(offset).map_err(at)?;
        file.seek(SeekFrom::Start(offset)).map_err(at)?;
        if let Err(e) = file.write_all(bytes) {
            // Half a chunk would be refused when it is read, but a truncated file has the right
            // length at once. If truncation fails too, the digests still detect it.
            let _ = file.set_len(offset);
            return Err(at(e));
        }
        if offset + bytes.len() as u64 == self.bytes {
            file.sync_all().map_err(at)?;
            files::rename(&self.part, &self.whole).map_err(at)?;
            self.lock = None;
        }
        Ok(())
    }
}

/// Removes the files of an artifact, unless a process is downloading it.
pub(super) fn remove(whole: &Path) -> Result<(), CacheError> {
    let Some(_lock) = Lock::take(&whole.with_extension("lock"), Duration::ZERO)? else { return Ok(()) };
    for path in [whole.to_owned(), whole.with_extension("part")] {
        files::remove(&path).map_err(|e| CacheError::at(&path, e))?;
    }
    Ok(())
}

fn length(path: &Path) -> Option<u64> {
    files::length_at(path).ok()
}
