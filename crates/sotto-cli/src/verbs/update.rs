//! `sotto update`: makes the next epoch from a file of changed rows, and encodes only what changed.

mod apple;

use super::encode::{self, source};
use super::publish_args::PublishArgs;
use crate::exit_mapping;
use crate::failure::{Failure, Result};
use crate::screen::{Screen, grid, units};
use serde::Serialize;
use serde_json::json;
use sotto_catalog::{BatchAccess, Stack, TableKind};
use sotto_db::epoch::KEY;
use sotto_db::ingest::{ColumnSelector, Encoding, FileOptions, SourceFormat};
use sotto_db::retention::retain_all;
use sotto_db::update::{ChangeCounts, StackSummary, read_stack_update, read_update};
use sotto_db::{
    PathKind, Retention, RetentionSummary, StackDir, TableDir, UpdateOptions, UpdateSummary, WriteLock,
    retain,
};
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLE: &str = "\
The file has two columns, row number and new value; for range tables three, first key, last key and value; \
for keyword tables key and value. Columns are found by the names that they had when the table was encoded \
(in source.json of the directory), else by the names row, start, end, key and value, or in a CSV file \
without a header by position. A CSV file whose first line could be a header or data is refused until \
--header or --no-header is given.

A summary is printed before anything is written: 3 set, 1 added, 0 removed. --dry-run stops there.

Rows past the end are appended as long as the table has headroom (`sotto encode --headroom`). A running \
`sotto serve` loads the new epoch by itself and keeps the previous one live; clients fetch a delta instead \
of the complete hint. A client that has the old hint can infer something about the changed rows from the \
delta: the scheme's README says what.

Keyword tables: a key that the table has gets the new value, and any other key is added as long as there \
is headroom. A key is removed if its value is null (JSON lines and Parquet) or if the column of --delete \
says so (CSV, which has no null). The rows of the newest epoch are stored in the directory for this \
(epoch-N.rows); they are not served.

A range may cover a part of a block, which holds one value. As in encoding (--block-value), the block \
changes if its first key does, or if the new value has most of its keys; keys outside the range count with \
the block's present value.

A table of Apple's lookups (`sotto encode --apple`) is updated in the same way, from its newest epoch. \
Only what changed is encoded again. If rows do not fit, the whole table is encoded again, which is \
announced before.

A stack (`sotto encode --batch`) is updated like a table: each of its tables that changes gets its next \
epoch, and the stack that names them is written last, so that clients see the complete update or none of it.

Old epochs stay in the directory unless --keep-epochs is given; a server needs the two newest. A shrunk \
epoch has only its catalog and rows delta (epoch-N.delta), for clients with state that missed it.

Example:
  sotto update tables/words today.csv
  sotto update tables/words today.csv --row number --value meaning
  sotto update tables/blocked today.csv --dry-run
  sotto update tables/blocked today.csv --key domain --value verdict --delete gone";

/// Arguments of `sotto update`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Update {
    /// Directory of the table or stack
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// File of changed rows: CSV, JSON lines or Parquet; .gz and .zst are decompressed
    #[arg(value_name = "CHANGES")]
    changes: PathBuf,
    /// Column of row numbers [default: `row`, or the first]
    #[arg(long, value_name = "COL", requires = "value", conflicts_with_all = ["start", "end"])]
    row: Option<ColumnSelector>,
    /// Keyword tables: column of keys [default: as in encoding, or the first]
    #[arg(long, value_name = "COL", conflicts_with_all = ["row", "start", "end"])]
    key: Option<ColumnSelector>,
    /// Keyword tables: column that marks keys to remove, with 1, true, yes or delete; otherwise 0,
    /// false, no or empty
    #[arg(long, value_name = "COL")]
    delete: Option<ColumnSelector>,
    /// Range tables: column of first keys [default: as in encoding, or the first]
    #[arg(long, value_name = "COL", requires = "value")]
    start: Option<ColumnSelector>,
    /// Range tables: column of last keys [default: as in encoding, or the second]
    #[arg(long, value_name = "COL", requires_all = ["start", "value"])]
    end: Option<ColumnSelector>,
    /// Column of values [default: as in encoding, or the next one]
    #[arg(long, value_name = "COL")]
    value: Option<ColumnSelector>,
    /// Format of the file: csv, jsonl or parquet [default: by its name]
    #[arg(long)]
    format: Option<SourceFormat>,
    /// The first line of the CSV file names the columns; implied if an option or the first line has
    /// a column's name
    #[arg(long, conflicts_with = "no_header")]
    header: bool,
    /// The first line of the CSV file is data
    #[arg(long)]
    no_header: bool,
    /// Print what would change, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Delimiter of a CSV file; \t for a tab [default: a tab for .tsv, else a comma]
    #[arg(long, value_name = "CHAR", value_parser = source::delimiter)]
    delimiter: Option<u8>,
    /// Encoding of values in the file: text, hex, base64, u8 ... [default: the table's]
    #[arg(long)]
    encoding: Option<Encoding>,
    /// Threads for encoding [default: one per core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Number of newest images to keep; older ones are shrunk or removed [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    keep_epochs: Option<u16>,
    /// With --keep-epochs: minimum number of epochs whose rows delta is kept
    #[arg(long, value_name = "N", default_value_t = 16, requires = "keep_epochs")]
    keep_deltas: u64,
    /// File of the signing key [default: signing.key in the directory]
    #[arg(long, value_name = "FILE")]
    signing_key: Option<PathBuf>,
    /// Tables of Apple's lookups: accept a parameter set of less than 128 bits of security
    #[arg(long)]
    allow_insecure_params: bool,
    #[command(flatten)]
    openly: PublishArgs,
}

impl Update {
    pub(crate) fn run(self, screen: Screen) -> Result<()> {
        let dir = TableDir::open(&self.dir).map_err(exit_mapping::db)?;
        let header = match (self.header, self.no_header) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        let stack = match PathKind::of(&self.dir).map_err(exit_mapping::db)? {
            PathKind::Foreign(..) => return self.apple(&dir, header, screen),
            PathKind::Stack(stack) => Some(stack),
            _ => None,
        };
        // Before the lock, which a directory without a table should not get.
        let kind = match &stack {
            Some(stack) => stack_kind(&stack.read().map_err(exit_mapping::db)?.1),
            None => dir.open_latest().map_err(exit_mapping::db)?.catalog().kind.clone(),
        };
        let columns = self.columns(&kind)?;
        // A new key could not sign this table's next epoch, and would take the place of the lost
        // one.
        let path = self.signing_key.clone().unwrap_or_else(|| self.dir.join(KEY));
        if !path.exists() {
            return Err(Failure::missing(format!("no such signing key: {}", path.display()))
                .fix("give the key that signed the table, since clients refuse any other"));
        }
        let key = encode::signing_key(&dir, Some(&path))?;
        let lock = dir.lock().map_err(exit_mapping::db)?;
        let options = UpdateOptions {
            file: FileOptions { format: self.format, delimiter: self.delimiter, header },
            columns,
            delete: self.delete.clone(),
            encoding: self.encoding,
            threads: self.threads,
            lifetime: self.openly.asked(),
            key: &key,
        };
        match &stack {
            Some(stack) => self.stack(stack, &options, screen),
            None => self.table(&lock, &options, screen),
        }
    }

    fn table(&self, lock: &WriteLock, options: &UpdateOptions<'_>, screen: Screen) -> Result<()> {
        let scheme = lock.dir().open_latest().map_err(exit_mapping::db)?.catalog().scheme.clone();
        let entry = sotto_registry::find(&scheme).ok_or_else(|| {
            Failure::new(
                crate::exit::Exit::Params,
                format!("scheme {scheme} of the table is not in this build"),
            )
            .fix("use a build of sotto that has the scheme")
        })?;
        let bars = screen.bars();
        let watch = |at: sotto_db::Progress| bars.watch(None, at);
        let update = read_update(entry, lock, &self.changes, options, &watch).map_err(exit_mapping::db)?;
        if self.ends_here(update.tally(), &update.remarks(), screen)? {
            return Ok(());
        }
        let done = update.apply(&watch).map_err(exit_mapping::db)?;
        let retained =
            self.keep().map(|keep| retain(lock, keep, &watch)).transpose().map_err(exit_mapping::db)?;
        let stages = bars.finish();
        screen.say(format!("{} ({})\n", done.image.display(), units::bytes(done.image_bytes)))?;
        screen.say(grid::facts(lines(&done, &stages)))?;
        self.end(&done, retained.as_ref(), options, &stages, screen)
    }

    /// Updates a stack: each table that changes, and then the stack itself.
    fn stack(&self, dir: &StackDir, options: &UpdateOptions<'_>, screen: Screen) -> Result<()> {
        let bars = screen.bars();
        let watch = |at: sotto_db::Progress| bars.watch(None, at);
        let update = read_stack_update(sotto_registry::find, dir, &self.changes, options, &watch);
        let update = update.map_err(exit_mapping::db)?;
        if self.ends_here(update.tally(), &update.remarks(), screen)? {
            return Ok(());
        }
        let done = update.apply(&watch).map_err(exit_mapping::db)?;
        let retained =
            self.keep().map(|keep| retain_all(dir, keep, &watch)).transpose().map_err(exit_mapping::db)?;
        let stages = bars.finish();
        screen.say(grid::facts(stack_lines(&done, &stages)))?;
        self.end(&done, retained.as_ref(), options, &stages, screen)
    }

    /// Reports the fate of old epochs, writes the log, and prints the next steps and the result.
    fn end(
        &self,
        done: &impl Serialize,
        retained: Option<&RetentionSummary>,
        options: &UpdateOptions<'_>,
        stages: &[(String, Duration)],
        screen: Screen,
    ) -> Result<()> {
        if let Some(RetentionSummary { shrunk, removed, freed_bytes, .. }) = retained {
            let (shrunk, removed, freed) = (shrunk.len(), removed.len(), units::bytes(*freed_bytes));
            screen.say(format!("old epochs: {shrunk} shrunk, {removed} removed, {freed} freed"))?;
        }
        let log = self.openly.write(&self.dir, options.key, screen)?;
        screen.say(NEXT)?;
        screen.report(&json!({
            "summary": done,
            "retained": retained,
            "public_key": options.key.public().to_string(),
            "log": log,
            "stages_s": encode::stages_json(stages),
        }))
    }

    fn keep(&self) -> Option<Retention> {
        self.keep_epochs.map(|images| Retention { images: usize::from(images), deltas: self.keep_deltas })
    }

    /// Prints what will change, and returns whether only that was requested.
    fn ends_here(&self, tally: ChangeCounts, remarks: &[String], screen: Screen) -> Result<bool> {
        screen.say(said(&tally))?;
        for note in remarks {
            screen.say(format!("note: {note}"))?;
        }
        if self.dry_run {
            screen.say("nothing written (--dry-run)")?;
            screen.report(&json!({ "dry_run": true, "changes": tally }))?;
        }
        Ok(self.dry_run)
    }

    fn columns(&self, kind: &TableKind) -> Result<Option<Vec<ColumnSelector>>> {
        let given = |columns: [&Option<ColumnSelector>; 3]| columns.into_iter().flatten().cloned().collect();
        let has_keys = *kind == TableKind::Keyword;
        match (&self.row, &self.start, &self.value) {
            _ if !has_keys && (self.key.is_some() || self.delete.is_some()) => {
                Err(Failure::usage("--key and --delete apply to keyword tables only")
                    .fix("give --row, or --start and --end"))
            }
            (row, start, _) if has_keys && (row.is_some() || start.is_some()) => {
                Err(Failure::usage("--row, --start and --end do not apply to a keyword table")
                    .fix("give --key"))
            }
            (None, None, None) if self.key.is_none() => Ok(None),
            (None, None, Some(_)) if has_keys && self.key.is_none() => {
                Err(Failure::usage("--value needs the column of keys").fix("give --key too"))
            }
            _ if has_keys => Ok(Some(given([&self.key, &self.value, &None]))),
            (None, None, Some(_)) => Err(Failure::usage("--value needs the column of rows")
                .fix("give --row, or --start and --end, too")),
            (Some(_), ..) => Ok(Some(given([&self.row, &self.value, &None]))),
            _ => Ok(Some(given([
                &self.start,
                if self.end.is_some() { &self.end } else { &self.start },
                &self.value,
            ]))),
        }
    }
}

const NEXT: &str = "\na running `sotto serve` loads it by itself";

/// The kind of lookups in a stack.
fn stack_kind(stack: &Stack) -> TableKind {
    match BatchAccess::of(stack) {
        Ok(Some(BatchAccess::Keys(_))) => TableKind::Keyword,
        Ok(Some(BatchAccess::Rows { kind, .. })) => kind,
        // Reading the stack reports what is wrong.
        _ => TableKind::Index,
    }
}

fn stack_lines(done: &StackSummary, stages: &[(String, Duration)]) -> Vec<(&'static str, String)> {
    let (changed, tables) = (done.tables_changed, done.tables);
    let mut lines = vec![
        ("epoch", format!("{}, from {}", done.epoch, done.from_epoch)),
        ("rows", format!("{} changed, in {changed} of {tables} tables", units::count(done.rows_changed))),
        ("clients fetch", clients_need(done.client_bytes, done.artifact_bytes)),
        ("written", format!("{}; the rest was copied", units::bytes(done.written_bytes))),
    ];
    if done.stored_rows_bytes > 0 {
        lines.push((
            "stored",
            format!("{} of rows, for the next update", units::bytes(done.stored_rows_bytes)),
        ));
    }
    lines.push(("time", took(done.total_seconds, stages)));
    lines
}

fn clients_need(bytes: u64, whole: u64) -> String {
    match whole {
        0 => "nothing: the scheme has no hint".to_owned(),
        _ => format!("{} (complete hints: {})", units::bytes(bytes), units::bytes(whole)),
    }
}

fn took(seconds: f64, stages: &[(String, Duration)]) -> String {
    let total = Duration::from_secs_f64(seconds.max(0.0));
    format!("{} ({})", units::time(total), encode::stages_text(stages))
}

fn written_anew(done: &UpdateSummary) -> String {
    let bytes = units::bytes(done.written_bytes);
    match done.reencoded {
        true => format!("{bytes}, all of it with a new mask, since many rows changed"),
        false => format!("{bytes}; the rest was copied"),
    }
}

fn lines(done: &UpdateSummary, stages: &[(String, Duration)]) -> Vec<(&'static str, String)> {
    let delta = done.delta_bytes.map_or_else(|| "none".to_owned(), units::bytes);
    let mut lines = vec![
        ("epoch", format!("{}, from {}", done.epoch, done.from_epoch)),
        ("rows", rows(done)),
        (
            "clients fetch",
            format!(
                "{} (delta {delta}; complete hint: {})",
                units::bytes(done.client_bytes),
                units::bytes(done.artifact_bytes)
            ),
        ),
        ("written", written_anew(done)),
    ];
    if let Some(keys) = &done.keys {
        lines.insert(1, ("keys", said(keys)));
        lines.push((
            "stored",
            format!("{} of rows, for the next update", units::bytes(done.stored_rows_bytes)),
        ));
    }
    lines.push(("time", took(done.total_seconds, stages)));
    lines
}

fn rows(done: &UpdateSummary) -> String {
    let records = units::count(done.records_changed);
    match done.keys {
        Some(_) => format!("{} changed, in {records} records", units::count(done.rows_changed)),
        None => format!(
            "{} given, {} new, in {records} records",
            units::count(done.rows_changed),
            units::count(done.rows_appended)
        ),
    }
}

/// The changes to rows or keys, in words.
fn said(tally: &ChangeCounts) -> String {
    let ChangeCounts { set, added, removed, absent } = tally;
    let (set, added, removed) = (units::count(*set), units::count(*added), units::count(*removed));
    let mut said = format!("{set} set, {added} added, {removed} removed");
    if *absent > 0 {
        said += &format!("; keys to remove that are missing: {}", units::count(*absent));
    }
    said
}
