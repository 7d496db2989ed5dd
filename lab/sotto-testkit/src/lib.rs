//! The test kit of sotto. A dev-dependency only: nothing that ships may depend on it, which
//! `cargo run -p floors` checks.
//!
//! ```
//! use sotto_core::RecordSource as _;
//! use sotto_testkit::memory::MemoryRows;
//! use sotto_testkit::rng::seeded;
//!
//! // The same label gives the same bytes on every machine.
//! use rand_core::Rng as _;
//! assert_eq!(seeded("rows").next_u64(), seeded("rows").next_u64());
//!
//! // Three records of four bytes, as an encoder reads them.
//! let rows = MemoryRows::new(4, (0..12).collect());
//! let mut last = [0; 4];
//! rows.read(2, &mut last)?;
//! assert_eq!((rows.records(), last), (3, [8, 9, 10, 11]));
//! # Ok::<(), sotto_core::Error>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`aborts`] | attacks on what a refusal tells, for schemes whose refusals are to tell nothing of the row |
//! | [`cleartext`] | schemes **without privacy**, to test everything above the schemes |
//! | [`conformance`] | the whole contract of a scheme, as tests by its abilities |
//! | [`fake_http`] | a server over HTTP that a test makes up |
//! | [`ledger`] | the ability ledger: committed text that is compared with the build |
//! | [`memory`] | tables, sinks and images in memory, and a disk that fills up |
//! | [`naive_ring`] | arithmetic of rings by its definitions, for clients written from `spec/` |
//! | [`rng`] | repeatable randomness |
//! | [`served`] | a table with its server, as a scheme's own types |
//! | [`transcript`] | checks that traffic does not depend on the lookup |
//! | [`uniform`] | whether the server's view is uniform |
//! | [`vectors`] | known answers |
#![forbid(unsafe_code)]

#[allow(clippy::unwrap_used, clippy::panic, reason = "a failed check fails its test")]
pub mod aborts;
pub mod cleartext;
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed check fails its test")]
pub mod conformance;
#[allow(clippy::unwrap_used, reason = "a failed check fails its test")]
pub mod fake_http;
#[allow(clippy::unwrap_used, clippy::panic, reason = "a failed check fails its test")]
pub mod ledger;
pub mod memory;
#[allow(clippy::unwrap_used, reason = "an oracle of tests")]
pub mod naive_ring;
pub mod rng;
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed check fails its test")]
pub mod served;
pub mod transcript;
pub mod uniform;
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed check fails its test")]
pub mod vectors;

pub use cleartext::{
    CLEAR, CLEAR_BATCH, CLEAR_HELPED, CLEAR_KEYED, CLEAR_ROWS, CLEAR_STATE, CLEAR_STREAM, CLEAR_TWO,
};
