//! A witness or a monitor of logs: its key, what it has seen of a log, and `sotto log key`, `cosign`
//! and `watch`.
//!
//! What a witness has seen is on disk before a cosignature is written: whatever happens, it never
//! cosigns two logs, nor a log with two catalogs of one epoch.
//!
//! ```text
//! STATE/<publisher>.checkpoint   the last checkpoint, as it was signed
//! STATE/<publisher>.history      the last entry of each table and stack (sotto_tlog::LogHistory)
//! STATE/<publisher>.other        a checkpoint that contradicts the last one
//! STATE/<publisher>.conflict     the checkpoint of a log whose entries contradict each other
//! STATE/<publisher>.lock         held by the process that looks
//! ```

use crate::connect_args::duration;
use crate::failure::{Exit, Failure, FileContext, Result};
use crate::screen::{Report, Screen};
use crate::{download, files};
use schemars::JsonSchema;
use serde::Serialize;
use sotto_catalog::PublicKey;
use sotto_client::transport::http::HttpTransport;
use sotto_client::transport::{Request, Transport};
use sotto_tlog::catalogs::log_key;
use sotto_tlog::history::MAX_HISTORY_BYTES;
use sotto_tlog::note::MAX_NOTE_BYTES;
use sotto_tlog::witness::examine;
use sotto_tlog::{
    Checkpoint, Cosigner, DirectorySource, LogError, LogHistory, LogLayout, LogSource, SignedNote,
};
use sotto_wire::routes;
use std::cell::RefCell;
use std::fs;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Arguments of `sotto log key`.
#[derive(Debug, clap::Args)]
pub(super) struct Key {
    /// File of the witness's signing key; created if missing
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Name of the witness for a new key, like a URL without its scheme
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

/// A witness's key.
#[derive(Serialize, JsonSchema)]
pub(crate) struct KeyReport<'a> {
    /// File of the signing key.
    file: &'a Path,
    /// Public key, with the witness's name.
    witness: String,
}

impl Key {
    pub(super) fn run(self) -> Result<Report> {
        let cosigner = match read_key(&self.key)? {
            Some(cosigner) => cosigner,
            None => self.make()?,
        };
        let witness = cosigner.public().to_string();
        Ok(Report::new(format!("witness key: {witness}"), &KeyReport { file: &self.key, witness }))
    }

    fn make(&self) -> Result<Cosigner> {
        let Some(name) = &self.name else {
            return Err(Failure::missing(format!("no such key: {}", self.key.display()))
                .fix("give --name NAME to create it"));
        };
        let cosigner = Cosigner::generate(name, &mut sotto_prg::system_rng()?)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = options.open(&self.key).and_then(|mut file| {
            file.write_all(cosigner.to_file().as_bytes())?;
            file.sync_all()
        });
        written.doing("writing", &self.key)?;
        Ok(cosigner)
    }
}

/// The key in a file, if there is one.
fn read_key(path: &Path) -> Result<Option<Cosigner>> {
    match fs::read_to_string(path) {
        Ok(text) => Cosigner::from_file(&text).map(Some).map_err(Failure::from),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::file("reading", path, &error)),
    }
}

/// Arguments of `sotto log cosign`.
#[derive(Debug, clap::Args)]
pub(super) struct Cosign {
    /// Folder of the log, or address of a server that serves it
    #[arg(value_name = "LOG")]
    log: String,
    /// Public key of the log's publisher
    #[arg(long, value_name = "sotto-pk:...")]
    publisher: PublicKey,
    /// File of the witness's signing key (`sotto log key` creates one)
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Folder of the checkpoint cosigned last; never restore it from a backup
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    /// File for the cosigned checkpoint, which the publisher attaches (`sotto log attach`)
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// PEM file of the root certificates to trust for https, in place of the web's
    #[arg(long, value_name = "FILE")]
    trust_root: Option<PathBuf>,
}

impl Cosign {
    pub(super) fn run(self) -> Result<Report> {
        let cosigner = read_key(&self.key)?.ok_or_else(|| {
            Failure::missing(format!("no such key: {}", self.key.display()))
                .fix("create one: sotto log key --key FILE --name NAME")
        })?;
        let location = LogLocation::of(&self.log, self.publisher, self.trust_root.as_deref())?;
        let memory = Memory::lock(&self.state, &self.publisher)?;
        let SeenCheckpoint { served, before, checkpoint } =
            memory.read_log(&location, "do not cosign this log")?;
        let now = crate::unix_time();
        let note = SignedNote::parse(&served)?;
        let origin = checkpoint.origin;
        let theirs = note.signatures.into_iter().filter(|line| line.name == origin);
        let line = cosigner.cosign(&note.text, now);
        let cosigned = SignedNote { text: note.text, signatures: theirs.chain([line]).collect() };
        files::replace(&self.out, cosigned.to_string().as_bytes()).doing("writing", &self.out)?;

        let (size, out) = (checkpoint.size, self.out.display());
        let text =
            format!("cosigned {size} entries, {} of them new; send {out} to the publisher", size - before);
        let (witness, note) = (cosigner.public().to_string(), cosigned.to_string());
        Ok(Report::new(text, &CosignReport { entries: size, before, time: now, witness, note }))
    }
}

/// A cosigned checkpoint.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CosignReport {
    /// Number of entries of the log.
    entries: u64,
    /// Number of entries that were seen before.
    before: u64,
    /// Time of the cosignature, in seconds since 1970.
    time: u64,
    /// Public key of the witness.
    witness: String,
    /// The cosigned checkpoint.
    note: String,
}

/// Arguments of `sotto log watch`.
#[derive(Debug, clap::Args)]
pub(super) struct Watch {
    /// Folder of the log, or address of a server that serves it
    #[arg(value_name = "LOG")]
    log: String,
    /// Public key of the log's publisher
    #[arg(long, value_name = "sotto-pk:...")]
    publisher: PublicKey,
    /// Folder of the checkpoint seen last; a witness's folder works too
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    /// Check once, and end
    #[arg(long)]
    once: bool,
    /// Time between checks
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration, conflicts_with = "once")]
    every: Duration,
    /// PEM file of the root certificates to trust for https, in place of the web's
    #[arg(long, value_name = "FILE")]
    trust_root: Option<PathBuf>,
}

impl Watch {
    pub(super) fn run(self, screen: Screen) -> Result<Report> {
        let location = LogLocation::of(&self.log, self.publisher, self.trust_root.as_deref())?;
        loop {
            match self.check(&location) {
                // A server that is unavailable for a while is no fork.
                Err(failure) if !self.once && matches!(failure.exit, Exit::Storage | Exit::Missing) => {
                    eprintln!("{}", failure.render(false));
                }
                Ok(report) if !self.once => screen.print(report)?,
                ended => return ended,
            }
            std::thread::sleep(self.every.max(Duration::from_secs(1)));
        }
    }

    fn check(&self, location: &LogLocation) -> Result<Report> {
        let memory = Memory::lock(&self.state, &self.publisher)?;
        let SeenCheckpoint { checkpoint, before, .. } =
            memory.read_log(location, "do not trust this publisher")?;
        let size = checkpoint.size;
        let text = format!("{size} entries, {} of them new: one chain for each name", size - before);
        Ok(Report::new(text, &WatchReport { entries: size, before }))
    }
}

/// A log that extends what was seen of it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WatchReport {
    /// Number of entries of the log.
    entries: u64,
    /// Number of entries that were seen before.
    before: u64,
}

/// The location of a log's files.
enum LogLocation {
    Folder(DirectorySource),
    Server(RefCell<HttpTransport>, PublicKey),
}

impl LogLocation {
    /// Parses a folder, or the address of a server that serves the log of this publisher.
    fn of(text: &str, publisher: PublicKey, trust_root: Option<&Path>) -> Result<Self> {
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
        let path = routes::log_file(&publisher.0.to_string(), path);
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
struct Memory {
    publisher: PublicKey,
    file: PathBuf,
    _lock: File,
}

/// A log that extends what was seen before, and does not contradict itself, once that is stored.
struct SeenCheckpoint {
    /// Checkpoint as it was served.
    served: Vec<u8>,
    /// Parsed checkpoint.
    checkpoint: Checkpoint,
    /// Number of entries that were seen before.
    before: u64,
}

impl Memory {
    fn lock(state: &Path, publisher: &PublicKey) -> Result<Self> {
        let path = state.join(format!("{}.lock", publisher.0));
        let lock = || {
            fs::create_dir_all(state)?;
            let file = File::options().create(true).append(true).open(&path)?;
            file.lock()?;
            Ok(file)
        };
        let lock = lock().doing("locking", &path)?;
        let file = state.join(format!("{}.checkpoint", publisher.0));
        Ok(Memory { publisher: *publisher, file, _lock: lock })
    }

    /// Reads a log as it is now, and stores what was seen of it.
    ///
    /// # Errors
    /// Exit code 5 for a log that does not extend what was seen before, or contradicts itself: the
    /// checkpoints that prove it are stored, and `advice` says what else to do.
    fn read_log(&self, location: &LogLocation, advice: &str) -> Result<SeenCheckpoint> {
        let path = LogLayout::Tiles.checkpoint();
        let served = location.file(path, MAX_NOTE_BYTES as u64)?;
        let served = served.ok_or_else(|| LogError::Missing(path.into()))?;
        let key = log_key(&self.publisher)?;
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
        folder.file(name, limit).map_err(Failure::from)
    }

    fn keep(&self, extension: &str, bytes: &[u8]) -> Result<PathBuf> {
        let file = self.file.with_extension(extension);
        files::replace(&file, bytes).doing("writing", &file)?;
        Ok(file)
    }
}
