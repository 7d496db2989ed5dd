//! Where the time of an answer goes: `cargo run --release -p fspiral --example fspiral-passes -- [SET] [MiB] [ROW BYTES]`.
//!
//! One thread. Each stage's median over several queries; every record is compared with the table.

use fspiral::FSpiral;
use rand_core::Rng;
use sotto_core::{One, Params as _, RecordIndex, Section, Shape, Wire as _};
use sotto_cube::answer::Cube;
use sotto_cube::{Answer, Keys, Params, client, encode};
use sotto_testkit::memory::{MemoryRows, MemorySink};
use sotto_testkit::rng::seeded;
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

const ROUNDS: usize = 7;

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut args = std::env::args().skip(1);
    let set = args.next().unwrap_or_else(|| "default".to_owned());
    let mib: u64 = args.next().map_or(Ok(256), |text| text.parse())?;
    let row_bytes: u64 = args.next().map_or(Ok(256), |text| text.parse())?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    pool.install(|| run(&set, (mib << 20) / row_bytes, row_bytes))
}

fn run(set: &str, rows: u64, row_bytes: u64) -> Result<(), Box<dyn Error + Send + Sync>> {
    let rng = &mut seeded("passes");
    let shape = Shape { set: Some(set.to_owned()), ..Shape::new(rows, row_bytes, 1000) };
    let params: Params<FSpiral> = sotto_core::Params::check(Params::<FSpiral>::select(&shape)?)?;
    let report = params.report();
    println!(
        "{set}: {} x 2^{}, {} records of {} bytes",
        params.literal.rows, params.literal.nu2, report.records, report.record_bytes
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
    // The first time, most of it is the operating system clearing memory.
    encode::encode(&params, &rows, &sink)?;
    let start = Instant::now();
    encode::encode(&params, &rows, &sink)?;
    let gib = bytes.len() as f64 / (1u64 << 30) as f64;
    println!(
        "encode            {:9.3} s, {:.2} s per GiB",
        start.elapsed().as_secs_f64(),
        start.elapsed().as_secs_f64() / gib
    );
    let image = Arc::new(sink.into_image());
    let cube = Cube::open(&params, image.clone())?;

    let start = Instant::now();
    let prepare: client::Prepare<FSpiral> = sotto_core::Prepare::<FSpiral>::begin(&params, rng)?;
    let mut client = sotto_core::Prepare::<FSpiral>::finish(prepare)?;
    println!("client: keys      {:9.3} ms", start.elapsed().as_secs_f64() * 1e3);
    let keys: Keys = sotto_core::Client::<FSpiral>::keys(&client);
    let start = Instant::now();
    let session = sotto_core::Server::admit(&cube, keys)?;
    println!("admit             {:9.3} ms", start.elapsed().as_secs_f64() * 1e3);

    let names = [
        "client: query",
        "expand, convert",
        "first dimension",
        "fold",
        "respond",
        "answer",
        "client: recover",
        "read of the image",
        "first dim. of 4",
    ];
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); names.len()];
    for round in 0..ROUNDS as u64 {
        let index = round * 7919 % report.records;
        let mut stage = 0;
        let mut lap = |start: Instant| {
            times[stage].push(start.elapsed().as_secs_f64() * 1e3);
            stage += 1;
        };
        let start = Instant::now();
        let (One(query), pending) =
            sotto_core::Client::<FSpiral>::query(&mut client, RecordIndex(index), rng)?;
        lap(start);
        let begin = Instant::now();
        let prepared = cube.prepare(&session, &query)?;
        lap(begin);
        let (mut first, mut fold, mut respond, mut units) = (0.0, 0.0, 0.0, Vec::new());
        let ms = |start: Instant| start.elapsed().as_secs_f64() * 1e3;
        for unit in 0..params.grid.units() {
            let start = Instant::now();
            let columns = cube.first_dimension(unit, &[&prepared]).remove(0);
            first += ms(start);
            let start = Instant::now();
            let folded = cube.fold(columns, &prepared);
            fold += ms(start);
            let start = Instant::now();
            units.push(cube.respond(folded, &prepared));
            respond += ms(start);
        }
        let whole = ms(begin);
        for (stage, time) in [(2, first), (3, fold), (4, respond), (5, whole)] {
            times[stage].push(time);
        }
        let answer = Answer(units);
        let mut wire = Vec::new();
        answer.put(&params, &mut wire);
        let start = Instant::now();
        let answer = Answer::take(&params, &wire)?;
        let record = sotto_core::Client::<FSpiral>::recover(&mut client, pending, One(answer))?;
        times[6].push(ms(start));
        let width = report.record_bytes as usize;
        assert!(record.bytes() == &bytes[index as usize * width..][..width], "a wrong record");
        let table = sotto_core::Image::section(image.as_ref(), Section::Resident).ok_or("an image")?;
        let start = Instant::now();
        std::hint::black_box(sotto_math::machine::read_pass(table));
        times[7].push(ms(start));
        let start = Instant::now();
        cube.first_dimension(0, &[&prepared, &prepared, &prepared, &prepared]);
        times[8].push(ms(start));
    }
    for (name, times) in names.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        println!("{name:17} {:9.3} ms", times[times.len() / 2]);
    }
    Ok(())
}
