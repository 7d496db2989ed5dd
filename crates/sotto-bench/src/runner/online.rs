//! Asking and answering, timed. Server passes take turns with plain reads, so that both meet the same
//! neighbours on a shared machine.

use super::asking::Asking;
use super::baseline;
use super::offline::Encoded;
use crate::content::Source;
use crate::error::BenchError;
use crate::machine::{HugeBuffer, Peak, Reader, available_memory, resident_memory};
use crate::median::{Samples, ms};
use crate::options::{Options, Progress, Watcher};
use crate::plan::Plan;
use crate::report::{Batch, Measured, Offline, Traffic};
use sotto_core::{CryptoRng, Image, Section};
use std::time::{Duration, Instant};

/// Everything one case measures online.
pub(super) fn measure(
    plan: &Plan<'_>,
    source: &Source,
    encoded: &Encoded,
    options: &Options,
    watcher: Watcher<'_>,
) -> Result<Measured, BenchError> {
    let tell = |step| watcher(Progress { case: &plan.label, step, done: 0, total: 0 });
    let mut rng = sotto_prg::system_rng().map_err(|e| BenchError::Entropy(e.to_string()))?;

    tell("opening");
    let reader = Reader::new(plan.threads)?;
    let before = resident_memory();
    let start = Instant::now();
    let server = (plan.entry.server.open)(&plan.params, encoded.image.clone())
        .map_err(|why| BenchError::Scheme { case: plan.label.clone(), step: "opening", why })?;
    let open_ms = encoded.offline.open_ms + ms(start.elapsed());
    let table = encoded.image.section(Section::Resident).unwrap_or_default();
    reader.pass(table);
    let opened = before.zip(resident_memory()).map(|(before, after)| after.saturating_sub(before));

    tell("preparing a client");
    let truth = |row| source.row(row);
    let image = encoded.image.as_ref();
    let mut asking = Asking::begin(plan, server.as_ref(), image, &reader, &truth, &mut rng)?;

    let memory = HugeBuffer::new(read_buffer(options, table))?;
    let peak = Peak::watch();
    let mut turns = Turns { plan, reader: &reader, table, memory: memory.bytes(), watcher };
    let mut batches: Vec<Batch> = Vec::new();
    for &batch in &plan.case.batches {
        let single = batches.first().map(|b| b.aggregate_gb_per_s);
        batches.push(turns.batch(&mut asking, batch, single, &mut rng)?);
    }
    let server_memory_bytes = opened.zip(peak.growth()).map(|(open, answering)| open + answering);
    let baselines = baseline::of(plan, table, &reader, plan.lookups, &mut rng);

    let tally = &asking.tally;
    let once = plan.report.costs.artifact_bytes;
    Ok(Measured {
        table: plan.table.clone(),
        scheme: plan.entry.id.to_string(),
        params_digest: plan.report.digest.to_string(),
        params: plan.literal(),
        threads_count: plan.threads,
        records_count: plan.report.records,
        record_bytes: plan.report.record_bytes,
        queries_per_lookup_count: plan.packing.lookups(),
        offline: Offline { open_ms, ..encoded.offline.clone() },
        prepare_ms: ms(asking.prepared),
        client_query_ms: ms(tally.query.median()),
        client_recover_ms: ms(tally.recover.median()),
        batches,
        traffic: Traffic::new(once, asking.keys_bytes, tally.up, tally.down),
        server_memory_bytes,
        security_bits: plan.report.security.bits,
        security_model: plan.report.security.model.clone(),
        failure_log2: plan.packing.failure_log2(plan.report.failure_log2),
        checked_answers_count: tally.checked,
        baselines,
        update: None,
    })
}

/// Large enough not to lie in a cache, no larger than the table when that is larger than any cache.
fn read_buffer(options: &Options, table: &[u8]) -> usize {
    let least: u64 = if options.quick { 64 << 20 } else { 256 << 20 };
    let wish = (table.len() as u64).clamp(least, 1 << 30);
    wish.min(available_memory().map_or(u64::MAX, |free| free / 2)) as usize
}

/// Server and plain reads in turns.
struct Turns<'a> {
    plan: &'a Plan<'a>,
    reader: &'a Reader,
    table: &'a [u8],
    memory: &'a [u8],
    watcher: Watcher<'a>,
}

impl Turns<'_> {
    /// One batch size, repeated.
    fn batch(
        &mut self,
        asking: &mut Asking<'_>,
        batch: usize,
        single: Option<f64>,
        rng: &mut dyn CryptoRng,
    ) -> Result<Batch, BenchError> {
        let (step, total) = (format!("{batch} at once"), self.plan.lookups as u64);
        let (mut server, mut mapped_samples, mut plain) = Default::default();
        // The first pass meets cold caches and unmapped pages. It is checked like any other, not timed.
        asking.pass(&self.rows(batch, rng), rng)?;
        for done in 0..total {
            (self.watcher)(Progress { case: &self.plan.label, step: &step, done, total });
            Samples::push(&mut server, asking.pass(&self.rows(batch, rng), rng)?);
            Samples::push(&mut mapped_samples, self.reader.pass(self.table));
            Samples::push(&mut plain, self.reader.pass(self.memory));
        }
        let rate = |bytes: f64, time: Duration| bytes / time.as_nanos().max(1) as f64;
        let scanned = self.plan.table.table_bytes as f64 * self.plan.packing.lookups() as f64;
        let (own, aggregate) =
            (rate(scanned, server.median()), rate(scanned * batch as f64, server.median()));
        let (mapped, plain) = (
            rate(self.table.len() as f64, mapped_samples.median()),
            rate(self.memory.len() as f64, plain.median()),
        );
        let best = rate(self.table.len() as f64, mapped_samples.least());
        let of = |read: f64| if read > 0.0 { own / read } else { f64::NAN };
        Ok(Batch {
            batch_count: batch,
            repeated_count: self.plan.lookups,
            server_ms: ms(server.median()),
            server_least_ms: ms(server.least()),
            aggregate_gb_per_s: aggregate,
            batching_ratio: aggregate / single.unwrap_or(aggregate),
            read_mapped_gb_per_s: mapped,
            read_mapped_best_gb_per_s: best,
            read_memory_gb_per_s: plain,
            of_read_mapped_ratio: of(mapped),
            of_read_memory_ratio: of(plain),
        })
    }

    fn rows(&self, batch: usize, rng: &mut dyn CryptoRng) -> Vec<u64> {
        (0..batch).map(|_| rng.next_u64() % self.plan.packing.rows()).collect()
    }
}
