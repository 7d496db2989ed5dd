//! What only tests inside the crate can see: void ids, requests before they are bytes, blocks of hints.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed check fails its test")]

mod hostile;
mod two;
mod views;

use crate::{Params, S3pir};
use sotto_core::{Params as _, Shape};
use sotto_testkit::served::Served;

fn table(rows: u64, row_bytes: u64, lookups: u64) -> Served<S3pir> {
    let literal = Params::select(&Shape::new(rows, row_bytes, lookups)).unwrap();
    Served::new(Params::check(literal).unwrap())
}
