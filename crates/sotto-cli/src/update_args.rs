//! The arguments of `sotto update`, and what it says of the changes, for tables of every kind.

use crate::failure::{Failure, Result};
use crate::publication::PublishArgs;
use crate::screen::{Report, Screen, units};
use crate::source_args::delimiter;
use schemars::JsonSchema;
use serde::Serialize;
use sotto_catalog::TableKind;
use sotto_db::ingest::{ColumnSelector, Encoding, SourceFormat};
use sotto_db::update::ChangeCounts;
use std::path::PathBuf;

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
  sotto update tables/notes --anchor mainnet:2500001
  sotto update tables/blocked today.csv --key domain --value verdict --delete gone";

/// Arguments of `sotto update`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Update {
    /// Directory of the table or stack
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// File of changed rows: CSV, JSON lines or Parquet; .gz and .zst are decompressed. It may be
    /// omitted with --anchor, and the next epoch then has the same rows
    #[arg(value_name = "CHANGES", required_unless_present = "anchor")]
    pub(crate) changes: Option<PathBuf>,
    /// Column of row numbers [default: `row`, or the first]
    #[arg(long, value_name = "COL", requires = "value", conflicts_with_all = ["start", "end"])]
    pub(crate) row: Option<ColumnSelector>,
    /// Keyword tables: column of keys [default: as in encoding, or the first]
    #[arg(long, value_name = "COL", conflicts_with_all = ["row", "start", "end"])]
    pub(crate) key: Option<ColumnSelector>,
    /// Keyword tables: column that marks keys to remove, with 1, true, yes or delete; otherwise 0,
    /// false, no or empty
    #[arg(long, value_name = "COL")]
    pub(crate) delete: Option<ColumnSelector>,
    /// Range tables: column of first keys [default: as in encoding, or the first]
    #[arg(long, value_name = "COL", requires = "value")]
    pub(crate) start: Option<ColumnSelector>,
    /// Range tables: column of last keys [default: as in encoding, or the second]
    #[arg(long, value_name = "COL", requires_all = ["start", "value"])]
    pub(crate) end: Option<ColumnSelector>,
    /// Column of values [default: as in encoding, or the next one]
    #[arg(long, value_name = "COL")]
    pub(crate) value: Option<ColumnSelector>,
    /// Format of the file: csv, jsonl or parquet [default: by its name]
    #[arg(long)]
    pub(crate) format: Option<SourceFormat>,
    /// The first line of the CSV file names the columns; implied if an option or the first line has
    /// a column's name
    #[arg(long, conflicts_with = "no_header")]
    pub(crate) header: bool,
    /// The first line of the CSV file is data
    #[arg(long)]
    pub(crate) no_header: bool,
    /// Print what would change, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Delimiter of a CSV file; \t for a tab [default: a tab for .tsv, else a comma]
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    pub(crate) delimiter: Option<u8>,
    /// Encoding of values in the file: text, hex, base64, u8 ... [default: the table's]
    #[arg(long)]
    pub(crate) encoding: Option<Encoding>,
    /// Threads for encoding [default: one per core]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Number of newest images to keep; older ones are shrunk or removed [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) keep_epochs: Option<u16>,
    /// With --keep-epochs: minimum number of epochs whose rows delta is kept
    #[arg(long, value_name = "N", default_value_t = 16, requires = "keep_epochs")]
    pub(crate) keep_deltas: u64,
    /// File of the signing key [default: signing.key in the directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) signing_key: Option<PathBuf>,
    /// Tables of Apple's lookups: accept a parameter set of less than 128 bits of security
    #[arg(long)]
    pub(crate) allow_insecure_params: bool,
    #[command(flatten)]
    pub(crate) publish: PublishArgs,
}

impl Update {
    /// The columns that the arguments name, in the order in which changes are read.
    pub(crate) fn columns(&self, kind: &TableKind) -> Result<Option<Vec<ColumnSelector>>> {
        let named = |columns: [&Option<ColumnSelector>; 3]| columns.into_iter().flatten().cloned().collect();
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
            _ if has_keys => Ok(Some(named([&self.key, &self.value, &None]))),
            (None, None, Some(_)) => Err(Failure::usage("--value needs the column of rows")
                .fix("give --row, or --start and --end, too")),
            (Some(_), ..) => Ok(Some(named([&self.row, &self.value, &None]))),
            _ => Ok(Some(named([
                &self.start,
                if self.end.is_some() { &self.end } else { &self.start },
                &self.value,
            ]))),
        }
    }

    /// Prints what will change.
    pub(crate) fn announce(&self, tally: ChangeCounts, remarks: &[String], screen: Screen) -> Result<()> {
        screen.print_text(changes_text(&tally))?;
        remarks.iter().try_for_each(|note| screen.print_text(format!("note: {note}")))
    }
}

/// The report of a dry run.
pub(crate) fn dry_run(tally: ChangeCounts) -> Report {
    Report::new("nothing written (--dry-run)", &DryRunReport { dry_run: true, changes: tally })
}

/// Changes that were counted and not written.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DryRunReport {
    /// Always true.
    dry_run: bool,
    changes: ChangeCounts,
}

/// The next step, which is printed last.
pub(crate) const NEXT: &str = "\na running `sotto serve` loads it by itself";

/// The changes to rows or keys, in words.
pub(crate) fn changes_text(tally: &ChangeCounts) -> String {
    let ChangeCounts { set, added, removed, absent } = tally;
    let (set, added, removed) = (units::count(*set), units::count(*added), units::count(*removed));
    let mut text = format!("{set} set, {added} added, {removed} removed");
    if *absent > 0 {
        text += &format!("; keys to remove that are missing: {}", units::count(*absent));
    }
    text
}
