//! DoublePIR from outside: noise, refusals, batches, known answers.
#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed check fails its test"
)]

mod batches;
mod noise;
mod refusals;
mod setup;
mod vectors;
