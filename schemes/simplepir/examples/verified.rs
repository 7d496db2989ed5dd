//! Measures the cost of verification: `simplepir/1` and `verisimplepir/1` on one table, in turns,
//! on one thread:
//! `cargo run --release -p sotto-simplepir --example verified -- [ROWS [ROW_BYTES]]`.
//!
//! Bytes in to bytes out, medians; every answer is checked. A refusal is of an answer with one bit flipped: `verisimplepir/1`
//! then reads nothing, so its time is that of verifying.

#![allow(clippy::indexing_slicing, clippy::panic, reason = "a wrong record ends the program")]

use sotto_core::{AnyClient, AnyServer, Error, ParamsReport, RecordIndex, SchemeEntry, TableShape};
use sotto_simplepir::{ENTRY, VERIFIED};
use sotto_testkit::memory::{MemoryRows, MemorySink};
use sotto_testkit::rng::seeded;
use std::sync::Arc;
use std::time::{Duration, Instant};

const ROUNDS: u64 = 31;

/// A table in one scheme, and times of what was done with it.
struct Participant {
    entry: &'static SchemeEntry,
    report: ParamsReport,
    records: Vec<u8>,
    server: Box<dyn AnyServer>,
    client: Box<dyn AnyClient>,
    encoding: Duration,
    preparing: Duration,
    /// Query, answer, recover, refuse.
    times: [Vec<Duration>; 4],
}

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let out = work();
    (start.elapsed(), out)
}

impl Participant {
    fn new(entry: &'static SchemeEntry, rows: u64, row_bytes: u64, table: &[u8]) -> sotto_core::Result<Self> {
        let params = (entry.select)(&TableShape::new(rows, row_bytes, 1000))?;
        let report = (entry.report)(&params)?;
        let mut records = table.to_vec();
        records.resize((report.records * report.record_bytes) as usize, 0);
        let source = MemoryRows::new(report.record_bytes as usize, records.clone());
        let sink = MemorySink::new();
        let (encoding, encoded) = timed(|| (entry.server.encode)(&params, &source, &sink));
        encoded?;
        let image = sink.into_image();
        let (preparing, client) = timed(|| {
            let mut prepare = (entry.prepare)(&params, &mut seeded("prepare"))?;
            for need in prepare.needs() {
                for chunk in image.artifact(need.artifact).unwrap_or_default().chunks(1 << 20) {
                    prepare.absorb(need.artifact, chunk)?;
                }
            }
            prepare.finish()
        });
        let server = (entry.server.open)(&params, Arc::new(image))?;
        Ok(Participant {
            entry,
            report,
            records,
            server,
            client: client?,
            encoding,
            preparing,
            times: Default::default(),
        })
    }

    fn turn(&mut self, round: u64) -> sotto_core::Result<()> {
        let (index, rng) = (round * 7919 % self.report.records, &mut seeded(&round.to_string()));
        let session = self.server.admit(&[])?;
        let (asking, asked) = timed(|| self.client.query(RecordIndex(index), rng));
        let (queries, pending) = asked?;
        let (answering, answer) =
            timed(|| self.server.answer_many(&[(&session, queries[0].as_slice())]).remove(0));
        let answer = answer?;
        let (reading, record) = timed(|| self.client.recover(pending, std::slice::from_ref(&answer)));
        let width = self.report.record_bytes as usize;
        assert!(record?.bytes() == &self.records[index as usize * width..][..width], "a wrong record");

        let (_, pending) = self.client.query(RecordIndex(index), &mut seeded(&round.to_string()))?;
        let mut wrong = answer;
        wrong[0] ^= 1;
        let (refusing, refused) = timed(|| self.client.recover(pending, &[wrong]));
        if self.entry.id == VERIFIED.id {
            assert!(matches!(refused, Err(Error::Unreadable)), "a wrong answer was taken");
        }
        for (times, time) in self.times.iter_mut().zip([asking, answering, reading, refusing]) {
            times.push(time);
        }
        Ok(())
    }

    fn print(mut self) {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let costs = self.report.costs;
        println!("{}: {} x {}", self.entry.id, self.report.record_bytes, self.report.records);
        println!(
            "  artifact {} B, query {} B, answer {} B",
            costs.artifact_bytes, costs.query_bytes, costs.answer_bytes
        );
        println!("  encoding {:.0} ms, preparing {:.0} ms", ms(self.encoding), ms(self.preparing));
        for (name, times) in ["query", "answer", "recover", "refuse"].iter().zip(&mut self.times) {
            times.sort();
            println!("  {name}: {:.3} ms ({:.3} at least)", ms(times[times.len() / 2]), ms(times[0]));
        }
        println!(
            "  client_ops {} = {:.3} ms",
            costs.client_ops,
            ms(sotto_core::work::time(costs.client_ops))
        );
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let numbers: Vec<u64> = std::env::args().skip(1).map(|word| word.parse()).collect::<Result<_, _>>()?;
    let rows = numbers.first().copied().unwrap_or(1 << 20);
    let row_bytes = numbers.get(1).copied().unwrap_or(256);
    let byte = |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) as u8;
    let table: Vec<u8> = (0..rows * row_bytes).map(byte).collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    Ok(pool.install(|| -> sotto_core::Result<()> {
        let mut seats = [
            Participant::new(&ENTRY, rows, row_bytes, &table)?,
            Participant::new(&VERIFIED, rows, row_bytes, &table)?,
        ];
        for round in 0..ROUNDS {
            for seat in &mut seats {
                seat.turn(round)?;
            }
        }
        seats.into_iter().for_each(Participant::print);
        Ok(())
    })?)
}
