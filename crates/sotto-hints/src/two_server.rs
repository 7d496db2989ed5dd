//! Hints in slots, whose parities a second server makes: each hint is a set of rows and their
//! parity.
//!
//! A client draws the sets of M hints from a key, and the second server, which receives the key,
//! makes their parities on request. To fetch a row the client takes a hint whose set contains it,
//! and sends the set without the row to the first server; the answer and the parity of the hint
//! differ by the row. The spent hint is replaced, in its slot, by a fresh set that also contains
//! the row. The client obtains its parity from the second server in the same way.
//!
//! A [`Family`] defines which row a number of a tree stands for, which hint is chosen, what each
//! server is sent, and what it computes from that.
//! and what it makes of that.

mod apply_delta;
pub mod bound;
pub mod client;
pub mod family;
mod hint_requests;
mod journal;
pub mod params;
pub mod prepare;
pub mod puncture;
#[cfg(feature = "server")]
pub mod server;
pub mod set;
mod state;
pub mod tree;

pub use crate::message::{Answer, HintRequest, HintResponse, MessageLengths};
pub use client::{Client, DraftQuery, Hint};
pub use family::{Family, Plan, TwoServerScheme, Workspace};
pub use params::{FamilyReport, Params};
pub use prepare::Prepare;
#[cfg(feature = "server")]
pub use server::Server;
pub use set::{KeyedSets, Set};
pub use tree::{Root, Seed, TreeNumber, TreeScratch, Trees};
