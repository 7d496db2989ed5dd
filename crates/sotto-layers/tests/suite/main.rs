//! Each layer over many requests.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed check fails its test"
)]

mod band;
mod colour;
mod keyword;
mod node;
mod pbc;
mod tile;
