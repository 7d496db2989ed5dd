// A server in memory for the test schemes, which records all requests and can change its responses.
// Plain comments, since the first example of the crate includes this file.
use sotto_catalog::{
    ArtifactEntry, Catalog, Hex32, KeyKind, Packing, PublicKey, RowsRoot, SignedCatalog, SigningKey,
    Succession, TableKind, ValueKind,
};
use sotto_client::session::{RequestIo, SetupConfig};
use sotto_client::table::TableBuilder;
use sotto_client::transport::InProcessTransport;
use sotto_client::transport::{Method, Request, Response, Transport, TransportError};
use sotto_client::{ClientError, Session, Table};
use sotto_core::{AnySession, Artifact, Epoch, Image, RecordChange, SchemeEntry, Section, TableShape};
pub use sotto_testkit::fake_http::{header, response as http_response, serve as http};
use sotto_testkit::memory::{MemoryImage, MemoryRows, MemorySink};
use sotto_testkit::{
    CLEAR, CLEAR_BATCH, CLEAR_HELPED, CLEAR_KEYED, CLEAR_ROWS, CLEAR_STATE, CLEAR_STREAM, CLEAR_TWO, rng,
};
use sotto_wire::{FrameHeader, Problem, ProblemCode, SessionId, answer, hints, keys, query, stream};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Name of every test table.
pub const NAME: &str = "squares";

/// Chunk size of artifacts: the smallest possible, so that a small hint has several chunks.
pub const CHUNK: usize = 64 << 10;

/// Finds schemes, including the test schemes, which are in no registry.
pub fn resolve(id: &str) -> Option<&'static SchemeEntry> {
    let clear = [&CLEAR, &CLEAR_BATCH, &CLEAR_HELPED, &CLEAR_KEYED, &CLEAR_ROWS].into_iter();
    let mut clear = clear.chain([&CLEAR_STATE, &CLEAR_STREAM, &CLEAR_TWO]);
    clear.find(|entry| entry.id.0 == id).or_else(|| sotto_registry::find(id))
}

type Tamper = Box<dyn FnMut(&Request, Response) -> Result<Response, TransportError> + Send>;

/// The state of a test server.
pub struct World {
    pub key: SigningKey,
    pub catalog: Catalog,
    /// Statements by which earlier keys named the next one.
    pub successions: Vec<Succession>,
    pub image: MemoryImage,
    pub artifacts: HashMap<String, Vec<u8>>,
    pub scheme: &'static SchemeEntry,
    /// Role of the server.
    pub role: u8,
    /// Catalogs of earlier epochs that can still be fetched.
    pub earlier: Vec<(Epoch, Vec<u8>)>,
    /// The folder of its publisher's log, if it publishes one.
    pub published: Option<std::path::PathBuf>,
    /// All requests, in order.
    pub log: Vec<Request>,
    /// Changes a response before it is delivered.
    pub tamper: Option<Tamper>,
    sessions: HashMap<[u8; 16], AnySession>,
}

/// A server that several clients can talk to.
#[derive(Clone)]
pub struct Server(pub Arc<Mutex<World>>);

/// The value of a row: its square, and then zeros.
pub fn value(row: u64, row_bytes: usize) -> Vec<u8> {
    let mut out = row.wrapping_mul(row).to_le_bytes().to_vec();
    out.resize(row_bytes.max(8), 0);
    out.truncate(row_bytes);
    out
}

/// A server of a table with `rows` rows.
pub fn server(rows: u64, row_bytes: u64) -> Server {
    server_of("clear/1", rows, row_bytes)
}

pub fn server_of(scheme: &str, rows: u64, row_bytes: u64) -> Server {
    server_with(scheme, rows, row_bytes, 1)
}

/// A server of a table whose clients are expected to make `lookups` lookups.
pub fn server_with(scheme: &str, rows: u64, row_bytes: u64, lookups: u64) -> Server {
    let scheme = resolve(scheme).unwrap();
    let params = (scheme.select)(&TableShape::new(rows, row_bytes, lookups)).unwrap();
    let report = (scheme.report)(&params).unwrap();
    let packing = Packing::new(rows, row_bytes, report.records, report.record_bytes).unwrap();
    let mut records = vec![0; (report.records * report.record_bytes) as usize];
    for row in 0..rows {
        let value = value(row, row_bytes as usize);
        for place in packing.places(row).unwrap() {
            let at = (place.record * report.record_bytes + place.offset) as usize;
            let part = &value[place.bytes];
            records[at..at + part.len()].copy_from_slice(part);
        }
    }
    let sink = MemorySink::new();
    let rows_in = MemoryRows::new(report.record_bytes as usize, records);
    (scheme.server.encode)(&params, &rows_in, &sink).unwrap();
    let catalog = Catalog {
        format: "sotto-catalog/1".to_owned(),
        table: NAME.parse().unwrap(),
        epoch: Epoch(1),
        kind: TableKind::Index,
        value: ValueKind::Unsigned,
        rows,
        row_bytes,
        scheme: scheme.id.to_string(),
        params: serde_json::from_slice(&params).unwrap(),
        params_digest: report.digest.into(),
        servers: scheme.servers as u32,
        artifacts: Vec::new(),
        rows_digest: None,
        rows_root: RowsRoot { root: Hex32::from([0; 32]), leaf_rows: 1, path: None },
        layers: Vec::new(),
        sidecar: None,
        anchor: None,
        attribution: None,
        created: 0,
        expires: None,
    };
    let mut world = World {
        key: SigningKey::generate(&mut rng::seeded("publisher")),
        catalog,
        successions: Vec::new(),
        image: sink.into_image(),
        artifacts: HashMap::new(),
        scheme,
        role: 0,
        earlier: Vec::new(),
        published: None,
        log: Vec::new(),
        tamper: None,
        sessions: HashMap::new(),
    };
    world.publish(None);
    Server(Arc::new(Mutex::new(world)))
}

impl World {
    /// Names the image's artifacts in the catalog; a rows delta starts from rows of this digest.
    fn publish(&mut self, rows: Option<Hex32>) {
        self.catalog.artifacts.clear();
        for artifact in [Artifact::Hint, Artifact::HintDelta, Artifact::Rows, Artifact::RowsDelta] {
            let Some(bytes) = self.image.artifact(artifact) else { continue };
            let from = artifact.is_delta().then(|| Epoch(self.catalog.epoch.0 - 1));
            let entry = ArtifactEntry {
                chunk_bytes: CHUNK as u64,
                chunks: bytes.chunks(CHUNK).map(|chunk| blake3::hash(chunk).into()).collect(),
                from_digest: rows.filter(|_| artifact == Artifact::RowsDelta),
                ..ArtifactEntry::of(artifact, bytes, from)
            };
            self.artifacts.insert(entry.digest.to_string(), bytes.to_vec());
            self.catalog.artifacts.push(entry);
        }
        let resident = self.image.section(Section::Resident).filter(|_| self.scheme.state.is_some());
        self.catalog.rows_digest = match self.image.artifact(Artifact::Rows) {
            Some(_) => None,
            None => resident.map(|rows| blake3::hash(rows).into()),
        };
    }

    pub fn pin(&self) -> PublicKey {
        self.key.public()
    }

    pub fn signed(&self) -> Vec<u8> {
        let mut signed = SignedCatalog::sign(&self.catalog, &self.key).unwrap();
        signed.successions = self.successions.clone();
        signed.to_bytes()
    }

    /// Has the key name the next one, made of this label, which signs from the next epoch on.
    pub fn rotate(&mut self, label: &str) {
        self.rotate_to(SigningKey::generate(&mut rng::seeded(label)));
    }

    /// Has the key name this one, which signs from the next epoch on.
    pub fn rotate_to(&mut self, next: SigningKey) {
        let from = Epoch(self.catalog.epoch.0 + 1);
        let table = &self.catalog.table;
        let succession = Succession::sign(table, &self.key, &next, from, 1, u64::MAX).unwrap();
        self.successions.push(succession);
        self.key = next;
        self.update(&[]);
    }

    pub fn hint(&self) -> Vec<u8> {
        self.image.artifact(Artifact::Hint).unwrap().to_vec()
    }

    pub fn hint_digest(&self) -> String {
        blake3::hash(&self.hint()).to_hex().to_string()
    }

    /// Moves to the next epoch, in which some rows are `0xEE` throughout.
    pub fn update(&mut self, rows: &[u64]) {
        self.change(rows, 0xEE);
    }

    /// Moves to the next epoch, in which some rows are `byte` throughout.
    pub fn change(&mut self, rows: &[u64], byte: u8) {
        let params = self.catalog.params.to_string();
        let report = (self.scheme.report)(params.as_bytes()).unwrap();
        let packing = self.catalog.packing(&report).unwrap();
        let mut changes = Vec::new();
        for &row in rows {
            for place in packing.places(row).unwrap() {
                let bytes = vec![byte; place.bytes.len()];
                changes.push(RecordChange { record: place.record, offset: place.offset, bytes });
            }
        }
        let rows = [Section::Public(Artifact::Rows), Section::Resident];
        let rows = rows
            .iter()
            .find_map(|section| self.image.section(*section))
            .map(|rows| blake3::hash(rows).into());
        let sink = MemorySink::holding(self.image.clone());
        (self.scheme.server.update_image.unwrap())(params.as_bytes(), &changes, &sink).unwrap();
        self.image = sink.into_image();
        self.catalog.epoch = Epoch(self.catalog.epoch.0 + 1);
        self.publish(rows);
    }

    /// Signs a rows delta that cannot be applied: this epoch's, and a row past the last.
    pub fn spoil_delta(&mut self) {
        let bytes = self.image.artifact(Artifact::RowsDelta).unwrap();
        let bytes = [bytes, &vec![0xFF; bytes.len()]].concat();
        let delta = self.catalog.artifacts.iter_mut().find(|entry| entry.artifact == Artifact::RowsDelta);
        let delta = delta.unwrap();
        let from_digest = delta.from_digest;
        *delta =
            ArtifactEntry { from_digest, ..ArtifactEntry::of(Artifact::RowsDelta, &bytes, delta.from_epoch) };
        self.artifacts.insert(delta.digest.to_string(), bytes);
    }

    /// Puts other bytes in the place of an artifact, under its old name.
    pub fn replace(&mut self, artifact: Artifact, bytes: Vec<u8>) {
        let entry = self.catalog.artifacts.iter().find(|entry| entry.artifact == artifact).unwrap();
        self.artifacts.insert(entry.digest.to_string(), bytes);
    }

    pub fn drop_sessions(&mut self) {
        self.sessions.clear();
    }

    fn refuse(&self, code: ProblemCode) -> Response {
        let problem = Problem::new(code, "refused").with_epoch(self.catalog.epoch);
        Response::new(code.status(), problem.to_bytes())
    }

    fn honest(&mut self, request: &Request) -> Response {
        let base = format!("/v1/tables/{NAME}");
        match (request.method, request.path.as_str()) {
            (Method::Get, path) if path == base => Response::new(200, self.signed()),
            (Method::Get, path) if path.starts_with(&format!("{base}?epoch=")) => {
                let epoch = path.rsplit('=').next().and_then(|epoch| epoch.parse().ok()).map(Epoch);
                let newest = (self.catalog.epoch, self.signed());
                let mut live = self.earlier.iter().chain([&newest]);
                match live.find(|(live, _)| Some(*live) == epoch) {
                    Some((_, signed)) => Response::new(200, signed.clone()),
                    None => self.refuse(ProblemCode::EpochExpired),
                }
            }
            (Method::Get, path) if path.starts_with("/v1/logs/") => self.logged(path),
            (Method::Get, path) => {
                let artifact =
                    path.strip_prefix("/v1/artifacts/").and_then(|digest| self.artifacts.get(digest));
                match (artifact, &request.range) {
                    (None, _) => self.refuse(ProblemCode::NoSuchArtifact),
                    (Some(bytes), None) => Response::new(200, bytes.clone()),
                    (Some(bytes), Some(range)) => {
                        let end = bytes.len().min(range.end as usize);
                        Response::new(206, bytes[end.min(range.start as usize)..end].to_vec())
                    }
                }
            }
            (Method::Post, path) if path == format!("{base}/keys") => self.admit(&request.body),
            (Method::Post, path) if path == format!("{base}/ask") => self.answer(&request.body),
            (Method::Post, path) if path == format!("{base}/hints") => self.answer_hints(&request.body),
            (Method::Post, path) if path == format!("{base}/stream") => self.stream(&request.body),
            _ => self.refuse(ProblemCode::NoSuchRoute),
        }
    }

    /// A proof of the publisher's log, or a file of it.
    fn logged(&self, path: &str) -> Response {
        let key = format!("/v1/logs/{}/", self.pin().ed25519);
        let log = self
            .published
            .as_ref()
            .map(|folder| sotto_tlog::publisher_log::PublisherLog::open(folder).unwrap());
        let (Some(log), Some(path)) = (log, path.strip_prefix(&key)) else {
            return self.refuse(ProblemCode::NotLogged);
        };
        let found = match path.strip_prefix("proofs/") {
            Some(digest) => {
                log.proof(&digest.parse().unwrap()).unwrap().map(|proof| proof.to_string().into_bytes())
            }
            None => sotto_tlog::LogLayout::place(path).and_then(|place| log.file(place).unwrap()),
        };
        found.map_or_else(|| self.refuse(ProblemCode::NotLogged), |bytes| Response::new(200, bytes))
    }

    fn pinned(&self) -> FrameHeader {
        let digest = sotto_core::ParamsDigest(self.catalog.params_digest.0);
        FrameHeader { server: self.role, epoch: self.catalog.epoch, digest }
    }

    fn open(&self) -> Box<dyn sotto_core::AnyServer> {
        let params = self.catalog.params.to_string();
        (self.scheme.server.open)(params.as_bytes(), Arc::new(self.image.clone())).unwrap()
    }

    fn admit(&mut self, body: &[u8]) -> Response {
        let server = self.open();
        let head = keys::KeysHead::parse(body).unwrap();
        assert_eq!(head.pin, self.pinned());
        let session = server.admit(head.keys(body, server.keys_bytes()).unwrap()).unwrap();
        let id = [self.sessions.len() as u8 + 1; 16];
        self.sessions.insert(id, session);
        Response::new(200, id.to_vec())
    }

    fn answer(&mut self, body: &[u8]) -> Response {
        let server = self.open();
        let head = query::QueryHead::parse(body).unwrap();
        if let Err(error) = self.pinned().check(&head.pin) {
            return self.refuse(error.code());
        }
        let none = server.admit(&[]).ok();
        let session =
            if head.session == SessionId::NONE { none.as_ref() } else { self.sessions.get(&head.session.0) };
        let Some(session) = session else { return self.refuse(ProblemCode::SessionExpired) };
        let queries = head.queries(body, server.query_bytes()).unwrap();
        let pairs: Vec<_> = queries.into_iter().map(|query| (session, query)).collect();
        let answers: Vec<_> = server.answer_many(&pairs).into_iter().map(Result::unwrap).collect();
        Response::new(200, answer::encode(&head.pin, &answers).unwrap())
    }

    fn answer_hints(&mut self, body: &[u8]) -> Response {
        let server = self.open();
        let head = hints::HintRequestHead::parse(body).unwrap();
        if let Err(error) = self.pinned().check(&head.pin) {
            return self.refuse(error.code());
        }
        let hint_server = server.hint_server().unwrap();
        let answer_hints = hint_server
            .answer_hint_request(head.payload(body, hint_server.hint_request_bytes()).unwrap())
            .unwrap();
        Response::new(200, hints::encode_response(&head.pin, &answer_hints))
    }

    fn stream(&mut self, body: &[u8]) -> Response {
        let server = self.open();
        let head = stream::StreamHead::parse(body).unwrap();
        if let Err(error) = self.pinned().check(&head.pin) {
            return self.refuse(error.code());
        }
        let Some(scheme) = server.stream() else { return self.refuse(ProblemCode::CannotStream) };
        head.check(&scheme.units()).unwrap();
        let Some(session) = self.sessions.get(&head.session.0) else {
            return self.refuse(ProblemCode::SessionExpired);
        };
        let prepared = scheme.prepare(session, head.query(body, server.query_bytes()).unwrap()).unwrap();
        let mut out = stream::answer_head(&head.pin);
        for unit in head.first..head.first + head.units {
            out.extend(scheme.unit(&prepared, unit).unwrap());
        }
        Response::new(200, out)
    }

    pub fn call(&mut self, request: &Request) -> Result<Response, TransportError> {
        self.log.push(request.clone());
        let honest = self.honest(request);
        match &mut self.tamper {
            None => Ok(honest),
            Some(tamper) => tamper(request, honest),
        }
    }
}

impl Server {
    pub fn transport(&self) -> impl Transport + use<> {
        let world = self.0.clone();
        InProcessTransport::new(move |request: &Request| world.lock().unwrap().call(request))
    }

    pub fn table(&self) -> TableBuilder {
        Table::over(self.transport(), NAME).resolve(resolve)
    }

    /// A session that stores nothing.
    pub fn session(&self) -> Session {
        let mut rng = rng::seeded("session");
        let mut io = RequestIo::new(&mut rng, |_, request| Ok(self.with(|world| world.call(request))?));
        Session::establish(self.config(), &mut io).unwrap()
    }

    pub fn config(&self) -> SetupConfig {
        let mut config = SetupConfig::new(NAME.parse().unwrap());
        config.in_memory = true;
        config.resolve = resolve;
        config
    }

    pub fn with<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        change(&mut self.0.lock().unwrap())
    }

    /// Passes all further responses through `tamper`.
    pub fn tamper(
        &self,
        tamper: impl FnMut(&Request, Response) -> Result<Response, TransportError> + Send + 'static,
    ) {
        self.with(|world| world.tamper = Some(Box::new(tamper)));
    }

    /// Passes the bodies of all further answers through `tamper`.
    pub fn tamper_asks(&self, mut tamper: impl FnMut(&mut Vec<u8>) + Send + 'static) {
        self.tamper(move |request, mut response| {
            if request.path.ends_with("/ask") {
                tamper(&mut response.body);
            }
            Ok(response)
        });
    }

    /// The requests that were received since the last call.
    pub fn received(&self) -> Vec<Request> {
        self.with(|world| std::mem::take(&mut world.log))
    }
}

/// A range table of IPv4 blocks, over the rows of `server`.
pub fn as_addresses(server: &Server) {
    server.with(|world| {
        let empty = sotto_catalog::HexBytes(vec![0]);
        let first = u64::from(u32::from(std::net::Ipv4Addr::new(10, 0, 0, 0)));
        world.catalog.kind = TableKind::Range { key: KeyKind::Ipv4, block: 256, first, empty };
    });
}

impl Server {
    /// Serves over HTTP.
    pub fn http(&self) -> String {
        let world = self.0.clone();
        http(move |head, body| {
            let mut words = head.split_whitespace();
            let method = if words.next() == Some("GET") { Method::Get } else { Method::Post };
            let path = words.next().unwrap().to_owned();
            let range = header(head, "range").map(|range| {
                let (first, last) = range.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
                first.parse().unwrap()..last.parse::<u64>().unwrap() + 1
            });
            let request = Request { method, path, range, body: body.to_vec(), limit: u64::MAX };
            let response = world.lock().unwrap().call(&request).unwrap();
            http_response(response.status, "", &response.body)
        })
    }
}

/// Two servers of one table, each with its own copy.
pub fn pair(rows: u64, row_bytes: u64) -> [Server; 2] {
    let servers = [(); 2].map(|()| server_of("clear-two/1", rows, row_bytes));
    servers[1].with(|world| world.role = 1);
    servers
}

pub fn boxed(transport: impl Transport + 'static) -> Box<dyn Transport> {
    Box::new(transport)
}

pub fn table_of(servers: &[&Server]) -> TableBuilder {
    let transports = servers.iter().map(|server| boxed(server.transport())).collect();
    Table::over_all(transports, NAME).resolve(resolve)
}

pub fn open(servers: &[Server; 2]) -> Result<Table, ClientError> {
    table_of(&[&servers[0], &servers[1]]).open()
}

/// The bodies of the query requests that each server received since the last call.
pub fn query_bodies(servers: &[Server; 2]) -> [Vec<Vec<u8>>; 2] {
    servers.each_ref().map(|server| {
        let received = server.received().into_iter().filter(|request| request.path.ends_with("/ask"));
        received.map(|request| request.body).collect()
    })
}
