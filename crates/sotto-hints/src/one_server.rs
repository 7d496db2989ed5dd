//! Hints from one pass over the streamed table, and from nobody else.
//!
//! The table is c partitions of w rows. A client takes it in once and keeps parities of M pseudo-random sets, of a row in
//! each of some partitions: a set is a function of the client's key and of an id. To fetch a row the client takes a hint that
//! contains it, sends the set with something else in the row's place, and the parity of that set and of the hint differ
//! by the row. The spent hint is gone, and a backup that was made in the same pass takes its place, with the row as its own
//! entry.
//!
//! What a [`Family`] adds: which partitions a set has, how one is chosen and sent, which backup is next, what bounds failures.
//!
//! | module | what lives there |
//! |---|---|
//! | [`family`] | what a scheme adds, and the scheme that comes of it |
//! | [`params`] | the numbers of a table, their limits, what they cost |
//! | [`place`] | where rows lie in partitions; choices without branches |
//! | [`prf`] | offsets and tags as a function of a key and an id |
//! | [`hints`] | what a client keeps of them: standing, entries, parities |
//! | [`run`], [`pass`], [`prepare`] | the one pass over the table, and becoming a client by it |
//! | [`search`], [`request`] | a hint that contains a row; the offsets that are sent |
//! | [`client`] | query, recover |
//! | `journal`, [`state`] | what is written down before a request leaves; the whole state |
//! | `follow` | hints of the next epoch |
//! | [`server`] | encode, open, answer, revise (feature `server`) |
//! | `part` | tables in parts (feature `server`) |

mod apply_delta;
pub mod client;
pub mod family;
pub mod hints;
mod journal;
pub mod params;
#[cfg(feature = "server")]
mod part;
pub mod pass;
pub mod prepare;
pub mod prf;
pub mod request;
pub mod row_order;
pub mod run;
pub mod search;
#[cfg(feature = "server")]
pub mod server;
pub mod state;

pub use crate::message::{Answer, MessageLengths};
pub use client::{AnswerEffect, Client, OpenQuery, Pending};
pub use family::{Family, FamilyState, OneServerScheme, Plan, Stock};
pub use hints::{Hint, Hints, LIVE, OWED};
pub use params::{HintNumbers, Literal, Params};
pub use pass::{ParitySums, TablePass};
pub use prepare::Prepare;
pub use prf::Prf;
pub use row_order::{IdentityOrder, NOWHERE, PartitionPlace, RowOrder};
#[cfg(feature = "server")]
pub use server::Server;
