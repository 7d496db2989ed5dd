//! Why a catalog is refused for want of witnesses.

use sotto_catalog::PublicKey;

/// Why a catalog was refused by the check of its log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WitnessError {
    /// The catalog is in no log that the server has.
    #[error(
        "{what} is in no log of its publisher that the server has: it may have been made for this client alone"
    )]
    NotLogged {
        /// Name and epoch of the table or stack.
        what: String,
    },
    /// The proof does not lead from the catalog to the checkpoint, or the checkpoint is not the
    /// publisher's.
    #[error("the proof that {what} is in its publisher's log does not hold: {why}")]
    Proof {
        /// Name and epoch of the table or stack.
        what: String,
        /// What is wrong with the proof.
        why: String,
    },
    /// Too few witnesses have cosigned, or too long ago.
    #[error(
        "{fresh} of {needed} witnesses have lately cosigned the log that {what} is in{}",
        stale.map(|age| format!(": the last word of another is {} hours old", age / 3600)).unwrap_or_default()
    )]
    NotWitnessed {
        /// Name and epoch of the table or stack.
        what: String,
        /// Number of required cosignatures.
        needed: usize,
        /// Number of recent cosignatures.
        fresh: usize,
        /// Age of the newest cosignature that is too old, in seconds, if there is one.
        stale: Option<u64>,
        /// Whether there would be enough cosignatures if their age did not count.
        is_old: bool,
    },
    /// The publisher's key has signed two logs, neither of which extends the other.
    #[error(
        "the log of the table's publisher does not go on from what was seen of it: its first {size} entries are others{}",
        kept.as_ref().map(|kept| format!(" ({kept})")).unwrap_or_default()
    )]
    Fork {
        /// Publisher of the log.
        publisher: PublicKey,
        /// Entries of the shorter log.
        size: u64,
        /// The unexpected checkpoint, with its signatures.
        found: String,
        /// Paths of both checkpoints, if there is a cache.
        kept: Option<String>,
    },
    /// Two entries of a log contradict each other.
    #[error("the log that {what} is in contradicts itself: {why}")]
    Conflict {
        /// Name and epoch of the table or stack.
        what: String,
        /// Which entries contradict each other, and how.
        why: String,
    },
    /// The log's files do not show whether it extends the one seen before.
    #[error("the server does not show that the publisher's log goes on from what was seen of it: {why}")]
    Unfollowed {
        /// What is missing or wrong.
        why: String,
    },
    /// The stored memory of the log is damaged.
    #[error("what was kept of the publisher's log cannot be read: {why}")]
    Kept {
        /// Description of the fault.
        why: String,
    },
    /// More witnesses are required than were named.
    #[error("{needed} witnesses are needed, and {given} were given")]
    Count {
        /// Number of required witnesses.
        needed: usize,
        /// Number of named witnesses.
        given: usize,
    },
    /// No witness is required, although some are named.
    #[error("the number of witnesses that are needed is 0, and {given} were given")]
    NoneNeeded {
        /// Number of named witnesses.
        given: usize,
    },
    /// The caller has not set the time, which cosignatures are compared with.
    #[error("the age of cosignatures cannot be told without a clock")]
    NoClock,
    /// The build does not include witnesses (feature `witness`).
    #[error("this build cannot ask witnesses")]
    NotBuilt,
}

impl WitnessError {
    /// A stable name of this error, for programs.
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

    /// What to do about this error.
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
