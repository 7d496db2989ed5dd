//! The description of a round over a stack: its cost, and how often it fails.

use super::batch::BatchOutcome;
use super::stages_text;
use super::summary::remarks;
use crate::failure::Result;
use crate::screen::{Screen, grid, units};
use crate::verbs::table_summary;
use serde_json::json;
use sotto_catalog::BatchAccess;
use sotto_core::Compose;
use std::path::Path;

impl BatchOutcome {
    pub(super) fn say(
        &self,
        input: Option<&Path>,
        out: &Path,
        log: serde_json::Value,
        screen: Screen,
    ) -> Result<()> {
        let summary = &self.summary;
        let (stack, round, catalog) = (&summary.stack, &summary.round, &summary.catalog);
        for note in remarks(&summary.notes, summary.image_bytes, input) {
            screen.say(format!("note: {note}"))?;
        }
        let sizes = self.summary.layers.code().sizes();
        let (wide, value) = (catalog.row_bytes, table_summary::value(catalog.value));
        let bytes = units::bytes(summary.table_bytes);
        let (fails, code) = round.failure_log2();
        let once = match (round.artifacts, round.keys) {
            (0, 0) => "nothing".to_owned(),
            (hints, 0) => format!("{} down per epoch", units::bytes(hints)),
            (0, keys) => format!("{} of keys up per session", units::bytes(keys)),
            (hints, keys) => {
                format!("{} down per epoch, {} of keys up", units::bytes(hints), units::bytes(keys))
            }
        };
        let mut lines = vec![
            ("stack", format!("{}, epoch {}, {} tables", stack.stack, stack.epoch, round.tables)),
            ("rows", format!("{} of {wide} bytes ({bytes}), {value}", units::count(sizes.rows))),
            ("lookup by", self.asked_by()),
            ("batch code", self.code()),
        ];
        if let Some(scheme) = &round.scheme {
            lines.push(("scheme", format!("{}: {}", catalog.scheme, scheme.title)));
        }
        lines.extend([
            (
                "a round",
                format!(
                    "{} in every request: {} up, {} down",
                    table_summary::lookups(sizes.lookups(), round.queries),
                    units::bytes(round.up),
                    units::bytes(round.down)
                ),
            ),
            ("once", once),
        ]);
        if let Some(scheme) = &round.scheme {
            let model = &scheme.security_model;
            lines.push(("security", format!("{} ({model})", units::security(scheme.security_bits))));
        }
        lines.extend([
            (
                "a round fails",
                format!(
                    "with probability {}: {} for the batch code, {} for any of its lookups",
                    units::at_most(fails),
                    units::at_most(code),
                    units::at_most(round.lookups_fail)
                ),
            ),
            ("snapshot", table_summary::snapshot(stack.digest())),
            ("public key", self.public_key.to_string()),
            ("time", format!("{} ({})", units::time(self.took), stages_text(&self.stages))),
        ]);
        screen.say(grid::facts(lines))?;
        screen.say(format!("\nnext: sotto serve {}", out.display()))?;
        let scheme = round.scheme.as_ref().map(|_| &catalog.scheme);
        screen.report(&json!({
            "stack": stack.stack,
            "epoch": stack.epoch,
            "rows": sizes.rows,
            "row_bytes": wide,
            "batch": self.summary.layers.max_batch(),
            "code": round.code,
            "tables": round.tables,
            "lookups": sizes.lookups(),
            "queries": round.queries,
            "scheme": scheme,
            "up_bytes": round.up,
            "down_bytes": round.down,
            "artifact_bytes": round.artifacts,
            "keys_bytes": round.keys,
            "failure_log2": fails,
            "code_failure_log2": code,
            "notes": self.summary.notes,
            "snapshot": table_summary::snapshot(stack.digest()),
            "public_key": self.public_key.to_string(),
            "log": log,
            "stages_s": super::stages_json(&self.stages),
            "seconds": self.took.as_secs_f64(),
        }))
    }

    fn asked_by(&self) -> String {
        let max_batch = self.summary.layers.max_batch();
        match &self.summary.layers {
            BatchAccess::Rows { kind, .. } => {
                format!("{}; up to {max_batch} per round", table_summary::kind(kind))
            }
            BatchAccess::Keys(Compose(keywords, _)) => {
                let params = keywords.keyword().params();
                format!(
                    "key ({}), up to {max_batch} per round; a missing key is found with probability {}",
                    params.form.name(),
                    units::at_most(params.false_positive_log2())
                )
            }
        }
    }

    fn code(&self) -> String {
        let sizes = self.summary.layers.code().sizes();
        let spare = match sizes.spare {
            0 => String::new(),
            1 => ", and 1 lookup in the complete table".to_owned(),
            n => format!(", and {n} lookups in the complete table"),
        };
        if sizes.copies == 0 {
            return format!("none: for so few rows, {} lookups in the complete table", sizes.spare);
        }
        let (buckets, rows) =
            (self.summary.layers.code().buckets(), units::count(self.summary.layers.code().bucket_rows()));
        format!("each row in {} of {buckets} buckets of {rows} rows{spare}", sizes.copies)
    }
}
