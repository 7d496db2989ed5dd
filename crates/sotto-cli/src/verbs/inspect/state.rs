//! Inspection of the durable states of clients.

use crate::exit_mapping;
use crate::failure::{Failure, Result};
use crate::screen::{Screen, grid, units};
use serde_json::{Value, json};
use sotto_client::state::inspect::{StateInfo, inspect as inspect_states};
use sotto_core::Budget;
use std::path::Path;

pub(super) fn inspect(dir: &Path, screen: Screen) -> Result<()> {
    if !dir.is_dir() {
        return Err(Failure::missing(format!("no such folder: {}", dir.display()))
            .fix("give the folder of `sotto get --state`"));
    }
    let states = inspect_states(dir, sotto_registry::find).map_err(exit_mapping::client)?;
    if states.is_empty() {
        screen.say("no client states in this folder")?;
    }
    for state in &states {
        screen.say(facts(state))?;
    }
    screen.report(&json!({ "states": states.iter().map(report).collect::<Vec<_>>() }))
}

fn left(state: &StateInfo) -> Option<u64> {
    match state.budget {
        Some(Budget::Left(left)) => Some(left),
        _ => None,
    }
}

fn facts(state: &StateInfo) -> String {
    let metadata = &state.metadata;
    let generation = metadata.snapshot.map(|snapshot| snapshot.generation.to_string());
    grid::facts([
        ("folder", state.path.display().to_string()),
        ("table", format!("{} at {}", metadata.table, metadata.origin)),
        ("signed by", metadata.public_key.clone()),
        ("scheme", metadata.scheme.clone()),
        ("epoch", state.epoch.map_or("none: not prepared yet".to_owned(), |epoch| epoch.to_string())),
        ("left", left(state).map_or("unknown".to_owned(), |left| format!("{} queries", units::count(left)))),
        ("unsettled", format!("{} requests", units::count(state.unsettled))),
        ("generation", generation.unwrap_or_else(|| "none".to_owned())),
        ("size", units::bytes(state.bytes)),
    ])
}

fn report(state: &StateInfo) -> Value {
    let metadata = &state.metadata;
    json!({
        "folder": state.path,
        "id": metadata.id,
        "table": metadata.table,
        "server": metadata.origin,
        "public_key": metadata.public_key,
        "scheme": metadata.scheme,
        "epoch": state.epoch,
        "budget": left(state),
        "unsettled": state.unsettled,
        "counter": state.counter,
        "clients": metadata.clients,
        "generation": metadata.snapshot.map(|snapshot| snapshot.generation),
        "bytes": state.bytes,
    })
}
