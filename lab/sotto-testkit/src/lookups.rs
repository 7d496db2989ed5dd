//! Measures schemes whose clients hold hints: making hints, and lookups one after the other.
//! Examples use it.
//!
//! Every recovered record is compared with the table's. Pages are those of the allocator: with
//! glibc's `GLIBC_TUNABLES=glibc.malloc.hugetlb=1` they are huge ones, as `sotto bench` and
//! `sotto serve` use for tables.

use crate::memory::{MemoryRows, MemorySink};
use crate::rng::seeded;
use rand_core::Rng;
use sotto_core::{AnyClient, AnyServer, Budget, RecordIndex, Result, SchemeEntry, TableShape};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes that a client absorbs at once.
const CHUNK: usize = 1 << 20;

/// The measurement of a scheme's lookups.
#[derive(Debug, Clone, Copy)]
pub struct Lookups {
    /// Rows of the table.
    pub rows: u64,
    /// Bytes of a row.
    pub row_bytes: u64,
    /// Lookups that are timed.
    pub count: u64,
    /// Lookups before the timed ones, which age the key.
    pub age: u64,
    /// Threads that make hints. Lookups are made on one.
    pub threads: usize,
}

impl Lookups {
    /// Parses the command line: `[ROWS [ROW_BYTES [LOOKUPS [AGE [THREADS]]]]]`.
    pub fn of_command_line() -> Self {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let number = |i: usize, usual: u64| words.get(i).and_then(|word| word.parse().ok()).unwrap_or(usual);
        let [rows, row_bytes, count, age] =
            [number(0, 1 << 20), number(1, 32), number(2, 1000), number(3, 0)];
        Lookups { rows, row_bytes, count, age, threads: number(4, 1) as usize }
    }

    /// Prepares a client, makes its lookups, and prints medians, with the minimum in brackets.
    ///
    /// # Errors
    /// Those of the scheme.
    ///
    /// # Panics
    /// If a record is wrong, or there is no pool of so many threads.
    pub fn measure(&self, entry: &SchemeEntry) -> Result<()> {
        let params = (entry.select)(&TableShape::new(self.rows, self.row_bytes, 1 << 20))?;
        let report = (entry.report)(&params)?;
        let width = report.record_bytes as usize;
        let mut table = vec![0; report.records as usize * width];
        seeded("rows").fill_bytes(&mut table);
        let table = MemoryRows::new(width, table);
        let sink = MemorySink::new();
        (entry.server.encode)(&params, &table, &sink)?;
        let image = Arc::new(sink.into_image());
        let server = (entry.server.open)(&params, image.clone())?;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads).build().unwrap();
        println!("{}: {} x {width} B, {} threads", entry.id, report.records, self.threads);

        let rng = &mut seeded("client");
        let began = Instant::now();
        let mut client = pool.install(|| {
            let mut prepare = (entry.prepare)(&params, rng)?;
            for need in prepare.needs() {
                for chunk in image.artifact(need.artifact).unwrap_or_default().chunks(CHUNK) {
                    prepare.absorb(need.artifact, chunk)?;
                }
            }
            prepare.finish()
        })?;
        println!("  prepared in {:.3} s", began.elapsed().as_secs_f64());
        let (supplied, taken, orders) = pool.install(|| supply(server.as_ref(), client.as_mut()))?;
        if orders > 0 {
            println!("  {orders} orders: {supplied:.3} s at the helper, {taken:.3} s at the client");
        }

        let session = server.admit(&client.keys())?;
        let mut taken: [Vec<Duration>; 3] = Default::default();
        for lookup in 0..self.age + self.count {
            if client.budget() == Budget::Left(0) {
                supply(server.as_ref(), client.as_mut())?;
            }
            let record = rng.next_u64() % report.records;
            let began = Instant::now();
            let (queries, ticket) = client.query(RecordIndex(record), rng)?;
            let asked = Instant::now();
            let mut answers = Vec::new();
            // Servers work at the same time, so only the first one's time counts.
            let mut answered = asked;
            for query in queries.iter().take(entry.query_servers) {
                answers.extend(
                    server.answer_many(&[(&session, query)]).into_iter().collect::<Result<Vec<_>>>()?,
                );
                answered = if answers.len() == 1 { Instant::now() } else { answered };
            }
            let came = Instant::now();
            let got = client.recover(ticket, &answers)?;
            let read = came.elapsed();
            assert!(got.bytes() == &table.bytes()[record as usize * width..][..width], "record {record}");
            if lookup >= self.age {
                let times = [asked - began, answered - asked, read];
                taken.iter_mut().zip(times).for_each(|(taken, time)| taken.push(time));
            }
        }
        let mut sum = 0.0;
        for (name, mut times) in ["query", "answer", "recover"].into_iter().zip(taken) {
            times.sort();
            let [median, least] =
                [times.len() / 2, 0].map(|at| times.get(at).copied().unwrap_or_default().as_secs_f64() * 1e6);
            sum += median;
            println!("  {name}: {median:.1} us ({least:.1})");
        }
        println!("  sum of medians: {sum:.1} us, after {} lookups", self.age);
        Ok(())
    }
}

/// Has hints made until no more are due. Returns the seconds of hint server and client, and the
/// number of hint requests.
fn supply(server: &dyn AnyServer, client: &mut dyn AnyClient) -> Result<(f64, f64, usize)> {
    let (mut supplied, mut taken, mut orders) = (0.0, 0.0, 0);
    if let (Some(supplier), Some(hint_client)) = (server.supplier(), client.hint_client()) {
        while let Some(order) = hint_client.next_hint_request()? {
            let began = Instant::now();
            let supply = supplier.supply(&order)?;
            supplied += began.elapsed().as_secs_f64();
            let began = Instant::now();
            hint_client.apply_hint_response(&supply)?;
            taken += began.elapsed().as_secs_f64();
            orders += 1;
        }
    }
    Ok((supplied, taken, orders))
}
