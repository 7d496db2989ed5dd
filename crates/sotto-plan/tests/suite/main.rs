//! Plans, compared with what schemes and encoders say.

// Clippy recognizes tests by their attribute, which shared helpers lack.
#![allow(clippy::unwrap_used)]

mod exact;
mod ranked;

use sotto_layers::keyword::{BuildOptions, KeyForm, KeyStats};
use sotto_plan::{TableData, Workload};
use sotto_prg::PublicSeed;

/// Rows of one width.
fn rows(rows: u64, row_bytes: u64) -> Workload {
    Workload::usual(TableData::Row { rows, row_bytes, room: 0 })
}

/// Keys with values of one width.
fn keys(keys: u64, value_bytes: u32) -> Workload {
    let options = BuildOptions::new(KeyForm::Text, PublicSeed([7; 32]));
    let counted = KeyStats { options, keys, shortest: value_bytes, longest: value_bytes };
    Workload::usual(TableData::Key { keys, value_bytes: value_bytes.into(), counted: Box::new(counted) })
}
