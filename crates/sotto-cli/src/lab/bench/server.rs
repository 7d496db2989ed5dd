//! `sotto bench server DIR`: how many lookups per second a server answers, over HTTP on loopback; and
//! `sotto bench overload DIR`: a server that receives more requests than it can answer.
//!
//! The server is the real one, in this process. What asks it is a [`LoadGenerator`]. Of a scheme that
//! asks several servers the first is measured; the others run beside it, to be asked what is decrypted.
//!
//! Under overload one client sends requests first, then as many as keep the server busy, which gives
//! its capacity. Then requests arrive at a multiple of that rate, each at its time, whether or not the
//! previous ones were answered. Every refusal has to name a time to retry.

use crate::cards;
use crate::failure::{Failure, Result};
use crate::lab::bench::load::{
    BUSY, Counters, LoadGenerator, PASS, QUEUE, ReplyTimes, http, image_of_one_server, median, percentile,
    read_through, url,
};
use crate::screen::progress::StageUnit;
use crate::screen::{Screen, grid, units};
use schemars::JsonSchema;
use serde::Serialize;
use sotto_bench::Options;
use sotto_db::TableDir;
use sotto_server::{Server, ServerConfig, TableConfig};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Maximum number of queries in a pass of a graphics card.
const CARD_PASS: usize = 128;

/// Number of alternating measurements of each setting, of which the figures are medians.
const ROUNDS: usize = 5;

/// The result of one setting.
#[derive(Debug, Serialize, JsonSchema)]
struct ThroughputRow {
    clients: usize,
    queries_per_pass_at_most: usize,
    queries_per_pass: f64,
    lookups_per_second: f64,
    median_ms: f64,
    slowest_of_20_ms: f64,
    times_one_client: f64,
}

/// Result of `bench server`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ThroughputReport {
    table: String,
    scheme: String,
    rows: u64,
    row_bytes: u64,
    server_threads: usize,
    backend: &'static str,
    /// The graphics card that made the passes, with `--gpu`.
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<String>,
    answers_checked: u64,
    figures: Vec<ThroughputRow>,
}

impl ThroughputReport {
    /// The result for a person.
    pub(crate) fn table(&self) -> String {
        let columns = ">clients | >per pass | >took | >lookups/s | >vs one | >median ms | >p95 ms";
        let rows = self.figures.iter().map(|figure| {
            vec![
                figure.clients.to_string(),
                format!("up to {}", figure.queries_per_pass_at_most),
                format!("{:.2}", figure.queries_per_pass),
                units::digits(figure.lookups_per_second),
                format!("{:.2} x", figure.times_one_client),
                units::digits(figure.median_ms),
                units::digits(figure.slowest_of_20_ms),
            ]
        });
        let device = self.device.as_ref().map(|device| format!(", passes on {device}")).unwrap_or_default();
        format!(
            "Table {}: {} rows of {} bytes, {}; server on {} thread(s), {} kernels{device}; over HTTP on loopback.\n\n{}\n\n\
             took: mean number of queries that shared a pass over the table. Medians of {ROUNDS} rounds in\n\
             turns; {} answers, each equal to the first answer to its query.",
            self.table,
            units::count(self.rows),
            self.row_bytes,
            self.scheme,
            self.server_threads,
            self.backend,
            grid::grid(columns, rows),
            units::count(self.answers_checked)
        )
    }
}

/// Serves the newest epoch of the table in `dir` twice, with and without shared passes, and
/// measures both.
pub(crate) fn throughput(
    dir: &Path,
    clients: usize,
    gpu: bool,
    options: &Options,
    screen: Screen,
) -> Result<ThroughputReport> {
    let bars = screen.bars();
    bars.at("starting servers", 0, 0, StageUnit::Share);
    let image = TableDir::open(dir).and_then(|dir| dir.open_latest())?;
    let catalog = image.catalog().clone();
    let threads = options.threads.unwrap_or(1);
    let accelerator = cards::accelerator(&ServerConfig { gpu, ..ServerConfig::default() })?;
    let device = accelerator.as_ref().map(|accelerator| accelerator.to_string());
    let most = if gpu { CARD_PASS } else { ServerConfig::default().batch.max_queries };
    let start = |max_queries, role| {
        let mut config = ServerConfig {
            tables: vec![TableConfig::path(image.path())],
            role,
            gpu,
            threads,
            reload_seconds: 0,
            ..ServerConfig::on_free_ports()
        };
        config.batch.max_queries = max_queries;
        config.request_memory_mib = config.request_memory_mib.max(4096);
        config.deadline_ms = 60_000;
        let server = Server::start_watched(&config, Vec::new(), accelerator.clone(), |_| ())?;
        read_through(&server)?;
        Ok(server)
    };
    let (alone, shared) = (start(1, 0)?, start(most, 0)?);
    let others = (1..u8::try_from(catalog.servers).unwrap_or(u8::MAX)).map(|role| start(most, role));
    let others = others.collect::<Result<Vec<_>>>()?;
    let urls: Vec<String> = std::iter::once(&shared).chain(&others).map(url).collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    bars.at("first answers", 0, 0, StageUnit::Share);
    let load = LoadGenerator::new(&urls, &catalog.table, catalog.rows, clients)?;
    let load_alone = load.for_server(&url(&alone))?;

    let span = Duration::from_millis(if options.quick { 200 } else { 2000 });
    let settings =
        [(&shared, &load, most, 1), (&alone, &load_alone, 1, clients), (&shared, &load, most, clients)];
    let mut rounds: Vec<Vec<(ReplyTimes, f64)>> = settings.iter().map(|_| Vec::new()).collect();
    let mut done = 0;
    for _ in 0..ROUNDS {
        for ((server, load, _, clients), rounds) in settings.iter().zip(&mut rounds) {
            let before = Counters::read(server.admin)?;
            let replies = load.closed(&url(server), *clients, span)?;
            if !replies.refused.is_empty() {
                return Err(Failure::internal("the server refuses queries to its own table"));
            }
            rounds.push((replies, Counters::read(server.admin)?.batch_since(&before)));
            done += 1;
            bars.at("querying", done, (ROUNDS * settings.len()) as u64, StageUnit::Count("rounds"));
        }
    }
    bars.finish();
    let figure = |rounds: &[(ReplyTimes, f64)], of: fn(&ReplyTimes) -> f64| {
        median(rounds.iter().map(|(replies, _)| of(replies)))
    };
    let lone = rounds.first().map_or(1.0, |rounds| figure(rounds, ReplyTimes::per_second));
    let figures = settings.iter().zip(&rounds).map(|((_, _, max_queries, clients), rounds)| {
        let per_second = figure(rounds, ReplyTimes::per_second);
        ThroughputRow {
            clients: *clients,
            queries_per_pass_at_most: *max_queries,
            queries_per_pass: median(rounds.iter().map(|(_, batch)| *batch)),
            lookups_per_second: per_second,
            median_ms: figure(rounds, |replies| percentile(&replies.admitted, 0.5)),
            slowest_of_20_ms: figure(rounds, |replies| percentile(&replies.admitted, 0.95)),
            times_one_client: per_second / lone,
        }
    });
    Ok(ThroughputReport {
        table: catalog.table.to_string(),
        scheme: catalog.scheme.clone(),
        rows: catalog.rows,
        row_bytes: catalog.row_bytes,
        server_threads: threads,
        backend: sotto_math::machine::backend(),
        device,
        answers_checked: rounds.iter().flatten().map(|(replies, _)| replies.admitted.len() as u64).sum(),
        figures: figures.collect(),
    })
}

/// Number of threads: more than can be in progress at once, so that requests leave at their times.
const SENDERS: usize = 3 * BUSY;

/// Result of `bench overload`. Times are in milliseconds.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OverloadReport {
    table: String,
    scheme: String,
    server_threads: usize,
    seconds: u64,
    times_capacity: f64,
    quiet_median_ms: f64,
    capacity_per_second: f64,
    capacity_p99_ms: f64,
    offered_per_second: f64,
    admitted_per_second: f64,
    admitted_p99_ms: f64,
    refused: usize,
    refused_p99_ms: f64,
    /// Time until a lone client was answered again, after the last request.
    recovered_ms: f64,
    memory_before_mib: f64,
    memory_after_mib: f64,
    descriptors_before: usize,
    descriptors_after: usize,
}

impl OverloadReport {
    /// The result for a person.
    pub(crate) fn table(&self) -> String {
        let ratio = |over: f64, under: f64| format!("{:.2} x", over / under);
        let number = units::digits;
        let rows = [
            ("one client: median ms", number(self.quiet_median_ms), String::new()),
            ("capacity: lookups per second", number(self.capacity_per_second), String::new()),
            ("at capacity: p99 ms", number(self.capacity_p99_ms), String::new()),
            (
                "offered per second",
                number(self.offered_per_second),
                ratio(self.offered_per_second, self.capacity_per_second),
            ),
            (
                "answered per second",
                number(self.admitted_per_second),
                ratio(self.admitted_per_second, self.capacity_per_second),
            ),
            (
                "answered: p99 ms",
                number(self.admitted_p99_ms),
                ratio(self.admitted_p99_ms, self.capacity_p99_ms),
            ),
            ("refused: p99 ms", number(self.refused_p99_ms), String::new()),
            ("recovered after ms", number(self.recovered_ms), String::new()),
            (
                "memory afterwards, MiB",
                number(self.memory_after_mib),
                ratio(self.memory_after_mib, self.memory_before_mib),
            ),
            (
                "open files afterwards",
                self.descriptors_after.to_string(),
                format!("{} before", self.descriptors_before),
            ),
        ];
        let rows = rows.map(|(name, value, comparison)| vec![name.to_owned(), value, comparison]);
        format!(
            "Table {}: {}; server on {} thread(s), queue of {QUEUE}; {} times its capacity, for {} s.\n\n{}\n\n\
             {} requests were refused, each with Retry-After. Memory is that of this process, clients included.",
            self.table,
            self.scheme,
            self.server_threads,
            self.times_capacity,
            self.seconds,
            grid::grid("what | >figure | >compared", rows),
            units::count(self.refused as u64)
        )
    }
}

/// Serves the newest epoch in `dir`, and sends it `load_factor` times as many requests as it can answer.
pub(crate) fn overload(
    dir: &Path,
    load_factor: f64,
    seconds: u64,
    options: &Options,
    screen: Screen,
) -> Result<OverloadReport> {
    let bars = screen.bars();
    bars.at("starting a server", 0, 0, StageUnit::Share);
    let image = image_of_one_server(dir)?;
    let catalog = image.catalog();
    let threads = options.threads.unwrap_or(1);
    let mut config = ServerConfig {
        tables: vec![TableConfig::path(image.path())],
        threads,
        reload_seconds: 0,
        max_queue: QUEUE,
        connections_per_client: 2 * SENDERS,
        ..ServerConfig::on_free_ports()
    };
    config.batch.max_queries = PASS;
    config.deadline_ms = 60_000;
    let server = Server::start(&config)?;
    read_through(&server)?;
    let url = url(&server);
    let load = LoadGenerator::new(&[&url], &catalog.table, catalog.rows, PASS)?;

    bars.at("one client", 0, 3, StageUnit::Count("phases"));
    let short = Duration::from_millis(if options.quick { 200 } else { 5000 });
    let quiet = median(load.closed(&url, 1, short)?.admitted.into_iter());
    bars.at("measuring the capacity", 1, 3, StageUnit::Count("phases"));
    let full = load.closed(&url, BUSY, short)?;
    let before = (memory_mib(), descriptors());
    bars.at("overloading", 2, 3, StageUnit::Count("phases"));
    let offered = full.per_second() * load_factor;
    // Requests leave at fixed times, whether or not earlier ones were answered.
    let (all, span) = (AtomicU64::new(0), Duration::from_secs(seconds));
    let overload = load.senders(&url, SENDERS, |_, _, _| {
        let next = all.fetch_add(1, Ordering::Relaxed);
        let at = Duration::from_secs_f64(next as f64 / offered);
        (at < span).then_some((next as usize, at))
    })?;
    let over = Instant::now();
    let mut lone = http(&url)?;
    while !load.send(&mut lone, 0)?.admitted {
        std::thread::sleep(Duration::from_millis(5));
    }
    let recovered = over.elapsed();
    let after = (memory_mib(), descriptors());
    bars.finish();
    let sent = overload.admitted.len() + overload.refused.len();
    Ok(OverloadReport {
        table: catalog.table.to_string(),
        scheme: catalog.scheme.clone(),
        server_threads: threads,
        seconds,
        times_capacity: load_factor,
        quiet_median_ms: quiet,
        capacity_per_second: full.per_second(),
        capacity_p99_ms: percentile(&full.admitted, 0.99),
        offered_per_second: sent as f64 / overload.took.as_secs_f64(),
        admitted_per_second: overload.per_second(),
        admitted_p99_ms: percentile(&overload.admitted, 0.99),
        refused: overload.refused.len(),
        refused_p99_ms: percentile(&overload.refused, 0.99),
        recovered_ms: recovered.as_secs_f64() * 1e3,
        memory_before_mib: before.0,
        memory_after_mib: after.0,
        descriptors_before: before.1,
        descriptors_after: after.1,
    })
}

/// Memory of this process in MiB; 0 if the system does not report it.
fn memory_mib() -> f64 {
    sotto_pages::memory::resident().unwrap_or(0) as f64 / f64::from(1 << 20)
}

/// Number of open files of this process, connections included; 0 if the system does not report it.
fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").map(Iterator::count).unwrap_or(0)
}
