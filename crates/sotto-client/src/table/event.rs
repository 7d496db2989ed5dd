//! What happens to the state of a client, for whoever wants to tell a person.

use crate::state::Lost;
use sotto_core::{Budget, Epoch};
use std::fmt;

/// Something that happened to the client's state, and that went well or was mended.
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
    /// The client went along with the table.
    Followed {
        /// From this epoch
        from: Epoch,
        /// to this one.
        to: Epoch,
    },
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
            Event::Followed { from, to } => write!(f, "the state went along from epoch {from} to {to}"),
        }
    }
}
