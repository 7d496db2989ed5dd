//! OnionPIR from outside: choices, refusals.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed check fails its test")]

mod choices;
