//! What one server's work takes on one thread: growing a key, a pass for one query, and passes for many.
//!
//! `cargo run --release -p dpf --example dpf-passes [log2 of the records, 20 and 24 by default] [bytes in a record, 32]`
//!
//! All times are what the thread had of the processor. A pass and a plain read of the same bytes take turns, since
//! neighbours change what memory gives; each line has the medians of both. Every key is for another record, and the
//! last batch's answers are checked.

use dpf::Dpf;
use dpf::client::Client;
use dpf::message::Query;
use dpf::params::{Params, ParamsLiteral};
use dpf::server::Server;
use dpf::tree::Tree;
use sotto_core::{
    Client as _, Image as _, Params as _, Prepare as _, RecordIndex, Result, Rows, Section, Server as _, Two,
};
use sotto_testkit::memory::MemorySink;
use sotto_testkit::rng::seeded;
use std::hint::black_box;
use std::sync::Arc;

/// Records made of their index.
struct Counted(Params);

impl Rows for Counted {
    fn records(&self) -> u64 {
        self.0.records()
    }
    fn record_bytes(&self) -> usize {
        self.0.record_bytes()
    }
    fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
        for (record, bytes) in (first..).zip(out.chunks_mut(self.0.record_bytes())) {
            for (word, bytes) in (0u64..).zip(bytes.as_chunks_mut::<8>().0) {
                let mixed = (record << 20 | word).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                *bytes = (mixed ^ mixed >> 29).to_le_bytes();
            }
        }
        Ok(())
    }
}

/// Milliseconds that this thread has had the processor.
fn clock() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 / 1e6
}

fn milliseconds<T>(run: impl FnOnce() -> T) -> (f64, T) {
    let start = clock();
    let out = run();
    (clock() - start, out)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Keys for `count` records from some index on, and the records' numbers.
fn keys(client: &mut Client, params: &Params, count: u64, from: u64) -> Result<(Vec<u64>, [Vec<Query>; 2])> {
    let rng = &mut seeded(&format!("passes {from}"));
    let indices: Vec<u64> =
        (from..from + count).map(|i| i.wrapping_mul(2654435761) % params.records()).collect();
    let pairs =
        indices.iter().map(|index| client.query(RecordIndex(*index), rng).map(|(Two(a, b), _)| (a, b)));
    let (first, second) = pairs.collect::<Result<Vec<_>>>()?.into_iter().unzip();
    Ok((indices, [first, second]))
}

fn passes(log: u32, record_bytes: u64) -> Result<()> {
    let params = Params::check(ParamsLiteral { records: 1 << log, record_bytes })?;
    let sink = MemorySink::new();
    let (encoding, done) = milliseconds(|| {
        <Server as sotto_core::Server<Dpf>>::encode(&params, &Counted(params.clone()), &sink)
    });
    done?;
    let image = Arc::new(sink.into_image());
    let server = Server::open(&params, image.clone())?;
    let table = image.section(Section::Resident).unwrap_or_default();
    let mut client = Client::begin(&params, &mut seeded("passes"))?.finish()?;
    println!(
        "2^{log} x {record_bytes} B, kernels {}: key {} B, encoding {encoding:.0} ms",
        sotto_math::machine::backend(),
        params.key_bytes()
    );

    let rounds = if log <= 20 { 51 } else { 9 };
    let mut growing = Vec::new();
    for round in 0..rounds {
        let (_, [first, _]) = keys(&mut client, &params, 1, round)?;
        growing.extend(first.iter().map(|query| {
            milliseconds(|| {
                let mut tree = Tree::new(query);
                for leaf in (0..params.leaves()).step_by(512) {
                    black_box(tree.leaves(leaf, (params.leaves() - leaf).min(512) as usize).bytes);
                }
            })
            .0
        }));
    }
    let best = growing.iter().copied().fold(f64::INFINITY, f64::min);
    println!("  growing a key: {:.4} ms (best {best:.4})", median(growing));

    for batch in [1, 8, 16, 32, 48] {
        let (mut reads, mut answers) = (Vec::new(), Vec::new());
        for round in 0..rounds {
            let (indices, [first, second]) = keys(&mut client, &params, batch, 1000 * (round + 1))?;
            reads.push(milliseconds(|| black_box(sotto_math::machine::read_pass(table))).0);
            let ask = |queries: Vec<Query>| queries.into_iter().map(|query| (&(), query)).collect::<Vec<_>>();
            let (took, first) = milliseconds(|| server.answer_many(ask(first)));
            answers.push(took);
            if round + 1 == rounds {
                for ((index, a), b) in indices.iter().zip(first).zip(server.answer_many(ask(second))) {
                    let (_, pending) = client.query(RecordIndex(0), &mut seeded("pending"))?;
                    let record = client.recover(pending, Two(a?, b?))?;
                    let mut expected = vec![0; params.record_bytes()];
                    Counted(params.clone()).read(*index, &mut expected)?;
                    assert!(record.bytes() == expected, "record {index} did not come back");
                }
            }
        }
        let (read, answer) = (median(reads), median(answers));
        println!(
            "  {batch:2} queries: {answer:8.3} ms a pass, {:.4} ms a query; plain read {read:.3} ms ({:.1} GB/s), {:.0} % of it",
            answer / batch as f64,
            table.len() as f64 / read / 1e6,
            100.0 * read / answer
        );
    }
    Ok(())
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let argument = |place| std::env::args().nth(place).and_then(|argument| argument.parse::<u32>().ok());
    let width = argument(2).map_or(32, u64::from);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    pool.install(|| match argument(1) {
        Some(log) => passes(log, width),
        None => [20, 24].into_iter().try_for_each(|log| passes(log, width)),
    })?;
    Ok(())
}
