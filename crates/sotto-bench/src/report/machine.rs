//! The machine probe, for people and as JSON.

use super::units::{bytes, digits};
use crate::machine::MachineReport;
use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};

impl MachineReport {
    /// A table for people.
    pub fn table(&self) -> String {
        let mut table = Table::new();
        table.load_style(ASCII_MARKDOWN).set_header(["read", "buffer", "threads", "GB/s", "best GB/s"]);
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        for read in &self.reads {
            table.add_row([
                read.what.to_owned(),
                bytes(read.buffer_bytes),
                read.threads_count.to_string(),
                digits(read.read_gb_per_s),
                digits(read.best_gb_per_s),
            ]);
        }
        format!(
            "{}\n\n{table}\n\nMedian and best of plain sequential reads; GB are 10^9 bytes.\n",
            self.machine.line()
        )
    }

    /// JSON, indented.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_else(|_| "{}".to_owned())
    }
}
