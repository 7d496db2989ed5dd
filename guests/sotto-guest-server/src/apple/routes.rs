//! `POST /config`, `/key`, `/queries` and `/report`: Apple's private lookups, in the format of its
//! library.
//!
//! Requests that are refused before they are read, for their size, time or lack of memory, are
//! refused as on every route; others with the statuses that phones know. The token of a request is
//! verified before its body is read, and spent once the body has arrived: an interrupted request
//! costs none.
//!
//! Lookups and evaluations are answered step by step between the passes: each is one turn of its
//! requester, and turns of others come in between.
//!
//! A report names no user, and its token does not reveal one. If the operator collects reports, each
//! is a line of JSON in a file of a maximum size; later reports are dropped, as are all if the
//! operator does not collect them.

use crate::apple::Apple;
use crate::apple::metrics::AppleMetrics;
use crate::tokens::routes::authorization;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Response, header};
use axum::routing::post;
use flate2::Compression;
use flate2::write::GzEncoder;
use prometheus_client::metrics::gauge::Gauge;
use serde_json::json;
use sotto_apple::proto;
use sotto_apple::service::{HttpRequest, Refusal, RequestPart, reported, responses};
use sotto_server::StartError;
use sotto_server::extension::{
    Host, HttpError, HttpResult, Peer, Permit, Requester, StepOutcome, StepWork, holding, now,
};
use sotto_wire::ProblemCode;
use std::fs::{File, OpenOptions};
use std::io;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::oneshot;

const CONFIG: &str = "/config";
const KEY: &str = "/key";
const QUERIES: &str = "/queries";
const REPORT: &str = "/report";
const USER: &str = "user-identifier";
const JSON: &str = "application/json";

/// The state of the routes.
type Served = State<(Arc<Apple>, Arc<Host>)>;

/// The routes of Apple's protocol.
pub(super) fn routes(apple: Arc<Apple>, host: &Arc<Host>) -> Router {
    let routes = Router::new().route(CONFIG, post(config)).route(KEY, post(key));
    routes.route(QUERIES, post(queries)).route(REPORT, post(report)).with_state((apple, host.clone()))
}

/// The name of a route in metrics, if it is one of these.
pub(super) fn label(path: &str) -> Option<&'static str> {
    match path {
        CONFIG => Some("apple-config"),
        KEY => Some("apple-key"),
        QUERIES => Some("apple-queries"),
        REPORT => Some("apple-report"),
        _ => None,
    }
}

/// A request that has arrived completely.
struct ReceivedRequest {
    apple: Arc<Apple>,
    host: Arc<Host>,
    peer: Peer,
    requester: Requester,
    path: &'static str,
    user: Option<String>,
    agent: Option<String>,
    body: bytes::Bytes,
    memory: Permit,
}

impl ReceivedRequest {
    async fn read(
        State((apple, host)): Served,
        path: &'static str,
        request: Request,
    ) -> Result<Self, HttpError> {
        let limit = apple.use_cases.live().most_bytes(path).unwrap_or(0) as u64;
        let [user, agent] = [USER, header::USER_AGENT.as_str()].map(|name| text(request.headers(), name));
        let peer = sender(&request)?;
        let token = match &apple.tokens {
            Some(tokens) => Some((tokens, tokens.verify(peer, authorization(request.headers())).await?)),
            None => None,
        };
        let (peer, body, memory) = host.read_body(request, limit).await?;
        let requester = match token {
            Some((tokens, token)) => tokens.spend(peer, token).await?,
            None => peer.into(),
        };
        let body = body.into();
        Ok(ReceivedRequest { apple, host, peer, requester, path, user, agent, body, memory })
    }

    fn http(&self) -> HttpRequest<'_> {
        let (user, agent) = (self.user.as_deref(), self.agent.as_deref());
        HttpRequest { path: self.path, user, agent, body: self.body.clone() }
    }
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

fn sender(request: &Request) -> Result<Peer, ProblemCode> {
    request.extensions().get::<Peer>().copied().ok_or(ProblemCode::Internal)
}

/// Runs work for a request on low-priority threads, since it may read keys from the disk.
async fn low_priority<T: Send + 'static>(
    received: ReceivedRequest,
    work: impl FnOnce(&ReceivedRequest, &Apple) -> Result<T, HttpError> + Send + 'static,
) -> Result<(T, ReceivedRequest), HttpError> {
    let (host, requester) = (received.host.clone(), received.requester);
    let done = host.low_priority().run(requester, move || {
        let done = work(&received, &received.apple)?;
        Ok((done, received))
    });
    done.await.unwrap_or_else(|| {
        tracing::error!("a request of Apple's protocol caused a panic and is refused");
        Err(ProblemCode::Internal.into())
    })
}

/// A response for its client alone. Phones expect no media type.
fn answer(body: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Whether a client accepts a body that is compressed with gzip (RFC 9110, section 12.5.3).
fn takes_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|list| list.split(',')).any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let is_refused = parts.any(|part| {
            let weight = part.split_once('=').filter(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
            weight.is_some_and(|(_, weight)| weight.trim().parse().is_ok_and(|weight: f32| weight == 0.0))
        });
        is_gzip && !is_refused
    })
}

fn gzip(body: &[u8]) -> Result<Vec<u8>, ProblemCode> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).and_then(|()| encoder.finish()).map_err(|_| ProblemCode::Internal)
}

/// `POST /config`. No other message of this protocol gets smaller by compression.
async fn config(served: Served, request: Request) -> HttpResult {
    let is_compressed = takes_gzip(request.headers());
    let received = ReceivedRequest::read(served, CONFIG, request).await?;
    let config = low_priority(received, move |received, apple| {
        let config = apple.use_cases.live().config(&received.http(), &apple.keys.from(received.peer));
        let config = config.map_err(refusal)?;
        Ok(if is_compressed { gzip(&config)? } else { config })
    });
    let mut response = answer(config.await?.0);
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if is_compressed {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    Ok(response)
}

/// `POST /report`: addresses that a filter has blocked, as a message or as a list in JSON. It names
/// no user.
async fn report(served: Served, request: Request) -> HttpResult {
    let kind = text(request.headers(), header::CONTENT_TYPE.as_str()).unwrap_or_default();
    let is_json = kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case(JSON));
    let received = ReceivedRequest::read(served, REPORT, request).await?;
    let done = low_priority(received, move |received, apple| {
        let urls = match is_json {
            true => serde_json::from_slice(&received.body)
                .map_err(|why| HttpError::foreign(400, format!("{why}\n"), "malformed")),
            false => reported(&received.body).map_err(refusal),
        };
        apple.reports.append(now(), received.agent.as_deref().unwrap_or_default(), &urls?);
        Ok(())
    });
    done.await?;
    Ok(answer(Vec::new()))
}

/// `POST /key`. Keys are on disk before the answer is sent, if there is a state directory.
async fn key(served: Served, request: Request) -> HttpResult {
    served.0.0.keys.sessions.may_register(sender(&request)?, Instant::now())?;
    let received = ReceivedRequest::read(served, KEY, request).await?;
    let done = low_priority(received, |received, apple| {
        apple.use_cases.live().key(&received.http(), &apple.keys.from(received.peer)).map_err(refusal)
    });
    done.await?;
    Ok(answer(Vec::new()))
}

/// `POST /queries`
async fn queries(served: Served, request: Request) -> HttpResult {
    served.0.1.check_budget(sender(&request)?)?;
    let received = ReceivedRequest::read(served, QUERIES, request).await?;
    let read = low_priority(received, |received, apple| {
        let requested = apple.use_cases.live().asked_for(&received.http(), &apple.keys.from(received.peer));
        let parts = requested.map_err(refusal)?;
        // Keys that came with lookups are needed until these are answered, and take more memory
        // than their bytes.
        let key_memory = match parts.iter().map(RequestPart::key_bytes).sum::<usize>() {
            0 => None,
            bytes => Some(received.host.take_memory(received.peer, bytes as u64)?),
        };
        // Memory is taken before anything is answered.
        let answers = parts.iter().map(RequestPart::answer_bytes).sum::<usize>();
        let answer_memory = received.host.take_memory(received.peer, answers as u64)?;
        // Counted before the work, all of them or none, so that a client learns no more of
        // symmetric tables than its quota. Counted here, since the disk may have to be written
        // first.
        match parts.iter().filter(|work| work.is_evaluation()).count() as u64 {
            0 => {}
            count => received.host.count_evaluations(received.peer, count)?,
        }
        Ok((parts, key_memory, answer_memory))
    });
    let ((parts, key_memory, answer_memory), received) = read.await?;
    if parts.is_empty() {
        return Ok(answer(responses(Vec::new())));
    }
    let ReceivedRequest { apple, host, peer, requester, memory, .. } = received;
    let metrics = apple.metrics.clone();
    let (job, reply) = LookupJob::new(peer, requester, parts, metrics, (memory, key_memory), answer_memory);
    host.submit_steps(Box::new(job))?;
    let (body, memory) = reply.await.map_err(|_| ProblemCode::Internal)??;
    Ok(holding(answer(body), memory))
}

/// Seconds after which a table that is not ready may be.
const NOT_READY: u64 = 10;

/// The refusal of a request.
fn refusal(refused: Refusal) -> HttpError {
    let outcome = refused.outcome();
    let no = HttpError::foreign(refused.status, refused.why + "\n", outcome);
    if refused.status == 503 { no.with_header(header::RETRY_AFTER, NOT_READY) } else { no }
}

/// The body of an answer with its memory permit, or the refusal.
type Reply = Result<(Vec<u8>, Permit), HttpError>;

/// An entry in a gauge for as long as the value exists.
struct Counted(Gauge);

impl Counted {
    fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Counted(gauge.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// The memory of a request: its bytes, and the keys that it contains.
type RequestPermits = (Permit, Option<Permit>);

/// A request for lookups in the queue.
struct LookupJob {
    peer: Peer,
    requester: Requester,
    left: std::vec::IntoIter<RequestPart>,
    answers: Vec<proto::Response>,
    /// Memory of the answers, until they are sent.
    answer_memory: Permit,
    reply: Option<(oneshot::Sender<Reply>, RequestPermits, Counted)>,
    metrics: Arc<AppleMetrics>,
}

impl LookupJob {
    /// A job for these parts of a request, and the receiver of its answer.
    fn new(
        peer: Peer,
        requester: Requester,
        parts: Vec<RequestPart>,
        metrics: Arc<AppleMetrics>,
        held: RequestPermits,
        answer_memory: Permit,
    ) -> (Self, oneshot::Receiver<Reply>) {
        let (reply, receiver) = oneshot::channel();
        let answers = Vec::with_capacity(parts.len());
        let counted = Counted::new(&metrics.open_requests);
        let (left, reply) = (parts.into_iter(), Some((reply, held, counted)));
        (LookupJob { peer, requester, left, answers, answer_memory, reply, metrics }, receiver)
    }

    fn end(&mut self, reply: Reply) -> StepOutcome {
        if let Some((waiting, held, counted)) = self.reply.take() {
            // Released first: a client that has its answer may send the next request at once.
            drop((held, counted));
            // The client may be gone.
            let _ = waiting.send(reply);
        }
        StepOutcome::Done
    }
}

impl StepWork for LookupJob {
    fn peer(&self) -> Peer {
        self.peer
    }

    fn requester(&self) -> Requester {
        self.requester
    }

    fn left(&self) -> usize {
        self.left.len()
    }

    fn is_wanted(&self) -> bool {
        self.reply.as_ref().is_some_and(|(reply, ..)| !reply.is_closed())
    }

    fn step(&mut self) -> StepOutcome {
        if let Some(part) = self.left.next() {
            let began = Instant::now();
            let mut rng = match sotto_prg::system_rng() {
                Ok(rng) => rng,
                Err(error) => {
                    tracing::error!(%error, "no proof could be made");
                    return self.end(Err(ProblemCode::Internal.into()));
                }
            };
            let answer = part.answer(&mut rng);
            self.metrics.answered(&part, &answer, began.elapsed());
            match answer {
                Ok(answer) => self.answers.push(answer),
                Err(refused) => return self.end(Err(refusal(refused))),
            }
        }
        match self.left.len() {
            0 => {
                let answers = std::mem::take(&mut self.answers);
                let memory = self.answer_memory.split();
                self.end(Ok((responses(answers), memory)))
            }
            _ => StepOutcome::Continues,
        }
    }

    fn refuse(mut self: Box<Self>, code: ProblemCode) {
        self.end(Err(code.into()));
    }
}

/// Maximum bytes of a device's description in a report.
const MAX_AGENT: usize = 256;

/// The log of reports, or none.
pub(crate) struct ReportLog {
    file: Option<Mutex<BoundedFile>>,
}

/// A file that lines are appended to, up to a maximum size.
struct BoundedFile {
    file: File,
    bytes: u64,
    max_bytes: u64,
}

impl ReportLog {
    /// Opens the file, and makes it if it does not exist, readable for this user alone.
    ///
    /// # Errors
    /// [`StartError::Config`], with the path of the file.
    pub(crate) fn open(path: Option<&Path>, max_bytes: u64) -> Result<Self, StartError> {
        let Some(path) = path else { return Ok(ReportLog { file: None }) };
        let failed = |error: io::Error| StartError::Config { file: path.to_owned(), why: error.to_string() };
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len();
        Ok(ReportLog { file: Some(Mutex::new(BoundedFile { file, bytes, max_bytes })) })
    }

    /// Appends a report, if reports are collected and the file has space. Blocks on the disk.
    fn append(&self, received_at: u64, agent: &str, urls: &[String]) {
        let Some(file) = &self.file else { return };
        let agent: String = agent.chars().take(MAX_AGENT).collect();
        let line = json!({ "received_at": received_at, "user_agent": agent, "urls": urls });
        let appended =
            file.lock().unwrap_or_else(PoisonError::into_inner).append(format!("{line}\n").as_bytes());
        match appended {
            Ok(true) => {}
            Ok(false) => tracing::warn!("the reports file is full; a report is dropped"),
            Err(error) => tracing::error!(%error, "a report could not be written and is dropped"),
        }
    }
}

impl BoundedFile {
    /// Appends a line. Returns whether there was space.
    fn append(&mut self, line: &[u8]) -> io::Result<bool> {
        let after = self.bytes.saturating_add(line.len() as u64);
        if after > self.max_bytes {
            return Ok(false);
        }
        // Counted first, since a line that is written in part takes space too.
        self.bytes = after;
        self.file.write_all(line).map(|()| true)
    }
}
