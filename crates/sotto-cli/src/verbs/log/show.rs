//! `sotto log show`: which catalogs are in a log, and who has cosigned it.

use crate::exit_mapping;
use crate::failure::Result;
use crate::screen::{Screen, grid};
use serde_json::{Value, json};
use sotto_tlog::SignedNote;
use sotto_tlog::publisher_log::{PublisherLog, SignedCheckpoint};
use std::path::PathBuf;

/// Arguments of `sotto log show`.
#[derive(Debug, clap::Args)]
pub(super) struct Show {
    /// Folder of the log
    #[arg(value_name = "LOG")]
    folder: PathBuf,
}

impl Show {
    pub(super) fn run(self, screen: Screen) -> Result<()> {
        let log = PublisherLog::open(&self.folder).map_err(|e| exit_mapping::log(&e))?;
        let heads = [("checkpoint", Some(log.newest())), ("cosigned", log.witnessed())];
        let mut lines = vec![("publisher", log.publisher().to_string())];
        for (name, head) in heads {
            if let Some(head) = head {
                let (names, entries) = (cosigners(head), head.checkpoint.size);
                let by = if names.is_empty() { "nobody".to_owned() } else { names.join(", ") };
                lines.push((name, format!("{entries} entries, cosigned by {by}")));
            }
        }
        screen.say(grid::facts(lines))?;
        let columns = [("entry", true), ("kind", false), ("name", false), ("epoch", true), ("BLAKE3", false)];
        let rows = log.entries().iter().enumerate().map(|(index, entry)| {
            let (kind, epoch) = (entry.kind.name().to_owned(), entry.epoch.to_string());
            vec![index.to_string(), kind, entry.name.to_string(), epoch, entry.digest.to_string()]
        });
        screen.say(grid::grid(&columns, rows))?;
        let entries: Vec<Value> = log
            .entries()
            .iter()
            .map(|entry| {
                let (kind, digest) = (entry.kind.name(), entry.digest.to_string());
                json!({ "kind": kind, "name": entry.name, "epoch": entry.epoch, "digest": digest })
            })
            .collect();
        let json_of = |head: &SignedCheckpoint| json!({ "entries": head.checkpoint.size, "cosigned_by": cosigners(head) });
        screen.report(&json!({
            "publisher": log.publisher().to_string(),
            "checkpoint": json_of(log.newest()),
            "cosigned": log.witnessed().map(json_of),
            "entries": entries,
        }))?;
        // All of it is shown first, as the proof of an error.
        let checked = log.history().map(drop);
        checked.map_err(|e| exit_mapping::log(&e).fix("show the log to others; do not trust its publisher"))
    }
}

/// The names in the lines after the publisher's own.
fn cosigners(head: &SignedCheckpoint) -> Vec<String> {
    let note = SignedNote::parse(head.note.as_bytes());
    let lines = note.map(|note| note.signatures).unwrap_or_default();
    lines.into_iter().map(|line| line.name).filter(|name| *name != head.checkpoint.origin).collect()
}
