//! An update of a table of Apple's lookups.

use crate::failure::{Failure, Result};
use crate::screen::{Report, Screen, grid, units};
use crate::table_summary::{stages_json, took};
use crate::update_args::{NEXT, Update, dry_run};
use serde_json::json;
use sotto_apple::image::update::remove_older;
use sotto_apple::image::{PreviousEpoch, UseCaseKind, UseCaseSummary};
use sotto_apple::sets::WeakParams;
use sotto_catalog::{RowForm, TableKind, ValueKind};
use sotto_db::ingest::FileOptions;
use sotto_db::update::{ChangeFile, IndexTable, KeyedTable, read_keys, read_rows};
use sotto_db::{Progress, TableDir, WriteLock};
use std::time::Instant;

/// Text that is printed first, since the update takes longer, and clients notice it.
const REENCODED: &str = "\
the rows do not fit: the whole table is encoded again, larger, and clients fetch its configuration again";

impl Update {
    pub(crate) fn apple(&self, dir: &TableDir, header: Option<bool>, screen: Screen) -> Result<Report> {
        if self.signing_key.is_some() || self.publish.is_given() {
            return Err(Failure::usage(
                "--signing-key, --expires and --catalog-log do not apply to a table of Apple's lookups",
            )
            .fix("omit them"));
        }
        let began = Instant::now();
        let lock = dir.lock()?;
        let weak = if self.allow_insecure_params { WeakParams::Allow } else { WeakParams::Reject };
        let before = PreviousEpoch::open(&lock, weak)?;
        let from = before.description().clone();
        let bars = screen.bars();
        let watch = |at: Progress| bars.watch(None, at);
        let (update, remarks) = self.read_apple(&lock, before, header, &watch)?;
        if update.is_nothing() {
            let error = sotto_db::DbError::NoChanges { path: self.changes.clone() };
            return Err(Failure::from(error));
        }
        let (tally, is_reencoded) = (update.tally(), update.is_anew());
        if is_reencoded {
            screen.say(REENCODED)?;
        }
        self.announce(tally, &remarks, screen)?;
        if self.dry_run {
            return Ok(dry_run(tally));
        }
        let done = sotto_db::encode::in_pool(self.threads, || update.apply(&watch));
        let (written, plaintexts) = done??;
        let keep = self.keep_epochs.map(|keep| remove_older(&lock, keep.into()));
        let (removed, freed) = keep.transpose()?.unwrap_or_default();
        let stages = bars.finish();
        let UseCaseSummary { path, file_bytes, description, .. } = &written;
        let all: u64 = description
            .shards
            .iter()
            .map(|shard| shard.dimensions.iter().product::<u64>() * description.kind.tables() as u64)
            .sum();
        let configuration = if is_reencoded { "new: clients fetch it again" } else { "unchanged" };
        let facts = grid::facts([
            ("use case", description.name.clone()),
            ("epoch", format!("{}, from {}", description.epoch, from.epoch)),
            ("rows", units::count(description.rows())),
            ("encoded", format!("{} of {} plaintexts", units::count(plaintexts), units::count(all))),
            ("configuration", configuration.to_owned()),
            ("time", took(began.elapsed().as_secs_f64(), &stages)),
        ]);
        let mut text = format!("{} ({})\n\n{facts}\n", path.display(), units::bytes(*file_bytes));
        if removed > 0 {
            text += &format!("old epochs: {removed} removed, {} freed\n", units::bytes(freed));
        }
        let json = json!({
            "summary": {
                "image": path,
                "image_bytes": file_bytes,
                "epoch": description.epoch,
                "from_epoch": from.epoch,
                "changes": tally,
                "reencoded": is_reencoded,
                "plaintexts": plaintexts,
                "description": description,
            },
            "removed": removed,
            "stages_s": stages_json(&stages),
            "seconds": began.elapsed().as_secs_f64(),
        });
        Ok(Report::new(text + NEXT, &json))
    }

    /// Reads the file of changes, by keys or by row numbers, and remarks for its owner.
    fn read_apple<'a>(
        &self,
        lock: &WriteLock,
        before: PreviousEpoch<'a>,
        header: Option<bool>,
        watch: sotto_db::Watcher<'_>,
    ) -> Result<(sotto_apple::image::UseCaseUpdate<'a>, Vec<String>)> {
        let description = before.description().clone();
        let origin = lock.dir().origin()?;
        let kind = match description.kind {
            UseCaseKind::Keyword { .. } => TableKind::Keyword,
            UseCaseKind::Index | UseCaseKind::IndexWithLengths => TableKind::Index,
        };
        let file = ChangeFile {
            file: FileOptions { format: self.format, delimiter: self.delimiter, header },
            columns: self.columns(&kind)?,
            delete: self.delete.clone(),
            encoding: self.encoding,
        };
        let UseCaseKind::Keyword { form, .. } = description.kind else {
            let (rows, row_bytes) =
                description.shards.first().map_or((0, 0), |shard| (shard.entries, shard.entry_bytes));
            let form = match description.kind.row_form(row_bytes) {
                Some(RowForm::Whole) | None if description.value == ValueKind::Text => RowForm::Text,
                form => form.unwrap_or(RowForm::Whole),
            };
            let table = IndexTable { value: description.value, form, rows, row_bytes };
            let rows = read_rows(&self.changes, &file, origin.as_ref(), table, watch);
            let rows = rows?;
            let update = before.change_rows(padded(rows, row_bytes))?;
            return Ok((update, Vec::new()));
        };
        let is_set = description.value == ValueKind::Bytes && description.value_bytes == 0;
        let keyed = KeyedTable {
            form,
            key_bytes: form.max_bytes(),
            value: (!is_set).then_some(description.value),
            value_bytes: description.value_bytes,
        };
        let read = read_keys(&self.changes, &file, origin.as_ref(), keyed, watch)?;
        let remarks = read.notes.remarks();
        let changes = read.lines.into_iter().map(|(key, line)| (key.to_vec(), line.value)).collect();
        let update = sotto_db::encode::in_pool(self.threads, || before.change_keys(changes));
        Ok((update??, remarks))
    }
}

/// Pads shorter rows with zeros.
fn padded(
    mut rows: std::collections::BTreeMap<u64, Vec<u8>>,
    row_bytes: u64,
) -> std::collections::BTreeMap<u64, Vec<u8>> {
    rows.values_mut().for_each(|row| row.resize(row_bytes as usize, 0));
    rows
}
