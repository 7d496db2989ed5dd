//! The private lookups of the demo, each compared with the data in the clear; the total cost of a
//! scheme's lookups; and many clients at once, whose queries share passes over the table.
//!
//! The data in the clear is read by code that is independent of the encoder. The two alternatives to
//! a private lookup are to download everything, and to query in the clear. Both run over a bare TCP
//! connection on loopback, the least that any protocol could cost.

use crate::failure::{Failure, FileContext, Result};
use crate::lab::bench::load::Counters;
use crate::lab::demo::median;
use crate::lab::demo::setup::{BLOCK, DemoScheme};
use crate::screen::units;
use flate2::read::MultiGzDecoder;
use schemars::JsonSchema;
use serde::Serialize;
use sotto_client::Table;
use sotto_core::ExpectOrDefault;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Path of the data in the project.
const DEFAULT: &str = "data/ip-country/asn-country-ipv4-num.csv.gz";

/// Finds the data: at the given path, or in the project.
pub(crate) fn find_data(path: Option<&Path>) -> Result<PathBuf> {
    super::find(path, DEFAULT, Path::is_file).ok_or_else(|| {
        Failure::missing(format!("the demo's data is missing: {DEFAULT}"))
            .fix("run the demo in a checkout of the project, or give --data FILE")
    })
}

/// Ranges of addresses and their countries, sorted.
pub(crate) struct Countries {
    ranges: Vec<(u32, u32, [u8; 2])>,
}

impl Countries {
    /// Reads `first,last,CC` lines, gzip-compressed.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let file = File::open(path).doing("opening", path)?;
        let mut ranges = Vec::new();
        for (i, line) in BufReader::new(MultiGzDecoder::new(file)).lines().enumerate() {
            let line = line.doing("reading", path)?;
            let range = parse(&line).filter(|(first, last, _)| first <= last).ok_or_else(|| {
                let at = format!("{}, line {}", path.display(), i + 1);
                Failure::input(format!("{at}: expected `first,last,CC`")).fix("use the file of the project")
            })?;
            ranges.push(range);
        }
        ranges.sort_unstable();
        Ok(Countries { ranges })
    }

    /// The number of ranges.
    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// The whole table in the clear: two bytes per block, zero if the first address has no country.
    pub(crate) fn table(&self) -> Vec<u8> {
        let mut table = vec![0; 2 << 24];
        for (first, last, country) in &self.ranges {
            let blocks = first.div_ceil(BLOCK)..=last / BLOCK;
            let (start, end) = (*blocks.start() as usize * 2, (*blocks.end() as usize + 1) * 2);
            for row in table
                .get_mut(start..end)
                .expect_or_default("all IPv4 blocks are in the table")
                .chunks_exact_mut(2)
            {
                row.copy_from_slice(country);
            }
        }
        table
    }

    /// The country of one address, by binary search.
    pub(crate) fn of(&self, address: Ipv4Addr) -> Option<[u8; 2]> {
        let key = u32::from(address);
        let after = self.ranges.partition_point(|(first, ..)| *first <= key);
        let (_, last, country) = self.ranges.get(after.checked_sub(1)?)?;
        (key <= *last).then_some(*country)
    }
}

fn parse(line: &str) -> Option<(u32, u32, [u8; 2])> {
    let mut fields = line.trim_end().split(',');
    let range = (
        fields.next()?.parse().ok()?,
        fields.next()?.parse().ok()?,
        fields.next()?.as_bytes().try_into().ok()?,
    );
    fields.next().is_none().then_some(range)
}

/// The cost of an alternative.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub(crate) struct Cost {
    #[serde(rename = "up_bytes")]
    pub(crate) up: u64,
    #[serde(rename = "down_bytes")]
    pub(crate) down: u64,
    #[serde(rename = "ms", serialize_with = "units::ms")]
    #[schemars(with = "f64")]
    pub(crate) time: Duration,
}

/// Queries row `row` of `table` in the clear, with `row_bytes` bytes to a row; returns the row as
/// well.
pub(crate) fn in_the_clear(
    table: &Arc<Vec<u8>>,
    row: u32,
    row_bytes: usize,
) -> std::io::Result<(Cost, Vec<u8>)> {
    let table = Arc::clone(table);
    let address = once(move |mut stream| {
        let mut row = [0; 4];
        stream.read_exact(&mut row)?;
        let start = u32::from_le_bytes(row) as usize * row_bytes;
        stream.write_all(
            table.get(start..start + row_bytes).expect_or_default("the demo looks up a row of the table"),
        )
    })?;
    let began = Instant::now();
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.write_all(&row.to_le_bytes())?;
    let mut answer = Vec::with_capacity(row_bytes);
    stream.read_to_end(&mut answer)?;
    let cost = Cost { up: 4, down: answer.len() as u64, time: began.elapsed() };
    Ok((cost, answer))
}

/// Downloads all of `table`.
pub(crate) fn download(table: &Arc<Vec<u8>>) -> std::io::Result<Cost> {
    let bytes = table.len();
    let table = Arc::clone(table);
    let address = once(move |mut stream| stream.write_all(&table))?;
    let began = Instant::now();
    let mut all = Vec::with_capacity(bytes);
    TcpStream::connect(address)?.read_to_end(&mut all)?;
    Ok(Cost { up: 0, down: all.len() as u64, time: began.elapsed() })
}

/// Serves one connection on loopback, and ends.
fn once(
    serve: impl FnOnce(TcpStream) -> std::io::Result<()> + Send + 'static,
) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    // An error at this end appears to the reader at the other end as too few bytes.
    std::thread::spawn(move || listener.accept().and_then(|(stream, _)| serve(stream)));
    Ok(address)
}

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
#[derive(Serialize, JsonSchema)]
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
#[derive(Serialize, JsonSchema)]
pub(crate) struct SpentOnLookup {
    /// Time to make the queries and to recover the answers.
    #[serde(rename = "client_ms", serialize_with = "units::ms")]
    #[schemars(with = "f64")]
    pub(crate) client: Duration,
    /// Duration of the server's pass over the table.
    #[serde(rename = "server_ms", serialize_with = "units::ms")]
    #[schemars(with = "f64")]
    pub(crate) pass: Duration,
    #[serde(rename = "round_trip_ms", serialize_with = "units::ms")]
    #[schemars(with = "f64")]
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
#[derive(Serialize, JsonSchema)]
pub(crate) struct SchemeRun {
    #[serde(skip)]
    pub(crate) scheme: &'static str,
    pub(crate) once: BytesOnce,
    #[serde(rename = "open_ms", serialize_with = "units::ms")]
    #[schemars(with = "f64")]
    pub(crate) opening: Duration,
    /// Client's time per lookup.
    #[serde(rename = "client_ms", serialize_with = "units::ms")]
    #[schemars(with = "f64")]
    pub(crate) client: Duration,
    /// Server's time per lookup.
    #[serde(rename = "server_ms", serialize_with = "units::ms")]
    #[schemars(with = "f64")]
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
#[derive(Serialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_falls_into_its_range_or_none() {
        let countries = Countries { ranges: vec![(256, 511, *b"AU"), (1024, 1024, *b"CN")] };
        for (key, country) in [
            (255, None),
            (256, Some(*b"AU")),
            (511, Some(*b"AU")),
            (512, None),
            (1024, Some(*b"CN")),
            (1025, None),
        ] {
            assert_eq!(countries.of(Ipv4Addr::from(key)), country, "{key}");
        }
    }

    #[test]
    fn a_block_has_the_country_of_its_first_address() {
        let ranges = vec![
            (256, 511, *b"AU"),
            (520, 1023, *b"CN"),
            (1024, 1100, *b"JP"),
            (u32::MAX - 255, u32::MAX, *b"ZZ"),
        ];
        let countries = Countries { ranges };
        let table = countries.table();
        for block in [0, 1, 2, 3, 4, 5, (1 << 24) - 1] {
            let expected = countries.of(Ipv4Addr::from(block * BLOCK)).unwrap_or_default();
            assert_eq!(table[block as usize * 2..][..2], expected, "block {block}");
        }
    }

    #[test]
    fn lines_are_taken_whole_or_not_at_all() {
        assert_eq!(parse("1,2,AU"), Some((1, 2, *b"AU")));
        for line in ["", "1,2", "1,2,AUS", "1,2,AU,x", "1,4294967296,AU", "-1,2,AU"] {
            assert_eq!(parse(line), None, "{line}");
        }
    }

    #[test]
    fn both_bring_the_bytes_they_count() {
        let table = Arc::new((0..=255u8).collect::<Vec<_>>());
        let (cost, row) = in_the_clear(&table, 3, 2).unwrap();
        assert_eq!((cost.up, cost.down, row), (4, 2, vec![6, 7]));
        assert_eq!(download(&table).unwrap().down, 256);
    }
}
