//! HintlessPIR from outside: noise, refusals, known answers.
#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed check fails its test"
)]

mod noise;
mod refusals;
mod setup;
mod vectors;
