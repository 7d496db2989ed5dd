//! Times each step of an answer: medians, every record compared with the table's.
//!
//! `cargo run --release -p sotto-bgvpir --example steps -- SET LOG2_BITS ROW_BYTES [THREADS] [LOOKUPS]`

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a program to measure with")]

use rand_core::Rng;
use sotto_bgvpir::{
    BgvPir, client::Client, client::Prepare, order::ProductOrder, params::Params, server::Server,
};
use sotto_core::{Client as _, OneServer, Params as _, Prepare as _, RecordIndex, Server as _, TableShape};
use sotto_testkit::memory::{MemoryRows, MemorySink};
use sotto_testkit::rng::seeded;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default: u64| args.get(i).and_then(|arg| arg.parse().ok()).unwrap_or(default);
    let [bits, row_bytes, threads, lookups] = [number(1, 25), number(2, 64), number(3, 1), number(4, 7)];
    let rows = (1 << bits) / (8 * row_bytes);
    let shape = TableShape { set: args.first().cloned(), ..TableShape::new(rows, row_bytes, 100) };
    let literal = Params::select(&shape).unwrap();
    let params = Params::check(literal.clone()).unwrap();
    println!("{}", serde_json::to_string(&literal).unwrap());
    let mut bytes = vec![0; (literal.records * params.record_bytes() as u64) as usize];
    seeded("rows").fill_bytes(&mut bytes);
    let rows = MemoryRows::new(params.record_bytes(), bytes);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads as usize).build().unwrap();
    let sink = MemorySink::new();
    let began = Instant::now();
    pool.install(|| <Server as sotto_core::Server<BgvPir>>::encode(&params, &rows, &sink)).unwrap();
    println!("{:<14} {:9.1} ms", "encoding", began.elapsed().as_secs_f64() * 1e3);
    let server = Server::open(&params, Arc::new(sink.into_image())).unwrap();
    let rng = &mut seeded("client");
    let prepare: Prepare = sotto_core::Prepare::<BgvPir>::begin(&params, rng).unwrap();
    let mut client: Client = prepare.finish().unwrap();
    let session = server.admit(client.keys()).unwrap();
    let mut steps: Vec<(&'static str, Vec<Duration>)> = Vec::new();
    for lookup in 0..lookups {
        let index = lookup * 7919 % literal.records;
        let (OneServer(query), pending) = client.query(RecordIndex(index), rng).unwrap();
        let start = Instant::now();
        let mut last = start;
        let mut taken = Vec::new();
        let mut done = |step| {
            let now = Instant::now();
            taken.push((step, now - last));
            last = now;
        };
        let answer = pool
            .install(|| server.answer_in(ProductOrder::Distributed, &session, &query, &mut done))
            .unwrap();
        taken.push(("answer", start.elapsed()));
        for (i, (step, time)) in taken.into_iter().enumerate() {
            if steps.len() <= i {
                steps.push((step, Vec::new()));
            }
            steps[i].1.push(time);
        }
        let record = client.recover(pending, OneServer(answer)).unwrap();
        let each = params.record_bytes();
        assert_eq!(record.bytes(), &rows.bytes()[index as usize * each..][..each], "record {index}");
    }
    for (step, mut times) in steps {
        times.sort();
        let [least, median] = [times[0], times[times.len() / 2]].map(|time| time.as_secs_f64() * 1e3);
        println!("{step:<14} {median:9.2} ms, at least {least:.2}");
    }
}
