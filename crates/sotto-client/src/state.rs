//! The state of a client that must not be lost, nor used twice.
//!
//! Some schemes give a client hints, and every request uses one up. To send two requests with one hint gives away what
//! was asked, so what is used is on disk before a request leaves, and a state that went back in time is thrown away.
//!
//! | module | what lives there |
//! |---|---|
//! | `keeper` | what is durable when: commit, settle, adopt |
//! | `location` | opening: whether there is a state, the right one, one that may be used |
//! | [`about`] | what a state is of, and how far it is |
//! | `store` | its database: the journal since the snapshot, recorded requests |
//! | `absent` | a build without one (feature `state`) |
//! | `change` | what the database is asked for |
//! | `quiet` | panics of that database, which are caught |
//! | [`snapshot`] | whole clients, in files of their own |
//! | [`checkpoint`] | the next client, half prepared |
//! | `anchor` | a counter in a second place |
//! | `home` | which file on which machine |
//! | `add_checksum` | files and values that say whether they are whole |
//! | `disk` | a folder; behind a trait, so that tests can pull the plug |
//! | [`inspect`] | what there is, for a person |
//! | [`error`] | what goes wrong, and why a state was thrown away |
//!
//! ```text
//! DIR/<hash of servers and table>/lock          held as long as the table is open
//! DIR/<hash of servers and table>/state.redb    what it is of, the journal, recorded requests
//! DIR/<hash of servers and table>/hints-<n>     the client as it was when the journal began
//! DIR/<hash of servers and table>/pass          the next client, half prepared
//! ANCHORS/<id>.anchor                           how many requests there were
//! ```
//!
//! What cannot be noticed: a machine that is restored whole, anchors included, as a snapshot of a virtual machine
//! does. Then hints are used a second time. Keep the anchors on another disk than the one that is restored, or delete
//! the state after restoring one. A table at other servers, or at the same ones in another order, has another state, and
//! shares nothing: one server behind two names has two.
//!
//! `spec/state.md` draws every file.

mod checksum;
#[cfg(feature = "state")]
pub(crate) mod database;
#[cfg(not(feature = "state"))]
#[path = "state/disabled.rs"]
pub(crate) mod database;
pub(crate) mod disk;
pub(crate) mod durable_state;
pub mod error;
mod fingerprint;
pub mod inspect;
pub mod metadata;
pub(crate) mod open;
pub mod preparation_file;
pub(crate) mod rollback_counter;
#[cfg(feature = "state")]
mod silent_panic;
pub mod snapshot;
mod transaction;

pub use error::{StateError, StateLoss};

#[cfg(test)]
mod tests;
