//! Measures the stages of an answer, one after the other, and encoding: medians, with every answer
//! checked.
//!
//! `cargo run --release -p sotto-cube --example stages -- fspiral|spiral|onionpir [MIB] [SET]
//! [THREADS] [ROUNDS]`
//!
//! The table's records fill one unit each. Stages are measured for one query, and for four in one
//! pass.
#![allow(clippy::unwrap_used, reason = "a program to measure with")]

use fspiral::FSpiral;
use onionpir::OnionPir;
use rand_core::Rng;
use sotto_core::{Client as _, OneServer, Params as _, Prepare as _, RecordIndex, Server as _, TableShape};
use sotto_cube::answer::{BATCH, CubeTable, ExpandedQuery};
use sotto_cube::client::Prepare;
use sotto_cube::{Answer, CubeScheme, Family, Params, encode};
use sotto_testkit::memory::{MemoryRows, MemorySink};
use sotto_testkit::rng::seeded;
use spiral::Spiral;
use std::sync::Arc;
use std::time::Instant;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default: u64| args.get(i).and_then(|arg| arg.parse().ok()).unwrap_or(default);
    let set = args.get(2).filter(|set| set.as_str() != "-").cloned();
    let (bytes, rounds) = (number(1, 256) << 20, number(4, 9));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(number(3, 1) as usize).build().unwrap();
    pool.install(|| match args.first().map(String::as_str) {
        Some("fspiral") => stages::<FSpiral>(bytes, set, rounds),
        Some("spiral") => stages::<Spiral>(bytes, set, rounds),
        Some("onionpir") => stages::<OnionPir>(bytes, set, rounds),
        _ => println!("name a scheme: fspiral, spiral or onionpir"),
    });
}

/// The stages that are timed, in milliseconds.
const STAGES: [&str; 7] = ["expand", "first", "fold", "respond", "expand 4", "first 4", "fold 4"];

fn stages<F: Family>(bytes: u64, set: Option<String>, rounds: u64) {
    let shape = TableShape { set, ..TableShape::new(bytes / 256, 256, 1000) };
    let params: Params<F> = Params::check(Params::<F>::select(&shape).unwrap()).unwrap();
    let (records, width) = (params.grid.records(), params.literal().record_bytes as usize);
    let mut data = vec![0; records as usize * width];
    seeded("rows").fill_bytes(&mut data);
    let records = MemoryRows::new(width, data);
    let sink = MemorySink::new();
    let time = Instant::now();
    encode::encode(&params, &records, &sink).unwrap();
    print!(
        "{} x 2^{}: encode {:.2} s",
        params.literal().rows,
        params.literal().nu2,
        time.elapsed().as_secs_f64()
    );
    let cube = CubeTable::open(&params, Arc::new(sink.into_image())).unwrap();
    let rng = &mut seeded("client");
    let mut client = Prepare::<F>::finish(Prepare::begin(&params, rng).unwrap()).unwrap();
    let time = Instant::now();
    let session = cube.admit(client.keys()).unwrap();
    print!(", admit {:.1} ms", time.elapsed().as_secs_f64() * 1e3);
    let mut taken: [Vec<f64>; STAGES.len()] = Default::default();
    for round in 0..rounds {
        let mut made: Vec<_> = (0..BATCH as u64)
            .map(|i| {
                client.query(RecordIndex((round * 7919 + i * 104_729) % params.grid.records()), rng).unwrap()
            })
            .collect();
        let mut clock = Instant::now();
        let mut lap = |stage: usize| {
            taken[stage].push(clock.elapsed().as_secs_f64() * 1e3);
            clock = Instant::now();
        };
        let query = cube.prepare(&session, &made[0].0.0).unwrap();
        lap(0);
        let columns = cube.first_dimension(0, &[&query]).remove(0);
        lap(1);
        let folded = cube.fold(columns, &query);
        lap(2);
        let unit = cube.respond(folded, &query);
        lap(3);
        let pairs: Vec<_> = made.iter().map(|(query, _)| (&session, &query.0)).collect();
        let queries: Vec<ExpandedQuery> = cube.prepare_all(&pairs).into_iter().map(Result::unwrap).collect();
        lap(4);
        let columns = cube.first_dimension(0, &queries.iter().collect::<Vec<_>>());
        lap(5);
        let folded: Vec<_> =
            columns.into_iter().zip(&queries).map(|(columns, query)| cube.fold(columns, query)).collect();
        lap(6);
        let (_, pending) = made.swap_remove(0);
        let units = 1 + params.grid.units() as usize;
        if units == 2 {
            let index = (round * 7919 % params.grid.records()) as usize;
            let record = <_ as sotto_core::Client<CubeScheme<F>>>::recover(
                &mut client,
                pending,
                OneServer(Answer(vec![unit])),
            );
            assert!(record.unwrap().bytes() == &records.bytes()[index * width..][..width], "record {index}");
        }
        drop(folded);
    }
    for (stage, mut taken) in STAGES.iter().zip(taken) {
        taken.sort_by(f64::total_cmp);
        print!(", {stage} {:.2} ({:.2})", taken[taken.len() / 2], taken[0]);
    }
    println!(" ms");
}
