//! Tokens as the RFC has them, and as users, keys and time come and go.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed check fails its test"
)]

mod flow;
mod vectors;
