//! What only tests inside the crate can see: sets and parities.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed check fails its test")]

mod crashes;
mod hostile;
mod lookups;
mod setup;
mod updates;
mod views;
