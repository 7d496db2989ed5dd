//! `sotto update`: makes the next epoch from a file of changed rows, and encodes only what changed.

use crate::failure::{Exit, Failure, Result};
use crate::publication::log_line;
use crate::screen::{Report, Screen, grid, units};
use crate::table_summary::{StageSeconds, stage_seconds, took};
use crate::update_args::{NEXT, Update, changes_text, dry_run};
use schemars::JsonSchema;
use serde::Serialize;
use sotto_catalog::{BatchAccess, Stack, TableKind};
use sotto_db::epoch::KEY;
use sotto_db::ingest::FileOptions;
use sotto_db::retention::retain_all;
use sotto_db::update::{StackSummary, read_stack_update, read_update};
use sotto_db::{
    ChangeFile, LogUpdate, PathKind, Retention, RetentionSummary, StackDir, TableDir, UpdateOptions,
    UpdateSummary, WriteLock, retain,
};
use std::time::Duration;

/// The next epoch of a table or stack; `summary` says what was done.
#[derive(Serialize, JsonSchema)]
pub(crate) struct UpdateReport<'a, T> {
    summary: &'a T,
    /// What became of old epochs, if `--keep-epochs` is given.
    retained: Option<&'a RetentionSummary>,
    /// Public key of the publisher.
    public_key: String,
    /// What was added to the publisher's log, if there is one.
    log: Option<LogUpdate>,
    /// Seconds of each stage.
    stages_s: StageSeconds,
}

impl Update {
    pub(crate) fn run(self, screen: Screen) -> Result<Report> {
        let dir = TableDir::open(&self.dir)?;
        let header = match (self.header, self.no_header) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        let stack = match PathKind::of(&self.dir)? {
            PathKind::Foreign(..) => return self.apple(&dir, header, screen),
            PathKind::Stack(stack) => Some(stack),
            _ => None,
        };
        // Before the lock, which a directory without a table should not get.
        let kind = match &stack {
            Some(stack) => stack_kind(&stack.read()?.1),
            None => dir.open_latest()?.catalog().kind.clone(),
        };
        let columns = self.columns(&kind)?;
        // A new key could not sign this table's next epoch, and would take the place of the lost
        // one.
        let path = self.signing_key.clone().unwrap_or_else(|| self.dir.join(KEY));
        if !path.exists() {
            return Err(Failure::missing(format!("no such signing key: {}", path.display()))
                .fix("give the key that signed the table, since clients refuse any other"));
        }
        let key = self.publish.signing_key(&dir, Some(&path))?;
        let lock = dir.lock()?;
        let file = FileOptions { format: self.format, delimiter: self.delimiter, header };
        let (delete, encoding) = (self.delete.clone(), self.encoding);
        let options = UpdateOptions {
            changes: ChangeFile { file, columns, delete, encoding },
            threads: self.threads,
            lifetime: self.publish.given_lifetime(),
            anchor: self.publish.anchor.clone(),
            key: &key,
        };
        match &stack {
            Some(stack) => self.stack(stack, &options, screen),
            None => self.table(&lock, &options, screen),
        }
    }

    fn table(&self, lock: &WriteLock, options: &UpdateOptions<'_>, screen: Screen) -> Result<Report> {
        let scheme = lock.dir().open_latest()?.catalog().scheme.clone();
        let entry = sotto_registry::find(&scheme).ok_or_else(|| {
            Failure::new(Exit::Params, format!("scheme {scheme} of the table is not in this build"))
                .fix("use a build of sotto that has the scheme")
        })?;
        let bars = screen.bars();
        let watch = |at: sotto_db::Progress| bars.watch(None, at);
        let update = read_update(entry, lock, self.changes.as_deref(), options, &watch)?;
        self.announce(update.tally(), &update.remarks(), screen)?;
        if self.dry_run {
            return Ok(dry_run(update.tally()));
        }
        let done = update.apply(&watch)?;
        let retained = self.retention().map(|retention| retain(lock, retention, &watch)).transpose()?;
        let stages = bars.finish();
        let image = format!("{} ({})\n", done.image.display(), units::bytes(done.image_bytes));
        let text = vec![image, grid::facts(lines(&done, &stages))];
        self.end(text, &done, retained.as_ref(), options, &stages)
    }

    /// Updates a stack: each table that changes, and then the stack itself.
    fn stack(&self, dir: &StackDir, options: &UpdateOptions<'_>, screen: Screen) -> Result<Report> {
        let bars = screen.bars();
        let watch = |at: sotto_db::Progress| bars.watch(None, at);
        let update = read_stack_update(sotto_registry::find, dir, self.changes.as_deref(), options, &watch);
        let update = update?;
        self.announce(update.tally(), &update.remarks(), screen)?;
        if self.dry_run {
            return Ok(dry_run(update.tally()));
        }
        let done = update.apply(&watch)?;
        let retained = self.retention().map(|retention| retain_all(dir, retention, &watch)).transpose()?;
        let stages = bars.finish();
        self.end(vec![grid::facts(stack_lines(&done, &stages))], &done, retained.as_ref(), options, &stages)
    }

    /// Writes the log, and reports the fate of old epochs, the next steps and the result.
    fn end(
        &self,
        mut text: Vec<String>,
        summary: &(impl Serialize + JsonSchema),
        retained: Option<&RetentionSummary>,
        options: &UpdateOptions<'_>,
        stages: &[(String, Duration)],
    ) -> Result<Report> {
        if let Some(RetentionSummary { shrunk, removed, freed_bytes, .. }) = retained {
            let (shrunk, removed, freed) = (shrunk.len(), removed.len(), units::bytes(*freed_bytes));
            text.push(format!("old epochs: {shrunk} shrunk, {removed} removed, {freed} freed"));
        }
        let log = self.publish.write(&self.dir, options.key)?;
        text.extend(log.as_ref().map(log_line));
        text.push(NEXT.to_owned());
        let (public_key, stages_s) = (options.key.public().to_string(), stage_seconds(stages));
        let json = UpdateReport { summary, retained, public_key, log, stages_s };
        Ok(Report::new(text.join("\n"), &json))
    }

    fn retention(&self) -> Option<Retention> {
        self.keep_epochs.map(|images| Retention { images: usize::from(images), deltas: self.keep_deltas })
    }
}

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
        lines.insert(1, ("keys", changes_text(keys)));
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
