//! A query in, the units of its record out, as they are made.

use super::{holding, octets, opened, session};
use crate::body::BodyReader;
use crate::client::Peer;
use crate::refusal::Refusal;
use crate::scheduler::StreamJob;
use crate::served_table::ServedTable;
use crate::service::Service;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::Response;
use sotto_wire::{Code, stream};
use std::sync::Arc;
use std::time::Instant;

/// `POST /v1/tables/{table}/stream`
pub(super) async fn stream(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Response<Body>, Refusal> {
    let slot = service.tables.get(&name)?;
    let (peer, mut reader) = opened(&service, request, slot.live()?.max_stream())?;
    let read = read(&service, slot, peer, &mut reader).await;
    let ask = reader.end(read).await?;
    service.metrics.bytes_in.inc_by(ask.frame.len() as u64);
    let (epoch, units) = (ask.head.pin.epoch, ask.head.units);
    // A worker that drops the sender has failed; if it drops it because the receiver is gone,
    // nobody waits.
    let (answer, room) = service.batch.submit_stream(ask)?.await.unwrap_or(Err(Code::Internal))?;
    service.metrics.stream(&name);
    tracing::debug!(table = name, %epoch, units, "a stream begins");
    Ok(holding(octets(Body::new(answer)), room))
}

/// Reads a request in two steps: first the head, with which a wrong request is refused, then the
/// query.
async fn read(
    service: &Arc<Service>,
    slot: &ServedTable,
    peer: Peer,
    reader: &mut BodyReader,
) -> Result<StreamJob, Refusal> {
    service.budget.check(peer, Instant::now())?;
    service.check_working()?;
    let head = stream::StreamHead::parse(reader.head(stream::HEAD_BYTES).await?)?;
    let live = slot.live()?.admit(&head.pin)?.clone();
    live.check_queried()?;
    let Some(scheme) = live.server().stream() else {
        return Err(Refusal::new(Code::CannotStream, "the scheme of this table answers whole records only"));
    };
    head.check(&scheme.units())?;
    let units_bytes = StreamJob::units_held(scheme.units().answer_bytes);
    let open = service.open_streams.take(peer)?;
    let found = session::find(service, &live, &head.session)?;
    let (frame, room) = reader.exactly(live.sizes().stream_bytes()).await?;
    let session = session::bring(service, &live, &head.session, found).await?;
    let units_room = service.room(peer, units_bytes)?;
    Ok(StreamJob { live, session, head, frame, peer, room, units_room, open })
}
