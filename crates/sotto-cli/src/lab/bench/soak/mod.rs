//! `sotto bench soak DIR`: runs a server for a long time, with everything that happens meanwhile.
//!
//! A table like the one in DIR is made of synthetic rows, and served by a process of its own.
//! Clients send half of the requests that it can answer, or another share; epochs are published,
//! keys registered again, connections broken at all points. Every answer is compared with the
//! content of the row. In the end the process must hold no more memory and no more open files than
//! when all of it had happened a few times.
//!
//! | module | contents |
//! |---|---|
//! | `publisher` | the table, its rows at each epoch, and its next epoch |
//! | `server` | the process that serves it, and its resources over all that time |
//! | `clients` | clients that make lookups, and clients that break off |
//! | `report` | what all clients share, their results, and the final report |

mod clients;
mod publisher;
mod report;
mod server;

use crate::failure::{Failure, Result};
use crate::files;
use crate::lab::bench::load::p99;
use crate::lab::bench::load::{BUSY, LoadGenerator};
use crate::lab::bench::soak::publisher::{EpochParameters, Publisher};
pub(crate) use crate::lab::bench::soak::report::Report;
use crate::lab::bench::soak::report::{SoakContext, SoakResults};
use crate::lab::bench::soak::server::{ResourceUse, ServerProcess, UsageSample};
use crate::lab::bench::soak::server::{ServerEnd, mib};
use crate::lab::bench::throughput::median;
use crate::screen::Screen;
use crate::screen::progress::StageUnit;
use sotto_bench::Options;
use sotto_db::TableDir;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Number of clients that make lookups all the time.
const STEADY: u64 = 6;

/// Options of a soak.
pub(crate) struct Soak {
    /// Load as a share of the server's capacity.
    pub(crate) load_factor: f64,
    pub(crate) seconds: u64,
    /// Maximum growth of memory in percent.
    pub(crate) max_growth: f64,
}

/// Runs a soak of a server with a table like the newest epoch in `dir`.
pub(crate) fn run(dir: &Path, soak: &Soak, options: &Options, screen: Screen) -> Result<Report> {
    let bars = screen.bars();
    bars.at("encoding a similar table", 0, 0, StageUnit::Share);
    let catalog = TableDir::open(dir).and_then(|dir| dir.open_latest())?.catalog().clone();
    if catalog.servers != 1 {
        let why = format!("scheme {} has {} servers, expected 1", catalog.scheme, catalog.servers);
        return Err(Failure::usage(why).fix("give a table of a scheme with one server"));
    }
    let scratch = match &options.scratch {
        Some(dir) => tempfile::tempdir_in(dir),
        None => tempfile::tempdir(),
    };
    let scratch = scratch
        .map_err(|error| Failure::internal(format!("cannot create a folder for the table: {error}")))?;
    let mut publisher = Publisher::new(scratch.path(), &catalog)?;
    // Two epochs are live from the start, as they are from then on.
    publisher.next()?;
    let threads = options.threads.unwrap_or(1);
    let server = ServerProcess::start(scratch.path(), publisher.dir(), threads)?;
    end_with_this(&server, scratch.path())?;
    server.serves(&catalog.table, publisher.epoch())?;
    bars.at("measuring the capacity", 0, 0, StageUnit::Share);
    let span = Duration::from_millis(if options.quick { 300 } else { 5000 });
    let capacity = LoadGenerator::new(&server.url, &catalog.table, catalog.rows)?
        .closed(BUSY, span)?
        .per_second()
        .max(1.0);
    let offered = capacity * soak.load_factor;
    // Measured once everything was used, and its clients are gone.
    std::thread::sleep(Duration::from_millis(500));
    let start = server.usage();

    let rows = publisher.rows();
    let context = SoakContext {
        url: server.url.clone(),
        table: &catalog.table,
        rows,
        over: AtomicBool::new(false),
        results: Mutex::new(SoakResults::default()),
    };
    let whole = Duration::from_secs(soak.seconds);
    let every = |parts: u32, min: Duration, max: u64| (whole / parts).clamp(min, Duration::from_secs(max));
    let (update, pause) =
        (every(12, Duration::from_millis(500), 60), every(100, Duration::from_millis(50), 2));
    let began = Instant::now();
    let samples = std::thread::scope(|scope| {
        let (context, server) = (&context, &server);
        for client in 0..STEADY {
            let each = Duration::from_secs_f64(STEADY as f64 / offered);
            scope.spawn(move || clients::steady(context, client, each));
        }
        scope.spawn(move || clients::newcomers(context, pause));
        scope.spawn(move || clients::break_off(context, pause));
        let published = scope.spawn(move || publish(context, server, publisher, update));
        let mut samples = Vec::new();
        while began.elapsed() < whole && !published.is_finished() {
            std::thread::sleep(every(720, Duration::from_millis(20), 1));
            samples.push(UsageSample { at: began.elapsed(), usage: server.usage() });
            bars.at("soaking", began.elapsed().as_secs(), soak.seconds, StageUnit::Count("seconds"));
        }
        context.over.store(true, Ordering::Relaxed);
        let published = published.join().map_err(|_| Failure::internal("the publisher thread panicked"))?;
        published.map(|()| samples)
    })?;
    let took = began.elapsed();
    bars.at("waiting for requests in flight", 0, 0, StageUnit::Share);
    let end = settled(&server, start.descriptors);
    let open_files = if end.descriptors > start.descriptors { server.open_files() } else { Vec::new() };
    let (state_bytes, log) = (server.state_bytes(), server.log());
    let ended = server.end();
    bars.finish();
    let results = context.results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let usage = ResourceUse::of(&samples, whole);
    let mut ms: Vec<f64> = results.ms.iter().map(|ms| f64::from(*ms)).collect();
    ms.sort_by(f64::total_cmp);
    let published = &results.published;
    Ok(Report {
        table: catalog.table.to_string(),
        scheme: catalog.scheme.clone(),
        rows: catalog.rows,
        row_bytes: catalog.row_bytes,
        server_threads: threads,
        seconds: took.as_secs_f64(),
        capacity_per_second: capacity,
        offered_per_second: offered,
        answered_per_second: ms.len() as f64 / took.as_secs_f64(),
        lookups: ms.len() as u64,
        median_ms: ms.get(ms.len() / 2).copied().unwrap_or(0.0),
        p99_ms: p99(&ms),
        slowest_ms: ms.last().copied().unwrap_or(0.0),
        epochs: published.len(),
        published_slowest_seconds: published.iter().copied().fold(0.0, f64::max),
        published_median_seconds: match published.len() {
            0 => 0.0,
            _ => median(published.iter().copied()),
        },
        memory_start_mib: mib(start.resident),
        memory_warm_mib: mib(usage.warm.resident),
        memory_end_mib: mib(usage.last.resident),
        memory_peak_mib: mib(usage.peak.resident),
        memory_idle_mib: mib(end.resident),
        anonymous_warm_mib: mib(usage.warm.anonymous),
        anonymous_end_mib: mib(usage.last.anonymous),
        may_grow_percent: soak.max_growth,
        descriptors_start: start.descriptors,
        descriptors_end: end.descriptors,
        descriptors_peak: usage.peak.descriptors,
        open_files,
        kept_mib: mib(state_bytes),
        server_log: log.lines().take(20).map(str::to_owned).collect(),
        server_ended_well: ended == ServerEnd::Success,
        samples: usage.points,
        results,
    })
}

/// Publishes an epoch at intervals, until the end.
fn publish(
    context: &SoakContext<'_>,
    server: &ServerProcess,
    mut publisher: Publisher,
    every: Duration,
) -> Result<()> {
    let mut due = Instant::now() + every;
    while !context.is_over() {
        if Instant::now() < due {
            std::thread::sleep(Duration::from_millis(20));
            continue;
        }
        let began = Instant::now();
        due = began + every;
        let parameters = publisher.next()?;
        server.serves(context.table, publisher.epoch())?;
        let mut results = context.results();
        results.published.push(began.elapsed().as_secs_f64());
        results.new_parameters += u64::from(parameters == EpochParameters::New);
    }
    Ok(())
}

/// The resources of the server once the last connections are closed, which takes the timeout of a
/// silent one.
fn settled(server: &ServerProcess, descriptors: usize) -> server::ProcessUsage {
    let began = Instant::now();
    loop {
        let usage = server.usage();
        if usage.descriptors <= descriptors || began.elapsed() > Duration::from_secs(30) {
            return usage;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// A signal that ends this process ends the server too, and removes the folder.
fn end_with_this(server: &ServerProcess, scratch: &Path) -> Result<()> {
    let (id, scratch) = (server.id(), scratch.to_owned());
    let tidy = move || {
        server::stop(id);
        std::fs::remove_dir_all(&scratch)
    };
    files::on_end(tidy).map_err(|error| Failure::internal(format!("cannot listen for signals: {error}")))
}
