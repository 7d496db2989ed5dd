//! Tests of tokens: the RFC's vectors, and users, keys and time that change.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed check fails its test"
)]

mod flow;
mod vectors;
