//! Measures a table in parts: for one lookup the whole table's answer, each part's partial answer,
//! and the join, each the minimum of some rounds on one thread.
//!
//! `cargo run --release -p sotto-testkit --example parting -- SCHEME ROWS ROW_BYTES PARTS [ROUNDS]`
//!
//! The joined answer is compared with the whole table's.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program to measure with")]

use rand_core::Rng;
use sotto_core::{AnyServer, Image, PartIndex, RecordIndex, TableShape};
use sotto_testkit::memory::{MemoryImage, MemoryRows, MemorySink};
use sotto_testkit::rng::seeded;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default: u64| args.get(i).and_then(|arg| arg.parse().ok()).unwrap_or(default);
    let [rows, row_bytes, parts, rounds] = [number(1, 1 << 16), number(2, 32), number(3, 2), number(4, 5)];
    let entry = sotto_registry::SCHEMES.iter().find(|entry| entry.id.0 == args[0]).unwrap();
    let params = (entry.select)(&TableShape::new(rows, row_bytes, 100)).unwrap();
    let report = (entry.report)(&params).unwrap();
    let width = report.record_bytes as usize;
    let mut bytes = vec![0; report.records as usize * width];
    seeded("rows").fill_bytes(&mut bytes);
    let sink = MemorySink::new();
    (entry.server.encode)(&params, &MemoryRows::new(width, bytes), &sink).unwrap();
    let image = Arc::new(sink.into_image());
    let cuts = entry.server.parts.unwrap();
    let most = (cuts.max_parts)(&params).unwrap();
    let parts = u32::try_from(parts).unwrap().min(most);
    let part = |cut| {
        let section = image.section(cuts.section).unwrap();
        let holds = (cuts.ranges)(&params, cut).unwrap();
        let bytes: Vec<u8> = holds
            .iter()
            .flat_map(|range| &section[range.start as usize..range.end as usize])
            .copied()
            .collect();
        (cuts.open)(&params, cut, Arc::new(MemoryImage::default().with(cuts.section, &bytes))).unwrap()
    };
    let open: Vec<Box<dyn AnyServer>> = PartIndex::all(parts).map(part).collect();
    let join = (cuts.join)(&params, parts).unwrap();
    let whole = (entry.server.open)(&params, image.clone()).unwrap();
    let rng = &mut seeded("client");
    let mut prepare = (entry.prepare)(&params, rng).unwrap();
    for need in prepare.needs() {
        prepare.absorb(need.artifact, image.artifact(need.artifact).unwrap()).unwrap();
    }
    let mut client = prepare.finish().unwrap();
    let session = whole.admit(&client.keys()).unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let mut least = vec![Duration::MAX; parts as usize + 2];
    let mut sizes = Vec::new();
    for round in 0..rounds {
        let query = client.query(RecordIndex(round * 104_729 % report.records), rng).unwrap().0.remove(0);
        let mut timed = |i: usize, work: &(dyn Fn() -> Vec<u8> + Sync)| {
            let began = Instant::now();
            let out = pool.install(work);
            least[i] = least[i].min(began.elapsed());
            out
        };
        let ask = |server: &dyn AnyServer| server.answer_many(&[(&session, &query)]).pop().unwrap().unwrap();
        let answer = timed(0, &|| ask(whole.as_ref()));
        let partials: Vec<Vec<u8>> =
            open.iter().enumerate().map(|(i, part)| timed(i + 2, &|| ask(part.as_ref()))).collect();
        assert!(timed(1, &|| join.join(&session, &query, &partials).unwrap()) == answer);
        sizes = partials.iter().map(Vec::len).collect();
    }
    let longest = least[2..].iter().max().unwrap();
    println!(
        "{}: {rows} x {row_bytes} B, {parts} parts of at most {most}: whole {:.2?}, the longest partial {longest:.2?}, \
         join {:.3?} ({:.1} % of that partial); partials {} B together, answer {} B",
        args[0],
        least[0],
        least[1],
        100.0 * least[1].as_secs_f64() / longest.as_secs_f64(),
        sizes.iter().sum::<usize>(),
        report.costs.answer_bytes,
    );
}
