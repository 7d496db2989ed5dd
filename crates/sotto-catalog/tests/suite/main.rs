//! Tests of catalogs, stacks and the packing of rows through the public interface.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed check fails its test"
)]

mod batched;
mod catalog;
mod hybrid;
mod masked;
mod packing;
mod row_proofs;
mod stack;
mod succession;
