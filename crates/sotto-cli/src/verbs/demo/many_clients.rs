//! Many clients at once: their queries share passes over the table, and the server's counters show
//! how many did.

use crate::exit_mapping;
use crate::failure::{Failure, Result};
use crate::verbs::server_counters::Counters;
use sotto_client::Table;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The result of many clients at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outcome {
    pub(super) clients: usize,
    pub(super) per_second: f64,
    /// Average number of queries that shared one pass.
    pub(super) batch: f64,
}

/// Lets every client look up rows, one after the other, for `span`.
pub(super) fn run(clients: Vec<Table>, rows: u64, admin: SocketAddr, span: Duration) -> Result<Outcome> {
    let before = Counters::read(admin)?;
    let count = clients.len();
    let over = AtomicBool::new(false);
    let began = Instant::now();
    let lookups = std::thread::scope(|scope| {
        let threads = clients.into_iter().enumerate().map(|(i, table)| {
            let over = &over;
            scope.spawn(move || look_up_until(over, table, i as u64, rows))
        });
        let threads: Vec<_> = threads.collect();
        std::thread::sleep(span);
        over.store(true, Ordering::Relaxed);
        let failed = |_| Failure::internal("a client thread panicked");
        threads.into_iter().map(|thread| thread.join().map_err(failed)?).sum::<Result<u64>>()
    })?;
    let took = began.elapsed().as_secs_f64();
    let after = Counters::read(admin)?;
    Ok(Outcome { clients: count, per_second: lookups as f64 / took, batch: after.batch_since(&before) })
}

fn look_up_until(over: &AtomicBool, mut table: Table, start: u64, rows: u64) -> Result<u64> {
    // An odd step far from any period of the table, so that each client visits all of it.
    const STEP: u64 = 0x9E37_79B9;
    let mut row = start.wrapping_mul(STEP) % rows;
    let mut done = 0;
    while !over.load(Ordering::Relaxed) {
        table.get(row).map_err(exit_mapping::client)?;
        row = row.wrapping_add(STEP) % rows;
        done += 1;
    }
    Ok(done)
}
