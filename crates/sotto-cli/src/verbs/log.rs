//! `sotto log`: the log that a publisher writes its catalogs into, and its witnesses.
//!
//! `show` prints which catalogs are in a log, and who has cosigned it; `add` adds published catalogs
//! that are not in the log yet, and `attach` adds cosignatures, each of which is verified. A witness
//! or a monitor has a key, and what it has seen of a log: `key`, `cosign` and `watch`.
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
use crate::publication::{PublishArgs, log_json, log_line};
use crate::screen::{Report, Screen, grid};
use crate::{download, files};
use clap::Subcommand;
use serde_json::json;
use sotto_catalog::PublicKey;
use sotto_client::transport::http::HttpTransport;
use sotto_client::transport::{Request, Transport};
use sotto_db::PathKind;
use sotto_db::epoch::KEY;
use sotto_tlog::appender::{AttachedCosignature, attach};
use sotto_tlog::catalogs::log_key;
use sotto_tlog::history::MAX_HISTORY_BYTES;
use sotto_tlog::note::MAX_NOTE_BYTES;
use sotto_tlog::publisher_log::{PublisherLog, SignedCheckpoint};
use sotto_tlog::witness::examine;
use sotto_tlog::{
    Checkpoint, Cosigner, DirectorySource, LogError, LogHistory, LogLayout, LogSource, SignedNote, WitnessKey,
};
use sotto_wire::routes;
use std::cell::RefCell;
use std::fs;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

const EXAMPLE: &str = "\
A publisher's log has a line for each signed catalog and stack, with its digest. It is a C2SP tlog-tiles \
log under the publisher's own key, so a client that pinned the publisher needs no other key for it. `sotto \
encode --catalog-log DIR` creates the log, later epochs are added by themselves, and `sotto serve` serves it.

A witness is run by somebody else, on another machine. From time to time it checks that the log extends \
what it saw last, reads the new entries, and cosigns the log with the time; it does not if the log has two \
catalogs of one epoch. Clients that name the witness (`sotto get --witness KEY`) refuse a catalog that is \
not in the log, a log without a recent cosignature, a log that does not extend the one they saw before, \
and a log whose entries contradict each other where they read it. Anybody can read all of it: `sotto log \
watch` ends with exit code 5 at two entries that contradict each other.

Tables of one publisher share a log if they share a signing key (--signing-key).

Example:
  sotto encode words.csv --value meaning --out tables/words --catalog-log logs/mine
  sotto log key --key witness.key --name witness.example/w1
  sotto log cosign logs/mine --publisher sotto-pk:... --key witness.key --state witness --out note.txt
  sotto log attach logs/mine note.txt --witness witness.example/w1+...
  sotto serve tables/words
  sotto get --server http://127.0.0.1:8080 --table words --row 7 --witness witness.example/w1+...";

/// Arguments of `sotto log`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Log {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show the catalogs in a log, and who cosigned it
    Show(Show),
    /// Add the catalogs of a table or stack to its log, if they are missing
    Add(Add),
    /// Create a witness's key, or show its public half
    Key(Key),
    /// As a witness: check that a log extends what was seen before, and cosign it
    Cosign(Cosign),
    /// Watch a log, and end with an error if it forks or contradicts itself
    Watch(Watch),
    /// As a publisher: add cosignatures of witnesses to the log
    Attach(Attach),
}

impl Log {
    pub(crate) fn run(self, screen: Screen) -> Result<Report> {
        match self.verb {
            Verb::Show(verb) => verb.run(),
            Verb::Add(verb) => verb.run(),
            Verb::Key(verb) => verb.run(),
            Verb::Cosign(verb) => verb.run(),
            Verb::Watch(verb) => verb.run(screen),
            Verb::Attach(verb) => verb.run(),
        }
    }
}

/// Arguments of `sotto log show`.
#[derive(Debug, clap::Args)]
struct Show {
    /// Folder of the log
    #[arg(value_name = "LOG")]
    folder: PathBuf,
}

impl Show {
    fn run(self) -> Result<Report> {
        let log = PublisherLog::open(&self.folder)?;
        let heads = [("checkpoint", Some(log.newest())), ("cosigned", log.witnessed())];
        let mut lines = vec![("publisher", log.publisher().to_string())];
        for (name, head) in heads {
            if let Some(head) = head {
                let (names, entries) = (cosigners(head), head.checkpoint.size);
                let by = if names.is_empty() { "nobody".to_owned() } else { names.join(", ") };
                lines.push((name, format!("{entries} entries, cosigned by {by}")));
            }
        }
        let columns = ">entry | kind | name | >epoch | BLAKE3";
        let rows = log.entries().iter().enumerate().map(|(index, entry)| {
            let (kind, epoch) = (entry.kind.name().to_owned(), entry.epoch.to_string());
            vec![index.to_string(), kind, entry.name.to_string(), epoch, entry.digest.to_string()]
        });
        let text = format!("{}\n{}", grid::facts(lines), grid::grid(columns, rows));
        let entries = log.entries().iter().map(|entry| {
            let (kind, digest) = (entry.kind.name(), entry.digest.to_string());
            json!({ "kind": kind, "name": entry.name, "epoch": entry.epoch, "digest": digest })
        });
        let json_of = |head: &SignedCheckpoint| json!({ "entries": head.checkpoint.size, "cosigned_by": cosigners(head) });
        let json = json!({
            "publisher": log.publisher().to_string(),
            "checkpoint": json_of(log.newest()),
            "cosigned": log.witnessed().map(json_of),
            "entries": entries.collect::<Vec<_>>(),
        });
        // All of it is shown first, as the proof of an error.
        let wrong = log.history().err();
        let wrong = wrong.map(|e| Failure::from(e).fix("show the log to others; do not trust its publisher"));
        Ok(Report::new(text, &json).but(wrong))
    }
}

/// The names in the lines after the publisher's own.
fn cosigners(head: &SignedCheckpoint) -> Vec<String> {
    let note = SignedNote::parse(head.note.as_bytes());
    let lines = note.map(|note| note.signatures).unwrap_or_default();
    lines.into_iter().map(|line| line.name).filter(|name| *name != head.checkpoint.origin).collect()
}

/// Arguments of `sotto log add`.
#[derive(Debug, clap::Args)]
struct Add {
    /// Directory of a table or stack
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Folder of the log [default: the one that the directory was published to before]
    #[arg(long, value_name = "LOG")]
    catalog_log: Option<PathBuf>,
    /// File of the signing key [default: signing.key in the directory]
    #[arg(long, value_name = "FILE")]
    signing_key: Option<PathBuf>,
}

impl Add {
    fn run(self) -> Result<Report> {
        if let PathKind::Foreign(..) | PathKind::ForeignFile = PathKind::of(&self.dir)? {
            return Err(Failure::usage("tables of Apple's lookups are not signed and have no log")
                .fix("give the directory of a table or stack"));
        }
        // A key must not be created here, since it would belong to no publisher.
        let key = self.signing_key.unwrap_or_else(|| self.dir.join(KEY));
        if !key.exists() {
            return Err(Failure::missing(format!("no such signing key: {}", key.display()))
                .fix("give the key that signed the table"));
        }
        let log = PublishArgs::with_log(self.catalog_log).write_with(&self.dir, Some(&key))?;
        let log = log.ok_or_else(|| {
            Failure::usage(format!("{} has no log", self.dir.display())).fix("give --catalog-log DIR")
        })?;
        Ok(Report::new(log_line(&log), &json!({ "log": log_json(Some(&log)) })))
    }
}

/// Arguments of `sotto log attach`.
#[derive(Debug, clap::Args)]
struct Attach {
    /// Folder of the log
    #[arg(value_name = "LOG")]
    folder: PathBuf,
    /// Cosigned checkpoints of witnesses, as `sotto log cosign` writes them
    #[arg(value_name = "NOTE", required = true)]
    notes: Vec<PathBuf>,
    /// Public key of a witness whose cosignatures to add; repeatable
    #[arg(long = "witness", value_name = "NAME+ID+BASE64", required = true)]
    witnesses: Vec<WitnessKey>,
}

impl Attach {
    fn run(self) -> Result<Report> {
        let notes = self
            .notes
            .iter()
            .map(|path| files::read("reading", path, MAX_NOTE_BYTES as u64))
            .collect::<Result<Vec<_>>>()?;
        let attached = attach(&self.folder, &notes, &self.witnesses)?;
        let each = attached.iter().map(|AttachedCosignature { witness, size, time }| {
            let line = format!("{witness} cosigned {size} entries at {time}\n");
            (line, json!({ "witness": witness, "entries": size, "time": time }))
        });
        let (lines, each): (String, Vec<_>) = each.unzip();
        let text = lines + "a running `sotto serve` loads it by itself";
        Ok(Report::new(text, &json!({ "attached": each })))
    }
}

/// Arguments of `sotto log key`.
#[derive(Debug, clap::Args)]
struct Key {
    /// File of the witness's signing key; created if missing
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Name of the witness for a new key, like a URL without its scheme
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

impl Key {
    fn run(self) -> Result<Report> {
        let cosigner = match read_key(&self.key)? {
            Some(cosigner) => cosigner,
            None => self.make()?,
        };
        let witness = cosigner.public().to_string();
        Ok(Report::new(format!("witness key: {witness}"), &json!({ "file": self.key, "witness": witness })))
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
struct Cosign {
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
    fn run(self) -> Result<Report> {
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
        let json =
            json!({ "entries": size, "before": before, "time": now, "witness": witness, "note": note });
        Ok(Report::new(text, &json))
    }
}

/// Arguments of `sotto log watch`.
#[derive(Debug, clap::Args)]
struct Watch {
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
    fn run(self, screen: Screen) -> Result<Report> {
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
        Ok(Report::new(text, &json!({ "entries": size, "before": before })))
    }
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
        let served = served.ok_or_else(|| LogError::Missing { path: path.into() })?;
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
