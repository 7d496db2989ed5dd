//! `sotto bench storm DIR`: what a server does when it is asked for more than it can give.
//!
//! First it is asked by one client, then by as many as keep it busy, which is its capacity. Then requests come at so many times
//! that rate, each at its time, whether or not those before it were answered. Every answer is compared with the first to its
//! query, and every refusal has to say when to come back. As in [`mod@super::load`], the bytes of a few queries are sent again and
//! again.

use super::load::median;
use super::served::{http, open, post, read_through};
use crate::blame;
use crate::failure::{Failure, Result};
use crate::screen::bars::Unit;
use crate::screen::{Screen, grid, units};
use serde::Serialize;
use sotto_bench::Options;
use sotto_client::transport::{Request, Transport};
use sotto_db::TableDir;
use sotto_server::{Config, Running, Server, TableConfig};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Queries in a pass, as is a server's default, and asks that wait: two passes of them.
const PASS: usize = 8;
const QUEUE: usize = 2 * PASS;

/// Clients that keep the server busy: a pass that runs, and a full queue.
const BUSY: usize = PASS + QUEUE;

/// More than can be under way at once, so that requests leave at their times.
const SENDERS: usize = 3 * BUSY;

/// What came of one request.
struct Reply {
    ms: f64,
    admitted: bool,
}

/// Replies of one stretch of time.
#[derive(Default)]
struct Replies {
    admitted: Vec<f64>,
    refused: Vec<f64>,
    took: Duration,
}

impl Replies {
    fn of(all: Vec<Reply>, took: Duration) -> Self {
        let mut replies = Replies { took, ..Replies::default() };
        for reply in all {
            if reply.admitted { &mut replies.admitted } else { &mut replies.refused }.push(reply.ms);
        }
        replies.admitted.sort_by(f64::total_cmp);
        replies.refused.sort_by(f64::total_cmp);
        replies
    }

    fn per_second(&self) -> f64 {
        self.admitted.len() as f64 / self.took.as_secs_f64()
    }
}

/// The time that 99 in 100 stayed below.
fn p99(ms: &[f64]) -> f64 {
    ms.get((ms.len() * 99 / 100).min(ms.len().saturating_sub(1))).copied().unwrap_or(0.0)
}

/// What `bench storm` found. Times are milliseconds.
#[derive(Debug, Serialize)]
pub(super) struct Report {
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
    /// Until a lone client was answered again, from the last request on.
    recovered_ms: f64,
    memory_before_mib: f64,
    memory_after_mib: f64,
    descriptors_before: usize,
    descriptors_after: usize,
}

impl Report {
    /// For a person.
    pub(super) fn table(&self) -> String {
        let ratio = |over: f64, under: f64| format!("{:.2} x", over / under);
        let number = units::digits;
        let rows = [
            ("one client, median ms", number(self.quiet_median_ms), String::new()),
            ("capacity, lookups a second", number(self.capacity_per_second), String::new()),
            ("at capacity, 99 in 100 below ms", number(self.capacity_p99_ms), String::new()),
            (
                "offered a second",
                number(self.offered_per_second),
                ratio(self.offered_per_second, self.capacity_per_second),
            ),
            (
                "answered a second",
                number(self.admitted_per_second),
                ratio(self.admitted_per_second, self.capacity_per_second),
            ),
            (
                "answered, 99 in 100 below ms",
                number(self.admitted_p99_ms),
                ratio(self.admitted_p99_ms, self.capacity_p99_ms),
            ),
            ("refused, 99 in 100 below ms", number(self.refused_p99_ms), String::new()),
            ("answered again after ms", number(self.recovered_ms), String::new()),
            (
                "memory after, MiB",
                number(self.memory_after_mib),
                ratio(self.memory_after_mib, self.memory_before_mib),
            ),
            (
                "open files after",
                self.descriptors_after.to_string(),
                format!("{} before", self.descriptors_before),
            ),
        ];
        let rows = rows.map(|(what, value, beside)| vec![what.to_owned(), value, beside]);
        format!(
            "Table {}: {}; server on {} thread(s), {QUEUE} asks may wait; {} times what it can give, for {} s.\n\n{}\n\n\
             {} requests were refused, each with the time to come back. Memory is of this process, clients included.",
            self.table,
            self.scheme,
            self.server_threads,
            self.times_capacity,
            self.seconds,
            grid::grid(&[("what", false), ("figure", true), ("beside", true)], rows),
            units::count(self.refused as u64)
        )
    }

    /// For a script.
    pub(super) fn json(&self) -> Result<String> {
        serde_json::to_string_pretty(self).map_err(|error| Failure::internal(error.to_string()))
    }
}

/// A server, and requests whose answers are known.
struct World {
    server: Running,
    asks: Vec<(Request, Vec<u8>)>,
}

impl World {
    /// Sends a request and looks at what comes.
    fn send(&self, http: &mut impl Transport, number: usize) -> Result<Reply> {
        let Some((request, due)) = self.asks.get(number % self.asks.len().max(1)) else {
            return Err(Failure::internal("there are no requests"));
        };
        let began = Instant::now();
        let response = http.call(request).map_err(|error| blame::client(error.into()))?;
        let ms = began.elapsed().as_secs_f64() * 1e3;
        match response.status {
            200 if response.body == *due => Ok(Reply { ms, admitted: true }),
            200 => Err(Failure::internal("an answer differs from the first to the same query")),
            429 | 503 if response.retry_after.is_some() => Ok(Reply { ms, admitted: false }),
            status => {
                Err(Failure::internal(format!("the server refused a query of its own table: {status}")))
            }
        }
    }

    /// So many clients, each of which asks again when it has been answered.
    fn closed(&self, clients: usize, span: Duration) -> Result<Replies> {
        self.senders(clients, |number, _, since| (since < span).then_some((number, Duration::ZERO)))
    }

    /// Requests at their times, so many a second.
    fn open(&self, per_second: f64, span: Duration) -> Result<Replies> {
        let all = AtomicU64::new(0);
        self.senders(SENDERS, |_, _, _| {
            let next = all.fetch_add(1, Ordering::Relaxed);
            let at = Duration::from_secs_f64(next as f64 / per_second);
            (at < span).then_some((next as usize, at))
        })
    }

    /// Threads that send what `next` says, when it says so, until it says nothing.
    fn senders(
        &self,
        threads: usize,
        next: impl Fn(usize, usize, Duration) -> Option<(usize, Duration)> + Sync,
    ) -> Result<Replies> {
        let began = Instant::now();
        let send = |thread: usize| -> Result<Vec<Reply>> {
            let mut http = http(&self.server)?;
            let mut replies = Vec::new();
            while let Some((number, at)) = next(thread, replies.len(), began.elapsed()) {
                std::thread::sleep(at.saturating_sub(began.elapsed()));
                replies.push(self.send(&mut http, number)?);
            }
            Ok(replies)
        };
        let all = std::thread::scope(|scope| {
            let send = &send;
            let threads: Vec<_> = (0..threads).map(|thread| scope.spawn(move || send(thread))).collect();
            let mut all = Vec::new();
            for thread in threads {
                all.extend(thread.join().map_err(|_| Failure::internal("a client ended badly"))??);
            }
            Ok::<_, Failure>(all)
        })?;
        Ok(Replies::of(all, began.elapsed()))
    }
}

/// Asks a server of the newest epoch in `dir` for `times` as much as it can give.
pub(super) fn run(dir: &Path, times: f64, seconds: u64, options: &Options, screen: Screen) -> Result<Report> {
    let bars = screen.bars();
    bars.at("starting a server", 0, 0, Unit::Share);
    let image = TableDir::open(dir).and_then(|dir| dir.open_latest()).map_err(blame::db)?;
    let catalog = image.catalog().clone();
    if catalog.servers != 1 {
        let why = format!("{} asks {} servers, and one is measured here", catalog.scheme, catalog.servers);
        return Err(Failure::usage(why).fix("name a table of a scheme with one server"));
    }
    let threads = options.threads.unwrap_or(1);
    let mut config = Config {
        tables: vec![TableConfig::path(image.path())],
        threads,
        reload_seconds: 0,
        max_queue: QUEUE,
        connections_per_client: 2 * SENDERS,
        ..Config::on_free_ports()
    };
    config.batch.max_queries = PASS;
    config.deadline_ms = 60_000;
    let server = Server::start(&config).map_err(blame::start)?;
    read_through(&server)?;
    let asks = known(&server, &catalog.table, catalog.rows)?;
    let world = World { server, asks };

    bars.at("one client", 0, 3, Unit::Count("stretches"));
    let short = Duration::from_millis(if options.quick { 200 } else { 5000 });
    let quiet = median(world.closed(1, short)?.admitted.into_iter());
    bars.at("as many clients as keep it busy", 1, 3, Unit::Count("stretches"));
    let full = world.closed(BUSY, short)?;
    let before = (memory_mib(), descriptors());
    bars.at("more than it can give", 2, 3, Unit::Count("stretches"));
    let offered = full.per_second() * times;
    let storm = world.open(offered, Duration::from_secs(seconds))?;
    let over = Instant::now();
    let mut lone = http(&world.server)?;
    while !world.send(&mut lone, 0)?.admitted {
        std::thread::sleep(Duration::from_millis(5));
    }
    let recovered = over.elapsed();
    let after = (memory_mib(), descriptors());
    bars.finish();
    let sent = storm.admitted.len() + storm.refused.len();
    Ok(Report {
        table: catalog.table.to_string(),
        scheme: catalog.scheme.clone(),
        server_threads: threads,
        seconds,
        times_capacity: times,
        quiet_median_ms: quiet,
        capacity_per_second: full.per_second(),
        capacity_p99_ms: p99(&full.admitted),
        offered_per_second: sent as f64 / storm.took.as_secs_f64(),
        admitted_per_second: storm.per_second(),
        admitted_p99_ms: p99(&storm.admitted),
        refused: storm.refused.len(),
        refused_p99_ms: p99(&storm.refused),
        recovered_ms: recovered.as_secs_f64() * 1e3,
        memory_before_mib: before.0,
        memory_after_mib: after.0,
        descriptors_before: before.1,
        descriptors_after: after.1,
    })
}

/// Requests for some rows, and the answers that belong to them, which read right.
fn known(server: &Running, table: &sotto_catalog::TableName, rows: u64) -> Result<Vec<(Request, Vec<u8>)>> {
    let mut session = open(&[server], table)?;
    let mut rng = sotto_prg::system_rng().map_err(|_| blame::client(sotto_client::ClientError::NoEntropy))?;
    let mut asks = Vec::new();
    for at in 0..PASS as u64 {
        let row = at.wrapping_mul(0x9E37_79B9) % rows;
        let mut read = Vec::new();
        // Two queries for a row, under secrets of their own, read the same bytes.
        for _ in 0..2 {
            let ask = session.ask(&[row], &mut rng).map_err(blame::client)?;
            let [request] = ask.requests() else { return Err(Failure::internal("one server, one request")) };
            let request = request.clone();
            let answer = post(&mut http(server)?, &request)?;
            read.push(session.recover(ask, std::slice::from_ref(&answer)).map_err(blame::client)?);
            if read.len() == 1 {
                asks.push((request, answer.body));
            }
        }
        if read.first() != read.last() {
            return Err(Failure::internal("two queries for one row read different rows"));
        }
    }
    Ok(asks)
}

/// Memory of this process, in MiB; 0 where the system does not say.
fn memory_mib() -> f64 {
    sotto_pages::memory::resident().unwrap_or(0) as f64 / f64::from(1 << 20)
}

/// Open files of this process, connections included; 0 where the system does not say.
fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").map(Iterator::count).unwrap_or(0)
}
