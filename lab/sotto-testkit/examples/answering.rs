//! Measures one answer, about a single record or about a record of each bucket: sizes, and medians
//! on one thread.
//!
//! `cargo run --release -p sotto-testkit --example answering -- SCHEME ROWS_OF_A_BUCKET ROW_BYTES BUCKETS [SET] [ROUNDS]`
//!
//! The time of an answer is the time that its thread was on a processor. Every recovered record is
//! compared with the table's.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program to measure with")]

use rand_core::Rng;
use sotto_core::{RecordIndex, TableShape};
use sotto_testkit::memory::{MemoryRows, MemorySink};
use sotto_testkit::rng::seeded;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time that this thread has been on a processor: other work on the machine does not count, except
/// for its effect on caches.
fn on_processor() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(stat.split(' ').next().unwrap().parse().unwrap())
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default: u64| args.get(i).and_then(|arg| arg.parse().ok()).unwrap_or(default);
    let [rows, row_bytes, buckets, rounds] = [number(1, 1 << 16), number(2, 32), number(3, 1), number(5, 7)];
    let entry = sotto_registry::SCHEMES.iter().rfind(|entry| entry.id.0.starts_with(&args[0])).unwrap();
    let set = args.get(4).filter(|set| set.as_str() != "-").cloned();
    let shape = TableShape { buckets, set, ..TableShape::new(rows * buckets, row_bytes, 100) };
    let params = (entry.select)(&shape).unwrap();
    let report = (entry.report)(&params).unwrap();
    println!("{}", String::from_utf8_lossy(&params));
    report.details.iter().for_each(|(name, value)| println!("  {name}: {value}"));
    let width = report.record_bytes as usize;
    let mut bytes = vec![0; report.records as usize * width];
    seeded("rows").fill_bytes(&mut bytes);
    let records = MemoryRows::new(width, bytes);
    let sink = MemorySink::new();
    let began = Instant::now();
    (entry.server.encode)(&params, &records, &sink).unwrap();
    println!("encoded in {:.2?}", began.elapsed());
    let server = (entry.server.open)(&params, Arc::new(sink.into_image())).unwrap();
    let rng = &mut seeded("client");
    let mut client = (entry.prepare)(&params, rng).unwrap().finish().unwrap();
    let session = server.admit(&client.keys()).unwrap();
    let each = report.records / buckets;
    let mut taken: [Vec<Duration>; 3] = Default::default();
    let mut sizes = [0; 2];
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for round in 0..rounds {
        let places: Vec<u64> = (0..buckets).map(|b| (b * 7919 + round * 104_729) % each).collect();
        let began = Instant::now();
        let (queries, ticket) = match client.batch() {
            Some(batch) => batch.query_buckets(&places, rng).unwrap(),
            None => client.query(RecordIndex(places[0]), rng).unwrap(),
        };
        taken[0].push(began.elapsed());
        let (answer, time) = pool.install(|| {
            let began = on_processor();
            let answer = server.answer_many(&[(&session, &queries[0])]).pop().unwrap().unwrap();
            (answer, on_processor() - began)
        });
        taken[1].push(time);
        sizes = [queries[0].len(), answer.len()];
        let began = Instant::now();
        let found = match client.batch() {
            Some(batch) => batch.recover_buckets(ticket, &[answer]).unwrap(),
            None => vec![client.recover(ticket, &[answer]).unwrap()],
        };
        taken[2].push(began.elapsed());
        for ((bucket, place), record) in (0..).zip(&places).zip(found) {
            let at = (bucket * each + place) as usize * width;
            assert!(record.bytes() == &records.bytes()[at..at + width], "bucket {bucket}, place {place}");
        }
    }
    let median = |mut of: Vec<Duration>| {
        of.sort();
        of[of.len() / 2]
    };
    let least = taken[1].iter().min().copied().unwrap_or_default();
    let [ask, answer, read] = taken.map(median);
    println!(
        "estimated {:.1?}, security {:.1} bits, failure 2^{:.1}",
        sotto_core::work::time(report.costs.server_ops),
        report.security.bits,
        report.failure_log2
    );
    println!("keys {} B, image {:.1} MB", report.costs.keys_bytes, report.costs.resident_bytes as f64 / 1e6);
    println!(
        "query {} B, answer {} B; asked in {ask:.2?}, answered in {answer:.2?} (at least {least:.2?}), read in {read:.2?}",
        sizes[0], sizes[1]
    );
}
