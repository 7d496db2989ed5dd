//! Tests of each layer over many requests.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed check fails its test"
)]

mod band;
mod keyword;
mod pbc;
mod proofs;
