//! Prints what the parts of Checklist or TreePIR take on this machine.
//!
//! ```text
//! GLIBC_TUNABLES=glibc.malloc.hugetlb=1 cargo run --release -p sotto-hints --example slots -- checklist|lp-treepir
//! [log2 rows] [row bytes] [queries]
//! ```
//!
//! One thread. Times of preparations and queries are those of the processor, where the system tells; answers are too short for
//! that, and theirs are on the wall. Every query has a random row, and its answer is compared with the table. The
//! setting makes the C library ask
//! for large pages, which are what a server's image lies in.

use rand_core::Rng;
use sotto_core::{
    Client as _, Params as _, Prepare as _, RecordIndex, Result, Server as _, Shape, Stateful, Supplier, Two,
    Upkeep, Wire,
};
use sotto_hints::slots::{Answer, Family, Order, Params, Prepare, Server, Slots, Supply};
use sotto_math::machine;
use sotto_testkit::memory::{MemoryRows, MemorySink};
use sotto_testkit::rng::seeded;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let run = match args.next().as_deref() {
        Some("checklist") => run::<checklist::Punctured>,
        Some("lp-treepir") => run::<lp_treepir::Hiding>,
        _ => return Err(std::io::Error::other("say checklist or lp-treepir").into()),
    };
    let mut args = args.map_while(|arg| arg.parse::<usize>().ok());
    let (log2, row_bytes) = (args.next().unwrap_or(20), args.next().unwrap_or(32));
    let queries = args.next().unwrap_or(200);
    match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
        Ok(pool) => pool.install(|| run(log2, row_bytes, queries)),
        Err(error) => Err(std::io::Error::other(error).into()),
    }
}

fn run<F: Family>(log2: usize, row_bytes: usize, queries: usize) -> Result<()> {
    let shape = Shape::new(1 << log2, row_bytes as u64, 1);
    let params = Params::<F>::check(Params::<F>::select(&shape)?)?;
    let costs = params.report().costs;
    println!(
        "backend {}; 2^{log2} rows of {row_bytes} bytes, sets of {}",
        machine::backend(),
        params.numbers()
    );
    println!(
        "M = {} hints in {} orders of {} B, supplies of {} B; state {} B",
        params.hints(),
        params.blocks(),
        <Order as Wire<Params<F>>>::size(&params),
        <Supply as Wire<Params<F>>>::size(&params),
        costs.client_bytes
    );
    println!(
        "{} B up and {} B down, for each server",
        F::Query::size(&params),
        <Answer as Wire<Params<F>>>::size(&params)
    );

    let rng = &mut seeded("passes");
    let mut rows = vec![0; row_bytes << log2];
    rng.fill_bytes(&mut rows);
    let sink = MemorySink::new();
    Server::<F>::encode(&params, &MemoryRows::new(row_bytes, rows.clone()), &sink)?;
    let server = Server::<F>::open(&params, Arc::new(sink.into_image()))?;

    let clock = Clock::new();
    let start = clock.now();
    let mut client = Prepare::<F>::begin(&params, rng)?.finish()?;
    println!("sets, client: {:.2} s", (clock.now() - start).as_secs_f64());
    let start = clock.now();
    while let Some(order) = Slots::<F>::order(&mut client)? {
        let supply = Slots::<F>::supply(&server, order)?;
        Slots::<F>::stock(&mut client, supply)?;
    }
    println!("hints, server: {:.2} s", (clock.now() - start).as_secs_f64());
    drop(Slots::<F>::journal(&mut client));

    let mut times = [const { Vec::new() }; 4];
    for _ in 0..queries {
        let index = rng.next_u64() % (1 << log2);
        let start = clock.now();
        let (Two(to_first, to_second), pending) = client.query(RecordIndex(index), rng)?;
        let asked = clock.now() - start;
        let start = Instant::now();
        let from_first = server.answer(&(), to_first)?;
        let first = start.elapsed();
        let from_second = server.answer(&(), to_second)?;
        let second = start.elapsed();
        let record = client.recover(pending, Two(from_first, from_second))?;
        let read = start.elapsed();
        assert!(record.bytes() == &rows[index as usize * row_bytes..][..row_bytes], "row {index}");
        drop(Slots::<F>::journal(&mut client));
        let parts = [asked, first, second - first, read - second];
        times.iter_mut().zip(parts).for_each(|(times, part)| times.push(part));
    }
    for (what, mut times) in
        ["query", "answer of the first server", "of the second", "recover"].iter().zip(times)
    {
        times.sort();
        if let (Some(least), Some(median)) = (times.first(), times.get(times.len() / 2)) {
            println!("{what}: median {median:.1?}, least {least:.1?}");
        }
    }
    Ok(())
}

/// Time that this thread has spent on a processor; time on the wall where the system does not tell.
struct Clock {
    start: Instant,
}

impl Clock {
    fn new() -> Self {
        Clock { start: Instant::now() }
    }

    fn now(&self) -> Duration {
        let spent = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
        let spent = spent.and_then(|line| line.split(' ').next()?.parse().ok());
        spent.map_or_else(|| self.start.elapsed(), Duration::from_nanos)
    }
}
