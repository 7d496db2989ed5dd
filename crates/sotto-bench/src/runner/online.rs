//! Asking and answering. Every answer is compared with the generated row; server passes take turns with
//! plain reads, so that both meet the same neighbours on a shared machine.

use super::baseline;
use super::offline::Encoded;
use crate::content::Source;
use crate::error::BenchError;
use crate::machine::{HugeBuffer, Peak, Reader, available_memory, resident_memory};
use crate::median::{Samples, ms};
use crate::options::{Options, Progress, Watcher};
use crate::plan::Plan;
use crate::report::{Batch, Measured, Traffic};
use sotto_core::{AnyClient, AnyServer, AnySession, CryptoRng, Error, Image, Section, Ticket};
use std::time::{Duration, Instant};

/// Bytes given to `absorb` at once, as a client reads them from the network.
const CHUNK: usize = 1 << 20;

/// A table that is open, with a client that is ready.
pub(super) struct Bench<'a> {
    pub(super) plan: &'a Plan<'a>,
    pub(super) source: &'a Source,
    pub(super) server: &'a dyn AnyServer,
    pub(super) client: Box<dyn AnyClient>,
    pub(super) session: AnySession,
    pub(super) reader: &'a Reader,
    pub(super) timings: Timings,
}

/// What one client did, over all batch sizes.
#[derive(Default)]
pub(super) struct Timings {
    pub(super) query: Samples,
    pub(super) recover: Samples,
    pub(super) checked: u64,
    pub(super) up: u64,
    pub(super) down: u64,
}

/// One lookup on its way: the row, the queries per record and server, and what reads the answers.
struct Asked {
    row: u64,
    tickets: Vec<Ticket>,
    queries: Vec<Vec<Vec<u8>>>,
}

pub(super) fn measure(
    plan: &Plan<'_>,
    source: &Source,
    encoded: Encoded,
    options: &Options,
    watcher: Watcher<'_>,
) -> Result<Measured, BenchError> {
    let tell = |step| watcher(Progress { case: &plan.label, step, done: 0, total: 0 });
    let fail = |step, why| BenchError::Scheme { case: plan.label.clone(), step, why };
    let mut rng = sotto_prg::system_rng().map_err(|e| BenchError::Entropy(e.to_string()))?;

    tell("opening");
    let reader = Reader::new(plan.threads)?;
    let before = resident_memory();
    let start = Instant::now();
    let server =
        (plan.entry.server.open)(&plan.params, encoded.image.clone()).map_err(|why| fail("opening", why))?;
    let open = start.elapsed() + encoded.open;
    let table = encoded.image.section(Section::Resident).unwrap_or_default();
    reader.pass(table);
    let opened = before.zip(resident_memory()).map(|(before, after)| after.saturating_sub(before));

    tell("preparing a client");
    let start = Instant::now();
    let client =
        prepare(plan, encoded.image.as_ref(), &mut rng).map_err(|why| fail("preparing a client", why))?;
    let prepared = start.elapsed();
    let keys = client.keys();
    let session = server.admit(&keys).map_err(|why| fail("admitting keys", why))?;

    let memory = HugeBuffer::new(read_buffer(options, table))?;
    let (server, timings) = (server.as_ref(), Timings::default());
    let mut bench = Bench { plan, source, server, client, session, reader: &reader, timings };
    let peak = Peak::watch();
    let mut batches: Vec<Batch> = Vec::new();
    for &batch in &plan.case.batches {
        let single = batches.first().map(|b| b.aggregate_gb_per_s);
        batches.push(bench.batch(batch, single, table, memory.bytes(), &mut rng, watcher)?);
    }
    let server_memory_bytes = opened.zip(peak.growth()).map(|(open, answering)| open + answering);
    let baselines = baseline::of(plan, table, &reader, plan.lookups, &mut rng);

    let timings = bench.timings;
    let once = plan.report.costs.artifact_bytes;
    let offline = crate::report::Offline { open_ms: ms(open), ..encoded.offline };
    Ok(Measured {
        table: plan.table.clone(),
        scheme: plan.entry.id.to_string(),
        params_digest: plan.report.digest.to_string(),
        params: plan.literal(),
        threads_count: plan.threads,
        records_count: plan.report.records,
        record_bytes: plan.report.record_bytes,
        queries_per_lookup_count: plan.packing.lookups(),
        offline,
        prepare_ms: ms(prepared),
        client_query_ms: ms(timings.query.median()),
        client_recover_ms: ms(timings.recover.median()),
        batches,
        traffic: Traffic::new(once, (keys.len() * plan.entry.servers) as u64, timings.up, timings.down),
        server_memory_bytes,
        security_bits: plan.report.security.bits,
        security_model: plan.report.security.model.clone(),
        failure_log2: plan.packing.failure_log2(plan.report.failure_log2),
        checked_answers_count: timings.checked,
        baselines,
    })
}

/// Large enough not to lie in a cache, no larger than the table when that is larger than any cache.
fn read_buffer(options: &Options, table: &[u8]) -> usize {
    let least: u64 = if options.quick { 64 << 20 } else { 256 << 20 };
    let wish = (table.len() as u64).clamp(least, 1 << 30);
    wish.min(available_memory().map_or(u64::MAX, |free| free / 2)) as usize
}

pub(super) fn prepare(
    plan: &Plan<'_>,
    image: &dyn Image,
    rng: &mut dyn CryptoRng,
) -> sotto_core::Result<Box<dyn AnyClient>> {
    let mut prepare = (plan.entry.prepare)(&plan.params, rng)?;
    for need in prepare.needs() {
        for chunk in image.section(Section::Public(need.artifact)).unwrap_or_default().chunks(CHUNK) {
            prepare.absorb(need.artifact, chunk)?;
        }
    }
    prepare.finish()
}

impl Bench<'_> {
    /// One batch size, repeated.
    pub(super) fn batch(
        &mut self,
        batch: usize,
        single: Option<f64>,
        table: &[u8],
        memory: &[u8],
        rng: &mut dyn CryptoRng,
        watcher: Watcher<'_>,
    ) -> Result<Batch, BenchError> {
        let step = format!("{batch} at once");
        let (mut server, mut mapped, mut plain) =
            (Samples::default(), Samples::default(), Samples::default());
        // The first pass meets cold caches and unmapped pages. It is checked like any other, not timed.
        self.pass(batch, rng)?;
        for done in 0..self.plan.lookups {
            watcher(Progress {
                case: &self.plan.label,
                step: &step,
                done: done as u64,
                total: self.plan.lookups as u64,
            });
            server.push(self.pass(batch, rng)?);
            mapped.push(self.reader.pass(table));
            plain.push(self.reader.pass(memory));
        }
        let rate = |bytes: f64, time: Duration| bytes / time.as_nanos().max(1) as f64;
        let bytes = self.plan.table.table_bytes as f64;
        let scanned = bytes * self.plan.packing.lookups() as f64;
        let aggregate = rate(scanned * batch as f64, server.median());
        let (mapped, plain) =
            (rate(table.len() as f64, mapped.median()), rate(memory.len() as f64, plain.median()));
        let of = |read: f64| if read > 0.0 { rate(scanned, server.median()) / read } else { f64::NAN };
        Ok(Batch {
            batch_count: batch,
            repeated_count: self.plan.lookups,
            server_ms: ms(server.median()),
            server_least_ms: ms(server.least()),
            aggregate_gb_per_s: aggregate,
            batching_ratio: aggregate / single.unwrap_or(aggregate),
            read_mapped_gb_per_s: mapped,
            read_memory_gb_per_s: plain,
            of_read_mapped_ratio: of(mapped),
            of_read_memory_ratio: of(plain),
        })
    }

    /// Asks for `batch` random rows, answers them in one pass, checks them. Gives the server's time.
    pub(super) fn pass(&mut self, batch: usize, rng: &mut dyn CryptoRng) -> Result<Duration, BenchError> {
        let label = self.plan.label.clone();
        let fail = |step, why| BenchError::Scheme { case: label.clone(), step, why };
        let mut asked = Vec::with_capacity(batch);
        for _ in 0..batch {
            asked.push(self.ask(rng).map_err(|why| fail("making a query", why))?);
        }
        // Servers work at the same time, on machines of their own; here the slower one counts.
        let mut slowest = Duration::ZERO;
        let mut answers: Vec<Vec<Vec<Vec<u8>>>> =
            asked.iter().map(|ask| vec![Vec::new(); ask.tickets.len()]).collect();
        for server in 0..self.plan.entry.servers {
            let asks: Vec<(&AnySession, &[u8])> = asked
                .iter()
                .flat_map(|ask| &ask.queries)
                .filter_map(|fan| fan.get(server))
                .map(|query| (&self.session, query.as_slice()))
                .collect();
            let (served, elapsed) = self.reader.install(|| {
                let start = Instant::now();
                let served = self.server.answer_many(&asks);
                (served, start.elapsed())
            });
            slowest = slowest.max(elapsed);
            for (place, answer) in answers.iter_mut().flatten().zip(served) {
                place.push(answer.map_err(|why| fail("answering", why))?);
            }
        }
        for (ask, answers) in asked.into_iter().zip(answers) {
            self.check(ask, &answers)?;
        }
        Ok(slowest)
    }

    fn ask(&mut self, rng: &mut dyn CryptoRng) -> Result<Asked, Error> {
        let row = rng.next_u64() % self.source.rows();
        let records = self.plan.packing.records_of(row)?;
        let (mut tickets, mut queries) = (Vec::new(), Vec::new());
        let start = Instant::now();
        for record in records {
            let (fan, ticket) = self.client.query(record, rng)?;
            queries.push(fan);
            tickets.push(ticket);
        }
        self.timings.query.push(start.elapsed());
        self.timings.up = queries.iter().flatten().map(|q| q.len() as u64).sum();
        Ok(Asked { row, tickets, queries })
    }

    fn check(&mut self, ask: Asked, answers: &[Vec<Vec<u8>>]) -> Result<(), BenchError> {
        let wrong =
            |why: String| BenchError::WrongAnswer { case: self.plan.label.clone(), row: ask.row, why };
        self.timings.down = answers.iter().flatten().map(|a| a.len() as u64).sum();
        let start = Instant::now();
        let mut records = Vec::with_capacity(ask.tickets.len());
        for (ticket, answers) in ask.tickets.into_iter().zip(answers) {
            records.push(self.client.recover(ticket, answers).map_err(|why| wrong(why.to_string()))?);
        }
        let got = self.plan.packing.extract(ask.row, &records).map_err(|why| wrong(why.to_string()))?;
        self.timings.recover.push(start.elapsed());
        let want = self.source.row(ask.row);
        let differ = got.iter().zip(&want).filter(|(a, b)| a != b).count();
        if got.len() != want.len() || differ > 0 {
            return Err(wrong(format!("{differ} of {} bytes differ", want.len())));
        }
        self.timings.checked += 1;
        Ok(())
    }
}
