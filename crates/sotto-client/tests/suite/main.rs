//! The client against servers in memory and over HTTP.
#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed check fails its test"
)]

mod answers;
mod batch;
mod buckets;
mod caches;
mod catalogs;
mod common;
mod downloads;
mod epoch_agreement;
mod hints;
mod http;
mod hybrid;
mod keys;
mod rows;
mod server;
mod setup_steps;
mod shape;
mod signers;
mod silence;
mod snapshot;
mod stack;
mod streams;
mod symmetric;
mod tokens;
mod two_servers;
mod verified;
mod watched;
mod witness;
