//! Prints what the two-server variant takes on this machine: hints made to order, lookups, and both together.
//!
//! ```text
//! GLIBC_TUNABLES=glibc.malloc.hugetlb=1 cargo run --release -p s3pir --example supplies -- [log2 rows] [row bytes]
//! [lookups] [supplies]
//! ```
//!
//! One thread for each of client, server and helper, none at the same time as another; what supplies take is time of the
//! processor, where the system tells. The table is made in memory, every row
//! that comes back is compared, and indices are fresh for each lookup: more of them than a block has pairs order
//! more, and 10^9 use the key up.
//! `supplies` is how many blocks of hints are measured, all if not said;
//! the rest are then taken for zeros, and rows are not compared. What preparing took is scaled to all blocks.

use s3pir::TWO;
use sotto_core::{Image, RecordIndex, Result, Section, Shape};
use sotto_math::machine;
use sotto_testkit::rng::seeded;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

fn main() -> Result<()> {
    let args: Vec<u64> = std::env::args().skip(1).map_while(|arg| arg.parse().ok()).collect();
    let number = |i: usize, default: u64| args.get(i).copied().unwrap_or(default);
    let (log2, row_bytes, lookups) = (number(0, 20), number(1, 32), number(2, 2000));
    let params = (TWO.select)(&Shape::new(1 << log2, row_bytes, u64::MAX))?;
    let report = (TWO.report)(&params)?;
    println!("backend {}; 2^{log2} rows of {row_bytes} bytes", machine::backend());
    for (name, value) in &report.details {
        print!("{name} = {value}; ");
    }
    println!("client state {:.2} MB", report.costs.client_bytes as f64 / 1e6);
    let detail = |wanted: &str| {
        let found = report.details.iter().find(|(name, _)| *name == wanted);
        found.and_then(|(_, value)| value.parse::<u64>().ok()).unwrap_or(1)
    };
    let (hints, block) = (detail("M"), detail("H"));

    let table = table(report.records, report.record_bytes);
    let image: Arc<dyn Image> = table.clone();
    let server = (TWO.server.open)(&params, image)?;
    let (Some(supplier), rng) = (server.supplier(), &mut seeded("supplies")) else { return Ok(()) };
    let mut client = (TWO.prepare)(&params, rng)?.finish()?;
    let measured = number(3, hints / block).min(hints / block);
    let (mut made, mut taken) = (Vec::new(), Vec::new());
    for i in 0..=hints / block {
        let Some(upkeep) = client.upkeep() else { return Ok(()) };
        let Some(order) = upkeep.order()? else { break };
        // All blocks of hints take the same time; the last order is of pairs.
        let supply = if i < measured || i == hints / block {
            let (time, supply) = busy(|| supplier.supply(&order));
            made.push(time);
            supply
        } else {
            vec![0; supplier.supply_bytes()]
        };
        taken.push(busy(|| upkeep.stock(&supply)).0);
    }
    let (Some(pairs_made), Some(pairs_taken)) = (made.pop(), taken.pop()) else { return Ok(()) };
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len().max(1) as f64;
    let blocks = (hints / block) as f64;
    println!(
        "all hints      helper {:.3} s, client {:.3} s: {} supplies of {} B",
        mean(&made) * blocks,
        mean(&taken) * blocks,
        hints / block,
        supplier.supply_bytes()
    );
    let pairs = block as f64 / 2.0;
    let share = (pairs_made + pairs_taken) / pairs * 1e6;
    println!(
        "a block of {pairs} pairs  helper {:.3} s, client {:.3} s: {share:.2} us a pair",
        pairs_made, pairs_taken
    );

    let session = server.admit(&[])?;
    let mut parts: [Vec<f64>; 3] = Default::default();
    let mut wrong = 0;
    for i in 0..lookups.min(report.costs.budget) {
        let index = noise(i) % report.records;
        let (asked, (query, ticket)) = timed(|| client.query(RecordIndex(index), rng));
        let (answered, answer) = timed(|| server.answer_many(&[(&session, query[0].as_slice())]).remove(0));
        let answer = [answer];
        let (read, record) = timed(|| client.recover(ticket, &answer));
        let journal = client.state().map(|state| state.journal());
        black_box(journal);
        let at = (index * report.record_bytes) as usize;
        wrong += u64::from(record.bytes() != &table.0[at..][..record.bytes().len()]);
        for (part, time) in parts.iter_mut().zip([asked, answered, read]) {
            part.push(time * 1e6);
        }
        // Not timed: the share of a pair is known. The order comes a block ahead.
        let Some(upkeep) = client.upkeep() else { return Ok(()) };
        if let Some(order) = upkeep.order()?.filter(|_| lookups > pairs as u64) {
            upkeep.stock(&supplier.supply(&order)?)?;
        }
    }
    if measured == hints / block {
        println!("{wrong} of {} rows came back changed", parts[0].len());
    }
    let all = parts[0].len();
    print(&mut parts.each_mut().map(|times| &mut times[..all.min(SOME)]), "first", share);
    if all > 2 * SOME {
        print(&mut parts.each_mut().map(|times| &mut times[all - SOME..]), "last", share);
    }
    println!("a request {} B, an answer {} B", report.costs.query_bytes, report.costs.answer_bytes);
    println!("and of supplies {:.1} B a query", supplier.supply_bytes() as f64 / pairs);
    Ok(())
}

/// Lookups of which a median is printed.
const SOME: usize = 2000;

fn print(parts: &mut [&mut [f64]; 3], which: &str, share: f64) {
    let mut sum = [share; 2];
    for (name, times) in ["client: query", "server: answer", "client: recover"].iter().zip(parts) {
        times.sort_by(f64::total_cmp);
        let (median, least) = (times[times.len() / 2], times[0]);
        println!("{name:15} median {median:8.1} us, least {least:8.1}; the {which} {}", times.len());
        sum = [sum[0] + median, sum[1] + least];
    }
    println!(
        "online, and its share of a block of pairs: {:.1} us by medians, {:.1} at least",
        sum[0], sum[1]
    );
}

/// The rows, as a server's image of them.
struct Rows(Vec<u8>);

impl Image for Rows {
    fn section(&self, section: Section) -> Option<&[u8]> {
        (section == Section::Resident).then_some(&self.0)
    }
}

fn table(rows: u64, row_bytes: u64) -> Arc<Rows> {
    let mut bytes = vec![0; (rows * row_bytes) as usize];
    for (i, word) in bytes.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        *word = noise(i as u64).to_le_bytes();
    }
    Arc::new(Rows(bytes))
}

/// Numbers without pattern, quickly.
fn noise(i: u64) -> u64 {
    let z = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z ^ z >> 27
}

/// The same without the time in which the processor did something else.
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
