//! What the witnesses of a policy have cosigned of a log: when each did last, and whether the quorum
//! holds for clients.
//!
//! A cosignature says its time, so what was seen of a witness is the checkpoint that it cosigned
//! last, and is verified again when it is read.

use super::memory::Memory;
use crate::failure::{Exit, Failure, Result};
use crate::screen::grid;
use schemars::JsonSchema;
use serde::Serialize;
use sotto_tlog::policy::{MAX_CLOCK_SKEW, PolicyWitness};
use sotto_tlog::{Checkpoint, LogError, LogKey, Policy, SignedNote};

/// A policy to look at cosignatures with.
pub(super) struct Monitor<'a> {
    pub(super) policy: &'a Policy,
    /// Maximum age of a cosignature in seconds.
    pub(super) age: u64,
    /// The current time in seconds since 1970.
    pub(super) now: u64,
}

/// What was seen of a witness, or of the quorum: the time of a cosignature, and the entries of the
/// log that it is on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SeenCosignature {
    time: u64,
    entries: u64,
}

/// What was seen of all witnesses.
pub(super) struct SeenWitnesses<'a> {
    monitor: &'a Monitor<'a>,
    witnesses: Vec<(&'a PolicyWitness, Option<SeenCosignature>)>,
    /// Last time that the quorum was reached; `None` if it never was.
    quorum: Option<SeenCosignature>,
    /// Cosignatures that the quorum needs, and those of them that the best checkpoint has.
    count: (usize, usize),
}

/// The quorum of a policy.
#[derive(Serialize, JsonSchema)]
pub(crate) struct QuorumReport {
    /// Whether clients with this policy accept the log.
    holds: bool,
    /// Number of cosignatures that the quorum needs.
    needed: usize,
    /// Number of those that are recent enough.
    recent: usize,
    /// Time at which the quorum was last reached, in seconds since 1970.
    time: Option<u64>,
    /// Number of entries that the quorum cosigned then.
    entries: Option<u64>,
}

/// A witness of a policy.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WitnessReport {
    /// Name in the policy.
    name: String,
    /// Public key.
    key: String,
    /// Algorithm of the key.
    kind: &'static str,
    /// Time of the last cosignature, in seconds since 1970.
    time: Option<u64>,
    /// Number of entries that were cosigned last.
    entries: Option<u64>,
    /// Age of the last cosignature in seconds.
    age_seconds: Option<u64>,
    /// Whether the last cosignature is recent enough.
    recent: bool,
}

/// A checkpoint with its cosignatures.
struct CosignedCheckpoint {
    bytes: Vec<u8>,
    entries: u64,
    /// Times of the policy's witnesses.
    times: Vec<Option<u64>>,
}

impl Monitor<'_> {
    /// Looks at the checkpoints that a log shows, compares them with what was seen before, and stores
    /// what is newer.
    ///
    /// # Errors
    /// Exit code 5 for a signature of the log or of a witness that is not valid, and for a log that
    /// the policy does not list; 8 for a damaged file.
    pub(super) fn look(
        &self,
        notes: impl Iterator<Item = Vec<u8>>,
        key: &LogKey,
        memory: &Memory,
    ) -> Result<SeenWitnesses<'_>> {
        let shown = notes.map(|bytes| {
            self.policy.verify_log(&bytes)?;
            self.open(bytes, key)
        });
        let shown: Vec<CosignedCheckpoint> =
            shown.collect::<Result<_, LogError>>().map_err(|error| Failure::peer(error.to_string()))?;
        let mut witnesses = Vec::new();
        for (index, witness) in self.policy.witnesses().iter().enumerate() {
            let file = format!("cosigned-{:08x}", witness.key.id());
            let time = |checkpoint: &CosignedCheckpoint| checkpoint.times.get(index).copied().flatten();
            witnesses.push((witness, self.latest(&shown, time, &file, key, memory)?));
        }
        let time = |checkpoint: &CosignedCheckpoint| self.policy.quorum_time(&checkpoint.times);
        let quorum = self.latest(&shown, time, "quorum", key, memory)?;
        let count = |checkpoint: &CosignedCheckpoint| {
            let is_fresh = |time: &u64| time.saturating_add(self.age) > self.now;
            let times: Vec<_> = checkpoint.times.iter().map(|time| time.filter(is_fresh)).collect();
            self.policy.quorum_count(&times)
        };
        let count = shown.iter().map(count).max_by_key(|(_, there)| *there).unwrap_or_default();
        Ok(SeenWitnesses { monitor: self, witnesses, quorum, count })
    }

    fn open(&self, bytes: Vec<u8>, key: &LogKey) -> Result<CosignedCheckpoint, LogError> {
        let entries = Checkpoint::open(&bytes, key)?.size;
        let latest = self.now.saturating_add(MAX_CLOCK_SKEW.as_secs());
        let times = self.policy.cosigned(&SignedNote::parse(&bytes)?, latest)?;
        Ok(CosignedCheckpoint { bytes, entries, times })
    }

    /// The newest of what is shown and what was seen before, which it takes the place of.
    fn latest(
        &self,
        shown: &[CosignedCheckpoint],
        time: impl Fn(&CosignedCheckpoint) -> Option<u64>,
        file: &str,
        key: &LogKey,
        memory: &Memory,
    ) -> Result<Option<SeenCosignature>> {
        let seen = |checkpoint: &CosignedCheckpoint| {
            time(checkpoint).map(|time| SeenCosignature { time, entries: checkpoint.entries })
        };
        let before = memory.read(file, sotto_tlog::note::MAX_NOTE_BYTES as u64)?;
        // It may be from a time when the log had no second key yet.
        let before = before.map(|bytes| self.open(bytes, &key.clone().with_ml_dsa(None))).transpose();
        let before = before.map_err(|error| memory.damaged(file, &error))?;
        let before = before.as_ref().and_then(seen);
        let newest = shown.iter().filter_map(|checkpoint| Some((seen(checkpoint)?, checkpoint)));
        match newest.max_by_key(|(seen, _)| *seen) {
            Some((seen, checkpoint)) if Some(seen) > before => {
                memory.keep(file, &checkpoint.bytes)?;
                Ok(Some(seen))
            }
            _ => Ok(before),
        }
    }

    fn ago(&self, seen: SeenCosignature) -> u64 {
        self.now.saturating_sub(seen.time)
    }

    fn is_recent(&self, seen: SeenCosignature) -> bool {
        seen.time.saturating_add(self.age) > self.now
    }
}

impl SeenWitnesses<'_> {
    fn holds(&self) -> bool {
        self.requires_nobody() || self.quorum.is_some_and(|seen| self.monitor.is_recent(seen))
    }

    fn requires_nobody(&self) -> bool {
        self.monitor.policy.quorum_size().0 == 0
    }

    pub(super) fn text(&self) -> String {
        let quorum = match self.quorum {
            _ if self.requires_nobody() => "the policy requires none".to_owned(),
            Some(seen) => {
                let ago = words(self.monitor.ago(seen));
                let state = if self.holds() { "holds" } else { "too old" };
                format!("{state}: cosigned {ago} ago, at {} entries", seen.entries)
            }
            None => "never reached".to_owned(),
        };
        let rows = self.witnesses.iter().map(|(witness, seen)| {
            let (last, entries) = match seen {
                Some(seen) => (words(self.monitor.ago(*seen)) + " ago", seen.entries.to_string()),
                None => ("never".to_owned(), String::new()),
            };
            let late = if seen.is_some_and(|seen| self.monitor.is_recent(seen)) { "" } else { "late" };
            let kind = witness.key.kind().name().to_owned();
            vec![witness.name.clone(), kind, last, entries, late.to_owned()]
        });
        let rows = grid::grid("witness | key | cosigned | >entries | ", rows);
        format!("{}\n{rows}", grid::facts([("quorum", quorum)]))
    }

    pub(super) fn quorum_report(&self) -> QuorumReport {
        let (needed, recent) = self.count;
        QuorumReport {
            holds: self.holds(),
            needed,
            recent,
            time: self.quorum.map(|seen| seen.time),
            entries: self.quorum.map(|seen| seen.entries),
        }
    }

    pub(super) fn witness_reports(&self) -> Vec<WitnessReport> {
        let report = |(witness, seen): &(&PolicyWitness, Option<SeenCosignature>)| WitnessReport {
            name: witness.name.clone(),
            key: witness.key.to_string(),
            kind: witness.key.kind().name(),
            time: seen.map(|seen| seen.time),
            entries: seen.map(|seen| seen.entries),
            age_seconds: seen.map(|seen| self.monitor.ago(seen)),
            recent: seen.is_some_and(|seen| self.monitor.is_recent(seen)),
        };
        self.witnesses.iter().map(report).collect()
    }

    /// The failure if clients refuse the log by this policy.
    pub(super) fn failure(&self) -> Option<Failure> {
        if self.holds() {
            return None;
        }
        let (needed, there) = self.count;
        let age = words(self.monitor.age);
        let text =
            format!("expected {needed} cosignatures of the last {age}, got {there}: clients refuse the log");
        let fix = "have the witnesses that are late cosign the log (sotto log cosign), and attach it (sotto log attach)";
        Some(Failure::new(Exit::Findings, text).fix(fix))
    }
}

/// A duration in words, rounded down to its largest unit.
fn words(seconds: u64) -> String {
    let units = [(86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second")];
    let (unit, name) = units.into_iter().find(|(unit, _)| seconds >= *unit).unwrap_or((1, "second"));
    let number = seconds / unit;
    format!("{number} {name}{}", if number == 1 { "" } else { "s" })
}
