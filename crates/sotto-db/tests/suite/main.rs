//! Tests of ingestion, encoding, images and updates, and of the faults that interrupt them.
#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed check fails its test"
)]

mod buckets;
mod common;
mod encode;
mod faults;
mod image;
mod ingest;
mod keyed;
mod masks;
mod parts;
mod ranges;
mod readers;
mod residency;
mod rows;
mod update;
mod verified;
mod whitening;
