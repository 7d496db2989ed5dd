//! Queries in, answers out; and the session that a frame names: none, in memory, or on disk.

use crate::TableEpoch;
use crate::body::BodyReader;
use crate::client::Peer;
use crate::host::{holding, octets};
use crate::http_error::HttpError;
use crate::scheduler::{QueryJob, QueryOutcome};
use crate::served_table::ServedTable;
use crate::service::Service;
use crate::sessions::{self, SessionPlace};
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, Response};
use sotto_core::AnySession;
use sotto_wire::{Code, Problem, SessionId, answer, query, routes};
use std::sync::Arc;
use std::time::Instant;

/// `POST /v1/tables/{table}/ask`
pub(super) async fn query(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Response<Body>, HttpError> {
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
        service.host.scheduler.submit(job)?.await.unwrap_or_else(|_| Err(Code::Internal.into()))?;
    let frame = answer::encode(&pin, &answers).map_err(|_| Code::Internal)?;
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
        let message = format!("{} queries in one ask, at most {max} are allowed", head.count);
        return Err(Problem::new(Code::TooLarge, message).into());
    }
    let found = find_session(service, &live, &head.session)?;
    let (frame, frame_memory) = reader.exactly(live.sizes().query_frame_bytes(head.count)).await?;
    let session = load_session(service, &live, &head.session, found).await?;
    // Memory is taken before the pass, so that no answer is made without it, and only once the
    // queries have arrived.
    let answer_memory = service.host.take_memory(peer, live.sizes().answer_frame_bytes(head.count))?;
    Ok(QueryJob { live, session, head, frame, peer, _frame_memory: frame_memory, answer_memory })
}

/// Finds the session that a frame for `live` names. This costs nothing, and so comes before the
/// payload is read.
///
/// # Errors
/// [`Code::SessionExpired`].
pub(super) fn find_session(
    service: &Service,
    live: &TableEpoch,
    id: &SessionId,
) -> Result<SessionPlace, HttpError> {
    let found = match live.default_session() {
        Some(keyless) if *id == SessionId::NONE => Some(SessionPlace::Memory(keyless.clone())),
        Some(_) => None,
        None => service.sessions.find(id, &live.owner(), sessions::now()),
    };
    found.ok_or_else(expired)
}

/// Loads the session; one that is on disk is admitted again.
///
/// # Errors
/// [`Code::SessionExpired`] if it was evicted meanwhile, or its stored keys are damaged;
/// [`Code::Internal`].
pub(super) async fn load_session(
    service: &Arc<Service>,
    live: &Arc<TableEpoch>,
    id: &SessionId,
    found: SessionPlace,
) -> Result<Arc<AnySession>, HttpError> {
    if let SessionPlace::Memory(session) = found {
        return Ok(session);
    }
    let turn = service.sessions.loading.clone().lock_owned().await;
    // Another request of the same session may have loaded it while this one waited.
    if let SessionPlace::Memory(session) = find_session(service, live, id)? {
        return Ok(session);
    }
    let (loading, live, id) = (service.clone(), live.clone(), *id);
    let loaded = tokio::task::spawn_blocking(move || {
        // The task is not canceled when the client hangs up, so its permit ends with the task.
        let _turn = turn;
        let sessions = &loading.sessions;
        let keys = sessions.keys(&id)?;
        match live.server().admit(&keys) {
            Ok(session) => {
                let session = Arc::new(session);
                sessions.admitted(&id, session.clone(), live.server().session_bytes() as u64);
                Some(session)
            }
            Err(error) => {
                tracing::error!(table = ?live, %error, "stored keys are no longer admitted");
                sessions.drop_session(&id);
                None
            }
        }
    });
    loaded.await.map_err(|_| Code::Internal)?.ok_or_else(expired)
}

fn expired() -> HttpError {
    HttpError::new(Code::SessionExpired, "the session is unknown or was evicted")
}
