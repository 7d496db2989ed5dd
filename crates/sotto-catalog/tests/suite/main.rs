//! Catalogs, stacks and how rows lie in records, from outside.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed check fails its test"
)]

mod batched;
mod catalog;
mod masked;
mod packing;
mod stack;
mod succession;
