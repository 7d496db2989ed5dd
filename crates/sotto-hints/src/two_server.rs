//! Hints in slots, from a second server: of each hint a set of rows and their parity.
//!
//! A client draws the sets of M hints from a key, and the second server, which is told the key, makes their parities to order. To
//! fetch a row the client takes a hint whose set has it, and sends the set to the first server without the row; the answer
//! and the hint differ by the row. The spent hint is replaced, in its slot, by a fresh set that has the row too, whose parity
//! the second server is asked for in the same way.
//!
//! What a [`Family`] adds: which row a number of a tree stands for, which hint is chosen, what either server is sent,
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
