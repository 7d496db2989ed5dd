//! Plans, compared with what schemes and encoders say.

// Clippy recognizes tests by their attribute, which shared helpers lack.
#![allow(clippy::unwrap_used)]

mod chosen;
mod exact;
mod ranked;

use sotto_layers::keyword::{BuildOptions, KeyForm, KeyStats};
use sotto_plan::{Plan, SearchScope, TableData, Workload, plan};
use sotto_prg::PublicSeed;

/// A plan of one scheme: selecting the parameters of all takes seconds.
fn plan_of(workload: &Workload, id: &str) -> Plan {
    let only = sotto_registry::find(id);
    assert!(only.is_some(), "{id}");
    plan(workload, SearchScope { only, ..SearchScope::default() }, None).unwrap()
}

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
