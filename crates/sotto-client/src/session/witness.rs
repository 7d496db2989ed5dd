//! Witnesses: whether a catalog is in its publisher's log, and who has witnessed that log.
//!
//! A publisher can sign one catalog for everybody and another one for a single client. A client
//! that requires witnesses accepts only a catalog that is in the publisher's log, under a
//! checkpoint that enough witnesses cosigned recently; and that log must extend the one seen
//! before, at whichever server. The client also reads the log's entries: two of one table and epoch
//! mean that the publisher shows two catalogs to different clients. What is fetched for this
//! depends on the catalog, the time and what was seen of the log before, and not on what is looked
//! up.
//!
//! | module | contents |
//! |---|---|
//! | `log_check` | the check of one catalog: its proof, cosignatures, consistency, entries of its name |
//! | `log_memory` | what was seen of logs, shared by all setups of one table |

#[cfg(feature = "witness")]
mod log_check;
mod log_memory;

pub(crate) use log_check::LogCheck;
pub use log_memory::LogMemory;

pub use crate::error::witness::WitnessError;

use sotto_tlog::WitnessKey;
use std::time::Duration;

/// Default maximum age of a cosignature.
pub const DEFAULT_MAX_AGE: Duration = Duration::from_secs(24 * 3600);

/// Maximum by which a witness's clock may be ahead of the client's.
#[cfg(feature = "witness")]
pub(crate) const MAX_CLOCK_SKEW: Duration = Duration::from_secs(5 * 60);

/// The witnesses that are required for a publisher's log.
#[derive(Debug, Clone)]
pub struct Witnesses {
    /// Keys of the witnesses.
    pub keys: Vec<WitnessKey>,
    /// Number of them that have to have cosigned.
    pub needed: usize,
    /// Maximum age of a cosignature.
    pub age: Duration,
}

impl Witnesses {
    /// Requires all of these witnesses, within a day.
    pub fn all(keys: Vec<WitnessKey>) -> Self {
        Witnesses { needed: keys.len(), keys, age: DEFAULT_MAX_AGE }
    }
}

/// A build without witnesses: a setup that requires some is refused, so that no check ever begins.
#[cfg(not(feature = "witness"))]
mod log_check {
    use super::{LogMemory, WitnessError, Witnesses};
    use crate::Result;
    use crate::transport::{Request, Response};
    use sotto_tlog::LogEntry;

    /// A check that cannot exist.
    pub(crate) enum LogCheck {}

    impl LogCheck {
        /// # Errors
        /// [`WitnessError::NotBuilt`].
        pub(crate) fn new(_: LogEntry, _: &Witnesses, _: &LogMemory, _: Option<u64>) -> Result<Option<Self>> {
            Err(WitnessError::NotBuilt.into())
        }

        pub(crate) fn next(&self) -> Request {
            match *self {}
        }

        pub(crate) fn feed(&mut self, _: &Response) -> Result<bool> {
            match *self {}
        }
    }
}
