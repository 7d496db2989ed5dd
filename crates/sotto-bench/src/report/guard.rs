//! The guard's ratios, for people and as JSON.

use super::table::WIDTH;
use super::units::digits;
use super::words::wrapped;
use crate::regression::GuardReport;
use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};

impl GuardReport {
    /// A table for people.
    pub fn table(&self) -> String {
        let mut table = Table::new();
        let heads = ["what", "against", "times", "was", "at least", "tries", "verdict"];
        table.load_style(ASCII_MARKDOWN).set_header(heads);
        for column in table.column_iter_mut().skip(2).take(4) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let shown = |ratio: Option<f64>| digits(ratio.unwrap_or(f64::NAN));
        for ratio in &self.ratios {
            table.add_row([
                ratio.name.to_owned(),
                ratio.against.to_owned(),
                shown(ratio.measured_ratio),
                shown(ratio.expected_ratio),
                shown(ratio.least_ratio),
                ratio.attempts_count.to_string(),
                ratio.verdict.word().to_owned(),
            ]);
        }
        let judged = match &self.not_judged {
            None => format!(
                "{} of {} hold. was: on {}. A ratio has fallen if it is below the minimum twice.",
                self.ratios.len() - self.fallen().count(),
                self.ratios.len(),
                self.expected_on
            ),
            Some(why) => format!("Nothing is judged: {why}."),
        };
        let note = format!(
            "times: how many times as fast as the figure that it is compared with, which was measured in \
             turns with it; on one thread. {judged} Took {} s.",
            digits(self.took_s)
        );
        let lines = |text: &str| wrapped(text, WIDTH).join("\n");
        format!("{}\n\n{table}\n\n{}\n", lines(&self.machine.line()), lines(&note))
    }

    /// JSON, indented.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_else(|_| "{}".to_owned())
    }
}
