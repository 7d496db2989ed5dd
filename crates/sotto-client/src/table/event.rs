//! What happens to a client and to what is kept of it, for whoever wants to tell a person.

use crate::state::Lost;
use sotto_catalog::KeyChange;
use sotto_core::{Budget, Epoch};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Something that happened, and that went well, was mended, or goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The state cannot be used. The table's rows are streamed anew.
    StartedOver(Lost),
    /// So many requests that were recorded and not settled were sent again. Their rows are dropped: nobody waits for
    /// them any more.
    Resent(usize),
    /// The client was used up, or nearly, and another one has taken its place. It has this budget.
    Renewed(Budget),
    /// A preparation that had been interrupted goes on where it was, at this epoch.
    Resumed(Epoch),
    /// What there was of a preparation is of no use, and it begins anew.
    Anew(String),
    /// A preparation in the background broke off, for this reason. It goes on by itself, from where it is.
    BrokeOff(String),
    /// The client went along with the table.
    Followed {
        /// From this epoch
        from: Epoch,
        /// to this one.
        to: Epoch,
    },
    /// Somebody else is waited for, for so long at most.
    Waiting(Wait, Duration),
    /// The client's keys had come to their end, by age or by count, and others have taken their place.
    KeysChanged,
    /// The table is signed by another key than the one that was known, which has said so.
    NewSigner(KeyChange),
    /// Something was damaged, thrown away, and fetched again.
    Mended(&'static str),
}

/// Whom a client waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wait {
    /// A server that says it is busy.
    Server,
    /// Another process that uses the same state.
    State,
    /// Another process that registers keys with the same server.
    Keys,
    /// Another process that downloads the same file.
    Artifact,
}

impl Wait {
    fn what(self) -> &'static str {
        match self {
            Wait::Server => "the server, which is busy",
            Wait::State => "another process that uses the same state",
            Wait::Keys => "another process that registers keys with the same server",
            Wait::Artifact => "another process that downloads the same file",
        }
    }
}

/// Whoever is told things, by this thread or another, one at a time.
pub(crate) struct Voice<T>(Arc<Mutex<Hearer<T>>>);

type Hearer<T> = Box<dyn FnMut(T) + Send>;

impl<T> Voice<T> {
    pub(crate) fn new(hearer: Hearer<T>) -> Self {
        Voice(Arc::new(Mutex::new(hearer)))
    }

    pub(crate) fn tell(&self, what: T) {
        (self.0.lock().unwrap_or_else(PoisonError::into_inner))(what);
    }
}

impl<T> Clone for Voice<T> {
    fn clone(&self) -> Self {
        Voice(Arc::clone(&self.0))
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::StartedOver(lost) => {
                write!(f, "the state was thrown away and is made anew: {lost}")
            }
            Event::Resent(1) => f.write_str("an unfinished request was sent again, with the same bytes"),
            Event::Resent(n) => write!(f, "{n} unfinished requests were sent again, with the same bytes"),
            Event::Renewed(budget) => write!(f, "hints were made anew: {budget}"),
            Event::Resumed(epoch) => {
                write!(f, "hints that were half made go on where they were, at epoch {epoch}")
            }
            Event::Anew(why) => write!(f, "hints that were half made were thrown away: {why}"),
            Event::BrokeOff(why) => write!(f, "making hints in the background broke off, and goes on: {why}"),
            Event::Followed { from, to } => write!(f, "the state went along from epoch {from} to {to}"),
            Event::Waiting(wait, limit) => {
                write!(f, "waiting for {}, up to {} s", wait.what(), limit.as_secs())
            }
            Event::KeysChanged => {
                f.write_str("keys were used for long enough, and others are used from now on")
            }
            Event::NewSigner(KeyChange { from, to, .. }) => {
                write!(
                    f,
                    "the publisher signs with another key, and the old one says so: pin {to} in place of {from}"
                )
            }
            Event::Mended(what) => write!(f, "{what} was damaged, and was fetched again"),
        }
    }
}
