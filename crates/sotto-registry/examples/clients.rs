//! Times a client's work for a lookup: preparation, a query, and reading its answer. One thread,
//! medians, and every record is compared with the table's.
//!
//! It prints a line for each step: its median and minimum time in microseconds. Arguments are the
//! schemes to measure, or none for all. With `--beside` it runs itself, with AVX2 kernels and with
//! scalar ones, and two WebAssembly programs in Node, and prints a table: `make simd128-clients`
//! does that.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program to measure with")]

use rand_core::Rng;
use sotto_core::{AnyClient, AnyServer, Budget, RecordIndex, SchemeEntry, TableShape};
use sotto_testkit::memory::{MemoryRows, MemorySink};
use sotto_testkit::rng::seeded;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Schemes, with rows and bytes of a row.
const TABLES: &[(&str, u64, u64)] = &[
    ("simplepir/", 1 << 16, 256),
    ("ypir/", 1 << 16, 256),
    ("ypir-sp/", 1 << 11, 8192),
    ("fspiral/", 1 << 14, 256),
    ("dpf/", 1 << 16, 32),
    ("checklist/", 1 << 16, 32),
    ("lp-treepir/", 1 << 14, 32),
    ("s3pir/", 1 << 16, 32),
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.as_slice() {
        [beside, runner, plain, vectors, only @ ..] if beside == "--beside" => {
            table([runner, plain, vectors], only);
        }
        only => measure_all(only),
    }
}

fn measure_all(only: &[String]) {
    for &(name, rows, row_bytes) in TABLES {
        let selected = only.is_empty() || only.iter().any(|only| name.starts_with(only.as_str()));
        let entry = sotto_registry::SCHEMES.iter().find(|entry| entry.id.0.starts_with(name));
        if let Some(entry) = entry.filter(|_| selected) {
            measure(entry, &TableShape::new(rows, row_bytes, 1 << 20));
        }
    }
}

/// Runs this program with two kernels, and two programs for WebAssembly, one after the other;
/// scheme by scheme, so that other load on the machine affects all four.
fn table([runner, plain, vectors]: [&String; 3], only: &[String]) {
    let own = std::env::current_exe().unwrap();
    println!("| scheme | step | AVX2 | scalar | WebAssembly | over AVX2 | with `simd128` | over AVX2 |");
    println!("|---|---|---|---|---|---|---|---|");
    for (name, ..) in TABLES {
        if !only.is_empty() && !only.iter().any(|only| name.starts_with(only.as_str())) {
            continue;
        }
        let native = |kernels| lines(Command::new(&own).arg(name).env("SOTTO_SIMD", kernels));
        let node = |program| lines(Command::new("node").args(["--no-warnings", runner, program, name]));
        let [avx2, scalar, plain, vectors] = [native("avx2"), native("scalar"), node(plain), node(vectors)];
        for (((step, avx2), (_, scalar)), ((_, plain), (_, vectors))) in
            avx2.into_iter().zip(scalar).zip(plain.into_iter().zip(vectors))
        {
            let time =
                |us: f64| if us < 1000.0 { format!("{us:.1} us") } else { format!("{:.1} ms", us / 1000.0) };
            let (over_plain, over_vectors) = (plain / avx2, vectors / avx2);
            println!(
                "| `{}` | {step} | {} | {} | {} | {over_plain:.1} | {} | {over_vectors:.1} |",
                name.trim_end_matches('/'),
                time(avx2),
                time(scalar),
                time(plain),
                time(vectors)
            );
        }
    }
}

/// The steps that a program prints, with their medians.
fn lines(program: &mut Command) -> Vec<(String, f64)> {
    let out = program.output().unwrap();
    let words = |line: &str| {
        let mut words = line.split('\t').skip(1);
        (words.next().unwrap().to_owned(), words.next().unwrap().parse().unwrap())
    };
    String::from_utf8(out.stdout).unwrap().lines().map(words).collect()
}

/// Times of an operation.
#[derive(Default)]
struct Times(Vec<Duration>);

impl Times {
    fn of<T>(&mut self, act: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let done = act();
        self.0.push(began.elapsed());
        done
    }

    fn print(mut self, scheme: &str, step: &str) {
        self.0.sort();
        let [least, median] = [0, self.0.len() / 2].map(|at| self.0[at].as_secs_f64() * 1e6);
        println!("{scheme}\t{step}\t{median:.2}\t{least:.2}");
    }
}

fn measure(entry: &SchemeEntry, shape: &TableShape) {
    let params = (entry.select)(shape).unwrap();
    let report = (entry.report)(&params).unwrap();
    let width = report.record_bytes as usize;
    let mut bytes = vec![0; report.records as usize * width];
    seeded("rows").fill_bytes(&mut bytes);
    let table = MemoryRows::new(width, bytes);
    let sink = MemorySink::new();
    (entry.server.encode)(&params, &table, &sink).unwrap();
    let image = Arc::new(sink.into_image());
    let server = (entry.server.open)(&params, image.clone()).unwrap();
    let rng = &mut sotto_prg::system_rng().unwrap();
    let [mut ready, mut ask, mut read] = [(); 3].map(|()| Times::default());
    let began = Instant::now();
    while ready.0.len() < 3 || (began.elapsed() < Duration::from_secs(2) && ready.0.len() < 30) {
        let mut client = ready.of(|| {
            let mut prepare = (entry.prepare)(&params, rng).unwrap();
            for need in prepare.needs() {
                for chunk in image.artifact(need.artifact).unwrap().chunks(1 << 20) {
                    prepare.absorb(need.artifact, chunk).unwrap();
                }
            }
            prepare.finish().unwrap()
        });
        stock(server.as_ref(), client.as_mut());
        let session = server.admit(&client.keys()).unwrap();
        let lookups = if began.elapsed() < Duration::from_secs(2) { 50 } else { 5 };
        for _ in 0..lookups {
            if client.budget() == Budget::Left(0) || began.elapsed() > Duration::from_secs(6) {
                break;
            }
            let index = rng.next_u64() % report.records;
            let (queries, pending) = ask.of(|| client.query(RecordIndex(index), rng)).unwrap();
            let answers: Vec<Vec<u8>> = queries
                .iter()
                .take(entry.query_servers)
                .map(|query| server.answer_many(&[(&session, query)]).pop().unwrap().unwrap())
                .collect();
            let record = read.of(|| client.recover(pending, &answers)).unwrap();
            assert!(record.bytes() == &table.bytes()[index as usize * width..][..width], "record {index}");
        }
    }
    let scheme = entry.id.0;
    ready.print(scheme, "ready");
    ask.print(scheme, "query");
    read.print(scheme, "recover");
}

/// Makes hints until no more are due.
fn stock(server: &dyn AnyServer, client: &mut dyn AnyClient) {
    if let (Some(hint_server), Some(hint_client)) = (server.hint_server(), client.hint_client()) {
        while let Some(order) = hint_client.next_hint_request().unwrap() {
            hint_client.apply_hint_response(&hint_server.answer_hint_request(&order).unwrap()).unwrap();
        }
    }
}
