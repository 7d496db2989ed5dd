//! Appends entries to a publisher's log in its folder, and attaches cosignatures.
//!
//! ```text
//! DIR/checkpoint    the newest checkpoint, with its cosignatures
//! DIR/witnessed     the newest checkpoint with at least as many cosignatures as the one before
//! DIR/tile/...      tiles and entries
//! DIR/write.lock    locked by the one process that writes
//! ```
//!
//! Nothing is lost in a crash: tiles are on disk before a checkpoint names them.
#![deny(clippy::indexing_slicing)]

use crate::catalogs::{log_key, log_signer};
use crate::note::{NoteSignature, SignedNote};
use crate::publisher_log::{PublisherLog, SignedCheckpoint, WITNESSED, head};
use crate::{
    Checkpoint, LogEntry, LogError, LogHistory, LogLayout, LogSigner, LogWriter, Result, WitnessKey,
};
use sotto_catalog::{Hex32, SigningKey};
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// File name of the lock that a writer holds.
const LOCK: &str = "write.lock";

/// A publisher's log, locked for writing.
#[derive(Debug)]
pub struct Appender {
    signer: LogSigner,
    writer: LogWriter,
    logged: HashSet<Hex32>,
    history: LogHistory,
    /// Whether the log contains entries that no checkpoint covers yet.
    is_ahead: bool,
    _lock: File,
}

impl Appender {
    /// Opens a publisher's log in a folder, and creates it if there is none. Waits for another
    /// process that writes to it.
    ///
    /// # Errors
    /// The errors of [`PublisherLog::open`]; [`LogError::WrongOrigin`] if it is another
    /// publisher's.
    pub fn open(folder: &Path, key: &SigningKey) -> Result<Self> {
        let lock = lock(folder)?;
        let signer = log_signer(key)?;
        let fresh = !folder.join(LogLayout::Tiles.checkpoint()).exists();
        let (writer, logged, history) = if fresh {
            let writer = LogWriter::create(folder.to_owned(), LogLayout::Tiles)?;
            (writer, HashSet::new(), LogHistory::new(key.public()))
        } else {
            let log = PublisherLog::open(folder)?;
            let (found, pinned) =
                (log.newest().checkpoint.origin.clone(), signer.public().origin().to_owned());
            if found != pinned {
                return Err(LogError::WrongOrigin { pinned, found });
            }
            let logged = log.entries().iter().map(|entry| entry.digest).collect();
            let writer = LogWriter::resume(folder.to_owned(), LogLayout::Tiles, &log.newest().checkpoint)?;
            (writer, logged, log.history()?)
        };
        Ok(Appender { signer, writer: writer.durable(), logged, history, is_ahead: fresh, _lock: lock })
    }

    /// Appends an entry after the previous one of its name, unless the log contains it. Returns
    /// whether it was appended.
    ///
    /// # Errors
    /// [`LogError::Superseded`] for an epoch that is not above the last one of the name;
    /// [`LogError::Storage`].
    pub fn add(&mut self, entry: &LogEntry) -> Result<bool> {
        if self.logged.contains(&entry.digest) {
            return Ok(false);
        }
        let last = self.history.last(entry.kind, &entry.name);
        if let Some(last) = last.filter(|last| last.epoch >= entry.epoch) {
            return Err(LogError::Superseded { subject: entry.subject(), last: last.epoch.0 });
        }
        let entry = LogEntry { previous: last.map(|last| last.leaf), ..entry.clone() };
        self.history.append(self.writer.size(), &entry)?;
        self.writer.append(&entry.written())?;
        self.logged.insert(entry.digest);
        self.is_ahead = true;
        Ok(true)
    }

    /// Whether the log contains an entry of this name with a later epoch.
    pub fn is_past(&self, entry: &LogEntry) -> bool {
        self.history.last(entry.kind, &entry.name).is_some_and(|last| last.epoch > entry.epoch)
    }

    /// Number of entries so far.
    pub fn size(&self) -> u64 {
        self.writer.size()
    }

    /// Publishes a checkpoint of the appended entries, if there are any.
    ///
    /// # Errors
    /// [`LogError::Storage`].
    pub fn publish(&mut self) -> Result<()> {
        if self.is_ahead {
            self.writer.publish(&self.signer)?;
            self.is_ahead = false;
        }
        Ok(())
    }
}

/// A cosignature that was attached to a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachedCosignature {
    /// Name of the witness.
    pub witness: String,
    /// Number of entries of the checkpoint.
    pub size: u64,
    /// Time of the cosignature, in seconds since 1970.
    pub time: u64,
}

/// Attaches cosignatures of the given witnesses to the log's checkpoints that they sign, each
/// verified. A note may contain several cosignatures, and there may be several notes.
///
/// # Errors
/// [`LogError::BadSignature`]; [`LogError::NotCosigned`] for a note that is not of a checkpoint of
/// this log, or has no cosignature of these witnesses; [`LogError::TooLarge`] if all cosignatures are
/// more than a note contains; the errors of [`PublisherLog::open`].
pub fn attach(
    folder: &Path,
    notes: &[Vec<u8>],
    witnesses: &[WitnessKey],
) -> Result<Vec<AttachedCosignature>> {
    let _lock = lock(folder)?;
    let log = PublisherLog::open(folder)?;
    let mut newest = SignedNote::parse(log.newest().note.as_bytes())?;
    let mut witnessed = log.witnessed().map(|head| SignedNote::parse(head.note.as_bytes())).transpose()?;
    let mut attached = Vec::new();
    for bytes in notes {
        let note = SignedNote::parse(bytes)?;
        let size = Checkpoint::parse_text(&note.text)?.size;
        let before = attached.len();
        for witness in witnesses {
            let Some(time) = witness.cosigned(&note)? else { continue };
            let lines = note.signatures.iter();
            let lines = lines.filter(|line| line.name == witness.name() && line.id == witness.id());
            let Some(line) = lines.max_by_key(|line| time_of(line)) else { continue };
            let both = std::iter::once(&mut newest).chain(witnessed.as_mut());
            let mut found = false;
            for head in both.filter(|head| head.text == note.text) {
                put(head, line);
                found = true;
            }
            if found {
                attached.push(AttachedCosignature { witness: witness.name().into(), size, time });
            }
        }
        if attached.len() == before {
            return Err(LogError::NotCosigned { size, newest: log.newest().checkpoint.size });
        }
    }
    let key = log_key(&log.publisher())?;
    let cosignatures =
        |note: &SignedNote| note.signatures.iter().filter(|line| line.name != key.name()).count();
    if witnessed.as_ref().is_none_or(|old| cosignatures(old) <= cosignatures(&newest)) {
        witnessed = (cosignatures(&newest) > 0).then(|| newest.clone());
    }
    for (path, note) in [(WITNESSED, witnessed), (LogLayout::Tiles.checkpoint(), Some(newest))] {
        let Some(note) = note.map(|note| note.to_string()) else { continue };
        let SignedCheckpoint { note, .. } = head(note, &key)?;
        replace(folder, path, note.as_bytes())?;
    }
    Ok(attached)
}

/// Adds a cosignature to a note, or replaces an older one of the same key.
fn put(note: &mut SignedNote, line: &NoteSignature) {
    match note.signatures.iter_mut().find(|old| old.name == line.name && old.id == line.id) {
        Some(old) if time_of(old) < time_of(line) => *old = line.clone(),
        Some(_) => {}
        None => note.signatures.push(line.clone()),
    }
}

/// Time at which a cosignature claims to be made.
fn time_of(line: &NoteSignature) -> Option<[u8; 8]> {
    line.bytes.first_chunk().copied()
}

/// Replaces a file atomically: after a crash the old one or the new one exists.
fn replace(folder: &Path, path: &str, bytes: &[u8]) -> Result<()> {
    let (to, new) = (folder.join(path), folder.join(format!("{path}.new")));
    let written = || {
        let mut file = File::create(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&new, &to)
    };
    written().map_err(LogError::storage(path))
}

fn lock(folder: &Path) -> Result<File> {
    let path: PathBuf = folder.join(LOCK);
    let taken = || {
        fs::create_dir_all(folder)?;
        let file = File::options().create(true).append(true).open(&path)?;
        file.lock()?;
        Ok(file)
    };
    taken().map_err(LogError::storage(path.display().to_string()))
}
