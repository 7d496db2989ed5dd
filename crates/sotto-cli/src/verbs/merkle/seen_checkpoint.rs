//! The largest checkpoint of each log that this user has seen. A log only grows: a server that
//! shows another one has two logs.
//!
//! It is stored in the cache, one file for each log, with the log's signature; so it is trusted no
//! more than any checkpoint. A longer log proves that it extends it by the inclusion proof of its
//! last entry, fetched as privately as any: see [`sotto_tree::log::verify_growth`]. No server needs
//! to know what was seen before.

use crate::exit::Exit;
use crate::failure::{Failure, Result};
use sotto_tlog::{Checkpoint, LogKey};
use std::cmp::Ordering;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Maximum bytes of a stored checkpoint.
const MAX_BYTES: u64 = 1 << 20;

/// The file of one log's checkpoint.
pub(super) struct SeenCheckpoint {
    file: PathBuf,
}

/// The relation between the stored checkpoint of a log and the served one.
pub(super) enum CheckpointStatus {
    /// No checkpoint is stored, or the same one.
    Same,
    /// The stored checkpoint has fewer entries: the log has to prove that it extends it.
    Shorter(Checkpoint),
}

impl SeenCheckpoint {
    /// The file of a log's checkpoint in a cache.
    pub(super) fn of(cache: &Path, key: &LogKey) -> Self {
        let name = blake3::hash(format!("{}\n{:08x}\n{}", key.name(), key.id(), key.origin()).as_bytes());
        SeenCheckpoint { file: cache.join("logs").join(format!("{}.checkpoint", &name.to_hex()[..32])) }
    }

    /// Compares the stored checkpoint with the served one.
    ///
    /// # Errors
    /// An error if the two cannot belong to one log, or the log has shrunk. Both are stored then.
    pub(super) fn compare(&self, key: &LogKey, served: &Checkpoint, note: &[u8]) -> Result<CheckpointStatus> {
        let Some(before) = self.read()? else { return Ok(CheckpointStatus::Same) };
        let Ok(before) = Checkpoint::open(&before, &key.clone().for_checkpoint(&before)) else {
            return Err(Failure::new(
                Exit::Storage,
                format!("{} is not a checkpoint of this log", self.file.display()),
            )
            .fix("move this damaged or replaced file away, which forgets the checkpoint seen before"));
        };
        match before.size.cmp(&served.size) {
            Ordering::Equal if before.root == served.root => Ok(CheckpointStatus::Same),
            Ordering::Equal => Err(self.two_logs(note)),
            Ordering::Less => Ok(CheckpointStatus::Shorter(before)),
            Ordering::Greater => {
                let (had, has) = (before.size, served.size);
                Err(Failure::new(
                    Exit::Peer,
                    format!("the served log has {has} entries, fewer than the {had} seen before"),
                )
                .fix(
                    "try again later, as this copy may lag behind; if the error persists, tell the operator",
                ))
            }
        }
    }

    /// Stores the served checkpoint.
    pub(super) fn keep(&self, note: &[u8]) -> Result<()> {
        self.write(&self.file, note).map_err(|error| Failure::file("writing", &self.file, &error))
    }

    /// Stores the served checkpoint next to the earlier one: signed by one key, they prove that it
    /// signed two logs.
    pub(super) fn two_logs(&self, note: &[u8]) -> Failure {
        let other = self.file.with_extension("other");
        let kept = match self.write(&other, note) {
            Ok(()) => format!("{} and {}", self.file.display(), other.display()),
            Err(error) => format!("{}; the second cannot be written: {error}", self.file.display()),
        };
        Failure::new(Exit::Peer, "the served log does not extend the checkpoint seen before").fix(format!(
            "do not trust the log, whose key signed two versions, and show both checkpoints to others: {kept}"
        ))
    }

    fn read(&self) -> Result<Option<Vec<u8>>> {
        let read = || -> io::Result<Vec<u8>> {
            let mut note = Vec::new();
            io::Read::read_to_end(&mut io::Read::take(fs::File::open(&self.file)?, MAX_BYTES), &mut note)?;
            Ok(note)
        };
        match read() {
            Ok(note) => Ok(Some(note)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Failure::file("reading", &self.file, &error)),
        }
    }

    /// Replaces a file, as a whole or not at all.
    fn write(&self, file: &Path, note: &[u8]) -> io::Result<()> {
        let folder = file.parent().ok_or(io::ErrorKind::NotFound)?;
        fs::create_dir_all(folder)?;
        let mut part = tempfile::NamedTempFile::new_in(folder)?;
        part.write_all(note)?;
        part.as_file().sync_all()?;
        part.persist(file)?;
        Ok(())
    }
}
