//! OnionPIR from outside: choices, refusals, known answers.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed check fails its test")]

mod choices;
mod refusals;
mod vectors;
