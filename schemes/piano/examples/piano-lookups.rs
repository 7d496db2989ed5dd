//! Prints what lookups take on this machine, each part by itself, beside what the parts are bound by.
//!
//! ```text
//! GLIBC_TUNABLES=glibc.malloc.hugetlb=1 cargo run --release -p piano --example piano-lookups -- [log2 rows] [row
//! bytes] [lookups]
//! ```
//!
//! One thread. The table is made in memory and streamed whole, and every row that comes back is compared. Indices are
//! fresh for each lookup: what was asked before is in a cache. The setting makes the C library ask for large pages.

use piano::Piano;
use piano::message::{Answer, Query};
use piano::params::Params;
use piano::places::Places;
use piano::prepare::Prepare;
use piano::server::Server;
use sotto_core::{
    Artifact, Client as _, Image, One, Params as _, Prepare as _, RecordIndex, Result, Section, Server as _,
    Shape, Stateful, Wire,
};
use sotto_math::aes::Aes;
use sotto_math::machine;
use sotto_testkit::rng::seeded;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

fn main() -> Result<()> {
    let args: Vec<u64> = std::env::args().skip(1).map_while(|arg| arg.parse().ok()).collect();
    let number = |i: usize, default: u64| args.get(i).copied().unwrap_or(default);
    let (log2, row_bytes, lookups) = (number(0, 20), number(1, 32), number(2, 2000));
    let params = Params::check(Params::select(&Shape::new(1 << log2, row_bytes, u64::MAX))?)?;
    let costs = params.report().costs;
    println!("backend {}; 2^{log2} rows of {row_bytes} bytes", machine::backend());
    println!(
        "c = {}, w = {}, M = {}, m = {}, Q = {}, {} candidates",
        params.partitions(),
        params.partition_rows(),
        params.hints(),
        params.backups(),
        params.queries(),
        params.candidates()
    );
    println!(
        "request {} B, answer {} B, client state {:.2} MB",
        costs.query_bytes,
        costs.answer_bytes,
        costs.client_bytes as f64 / 1e6
    );

    let table = table(&params);
    let rng = &mut seeded("lookups");
    let prepared = || {
        let mut prepare = Prepare::begin(&params, rng)?;
        table.bytes().chunks(1 << 20).try_for_each(|chunk| prepare.absorb(Artifact::Rows, chunk))?;
        prepare.finish()
    };
    let (time, mut client) = busy(prepared);
    println!("prepare {time:.3} s of the processor");
    let server = Server::open(&params, table.clone())?;

    let order = Places::new(&params);
    let mut parts: [Vec<f64>; 5] = Default::default();
    let mut wrong = 0;
    for i in 0..lookups.min(params.queries() as u64) {
        let index = noise(i) % params.rows();
        let mut request = Vec::with_capacity(params.request_bytes());
        let (made, (query, pending)) = timed(|| client.query(RecordIndex(index), rng));
        let (journal, entry) = timed(|| Ok(Piano::journal(&mut client)));
        let (encoded, query) = timed(|| {
            query.0.put(&params, &mut request);
            Query::take(&params, &request)
        });
        let (answered, answer) = timed(|| server.answer(&(), query));
        let mut bytes = Vec::with_capacity(params.row_bytes());
        answer.put(&params, &mut bytes);
        let (read, record) = timed(|| client.recover(pending, One(Answer::take(&params, &bytes)?)));
        let place = order.of(index);
        let at = usize::from(place.partition) * params.partition_rows() + usize::from(place.offset);
        let at = at * params.row_bytes();
        wrong += u64::from(record.bytes() != &table.bytes()[at..at + params.row_bytes()]);
        black_box(entry);
        for (part, time) in parts.iter_mut().zip([made, answered, read, encoded, journal]) {
            part.push(time * 1e6);
        }
    }
    println!("{wrong} of {} rows came back changed", parts[0].len());
    let names =
        ["client: query", "server: answer", "client: recover", "both: encode, decode", "client: journal"];
    let mut sum = 0.0;
    for (name, times) in names.iter().zip(&mut parts) {
        times.sort_by(f64::total_cmp);
        let (median, mean) = (times[times.len() / 2], times.iter().sum::<f64>() / times.len() as f64);
        println!("{name:22} median {median:8.1} us, mean {mean:8.1}, least {:8.1}", times[0]);
        sum += median;
    }
    println!("{:22} {sum:8.1} us", "sum of medians");
    let state = costs.client_bytes + params.queries() as u64 * (row_bytes + 5);
    println!("client state of the last query at most {:.2} MB", state as f64 / 1e6);
    let blocks = params.ids() as f64 / 8.0 + params.partitions() as f64;
    println!(
        "a query makes {blocks:.0} blocks of AES at least: {:.1} us at this machine's best",
        blocks * block()
    );
    Ok(())
}

/// The rows by their places, as a server's image of them: from a multiple of 64 on, as sections begin.
struct Rows {
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

impl Rows {
    fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.len]
    }
}

impl Image for Rows {
    fn section(&self, section: Section) -> Option<&[u8]> {
        (section == Section::Public(Artifact::Rows)).then(|| self.bytes())
    }
}

fn table(params: &Params) -> Arc<Rows> {
    let len = params.table_bytes() as usize;
    let mut bytes = vec![0; len + 64];
    let start = bytes.as_ptr().align_offset(64);
    for (i, word) in bytes[start..].as_chunks_mut::<8>().0.iter_mut().enumerate() {
        *word = noise(i as u64).to_le_bytes();
    }
    Arc::new(Rows { bytes, start, len })
}

/// Numbers without pattern, quickly.
fn noise(i: u64) -> u64 {
    let z = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z ^ z >> 27
}

/// The same without the time in which the processor did something else, where the system tells.
fn busy<T>(run: impl FnOnce() -> Result<T>) -> (f64, T) {
    let spent = || {
        std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split(' ').next()?.parse::<u64>().ok()
    };
    let before = spent();
    let (wall, value) = timed(run);
    (before.zip(spent()).map_or(wall, |(before, after)| (after - before) as f64 / 1e9), value)
}

/// Seconds, and what came of it. An error ends the example.
fn timed<T>(run: impl FnOnce() -> Result<T>) -> (f64, T) {
    let start = Instant::now();
    let result = run();
    let time = start.elapsed().as_secs_f64();
    match result {
        Ok(value) => (time, value),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}

/// Microseconds that a block takes: the best of many grids that fit the nearest cache.
fn block() -> f64 {
    let aes = Aes::new(&[1; 16]);
    let mut out = [[0; 16]; 1024];
    let grid = |i| {
        let start = Instant::now();
        aes.grid(i, 1, 0, 1024, black_box(&mut out));
        start.elapsed().as_secs_f64()
    };
    (0..1000).map(grid).fold(f64::INFINITY, f64::min) * 1e6 / 1024.0
}
