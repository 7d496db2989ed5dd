//! SimplePIR from outside: aborts, batches, noise, updates, refusals, known answers.
#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed check fails its test"
)]

mod aborts;
mod batches;
mod noise;
mod refusals;
mod setup;
mod updates;
mod vectors;
mod verified;
