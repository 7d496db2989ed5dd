//! What only the schemes together show: every parity that a client keeps, against the rows of its set.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed check fails its test")]

mod parities;
mod slots;
mod stream;
