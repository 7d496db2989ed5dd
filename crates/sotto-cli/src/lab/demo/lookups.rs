//! The private lookups of the demo, each compared with the data in the clear; the total cost of a
//! scheme's lookups; and many clients at once, whose queries share passes over the table.

use crate::failure::{Failure, Result};
use crate::lab::bench::load::Counters;
use crate::lab::demo::country::{BLOCK, Countries};
use crate::lab::demo::median;
use crate::lab::demo::setup::DemoScheme;
use crate::screen::units;
use serde_json::{Value, json};
use sotto_client::Table;
use sotto_client::table::Stats;
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
pub(crate) struct AddressLookup {
    pub(crate) address: Ipv4Addr,
    pub(crate) answer: String,
    pub(crate) expected: String,
    /// Whether the data has another country for this address than for the first one of its block.
    pub(crate) mixed: bool,
    pub(crate) spent: SpentOnLookup,
}

/// The cost of a lookup, and what the server saw of it.
pub(crate) struct SpentOnLookup {
    /// Time to make the queries and to recover the answers.
    pub(crate) client: Duration,
    /// Duration of the server's pass over the table.
    pub(crate) pass: Duration,
    pub(crate) round_trip: Duration,
    pub(crate) up: u64,
    pub(crate) down: u64,
    /// First bytes of the query, as sent.
    pub(crate) query_prefix: Vec<u8>,
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
            query_prefix: last.query_prefix.iter().take(PREFIX_BYTES).copied().collect(),
        })
    }

    /// Adds the cost to a lookup in JSON.
    pub(crate) fn json(&self, mut lookup: Value) -> Value {
        let ms = |time: Duration| json!(time.as_secs_f64() * 1e3);
        lookup["client_ms"] = ms(self.client);
        lookup["server_ms"] = ms(self.pass);
        lookup["round_trip_ms"] = ms(self.round_trip);
        lookup["up_bytes"] = json!(self.up);
        lookup["down_bytes"] = json!(self.down);
        lookup["query_prefix"] = json!(units::hex(&self.query_prefix));
        lookup
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
    let expected = plain.of(first);
    Ok(AddressLookup {
        address,
        answer: table.catalog().value.show(&value),
        expected: expected.map(|country| String::from_utf8_lossy(&country).into_owned()).unwrap_or_default(),
        mixed: plain.of(address) != expected,
        spent: SpentOnLookup::last(table)?,
    })
}

impl AddressLookup {
    /// Whether the private answer equals the data in the clear.
    pub(crate) fn right(&self) -> bool {
        self.answer == self.expected
    }

    pub(crate) fn json(&self) -> Value {
        self.spent.json(json!({
            "address": self.address,
            "answer": self.answer,
            "right": self.right(),
            "mixed_block": self.mixed,
        }))
    }
}

/// A scheme and the cost of its lookups.
pub(crate) struct SchemeRun {
    pub(crate) scheme: DemoScheme,
    stats: Stats,
    json: Vec<serde_json::Value>,
    pub(crate) right: usize,
    pub(crate) lookups: usize,
    pub(crate) up: u64,
    pub(crate) down: u64,
    /// Client's time per lookup.
    pub(crate) client: Duration,
    /// Server's time per lookup.
    pub(crate) pass: Duration,
    /// Time from key to value.
    pub(crate) trip: Duration,
}

impl SchemeRun {
    /// Computes the cost of the lookups in a table.
    pub(crate) fn new(scheme: DemoScheme, table: &Table, lookups: &[AddressLookup]) -> Self {
        SchemeRun {
            scheme,
            stats: table.stats(),
            json: lookups.iter().map(AddressLookup::json).collect(),
            right: lookups.iter().filter(|lookup| lookup.right()).count(),
            lookups: lookups.len(),
            up: lookups.first().map_or(0, |lookup| lookup.spent.up),
            down: lookups.first().map_or(0, |lookup| lookup.spent.down),
            client: median(lookups.iter().map(|lookup| lookup.spent.client)),
            pass: median(lookups.iter().map(|lookup| lookup.spent.pass)),
            trip: median(lookups.iter().map(|lookup| lookup.spent.client + lookup.spent.round_trip)),
        }
    }

    /// Bytes of the hint, fetched once.
    pub(crate) fn hint(&self) -> u64 {
        self.stats.artifacts.down
    }

    /// Bytes of the keys, registered once.
    pub(crate) fn keys(&self) -> u64 {
        self.stats.keys.up
    }

    /// Bytes of catalog, hint and keys.
    pub(crate) fn once(&self) -> u64 {
        self.stats.catalog.down + self.hint() + self.keys()
    }

    /// All bytes up to and including lookup number `n`.
    pub(crate) fn up_to(&self, n: u64) -> u64 {
        self.once() + n * (self.up + self.down)
    }

    /// Time to open the table.
    pub(crate) fn opening(&self) -> Duration {
        self.stats.opening
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        json!({
            "scheme": self.scheme.name(),
            "once": {
                "catalog_bytes": self.stats.catalog.down,
                "artifact_bytes": self.hint(),
                "keys_bytes": self.keys(),
            },
            "open_ms": ms(self.opening()),
            "client_ms": ms(self.client),
            "server_ms": ms(self.pass),
            "up_bytes": self.up,
            "down_bytes": self.down,
            "lookups": self.json,
        })
    }
}

/// The result of many clients at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome {
    pub(crate) clients: usize,
    pub(crate) per_second: f64,
    /// Average number of queries that shared one pass.
    pub(crate) batch: f64,
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
    let after = Counters::read(admin)?;
    Ok(Outcome { clients: count, per_second: lookups as f64 / took, batch: after.batch_since(&before) })
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
