//! Events of a client and of its stored files, for programs that report them to a person.

use crate::state::StateLoss;
use crate::transport::retry::REPORT_AFTER;
use sotto_catalog::SignerChange;
use sotto_core::{Budget, Epoch};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// An event of a table: something that went well, was repaired, or continues.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableEvent {
    /// The state cannot be used. The table's rows are streamed again.
    StateReset(StateLoss),
    /// Logged requests that were not settled were sent again, this many. Their rows are dropped,
    /// since no caller waits for them any more.
    Resent(usize),
    /// The client was used up, or nearly, and another one with this budget has taken its place.
    HintsRenewed(Budget),
    /// An interrupted preparation continues where it was, at this epoch.
    PreparationResumed(Epoch),
    /// A half-done preparation cannot be used, for this reason, and begins again.
    PreparationRestarted(String),
    /// A preparation in the background was interrupted, for this reason. It continues by itself
    /// from where it is.
    PreparationInterrupted(String),
    /// The client's state was advanced to the table's epoch.
    StateAdvanced {
        /// Epoch before.
        from: Epoch,
        /// Epoch after.
        to: Epoch,
    },
    /// The client waits for another party, for this time at most.
    Waiting(WaitReason, Duration),
    /// The client's keys have reached their maximum age or number of queries, and others have taken
    /// their place.
    KeysRotated,
    /// The table is signed by another key than the known one, which has named it as its successor.
    SignerChanged(SignerChange),
    /// Something was damaged, dropped, and fetched again.
    Repaired(&'static str),
}

/// The party that a client waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitReason {
    /// A server that reports that it is busy.
    Server,
    /// A process that uses the same state.
    State,
    /// A process that registers keys with the same server.
    Keys,
    /// A process that downloads the same file.
    Artifact,
}

impl WaitReason {
    fn what(self) -> &'static str {
        match self {
            WaitReason::Server => "the server, which is busy",
            WaitReason::State => "another process that uses the same state",
            WaitReason::Keys => "another process that registers keys with the same server",
            WaitReason::Artifact => "another process that downloads the same file",
        }
    }
}

/// The maximum wait for a busy server or for another process that has a lock, and the callback that
/// reports it.
#[derive(Clone)]
pub(crate) struct WaitPolicy {
    pub(crate) limit: Duration,
    pub(crate) events: Notifier<TableEvent>,
}

impl WaitPolicy {
    /// Waits for what another process has: `take` tries for the given time. Returns `None` if it
    /// takes longer than the limit.
    ///
    /// # Errors
    /// The errors of `take`.
    pub(crate) fn wait_for<T, E>(
        &self,
        wait: WaitReason,
        mut take: impl FnMut(Duration) -> Result<Option<T>, E>,
    ) -> Result<Option<T>, E> {
        let moment = self.limit.min(REPORT_AFTER);
        if let Some(taken) = take(moment)? {
            return Ok(Some(taken));
        }
        let left = self.limit - moment;
        if left.is_zero() {
            return Ok(None);
        }
        self.events.notify(TableEvent::Waiting(wait, left));
        take(left)
    }
}

/// A callback that may be called from several threads, one at a time.
pub(crate) struct Notifier<T>(Arc<Mutex<Callback<T>>>);

type Callback<T> = Box<dyn FnMut(T) + Send>;

impl<T> Notifier<T> {
    pub(crate) fn new(callback: impl FnMut(T) + Send + 'static) -> Self {
        Notifier(Arc::new(Mutex::new(Box::new(callback))))
    }

    pub(crate) fn notify(&self, what: T) {
        (self.0.lock().unwrap_or_else(PoisonError::into_inner))(what);
    }
}

impl<T> Clone for Notifier<T> {
    fn clone(&self) -> Self {
        Notifier(Arc::clone(&self.0))
    }
}

impl fmt::Display for TableEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TableEvent::StateReset(lost) => {
                write!(f, "the state was discarded and is prepared again: {lost}")
            }
            TableEvent::Resent(1) => f.write_str("an unfinished request was sent again with the same bytes"),
            TableEvent::Resent(n) => {
                write!(f, "{n} unfinished requests were sent again with the same bytes")
            }
            TableEvent::HintsRenewed(budget) => write!(f, "hints were renewed: {budget}"),
            TableEvent::PreparationResumed(epoch) => {
                write!(f, "an interrupted preparation continues at epoch {epoch}")
            }
            TableEvent::PreparationRestarted(why) => {
                write!(f, "an interrupted preparation was discarded: {why}")
            }
            TableEvent::PreparationInterrupted(why) => {
                write!(f, "background preparation was interrupted and will continue: {why}")
            }
            TableEvent::StateAdvanced { from, to } => {
                write!(f, "the state was advanced from epoch {from} to {to}")
            }
            TableEvent::Waiting(wait, limit) => {
                write!(f, "waiting for {}, up to {} s", wait.what(), limit.as_secs())
            }
            TableEvent::KeysRotated => {
                f.write_str("the evaluation keys reached their age or query limit and were renewed")
            }
            TableEvent::SignerChanged(SignerChange { from, to, .. }) => {
                write!(f, "the publisher changed keys, as the old key states: pin {to} in place of {from}")
            }
            TableEvent::Repaired(what) => write!(f, "{what} was damaged and was fetched again"),
        }
    }
}
