//! A hint request in, hints out.

use crate::body::BodyReader;
use crate::client::Peer;
use crate::hint_queue::HintJob;
use crate::host::{holding, octets};
use crate::http_error::HttpError;
use crate::served_table::ServedTable;
use crate::service::Service;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::Response;
use sotto_wire::{Code, hints};
use std::sync::Arc;
use std::time::Instant;

/// `POST /v1/tables/{table}/hints`
pub(super) async fn request(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Response<Body>, HttpError> {
    let table = service.tables.get(&name)?;
    let (peer, mut reader) = service.host.open_body(request, table.live()?.max_hint_request())?;
    let read = read(&service, table, peer, &mut reader).await;
    let job = reader.end(read).await?;
    service.host.metrics.request_bytes.inc_by(job.frame.len() as u64);
    let pin = *job.live.pin();
    // A worker that drops the sender has failed, or was told to end.
    let (response, memory) = service.hint_queue.submit(job)?.await.unwrap_or(Err(Code::Internal))?;
    tracing::debug!(table = name, epoch = %pin.epoch, "a hint request is answered");
    Ok(holding(octets(hints::encode_response(&pin, &response)), memory))
}

/// Reads a hint request in two steps: first the head, with which a wrong request is refused, then
/// the rest.
async fn read(
    service: &Service,
    table: &ServedTable,
    peer: Peer,
    reader: &mut BodyReader,
) -> Result<HintJob, HttpError> {
    service.host.check_working()?;
    let head = hints::HintRequestHead::parse(reader.head(hints::HEAD_BYTES).await?)?;
    let live = table.live()?.admit(&head.pin)?.clone();
    let none = || HttpError::new(Code::WrongServer, "this server is not the hint server of the table");
    let bytes = live.hint_request_bytes().ok_or_else(none)?;
    let response_bytes = live.server().supplier().ok_or_else(none)?.supply_bytes();
    let now = Instant::now();
    service.host.limits.hint_time.check(peer, now)?;
    service.host.limits.budget.check(peer, now)?;
    let open = service.host.limits.hint_requests.take(peer, 1)?;
    let (frame, frame_memory) = reader.exactly(hints::frame_bytes(bytes)).await?;
    let response_memory = service.host.take_memory(peer, hints::frame_bytes(response_bytes as u64))?;
    Ok(HintJob { live, frame, peer, _frame_memory: frame_memory, _open: open, response_memory })
}
