//! Queries and answers, timed. Server passes take turns with plain reads, so that both meet the
//! same neighbors on a shared machine; and so do the lines of a case, for the same reason.

use super::client::BenchClient;
use super::resident::ResidentServer;
use super::{BenchLine, baseline};
use super::{series, steps};
use crate::error::BenchError;
use crate::machine::{PeakMemory, Reader, touched};
use crate::median::{Samples, ms};
use crate::options::{Options, Progress, Watcher};
use crate::plan::PreparedCase;
use crate::report::{Batch, ClientSetup, MeasuredCase, OfflineCost, SeriesReport, StepReport, Traffic};
use sotto_core::CryptoRng;
use sotto_db::CopyBudget;
use sotto_pages::{memory, pages_of};
use std::sync::Arc;
use std::time::Duration;

/// Measures the lines of a case online.
pub(super) fn measure(
    lines: &[BenchLine<'_>],
    options: &Options,
    watcher: Watcher<'_>,
) -> Result<Vec<MeasuredCase>, BenchError> {
    let Some(first) = lines.first() else { return Ok(Vec::new()) };
    let mut rng = sotto_prg::system_rng().map_err(|e| BenchError::Entropy(e.to_string()))?;
    let reader = Reader::new(first.plan.threads)?;
    let copies = CopyBudget::new(None);
    let open = |line| OpenLine::open(line, &copies, &reader, watcher);
    let opened = lines.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let truths: Vec<_> = lines.iter().map(|line| |row| line.source.row(row)).collect();
    let mut runs = Vec::with_capacity(lines.len());
    for ((line, opened), truth) in lines.iter().zip(&opened).zip(&truths) {
        watcher(Progress { case: &line.plan.label, step: "preparing a client", done: 0, total: 0 });
        let image = line.encoded.image.as_ref();
        let client = BenchClient::begin(&line.plan, opened.held.server.as_ref(), image, &reader, truth)?;
        runs.push(LineRun {
            plan: &line.plan,
            table: opened.held.table(),
            client,
            grown: Some(0),
            batches: Vec::new(),
            series: None,
            steps: Vec::new(),
        });
    }
    let longest = runs.iter().map(|run| run.table.len()).max().unwrap_or_default();
    let memory = touched(read_buffer(options, longest))?;
    let memory_pages = pages_of(&memory).and_then(|pages| pages.kind()).map(|kind| kind.to_string());
    for &batch in &first.plan.case.batches {
        turns(&mut runs, batch, &reader, &memory, watcher, &mut rng)?;
    }
    for run in &mut runs {
        run.series = series::measure(run.plan, &mut run.client, watcher, &mut rng)?;
        run.steps = steps::measure(run.plan, &mut run.client, watcher, &mut rng)?;
    }
    let mut measured = Vec::with_capacity(lines.len());
    for ((line, opened), run) in lines.iter().zip(&opened).zip(runs) {
        measured.push(MeasuredCase {
            memory_pages: memory_pages.clone(),
            ..run.measured(line, opened, &reader, &mut rng)
        });
    }
    Ok(measured)
}

/// Bytes of a read buffer: too large for a cache, and no larger than the table when that is larger
/// than any cache.
fn read_buffer(options: &Options, table: usize) -> usize {
    let min: u64 = if options.quick { 64 << 20 } else { 256 << 20 };
    let size = (table as u64).clamp(min, 1 << 30);
    size.min(memory::available().map_or(u64::MAX, |free| free / 2)) as usize
}

/// A server with its open image.
struct OpenLine {
    held: ResidentServer,
    open_ms: f64,
    /// Memory that the server took after the whole image was read once.
    grown: Option<u64>,
}

impl OpenLine {
    fn open(
        line: &BenchLine<'_>,
        copies: &Arc<CopyBudget>,
        reader: &Reader,
        watcher: Watcher<'_>,
    ) -> Result<Self, BenchError> {
        let plan = &line.plan;
        watcher(Progress { case: &plan.label, step: "opening", done: 0, total: 0 });
        let before = memory::resident();
        let held = ResidentServer::open(plan, &line.encoded.image, copies, reader)?;
        let open_ms = line.encoded.offline.open_ms + ms(held.opening);
        let grown = before.zip(memory::resident()).map(|(before, after)| after.saturating_sub(before));
        Ok(OpenLine { held, open_ms, grown })
    }
}

/// A line of a case, ready for queries.
struct LineRun<'a> {
    plan: &'a PreparedCase<'a>,
    table: &'a [u8],
    client: BenchClient<'a>,
    /// Maximum memory that answering took in addition.
    grown: Option<u64>,
    batches: Vec<Batch>,
    series: Option<SeriesReport>,
    steps: Vec<StepReport>,
}

/// Times of one batch size: of the server, of plain reads of the same bytes, and of plain reads of memory.
#[derive(Default)]
struct Times {
    server: Samples,
    held: Samples,
    plain: Samples,
}

/// One batch size, repeated: every line in turn, each followed by the plain reads.
fn turns(
    runs: &mut [LineRun<'_>],
    batch: usize,
    reader: &Reader,
    memory: &[u8],
    watcher: Watcher<'_>,
    rng: &mut dyn CryptoRng,
) -> Result<(), BenchError> {
    // The first pass meets cold caches and unmapped pages. It is checked like any other, but not
    // timed.
    for run in &mut *runs {
        let peak = PeakMemory::watch();
        run.pass(batch, rng)?;
        run.grown = run.grown.zip(peak.growth()).map(|(before, now)| before.max(now));
    }
    let step = format!("{batch} at once");
    let total = runs.first().map_or(0, |run| run.plan.lookups);
    let mut times: Vec<Times> = runs.iter().map(|_| Times::default()).collect();
    for done in 0..total {
        for (run, times) in runs.iter_mut().zip(&mut times) {
            let (done, total) = (done as u64, total as u64);
            watcher(Progress { case: &run.plan.label, step: &step, done, total });
            times.server.push(run.pass(batch, rng)?);
            times.held.push(reader.pass(run.table));
            times.plain.push(reader.pass(memory));
        }
    }
    for (run, times) in runs.iter_mut().zip(&times) {
        let figures = run.figures(batch, times, memory.len());
        run.batches.push(figures);
    }
    Ok(())
}

impl LineRun<'_> {
    /// Queries random rows, all in one pass.
    fn pass(&mut self, batch: usize, rng: &mut dyn CryptoRng) -> Result<Duration, BenchError> {
        let rows: Vec<u64> = (0..batch).map(|_| rng.next_u64() % self.plan.packing.rows()).collect();
        self.client.pass(&rows, rng)
    }

    fn figures(&self, batch: usize, times: &Times, memory_bytes: usize) -> Batch {
        let rate = |bytes: f64, time: Duration| bytes / time.as_nanos().max(1) as f64;
        let scanned = self.plan.table.table_bytes as f64 * self.plan.packing.records_per_row() as f64;
        let pass = times.server.median();
        let (own, aggregate) = (rate(scanned, pass), rate(scanned * batch as f64, pass));
        let single = self.batches.first().map_or(aggregate, |first| first.aggregate_gb_per_s);
        let table = self.table.len() as f64;
        let (held, plain) =
            (rate(table, times.held.median()), rate(memory_bytes as f64, times.plain.median()));
        let of = |read: f64| if read > 0.0 { own / read } else { f64::NAN };
        Batch {
            batch_count: batch,
            repeated_count: self.plan.lookups,
            server_ms: ms(pass),
            server_least_ms: ms(times.server.min()),
            per_lookup_ms: ms(pass) / batch as f64,
            aggregate_gb_per_s: aggregate,
            batching_ratio: aggregate / single,
            read_held_gb_per_s: held,
            read_held_best_gb_per_s: rate(table, times.held.min()),
            read_memory_gb_per_s: plain,
            of_read_held_ratio: of(held),
            of_read_memory_ratio: of(plain),
        }
    }

    fn measured(
        self,
        line: &BenchLine<'_>,
        opened: &OpenLine,
        reader: &Reader,
        rng: &mut dyn CryptoRng,
    ) -> MeasuredCase {
        let LineRun { plan, table, client, grown, batches, series, steps } = self;
        let totals = &client.totals;
        let costs = &plan.report.costs;
        let traffic = Traffic::new(costs.artifact_bytes, client.keys_bytes, totals.up, totals.down);
        let client_ms = ms(totals.query.median()) + ms(totals.recover.median());
        let work_ms = batches.first().map(|batch| client_ms + batch.server_ms);
        let break_even = work_ms.map(|work_ms| traffic.break_even(plan.table.table_bytes, work_ms));
        MeasuredCase {
            table: plan.table.clone(),
            method: plan.method(),
            params_digest: plan.report.digest.to_string(),
            params: plan.literal(),
            threads_count: plan.threads,
            records_count: plan.report.records,
            record_bytes: plan.report.record_bytes,
            queries_per_lookup_count: plan.packing.records_per_row(),
            offline: OfflineCost { open_ms: opened.open_ms, ..line.encoded.offline.clone() },
            joining: ClientSetup {
                prepare_ms: ms(client.prepared),
                keygen_ms: ms(client.keygen),
                admit_ms: ms(client.admitted),
                session_bytes: if client.keys_bytes > 0 {
                    opened.held.server.session_bytes() as u64
                } else {
                    0
                },
            },
            client_query_ms: ms(totals.query.median()),
            client_recover_ms: ms(totals.recover.median()),
            batches,
            traffic,
            rate_ratio: plan.case.stored_row_bytes() as f64 / totals.down.max(1) as f64,
            server_memory_bytes: opened.grown.zip(grown).map(|(open, answering)| open + answering),
            security_bits: plan.report.security.bits,
            security_model: plan.report.security.model.clone(),
            failure_log2: plan.packing.failure_log2(plan.report.failure_log2),
            checked_answers_count: totals.checked,
            baselines: baseline::of(plan, table, reader, plan.lookups, rng),
            series,
            steps,
            break_even: break_even.filter(|_| plan.case.break_even),
            held: opened.held.figures(),
            memory_pages: None,
            update: None,
        }
    }
}
