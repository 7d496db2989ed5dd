//! A row of many megabytes, written to a file while it arrives.

use super::{Get, partial_file, trust};
use crate::exit_mapping;
use crate::failure::{Failure, Result};
use crate::screen::progress::ProgressLine;
use crate::screen::{Screen, grid, units};
use crate::verbs::client_events::EventLog;
use serde_json::json;
use sotto_client::Table;
use sotto_client::table::StreamStats;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

impl Get {
    /// Streams the requested row to `file`. Until it is complete it has another name, in the same
    /// folder; so no program mistakes a part for the whole, and a row that failed leaves nothing
    /// behind.
    pub(super) fn stream(&self, screen: Screen, bars: &Arc<ProgressLine>, file: &Path) -> Result<()> {
        if self.row_numbers.len() + self.all_keys.len() != 1 {
            return Err(Failure::usage("--stream fetches one row").fix("give one --row or one --key"));
        }
        let unwritable = |error: std::io::Error| Failure::file("writing to", file, &error);
        // Before any query is sent, since a missing folder should not cost a query.
        let part = partial_file::begin(file).map_err(unwritable)?;
        let mut table = self.remote.open(bars, &EventLog::default())?;
        table.session().stream_units().map_err(exit_mapping::client)?;
        let mut out = BufWriter::new(part);
        let streamed = match (self.row_numbers.first(), self.all_keys.first()) {
            (Some(row), _) => table.stream(*row, &mut out),
            (None, Some(key)) => table.stream_key(&key.text, &mut out),
            (None, None) => return Err(Failure::usage("no row is given")),
        };
        bars.finish();
        let stats = streamed.map_err(exit_mapping::client)?;
        let part = out.into_inner().map_err(|error| unwritable(error.into_error()))?;
        part.persist(file).map_err(|error| unwritable(error.error))?;
        screen.say(facts(&table, &stats, file))?;
        screen.report(&report(&table, &stats, file))
    }
}

/// Bytes of the row per second, and bytes received for each byte of the row.
fn rates(stats: &StreamStats) -> (f64, f64) {
    let seconds = stats.time.as_secs_f64().max(1e-9);
    (stats.row_bytes as f64 / seconds, stats.down as f64 / stats.row_bytes.max(1) as f64)
}

fn facts(table: &Table, stats: &StreamStats, file: &Path) -> String {
    let (per_second, expansion) = rates(stats);
    let requests = match stats.requests {
        1 => String::new(),
        n => format!(", in {n} requests"),
    };
    grid::facts([
        ("table", format!("{}, epoch {}", table.catalog().table, stats.epoch)),
        ("signed by", table.session().public_key().to_string()),
        ("trusted as", trust(table.trust()).to_owned()),
        ("written", format!("{}, {}", file.display(), units::bytes(stats.row_bytes))),
        ("rate", format!("{}/s, {} in total", units::bytes(per_second as u64), units::time(stats.time))),
        (
            "bytes",
            format!(
                "{} up, {} down, {} times the row{requests}",
                units::bytes(stats.up),
                units::bytes(stats.down),
                units::digits(expansion)
            ),
        ),
        ("once", format!("{} of keys up", units::bytes(table.stats().keys.up))),
    ])
}

fn report(table: &Table, stats: &StreamStats, file: &Path) -> serde_json::Value {
    let (per_second, _) = rates(stats);
    json!({
        "table": table.catalog().table,
        "epoch": stats.epoch,
        "public_key": table.session().public_key().to_string(),
        "file": file.display().to_string(),
        "row_bytes": stats.row_bytes,
        "units": stats.units,
        "requests": stats.requests,
        "up_bytes": stats.up,
        "down_bytes": stats.down,
        "keys_bytes": table.stats().keys.up,
        "time_ms": stats.time.as_secs_f64() * 1e3,
        "bytes_per_second": per_second,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn rates_are_of_the_row_and_not_of_the_wire() {
        let time = Duration::from_millis(500);
        let stats = StreamStats { row_bytes: 100, down: 150, time, ..StreamStats::default() };
        assert_eq!(rates(&stats), (200.0, 1.5));
        assert!(rates(&StreamStats::default()).0.is_finite());
    }
}
