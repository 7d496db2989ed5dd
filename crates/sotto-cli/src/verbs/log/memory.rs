//! The memory that a witness or a monitor has of one log, on disk: the last checkpoint, and the
//! last entry of each name.
//!
//! ```text
//! STATE/<publisher>.checkpoint   the last checkpoint, as it was signed
//! STATE/<publisher>.history      the last entry of each table and stack (sotto_tlog::LogHistory)
//! STATE/<publisher>.other        a checkpoint that contradicts the last one
//! STATE/<publisher>.conflict     the checkpoint of a log whose entries contradict each other
//! STATE/<publisher>.lock         held by the process that looks
//! ```

use super::log_location::LogLocation;
use crate::exit::Exit;
use crate::exit_mapping;
use crate::failure::{Failure, Result};
use sotto_catalog::PublicKey;
use sotto_tlog::catalogs::log_key;
use sotto_tlog::history::MAX_HISTORY_BYTES;
use sotto_tlog::note::MAX_NOTE_BYTES;
use sotto_tlog::witness::examine;
use sotto_tlog::{Checkpoint, DirectorySource, LogError, LogHistory, LogLayout, LogSource};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The memory of one log, locked for this process.
pub(super) struct Memory {
    publisher: PublicKey,
    file: PathBuf,
    _lock: File,
}

/// A log that extends what was seen before, and does not contradict itself, once that is stored.
pub(super) struct SeenCheckpoint {
    /// Checkpoint as it was served.
    pub(super) served: Vec<u8>,
    /// Parsed checkpoint.
    pub(super) checkpoint: Checkpoint,
    /// Number of entries that were seen before.
    pub(super) before: u64,
}

impl Memory {
    pub(super) fn lock(state: &Path, publisher: &PublicKey) -> Result<Self> {
        let path = state.join(format!("{}.lock", publisher.0));
        let lock = || {
            fs::create_dir_all(state)?;
            let file = File::options().create(true).append(true).open(&path)?;
            file.lock()?;
            Ok(file)
        };
        let lock = lock().map_err(|e| Failure::file("locking", &path, &e))?;
        let file = state.join(format!("{}.checkpoint", publisher.0));
        Ok(Memory { publisher: *publisher, file, _lock: lock })
    }

    /// Reads a log as it is now, and stores what was seen of it.
    ///
    /// # Errors
    /// Exit code 5 for a log that does not extend what was seen before, or contradicts itself: the
    /// checkpoints that prove it are stored, and `advice` says what else to do.
    pub(super) fn read_log(&self, location: &LogLocation, advice: &str) -> Result<SeenCheckpoint> {
        let failed = |e: LogError| exit_mapping::log(&e);
        let path = LogLayout::Tiles.checkpoint();
        let served = location.file(path, MAX_NOTE_BYTES as u64).map_err(failed)?;
        let served = served.ok_or_else(|| failed(LogError::Missing { path: path.into() }))?;
        let key = log_key(&self.publisher).map_err(failed)?;
        let known = self.read("checkpoint", MAX_NOTE_BYTES as u64)?;
        let known = known.map(|note| Checkpoint::open(&note, &key)).transpose();
        let known = known.map_err(|error| self.damaged("checkpoint", &error))?;
        let mut history = self.history()?;
        let checkpoint = match examine(location, &key, &served, known.as_ref(), &mut history) {
            Err(error @ (LogError::Fork { .. } | LogError::Conflict { .. })) => {
                let extension = if matches!(error, LogError::Fork { .. }) { "other" } else { "conflict" };
                let files = self.keep(extension, &served)?.display().to_string();
                let files = match known {
                    Some(_) if extension == "other" => format!("{} and {files}", self.file.display()),
                    _ => files,
                };
                let failure = Failure::new(Exit::Peer, format!("{error} ({files})"));
                return Err(failure.fix(format!("show this to others; {advice}")));
            }
            examined => examined.map_err(failed)?,
        };
        // From here on only logs are accepted that extend this one.
        self.keep("history", history.to_string().as_bytes())?;
        self.keep("checkpoint", &served)?;
        Ok(SeenCheckpoint { served, checkpoint, before: known.map_or(0, |known| known.size) })
    }

    /// The last entry of each name. If the file does not exist, it is computed from the whole log.
    fn history(&self) -> Result<LogHistory> {
        let Some(bytes) = self.read("history", MAX_HISTORY_BYTES)? else {
            return Ok(LogHistory::new(self.publisher));
        };
        let history = LogHistory::parse(&bytes).map_err(|error| self.damaged("history", &error))?;
        if history.publisher() != self.publisher || history.only().is_some() || history.first() > 0 {
            let error = LogError::Malformed { what: "log history", why: "it belongs to another log".into() };
            return Err(self.damaged("history", &error));
        }
        Ok(history)
    }

    fn damaged(&self, extension: &str, error: &LogError) -> Failure {
        let file = self.file.with_extension(extension);
        Failure::new(Exit::Storage, format!("{}: {error}", file.display()))
            .fix("find out why the stored checkpoint of this log is damaged before you move it away")
    }

    fn read(&self, extension: &str, limit: u64) -> Result<Option<Vec<u8>>> {
        let file = self.file.with_extension(extension);
        let folder = DirectorySource(file.parent().unwrap_or(Path::new(".")).to_owned());
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        folder.file(name, limit).map_err(|e| exit_mapping::log(&e))
    }

    fn keep(&self, extension: &str, bytes: &[u8]) -> Result<PathBuf> {
        let file = self.file.with_extension(extension);
        replace(&file, bytes)?;
        Ok(file)
    }
}

/// Replaces a file durably, as a whole or not at all.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write = || {
        let mut part = tempfile::NamedTempFile::new_in(folder)?;
        part.write_all(bytes)?;
        part.as_file().sync_all()?;
        part.persist(path)?;
        if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
    };
    write().map_err(|e: std::io::Error| Failure::file("writing", path, &e))
}
