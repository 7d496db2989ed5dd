//! Encoding rows to an image: the very file that a server maps, written by the same writer. Times of
//! the stages come from the progress that an encoder reports anyway.

use crate::error::BenchError;
use crate::machine::{PeakMemory, Reader};
use crate::options::{Progress, Watcher};
use crate::plan::PreparedCase;
use crate::report::{EncodeStage, OfflineCost};
use crate::timing::ms;
use sotto_catalog::{
    ArtifactEntry, Catalog, CatalogError, Hex32, Packing, RowsRoot, SignedCatalog, SigningKey, TableKind,
    TableNameError, ValueKind, catalog,
};
use sotto_core::{Epoch, Misuse, RecordSource, Result};
use sotto_db::{DbError, ImageFile, ImageWriter};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A finished and opened image.
pub(super) struct EncodedLine {
    pub(super) image: Arc<ImageFile>,
    pub(super) offline: OfflineCost,
}

pub(super) fn encode(
    plan: &PreparedCase<'_>,
    fill: Filler<'_>,
    folder: &Path,
    watcher: Watcher<'_>,
) -> Result<EncodedLine, BenchError> {
    let image_fault = |why| BenchError::Image { case: plan.label.clone(), why: Box::new(why) };
    let path = folder.join("table.sotto");
    let reader = Reader::new(plan.threads)?;
    let rows = Records { fill, packing: plan.packing, nanos: AtomicU64::new(0) };

    let peak = PeakMemory::watch();
    let start = Instant::now();
    let clock = StageClock::start(&plan.label, watcher);
    let report = |p: sotto_db::Progress| clock.report(p.stage, p.done, p.total);
    let mut writer = ImageWriter::create(&path, &report).map_err(image_fault)?;
    let encoding = Instant::now();
    reader
        .install(|| (plan.entry.server.encode)(&plan.params, &rows, &writer))
        .map_err(plan.failed("encoding"))?;
    let generating_s = rows.nanos.load(Ordering::Relaxed) as f64 / 1e9;
    let scheme_s = (encoding.elapsed().as_secs_f64() - generating_s / plan.threads as f64).max(0.0);
    let artifacts = reader.install(|| writer.digest(None)).map_err(image_fault)?;
    let signed = sign(plan, Epoch(1), artifacts)?;
    writer.finish(&signed).map_err(image_fault)?;
    let total = start.elapsed();
    let stages = clock.stop();
    let peak_memory_bytes = peak.growth();

    let start = Instant::now();
    let image = ImageFile::open(&path).map_err(image_fault)?;
    let open_ms = ms(start.elapsed());
    image.warm();
    let offline = OfflineCost {
        total_s: total.as_secs_f64(),
        stages,
        scheme_s,
        scheme_per_gib_s: scheme_s * (1u64 << 30) as f64 / plan.table.table_bytes.max(1) as f64,
        generating_s,
        image_bytes: std::fs::metadata(&path)?.len(),
        peak_memory_bytes,
        open_ms,
    };
    Ok(EncodedLine { image, offline })
}

/// Signs a catalog with a key that is dropped: only this process reads the image.
pub(super) fn sign(
    plan: &PreparedCase<'_>,
    epoch: Epoch,
    artifacts: Vec<ArtifactEntry>,
) -> Result<SignedCatalog, BenchError> {
    let refuse = |why: CatalogError| BenchError::Image {
        case: plan.label.clone(),
        why: Box::new(DbError::Catalog(why)),
    };
    let mut rng = sotto_prg::system_rng()?;
    let catalog = Catalog {
        format: catalog::FORMAT.to_owned(),
        table: "bench".parse().map_err(|error: TableNameError| refuse(error.into()))?,
        epoch,
        kind: TableKind::Index,
        value: ValueKind::Bytes,
        rows: plan.packing.rows(),
        row_bytes: plan.packing.row_bytes(),
        scheme: plan.entry.id.to_string(),
        params: plan.literal(),
        params_digest: plan.report.digest.into(),
        servers: plan.entry.servers as u32,
        artifacts,
        rows_digest: None,
        rows_root: RowsRoot { root: Hex32::from([0; 32]), leaf_rows: 1, path: None },
        layers: Vec::new(),
        sidecar: None,
        anchor: None,
        attribution: None,
        created: 0,
        expires: None,
    };
    SignedCatalog::sign(&catalog, &SigningKey::generate(&mut rng)).map_err(refuse)
}

/// A clock with a total for each stage.
pub(super) struct StageClock<'a> {
    case: &'a str,
    watcher: Watcher<'a>,
    totals: Mutex<StageTotals>,
}

struct StageTotals {
    current: Option<&'static str>,
    timer: StepTimer,
}

impl<'a> StageClock<'a> {
    pub(super) fn start(case: &'a str, watcher: Watcher<'a>) -> Self {
        let totals = StageTotals { current: None, timer: StepTimer::start() };
        StageClock { case, watcher, totals: Mutex::new(totals) }
    }

    /// Work is reported when it is done, so the time since the last report belongs to the stage that reports;
    /// except that a stage at 0 is only announced, and the time before it belongs to the one that ended.
    pub(super) fn report(&self, stage: &'static str, done: u64, total: u64) {
        let mut totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        let worked = if done == 0 { totals.current.unwrap_or(stage) } else { stage };
        totals.timer.done(worked);
        totals.current = Some(stage);
        drop(totals);
        (self.watcher)(Progress { case: self.case, step: stage, done, total });
    }

    /// Ends the last stage, and returns all of them, in order.
    pub(super) fn stop(&self) -> Vec<EncodeStage> {
        let mut totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stage) = totals.current {
            totals.timer.done(stage);
        }
        let stages = totals.timer.steps.iter();
        stages
            .map(|(name, spent)| EncodeStage { name: (*name).to_owned(), total_s: spent.as_secs_f64() })
            .collect()
    }
}

/// A timer for steps: the time since the last step was done belongs to the next one.
pub(super) struct StepTimer {
    last: Instant,
    pub(super) steps: Vec<(&'static str, Duration)>,
}

impl StepTimer {
    pub(super) fn start() -> Self {
        StepTimer { last: Instant::now(), steps: Vec::new() }
    }

    pub(super) fn done(&mut self, step: &'static str) {
        let now = Instant::now();
        let spent = now.saturating_duration_since(self.last);
        self.last = now;
        self.add_time(step, spent);
    }

    /// Adds the steps of another query of the same lookup.
    pub(super) fn add(&mut self, other: &StepTimer) {
        other.steps.iter().for_each(|(step, spent)| self.add_time(step, *spent));
    }

    fn add_time(&mut self, step: &'static str, spent: Duration) {
        match self.steps.iter_mut().find(|(name, _)| *name == step) {
            Some((_, sum)) => *sum += spent,
            None => self.steps.push((step, spent)),
        }
    }
}

/// Reads the bytes of a table from a place on; zeroes past the end.
pub(super) type Filler<'a> = &'a (dyn Fn(u64, &mut [u8]) + Sync);

/// The records of a table.
struct Records<'a> {
    fill: Filler<'a>,
    packing: Packing,
    /// Time that filling took so far, summed over threads.
    nanos: AtomicU64,
}

impl Records<'_> {
    fn fill(&self, at: u64, out: &mut [u8]) {
        let start = Instant::now();
        (self.fill)(at, out);
        self.nanos.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }

    /// The start of a record in the table's bytes, and the number of them that it holds.
    ///
    /// [`Packing`] puts rows into records in order, so a record holds consecutive bytes of the
    /// table. The checks of every answer use [`Packing`] itself: if the two disagreed, no run would
    /// pass.
    fn extent(&self, record: u64) -> (u64, usize) {
        let (width, size) = (self.packing.row_bytes(), self.packing.record_bytes());
        let parts = self.packing.records_per_row() as u64;
        if parts == 1 {
            let rows = self.packing.rows_per_record();
            return (record * rows * width, (rows * width) as usize);
        }
        let (row, part) = (record / parts, record % parts);
        (row * width + part * size, (width - part * size).min(size) as usize)
    }
}

impl RecordSource for Records<'_> {
    fn records(&self) -> u64 {
        self.packing.records()
    }

    fn record_bytes(&self) -> usize {
        self.packing.record_bytes() as usize
    }

    fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
        let size = self.record_bytes();
        let end = first.saturating_add((out.len() / size) as u64);
        if end > self.records() {
            return Err(Misuse::IndexPastEnd { index: end, len: self.records() }.into());
        }
        let (at, held) = self.extent(first);
        if held == size && self.packing.records_per_row() == 1 {
            // Full records are consecutive in the table as in the output.
            self.fill(at, out);
            return Ok(());
        }
        for (record, out) in (first..end).zip(out.chunks_exact_mut(size)) {
            let (at, held) = self.extent(record);
            let (rows, padding) = out.split_at_mut(held);
            self.fill(at, rows);
            padding.fill(0);
        }
        Ok(())
    }

    fn read_part(&self, record: u64, offset: u64, out: &mut [u8]) -> Result<()> {
        let end = offset.saturating_add(out.len() as u64);
        if record >= self.records() || end > self.packing.record_bytes() {
            return Err(Misuse::IndexPastEnd { index: record, len: self.records() }.into());
        }
        let (at, held) = self.extent(record);
        let inside = (held as u64).saturating_sub(offset).min(out.len() as u64) as usize;
        let (rows, padding) = out.split_at_mut(inside);
        self.fill(at + offset, rows);
        padding.fill(0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::GeneratedRows;
    use crate::definition::Definition;
    use sotto_core::Record;
    use std::thread::sleep;

    const MOMENT: Duration = Duration::from_millis(2);

    #[test]
    fn stages_may_take_turns_and_may_only_be_announced() {
        let reports = Mutex::new(Vec::new());
        let watch = |p: Progress<'_>| reports.lock().unwrap().push(p.to_string());
        let clock = StageClock::start("case", &watch);
        for done in 1..=2 {
            sleep(MOMENT);
            clock.report("layout", done, 2);
            sleep(MOMENT);
            clock.report("hint", done, 2);
        }
        sleep(MOMENT);
        clock.report("sync", 0, 0);
        sleep(MOMENT);
        let stages = clock.stop();
        assert_eq!(stages.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["layout", "hint", "sync"]);
        // Sleeps are never shorter than requested: two, three and one of them.
        for (stage, sleeps) in stages.iter().zip([2.0, 3.0, 1.0]) {
            assert!(stage.total_s >= sleeps * 0.002, "{stage:?}");
        }
        assert_eq!(reports.into_inner().unwrap()[0], "case: layout 50 %");
    }

    #[test]
    fn time_goes_to_the_step_that_is_done() {
        let mut timer = StepTimer::start();
        for (step, millis) in [("a", 2), ("b", 4), ("a", 3)] {
            sleep(Duration::from_millis(millis));
            timer.done(step);
        }
        // Sleeps are never shorter than requested.
        let [(a, first), (b, second)] = timer.steps.as_slice() else { panic!("two steps") };
        assert_eq!((*a, *b), ("a", "b"));
        assert!(*first >= Duration::from_millis(5) && *second >= Duration::from_millis(4));
    }

    #[test]
    fn packing_reads_every_row_back() {
        for (rows, row_bytes, records, record_bytes) in [
            (100, 7, 25, 28),
            (100, 7, 40, 24),
            (100, 7, 34, 23),
            (9, 40, 36, 13),
            (9, 40, 18, 20),
            (5, 8, 7, 8),
        ] {
            let text = format!(
                "name = \"n\"\nabout = \"a\"\n[[case]]\nscheme = \"s\"\nrows = {rows}\nrow_bytes = {row_bytes}"
            );
            let source = GeneratedRows::new(&Definition::parse("t", &text).unwrap().cases[0]);
            let packing = Packing::new(rows, row_bytes, records, record_bytes).unwrap();
            let fill = |at, out: &mut [u8]| source.fill(at, out);
            let table = Records { fill: &fill, packing, nanos: AtomicU64::new(0) };
            let mut all = vec![1; (records * record_bytes) as usize];
            table.read(0, &mut all).unwrap();
            for row in 0..rows {
                let read = |r: &sotto_core::RecordIndex| {
                    let mut one = vec![0; record_bytes as usize];
                    table.read(r.0, &mut one).unwrap();
                    assert_eq!(one, all[(r.0 * record_bytes) as usize..][..record_bytes as usize]);
                    for (from, to) in [(0, one.len()), (1, one.len() - 2), (one.len() - 5, one.len())] {
                        let mut part = vec![1; to - from];
                        table.read_part(r.0, from as u64, &mut part).unwrap();
                        assert_eq!(part, one[from..to]);
                    }
                    Record::new(one)
                };
                let held: Vec<Record> = packing.records_of(row).iter().map(read).collect();
                assert_eq!(packing.extract(row, &held).unwrap(), source.row(row));
            }
            assert!(table.read(records, &mut all[..record_bytes as usize]).is_err());
        }
    }
}
