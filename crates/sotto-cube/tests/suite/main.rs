//! Tests of the hypercube's parameters, and a client written from the specification alone.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed check fails its test"
)]

mod absurd;
mod page;
