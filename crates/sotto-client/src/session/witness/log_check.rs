//! The check of one catalog: its proof, the cosignatures, the consistency of the log, and the
//! entries of its name.
//!
//! The proof contains the entry, which names the previous one. All entries of the log are read that
//! are new since this table was last checked; on the first visit, those of the last bundles. Each
//! is verified against the checkpoint, and those of the table have to be of one epoch each and to
//! form one chain ([`LogHistory`]).

use super::{LogMemory, WitnessError, Witnesses};
use crate::transport::{Request, Response};
use crate::{ClientError, Result};
use sotto_catalog::MlDsaPublicKey;
use sotto_tlog::catalogs::log_key;
use sotto_tlog::policy::MAX_CLOCK_SKEW;
use sotto_tlog::proof::MAX_PROOF_BYTES;
use sotto_tlog::publisher_log::MAX_FILE_BYTES;
use sotto_tlog::witness::consistent;
use sotto_tlog::{
    Checkpoint, InclusionProof, LogEntry, LogError, LogHistory, LogKey, LogLayout, LogSource, SignedNote,
    Tile, VerifiedLog,
};
use sotto_wire::{Problem, ProblemCode, routes};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Maximum number of files of a log that are fetched to verify its consistency: a tile or two of
/// each of eight levels, and full tiles in place of partial ones that were removed.
const MAX_FILES: usize = 64;

/// Maximum number of bundles of 256 entries that are read since the last visit.
const MAX_BUNDLES: u64 = 256;

/// Number of bundles that are read on a first visit, the last ones of the log.
const FIRST_VISIT_BUNDLES: u64 = 4;

/// Checks that an entry is in its publisher's log, with requests to the first server, unless it was
/// found there before and its cosignatures are still recent. A publisher with an ML-DSA-44 key has to
/// have signed the log with it too.
///
/// # Errors
/// [`WitnessError::NoClock`], [`WitnessError::Count`], [`WitnessError::NoneNeeded`] and other
/// [`ClientError::Witness`]; the error for a refusal that does not concern logs; errors of `send`.
pub(crate) fn check_log(
    entry: LogEntry,
    ml_dsa: Option<&MlDsaPublicKey>,
    witnesses: &Witnesses,
    logs: &LogMemory,
    now: Option<u64>,
    send: &mut dyn FnMut(&Request) -> Result<Response>,
) -> Result<()> {
    let now = now.ok_or(WitnessError::NoClock)?;
    let (needed, given) = witnesses.policy.quorum_size();
    if needed == 0 {
        return Err(WitnessError::NoneNeeded { given }.into());
    }
    if needed > given {
        return Err(WitnessError::Count { needed, given }.into());
    }
    if logs.good_until(&entry.digest) > now {
        return Ok(());
    }
    let key = log_key(&entry.key).map_err(|error| proof_error(&entry, error))?;
    let current_key = key.clone().with_ml_dsa(ml_dsa.cloned());
    let check = LogCheck { entry, key, current_key, witnesses, logs, now };
    let proof = routes::log_proof(&check.publisher(), &check.entry.digest.to_string());
    let proof = send(&Request::get(proof, MAX_PROOF_BYTES as u64))?;
    let found = check.read_proof(&proof)?;
    let files = LogFiles {
        publisher: check.publisher(),
        send: RefCell::new(send),
        arrived: RefCell::default(),
        failed: RefCell::new(None),
    };
    check.compare(&found, &files)?;
    check.read_entries(found, &files)
}

/// A check of one entry.
struct LogCheck<'a> {
    entry: LogEntry,
    /// Ed25519 key of the log, for checkpoints that were accepted before.
    key: LogKey,
    /// Key of the log with its ML-DSA-44 half, for the checkpoint that a server shows.
    current_key: LogKey,
    witnesses: &'a Witnesses,
    logs: &'a LogMemory,
    now: u64,
}

/// A checkpoint that a proof leads to.
struct FoundCheckpoint {
    checkpoint: Checkpoint,
    /// The checkpoint as text with its signatures.
    note: String,
    /// Time until which its cosignatures are good.
    until: u64,
}

impl LogCheck<'_> {
    fn publisher(&self) -> String {
        self.entry.key.ed25519.to_string()
    }

    fn read_proof(&self, response: &Response) -> Result<FoundCheckpoint> {
        if !response.is_success() {
            let problem = Problem::read(response.status, &response.body);
            return Err(match problem.code {
                ProblemCode::NotLogged | ProblemCode::NoSuchRoute => {
                    WitnessError::NotLogged(describe(&self.entry)).into()
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
        let checkpoint = found.verify(&logged.leaf(), &self.current_key).map_err(refuse)?;
        self.witnesses.policy.verify_log(found.checkpoint.as_bytes()).map_err(|error| match error {
            LogError::NotListed(_) => WitnessError::NotListed(describe(&self.entry)).into(),
            error => refuse(error),
        })?;
        let until = self.cosigned(&SignedNote::parse(found.checkpoint.as_bytes()).map_err(refuse)?)?;
        Ok(FoundCheckpoint { checkpoint, note: found.checkpoint, until })
    }

    /// The time until which enough witnesses have cosigned a checkpoint.
    fn cosigned(&self, note: &SignedNote) -> Result<u64> {
        let Witnesses { policy, age } = self.witnesses;
        let latest = self.now.saturating_add(MAX_CLOCK_SKEW.as_secs());
        let signed = policy.cosigned(note, latest).map_err(|error| proof_error(&self.entry, error))?;
        let age = age.as_secs();
        let is_fresh = |time: &u64| time.saturating_add(age) > self.now;
        let fresh: Vec<Option<u64>> = signed.iter().map(|time| time.filter(is_fresh)).collect();
        if let Some(time) = policy.quorum_time(&fresh) {
            return Ok(time.saturating_add(age));
        }
        let stale = signed.iter().flatten().filter(|time| !is_fresh(time)).max();
        let stale = stale.map(|time| self.now.saturating_sub(*time));
        let (what, is_old) = (describe(&self.entry), policy.quorum_time(&signed).is_some());
        let (needed, fresh) = policy.quorum_count(&fresh);
        Err(WitnessError::NotWitnessed { what, needed, fresh, stale, is_old }.into())
    }

    /// Verifies that the log is consistent with the one seen before.
    fn compare(&self, found: &FoundCheckpoint, files: &LogFiles<'_>) -> Result<()> {
        let Some(kept) = self.logs.last(&self.entry.key) else { return Ok(()) };
        let (before, now) =
            (Checkpoint::open(kept.as_bytes(), &self.key).map_err(damaged)?, &found.checkpoint);
        // A server may be behind another one: then the log it shows is a prefix of the one seen
        // before.
        let (older, newer) = if before.size <= now.size { (&before, now) } else { (now, &before) };
        let outcome = consistent(files, Some(older), newer);
        files.outcome(outcome, |error| self.unfollowed(error, &found.note))
    }

    /// Reads the new entries of the log.
    fn read_entries(&self, found: FoundCheckpoint, files: &LogFiles<'_>) -> Result<()> {
        let FoundCheckpoint { checkpoint, note, until } = found;
        let (key, kind, name) = (self.entry.key, self.entry.kind, &self.entry.name);
        let mut history = self.logs.history(key, kind, name).unwrap_or_else(|| {
            let bundles = checkpoint.size.div_ceil(TILE_WIDTH).saturating_sub(FIRST_VISIT_BUNDLES);
            LogHistory::of_name(key, kind, name.clone(), bundles * TILE_WIDTH)
        });
        let new = checkpoint.size.saturating_sub(history.size());
        if new / TILE_WIDTH >= MAX_BUNDLES {
            let why = format!(
                "it has {new} new entries, more than the {} that are read at once",
                MAX_BUNDLES * TILE_WIDTH
            );
            return Err(WitnessError::Unfollowed(why).into());
        }
        // A server that is behind another one has nothing new.
        while history.size() < checkpoint.size {
            let tile = history.size() / TILE_WIDTH;
            let outcome = VerifiedLog::open(files, LogLayout::Tiles, &checkpoint).and_then(|mut log| {
                history.continues(&mut log)?;
                history.read_bundle(&mut log)
            });
            files.outcome(outcome, |error| self.unfollowed(error, &note))?;
            // The bundle is not needed again; the tiles above it are.
            for path in
                [LogLayout::Tiles.bundle(tile, TILE_WIDTH as u16), LogLayout::Tiles.tile(Tile::full(0, tile))]
            {
                files.arrived.borrow_mut().remove(&path);
            }
        }
        let size = |note: &String| Checkpoint::open(note.as_bytes(), &self.key).map(|known| known.size);
        let is_longer = |kept: &String| size(kept).is_ok_and(|known| known > checkpoint.size);
        let longer = self.logs.last(&key).filter(is_longer);
        self.logs.record(history, longer.unwrap_or(note), self.entry.digest, until);
        Ok(())
    }

    /// The error for a log that is not consistent with a checkpoint.
    fn unfollowed(&self, error: LogError, note: &str) -> ClientError {
        match error {
            LogError::Fork { size } => {
                let (publisher, found) = (self.entry.key, note.to_owned());
                WitnessError::Fork { publisher: Box::new(publisher), size, found, kept: None }.into()
            }
            error @ LogError::Conflict { .. } => {
                WitnessError::Conflict { what: describe(&self.entry), why: error.to_string() }.into()
            }
            error => WitnessError::Unfollowed(error.to_string()).into(),
        }
    }
}

/// Number of hashes in a tile, and of entries in a bundle.
const TILE_WIDTH: u64 = sotto_tlog::layout::TILE_WIDTH as u64;

fn damaged(error: LogError) -> WitnessError {
    WitnessError::Kept(error.to_string())
}

/// The files of a log, fetched as they are read.
struct LogFiles<'a> {
    publisher: String,
    send: RefCell<&'a mut dyn FnMut(&Request) -> Result<Response>>,
    /// Files that have arrived; `None` for one that the server does not have.
    arrived: RefCell<BTreeMap<String, Option<Vec<u8>>>>,
    /// Why a file could not be fetched.
    failed: RefCell<Option<ClientError>>,
}

impl LogFiles<'_> {
    fn fetch(&self, path: &str) -> Result<Option<Vec<u8>>> {
        if self.arrived.borrow().len() >= MAX_FILES {
            let why = "the check needs too many files of the log".to_owned();
            return Err(WitnessError::Unfollowed(why).into());
        }
        let request = Request::get(routes::log_file(&self.publisher, path), MAX_FILE_BYTES);
        let response = (self.send.borrow_mut())(&request)?;
        match (response.is_success(), response.status) {
            (true, _) => Ok(Some(response.body)),
            (_, 404) => Ok(None),
            _ => Err(ClientError::Refused(Problem::read(response.status, &response.body))),
        }
    }

    /// The outcome of reading the log: why a file could not be fetched comes first.
    fn outcome<T>(
        &self,
        outcome: Result<T, LogError>,
        explain: impl FnOnce(LogError) -> ClientError,
    ) -> Result<T> {
        match self.failed.take() {
            Some(failed) => Err(failed),
            None => outcome.map_err(explain),
        }
    }
}

impl LogSource for &LogFiles<'_> {
    fn file(&self, path: &str, _: u64) -> sotto_tlog::Result<Option<Vec<u8>>> {
        if let Some(bytes) = self.arrived.borrow().get(path) {
            return Ok(bytes.clone());
        }
        match self.fetch(path) {
            Ok(bytes) => {
                self.arrived.borrow_mut().insert(path.to_owned(), bytes.clone());
                Ok(bytes)
            }
            Err(error) => {
                self.failed.replace(Some(error));
                Err(LogError::Missing(path.to_owned()))
            }
        }
    }

    fn has(&self, path: &str) -> sotto_tlog::Result<bool> {
        Ok(self.arrived.borrow().get(path).is_some_and(Option::is_some))
    }
}

fn describe(entry: &LogEntry) -> String {
    let kind = if entry.kind == sotto_tlog::catalogs::EntryKind::Stack { "stack" } else { "table" };
    format!("{kind} {}, epoch {},", entry.name, entry.epoch)
}

fn proof_error(entry: &LogEntry, error: LogError) -> ClientError {
    WitnessError::Proof { what: describe(entry), why: error.to_string() }.into()
}
