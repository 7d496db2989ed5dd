//! Where the time of an answer goes: `cargo run --release -p bgvpir --example bgvpir-passes -- [RING] [LOG2 BITS] [ROW BYTES] [ROUNDS]`.
//!
//! One thread. Each stage's median; every record is compared with the table.

use bgvpir::message::{Answer, Keys};
use bgvpir::params::Params;
use bgvpir::{BgvPir, client, server::Server};
use rand_core::Rng;
use sotto_core::{One, Params as _, RecordIndex, Section, Server as _, Shape, Wire as _};
use sotto_testkit::memory::{MemoryRows, MemorySink};
use sotto_testkit::rng::seeded;
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut args = std::env::args().skip(1);
    let ring = args.next().unwrap_or_else(|| "pow2".to_owned());
    let mut number = |default: u64| args.next().map_or(Ok(default), |text| text.parse());
    let (bits, row_bytes, rounds) = (number(25)?, number(0)?, number(7)?);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    pool.install(|| run(&ring, 1 << bits, row_bytes, rounds))
}

fn run(ring: &str, bits: u64, row_bytes: u64, rounds: u64) -> Result<(), Box<dyn Error + Send + Sync>> {
    let rng = &mut seeded("passes");
    // Without a width, whatever the cheapest tree gives: the narrowest rows leave every choice.
    let narrow = Shape { set: Some(ring.to_owned()), ..Shape::new(bits / 8, 1, 1000) };
    let shape = Shape { row_bytes: row_bytes.max(1), rows: bits / 8 / row_bytes.max(1), ..narrow };
    let params: Params = sotto_core::Params::check(Params::select(&shape)?)?;
    let report = params.report();
    println!("{}", serde_json::to_string(&params.literal)?);
    report.details.iter().for_each(|(name, value)| println!("  {name}: {value}"));
    println!(
        "{} records of {} bytes, failure 2^{:.0}, {:.0} bits",
        report.records, report.record_bytes, report.failure_log2, report.security.bits
    );
    println!(
        "query {} B, answer {} B, keys {} B, image {} MiB",
        report.costs.query_bytes,
        report.costs.answer_bytes,
        report.costs.keys_bytes,
        report.costs.resident_bytes >> 20
    );
    let mut bytes = vec![0; (report.records * report.record_bytes) as usize];
    rng.fill_bytes(&mut bytes);
    let rows = MemoryRows::new(report.record_bytes as usize, bytes.clone());
    let sink = MemorySink::new();
    let start = Instant::now();
    Server::encode(&params, &rows, &sink)?;
    println!("encode            {:9.3} s", start.elapsed().as_secs_f64());
    let image = Arc::new(sink.into_image());
    let server = Server::open(&params, image.clone())?;

    let start = Instant::now();
    let prepare: client::Prepare = sotto_core::Prepare::<BgvPir>::begin(&params, rng)?;
    let mut client = sotto_core::Prepare::<BgvPir>::finish(prepare)?;
    println!("client: keys      {:9.3} ms", start.elapsed().as_secs_f64() * 1e3);
    let keys: Keys = sotto_core::Client::<BgvPir>::keys(&client);
    let start = Instant::now();
    let session = server.admit(keys)?;
    println!("admit             {:9.3} ms", start.elapsed().as_secs_f64() * 1e3);

    let names = [
        "client: query",
        "rotate, unfold",
        "sums over rows",
        "the rest",
        "answer",
        "client: recover",
        "read of the image",
    ];
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); names.len()];
    for round in 0..rounds {
        let index = round * 7919 % report.records;
        let mut laps = Vec::new();
        let mut lap = |start: Instant| laps.push(start.elapsed().as_secs_f64() * 1e3);
        let start = Instant::now();
        let (One(query), pending) =
            sotto_core::Client::<BgvPir>::query(&mut client, RecordIndex(index), rng)?;
        lap(start);
        let begin = Instant::now();
        let prepared = server.prepare(&session, &query)?;
        lap(begin);
        let start = Instant::now();
        let sums = server.first_dimension(&[&prepared])?.remove(0);
        lap(start);
        let start = Instant::now();
        let answer = server.finish(&session, &prepared, &sums)?;
        lap(start);
        lap(begin);
        let mut wire = Vec::new();
        answer.put(&params, &mut wire);
        let start = Instant::now();
        let answer = Answer::take(&params, &wire)?;
        let record = sotto_core::Client::<BgvPir>::recover(&mut client, pending, One(answer))?;
        lap(start);
        let width = report.record_bytes as usize;
        assert!(record.bytes() == &bytes[index as usize * width..][..width], "a wrong record");
        let table = sotto_core::Image::section(image.as_ref(), Section::Resident).ok_or("an image")?;
        let start = Instant::now();
        std::hint::black_box(sotto_math::machine::read_pass(table));
        lap(start);
        times.iter_mut().zip(laps).for_each(|(times, lap)| times.push(lap));
    }
    for (name, times) in names.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        println!("{name:17} {:9.3} ms", times[times.len() / 2]);
    }
    Ok(())
}
