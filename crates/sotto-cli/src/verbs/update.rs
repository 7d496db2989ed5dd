//! `sotto update`: a file of changed rows makes the next epoch, re-encoding only what changed.

use super::encode::{self, source};
use crate::blame;
use crate::failure::{Failure, Result};
use crate::screen::bars::Unit;
use crate::screen::{Screen, grid, units};
use serde_json::json;
use sotto_db::epoch::KEY;
use sotto_db::ingest::{Column, Encoding, FileOptions, Format};
use sotto_db::{Retention, TableDir, UpdateOptions, UpdateSummary, retain, update_table};
use std::path::PathBuf;

const EXAMPLE: &str = "\
The file has two columns, the row's number and its new value; for range tables three, first key, last key and \
value. Rows past the end are appended while there is room. A running `sotto serve` picks the new epoch up by \
itself and keeps the one before live; clients fetch a delta instead of the whole hint. Who kept the old hint \
can work out from it something of what changed: the scheme's README says what.

Old epochs stay in the directory until --keep says otherwise; a server needs the two newest. What shrinks keeps \
only its catalog and its rows delta (epoch-N.delta), for clients that hold state of their own and were away.

Example:
  sotto update tables/words today.csv
  sotto update tables/words today.csv --row number --value meaning";

/// Arguments of `sotto update`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Update {
    /// The table's directory
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// The file of changed rows: CSV, JSON lines or Parquet; .gz and .zst are decompressed
    #[arg(value_name = "CHANGES")]
    changes: PathBuf,
    /// The column of row numbers [default: the first, or `row`]
    #[arg(long, value_name = "COL", requires = "value", conflicts_with_all = ["start", "end"])]
    row: Option<Column>,
    /// Range tables: the column of first keys [default: the first, or `start`]
    #[arg(long, value_name = "COL", requires_all = ["end", "value"])]
    start: Option<Column>,
    /// Range tables: the column of last keys [default: the second, or `end`]
    #[arg(long, value_name = "COL", requires_all = ["start", "value"])]
    end: Option<Column>,
    /// The column of values [default: the last of them, or `value`]
    #[arg(long, value_name = "COL")]
    value: Option<Column>,
    /// What the file is: csv, jsonl or parquet [default: by its name]
    #[arg(long)]
    format: Option<Format>,
    /// The first line of the CSV file names the columns; it does anyway if one is asked for by name
    #[arg(long)]
    header: bool,
    /// What stands between the columns of a CSV file; \t for a tab
    #[arg(long, value_name = "CHAR", default_value = ",", value_parser = source::delimiter)]
    delimiter: u8,
    /// How values are written: text, hex, base64, u8 ... [default: as the table's are]
    #[arg(long)]
    encoding: Option<Encoding>,
    /// Threads that encode [default: one per core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Afterwards, shrink or remove all but the newest N images [default: keep all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    keep: Option<u16>,
    /// With --keep: of how many epochs at least the rows delta stays
    #[arg(long, value_name = "N", default_value_t = 16, requires = "keep")]
    keep_deltas: u64,
    /// The signing key [default: signing.key in the directory]
    #[arg(long, value_name = "FILE")]
    signing_key: Option<PathBuf>,
}

impl Update {
    pub(crate) fn run(self, screen: Screen) -> Result<()> {
        let dir = TableDir::open(&self.dir).map_err(blame::db)?;
        // Before the lock: a directory without a table should not get one.
        let scheme = dir.open_latest().map_err(blame::db)?.catalog().scheme.clone();
        let entry = sotto_registry::find(&scheme).ok_or_else(|| {
            Failure::new(
                crate::exit::Exit::Params,
                format!("the table's scheme {scheme} is not in this build"),
            )
            .fix("use a build of sotto that carries it")
        })?;
        // A new key could not sign this table's next epoch, and would stand where the lost one belongs.
        let path = self.signing_key.clone().unwrap_or_else(|| self.dir.join(KEY));
        if !path.exists() {
            return Err(Failure::missing(format!("there is no signing key {}", path.display()))
                .fix("give the table's own: clients that know it refuse any other"));
        }
        let key = encode::signing_key(&dir, Some(&path))?;
        let lock = dir.lock().map_err(blame::db)?;
        let columns = self.columns()?;
        let named = columns.iter().flatten().any(|column| matches!(column, Column::Name(_)));
        let options = UpdateOptions {
            file: FileOptions {
                format: self.format,
                delimiter: self.delimiter,
                header: self.header || named,
            },
            columns,
            encoding: self.encoding,
            threads: self.threads,
            key: &key,
        };
        let bars = screen.bars();
        let watch = |at: sotto_db::Progress| bars.at(at.stage, at.done, at.total, Unit::Bytes);
        let done = update_table(entry, &lock, &self.changes, &options, &watch).map_err(blame::db)?;
        let keep =
            self.keep.map(|images| Retention { images: usize::from(images), deltas: self.keep_deltas });
        let retained = keep.map(|keep| retain(&lock, keep, &watch)).transpose().map_err(blame::db)?;
        let stages = bars.finish();
        screen.say(format!("{} ({})\n", done.image.display(), units::bytes(done.image_bytes)))?;
        screen.say(grid::facts(lines(&done, &stages)))?;
        if let Some(retained) = &retained {
            let (shrunk, removed) = (retained.shrunk.len(), retained.removed.len());
            let freed = units::bytes(retained.freed_bytes);
            screen.say(format!("old epochs: {shrunk} shrunk, {removed} removed, {freed} given back"))?;
        }
        screen.say("\nnext: nothing; a running `sotto serve` picks it up by itself")?;
        screen.report(&json!({
            "summary": done,
            "retained": retained,
            "public_key": key.public().to_string(),
            "stages_s": encode::stages_json(&stages),
        }))
    }

    fn columns(&self) -> Result<Option<Vec<Column>>> {
        let given = |columns: [&Option<Column>; 3]| columns.into_iter().flatten().cloned().collect();
        match (&self.row, &self.start, &self.value) {
            (None, None, None) => Ok(None),
            (None, None, Some(_)) => Err(Failure::usage("--value alone does not say which rows")
                .fix("give --row, or --start and --end, as well")),
            (Some(_), ..) => Ok(Some(given([&self.row, &self.value, &None]))),
            _ => Ok(Some(given([&self.start, &self.end, &self.value]))),
        }
    }
}

fn lines(done: &UpdateSummary, stages: &[(String, std::time::Duration)]) -> Vec<(&'static str, String)> {
    let delta = done.delta_bytes.map_or_else(|| "none".to_owned(), units::bytes);
    let mut lines = vec![
        ("epoch", format!("{}, made from {}", done.epoch, done.from_epoch)),
        (
            "rows",
            format!(
                "{} given, {} of them new, in {} records",
                units::count(done.rows_changed),
                units::count(done.rows_appended),
                units::count(done.records_changed)
            ),
        ),
        (
            "clients need",
            format!(
                "{} (delta {delta}; the hint whole is {})",
                units::bytes(done.client_bytes),
                units::bytes(done.artifact_bytes)
            ),
        ),
        ("written anew", format!("{}; the rest was copied", units::bytes(done.written_bytes))),
    ];
    if done.partial_blocks > 0 {
        lines.push((
            "note",
            format!(
                "{} blocks are covered by a range in part only; they change if it covers their first key",
                units::count(done.partial_blocks)
            ),
        ));
    }
    let total = std::time::Duration::from_secs_f64(done.total_seconds.max(0.0));
    lines.push(("time", format!("{} ({})", units::time(total), encode::stages_text(stages))));
    lines
}
