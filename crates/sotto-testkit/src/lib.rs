//! What tests of sotto are made of. A dev-dependency only: nothing that ships may depend on it, and
//! `cargo run -p floors` says so.
//!
//! | module | what lives there |
//! |---|---|
//! | [`clear`] | schemes **without privacy**, to test everything above the schemes |
//! | [`memory`] | tables, sinks and images in memory, and a disk that fills up |
//! | [`rng`] | randomness that repeats itself |
#![forbid(unsafe_code)]

pub mod clear;
pub mod memory;
pub mod rng;

pub use clear::{CLEAR, CLEAR_KEYED, CLEAR_TWO};
