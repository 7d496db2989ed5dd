//! A row of many megabytes, written to a file while it arrives: under another name in the same folder,
//! until it is complete.
//!
//! An interrupted call removes the partial file. A call that is killed cannot, and the next call for
//! the same file does. A partial file is locked as long as its call runs, so no other call removes
//! it.

use crate::connect_args::EventLog;
use crate::failure::{Failure, Result};
use crate::files;
use crate::lookups::RequestedLookups;
use crate::screen::progress::ProgressLine;
use crate::screen::{Report, grid, units};
use crate::verbs::get::{Get, trust};
use schemars::JsonSchema;
use serde::Serialize;
use sotto_catalog::TableName;
use sotto_client::Table;
use sotto_client::table::StreamStats;
use std::ffi::OsString;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;
use std::{fs, io};
use tempfile::NamedTempFile;

impl Get {
    /// Streams the requested row to `file`. Until it is complete it has another name, in the same
    /// folder; so no program mistakes a part for the whole, and a row that failed leaves nothing
    /// behind.
    pub(crate) fn stream(
        &self,
        bars: &Arc<ProgressLine>,
        file: &Path,
        requested: &RequestedLookups,
    ) -> Result<Report> {
        if requested.rows.len() + requested.keys.len() != 1 {
            return Err(Failure::usage("--stream fetches one row").fix("give one --row or one --key"));
        }
        let unwritable = |error: std::io::Error| Failure::file("writing to", file, &error);
        // Before any query is sent, since a missing folder should not cost a query.
        let part = begin(file).map_err(unwritable)?;
        let mut table = self.remote.open(bars, &EventLog::default())?;
        table.session().stream_units()?;
        let mut out = BufWriter::new(part);
        let streamed = match (requested.rows.first(), requested.keys.first()) {
            (Some(row), _) => table.stream(*row, &mut out),
            (None, Some(key)) => table.stream_key(&key.text, &mut out),
            (None, None) => return Err(Failure::usage("no row is given")),
        };
        bars.finish();
        let stats = streamed?;
        let part = out.into_inner().map_err(|error| unwritable(error.into_error()))?;
        part.persist(file).map_err(|error| unwritable(error.error))?;
        Ok(report(&table, &stats, file))
    }
}

/// Bytes of the row per second, and bytes received for each byte of the row.
fn rates(stats: &StreamStats) -> (f64, f64) {
    let seconds = stats.time.as_secs_f64().max(1e-9);
    (stats.row_bytes as f64 / seconds, stats.down as f64 / stats.row_bytes.max(1) as f64)
}

/// A row that was written to a file, and what it cost.
fn report(table: &Table, stats: &StreamStats, file: &Path) -> Report {
    let (per_second, expansion) = rates(stats);
    let requests = match stats.requests {
        1 => String::new(),
        n => format!(", in {n} requests"),
    };
    let (name, keys) = (&table.catalog().table, table.stats().keys.up);
    let (up, down) = (units::bytes(stats.up), units::bytes(stats.down));
    let (file, public_key) = (file.display().to_string(), table.session().public_key().to_string());
    let facts = grid::facts([
        ("table", format!("{name}, epoch {}", stats.epoch)),
        ("signed by", public_key.clone()),
        ("trusted as", trust(table.trust()).1),
        ("written", format!("{file}, {}", units::bytes(stats.row_bytes))),
        ("rate", format!("{}/s, {} in total", units::bytes(per_second as u64), units::time(stats.time))),
        ("bytes", format!("{up} up, {down} down, {} times the row{requests}", units::digits(expansion))),
        ("once", format!("{} of keys up", units::bytes(keys))),
    ]);
    let json = RowStreamReport {
        table: name,
        epoch: stats.epoch,
        public_key,
        file,
        row_bytes: stats.row_bytes,
        units: stats.units,
        requests: stats.requests,
        up_bytes: stats.up,
        down_bytes: stats.down,
        keys_bytes: keys,
        time_ms: stats.time.as_secs_f64() * 1e3,
        bytes_per_second: per_second,
    };
    Report::new(facts, &json)
}

/// A row that was streamed into a file.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RowStreamReport<'a> {
    /// Name of the table.
    table: &'a TableName,
    epoch: u64,
    /// Public key that signed the catalog.
    public_key: String,
    /// Path of the file.
    file: String,
    /// Bytes of the row.
    row_bytes: u64,
    /// Number of units that the row arrived in.
    units: u64,
    /// Number of requests: one, unless connections broke.
    requests: u64,
    up_bytes: u64,
    down_bytes: u64,
    /// Bytes of evaluation keys that were registered.
    keys_bytes: u64,
    time_ms: f64,
    /// Bytes of the row per second.
    bytes_per_second: f64,
}

/// Suffix of a partial file's name.
const END: &str = ".sotto-part";

/// Creates a partial file for `file`, and removes those that killed calls have left.
pub(crate) fn begin(file: &Path) -> io::Result<NamedTempFile> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(".".as_ref());
    let mut start = OsString::from(".");
    start.push(file.file_name().unwrap_or_default());
    start.push(".");
    sweep(folder, &start);
    let part = tempfile::Builder::new().prefix(&start).suffix(END).tempfile_in(folder)?;
    part.as_file().lock()?;
    let path = part.path().to_owned();
    files::on_end(move || fs::remove_file(&path))?;
    Ok(part)
}

/// Removes partial files that no call writes any more. Files that cannot be removed do no harm.
fn sweep(folder: &Path, start: &OsString) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let (name, start) = (name.as_encoded_bytes(), start.as_encoded_bytes());
        if name.starts_with(start)
            && name.ends_with(END.as_bytes())
            && File::options().append(true).open(entry.path()).is_ok_and(|file| file.try_lock().is_ok())
        {
            let _ = fs::remove_file(entry.path());
        }
    }
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

    #[test]
    fn what_a_killed_call_left_goes_and_what_is_being_written_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("film");
        let left = folder.path().join(".film.abc.sotto-part");
        let others =
            [".films.abc.sotto-part", ".film.abc", "film.sotto-part"].map(|name| folder.path().join(name));
        for path in others.iter().chain([&left]) {
            fs::write(path, "left").unwrap();
        }
        let first = begin(&file).unwrap();
        assert!(!left.exists() && others.iter().all(|path| path.exists()));
        let second = begin(&file).unwrap();
        assert!(first.path().exists() && second.path().exists());
    }
}
