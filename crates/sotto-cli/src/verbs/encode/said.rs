//! What is said of a table that was encoded.

use super::{Done, Encode};
use crate::failure::Result;
use crate::screen::{Screen, grid, units};
use crate::verbs::promise;
use serde_json::json;
use sotto_db::ingest::Notes;
use std::time::Duration;

impl Encode {
    pub(super) fn say(&self, screen: Screen, done: &Done) -> Result<()> {
        let summary = &done.summary;
        screen.say(format!("{} ({})\n", summary.image.display(), units::bytes(summary.image_bytes)))?;
        screen.say(self.source.said(done.notes.lines))?;
        for note in notes(&done.notes) {
            screen.say(format!("note: {note}"))?;
        }
        let mut lines =
            promise::lines(done.image.catalog(), Some(&done.scheme), &done.public_key.to_string());
        lines.push(("chosen for", chosen_for(self.lookups, done)));
        if summary.kept_bytes > 0 {
            lines.push(("kept here", format!("{} of rows, for updates", units::bytes(summary.kept_bytes))));
        }
        lines.push(("time", format!("{} ({})", units::time(done.took), stages_text(&done.stages))));
        screen.say(grid::facts(lines))?;
        screen.say(format!("\nnext: sotto serve {}", self.out.display()))
    }
}

/// Why the table has the shape it has.
fn chosen_for(lookups: u64, done: &Done) -> String {
    let scheme = &done.scheme;
    let each = scheme.query_bytes.saturating_add(scheme.answer_bytes);
    let once = scheme.artifact_bytes.saturating_add(scheme.keys_bytes);
    let all = once.saturating_add(lookups.saturating_mul(each));
    format!(
        "{} in all for {} lookups by one client per epoch (--lookups), with {}",
        units::bytes(all),
        units::count(lookups),
        if scheme.keys_bytes > 0 { "keys" } else { "the hint" },
    )
}

/// What else whoever made the file should know.
pub(super) fn notes(notes: &Notes) -> impl Iterator<Item = String> {
    let missing = (notes.missing_rows > 0).then(|| {
        format!("{} rows had no line in the file and hold zero bytes", units::count(notes.missing_rows))
    });
    let mixed = (notes.mixed_blocks > 0).then(|| {
        format!(
            "{} blocks have keys of several values, of which a row holds one (see --rule)",
            units::count(notes.mixed_blocks)
        )
    });
    missing.into_iter().chain(mixed)
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
