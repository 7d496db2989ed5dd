//! Tests that need private items: void ids, queries before they are encoded, blocks of hints.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed check fails its test")]

mod hostile;
mod two_server;
mod views;

use crate::{Params, S3pir};
use sotto_core::{Params as _, TableShape};
use sotto_testkit::served::InProcessServer;

fn table(rows: u64, row_bytes: u64, lookups: u64) -> InProcessServer<S3pir> {
    let literal = Params::select(&TableShape::new(rows, row_bytes, lookups)).unwrap();
    InProcessServer::new(Params::check(literal).unwrap())
}
