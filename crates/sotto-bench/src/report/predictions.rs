//! Predictions against measurements, for people and as JSON.

use super::units::{digits, shape, time};
use super::words::wrapped;
use crate::calibrate::PlanReport;
use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};

impl PlanReport {
    /// A table for people.
    pub fn table(&self) -> String {
        let mut table = Table::new();
        let heads = [
            "scheme",
            "table",
            "server, predicted",
            "measured",
            "ratio",
            "client, predicted",
            "measured",
            "ratio",
        ];
        table.load_style(ASCII_MARKDOWN).set_header(heads);
        for column in table.column_iter_mut().skip(2) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        for line in &self.predicted {
            table.add_row([
                line.scheme.clone(),
                shape(line.rows_count, line.row_bytes * 8),
                time(line.server_predicted_ms),
                time(line.server_measured_ms),
                digits(line.server_ratio),
                time(line.client_predicted_ms),
                time(line.client_measured_ms),
                digits(line.client_ratio),
            ]);
        }
        let missed: Vec<String> = self
            .missed()
            .map(|line| {
                format!(
                    "{} at {} ({})",
                    line.scheme,
                    shape(line.rows_count, line.row_bytes * 8),
                    digits(line.server_ratio)
                )
            })
            .collect();
        let close = self.predicted.len() - missed.len();
        let missed = if missed.is_empty() { "none".to_owned() } else { missed.join(", ") };
        let said = format!(
            "A lookup at one server on one thread, in processor time: the minimum of several. {close} of \
             {} are predicted within 25 %, or 0.05 ms. Others: {missed}.",
            self.predicted.len()
        );
        let said =
            wrapped(&said, 100).into_iter().map(|line| line.trim().to_owned()).collect::<Vec<_>>().join("\n");
        format!("{}\n\n{table}\n\n{said}\n", self.machine.line())
    }

    /// JSON, indented.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_else(|_| "{}".to_owned())
    }
}
