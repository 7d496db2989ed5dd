//! Tests that need private items: the backups that are left, and queries before they are encoded.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed check fails its test")]

mod hostile;
mod starving;
mod views;

use crate::places::PartitionPermutation;
use crate::{Params, Piano};
use sotto_core::{Params as _, TableShape};
use sotto_hints::one_server::RowOrder;
use sotto_testkit::served::InProcessServer;

fn table(rows: u64, row_bytes: u64) -> InProcessServer<Piano> {
    let literal = Params::select(&TableShape::new(rows, row_bytes, u64::MAX)).unwrap();
    InProcessServer::new(Params::check(literal).unwrap())
}

/// Rows of one partition, as an adversary finds them in the public order.
fn rows_of(params: &Params, partition: u16) -> Vec<u64> {
    let order = PartitionPermutation::new(params.partitions(), params.partition_rows());
    (0..params.rows()).filter(|row| order.of(*row).partition == partition).collect()
}
