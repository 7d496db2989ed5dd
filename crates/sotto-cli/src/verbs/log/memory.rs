//! What a witness or a monitor has seen of a log, and where the log's files are.
//!
//! What a witness has seen is on disk before a cosignature is written: whatever happens, it never
//! cosigns two logs, nor a log with two catalogs of one epoch.
//!
//! ```text
//! STATE/<publisher>.checkpoint     the last checkpoint, as it was signed
//! STATE/<publisher>.history        the last entry of each table and stack (sotto_tlog::LogHistory)
//! STATE/<publisher>.other          a checkpoint that contradicts the last one
//! STATE/<publisher>.conflict       the checkpoint of a log whose entries contradict each other
//! STATE/<publisher>.cosigned-<id>  the last checkpoint that the witness with this key id cosigned
//! STATE/<publisher>.quorum         the last checkpoint that the policy's quorum cosigned
//! STATE/<publisher>.lock           held by the process that looks
//! ```

use crate::failure::{Exit, Failure, FileContext, Result};
use crate::{download, files};
use sotto_catalog::PublicKey;
use sotto_client::transport::http::HttpTransport;
use sotto_client::transport::{Request, Transport};
use sotto_tlog::catalogs::log_key;
use sotto_tlog::history::MAX_HISTORY_BYTES;
use sotto_tlog::note::MAX_NOTE_BYTES;
use sotto_tlog::witness::examine;
use sotto_tlog::{Checkpoint, DirectorySource, LogError, LogHistory, LogKey, LogLayout, LogSource};
use sotto_wire::routes;
use std::cell::RefCell;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The location of a log's files.
pub(super) enum LogLocation {
    Folder(DirectorySource),
    Server(RefCell<HttpTransport>, PublicKey),
}

impl LogLocation {
    /// Parses a folder, or the address of a server that serves the log of this publisher.
    pub(super) fn of(text: &str, publisher: PublicKey, trust_root: Option<&Path>) -> Result<Self> {
        if !crate::is_url(text) {
            let folder = PathBuf::from(text);
            let there = std::fs::read_dir(&folder);
            there.doing("reading", &folder)?;
            return Ok(LogLocation::Folder(DirectorySource(folder)));
        }
        let http = download::connect(text, trust_root)?;
        Ok(LogLocation::Server(RefCell::new(http), publisher))
    }
}

impl LogSource for &LogLocation {
    fn file(&self, path: &str, limit: u64) -> sotto_tlog::Result<Option<Vec<u8>>> {
        let (http, publisher) = match self {
            LogLocation::Folder(folder) => return folder.file(path, limit),
            LogLocation::Server(http, publisher) => (http, publisher),
        };
        let path = routes::log_file(&publisher.ed25519.to_string(), path);
        let failed =
            |why: String| LogError::Storage { path: path.clone(), source: std::io::Error::other(why) };
        let request = Request::get(path.clone(), limit);
        let response = http.borrow_mut().call(&request).map_err(|e| failed(e.to_string()))?;
        match response.status {
            200 => Ok(Some(response.body)),
            404 => Ok(None),
            status => Err(failed(format!("the server responds with {status}"))),
        }
    }

    fn has(&self, path: &str) -> sotto_tlog::Result<bool> {
        Ok(self.file(path, u64::MAX)?.is_some())
    }
}

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
        let path = state.join(format!("{}.lock", publisher.ed25519));
        let lock = || {
            fs::create_dir_all(state)?;
            let file = File::options().create(true).append(true).open(&path)?;
            file.lock()?;
            Ok(file)
        };
        let lock = lock().doing("locking", &path)?;
        let file = state.join(format!("{}.checkpoint", publisher.ed25519));
        Ok(Memory { publisher: *publisher, file, _lock: lock })
    }

    /// Reads a log as it is now, and stores what was seen of it.
    ///
    /// # Errors
    /// Exit code 5 for a log that does not extend what was seen before, or contradicts itself: the
    /// checkpoints that prove it are stored, and `advice` says what else to do.
    pub(super) fn read_log(
        &self,
        location: &LogLocation,
        current: &LogKey,
        advice: &str,
    ) -> Result<SeenCheckpoint> {
        let path = LogLayout::Tiles.checkpoint();
        let served = location.file(path, MAX_NOTE_BYTES as u64)?;
        let served = served.ok_or_else(|| LogError::Missing(path.into()))?;
        let key = log_key(&self.publisher)?;
        let known = self.read("checkpoint", MAX_NOTE_BYTES as u64)?;
        let known = known.map(|note| Checkpoint::open(&note, &key)).transpose();
        let known = known.map_err(|error| self.damaged("checkpoint", &error))?;
        let mut history = self.history()?;
        let checkpoint = match examine(location, current, &served, known.as_ref(), &mut history) {
            Err(error @ (LogError::Fork { .. } | LogError::Conflict { .. })) => {
                let extension = if matches!(error, LogError::Fork { .. }) { "other" } else { "conflict" };
                let files = self.keep(extension, &served)?.display().to_string();
                let files = match known {
                    Some(_) if extension == "other" => format!("{} and {files}", self.file.display()),
                    _ => files,
                };
                let failure = Failure::peer(format!("{error} ({files})"));
                return Err(failure.fix(format!("show this to others; {advice}")));
            }
            examined => examined?,
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
        if history.publisher() != self.publisher.without_ml_dsa()
            || history.only().is_some()
            || history.first() > 0
        {
            let error = LogError::Malformed { what: "log history", why: "it belongs to another log".into() };
            return Err(self.damaged("history", &error));
        }
        Ok(history)
    }

    pub(super) fn damaged(&self, extension: &str, error: &LogError) -> Failure {
        let file = self.file.with_extension(extension);
        Failure::new(Exit::Storage, format!("{}: {error}", file.display()))
            .fix("find out why the stored checkpoint of this log is damaged before you move it away")
    }

    pub(super) fn read(&self, extension: &str, limit: u64) -> Result<Option<Vec<u8>>> {
        let file = self.file.with_extension(extension);
        let folder = DirectorySource(file.parent().unwrap_or(Path::new(".")).to_owned());
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        folder.file(name, limit).map_err(Failure::from)
    }

    pub(super) fn keep(&self, extension: &str, bytes: &[u8]) -> Result<PathBuf> {
        let file = self.file.with_extension(extension);
        files::replace(&file, bytes).doing("writing", &file)?;
        Ok(file)
    }
}
