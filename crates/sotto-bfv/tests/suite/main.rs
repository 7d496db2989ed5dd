//! The BFV family from outside: a client written from the page alone, batches, refusals, and the noise that there is.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed check fails its test"
)]

mod batches;
mod noise;
mod page;
mod refusals;

use sotto_core::SchemeEntry;

/// Every scheme of the family.
const SCHEMES: [&SchemeEntry; 4] = [&sealpir::ENTRY, &fastpir::ENTRY, &vbpir::ENTRY, &pirana::ENTRY];
