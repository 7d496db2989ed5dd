//! What clients look rows up with: queries in, answers out; a query in, the units of its record out,
//! as they are made; a hint request in, hints out; blinded elements in, evaluations and their proof
//! out. A blinded element reveals nothing, so only the key must be kept out of the log.

use super::Served;
use super::keys::{find_session, load_session};
use crate::TableEpoch;
use crate::body::BodyReader;
use crate::client::Peer;
use crate::hint_queue::HintJob;
use crate::host::{HttpResult, holding, octets};
use crate::http_error::HttpError;
use crate::limits::slots::Permit;
use crate::metrics::ByTable;
use crate::scheduler::{QueryJob, QueryOutcome, StreamJob};
use crate::served_table::ServedTable;
use crate::service::Service;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::HeaderValue;
use sotto_oprf::{Evaluations, OprfError};
use sotto_wire::evaluate::Element;
use sotto_wire::{
    Problem, ProblemCode, answer, evaluate as evaluation, hints as frames, query, routes, stream,
};
use std::sync::Arc;
use std::time::Instant;

/// `POST /v1/tables/{table}/ask`
pub(super) async fn query(State(service): Served, Path(name): Path<String>, request: Request) -> HttpResult {
    let table = service.tables.get(&name)?;
    let (peer, mut reader) = service.host.open_body(request, table.live()?.max_query())?;
    let read = read(&service, table, peer, &mut reader).await;
    let job = reader.end(read).await?;
    service.host.metrics.request_bytes.inc_by(job.frame.len() as u64);
    let arrived = Instant::now();
    let pin = *job.live.pin();
    // A worker that drops the sender has failed; if it drops it because the receiver is gone,
    // nobody waits.
    let QueryOutcome { answers, timing, memory } =
        service.host.scheduler.submit(job)?.await.unwrap_or_else(|_| Err(ProblemCode::Internal.into()))?;
    let frame = answer::encode(&pin, &answers).map_err(|_| ProblemCode::Internal)?;
    service.host.metrics.answered(&name, timing.queue, arrived.elapsed());
    tracing::debug!(table = name, epoch = %pin.epoch, queries = answers.len(), ?timing, "answered");
    drop(answers);
    let mut response = holding(octets(frame), memory);
    if let Ok(value) = HeaderValue::from_str(&timing.to_header()) {
        response.headers_mut().insert(routes::SERVER_TIMING, value);
    }
    Ok(response)
}

/// Reads a query request in two steps: first the head, with which a wrong request is refused, then
/// the queries.
async fn read(
    service: &Arc<Service>,
    table: &ServedTable,
    peer: Peer,
    reader: &mut BodyReader,
) -> Result<QueryJob, HttpError> {
    service.host.check_budget(peer)?;
    service.host.check_working()?;
    let head = query::QueryHead::parse(reader.head(query::HEAD_BYTES).await?)?;
    let live = table.live()?.admit(&head.pin)?.clone();
    live.check_queried()?;
    let max = live.sizes().max_queries;
    if head.count > max {
        let message = format!("{} queries in one request, at most {max} are allowed", head.count);
        return Err(Problem::new(ProblemCode::TooLarge, message).into());
    }
    let found = find_session(service, &live, &head.session)?;
    let (frame, frame_memory) = reader.exactly(live.sizes().query_frame_bytes(head.count)).await?;
    let session = load_session(service, &live, &head.session, found).await?;
    // Memory is taken before the pass, so that no answer is made without it, and only once the
    // queries have arrived.
    let answer_memory = service.host.take_memory(peer, live.sizes().answer_frame_bytes(head.count))?;
    Ok(QueryJob { live, session, head, frame, peer, _frame_memory: frame_memory, answer_memory })
}

/// `POST /v1/tables/{table}/stream`
pub(super) async fn stream(State(service): Served, Path(name): Path<String>, request: Request) -> HttpResult {
    let table = service.tables.get(&name)?;
    let (peer, mut reader) = service.host.open_body(request, table.live()?.max_stream())?;
    let read = read_stream(&service, table, peer, &mut reader).await;
    let job = reader.end(read).await?;
    service.host.metrics.request_bytes.inc_by(job.frame.len() as u64);
    let (epoch, count) = (job.head.pin.epoch, job.head.units);
    // A worker that drops the sender has failed; if it drops it because the receiver is gone,
    // nobody waits.
    let (units, memory) =
        service.host.scheduler.submit_stream(job)?.await.unwrap_or(Err(ProblemCode::Internal))?;
    service.host.metrics.row_streams.get_or_create(&ByTable::of(&*name)).inc();
    tracing::debug!(table = name, %epoch, units = count, "a row stream starts");
    Ok(holding(octets(Body::new(units)), memory))
}

/// Reads a request in two steps: first the head, with which a wrong request is refused, then the
/// query.
async fn read_stream(
    service: &Arc<Service>,
    table: &ServedTable,
    peer: Peer,
    reader: &mut BodyReader,
) -> Result<StreamJob, HttpError> {
    service.host.check_budget(peer)?;
    service.host.check_working()?;
    let head = stream::StreamHead::parse(reader.head(stream::HEAD_BYTES).await?)?;
    let live = table.live()?.admit(&head.pin)?.clone();
    live.check_queried()?;
    let Some(scheme) = live.server().stream() else {
        return Err(HttpError::new(
            ProblemCode::CannotStream,
            "the scheme of this table answers whole records only",
        ));
    };
    head.check(&scheme.units())?;
    let units_bytes = StreamJob::units_held(scheme.units().answer_bytes);
    let open = service.host.limits.streams.take(peer, 1)?;
    let found = find_session(service, &live, &head.session)?;
    let (frame, frame_memory) = reader.exactly(live.sizes().stream_bytes()).await?;
    let session = load_session(service, &live, &head.session, found).await?;
    let units_memory = service.host.take_memory(peer, units_bytes)?;
    Ok(StreamJob { live, session, head, frame, peer, frame_memory, units_memory, open })
}

/// `POST /v1/tables/{table}/hints`
pub(super) async fn hints(State(service): Served, Path(name): Path<String>, request: Request) -> HttpResult {
    let table = service.tables.get(&name)?;
    let (peer, mut reader) = service.host.open_body(request, table.live()?.max_hint_request())?;
    let read = read_hints(&service, table, peer, &mut reader).await;
    let job = reader.end(read).await?;
    service.host.metrics.request_bytes.inc_by(job.frame.len() as u64);
    let pin = *job.live.pin();
    // A worker that drops the sender has failed, or was told to end.
    let (response, memory) = service.hint_queue.submit(job)?.await.unwrap_or(Err(ProblemCode::Internal))?;
    tracing::debug!(table = name, epoch = %pin.epoch, "a hint request is answered");
    Ok(holding(octets(frames::encode_response(&pin, &response)), memory))
}

/// Reads a hint request in two steps: first the head, with which a wrong request is refused, then
/// the rest.
async fn read_hints(
    service: &Service,
    table: &ServedTable,
    peer: Peer,
    reader: &mut BodyReader,
) -> Result<HintJob, HttpError> {
    service.host.check_working()?;
    let head = frames::HintRequestHead::parse(reader.head(frames::HEAD_BYTES).await?)?;
    let live = table.live()?.admit(&head.pin)?.clone();
    let none = || HttpError::new(ProblemCode::WrongServer, "this server is not the hint server of the table");
    let bytes = live.hint_request_bytes().ok_or_else(none)?;
    let response_bytes = live.server().hint_server().ok_or_else(none)?.hint_response_bytes();
    let now = Instant::now();
    service.host.limits.hint_time.check(peer, now)?;
    service.host.limits.budget.check(peer, now)?;
    let open = service.host.limits.hint_requests.take(peer, 1)?;
    let (frame, frame_memory) = reader.exactly(frames::frame_bytes(bytes)).await?;
    let response_memory = service.host.take_memory(peer, frames::frame_bytes(response_bytes as u64))?;
    Ok(HintJob { live, frame, peer, _frame_memory: frame_memory, _open: open, response_memory })
}

/// A checked evaluation request.
struct CheckedEvaluation {
    live: Arc<TableEpoch>,
    elements: Vec<Element>,
    bytes: u64,
    memory: Permit,
}

/// `POST /v1/tables/{table}/evaluate`
pub(super) async fn evaluate(
    State(service): Served,
    Path(name): Path<String>,
    request: Request,
) -> HttpResult {
    let table = service.tables.get(&name)?;
    let (peer, mut reader) =
        service.host.open_body(request, evaluation::request_bytes(evaluation::MAX_EVALUATIONS))?;
    let read = read_evaluation(&service, table, peer, &mut reader).await;
    let CheckedEvaluation { live, elements, bytes, memory } = reader.end(read).await?;
    let count = elements.len();
    service.host.metrics.request_bytes.inc_by(bytes);
    let (pin, counting) = (*live.pin(), service.clone());
    let working = tokio::task::spawn_blocking(move || {
        let _memory = memory;
        // Counted before the work, all of them or none: a client never learns more than its quota,
        // however many of its requests are in progress. Counted here, since the disk may have to be
        // written first.
        counting.host.limits.evaluations.take(peer, count as u64, Instant::now())?;
        evaluate_all(&live, &elements)
    });
    let Evaluations { elements, proof } = working.await.map_err(|_| ProblemCode::Internal)??;
    service.host.metrics.evaluations.get_or_create(&ByTable::of(&*name)).inc_by(count as u64);
    let frame = evaluation::encode_response(&pin, &elements, &proof).map_err(|_| ProblemCode::Internal)?;
    Ok(octets(frame))
}

/// Reads a request in two steps: first the head, with which a wrong request is refused, then the
/// elements.
async fn read_evaluation(
    service: &Service,
    table: &ServedTable,
    peer: Peer,
    reader: &mut BodyReader,
) -> Result<CheckedEvaluation, HttpError> {
    // A client without quota costs no more than this.
    service.host.limits.evaluations.check(peer, Instant::now())?;
    service.host.check_working()?;
    let head = evaluation::EvaluationHead::parse(reader.head(evaluation::HEAD_BYTES).await?)?;
    let live = table.live()?.admit(&head.pin)?.clone();
    live.evaluator()?;
    let bytes = evaluation::request_bytes(head.count);
    let (frame, memory) = reader.exactly(bytes).await?;
    let elements = head.elements(&frame)?;
    Ok(CheckedEvaluation { live, elements, bytes, memory })
}

fn evaluate_all(live: &TableEpoch, elements: &[Element]) -> Result<Evaluations, HttpError> {
    let mut rng = sotto_prg::system_rng().map_err(|error| {
        tracing::error!(%error, "no proof could be made");
        ProblemCode::Internal
    })?;
    live.evaluator()?.evaluate(elements, &mut rng).map_err(|error| match error {
        OprfError::Element => ProblemCode::BadElement.into(),
        error => {
            tracing::error!(table = ?live, %error, "elements could not be evaluated");
            ProblemCode::Internal.into()
        }
    })
}
