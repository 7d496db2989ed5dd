//! Tables without crypto, a scheme that can be paused, a small HTTP client.

pub(crate) mod folder;
pub(crate) mod http;
pub(crate) mod probe;

pub(crate) use folder::{Asker, encode_rows};
pub(crate) use http::{Response, get, operate, post, request};
pub(crate) use probe::Probe;

use sotto_catalog::catalog::FORMAT;
use sotto_catalog::{
    ArtifactEntry, Catalog, Hex32, RowsRoot, SignedCatalog, SigningKey, TableKind, ValueKind,
};
use sotto_core::{Artifact, Epoch, Image, SchemeEntry, Section, TableShape};
use sotto_server::table_epoch::TableEpochParts;
use sotto_server::{EpochSource, RunningServer, Server, ServerConfig, SourceError, TableEpoch};
use sotto_testkit::memory::{MemoryRows, MemorySink};
use sotto_testkit::{CLEAR, rng::seeded};
use sotto_wire::{FrameHeader, SessionId, answer, query, routes};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub(crate) const ROWS: u64 = 100;
/// Four rows of 8 bytes make a record of a clear scheme.
pub(crate) const RECORD: usize = 32;
pub(crate) const RECORDS: u64 = 25;

/// Row `i` of epoch `e`: both, so that answers of two epochs differ.
pub(crate) fn row(i: u64, epoch: u64) -> [u8; 8] {
    (i | epoch << 32).to_le_bytes()
}

pub(crate) fn record(index: u64, epoch: u64) -> Vec<u8> {
    (index * 4..index * 4 + 4).flat_map(|i| row(i, epoch)).collect()
}

/// A row of many bytes, no two parts of which are equal.
pub(crate) fn wide(index: u64, bytes: u64) -> Vec<u8> {
    // Not byte by byte, which takes seconds in a debug build.
    let mut row = vec![0; bytes as usize];
    for (part, i) in row.chunks_exact_mut(8).zip(0_u64..) {
        part.copy_from_slice(&(i << 8 | index).to_le_bytes());
    }
    row
}

/// How a test table is made.
#[derive(Clone)]
pub(crate) struct EncodedTable {
    pub(crate) scheme: &'static SchemeEntry,
    pub(crate) name: &'static str,
    pub(crate) epoch: u64,
    pub(crate) probe: Arc<Probe>,
    /// Bytes of a row: 8, or more for a table of two rows, each [`wide`].
    pub(crate) row_bytes: u64,
    /// Role of the server that serves it.
    pub(crate) role: u8,
}

impl EncodedTable {
    pub(crate) fn clear(epoch: u64, probe: &Arc<Probe>) -> Self {
        EncodedTable { scheme: &CLEAR, name: "t", epoch, probe: probe.clone(), row_bytes: 8, role: 0 }
    }

    fn rows(&self) -> u64 {
        if self.row_bytes == 8 { ROWS } else { 2 }
    }

    pub(crate) fn params(&self) -> Vec<u8> {
        (self.scheme.select)(&TableShape::new(self.rows(), self.row_bytes, 1)).unwrap()
    }

    /// Encodes the table. For large rows this takes seconds.
    pub(crate) fn parts(&self) -> TableEpochParts {
        let (rows, params) = (self.rows(), self.params());
        let report = (self.scheme.report)(&params).unwrap();
        let records = match self.row_bytes {
            8 => (0..RECORDS).flat_map(|index| record(index, self.epoch)).collect(),
            bytes => [wide(0, bytes), wide(1, bytes)].concat(),
        };
        let records = MemoryRows::new(report.record_bytes as usize, records);
        let sink = MemorySink::new();
        (self.scheme.server.encode)(&params, &records, &sink).unwrap();
        let image = Arc::new(sink.into_image());
        let hint = image.section(Section::Public(Artifact::Hint));
        let artifacts = hint.map(|hint| ArtifactEntry::of(Artifact::Hint, hint, None));
        let catalog = Catalog {
            format: FORMAT.into(),
            table: self.name.parse().unwrap(),
            epoch: Epoch(self.epoch),
            kind: TableKind::Index,
            value: ValueKind::Bytes,
            rows,
            row_bytes: self.row_bytes,
            scheme: self.scheme.id.0.into(),
            params: serde_json::from_slice(&params).unwrap(),
            params_digest: report.digest.into(),
            servers: self.scheme.servers as u32,
            artifacts: artifacts.into_iter().collect(),
            rows_digest: None,
            rows_root: RowsRoot { root: Hex32::from([0; 32]), leaf_rows: 1, path: None },
            layers: vec![],
            sidecar: None,
            anchor: None,
            attribution: None,
            created: 0,
            expires: None,
        };
        let signed = SignedCatalog::sign(&catalog, &SigningKey::generate(&mut seeded("publisher"))).unwrap();
        let packing = catalog.packing(&report).unwrap();
        let open = (self.scheme.server.open)(&params, image.clone()).unwrap();
        let server = Box::new(probe::Probed { inner: open, probe: self.probe.clone() });
        TableEpochParts { scheme: self.scheme, signed, catalog, report, packing, server, image }
    }

    pub(crate) fn pin(&self) -> FrameHeader {
        let report = (self.scheme.report)(&self.params()).unwrap();
        FrameHeader { server: self.role, epoch: Epoch(self.epoch), digest: report.digest }
    }
}

type OpenEpoch = Box<dyn Fn() -> Result<TableEpoch, SourceError> + Send>;

/// A source to which a test adds epochs, and from which it removes them.
#[derive(Clone, Default)]
pub(crate) struct TestSource(Arc<Mutex<BTreeMap<u64, OpenEpoch>>>);

impl TestSource {
    pub(crate) fn with(made: EncodedTable) -> Self {
        let source = TestSource::default();
        source.put(made.epoch, made);
        source
    }

    /// Adds a table, under an epoch number that may not be its own.
    pub(crate) fn put(&self, epoch: u64, made: EncodedTable) {
        let open = move || TableEpoch::new(made.parts(), made.role);
        self.0.lock().unwrap().insert(epoch, Box::new(open));
    }

    pub(crate) fn put_broken(&self, epoch: u64, why: &'static str) {
        let open = move || Err(SourceError::Unreadable(why.into()));
        self.0.lock().unwrap().insert(epoch, Box::new(open));
    }
}

impl EpochSource for TestSource {
    fn name(&self) -> String {
        "test source".into()
    }
    fn epochs(&self) -> Result<Vec<Epoch>, SourceError> {
        Ok(self.0.lock().unwrap().keys().copied().map(Epoch).collect())
    }
    fn open(&self, epoch: Epoch) -> Result<TableEpoch, SourceError> {
        self.0.lock().unwrap().get(&epoch.0).ok_or(SourceError::Unreadable("gone".into()))?()
    }
}

pub(crate) fn config() -> ServerConfig {
    ServerConfig { threads: 1, reload_seconds: 0, ..ServerConfig::on_free_ports() }
}

pub(crate) fn start(config: &ServerConfig, source: &TestSource) -> RunningServer {
    Server::start_with(config, vec![Box::new(source.clone())]).unwrap()
}

/// A server with one clear table at epoch 1, and what is needed to talk to it.
pub(crate) struct World {
    pub(crate) running: RunningServer,
    pub(crate) probe: Arc<Probe>,
    pub(crate) source: TestSource,
    pub(crate) made: EncodedTable,
    pub(crate) pin: FrameHeader,
    pub(crate) at: SocketAddr,
}

pub(crate) fn world(config: &ServerConfig) -> World {
    let made = EncodedTable::clear(1, &Probe::new());
    world_of(config, TestSource::with(made.clone()), made)
}

/// A server with the table of a source.
pub(crate) fn world_of(config: &ServerConfig, source: TestSource, made: EncodedTable) -> World {
    let running = start(config, &source);
    World { at: running.public, pin: made.pin(), running, probe: made.probe.clone(), source, made }
}

impl World {
    /// The frame of a request for these records.
    pub(crate) fn frame(&self, records: &[u64]) -> Vec<u8> {
        frame(&self.pin, SessionId::NONE, records)
    }

    pub(crate) fn query(&self, records: &[u64]) -> Response {
        post(self.at, &routes::query("t"), &self.frame(records))
    }

    /// Sends a query request on a thread of its own.
    pub(crate) fn query_later(&self, records: &[u64]) -> std::thread::JoinHandle<Response> {
        let (at, frame) = (self.at, self.frame(records));
        std::thread::spawn(move || post(at, &routes::query("t"), &frame))
    }

    /// A metric's value; 0 before it is first counted.
    pub(crate) fn metric(&self, line_start: &str) -> f64 {
        let text = get(self.running.admin, "/metrics").text();
        let line = text.lines().find(|line| line.starts_with(line_start));
        line.map_or(0.0, |line| line.rsplit(' ').next().unwrap().parse().unwrap())
    }

    /// Waits until the metric has the value, for 20 seconds at most.
    pub(crate) fn until(&self, metric: &str, value: f64) {
        eventually(&format!("{metric} is {value}"), || self.metric(metric) == value);
    }
}

/// Waits until a condition holds, for 20 seconds at most.
#[track_caller]
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < give_up, "never: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub(crate) fn frame(pin: &FrameHeader, session: SessionId, records: &[u64]) -> Vec<u8> {
    let queries: Vec<_> = records.iter().map(|index| index.to_le_bytes()).collect();
    query::encode(pin, &session, &queries).unwrap()
}

/// Checks that a response holds these records of the pin's epoch.
#[track_caller]
pub(crate) fn assert_answers(response: &Response, pin: &FrameHeader, records: &[u64]) {
    assert_eq!(response.status, 200, "{}", response.text());
    let answers = answer::decode(&response.body, pin, records.len() as u16, RECORD).unwrap();
    let want: Vec<_> = records.iter().map(|&index| record(index, pin.epoch.0)).collect();
    assert_eq!(answers, want);
}

/// Checks a refusal.
#[track_caller]
pub(crate) fn assert_refused(response: &Response, code: sotto_wire::ProblemCode) {
    let problem = sotto_wire::Problem::read(response.status, &response.body);
    assert_eq!(problem.code, code, "{} {}", response.status, response.text());
    assert_eq!(response.status, code.status());
    assert_eq!(response.header("content-type"), Some(routes::PROBLEM_JSON));
    assert_eq!(response.header("retry-after").is_some(), matches!(code.status(), 429 | 503));
}
