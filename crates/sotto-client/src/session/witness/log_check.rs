//! The check of one catalog: its proof, the cosignatures, the consistency of the log, and the
//! entries of its name.
//!
//! The proof contains the entry, which names the previous one. All entries of the log are read that
//! are new since this table was last checked; on the first visit, those of the last bundles. Each
//! is verified against the checkpoint, and those of the table have to be of one epoch each and to
//! form one chain ([`LogHistory`]).

use super::{LogMemory, MAX_CLOCK_SKEW, WitnessError, Witnesses};
use crate::transport::{Request, Response};
use crate::{ClientError, Result};
use sotto_tlog::catalogs::log_key;
use sotto_tlog::proof::MAX_PROOF_BYTES;
use sotto_tlog::publisher_log::MAX_FILE_BYTES;
use sotto_tlog::witness::consistent;
use sotto_tlog::{
    Checkpoint, InclusionProof, LogEntry, LogError, LogHistory, LogKey, LogLayout, LogSource, SignedNote,
    Tile, VerifiedLog,
};
use sotto_wire::{Code, Problem, routes};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Maximum number of files of a log that are fetched to verify its consistency: a tile or two of
/// each of eight levels, and full tiles in place of partial ones that were removed.
const MAX_FILES: usize = 64;

/// Maximum number of bundles of 256 entries that are read since the last visit.
const MAX_BUNDLES: u64 = 256;

/// Number of bundles that are read on a first visit, the last ones of the log.
const FIRST_VISIT_BUNDLES: u64 = 4;

/// A check in progress. It says what to fetch from the first server, and reads the responses.
pub(crate) struct LogCheck {
    entry: LogEntry,
    key: LogKey,
    witnesses: Witnesses,
    logs: LogMemory,
    now: u64,
    /// Checkpoint that the proof leads to, as text with its signatures, and the time until which
    /// its cosignatures are good.
    found: Option<(Checkpoint, String, u64)>,
    /// Files of the log so far; `None` for a file that the server does not have.
    files: BTreeMap<String, Option<Vec<u8>>>,
    missing_file: Option<String>,
    /// What was read of the log's entries, once the checkpoint is known to be consistent.
    history: Option<LogHistory>,
}

impl LogCheck {
    /// Begins to check an entry; `None` if it was found in the log before, and its cosignatures are
    /// still recent.
    ///
    /// # Errors
    /// [`WitnessError::NoClock`], [`WitnessError::Count`], [`WitnessError::NoneNeeded`].
    pub(crate) fn new(
        entry: LogEntry,
        witnesses: &Witnesses,
        logs: &LogMemory,
        now: Option<u64>,
    ) -> Result<Option<Self>> {
        let now = now.ok_or(WitnessError::NoClock)?;
        let given = distinct(witnesses);
        if witnesses.needed == 0 {
            return Err(WitnessError::NoneNeeded { given }.into());
        }
        if witnesses.needed > given {
            return Err(WitnessError::Count { needed: witnesses.needed, given }.into());
        }
        if logs.good_until(&entry.digest) > now {
            return Ok(None);
        }
        let key = log_key(&entry.key).map_err(|error| proof_error(&entry, error))?;
        let (witnesses, logs) = (witnesses.clone(), logs.clone());
        let (files, found, missing_file, history) = (BTreeMap::new(), None, None, None);
        Ok(Some(LogCheck { entry, key, witnesses, logs, now, found, files, missing_file, history }))
    }

    /// The request to send to the first server.
    pub(crate) fn next(&self) -> Request {
        let key = self.entry.key.0.to_string();
        match &self.missing_file {
            None => {
                let path = routes::log_proof(&key, &self.entry.digest.to_string());
                Request::get(path, MAX_PROOF_BYTES as u64)
            }
            Some(path) => Request::get(routes::log_file(&key, path), MAX_FILE_BYTES),
        }
    }

    /// Takes the response to [`LogCheck::next`]. Returns whether the check is complete.
    ///
    /// # Errors
    /// [`ClientError::Witness`]; the error for a refusal that does not concern logs.
    pub(crate) fn feed(&mut self, response: &Response) -> Result<bool> {
        match self.missing_file.take() {
            None => self.read_proof(response)?,
            Some(path) => {
                let body = match (response.is_success(), response.status) {
                    (true, _) => Some(response.body.clone()),
                    (_, 404) => None,
                    _ => return Err(ClientError::Refused(Problem::read(response.status, &response.body))),
                };
                self.files.insert(path, body);
            }
        }
        Ok(self.compare()? && self.read_entries()?)
    }

    fn read_proof(&mut self, response: &Response) -> Result<()> {
        if !response.is_success() {
            let problem = Problem::read(response.status, &response.body);
            return Err(match problem.code {
                Code::NotLogged | Code::NoSuchRoute => {
                    WitnessError::NotLogged { what: describe(&self.entry) }.into()
                }
                _ => ClientError::Refused(problem),
            });
        }
        let refuse = |error| proof_error(&self.entry, error);
        let found = InclusionProof::parse(&response.body).map_err(refuse)?;
        // The server sends the entry, since it names the previous one; its contents are known here.
        let logged = LogEntry::parse(found.extra.as_deref().unwrap_or_default()).map_err(refuse)?;
        if !logged.is_same_document(&self.entry) {
            return Err(refuse(LogError::Conflict {
                index: found.index,
                subject: logged.subject(),
                why: "the server sent another entry than the requested one".into(),
            }));
        }
        let checkpoint = found.verify(&logged.leaf(), &self.key).map_err(refuse)?;
        let until = self.cosigned(&SignedNote::parse(found.checkpoint.as_bytes()).map_err(refuse)?)?;
        self.found = Some((checkpoint, found.checkpoint, until));
        Ok(())
    }

    /// The time until which enough witnesses have cosigned a checkpoint.
    fn cosigned(&self, note: &SignedNote) -> Result<u64> {
        let Witnesses { keys, needed, age } = &self.witnesses;
        let mut times = BTreeMap::new();
        for key in keys {
            if let Some(time) = key.cosigned(note).map_err(|error| proof_error(&self.entry, error))? {
                times.insert(key.to_string(), time);
            }
        }
        let latest = self.now.saturating_add(MAX_CLOCK_SKEW.as_secs());
        let mut ends: Vec<u64> = times
            .values()
            .filter(|time| **time <= latest)
            .map(|time| time.saturating_add(age.as_secs()))
            .collect();
        let believed = ends.len();
        let oldest = ends.iter().filter(|end| **end <= self.now).max();
        let stale = oldest.map(|end| self.now - end.saturating_sub(age.as_secs()));
        ends.retain(|end| *end > self.now);
        // The most recent cosignatures count, as many as are required.
        ends.sort_unstable_by(|a, b| b.cmp(a));
        match needed.checked_sub(1).and_then(|last| ends.get(last)) {
            Some(end) => Ok(*end),
            None => {
                let (what, is_old) = (describe(&self.entry), believed >= *needed);
                let (needed, fresh) = (*needed, ends.len());
                Err(WitnessError::NotWitnessed { what, needed, fresh, stale, is_old }.into())
            }
        }
    }

    /// Verifies that the log is consistent with the one seen before, as far as its files have
    /// arrived. Returns whether that is complete.
    fn compare(&mut self) -> Result<bool> {
        let Some((found, note, _)) = &self.found else { return Ok(false) };
        // One comparison is enough.
        let kept = self.logs.last(&self.entry.key).filter(|_| self.history.is_none());
        if let Some(kept) = kept {
            let before = Checkpoint::open(kept.as_bytes(), &self.key).map_err(damaged)?;
            // A server may be behind another one: then the log it shows is a prefix of the one seen
            // before.
            let (older, newer) = if before.size <= found.size { (&before, found) } else { (found, &before) };
            let files = PendingFiles { arrived: &self.files, missing: RefCell::new(None) };
            let outcome = consistent(&files, Some(older), newer);
            if let Some(path) = files.missing.into_inner() {
                return self.request_file(path).map(|()| false);
            }
            outcome.map_err(|error| self.unfollowed(error, note))?;
        }
        Ok(true)
    }

    /// Reads the new entries of the log, as far as its files have arrived. Returns whether that is
    /// complete.
    fn read_entries(&mut self) -> Result<bool> {
        let Some((found, note, until)) = &self.found else { return Ok(false) };
        let (key, kind, name) = (self.entry.key, self.entry.kind, &self.entry.name);
        let is_first = self.history.is_none();
        let first_visit = || {
            let bundles = found.size.div_ceil(TILE_WIDTH).saturating_sub(FIRST_VISIT_BUNDLES);
            LogHistory::of_name(key, kind, name.clone(), bundles * TILE_WIDTH)
        };
        let begun = || self.logs.history(key, kind, name).unwrap_or_else(first_visit);
        let mut history = self.history.clone().unwrap_or_else(begun);
        let new = found.size.saturating_sub(history.size());
        if is_first && new / TILE_WIDTH >= MAX_BUNDLES {
            let why = format!(
                "it has {new} new entries, more than the {} that are read at once",
                MAX_BUNDLES * TILE_WIDTH
            );
            return Err(WitnessError::Unfollowed { why }.into());
        }
        // A server that is behind another one has nothing new.
        while history.size() < found.size {
            let files = PendingFiles { arrived: &self.files, missing: RefCell::new(None) };
            let from = history.size();
            let outcome = VerifiedLog::open(&files, LogLayout::Tiles, found).and_then(|mut log| {
                history.continues(&mut log)?;
                history.read_bundle(&mut log)
            });
            if let Some(path) = files.missing.into_inner() {
                self.history = Some(history);
                return self.request_file(path).map(|()| false);
            }
            outcome.map_err(|error| self.unfollowed(error, note))?;
            // The bundle is not needed again; the tiles above it are.
            let tile = from / TILE_WIDTH;
            for path in
                [LogLayout::Tiles.bundle(tile, TILE_WIDTH as u16), LogLayout::Tiles.tile(Tile::full(0, tile))]
            {
                self.files.remove(&path);
            }
        }
        let kept = self.logs.last(&key);
        let size = |note: &String| Checkpoint::open(note.as_bytes(), &self.key).map(|known| known.size);
        let longer = kept.filter(|kept| size(kept).is_ok_and(|known| known > found.size));
        self.logs.record(history, longer.unwrap_or_else(|| note.clone()), self.entry.digest, *until);
        Ok(true)
    }

    /// Requests a file next.
    fn request_file(&mut self, path: String) -> Result<()> {
        if self.files.len() >= MAX_FILES {
            return Err(WitnessError::Unfollowed {
                why: "the check needs too many files of the log".to_owned(),
            }
            .into());
        }
        self.missing_file = Some(path);
        Ok(())
    }

    /// The error for a log that is not consistent with a checkpoint.
    fn unfollowed(&self, error: LogError, note: &str) -> ClientError {
        match error {
            LogError::Fork { size } => {
                let (publisher, found) = (self.entry.key, note.to_owned());
                WitnessError::Fork { publisher, size, found, kept: None }.into()
            }
            error @ LogError::Conflict { .. } => {
                WitnessError::Conflict { what: describe(&self.entry), why: error.to_string() }.into()
            }
            error => WitnessError::Unfollowed { why: error.to_string() }.into(),
        }
    }
}

/// Number of hashes in a tile, and of entries in a bundle.
const TILE_WIDTH: u64 = sotto_tlog::layout::TILE_WIDTH as u64;

fn damaged(error: LogError) -> WitnessError {
    WitnessError::Kept { why: error.to_string() }
}

/// The files that have arrived, and the first one that is missing.
struct PendingFiles<'a> {
    arrived: &'a BTreeMap<String, Option<Vec<u8>>>,
    missing: RefCell<Option<String>>,
}

impl LogSource for &PendingFiles<'_> {
    fn file(&self, path: &str, _: u64) -> sotto_tlog::Result<Option<Vec<u8>>> {
        match self.arrived.get(path) {
            Some(bytes) => Ok(bytes.clone()),
            None => {
                self.missing.replace(Some(path.to_owned()));
                // The reader stops here, and begins again once the file has arrived.
                Err(LogError::Missing { path: path.to_owned() })
            }
        }
    }

    fn has(&self, path: &str) -> sotto_tlog::Result<bool> {
        Ok(self.arrived.get(path).is_some_and(Option::is_some))
    }
}

/// Number of distinct witnesses: one that is named twice counts once.
fn distinct(witnesses: &Witnesses) -> usize {
    let names: std::collections::BTreeSet<String> = witnesses.keys.iter().map(ToString::to_string).collect();
    names.len()
}

fn describe(entry: &LogEntry) -> String {
    let kind = if entry.kind == sotto_tlog::catalogs::EntryKind::Stack { "stack" } else { "table" };
    format!("{kind} {}, epoch {},", entry.name, entry.epoch)
}

fn proof_error(entry: &LogEntry, error: LogError) -> ClientError {
    WitnessError::Proof { what: describe(entry), why: error.to_string() }.into()
}
