//! Milliseconds of each stage of SimplePIR on one thread, for a square table of 1 GiB.
//!
//! `cargo run --release -p simplepir --example stages [log2 of the side, 15 by default]`

use simplepir::SimplePir;
use simplepir::client::Prepare;
use simplepir::params::{Params, ParamsLiteral, SET};
use simplepir::ring::PUBLIC_SEED;
use simplepir::server::Server;
use sotto_core::{
    Artifact, Client as _, Image as _, One, Params as _, Prepare as _, RecordIndex, Result, Rows, Section,
    Server as _, Sink,
};
use sotto_testkit::memory::MemorySink;
use sotto_testkit::rng::seeded;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Records copied from a few megabytes, so that making them costs next to nothing.
struct Repeated(Params, Vec<u8>);

impl Rows for Repeated {
    fn records(&self) -> u64 {
        self.0.m() as u64
    }
    fn record_bytes(&self) -> usize {
        self.0.l()
    }
    fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
        for (i, record) in (first as usize..).zip(out.chunks_mut(self.0.l())) {
            let start = i * 4099 % (self.1.len() - record.len());
            record.copy_from_slice(&self.1[start..start + record.len()]);
        }
        Ok(())
    }
}

/// A sink that notes when each stage ended.
struct Timed(MemorySink, Instant, Mutex<Vec<(&'static str, f64)>>);

impl Sink for Timed {
    fn reserve(&self, section: Section, bytes: u64) -> Result<()> {
        self.0.reserve(section, bytes)
    }
    fn write_at(&self, section: Section, offset: u64, bytes: &[u8]) -> Result<()> {
        self.0.write_at(section, offset, bytes)
    }
    fn read_at(&self, section: Section, offset: u64, out: &mut [u8]) -> Result<()> {
        self.0.read_at(section, offset, out)
    }
    fn progress(&self, stage: &'static str, done: u64, total: u64) {
        if done == total
            && let Ok(mut ends) = self.2.lock()
        {
            ends.push((stage, self.1.elapsed().as_secs_f64() * 1e3));
        }
    }
}

/// The shortest of several runs, in milliseconds: the machine is shared, and noise only ever adds.
fn best<T>(runs: usize, mut run: impl FnMut() -> Result<T>) -> Result<f64> {
    (0..runs).try_fold(f64::INFINITY, |best, _| {
        let start = Instant::now();
        run()?;
        Ok(best.min(start.elapsed().as_secs_f64() * 1e3))
    })
}

fn stages() -> Result<()> {
    let side = 1 << std::env::args().nth(1).and_then(|arg| arg.parse().ok()).unwrap_or(15);
    let params = Params::check(ParamsLiteral {
        set: SET.into(),
        record_bytes: side,
        records: side,
        query_bits: 26,
        answer_bits: 10,
        seed: PUBLIC_SEED,
    })?;
    let mut pattern = vec![0; 5 << 20];
    PUBLIC_SEED.stream("stages", 0).fill(&mut pattern);
    let rows = Repeated(params.clone(), pattern);
    let gib = params.matrix_bytes() as f64 / f64::from(1 << 30);
    println!("l = m = {side}, {gib} GiB, kernels {}", sotto_math::machine::backend());

    let sink = Timed(MemorySink::new(), Instant::now(), Mutex::default());
    <Server as sotto_core::Server<SimplePir>>::encode(&params, &rows, &sink)?;
    let mut last = 0.0;
    for (stage, end) in sink.2.into_inner().unwrap_or_default() {
        println!("encode, {stage}: {:.0} ms, {:.2} s/GiB", end - last, (end - last) / 1e3 / gib);
        last = end;
    }
    let image = Arc::new(sink.0.into_image());
    let server = Server::open(&params, image.clone())?;

    let rng = &mut seeded("stages");
    let start = Instant::now();
    let mut prepare = Prepare::begin(&params, rng)?;
    prepare.absorb(Artifact::Hint, image.section(Section::Public(Artifact::Hint)).unwrap_or_default())?;
    let mut client = prepare.finish()?;
    println!("prepare: {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
    println!("query: {:.2} ms", best(9, || client.query(RecordIndex(1), rng))?);

    let matrix = image.section(Section::Resident).unwrap_or_default();
    let read = best(9, || Ok(std::hint::black_box(sotto_math::machine::read_pass(matrix))))?;
    let speed = |ms: f64| matrix.len() as f64 / ms / 1e6;
    println!("plain read: {read:.1} ms, {:.1} GB/s", speed(read));
    for batch in [1, 2, 4, 8] {
        let queries: Vec<_> = (0..batch)
            .map(|i| client.query(RecordIndex(i), rng).map(|(One(q), _)| q))
            .collect::<Result<_>>()?;
        let ms = best(9, || {
            let asks = queries.iter().map(|query| (&(), query.clone())).collect();
            server.answer_many(asks).into_iter().collect::<Result<Vec<_>>>()
        })?;
        let share = 100.0 * read / ms;
        println!("answer {batch}: {ms:.1} ms, {:.1} GB/s, {share:.0} % of read", speed(ms) * batch as f64);
    }

    let recovers = (0..9).map(|i| {
        let (One(query), pending) = client.query(RecordIndex(i), rng)?;
        let answer = server.answer(&(), query)?;
        let start = Instant::now();
        let record = client.recover(pending, One(answer))?;
        let ms = start.elapsed().as_secs_f64() * 1e3;
        let mut expected = vec![0; params.l()];
        rows.read(i, &mut expected)?;
        assert!(record.bytes() == expected, "record {i} did not come back");
        Ok(ms)
    });
    println!(
        "recover: {:.3} ms",
        recovers.collect::<Result<Vec<_>>>()?.into_iter().fold(f64::INFINITY, f64::min)
    );
    Ok(())
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    Ok(pool.install(stages)?)
}
