//! Tests of real logs, and of logs that are written here.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed check fails its test"
)]

mod catalogs;
mod history;
mod known_answers;
mod logs;
mod policy;
mod text;
mod witness;
