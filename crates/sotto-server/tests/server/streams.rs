//! Records in units: sent as they are made, between the passes, as fast as clients read.

use crate::harness::http::{connect, head};
use crate::harness::*;
use sotto_core::{AnyClient, AnyPending, RecordIndex, UnitLayout};
use sotto_server::{BatchConfig, ScanConfig, ServerConfig};
use sotto_testkit::{CLEAR_STREAM, rng::seeded};
use sotto_wire::{FrameHeader, ProblemCode, SessionId, keys, routes, stream};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Rows of this many bytes have 64 units.
const WIDE: u64 = 4 << 20;
/// The answers about rows of this many bytes do not fit into the buffers on the way.
const WIDER: u64 = 32 << 20;

/// A table of units, a client of it, its session, and a query for row 1.
struct Scene {
    world: World,
    client: Box<dyn AnyClient>,
    id: SessionId,
    query: Vec<u8>,
    pending: AnyPending,
    units: UnitLayout,
}

fn scene(row_bytes: u64, config: &ServerConfig) -> Scene {
    let made = EncodedTable { scheme: &CLEAR_STREAM, row_bytes, ..EncodedTable::clear(1, &Probe::new()) };
    let world = world_of(config, TestSource::with(made.clone()), made);
    let params = world.made.params();
    let mut rng = seeded("client");
    let mut client = (CLEAR_STREAM.prepare)(&params, &mut rng).unwrap().finish().unwrap();
    let registered = post(world.at, &routes::keys("t"), &keys::encode(&world.pin, &client.keys()));
    let id = SessionId(registered.body.try_into().unwrap());
    let (mut queries, pending) = client.query(RecordIndex(1), &mut rng).unwrap();
    let units = CLEAR_STREAM.units.unwrap()(&params).unwrap();
    Scene { world, client, id, query: queries.remove(0), pending, units }
}

impl Scene {
    fn frame(&self, first: u64, units: u64) -> Vec<u8> {
        let head = stream::StreamHead { pin: self.world.pin, session: self.id, first, units };
        stream::encode(&head, &self.query)
    }

    fn post(&self, frame: &[u8]) -> Response {
        post(self.world.at, &routes::stream("t"), frame)
    }

    /// Sends a request and leaves its response on the wire.
    fn open(&self) -> TcpStream {
        let frame = self.frame(0, self.units.count);
        let mut stream = connect(self.world.at);
        let length = frame.len().to_string();
        let head = head("POST", &routes::stream("t"), &[("content-length", &length)]);
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&frame).unwrap();
        stream
    }

    /// Reads a response's units from `first` on.
    #[track_caller]
    fn read(&mut self, response: &Response, pin: &FrameHeader, first: u64) -> Vec<u8> {
        assert_eq!(response.status, 200, "{}", response.text());
        assert_eq!(response.header("content-length"), Some(response.body.len().to_string().as_str()));
        let (head, units) = response.body.split_first_chunk().unwrap();
        stream::check_answer_head(head, pin).unwrap();
        let reader = self.client.units().unwrap();
        let mut read = Vec::new();
        for (unit, answer) in (first..).zip(units.chunks(self.units.answer_bytes as usize)) {
            read.extend(reader.recover_unit(&self.pending, unit, answer).unwrap().bytes());
        }
        read
    }
}

/// Waits for the first byte of a response. A request whose body is still being read when a server shuts down is refused,
/// though its stream counts as open.
fn await_response(open: &TcpStream) {
    assert_eq!(open.peek(&mut [0]).unwrap(), 1);
}

#[test]
fn a_record_comes_in_units_whole_or_from_where_it_broke_off() {
    for row_bytes in [8, WIDE] {
        let mut scene = scene(row_bytes, &config());
        let want = if row_bytes == 8 { record(1, 1) } else { wide(1, WIDE) };
        let (count, pin) = (scene.units.count, scene.world.pin);
        let whole = scene.post(&scene.frame(0, count));
        assert!(scene.read(&whole, &pin, 0) == want);
        let rest = scene.post(&scene.frame(count - 1, 1));
        let start = (scene.units.bytes * (count - 1)) as usize;
        assert!(scene.read(&rest, &pin, count - 1) == want[start..]);
        assert_eq!(scene.world.metric("sotto_row_streams_total{table=\"t\"}"), 2.0);
        assert_eq!(scene.world.metric("sotto_stream_units_total{table=\"t\"}"), (count + 1) as f64);
        scene.world.until("sotto_open_streams", 0.0);
    }
}

#[test]
fn what_cannot_be_streamed_is_refused_before_the_first_byte() {
    let scene = scene(8, &config());
    let count = scene.units.count;
    let good = scene.frame(0, count);
    let with = |at: usize, byte: u8| {
        let mut bad = good.clone();
        bad[at] = byte;
        scene.post(&bad)
    };
    assert_refused(&with(0, b'S'), ProblemCode::Malformed);
    assert_refused(&with(4, 9), ProblemCode::WrongVersion);
    assert_refused(&with(8, 0), ProblemCode::StaleEpoch);
    assert_refused(&with(16, 0xFF), ProblemCode::WrongParams);
    assert_refused(&with(48, good[48] ^ 1), ProblemCode::SessionExpired);
    assert_refused(&with(stream::HEAD_BYTES + 7, 0xFF), ProblemCode::BadQuery);
    for (first, units) in [(0, 0), (0, count + 1), (count, 1), (u64::MAX, 2)] {
        assert_refused(&scene.post(&scene.frame(first, units)), ProblemCode::Malformed);
    }
    assert_refused(&scene.post(&good[..good.len() - 1]), ProblemCode::Malformed);
    assert_refused(&scene.post(&[&good[..], b"x"].concat()), ProblemCode::TooLarge);
    assert_refused(&get(scene.world.at, &routes::stream("t")), ProblemCode::WrongMethod);
    scene.world.until("sotto_open_streams", 0.0);

    let whole_records = world(&config());
    let head = stream::StreamHead { pin: whole_records.pin, session: SessionId::NONE, first: 0, units: 1 };
    let response = post(whole_records.at, &routes::stream("t"), &stream::encode(&head, &[0; 8]));
    assert_refused(&response, ProblemCode::CannotStream);
}

#[test]
fn units_are_made_as_fast_as_the_client_reads_and_no_faster() {
    let scene = scene(WIDER, &ServerConfig { max_streams: 1, ..config() });
    let made = || scene.world.metric("sotto_stream_units_total{table=\"t\"}");
    let mut slow = scene.open();
    // Only as many units are made ahead as the system buffers.
    let mut before = -1.0;
    eventually("a standstill", || {
        std::thread::sleep(Duration::from_millis(50));
        std::mem::replace(&mut before, made()) == before && before > 0.0
    });
    assert!(before < scene.units.count as f64, "all {before} units were made for a client that reads none");
    // The only permit is taken; queries are answered.
    assert_refused(&scene.post(&scene.frame(0, 1)), ProblemCode::Busy);
    let response = post(scene.world.at, &routes::query("t"), &frame(&scene.world.pin, scene.id, &[0]));
    assert_eq!(response.status, 200);
    let mut rest = Vec::new();
    slow.read_to_end(&mut rest).unwrap();
    assert_eq!(made(), scene.units.count as f64);
    scene.world.until("sotto_open_streams", 0.0);
}

#[test]
fn a_client_that_hangs_up_or_stops_reading_loses_its_place() {
    let scene = scene(WIDER, &ServerConfig { idle_timeout_ms: 300, ..config() });
    drop(scene.open());
    scene.world.until("sotto_open_streams", 0.0);
    let stuck = scene.open();
    scene.world.until("sotto_open_streams", 1.0);
    scene.world.until("sotto_open_streams", 0.0);
    assert!(scene.world.metric("sotto_stream_units_total{table=\"t\"}") < 2.0 * scene.units.count as f64);
    // Its connection is closed too, although the client has not hung up.
    scene.world.until("sotto_connections", 0.0);
    drop(stuck);
}

#[test]
fn a_stream_goes_on_at_the_pace_of_its_clients_budget() {
    let scan_budget =
        ScanConfig { percent_per_client: 20, burst_seconds_per_client: 1, ..ScanConfig::default() };
    let mut scene = scene(WIDE, &ServerConfig { scan_budget, ..config() });
    scene.world.probe.hold();
    let mut open = scene.open();
    eventually("the first unit", || scene.world.probe.batches().len() == 1);
    std::thread::sleep(Duration::from_millis(1300));
    let began = Instant::now();
    scene.world.probe.release();
    let (response, pin) = (Response::read(&mut open), scene.world.pin);
    // The client owes three tenths of a second, which take five times as long to accrue.
    assert!(began.elapsed() > Duration::from_millis(1400), "{:?}", began.elapsed());
    assert!(scene.read(&response, &pin, 0) == wide(1, WIDE), "nothing of it is lost");
    scene.world.until("sotto_open_streams", 0.0);
}

#[test]
fn a_slow_client_keeps_no_epoch_open_for_ever() {
    let scene = scene(WIDER, &ServerConfig { idle_timeout_ms: 3000, ..config() });
    let whole = (scene.units.count * scene.units.answer_bytes) as usize;
    let mut slow = scene.open();
    // The client reads all the time, so it never stalls. Once the epochs are there, all units would
    // take it twenty seconds.
    let pause_ms = Arc::new(AtomicU64::new(500));
    let reader = std::thread::spawn({
        let pause_ms = pause_ms.clone();
        move || {
            let (mut piece, mut came) = (vec![0; 1 << 15], 0);
            while let Ok(read @ 1..) = slow.read(&mut piece) {
                came += read;
                std::thread::sleep(Duration::from_millis(pause_ms.load(Relaxed)));
            }
            came
        }
    });
    scene.world.until("sotto_open_streams", 1.0);
    for epoch in [2, 3] {
        scene.world.source.put(epoch, EncodedTable { epoch, row_bytes: 8, ..scene.world.made.clone() });
        assert!(scene.world.running.reload());
    }
    pause_ms.store(20, Relaxed);
    scene.world.until("sotto_open_streams", 0.0);
    // What the system has buffered need not be read slowly.
    pause_ms.store(0, Relaxed);
    let came = reader.join().unwrap();
    assert!(came < whole * 4 / 5, "{came} of {whole} bytes came");
}

#[test]
fn passes_and_units_take_turns() {
    let batch = BatchConfig { max_queries: 8, ..BatchConfig::default() };
    let scene = scene(8, &ServerConfig { batch, ..config() });
    let probe = &scene.world.probe;
    let (at, query) = (scene.world.at, frame(&scene.world.pin, scene.id, &[0; 8]));
    let streamed = scene.frame(0, 2);
    std::thread::scope(|scope| {
        probe.hold();
        let mut later = vec![scope.spawn(|| post(at, &routes::query("t"), &query))];
        eventually("the first pass", || probe.batches().len() == 1);
        for _ in 0..2 {
            later.push(scope.spawn(|| post(at, &routes::stream("t"), &streamed)));
            later.push(scope.spawn(|| post(at, &routes::query("t"), &query)));
        }
        scene.world.until("sotto_open_streams", 2.0);
        scene.world.until("sotto_queue_depth", 2.0);
        probe.release();
        assert!(later.into_iter().all(|response| response.join().unwrap().status == 200));
    });
    // Between two passes there is one step of a stream: preparing one, or a unit. Each pass is full.
    let batches = probe.batches();
    let passes: Vec<_> = batches.iter().filter(|size| **size > 0).collect();
    assert_eq!(passes, [&8; 3]);
    let last_pass = batches.iter().rposition(|size| *size > 0).unwrap();
    let units_before = batches[..last_pass].iter().filter(|size| **size == 0).count();
    assert!(units_before <= 2, "units kept a pass waiting: {batches:?}");
    assert_eq!(batches.iter().filter(|size| **size == 0).count(), 4);
}

#[test]
fn a_scheme_that_panics_over_a_unit_costs_its_stream_alone() {
    let mut scene = scene(WIDE, &config());
    scene.world.probe.panic_next();
    let mut bytes = Vec::new();
    // How a broken connection ends depends on the system; the record must be incomplete.
    let _ = scene.open().read_to_end(&mut bytes);
    assert!((bytes.len() as u64) < scene.units.count * scene.units.answer_bytes);
    let (count, pin) = (scene.units.count, scene.world.pin);
    let again = scene.post(&scene.frame(0, count));
    assert!(scene.read(&again, &pin, 0) == wide(1, WIDE));
    scene.world.until("sotto_open_streams", 0.0);
}

#[test]
fn a_shutdown_lets_a_stream_finish_and_cuts_one_off_that_does_not() {
    let mut scene = scene(WIDE, &config());
    let mut open = scene.open();
    await_response(&open);
    let pin = scene.world.pin;
    let reader = std::thread::spawn(move || Response::read(&mut open));
    let World { running, source, made, .. } = scene.world;
    assert_eq!(running.shutdown().unfinished, 0);
    scene.world = world_of(&config(), source, made);
    let response = reader.join().unwrap();
    assert!(scene.read(&response, &pin, 0) == wide(1, WIDE));

    let stubborn = self::scene(WIDER, &ServerConfig { drain_seconds: 0, ..config() });
    let open = stubborn.open();
    await_response(&open);
    let began = Instant::now();
    assert_eq!(stubborn.world.running.shutdown().unfinished, 1);
    assert!(began.elapsed() < Duration::from_secs(15));
}
