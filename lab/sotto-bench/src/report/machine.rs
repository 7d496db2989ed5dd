//! The machine probe, for people and as JSON.

use super::format::{bytes, digits, percent};
use crate::machine::MachineReport;
use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};

impl MachineReport {
    /// A table for people.
    pub fn table(&self) -> String {
        let mut table = Table::new();
        table.load_style(ASCII_MARKDOWN).set_header([
            "read",
            "buffer",
            "pages",
            "threads",
            "GB/s",
            "best GB/s",
        ]);
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        for read in &self.reads {
            table.add_row([
                read.what.to_owned(),
                bytes(read.buffer_bytes),
                read.pages.clone().unwrap_or_else(|| "-".to_owned()),
                read.threads_count.to_string(),
                digits(read.read_gb_per_s),
                digits(read.best_gb_per_s),
            ]);
        }
        let mut scans = Table::new();
        scans.load_style(ASCII_MARKDOWN).set_header([
            "scan",
            "queries",
            "buffer",
            "GB/s",
            "of read",
            "aggregate GB/s",
        ]);
        for column in scans.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        for scan in &self.scans {
            scans.add_row([
                scan.what.clone(),
                scan.queries_count.to_string(),
                bytes(scan.buffer_bytes),
                digits(scan.scan_gb_per_s),
                percent(scan.of_read_ratio),
                digits(scan.scan_gb_per_s * scan.queries_count as f64),
            ]);
        }
        let mut shapes = Table::new();
        shapes.load_style(ASCII_MARKDOWN).set_header(["kernel", "shape", "default", "ms of each shape"]);
        for kernel in &self.shapes.kernels {
            let tried = kernel.tried.iter().map(|trial| format!("{} {}", trial.shape, digits(trial.best_ms)));
            let tried = tried.collect::<Vec<_>>().join(", ");
            shapes.add_row([kernel.kernel.clone(), kernel.shape.clone(), kernel.default.clone(), tried]);
        }
        format!(
            "{}\n\n{table}\n\nMedian and best of plain sequential reads; GB are 10^9 bytes.\n\n{scans}\n\n\
             The kernels that answer queries, on one thread: byte matrix times query words. of read: over a plain\n\
             read of the same bytes, in turns.\n\n{shapes}\n\n\
             How each kernel goes through memory: all shapes give the same bytes. default: {}. `SOTTO_SHAPES`\n\
             pins others: {}. Measured in {} ms.\n",
            self.machine.line(),
            self.shapes.default_of(),
            self.shapes.pin(),
            digits(self.shapes.took_ms),
        )
    }

    /// JSON, indented.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_else(|_| "{}".to_owned())
    }
}
