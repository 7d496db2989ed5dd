//! BGV-PIR from outside: refusals, and a client written from the page alone.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed check fails its test"
)]

mod page;
mod refusals;
mod residues;
