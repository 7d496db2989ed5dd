//! DPF-PIR from outside: shares, lookups, batches, known answers.
#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed check fails its test"
)]

mod lookups;
mod paths;
mod setup;
mod shares;
mod vectors;
