//! The summary of a table that was encoded.

use super::{Encode, EncodeOutcome};
use crate::failure::Result;
use crate::screen::{Screen, grid, units};
use crate::verbs::table_summary;
use serde_json::json;
use sotto_db::ingest::{Notes, out_of_proportion};
use std::path::Path;
use std::time::Duration;

impl Encode {
    pub(super) fn say(&self, screen: Screen, done: &EncodeOutcome) -> Result<()> {
        let summary = &done.summary;
        screen.say(format!("{} ({})\n", summary.image.display(), units::bytes(summary.image_bytes)))?;
        screen.say(self.source.description(done.notes.lines))?;
        for note in remarks(&done.notes, summary.image_bytes, self.source.input()) {
            screen.say(format!("note: {note}"))?;
        }
        let mut lines =
            table_summary::lines(done.image.catalog(), Some(&done.scheme), &done.public_key.to_string());
        lines.push(("chosen for", chosen_for(self.lookups, done)));
        if summary.stored_rows_bytes > 0 {
            lines.push((
                "stored",
                format!("{} of rows, for updates", units::bytes(summary.stored_rows_bytes)),
            ));
        }
        lines.push(("time", format!("{} ({})", units::time(done.took), stages_text(&done.stages))));
        screen.say(grid::facts(lines))?;
        screen.say(format!("\nnext: sotto serve {}", self.out.display()))
    }
}

/// The reason for the shape of the table.
fn chosen_for(lookups: u64, done: &EncodeOutcome) -> String {
    let scheme = &done.scheme;
    let each = scheme.query_bytes.saturating_add(scheme.answer_bytes);
    let once = scheme.artifact_bytes.saturating_add(scheme.keys_bytes);
    let all = once.saturating_add(lookups.saturating_mul(each));
    format!(
        "{} in total for {} lookups of one client per epoch (--lookups), with {}",
        units::bytes(all),
        units::count(lookups),
        if scheme.keys_bytes > 0 { "keys" } else { "the hint" },
    )
}

/// Remarks for the owner of the file: what was unusual about it, and about the size of the result.
pub(super) fn remarks(notes: &Notes, image_bytes: u64, input: Option<&Path>) -> Vec<String> {
    let file_bytes = input.and_then(|input| std::fs::metadata(input).ok()).map(|metadata| metadata.len());
    let of_size = file_bytes.and_then(|bytes| out_of_proportion(image_bytes, bytes));
    notes.remarks().into_iter().chain(of_size).collect()
}

/// Stages and their times, in one line.
pub(in crate::verbs) fn stages_text(stages: &[(String, Duration)]) -> String {
    let stages: Vec<_> = stages.iter().map(|(name, time)| format!("{name} {}", units::time(*time))).collect();
    stages.join(", ")
}

/// Stages and their times, in seconds.
pub(in crate::verbs) fn stages_json(stages: &[(String, Duration)]) -> serde_json::Value {
    stages.iter().map(|(name, time)| (name.clone(), json!(time.as_secs_f64()))).collect()
}
