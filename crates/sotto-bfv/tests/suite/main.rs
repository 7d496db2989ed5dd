//! Tests of the BFV family from outside: a client written from the specification alone, batches,
//! refusals, how often an image is read, and the measured noise.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed check fails its test"
)]

mod noise;
mod page;
mod records;
mod refusals;

use sotto_core::SchemeEntry;

/// Every scheme of the family.
const SCHEMES: [&SchemeEntry; 4] = [&sealpir::ENTRY, &fastpir::ENTRY, &vbpir::ENTRY, &pirana::ENTRY];
