//! Tests that need the schemes: every parity of a client is compared with the rows of its set.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed check fails its test")]

mod parities;
mod slots;
mod stream;
