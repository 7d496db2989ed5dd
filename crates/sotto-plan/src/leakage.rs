//! Descriptions of what the servers of a table learn about its clients.

use serde::Serialize;
use sotto_core::{AbortLeakage, SchemeEntry};

/// A statement of what is learned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeakageStatement(pub String);

/// Statements of what a scheme's servers learn, most severe first.
pub(crate) fn of(
    entry: &SchemeEntry,
    abort_leakage: AbortLeakage,
    keys_bytes: u64,
    is_symmetric: bool,
) -> Vec<LeakageStatement> {
    let mut leaks = Vec::new();
    if entry.servers > 1 {
        leaks.push("two servers that collude learn all".to_owned());
    }
    let seen = if entry.is_downloadable() { "when a client downloads" } else { "timing and counts" };
    leaks.push(seen.to_owned());
    if keys_bytes > 0 {
        leaks.push("which requests belong to one client, for a day".to_owned());
    }
    if entry.hint_server.is_some() {
        leaks.push("when a client requests hints".to_owned());
    }
    match abort_leakage {
        AbortLeakage::Nothing => {}
        tells => leaks.push(format!("{}, by a refusal of an answer", tells.statement())),
    }
    if is_symmetric {
        leaks.push("how many rows each client opens".to_owned());
    }
    leaks.into_iter().map(LeakageStatement).collect()
}
