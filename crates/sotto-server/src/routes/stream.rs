//! A query in, the units of its record out, as they are made.

use super::query::{find_session, load_session};
use crate::body::BodyReader;
use crate::client::Peer;
use crate::host::{holding, octets};
use crate::http_error::HttpError;
use crate::metrics::ByTable;
use crate::scheduler::StreamJob;
use crate::served_table::ServedTable;
use crate::service::Service;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::Response;
use sotto_wire::{Code, stream};
use std::sync::Arc;

/// `POST /v1/tables/{table}/stream`
pub(super) async fn stream(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Response<Body>, HttpError> {
    let table = service.tables.get(&name)?;
    let (peer, mut reader) = service.host.open_body(request, table.live()?.max_stream())?;
    let read = read(&service, table, peer, &mut reader).await;
    let job = reader.end(read).await?;
    service.host.metrics.request_bytes.inc_by(job.frame.len() as u64);
    let (epoch, count) = (job.head.pin.epoch, job.head.units);
    // A worker that drops the sender has failed; if it drops it because the receiver is gone,
    // nobody waits.
    let (units, memory) = service.host.scheduler.submit_stream(job)?.await.unwrap_or(Err(Code::Internal))?;
    service.host.metrics.row_streams.get_or_create(&ByTable::of(&*name)).inc();
    tracing::debug!(table = name, %epoch, units = count, "a row stream starts");
    Ok(holding(octets(Body::new(units)), memory))
}

/// Reads a request in two steps: first the head, with which a wrong request is refused, then the
/// query.
async fn read(
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
            Code::CannotStream,
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
