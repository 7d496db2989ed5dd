//! Many clients at once: their queries share passes over the table, and the server's own counters say how
//! many did.

use crate::blame;
use crate::failure::{Failure, Result};
use sotto_client::Table;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What a crowd got.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outcome {
    pub(super) clients: usize,
    pub(super) per_second: f64,
    /// Queries that shared one pass, on average.
    pub(super) batch: f64,
}

/// Lets every client look up rows, one after the other, for `span`.
pub(super) fn run(clients: Vec<Table>, rows: u64, admin: SocketAddr, span: Duration) -> Result<Outcome> {
    let before = Counters::read(admin)?;
    let count = clients.len();
    let over = AtomicBool::new(false);
    let began = Instant::now();
    let lookups = std::thread::scope(|scope| {
        let asking = clients.into_iter().enumerate().map(|(i, table)| {
            let over = &over;
            scope.spawn(move || ask_until(over, table, i as u64, rows))
        });
        let asking: Vec<_> = asking.collect();
        std::thread::sleep(span);
        over.store(true, Ordering::Relaxed);
        let gone = |_| Failure::internal("a client of the crowd ended badly");
        asking.into_iter().map(|thread| thread.join().map_err(gone)?).sum::<Result<u64>>()
    })?;
    let took = began.elapsed().as_secs_f64();
    let after = Counters::read(admin)?;
    let passes = after.passes.saturating_sub(before.passes).max(1);
    let queries = after.queries.saturating_sub(before.queries);
    Ok(Outcome { clients: count, per_second: lookups as f64 / took, batch: queries as f64 / passes as f64 })
}

fn ask_until(over: &AtomicBool, mut table: Table, start: u64, rows: u64) -> Result<u64> {
    // An odd step far from any period of the table: each client wanders over all of it.
    const STEP: u64 = 0x9E37_79B9;
    let mut row = start.wrapping_mul(STEP) % rows;
    let mut done = 0;
    while !over.load(Ordering::Relaxed) {
        table.get(row).map_err(blame::client)?;
        row = row.wrapping_add(STEP) % rows;
        done += 1;
    }
    Ok(done)
}

/// Two of the server's counters, summed over tables.
#[derive(Debug, PartialEq, Eq)]
struct Counters {
    queries: u64,
    passes: u64,
}

impl Counters {
    /// Reads `/metrics`. The server is our own and on loopback, so a plain request will do.
    fn read(admin: SocketAddr) -> Result<Self> {
        let fetch = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect(admin)?;
            stream.set_read_timeout(Some(Duration::from_secs(5)))?;
            stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
            let mut text = String::new();
            stream.take(1 << 20).read_to_string(&mut text)?;
            Ok(text)
        };
        let failed = |error| Failure::internal(format!("the server's metrics cannot be read: {error}"));
        Ok(Counters::parse(&fetch().map_err(failed)?))
    }

    fn parse(text: &str) -> Self {
        let sum = |name: &str| {
            let samples = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('{'));
            samples.filter_map(|sample| sample.rsplit(' ').next()?.parse::<u64>().ok()).sum()
        };
        Counters { queries: sum("sotto_queries_total"), passes: sum("sotto_passes_total") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_summed_over_tables() {
        let text = "HTTP/1.1 200 OK\r\n\r\n# TYPE sotto_passes counter\nsotto_passes_total{table=\"a\"} 3\n\
                    sotto_passes_total{table=\"b\"} 4\nsotto_queries_total{table=\"a\"} 20\nsotto_asks_total{table=\"a\"} 9\n";
        assert_eq!(Counters::parse(text), Counters { queries: 20, passes: 7 });
    }
}
