//! Where the time of an answer goes:
//! `cargo run --release -p bgvpir --example bgvpir-passes -- [SET] [LOG2 BITS] [ROW BYTES] [ROUNDS] [THREADS]`.
//!
//! The set names the ring, and the form of the image: `pow2`, `pow2-streamed`. The table is made of numbers without
//! pattern and is not kept, so that memory holds the image alone. Each stage's median, and the least, which other work
//! on the machine touches less; every record is compared with the table.

use bgvpir::message::{Answer, Keys};
use bgvpir::params::Params;
use bgvpir::{BgvPir, client, server::Server};
use sotto_core::{One, Params as _, RecordIndex, Rows, Section, Server as _, Shape, Wire as _};
use sotto_testkit::memory::MemorySink;
use sotto_testkit::rng::seeded;
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut args = std::env::args().skip(1);
    let set = args.next().unwrap_or_else(|| "pow2".to_owned());
    let mut number = |default: u64| args.next().map_or(Ok(default), |text| text.parse());
    let (bits, row_bytes, rounds, threads) = (number(25)?, number(0)?, number(7)?, number(1)?);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads as usize).build()?;
    pool.install(|| run(&set, 1 << bits, row_bytes, rounds))
}

/// Records whose bytes follow from their place.
struct Generated {
    records: u64,
    record_bytes: usize,
}

impl Rows for Generated {
    fn records(&self) -> u64 {
        self.records
    }

    fn record_bytes(&self) -> usize {
        self.record_bytes
    }

    fn read(&self, first: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        self.read_part(first, 0, out)
    }

    fn read_part(&self, record: u64, offset: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        let start = record * self.record_bytes as u64 + offset;
        for (at, byte) in (start..).zip(out) {
            // The finalizer of SplitMix64, of which each number gives eight bytes.
            let z = (at / 8 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
            *byte = ((z ^ z >> 31) >> (at % 8 * 8)) as u8;
        }
        Ok(())
    }
}

fn run(set: &str, bits: u64, row_bytes: u64, rounds: u64) -> Result<(), Box<dyn Error + Send + Sync>> {
    let rng = &mut seeded("passes");
    // Without a width, whatever the cheapest tree gives: the narrowest rows leave every choice.
    let narrow = Shape { set: Some(set.to_owned()), ..Shape::new(bits / 8, 1, 1000) };
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
    let rows = Generated { records: report.records, record_bytes: report.record_bytes as usize };
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
        let sums = server.first_dimension(&[&prepared]).remove(0);
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
        let mut expected = vec![0; rows.record_bytes];
        rows.read(index, &mut expected)?;
        assert!(record.bytes() == expected, "a wrong record");
        let table = sotto_core::Image::section(image.as_ref(), Section::Resident).ok_or("an image")?;
        let start = Instant::now();
        std::hint::black_box(sotto_math::machine::read_pass(table));
        lap(start);
        times.iter_mut().zip(laps).for_each(|(times, lap)| times.push(lap));
    }
    for (name, times) in names.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        println!("{name:17} {:9.3} ms, at least {:9.3}", times[times.len() / 2], times[0]);
    }
    Ok(())
}
