//! Witnesses: whether a catalog is in its publisher's log, and who has seen that log grow.
//!
//! A publisher can sign one catalog for everybody and another one for somebody. Whoever asks for witnesses takes only a catalog
//! that is in the publisher's log, under a checkpoint that so many of them cosigned a short while ago; and that log goes on from
//! the one that was seen before, at whichever server. It reads the log's entries too: two of one table and epoch are two catalogs
//! that the publisher shows different people. What is fetched for this depends on the catalog, the time and what was seen of the
//! log before, and on nothing that is looked up.
//!
//! | module | what lives there |
//! |---|---|
//! | `log_check` | one catalog: its proof, the cosignatures, the log before, the entries of its name |
//! | `disabled` | a build that cannot check (feature `witness`) |
//! | `log_memory` | what was seen of logs: shared by all openings of one table |

#[cfg(feature = "witness")]
mod log_check;
#[cfg(not(feature = "witness"))]
#[path = "witness/disabled.rs"]
mod log_check;
mod log_memory;

pub(crate) use log_check::LogCheck;
pub use log_memory::LogMemory;

use sotto_catalog::PublicKey;
use sotto_tlog::WitnessKey;
use std::time::Duration;

/// How old a cosignature may be unless somebody says otherwise.
pub const DEFAULT_MAX_AGE: Duration = Duration::from_secs(24 * 3600);

/// How far a witness's clock may be ahead of ours.
#[cfg(feature = "witness")]
pub(crate) const MAX_CLOCK_SKEW: Duration = Duration::from_secs(5 * 60);

/// Whose word is wanted about a publisher's log.
#[derive(Debug, Clone)]
pub struct Witnesses {
    /// The witnesses.
    pub keys: Vec<WitnessKey>,
    /// How many of them have to have cosigned.
    pub needed: usize,
    /// How long ago at most.
    pub age: Duration,
}

impl Witnesses {
    /// All of these, within a day.
    pub fn all(keys: Vec<WitnessKey>) -> Self {
        Witnesses { needed: keys.len(), keys, age: DEFAULT_MAX_AGE }
    }
}

/// Why a catalog was refused for want of witnesses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WitnessError {
    /// The catalog is in no log that the server has.
    #[error(
        "{what} is in no log of its publisher that the server has: it may have been made for this client alone"
    )]
    NotLogged {
        /// Which table, or stack, and which epoch.
        what: String,
    },
    /// The proof does not lead from the catalog to the checkpoint, or the checkpoint is not the publisher's.
    #[error("the proof that {what} is in its publisher's log does not hold: {why}")]
    Proof {
        /// Which table, or stack, and which epoch.
        what: String,
        /// What is wrong with it.
        why: String,
    },
    /// Too few witnesses have cosigned, or too long ago.
    #[error(
        "{fresh} of {needed} witnesses have lately cosigned the log that {what} is in{}",
        stale.map(|age| format!(": the last word of another is {} hours old", age / 3600)).unwrap_or_default()
    )]
    NotWitnessed {
        /// Which table, or stack, and which epoch.
        what: String,
        /// How many are wanted.
        needed: usize,
        /// How many have.
        fresh: usize,
        /// How old the newest cosignature is that is too old, in seconds, if there is one.
        stale: Option<u64>,
        /// Whether there are as many cosignatures as are wanted, if age did not count.
        is_old: bool,
    },
    /// Two logs under one key.
    #[error(
        "the log of the table's publisher does not go on from what was seen of it: its first {size} entries are others{}",
        kept.as_ref().map(|kept| format!(" ({kept})")).unwrap_or_default()
    )]
    Fork {
        /// Whose log it is.
        publisher: PublicKey,
        /// Entries of the shorter one.
        size: u64,
        /// The checkpoint that was not expected, signed as it came.
        found: String,
        /// Where both are kept, if there is a cache.
        kept: Option<String>,
    },
    /// Two entries of a log that contradict each other.
    #[error("the log that {what} is in contradicts itself: {why}")]
    Conflict {
        /// Which table, or stack, and which epoch.
        what: String,
        /// Which entry contradicts which.
        why: String,
    },
    /// The log's files do not show whether it goes on from what was seen.
    #[error("the server does not show that the publisher's log goes on from what was seen of it: {why}")]
    Unfollowed {
        /// What is missing or wrong.
        why: String,
    },
    /// What was seen of the log is damaged.
    #[error("what was kept of the publisher's log cannot be read: {why}")]
    Kept {
        /// What is wrong with it.
        why: String,
    },
    /// More are needed than were given.
    #[error("{needed} witnesses are needed, and {given} were given")]
    Count {
        /// How many are needed.
        needed: usize,
        /// How many keys there are.
        given: usize,
    },
    /// None is needed, which asks for nothing.
    #[error("the number of witnesses that are needed is 0, and {given} were given")]
    NoneNeeded {
        /// How many keys there are.
        given: usize,
    },
    /// Whoever opens the table says no time, and cosignatures have one.
    #[error("the age of cosignatures cannot be told without a clock")]
    NoClock,
    /// The build has no witnesses (feature `witness`).
    #[error("this build cannot ask witnesses")]
    NotBuilt,
}

impl WitnessError {
    /// A stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            WitnessError::NotLogged { .. } => "not-logged",
            WitnessError::Proof { .. } => "bad-log-proof",
            WitnessError::NotWitnessed { is_old: true, .. } => "stale-witnesses",
            WitnessError::NotWitnessed { .. } => "not-witnessed",
            WitnessError::Fork { .. } => "log-fork",
            WitnessError::Conflict { .. } => "log-conflict",
            WitnessError::Unfollowed { .. } => "log-unfollowed",
            WitnessError::Kept { .. } => "log-memory",
            WitnessError::Count { .. } | WitnessError::NoneNeeded { .. } => "number-of-witnesses",
            WitnessError::NoClock => "no-clock",
            WitnessError::NotBuilt => "witness-not-built",
        }
    }

    /// What to do.
    pub fn fix(&self) -> &'static str {
        match self {
            WitnessError::NotLogged { .. } => {
                "do not use the table before its publisher says why: ask whether it has a log (sotto encode --catalog-log), and \
                 the operator whether that is served (sotto serve --catalog-log)"
            }
            WitnessError::Proof { .. } => "do not use the table: tell the operator and the publisher",
            WitnessError::NotWitnessed { is_old: true, .. } => {
                "somebody may keep an old table alive: try again later, then ask the publisher why no witness has looked since"
            }
            WitnessError::NotWitnessed { .. } => {
                "try again later if the table was just published; then ask the publisher to have its log cosigned, and check \
                 the witnesses' keys"
            }
            WitnessError::Fork { .. } => {
                "the publisher shows different tables to different people, or somebody else has its key: do not trust it, and \
                 show both checkpoints to others (sotto audit evidence)"
            }
            WitnessError::Conflict { .. } => {
                "the publisher shows different tables to different people, or somebody else has its key: do not trust it, and \
                 show the log to others (sotto log watch)"
            }
            WitnessError::Unfollowed { .. } => {
                "try again later; if it stays so, do not use the table, and tell the operator"
            }
            WitnessError::Kept { .. } => "move the file away; what was seen of the log is then forgotten",
            WitnessError::Count { .. } => "name more witnesses, or ask for fewer",
            WitnessError::NoneNeeded { .. } => "ask for one at least, or name no witness",
            WitnessError::NoClock => "say what time it is when the table is opened",
            WitnessError::NotBuilt => "build sotto-client with its feature `witness`",
        }
    }
}
