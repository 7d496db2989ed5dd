//! A publisher's log in a folder: the places of catalogs, and their inclusion proofs.
//!
//! There may be two checkpoints. The newest one (`checkpoint`) exists as soon as a catalog is
//! logged. The one in `witnessed` has cosignatures, and catalogs that it covers are proved by it.
//! So after a catalog is added, only clients that request that catalog wait for witnesses.
#![deny(clippy::indexing_slicing)]

use crate::catalogs::{log_key, publisher};
use crate::layout::{LogFile, TILE_WIDTH};
use crate::note::{MAX_NOTE_BYTES, SignedNote};
use crate::{
    Checkpoint, DirectorySource, InclusionProof, LogEntry, LogError, LogHistory, LogKey, LogLayout,
    LogSource, Result, VerifiedLog,
};
use sotto_catalog::{Hex32, PublicKey};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// File name of the newest checkpoint that witnesses cosigned.
pub const WITNESSED: &str = "witnessed";

/// Largest size in bytes of a tile or a bundle of a publisher's log: 256 entries with their
/// lengths.
pub const MAX_FILE_BYTES: u64 = (TILE_WIDTH * (crate::catalogs::MAX_ENTRY_BYTES + 2)) as u64;

/// A checkpoint with its published note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedCheckpoint {
    /// The note, with all signatures.
    pub note: String,
    /// The parsed checkpoint.
    pub checkpoint: Checkpoint,
}

/// A publisher's log, all of whose entries were read.
#[derive(Clone, Debug)]
pub struct PublisherLog {
    folder: PathBuf,
    publisher: PublicKey,
    newest: SignedCheckpoint,
    witnessed: Option<SignedCheckpoint>,
    entries: Vec<LogEntry>,
    /// Index of the first entry of each digest.
    places: HashMap<Hex32, u64>,
}

impl PublisherLog {
    /// Opens a log and reads all its entries. The log's name contains the publisher's key.
    ///
    /// # Errors
    /// [`LogError::Missing`] without a checkpoint, [`LogError::Malformed`] for a log that is not of
    /// catalogs, and the errors of [`Checkpoint::open`], [`VerifiedLog::open`] and
    /// [`VerifiedLog::entries`].
    pub fn open(folder: &Path) -> Result<Self> {
        let source = DirectorySource(folder.to_owned());
        let note = read(&source, LogLayout::Tiles.checkpoint())?
            .ok_or(LogError::Missing(LogLayout::Tiles.checkpoint().into()))?;
        let origin = Checkpoint::parse_text(&SignedNote::parse(note.as_bytes())?.text)?.origin;
        let publisher = publisher(&origin)
            .ok_or_else(|| LogError::malformed("checkpoint", "the log does not list catalogs"))?;
        let newest = head(note, &log_key(&publisher)?)?;
        let start = PublisherLog {
            folder: folder.to_owned(),
            publisher,
            newest,
            witnessed: None,
            entries: Vec::new(),
            places: HashMap::new(),
        };
        start.read_on()
    }

    /// Reads the folder again, and returns the log if it changed. Entries that were read are
    /// reused.
    ///
    /// # Errors
    /// The errors of [`PublisherLog::open`]; [`LogError::Older`] and [`LogError::Fork`] if the log
    /// does not extend the one that was read.
    pub fn again(&self) -> Result<Option<Self>> {
        let source = DirectorySource(self.folder.clone());
        let note = read(&source, LogLayout::Tiles.checkpoint())?
            .ok_or(LogError::Missing(LogLayout::Tiles.checkpoint().into()))?;
        let witnessed = read(&source, WITNESSED)?;
        if note == self.newest.note && witnessed.as_ref() == self.witnessed.as_ref().map(|head| &head.note) {
            return Ok(None);
        }
        let newest = head(note, &log_key(&self.publisher)?)?;
        crate::witness::consistent(source, Some(&self.newest.checkpoint), &newest.checkpoint)?;
        PublisherLog { newest, witnessed: None, ..self.clone() }.read_on().map(Some)
    }

    /// Reads new entries, and the cosigned checkpoint.
    fn read_on(mut self) -> Result<Self> {
        let source = DirectorySource(self.folder.clone());
        let mut log = VerifiedLog::open(source.clone(), LogLayout::Tiles, &self.newest.checkpoint)?;
        let read_before = self.entries.len() as u64;
        for tile in read_before / TILE_WIDTH as u64..log.tiles() {
            let (entries, places) = (&mut self.entries, &mut self.places);
            log.entries(tile, |index, entry| {
                if index >= read_before {
                    let entry = LogEntry::parse(entry.content)?;
                    places.entry(entry.digest).or_insert(index);
                    entries.push(entry);
                }
                Ok(())
            })?;
        }
        if let Some(note) = read(&source, WITNESSED)? {
            let witnessed = head(note, &log_key(&self.publisher)?)?;
            log.extends(&witnessed.checkpoint)?;
            self.witnessed = Some(witnessed);
        }
        Ok(self)
    }

    /// Publisher of the catalogs in the log.
    pub fn publisher(&self) -> PublicKey {
        self.publisher
    }

    /// The newest checkpoint.
    pub fn newest(&self) -> &SignedCheckpoint {
        &self.newest
    }

    /// The newest checkpoint that witnesses cosigned.
    pub fn witnessed(&self) -> Option<&SignedCheckpoint> {
        self.witnessed.as_ref()
    }

    /// All entries, oldest first.
    pub fn entries(&self) -> &[LogEntry] {
        &self.entries
    }

    /// History of the log, with its entries checked in order.
    ///
    /// # Errors
    /// [`LogError::Conflict`].
    pub fn history(&self) -> Result<LogHistory> {
        let mut history = LogHistory::new(self.publisher);
        for (index, entry) in (0..).zip(&self.entries) {
            history.append(index, entry)?;
        }
        Ok(history)
    }

    /// Whether a catalog or a stack with this digest is in the log.
    pub fn holds(&self, digest: &Hex32) -> bool {
        self.places.contains_key(digest)
    }

    /// Inclusion proof of a catalog or a stack, with the entry as extra data. It leads to the
    /// cosigned checkpoint if that covers the entry. `None` if the digest is not in the log. Reads
    /// a few tiles.
    ///
    /// # Errors
    /// The errors of [`VerifiedLog::open`] and [`VerifiedLog::prove`].
    pub fn proof(&self, digest: &Hex32) -> Result<Option<InclusionProof>> {
        let Some(&index) = self.places.get(digest) else { return Ok(None) };
        let head =
            self.witnessed.as_ref().filter(|head| index < head.checkpoint.size).unwrap_or(&self.newest);
        let mut log =
            VerifiedLog::open(DirectorySource(self.folder.clone()), LogLayout::Tiles, &head.checkpoint)?;
        let hashes = log.prove(index)?;
        let entry = usize::try_from(index).ok().and_then(|index| self.entries.get(index));
        let extra = entry.map(|entry| entry.to_string().into_bytes());
        Ok(Some(InclusionProof { extra, index, hashes, checkpoint: head.note.clone() }))
    }

    /// Bytes of a file of the log; `None` if the log has no such file.
    ///
    /// # Errors
    /// [`LogError::TooLarge`], [`LogError::Storage`].
    pub fn file(&self, place: LogFile) -> Result<Option<Vec<u8>>> {
        match place {
            LogFile::Checkpoint => Ok(Some(self.newest.note.clone().into_bytes())),
            place if place.is_within(self.newest.checkpoint.size) => {
                DirectorySource(self.folder.clone()).file(&LogLayout::Tiles.path(place), MAX_FILE_BYTES)
            }
            _ => Ok(None),
        }
    }
}

/// Reads a note of a log's folder.
fn read(source: &DirectorySource, path: &str) -> Result<Option<String>> {
    let bytes = source.file(path, MAX_NOTE_BYTES as u64)?;
    let text = bytes.map(String::from_utf8);
    text.transpose().map_err(|_| LogError::malformed("signed note", "not UTF-8"))
}

pub(crate) fn head(note: String, key: &LogKey) -> Result<SignedCheckpoint> {
    Ok(SignedCheckpoint { checkpoint: Checkpoint::open(note.as_bytes(), key)?, note })
}
