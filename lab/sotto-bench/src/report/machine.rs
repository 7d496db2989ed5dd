//! The machine probe, for people and as JSON.

use super::format::digits;
use super::grid::{Sheet, blank};
use crate::machine::MachineReport;

const READS: Sheet = Sheet {
    title: "",
    columns: "read = what | buffer = buffer_bytes | pages = pages | threads = threads_count | \
              GB/s = read_gb_per_s | best GB/s = best_gb_per_s",
    note: "Median and best of plain sequential reads; GB are 10^9 bytes.",
};

const SCANS: Sheet = Sheet {
    title: "",
    columns: "scan = what | queries = queries_count | buffer = buffer_bytes | GB/s = scan_gb_per_s | \
              of read = of_read_ratio as percent | aggregate GB/s = scan_gb_per_s * queries_count",
    note: "\
The kernels that answer queries, on one thread: byte matrix times query words. of read: over a plain
read of the same bytes, in turns.",
};

impl MachineReport {
    /// A table for people.
    pub fn table(&self) -> String {
        let mut shapes = blank(4, ["kernel", "shape", "default", "ms of each shape"]);
        for kernel in &self.shapes.kernels {
            let tried = kernel.tried.iter().map(|trial| format!("{} {}", trial.shape, digits(trial.best_ms)));
            let tried = tried.collect::<Vec<_>>().join(", ");
            shapes.add_row([kernel.kernel.clone(), kernel.shape.clone(), kernel.default.clone(), tried]);
        }
        let (reads, scans) = (READS.plain(1, &self.reads), SCANS.plain(1, &self.scans));
        format!(
            "{}\n\n{reads}\n\n{}\n\n{scans}\n\n{}\n\n{shapes}\n\n\
             How each kernel goes through memory: all shapes give the same bytes. default: {}. `SOTTO_SHAPES`\n\
             pins others: {}. Measured in {} ms.\n",
            self.machine.line(),
            READS.note,
            SCANS.note,
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
