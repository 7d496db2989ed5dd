//! History of a publisher's log, whose entries are checked in order: one catalog for each epoch of
//! a name, and one chain for each name.
//!
//! A witness, a monitor, a client and the publisher itself keep a [`LogHistory`]: the last entry of
//! each name. The next entry of a name must have a later epoch and name the leaf hash of that last
//! one; any other entry proves that the publisher shows different data to different people. A
//! history can be saved and resumed, so that each entry is read once:
//!
//! ```text
//! sotto-log-history/1
//! sotto-pk:<publisher>
//! *                                    all names, or one: catalog words
//! <first entry that was read> <entries of the log> <root, 64 hex digits>
//! catalog words 7 <leaf hash, 64 hex digits>
//! ```
#![deny(clippy::indexing_slicing)]

use crate::catalogs::EntryKind;
use crate::layout::TILE_WIDTH;
use crate::note::decimal;
use crate::{LogEntry, LogError, LogSource, Result, VerifiedLog};
use sotto_catalog::{Hex32, PublicKey, TableName};
use sotto_core::Epoch;
use std::collections::BTreeMap;
use std::fmt;

/// Format in the first line.
const FORMAT: &str = "sotto-log-history/1";

/// Largest number of names in a history.
pub const MAX_NAMES: usize = 1 << 18;

/// Largest size of a history's text in bytes: a line has fewer than 200.
pub const MAX_HISTORY_BYTES: u64 = 200 * (MAX_NAMES as u64 + 4);

/// The last entry of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastEntry {
    /// Epoch of the entry.
    pub epoch: Epoch,
    /// Leaf hash of the entry.
    pub leaf: Hex32,
}

/// The last entry of each name of a publisher's log, or of one name, up to some length of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogHistory {
    publisher: PublicKey,
    /// The only name that is tracked; `None` for all names.
    only: Option<(EntryKind, TableName)>,
    /// Index of the first entry that was read.
    first: u64,
    size: u64,
    /// Root of the log at that length; `None` until the log was read to its end.
    root: Option<Hex32>,
    last: BTreeMap<(EntryKind, TableName), LastEntry>,
}

impl LogHistory {
    /// Starts a history of all names at the log's first entry.
    pub fn new(publisher: PublicKey) -> Self {
        let publisher = publisher.without_ml_dsa();
        LogHistory { publisher, only: None, first: 0, size: 0, root: None, last: BTreeMap::new() }
    }

    /// Starts a history of one name at the bundle that contains entry `first`. Earlier entries are
    /// not known.
    pub fn of_name(publisher: PublicKey, kind: EntryKind, name: TableName, first: u64) -> Self {
        let first = first - first % TILE_WIDTH as u64;
        LogHistory { only: Some((kind, name)), first, size: first, ..Self::new(publisher) }
    }

    /// Publisher of the log.
    pub fn publisher(&self) -> PublicKey {
        self.publisher
    }

    /// The only name that is tracked; `None` for a history of all names.
    pub fn only(&self) -> Option<&(EntryKind, TableName)> {
        self.only.as_ref()
    }

    /// Index of the first entry that was read.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Length of the log up to which entries were read.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The last entry of a name.
    pub fn last(&self, kind: EntryKind, name: &TableName) -> Option<LastEntry> {
        self.last.get(&(kind, name.clone())).copied()
    }

    /// Checks and adds the next entry of the log.
    ///
    /// # Errors
    /// [`LogError::Conflict`]; [`LogError::TooLarge`] for more than [`MAX_NAMES`] names.
    pub fn append(&mut self, index: u64, entry: &LogEntry) -> Result<()> {
        let conflict = |why: String| Err(LogError::Conflict { index, subject: entry.subject(), why });
        if entry.key != self.publisher {
            return conflict(format!(
                "the entry is of publisher {}, in the log of {}",
                entry.key, self.publisher
            ));
        }
        let name = (entry.kind, entry.name.clone());
        if self.only.as_ref().is_some_and(|only| *only != name) {
            return Ok(());
        }
        match self.last.get(&name) {
            Some(last) if last.epoch == entry.epoch => {
                return conflict("the log has another entry of the same epoch".into());
            }
            Some(last) if last.epoch > entry.epoch => {
                return conflict(format!("the epoch is below {}, that of the previous entry", last.epoch));
            }
            Some(last) if entry.previous != Some(last.leaf) => {
                return conflict(
                    "the entry does not name the last entry of its table, so the chain branches".into(),
                );
            }
            None if self.first == 0 && entry.previous.is_some() => {
                return conflict("the entry names a previous entry that the log does not have".into());
            }
            None if self.last.len() >= MAX_NAMES => {
                return Err(LogError::TooLarge { what: "list of names".into(), limit: MAX_HISTORY_BYTES });
            }
            _ => {}
        }
        self.last.insert(name, LastEntry { epoch: entry.epoch, leaf: Hex32::from(entry.leaf()) });
        Ok(())
    }

    /// Checks that a log extends the one that was read.
    ///
    /// # Errors
    /// [`LogError::Older`], [`LogError::Fork`], and the errors of [`VerifiedLog::peaks_at`].
    pub fn continues<S: LogSource>(&self, log: &mut VerifiedLog<S>) -> Result<()> {
        match self.root {
            Some(root) if log.peaks_at(self.size)?.root() != root.0 => {
                Err(LogError::Fork { size: self.size })
            }
            None if self.size > log.size() => Err(LogError::Older { known: self.size, found: log.size() }),
            _ => Ok(()),
        }
    }

    /// Reads the entries of the next bundle. Returns whether the end of the log is reached.
    ///
    /// # Errors
    /// The errors of [`VerifiedLog::entries`], [`LogEntry::parse`] and [`LogHistory::append`]. The
    /// history must be discarded after any error except [`LogError::Missing`].
    pub fn read_bundle<S: LogSource>(&mut self, log: &mut VerifiedLog<S>) -> Result<bool> {
        let (size, width) = (log.size(), TILE_WIDTH as u64);
        if self.size < size {
            let (tile, from) = (self.size / width, self.size);
            log.entries(tile, |index, entry| {
                if index < from { Ok(()) } else { self.append(index, &LogEntry::parse(entry.content)?) }
            })?;
            self.size = size.min((tile + 1) * width);
            self.root = None;
        }
        if self.size == size {
            self.root = Some(Hex32::from(log.peaks().root()));
        }
        Ok(self.size >= size)
    }

    /// Reads all entries that are new since the last call.
    ///
    /// # Errors
    /// The errors of [`LogHistory::continues`] and [`LogHistory::read_bundle`].
    pub fn read<S: LogSource>(&mut self, log: &mut VerifiedLog<S>) -> Result<()> {
        self.continues(log)?;
        while !self.read_bundle(log)? {}
        Ok(())
    }

    /// Parses a saved history. Total.
    ///
    /// # Errors
    /// [`LogError::Malformed`]; [`LogError::TooLarge`] for more than [`MAX_HISTORY_BYTES`].
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        if bytes.len() as u64 > MAX_HISTORY_BYTES {
            return Err(LogError::TooLarge { what: "log history".into(), limit: MAX_HISTORY_BYTES });
        }
        let refuse = |why: &str| LogError::malformed("log history", why);
        let text = std::str::from_utf8(bytes).map_err(|_| refuse("not UTF-8"))?;
        let mut lines = text.split_inclusive('\n').map(|line| line.strip_suffix('\n').unwrap_or("?"));
        let mut next = |what: &str| lines.next().ok_or_else(|| refuse(what));
        if next("expected a format")? != FORMAT {
            return Err(refuse("expected sotto-log-history/1 in the first line"));
        }
        let publisher = next("expected a publisher")?.parse();
        let publisher = publisher.map_err(|_| refuse("the second line is not a publisher's key"))?;
        let only = match next("expected a name")? {
            "*" => None,
            name => Some(named(name).ok_or_else(|| refuse("the third line is not a name"))?),
        };
        let state = next("expected the log's length")?;
        let state = state.split_once(' ').and_then(|(first, rest)| {
            let (size, root) = rest.split_once(' ')?;
            Some((decimal(first)?, decimal(size)?, root.parse().ok()?))
        });
        let (first, size, root) = state.ok_or_else(|| refuse("the fourth line is not the state of a log"))?;
        let mut history = LogHistory { only, first, size, root: Some(root), ..Self::new(publisher) };
        for line in lines {
            let entry = line.rsplit_once(' ').and_then(|(rest, leaf)| {
                let (name, epoch) = rest.rsplit_once(' ')?;
                let last = LastEntry { epoch: Epoch(decimal(epoch)?), leaf: leaf.parse().ok()? };
                Some((named(name)?, last))
            });
            let (name, last) = entry.ok_or_else(|| refuse("a line is not an entry"))?;
            history.last.insert(name, last);
        }
        // A history has only one form: sorted, each name once, and only names that are tracked.
        if history.to_string().as_bytes() == bytes {
            Ok(history)
        } else {
            Err(refuse("not in canonical form"))
        }
    }
}

/// Kind and name of a line.
fn named(text: &str) -> Option<(EntryKind, TableName)> {
    let (kind, name) = text.split_once(' ')?;
    Some((EntryKind::parse(kind)?, name.parse().ok()?))
}

/// Writes a history that was read to the end of its log; the text of any other history cannot be
/// parsed.
impl fmt::Display for LogHistory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{FORMAT}\n{}", self.publisher)?;
        match &self.only {
            Some((kind, name)) => writeln!(f, "{} {name}", kind.name())?,
            None => writeln!(f, "*")?,
        }
        match &self.root {
            Some(root) => writeln!(f, "{} {} {root}", self.first, self.size)?,
            None => writeln!(f, "{} {} -", self.first, self.size)?,
        }
        let lines = self.last.iter();
        lines.into_iter().try_for_each(|((kind, name), last)| {
            writeln!(f, "{} {name} {} {}", kind.name(), last.epoch, last.leaf)
        })
    }
}
