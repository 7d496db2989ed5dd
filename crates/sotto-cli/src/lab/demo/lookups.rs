//! The private lookups of the demo, each compared with the data in the clear; the total cost of a
//! scheme's lookups; and many clients at once, whose queries share passes over the table.

use crate::failure::{Failure, Result};
use crate::lab::bench::load::Counters;
use crate::lab::demo::country::{BLOCK, Countries};
use crate::lab::demo::median;
use crate::lab::demo::setup::DemoScheme;
use crate::screen::units;
use serde::Serialize;
use sotto_client::Table;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Addresses that are always looked up: two resolvers, a registry in Europe, one in Brazil, and an
/// address of the block reserved for documentation, which has no country.
pub(crate) const WELL_KNOWN: [Ipv4Addr; 5] = [
    Ipv4Addr::new(8, 8, 8, 8),
    Ipv4Addr::new(1, 1, 1, 1),
    Ipv4Addr::new(193, 0, 6, 139),
    Ipv4Addr::new(200, 160, 2, 3),
    Ipv4Addr::new(203, 0, 113, 7),
];

/// Number of bytes of each query that are shown.
const PREFIX_BYTES: usize = 16;

/// The result of one private lookup.
#[derive(Serialize)]
pub(crate) struct AddressLookup {
    pub(crate) address: Ipv4Addr,
    pub(crate) answer: String,
    /// Answer according to the data in the clear.
    #[serde(skip)]
    pub(crate) expected: String,
    /// Whether the private answer equals it.
    pub(crate) right: bool,
    /// Whether the data has another country for this address than for the first one of its block.
    #[serde(rename = "mixed_block")]
    pub(crate) mixed: bool,
    #[serde(flatten)]
    pub(crate) spent: SpentOnLookup,
}

/// The cost of a lookup, and what the server saw of it.
#[derive(Serialize)]
pub(crate) struct SpentOnLookup {
    /// Time to make the queries and to recover the answers.
    #[serde(rename = "client_ms", serialize_with = "units::ms")]
    pub(crate) client: Duration,
    /// Duration of the server's pass over the table.
    #[serde(rename = "server_ms", serialize_with = "units::ms")]
    pub(crate) pass: Duration,
    #[serde(rename = "round_trip_ms", serialize_with = "units::ms")]
    pub(crate) round_trip: Duration,
    #[serde(rename = "up_bytes")]
    pub(crate) up: u64,
    #[serde(rename = "down_bytes")]
    pub(crate) down: u64,
    /// First bytes of the query, as sent, in hexadecimal.
    pub(crate) query_prefix: String,
}

impl SpentOnLookup {
    /// The cost of the table's last lookup.
    pub(crate) fn last(table: &Table) -> Result<Self> {
        let missing = || Failure::internal("a lookup over loopback has no times");
        let last = table.last_lookup().ok_or_else(missing)?;
        Ok(SpentOnLookup {
            client: last.query + last.recover,
            pass: last.timing().ok_or_else(missing)?.pass,
            round_trip: last.round_trip,
            up: last.up,
            down: last.down,
            query_prefix: units::hex(last.query_prefix.get(..PREFIX_BYTES).unwrap_or(&last.query_prefix)),
        })
    }

    /// The columns of a table of lookups from the client's time on.
    pub(crate) fn cells(&self) -> impl Iterator<Item = String> {
        let times = [self.client, self.pass, self.round_trip].map(units::millis);
        times.into_iter().chain([self.up, self.down].map(units::count))
    }
}

/// Looks up `addresses`, one request each.
pub(crate) fn run(
    table: &mut Table,
    addresses: &[Ipv4Addr],
    plain: &Countries,
) -> Result<Vec<AddressLookup>> {
    addresses.iter().map(|address| look_up(table, *address, plain)).collect()
}

fn look_up(table: &mut Table, address: Ipv4Addr, plain: &Countries) -> Result<AddressLookup> {
    let value = table.get_key(&address.to_string())?;
    // The table has one row per block: that of its first address.
    let first = Ipv4Addr::from(u32::from(address) / BLOCK * BLOCK);
    let country = plain.of(first);
    let answer = table.catalog().value.show(&value);
    let expected = country.map(|country| String::from_utf8_lossy(&country).into_owned()).unwrap_or_default();
    let (right, mixed) = (answer == expected, plain.of(address) != country);
    Ok(AddressLookup { address, answer, expected, right, mixed, spent: SpentOnLookup::last(table)? })
}

/// A scheme and the cost of its lookups, each of which is a median or that of the first.
#[derive(Serialize)]
pub(crate) struct SchemeRun {
    pub(crate) scheme: &'static str,
    pub(crate) once: BytesOnce,
    #[serde(rename = "open_ms", serialize_with = "units::ms")]
    pub(crate) opening: Duration,
    /// Client's time per lookup.
    #[serde(rename = "client_ms", serialize_with = "units::ms")]
    pub(crate) client: Duration,
    /// Server's time per lookup.
    #[serde(rename = "server_ms", serialize_with = "units::ms")]
    pub(crate) pass: Duration,
    /// Time from key to value.
    #[serde(skip)]
    pub(crate) trip: Duration,
    #[serde(rename = "up_bytes")]
    pub(crate) up: u64,
    #[serde(rename = "down_bytes")]
    pub(crate) down: u64,
    pub(crate) lookups: Vec<AddressLookup>,
}

/// Bytes that a client of a scheme fetches or registers once.
#[derive(Serialize)]
pub(crate) struct BytesOnce {
    catalog_bytes: u64,
    pub(crate) artifact_bytes: u64,
    pub(crate) keys_bytes: u64,
}

impl SchemeRun {
    /// Computes the cost of the lookups in a table.
    pub(crate) fn new(scheme: DemoScheme, table: &Table, lookups: Vec<AddressLookup>) -> Self {
        let stats = table.stats();
        let spent = || lookups.iter().map(|lookup| &lookup.spent);
        SchemeRun {
            scheme: scheme.name(),
            once: BytesOnce {
                catalog_bytes: stats.catalog.down,
                artifact_bytes: stats.artifacts.down,
                keys_bytes: stats.keys.up,
            },
            opening: stats.opening,
            client: median(spent().map(|spent| spent.client)),
            pass: median(spent().map(|spent| spent.pass)),
            trip: median(spent().map(|spent| spent.client + spent.round_trip)),
            up: spent().next().map_or(0, |spent| spent.up),
            down: spent().next().map_or(0, |spent| spent.down),
            lookups,
        }
    }

    /// Bytes of catalog, hint and keys.
    pub(crate) fn once_bytes(&self) -> u64 {
        self.once.catalog_bytes + self.once.artifact_bytes + self.once.keys_bytes
    }

    /// Fails if an answer is wrong, which is a fault of sotto.
    pub(crate) fn check(&self) -> Result<()> {
        match self.lookups.iter().find(|lookup| !lookup.right) {
            None => Ok(()),
            Some(wrong) => Err(wrong_answer(&wrong.address)),
        }
    }
}

/// The failure for a wrong answer.
pub(crate) fn wrong_answer(name: &impl std::fmt::Display) -> Failure {
    Failure::internal(format!("the answer for {name} is wrong"))
        .fix("please report it, since a lookup fails with probability 2^-40 at most")
}

/// The result of many clients at once.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Outcome {
    pub(crate) clients: usize,
    pub(crate) lookups_per_second: f64,
    /// Average number of queries that shared one pass.
    pub(crate) queries_per_pass: f64,
}

/// Lets every client look up rows, one after the other, for `span`.
pub(crate) fn run_many(clients: Vec<Table>, rows: u64, admin: SocketAddr, span: Duration) -> Result<Outcome> {
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
    let queries_per_pass = Counters::read(admin)?.batch_since(&before);
    Ok(Outcome { clients: count, lookups_per_second: lookups as f64 / took, queries_per_pass })
}

fn look_up_until(over: &AtomicBool, mut table: Table, start: u64, rows: u64) -> Result<u64> {
    // An odd step far from any period of the table, so that each client visits all of it.
    const STEP: u64 = 0x9E37_79B9;
    let mut row = start.wrapping_mul(STEP) % rows;
    let mut done = 0;
    while !over.load(Ordering::Relaxed) {
        table.get(row)?;
        row = row.wrapping_add(STEP) % rows;
        done += 1;
    }
    Ok(done)
}
