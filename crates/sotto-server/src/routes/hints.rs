//! A hint request in, hints out.

use super::{holding, octets, opened};
use crate::body::BodyReader;
use crate::client::Peer;
use crate::hint_queue::HintJob;
use crate::refusal::Refusal;
use crate::served_table::ServedTable;
use crate::service::Service;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::Response;
use sotto_wire::{Code, hints};
use std::sync::Arc;
use std::time::Instant;

/// `POST /v1/tables/{table}/hints`
pub(super) async fn order(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Response<Body>, Refusal> {
    let slot = service.tables.get(&name)?;
    let (peer, mut reader) = opened(&service, request, slot.live()?.max_order())?;
    let read = read(&service, slot, peer, &mut reader).await;
    let order = reader.end(read).await?;
    service.metrics.bytes_in.inc_by(order.frame.len() as u64);
    let pin = *order.live.pin();
    // A worker that drops the sender has failed, or was told to end.
    let (supply, room) = service.orders.submit(order)?.await.unwrap_or(Err(Code::Internal))?;
    tracing::debug!(table = name, epoch = %pin.epoch, "an order is filled");
    Ok(holding(octets(hints::encode_response(&pin, &supply)), room))
}

/// Reads a hint request in two steps: first the head, with which a wrong request is refused, then
/// the rest.
async fn read(
    service: &Service,
    slot: &ServedTable,
    peer: Peer,
    reader: &mut BodyReader,
) -> Result<HintJob, Refusal> {
    service.check_working()?;
    let head = hints::HintRequestHead::parse(reader.head(hints::HEAD_BYTES).await?)?;
    let live = slot.live()?.admit(&head.pin)?.clone();
    let none = || Refusal::new(Code::WrongServer, "this server makes no hints for clients of this table");
    let bytes = live.hint_request_bytes().ok_or_else(none)?;
    let supply_bytes = live.server().supplier().ok_or_else(none)?.supply_bytes();
    let now = Instant::now();
    service.effort.check(peer, now)?;
    service.budget.check(peer, now)?;
    let open = service.open_orders.take(peer)?;
    let (frame, room) = reader.exactly(hints::frame_bytes(bytes)).await?;
    let supply_room = service.room(peer, hints::frame_bytes(supply_bytes as u64))?;
    Ok(HintJob { live, frame, peer, supply_room, _held: (room, open) })
}
