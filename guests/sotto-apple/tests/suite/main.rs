//! Recordings of Apple's own library and service, compared with what is computed here.
//!
//! Some recordings are in `tests/data` ([ORIGIN.md](../data/ORIGIN.md)). Tests that need the others
//! are ignored, and run where `SOTTO_APPLE_RECORDED` names the folder of all of them:
//!
//! ```text
//! SOTTO_APPLE_RECORDED=FOLDER cargo test -p sotto-apple -- --include-ignored
//! ```
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed check fails its test"
)]

mod client;
mod common;
mod image;
mod lengths;
mod lookups;
mod primitives;
mod sessions;
mod shards;
mod symmetric;
mod update;
