//! Measures a scheme on a table of random rows in memory, apart from the benchmarks:
//!
//! - `measure answer SCHEME ROWS_OF_A_BUCKET ROW_BYTES BUCKETS [SET] [ROUNDS]`: one answer, about a
//!   single record or about a record of each bucket. The time of an answer is the time that its
//!   thread was on a processor.
//! - `measure parts SCHEME ROWS ROW_BYTES PARTS [ROUNDS]`: for one lookup the whole table's answer,
//!   each part's partial answer, and the join; the minimum of some rounds. The joined answer is
//!   compared with the whole table's.
//! - `measure lookups SCHEME [ROWS [ROW_BYTES [LOOKUPS [AGE [THREADS]]]]]`: making hints, on THREADS,
//!   and lookups one after the other, after AGE lookups that are not timed. Pages are those of the
//!   allocator: with glibc's `GLIBC_TUNABLES=glibc.malloc.hugetlb=1` they are huge ones, as
//!   `sotto bench` and `sotto serve` use for tables.
//!
//! Answers are made on one thread, and every recovered record is compared with the table's. For
//! figures: `cargo run --release -p sotto-testkit --example measure -- ...`.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a program to measure with")]

use rand_core::Rng;
use sotto_core::{
    AnyClient, AnyServer, Budget, CryptoRng, Image, ParamsReport, PartIndex, RecordIndex, SchemeEntry,
    TableShape,
};
use sotto_testkit::memory::{MemoryImage, MemoryRows, MemorySink};
use sotto_testkit::rng::seeded;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes that a client absorbs at once.
const CHUNK: usize = 1 << 20;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, usual: u64| words.get(i).and_then(|word| word.parse().ok()).unwrap_or(usual);
    let is_named = |id: &str| id == words[1] || id.split('/').next() == Some(&words[1]);
    let entry = sotto_registry::SCHEMES.iter().rfind(|entry| is_named(entry.id.0)).unwrap();
    match words[0].as_str() {
        "answer" => {
            let set = words.get(5).filter(|set| set.as_str() != "-").cloned();
            answer(entry, [number(2, 1 << 16), number(3, 32), number(4, 1), number(6, 7)], set);
        }
        "parts" => parts(entry, [number(2, 1 << 16), number(3, 32), number(4, 2), number(5, 5)]),
        "lookups" => {
            let shape = TableShape::new(number(2, 1 << 20), number(3, 32), 1 << 20);
            lookups(&Table::new(entry, &shape), [number(4, 1000), number(5, 0), number(6, 1)]);
        }
        other => panic!("{other}: answer, parts or lookups"),
    }
}

/// A table in memory with its server.
struct Table {
    entry: &'static SchemeEntry,
    params: Vec<u8>,
    report: ParamsReport,
    rows: MemoryRows,
    image: Arc<MemoryImage>,
    server: Box<dyn AnyServer>,
}

impl Table {
    fn new(entry: &'static SchemeEntry, shape: &TableShape) -> Self {
        let params = (entry.select)(shape).unwrap();
        let report = (entry.report)(&params).unwrap();
        let width = report.record_bytes as usize;
        let mut bytes = vec![0; report.records as usize * width];
        seeded("rows").fill_bytes(&mut bytes);
        let rows = MemoryRows::new(width, bytes);
        let (sink, began) = (MemorySink::new(), Instant::now());
        (entry.server.encode)(&params, &rows, &sink).unwrap();
        println!("{}: {} x {width} B, encoded in {:.2?}", entry.id, report.records, began.elapsed());
        let image = Arc::new(sink.into_image());
        let server = (entry.server.open)(&params, image.clone()).unwrap();
        Table { entry, params, report, rows, image, server }
    }

    fn client(&self, rng: &mut dyn CryptoRng) -> Box<dyn AnyClient> {
        let mut prepare = (self.entry.prepare)(&self.params, rng).unwrap();
        for need in prepare.needs() {
            for chunk in self.image.artifact(need.artifact).unwrap_or_default().chunks(CHUNK) {
                prepare.absorb(need.artifact, chunk).unwrap();
            }
        }
        prepare.finish().unwrap()
    }

    fn is_record(&self, index: u64, bytes: &[u8]) -> bool {
        let width = self.report.record_bytes as usize;
        bytes == &self.rows.bytes()[index as usize * width..][..width]
    }
}

fn pool(threads: u64) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads as usize).build().unwrap()
}

/// The median and the minimum of some times.
fn median(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort();
    (times.get(times.len() / 2).copied().unwrap_or_default(), times.first().copied().unwrap_or_default())
}

/// Time that this thread has been on a processor: other work on the machine does not count, except
/// for its effect on caches.
fn on_processor() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(stat.split(' ').next().unwrap().parse().unwrap())
}

fn answer(entry: &'static SchemeEntry, [rows, row_bytes, buckets, rounds]: [u64; 4], set: Option<String>) {
    let table =
        Table::new(entry, &TableShape { buckets, set, ..TableShape::new(rows * buckets, row_bytes, 100) });
    let (report, costs) = (&table.report, &table.report.costs);
    println!("{}", String::from_utf8_lossy(&table.params));
    report.details.iter().for_each(|(name, value)| println!("  {name}: {value}"));
    let rng = &mut seeded("client");
    let mut client = table.client(rng);
    let session = table.server.admit(&client.keys()).unwrap();
    let (each, pool) = (report.records / buckets, pool(1));
    let (mut taken, mut sizes) = (<[Vec<Duration>; 3]>::default(), [0; 2]);
    for round in 0..rounds {
        let places: Vec<u64> = (0..buckets).map(|b| (b * 7919 + round * 104_729) % each).collect();
        let began = Instant::now();
        let (queries, pending) = match client.batch() {
            Some(batch) => batch.query_buckets(&places, rng).unwrap(),
            None => client.query(RecordIndex(places[0]), rng).unwrap(),
        };
        taken[0].push(began.elapsed());
        let (answer, time) = pool.install(|| {
            let began = on_processor();
            let answer = table.server.answer_many(&[(&session, &queries[0])]).pop().unwrap().unwrap();
            (answer, on_processor() - began)
        });
        taken[1].push(time);
        sizes = [queries[0].len(), answer.len()];
        let began = Instant::now();
        let found = match client.batch() {
            Some(batch) => batch.recover_buckets(pending, &[answer]).unwrap(),
            None => vec![client.recover(pending, &[answer]).unwrap()],
        };
        taken[2].push(began.elapsed());
        for ((bucket, place), record) in (0..).zip(&places).zip(found) {
            assert!(table.is_record(bucket * each + place, record.bytes()), "bucket {bucket}, place {place}");
        }
    }
    let [(ask, _), (answer, least), (read, _)] = taken.map(median);
    let (estimated, bits) = (sotto_core::work::time(costs.server_ops), report.security.bits);
    println!("estimated {estimated:.1?}, security {bits:.1} bits, failure 2^{:.1}", report.failure_log2);
    println!("keys {} B, image {:.1} MB", costs.keys_bytes, costs.resident_bytes as f64 / 1e6);
    println!(
        "query {} B, answer {} B; asked in {ask:.2?}, answered in {answer:.2?} (at least {least:.2?}), read in {read:.2?}",
        sizes[0], sizes[1]
    );
}

fn parts(entry: &'static SchemeEntry, [rows, row_bytes, parts, rounds]: [u64; 4]) {
    let table = Table::new(entry, &TableShape::new(rows, row_bytes, 100));
    let cuts = entry.server.parts.unwrap();
    let most = (cuts.max_parts)(&table.params).unwrap();
    let parts = u32::try_from(parts).unwrap().min(most);
    let section = table.image.section(cuts.section).unwrap();
    let part = |cut| {
        let holds = (cuts.ranges)(&table.params, cut).unwrap();
        let bytes = holds.iter().map(|range| &section[range.start as usize..range.end as usize]);
        let image = MemoryImage::default().with(cuts.section, &bytes.collect::<Vec<_>>().concat());
        (cuts.open)(&table.params, cut, Arc::new(image)).unwrap()
    };
    let open: Vec<Box<dyn AnyServer>> = PartIndex::all(parts).map(part).collect();
    let join = (cuts.join)(&table.params, parts).unwrap();
    let rng = &mut seeded("client");
    let mut client = table.client(rng);
    let session = table.server.admit(&client.keys()).unwrap();
    let pool = pool(1);
    let mut least = vec![Duration::MAX; parts as usize + 2];
    let mut size = 0;
    for round in 0..rounds {
        let index = RecordIndex(round * 104_729 % table.report.records);
        let query = client.query(index, rng).unwrap().0.remove(0);
        let mut timed = |i: usize, work: &(dyn Fn() -> Vec<u8> + Sync)| {
            let began = Instant::now();
            let out = pool.install(work);
            least[i] = least[i].min(began.elapsed());
            out
        };
        let ask = |server: &dyn AnyServer| server.answer_many(&[(&session, &query)]).pop().unwrap().unwrap();
        let answer = timed(0, &|| ask(table.server.as_ref()));
        let partials = open.iter().zip(2..).map(|(part, i)| timed(i, &|| ask(part.as_ref())));
        let partials: Vec<Vec<u8>> = partials.collect();
        assert!(timed(1, &|| join.join(&session, &query, &partials).unwrap()) == answer);
        size = partials.iter().map(Vec::len).sum();
    }
    let longest = least[2..].iter().max().unwrap();
    println!(
        "{parts} parts of at most {most}: whole {:.2?}, the longest partial {longest:.2?}, join {:.3?} ({:.1} % of \
         that partial); partials {size} B together, answer {} B",
        least[0],
        least[1],
        100.0 * least[1].as_secs_f64() / longest.as_secs_f64(),
        table.report.costs.answer_bytes,
    );
}

fn lookups(table: &Table, [count, age, threads]: [u64; 3]) {
    let (rng, pool) = (&mut seeded("client"), pool(threads));
    let began = Instant::now();
    let mut client = pool.install(|| table.client(rng));
    println!("  prepared in {:.3} s, {threads} threads", began.elapsed().as_secs_f64());
    let [supplied, applied] = pool.install(|| refill(table, client.as_mut()));
    println!("  hints: {supplied:.3?} at the server, {applied:.3?} at the client");
    let session = table.server.admit(&client.keys()).unwrap();
    let mut taken: [Vec<Duration>; 3] = Default::default();
    for lookup in 0..age + count {
        if client.budget() == Budget::Left(0) {
            refill(table, client.as_mut());
        }
        let record = rng.next_u64() % table.report.records;
        let began = Instant::now();
        let (queries, pending) = client.query(RecordIndex(record), rng).unwrap();
        let asked = began.elapsed();
        let mut answers = Vec::new();
        // Servers work at the same time, so only the first one's time counts.
        let mut answered = None;
        for query in queries.iter().take(table.entry.query_servers) {
            let began = Instant::now();
            answers.push(table.server.answer_many(&[(&session, query)]).pop().unwrap().unwrap());
            answered = answered.or(Some(began.elapsed()));
        }
        let began = Instant::now();
        let got = client.recover(pending, &answers).unwrap();
        let times = [asked, answered.unwrap_or_default(), began.elapsed()];
        assert!(table.is_record(record, got.bytes()), "record {record}");
        if lookup >= age {
            taken.iter_mut().zip(times).for_each(|(taken, time)| taken.push(time));
        }
    }
    let mut sum = Duration::ZERO;
    for (name, times) in ["query", "answer", "recover"].into_iter().zip(taken) {
        let (median, least) = median(times);
        sum += median;
        println!("  {name}: {median:.1?} ({least:.1?})");
    }
    println!("  sum of medians: {sum:.1?}, after {age} lookups");
}

/// Has hints made until no more are due. Returns the time of hint server and client.
fn refill(table: &Table, client: &mut dyn AnyClient) -> [Duration; 2] {
    let mut taken = [Duration::ZERO; 2];
    let (Some(server), Some(client)) = (table.server.hint_server(), client.hint_client()) else {
        return taken;
    };
    while let Some(request) = client.next_hint_request().unwrap() {
        let began = Instant::now();
        let response = server.answer_hint_request(&request).unwrap();
        taken[0] += began.elapsed();
        let began = Instant::now();
        client.apply_hint_response(&response).unwrap();
        taken[1] += began.elapsed();
    }
    taken
}
