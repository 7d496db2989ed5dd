//! Queries in, answers out.

use super::{holding, octets, opened, session};
use crate::body::BodyReader;
use crate::client::Peer;
use crate::refusal::Refusal;
use crate::scheduler::{QueryJob, QueryOutcome};
use crate::served_table::ServedTable;
use crate::service::Service;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, Response};
use sotto_wire::{Code, Problem, answer, query, routes};
use std::sync::Arc;
use std::time::Instant;

/// `POST /v1/tables/{table}/ask`
pub(super) async fn ask(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Response<Body>, Refusal> {
    let slot = service.tables.get(&name)?;
    let (limit, _) = slot.live()?.max_body();
    let (peer, mut reader) = opened(&service, request, limit)?;
    let read = read(&service, slot, peer, &mut reader).await;
    let ask = reader.end(read).await?;
    service.metrics.bytes_in.inc_by(ask.frame.len() as u64);
    let arrived = Instant::now();
    let pin = *ask.live.pin();
    // A worker that drops the sender has failed; if it drops it because the receiver is gone,
    // nobody waits.
    let QueryOutcome { answers, timing, room } =
        service.batch.submit(ask)?.await.unwrap_or_else(|_| Err(Code::Internal.into()))?;
    let frame = answer::encode(&pin, &answers).map_err(|_| Code::Internal)?;
    service.metrics.answered(&name, timing.queue, arrived.elapsed());
    tracing::debug!(table = name, epoch = %pin.epoch, queries = answers.len(), ?timing, "answered");
    drop(answers);
    let mut response = holding(octets(frame), room);
    if let Ok(value) = HeaderValue::from_str(&timing.to_header()) {
        response.headers_mut().insert(routes::SERVER_TIMING, value);
    }
    Ok(response)
}

/// Reads a query request in two steps: first the head, with which a wrong request is refused, then
/// the queries.
async fn read(
    service: &Arc<Service>,
    slot: &ServedTable,
    peer: Peer,
    reader: &mut BodyReader,
) -> Result<QueryJob, Refusal> {
    service.budget.check(peer, Instant::now())?;
    service.check_working()?;
    let head = query::QueryHead::parse(reader.head(query::HEAD_BYTES).await?)?;
    let live = slot.live()?.admit(&head.pin)?.clone();
    live.check_queried()?;
    let most = live.sizes().max_queries;
    if head.count > most {
        let message = format!("{} queries in one ask, at most {most} are allowed", head.count);
        return Err(Problem::new(Code::TooLarge, message).into());
    }
    let found = session::find(service, &live, &head.session)?;
    let (frame, room) = reader.exactly(live.sizes().query_frame_bytes(head.count)).await?;
    let session = session::bring(service, &live, &head.session, found).await?;
    // Memory is taken before the pass, so that no answer is made without it, and only once the
    // queries have arrived.
    let answer_room = service.room(peer, live.sizes().answer_frame_bytes(head.count))?;
    Ok(QueryJob { live, session, head, frame, peer, _room: room, answer_room })
}
