//! Writes and grows logs, entry by entry.
//!
//! Tiles are written when they are full, and partial ones when a checkpoint is published, which is
//! written last: a concurrent reader reads the log of the checkpoint before. One tile per level and
//! one bundle of entries are held in memory.

use crate::entries::BundleEntries;
use crate::layout::TILE_WIDTH;
use crate::read::peaks;
use crate::{Checkpoint, DirectorySource, LogError, LogLayout, LogSigner, Result, Tile, VerifiedLog};
use sotto_tree::log::{Hash, subtree};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Writer of a log in a folder, with the hashes and entries that are not in a full tile yet.
#[derive(Debug)]
pub struct LogWriter {
    to: PathBuf,
    layout: LogLayout,
    size: u64,
    /// Hashes of each level that are not in a full tile.
    open: Vec<Vec<Hash>>,
    bundle: Vec<u8>,
    /// Whether files are synced to disk before a checkpoint names them.
    durable: bool,
}

impl LogWriter {
    /// Creates a log without entries.
    ///
    /// # Errors
    /// [`LogError::Storage`] if the folder cannot be created, or contains a log.
    pub fn create(to: PathBuf, layout: LogLayout) -> Result<Self> {
        let name = to.display().to_string();
        fs::create_dir_all(&to).map_err(LogError::storage(&name))?;
        if to.join(layout.checkpoint()).exists() {
            let there = std::io::Error::new(ErrorKind::AlreadyExists, "a log exists here already");
            return Err(LogError::storage(&name)(there));
        }
        Ok(LogWriter { to, layout, size: 0, open: Vec::new(), bundle: Vec::new(), durable: false })
    }

    /// Opens the log of a folder, to grow it from its checkpoint on.
    ///
    /// # Errors
    /// The errors of [`VerifiedLog::open`] and [`VerifiedLog::entries`]: the end of the log is
    /// checked.
    pub fn resume(to: PathBuf, layout: LogLayout, checkpoint: &Checkpoint) -> Result<Self> {
        let mut log = VerifiedLog::open(DirectorySource(to.clone()), layout, checkpoint)?;
        let mut bundle = Vec::new();
        if let Some(tile) = Tile::edge(0, log.size()) {
            log.entries(tile.index, |_, entry| {
                bundle.extend_from_slice(entry.written);
                Ok(())
            })?;
        }
        let (size, open) = (log.size(), log.into_edge());
        Ok(LogWriter { to, layout, size, open, bundle, durable: false })
    }

    /// Syncs every file to disk before a checkpoint names it, which takes time for each.
    #[must_use]
    pub fn durable(self) -> Self {
        LogWriter { durable: true, ..self }
    }

    /// Number of entries so far.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Appends an entry that is encoded for a bundle of this layout.
    ///
    /// # Errors
    /// [`LogError::Entry`] if it is not exactly one entry, [`LogError::Storage`].
    pub fn append(&mut self, written: &[u8]) -> Result<()> {
        let index = self.size();
        let refuse =
            || LogError::Entry { path: "the new entry".into(), index, why: "not exactly one entry".into() };
        let mut entries = BundleEntries::new(self.layout, written, index, "the new entry");
        let entry = entries.next().ok_or_else(refuse)??;
        if entry.written.len() != written.len() {
            return Err(refuse());
        }
        self.size += 1;
        self.bundle.extend_from_slice(written);
        self.push(0, entry.leaf)
    }

    fn push(&mut self, level: u8, hash: Hash) -> Result<()> {
        let at = usize::from(level);
        if self.open.len() == at {
            self.open.push(Vec::with_capacity(TILE_WIDTH));
        }
        self.open[at].push(hash);
        if self.open[at].len() < TILE_WIDTH {
            return Ok(());
        }
        let index = Tile::fulls(level, self.size()) - 1;
        let root = subtree::root(&self.open[at])?;
        self.write(&self.layout.tile(Tile::full(level, index)), self.open[at].as_flattened())?;
        self.open[at].clear();
        if level == 0 {
            self.write(&self.layout.bundle(index, TILE_WIDTH as u16), &self.bundle)?;
            self.bundle.clear();
        }
        self.push(level + 1, root)
    }

    /// Writes partial tiles, and then replaces the signed checkpoint.
    ///
    /// # Errors
    /// [`LogError::Storage`].
    pub fn publish(&self, signer: &LogSigner) -> Result<Checkpoint> {
        let size = self.size();
        for (level, hashes) in (0..).zip(&self.open) {
            if let Some(tile) = Tile::edge(level, size) {
                self.write(&self.layout.tile(tile), hashes.as_flattened())?;
            }
        }
        if let Some(Tile { index, width, .. }) = Tile::edge(0, size) {
            self.write(&self.layout.bundle(index, width), &self.bundle)?;
        }
        let origin = signer.public().origin().into();
        let checkpoint =
            Checkpoint { origin, size, root: peaks(size, &self.open)?.root(), extensions: Vec::new() };
        let path = self.layout.checkpoint();
        let new = format!("{path}.new");
        self.write(&new, signer.sign(&checkpoint).to_string().as_bytes())?;
        fs::rename(self.to.join(new), self.to.join(path)).map_err(LogError::storage(path))?;
        if self.durable {
            sync(&self.to).map_err(LogError::storage(path))?;
        }
        Ok(checkpoint)
    }

    fn write(&self, path: &str, bytes: &[u8]) -> Result<()> {
        let to = self.to.join(path);
        let written = match fs::write(&to, bytes) {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                let folder = to.parent().map_or(Ok(()), fs::create_dir_all);
                folder.and_then(|()| fs::write(&to, bytes))
            }
            written => written,
        };
        let kept = || if self.durable { self.settle(&to) } else { Ok(()) };
        written.and_then(|()| kept()).map_err(LogError::storage(path))
    }

    /// Syncs a file, and the folders that lead to it, to disk.
    fn settle(&self, file: &Path) -> io::Result<()> {
        sync(file)?;
        let folders = file.ancestors().skip(1).take_while(|folder| folder.starts_with(&self.to));
        folders.into_iter().try_for_each(sync)
    }
}

/// Syncs a file, or the list of a folder, to disk.
fn sync(path: &Path) -> io::Result<()> {
    if cfg!(unix) || path.is_file() { fs::File::open(path)?.sync_all() } else { Ok(()) }
}
