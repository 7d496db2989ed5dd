//! `sotto bench overload DIR`: measures a server that receives more requests than it can answer.
//!
//! First one client sends requests, then as many as keep the server busy, which gives its capacity.
//! Then requests arrive at a multiple of that rate, each at its time, whether or not the previous
//! ones were answered. Every answer is compared with the first one to its query, and every refusal
//! has to name a time to retry. As in [`super::throughput`], the bytes of a few queries are sent
//! again and again.

use crate::failure::{Failure, Result};
use crate::lab::bench::load::{BUSY, LoadGenerator, PASS, QUEUE, ReplyTimes, http, p99, read_through, url};
use crate::lab::bench::throughput::median;
use crate::screen::progress::StageUnit;
use crate::screen::{Screen, grid, units};
use serde::Serialize;
use sotto_bench::Options;
use sotto_db::TableDir;
use sotto_server::{Server, ServerConfig, TableConfig};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Number of threads: more than can be in progress at once, so that requests leave at their times.
const SENDERS: usize = 3 * BUSY;

/// Result of `bench overload`. Times are in milliseconds.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
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

impl Report {
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

/// Sends requests at fixed times, `per_second` a second.
fn at_their_times(load: &LoadGenerator, per_second: f64, span: Duration) -> Result<ReplyTimes> {
    let all = AtomicU64::new(0);
    load.senders(SENDERS, |_, _, _| {
        let next = all.fetch_add(1, Ordering::Relaxed);
        let at = Duration::from_secs_f64(next as f64 / per_second);
        (at < span).then_some((next as usize, at))
    })
}

/// Serves the newest epoch in `dir`, and sends it `load_factor` times as many requests as it can answer.
pub(crate) fn run(
    dir: &Path,
    load_factor: f64,
    seconds: u64,
    options: &Options,
    screen: Screen,
) -> Result<Report> {
    let bars = screen.bars();
    bars.at("starting a server", 0, 0, StageUnit::Share);
    let image = TableDir::open(dir).and_then(|dir| dir.open_latest())?;
    let catalog = image.catalog().clone();
    if catalog.servers != 1 {
        let why = format!("scheme {} has {} servers, expected 1", catalog.scheme, catalog.servers);
        return Err(Failure::usage(why).fix("give a table of a scheme with one server"));
    }
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
    let load = LoadGenerator::new(&url, &catalog.table, catalog.rows)?;

    bars.at("one client", 0, 3, StageUnit::Count("phases"));
    let short = Duration::from_millis(if options.quick { 200 } else { 5000 });
    let quiet = median(load.closed(1, short)?.admitted.into_iter());
    bars.at("measuring the capacity", 1, 3, StageUnit::Count("phases"));
    let full = load.closed(BUSY, short)?;
    let before = (memory_mib(), descriptors());
    bars.at("overloading", 2, 3, StageUnit::Count("phases"));
    let offered = full.per_second() * load_factor;
    let overload = at_their_times(&load, offered, Duration::from_secs(seconds))?;
    let over = Instant::now();
    let mut lone = http(&url)?;
    while !load.send(&mut lone, 0)?.admitted {
        std::thread::sleep(Duration::from_millis(5));
    }
    let recovered = over.elapsed();
    let after = (memory_mib(), descriptors());
    bars.finish();
    let sent = overload.admitted.len() + overload.refused.len();
    Ok(Report {
        table: catalog.table.to_string(),
        scheme: catalog.scheme.clone(),
        server_threads: threads,
        seconds,
        times_capacity: load_factor,
        quiet_median_ms: quiet,
        capacity_per_second: full.per_second(),
        capacity_p99_ms: p99(&full.admitted),
        offered_per_second: sent as f64 / overload.took.as_secs_f64(),
        admitted_per_second: overload.per_second(),
        admitted_p99_ms: p99(&overload.admitted),
        refused: overload.refused.len(),
        refused_p99_ms: p99(&overload.refused),
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
