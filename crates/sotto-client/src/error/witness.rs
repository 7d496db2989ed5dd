//! Why a catalog is refused for want of witnesses.

use sotto_catalog::PublicKey;
use sotto_core::ErrorKind::{Machine, Misuse, Peer};
use sotto_core::{Diagnose, Diagnosis, Exit};

/// Why a catalog was refused by the check of its log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WitnessError {
    /// The catalog of this table or stack, and epoch, is in no log that the server has.
    #[error("{0} is not in its publisher's log on the server")]
    NotLogged(String),
    /// The proof does not lead from the catalog to the checkpoint, or the checkpoint is not the
    /// publisher's.
    #[error("invalid proof that {what} is in its publisher's log: {why}")]
    Proof {
        /// Name and epoch of the table or stack.
        what: String,
        /// What is wrong with the proof.
        why: String,
    },
    /// Too few witnesses have cosigned, or too long ago.
    #[error(
        "expected {needed} recent cosignatures on the log that lists {what} got {fresh}{}",
        stale.map(|age| format!("; the newest older one is {} hours old", age / 3600)).unwrap_or_default()
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
        "the publisher's log does not extend the one seen before: its first {size} entries differ{}",
        kept.as_ref().map(|kept| format!(" ({kept})")).unwrap_or_default()
    )]
    Fork {
        /// Publisher of the log.
        publisher: Box<PublicKey>,
        /// Entries of the shorter log.
        size: u64,
        /// The unexpected checkpoint, with its signatures.
        found: String,
        /// Paths of both checkpoints, if there is a cache.
        kept: Option<String>,
    },
    /// Two entries of a log contradict each other.
    #[error("the log that lists {what} contradicts itself: {why}")]
    Conflict {
        /// Name and epoch of the table or stack.
        what: String,
        /// Which entries contradict each other, and how.
        why: String,
    },
    /// The log's files do not show whether it extends the one seen before, for this reason.
    #[error("the server does not show that the publisher's log extends the one seen before: {0}")]
    Unfollowed(String),
    /// The stored memory of the log is damaged, in this way.
    #[error("the stored history of the publisher's log cannot be read: {0}")]
    Kept(String),
    /// The caller's policy does not list the publisher's log.
    #[error("the policy lists other logs than the one of the publisher of {0}")]
    NotListed(String),
    /// More witnesses are required than were named.
    #[error("expected at least {needed} witnesses, got {given}")]
    Count {
        /// Number of required witnesses.
        needed: usize,
        /// Number of named witnesses.
        given: usize,
    },
    /// No witness is required, although some are named.
    #[error("expected 1 to {given} required witnesses, got 0")]
    NoneNeeded {
        /// Number of named witnesses.
        given: usize,
    },
    /// The caller has not set the time, which cosignatures are compared with.
    #[error("the age of cosignatures cannot be checked without a clock")]
    NoClock,
    /// The build does not include witnesses (feature `witness`).
    #[error("this build cannot check witnesses")]
    NotBuilt,
}

impl Diagnose for WitnessError {
    fn diagnosis(&self) -> Diagnosis<'_> {
        match self {
            WitnessError::NotLogged { .. } => Peer.diagnosis(
                "not-logged",
                "do not use the table, which may have been made for this client alone; ask the publisher whether it \
                 has a log (sotto encode --catalog-log), and the operator whether the log is served (sotto serve \
                 --catalog-log)",
            ),
            WitnessError::Proof { .. } => {
                Peer.diagnosis("bad-log-proof", "do not use the table: tell the operator and the publisher")
            }
            WitnessError::NotWitnessed { is_old: true, .. } => Peer.diagnosis(
                "stale-witnesses",
                "try again later, then ask the publisher why no witness has cosigned since: somebody may be serving \
                 an old table",
            ),
            WitnessError::NotWitnessed { .. } => Peer.diagnosis(
                "not-witnessed",
                "try again later if the table was just published; then ask the publisher to have its log cosigned, and check \
                 the witnesses' keys",
            ),
            WitnessError::Fork { .. } => Peer.diagnosis(
                "log-fork",
                "do not trust the publisher, and show both checkpoints to others (sotto audit evidence): it shows \
                 different tables to different people, or somebody else has its key",
            ),
            WitnessError::Conflict { .. } => Peer.diagnosis(
                "log-conflict",
                "do not trust the publisher, and show the log to others (sotto log watch): it shows different \
                 tables to different people, or somebody else has its key",
            ),
            WitnessError::Unfollowed { .. } => Peer.diagnosis(
                "log-unfollowed",
                "try again later; if it happens again, do not use the table, and tell the operator",
            ),
            WitnessError::Kept { .. } => Machine
                .diagnosis("log-memory", "move the file away; the client then forgets the log that it saw")
                .with_exit(Exit::Storage),
            WitnessError::NotListed { .. } => Peer.diagnosis(
                "log-not-listed",
                "do not use the table unless you trust its publisher: then add its log to the policy (a line log VKEY)",
            ),
            WitnessError::Count { .. } => {
                Misuse.diagnosis("number-of-witnesses", "name more witnesses, or require fewer")
            }
            WitnessError::NoneNeeded { .. } => {
                Misuse.diagnosis("number-of-witnesses", "require at least one witness, or name none")
            }
            WitnessError::NoClock => Misuse.diagnosis("no-clock", "set the time when opening the table"),
            WitnessError::NotBuilt => {
                Peer.diagnosis("witness-not-built", "build sotto-client with feature `witness`")
            }
        }
    }
}
