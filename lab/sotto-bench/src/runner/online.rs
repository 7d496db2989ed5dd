//! Queries and answers, timed. Server passes take turns with plain reads, so that both meet the
//! same neighbors on a shared machine; and so do the lines of a case, for the same reason.

use crate::error::BenchError;
use crate::machine::{PeakMemory, Reader, touched};
use crate::options::{Options, Progress, Watcher};
use crate::plan::PreparedCase;
use crate::report;
use crate::report::{
    Baseline, Batch, ClientSetup, MeasuredCase, OfflineCost, SeriesReport, StepReport, Traffic,
};
use crate::runner::client::BenchClient;
use crate::runner::{BenchLine, steps};
use crate::timing::{Samples, ms};
use sotto_core::{AnyServer, CryptoRng, Image};
use sotto_db::{CopyBudget, ImageFile, Residency, ResidentImage};
use sotto_pages::{memory, pages_of};
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Measures the lines of a case online.
pub(super) fn measure(
    lines: &[BenchLine<'_>],
    options: &Options,
    watcher: Watcher<'_>,
) -> Result<Vec<MeasuredCase>, BenchError> {
    let Some(first) = lines.first() else { return Ok(Vec::new()) };
    let mut rng = sotto_prg::system_rng()?;
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
    for (run, opened) in runs.iter_mut().zip(&opened) {
        run.series = series(run.plan, &mut run.client, watcher, &mut rng)?;
        run.steps = steps::measure(run.plan, opened.held.image.clone(), &mut run.client, watcher, &mut rng)?;
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
            baselines: baselines(plan, table, reader, plan.lookups, rng),
            series,
            steps,
            break_even: break_even.filter(|_| plan.case.break_even),
            held: opened.held.figures(),
            memory_pages: None,
            update: None,
        }
    }
}

/// A server, and the image it answers from.
pub(super) struct ResidentServer {
    pub(super) image: Arc<ResidentImage>,
    pub(super) server: Box<dyn AnyServer>,
    /// Time in which the scheme opened the image.
    pub(super) opening: Duration,
}

impl ResidentServer {
    /// Reads the image once, as a server that compares it with its digests does, and opens it.
    pub(super) fn open(
        plan: &PreparedCase<'_>,
        file: &Arc<ImageFile>,
        copies: &Arc<CopyBudget>,
        reader: &Reader,
    ) -> Result<Self, BenchError> {
        let image = ResidentImage::of(file.clone(), Residency::Auto, copies);
        reader.pass(scanned(file, image.as_ref()));
        image.decide_placement()?;
        let start = Instant::now();
        let server = (plan.entry.server.open)(&plan.params, image.clone()).map_err(plan.failed("opening"))?;
        Ok(ResidentServer { image, server, opening: start.elapsed() })
    }

    /// The bytes that answers are made from.
    pub(super) fn table(&self) -> &[u8] {
        scanned(self.image.file(), self.image.as_ref())
    }

    /// The placement of the table, for the report.
    pub(super) fn figures(&self) -> Option<report::TablePlacement> {
        self.image.residence().map(|residence| report::TablePlacement {
            held_bytes: residence.bytes,
            place: if residence.is_copy { "memory" } else { "file" },
            pages: residence.kind().map(|kind| kind.to_string()),
            huge_ratio: residence.huge_share,
            why: residence.why.to_string(),
        })
    }
}

fn scanned<'a>(file: &ImageFile, image: &'a dyn Image) -> &'a [u8] {
    file.answered_from().and_then(|section| image.section(section)).unwrap_or_default()
}

/// Makes consecutive lookups, if the definition asks for them. No other bytes are read in between,
/// so the caches of client and server are as if they did nothing else; every lookup is of a new
/// random row and makes a new query.
fn series(
    plan: &PreparedCase<'_>,
    client: &mut BenchClient<'_>,
    watcher: Watcher<'_>,
    rng: &mut dyn CryptoRng,
) -> Result<Option<SeriesReport>, BenchError> {
    let Some(lookups) = plan.case.series else { return Ok(None) };
    // The batches before were timed with caches that plain reads had emptied.
    client.totals.query = Samples::default();
    client.totals.recover = Samples::default();
    let mut server = Samples::default();
    for done in 0..lookups {
        if done % 64 == 0 {
            let (done, total) = (done as u64, lookups as u64);
            watcher(Progress { case: &plan.label, step: "consecutive lookups", done, total });
        }
        let row = rng.next_u64() % plan.packing.rows();
        server.push(client.pass(&[row], rng)?);
    }
    let (query_ms, recover_ms) = (ms(client.totals.query.median()), ms(client.totals.recover.median()));
    let server_ms = ms(server.median());
    let costs = &plan.report.costs;
    let hint_server = client.hint_server.clone();
    let prepare_ms = ms(client.prepared);
    let prepare_bytes = costs.artifact_bytes
        + client.keys_bytes
        + hint_server.as_ref().map_or(0, |hint_server| hint_server.bytes());
    let budget_count = costs.budget;
    let share = |whole: f64| (budget_count > 0).then(|| whole / budget_count as f64);
    let offline_ms = prepare_ms + hint_server.as_ref().map_or(0.0, |hint_server| hint_server.server_ms);
    let online_ms = query_ms + server_ms + recover_ms;
    Ok(Some(SeriesReport {
        lookups_count: lookups,
        query_ms,
        server_ms,
        recover_ms,
        online_ms,
        budget_count,
        state_bytes: state_bytes(client, plan)?,
        prepare_ms,
        prepare_bytes,
        hint_server,
        amortized_ms: share(offline_ms).map(|share| share + online_ms),
        amortized_bytes: share(prepare_bytes as f64)
            .map(|share| share + (client.totals.up + client.totals.down) as f64),
    }))
}

/// Bytes of the client's data: its state as written, or the artifacts that it has to hold.
fn state_bytes(client: &mut BenchClient<'_>, plan: &PreparedCase<'_>) -> Result<u64, BenchError> {
    let Some(state) = client.client().state() else { return Ok(plan.report.costs.artifact_bytes) };
    let mut saved = Vec::new();
    state.save(&mut saved).map_err(plan.failed("saving a client"))?;
    Ok(saved.len() as u64)
}

/// Plain lookups timed together: one alone is too short for the clock.
const PLAIN_LOOKUPS: usize = 1000;

/// The costs of downloading everything, and of a lookup in the clear.
fn baselines(
    plan: &PreparedCase<'_>,
    image: &[u8],
    reader: &Reader,
    repeats: usize,
    rng: &mut dyn CryptoRng,
) -> Vec<Baseline> {
    let table_bytes = plan.table.table_bytes;
    let row_bytes = plan.case.stored_row_bytes();
    vec![
        Baseline {
            name: "download the table",
            private: true,
            server_ms: read_once(image, table_bytes, reader, repeats),
            traffic: Traffic::new(table_bytes, 0, 0, 0),
        },
        Baseline {
            name: "plaintext query",
            private: false,
            server_ms: look_up(image, row_bytes as usize, rng),
            traffic: Traffic::new(0, 0, 8, row_bytes),
        },
    ]
}

/// The server's part in a download: reading the table's bytes once.
fn read_once(image: &[u8], table_bytes: u64, reader: &Reader, repeats: usize) -> f64 {
    let table = image.get(..table_bytes as usize).unwrap_or(image);
    let mut samples = Samples::default();
    (0..repeats.max(1)).for_each(|_| samples.push(reader.pass(table)));
    ms(samples.median())
}

/// A plain server's part: copying a row from a random place of a table of this size.
fn look_up(image: &[u8], row_bytes: usize, rng: &mut dyn CryptoRng) -> f64 {
    let starts = image.len().saturating_sub(row_bytes).max(1) as u64;
    let places: Vec<usize> = (0..PLAIN_LOOKUPS).map(|_| (rng.next_u64() % starts) as usize).collect();
    let mut row = vec![0; row_bytes];
    let start = Instant::now();
    for place in places {
        if let Some(from) = image.get(place..place.saturating_add(row_bytes)) {
            row.copy_from_slice(from);
        }
        black_box(&row);
    }
    let all: Duration = start.elapsed();
    ms(all) / PLAIN_LOOKUPS as f64
}
