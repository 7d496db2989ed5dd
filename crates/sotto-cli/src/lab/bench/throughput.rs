//! `sotto bench server DIR`: how many lookups per second a server answers, over HTTP on loopback.
//!
//! The server is the real one, in this process. What asks it is not: a real client would spend this
//! machine's time and memory bandwidth on its own half. So one client makes a query for each asker, and the
//! askers post those bytes again and again. To the server they are queries like any other. Every answer
//! must be, byte for byte, the first one to its query, whatever else shared the pass. The first ones are the
//! same from both servers, and are decrypted: another query for the row, under another secret, must read the
//! same bytes, which answers that are wrong do not. Of a scheme that asks several servers the first is measured; the
//! others run beside it, to be asked what is decrypted.

use crate::failure::{Failure, Result};
use crate::lab::bench::load::{Counters, http, open, post, read_through, url};
use crate::screen::progress::StageUnit;
use crate::screen::{Screen, grid, units};
use serde::Serialize;
use sotto_bench::Options;
use sotto_client::transport::Request;
use sotto_core::ExpectOrDefault;
use sotto_db::TableDir;
use sotto_server::{RunningServer, Server, ServerConfig, TableConfig};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Number of alternating measurements of each setting, of which the figures are medians.
const ROUNDS: usize = 5;

/// Number of queries in a shared pass, as is a server's default.
const SHARED: usize = 8;

/// The result of one setting.
#[derive(Debug, Serialize)]
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
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    table: String,
    scheme: String,
    rows: u64,
    row_bytes: u64,
    server_threads: usize,
    backend: &'static str,
    answers_checked: u64,
    figures: Vec<ThroughputRow>,
}

impl Report {
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
        format!(
            "Table {}: {} rows of {} bytes, {}; server on {} thread(s), {} kernels; over HTTP on loopback.\n\n{}\n\n\
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
pub(crate) fn run(dir: &Path, clients: usize, options: &Options, screen: Screen) -> Result<Report> {
    let bars = screen.bars();
    bars.at("starting servers", 0, 0, StageUnit::Share);
    let image = TableDir::open(dir).and_then(|dir| dir.open_latest())?;
    let catalog = image.catalog().clone();
    let threads = options.threads.unwrap_or(1);
    let start = |max_queries, role| {
        let mut config = ServerConfig {
            tables: vec![TableConfig::path(image.path())],
            role,
            threads,
            reload_seconds: 0,
            ..ServerConfig::on_free_ports()
        };
        config.batch.max_queries = max_queries;
        config.request_memory_mib = config.request_memory_mib.max(4096);
        config.deadline_ms = 60_000;
        let server = Server::start(&config)?;
        read_through(&server)?;
        Ok(server)
    };
    let (alone, shared) = (start(1, 0)?, start(SHARED, 0)?);
    let others = (1..u8::try_from(catalog.servers).unwrap_or(u8::MAX)).map(|role| start(SHARED, role));
    let others = others.collect::<Result<Vec<_>>>()?;
    let urls: Vec<String> = std::iter::once(&shared).chain(&others).map(url).collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let mut session = open(&urls, &catalog.table)?;
    let mut rng = sotto_prg::system_rng()?;
    let row = |i: usize| (i as u64).wrapping_mul(0x9E37_79B9) % catalog.rows;
    let mut requests = Vec::new();
    let mut first = Vec::new();
    for i in 0..clients {
        let mut look_up = || -> Result<(Request, Vec<u8>, Vec<Vec<u8>>)> {
            let query = session.query(&[row(i)], &mut rng)?;
            let sent = urls.iter().zip(query.requests());
            let answers = sent.map(|(url, request)| post(&mut http(url)?, request));
            let answers = answers.collect::<Result<Vec<_>>>()?;
            let (Some(request), Some(answer)) = (query.requests().first().cloned(), answers.first().cloned())
            else {
                return Err(Failure::internal("a query without a server"));
            };
            if post(&mut http(&url(&alone))?, &request)?.body != answer.body {
                return Err(Failure::internal("two servers of one table answer a query differently"));
            }
            let rows = session.recover(query, &answers)?;
            Ok((request, answer.body, rows))
        };
        let (request, answer, rows) = look_up()?;
        if look_up()?.2 != rows {
            return Err(Failure::internal("two queries for one row read different rows"));
        }
        requests.push(request);
        first.push(answer);
        bars.at("first answers", i as u64 + 1, clients as u64, StageUnit::Count("clients"));
    }

    let span = Duration::from_millis(if options.quick { 200 } else { 2000 });
    let settings = [(&shared, SHARED, 1), (&alone, 1, clients), (&shared, SHARED, clients)];
    let mut rounds: Vec<Vec<Round>> = settings.iter().map(|_| Vec::new()).collect();
    let mut done = 0;
    for _ in 0..ROUNDS {
        for ((server, _, clients), rounds) in settings.iter().zip(&mut rounds) {
            rounds.push(round(
                server,
                requests.get(..*clients).expect_or_default("there are requests for all clients"),
                &first,
                span,
            )?);
            done += 1;
            bars.at("querying", done, (ROUNDS * settings.len()) as u64, StageUnit::Count("rounds"));
        }
    }
    bars.finish();
    let lone = rounds.first().map_or(1.0, |rounds| median(rounds.iter().map(Round::per_second)));
    let figures = settings.iter().zip(&rounds).map(|((_, max_queries, clients), rounds)| {
        let per_second = median(rounds.iter().map(Round::per_second));
        ThroughputRow {
            clients: *clients,
            queries_per_pass_at_most: *max_queries,
            queries_per_pass: median(rounds.iter().map(|round| round.batch)),
            lookups_per_second: per_second,
            median_ms: median(rounds.iter().map(|round| round.at(0.5))),
            slowest_of_20_ms: median(rounds.iter().map(|round| round.at(0.95))),
            times_one_client: per_second / lone,
        }
    });
    Ok(Report {
        table: catalog.table.to_string(),
        scheme: catalog.scheme.clone(),
        rows: catalog.rows,
        row_bytes: catalog.row_bytes,
        server_threads: threads,
        backend: sotto_math::machine::backend(),
        answers_checked: rounds.iter().flatten().map(|round| round.ms.len() as u64).sum(),
        figures: figures.collect(),
    })
}

/// One measurement of one setting.
struct Round {
    /// Milliseconds of every lookup, sorted.
    ms: Vec<f64>,
    took: Duration,
    batch: f64,
}

impl Round {
    fn per_second(&self) -> f64 {
        self.ms.len() as f64 / self.took.as_secs_f64()
    }

    /// The time below which this share of the lookups stayed.
    fn at(&self, share: f64) -> f64 {
        let index = (self.ms.len() as f64 * share) as usize;
        self.ms.get(index.min(self.ms.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
    }
}

fn round(server: &RunningServer, requests: &[Request], first: &[Vec<u8>], span: Duration) -> Result<Round> {
    let before = Counters::read(server.admin)?;
    let over = AtomicBool::new(false);
    let began = Instant::now();
    let mut ms = std::thread::scope(|scope| {
        let threads = requests.iter().zip(first).map(|(request, answer)| {
            let over = &over;
            scope.spawn(move || send_until(over, server, request, answer))
        });
        let threads: Vec<_> = threads.collect();
        std::thread::sleep(span);
        over.store(true, Ordering::Relaxed);
        let mut all = Vec::new();
        for thread in threads {
            all.extend(thread.join().map_err(|_| Failure::internal("a client thread panicked"))??);
        }
        Ok::<_, Failure>(all)
    })?;
    let took = began.elapsed();
    let batch = Counters::read(server.admin)?.batch_since(&before);
    ms.sort_by(f64::total_cmp);
    Ok(Round { ms, took, batch })
}

fn send_until(over: &AtomicBool, server: &RunningServer, request: &Request, due: &[u8]) -> Result<Vec<f64>> {
    let mut http = http(&url(server))?;
    let mut ms = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let began = Instant::now();
        let answer = post(&mut http, request)?;
        ms.push(began.elapsed().as_secs_f64() * 1e3);
        if answer.body != due {
            return Err(Failure::internal("an answer differs from the first answer to the same query"));
        }
    }
    Ok(ms)
}

pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
