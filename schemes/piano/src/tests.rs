//! What only tests inside the crate can see: keys, sets and parities.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed check fails its test")]

mod hostile;
mod lookups;
mod setup;
mod starving;
mod updates;
mod views;
