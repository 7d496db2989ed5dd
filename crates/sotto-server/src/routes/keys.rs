//! Keys in, a session id out.

use super::{octets, opened};
use crate::TableEpoch;
use crate::body::BodyReader;
use crate::client::Peer;
use crate::memory::MemoryPermit;
use crate::refusal::Refusal;
use crate::served_table::ServedTable;
use crate::service::Service;
use crate::sessions::{self};
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::Response;
use sotto_core::cooperative::with_yield_hook;
use sotto_core::{Error, ExpectOrDefault};
use sotto_wire::{Code, SessionId, keys};
use std::sync::Arc;
use std::time::Instant;

/// `POST /v1/tables/{table}/keys`
pub(super) async fn register(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Response<Body>, Refusal> {
    let slot = service.tables.get(&name)?;
    let (_, limit) = slot.live()?.max_body();
    let (peer, mut reader) = opened(&service, request, limit)?;
    let read = read(&service, slot, peer, &mut reader).await;
    let (live, frame, room) = reader.end(read).await?;
    service.metrics.bytes_in.inc_by(frame.len() as u64);
    // Expanding keys may take a while, and must block neither the thread that serves connections
    // nor a pass. It is not canceled when the client hangs up, so its memory is released when it
    // ends, and not here.
    let admitting = service.clone();
    let admitted = service.aside.run(peer, move || {
        let _room = room;
        admit(&admitting, &live, peer, &frame)
    });
    let id = admitted.await.unwrap_or_else(|| {
        tracing::error!(table = name, "the scheme panicked on keys; they are refused");
        Err(Code::Internal.into())
    })?;
    Ok(octets(id.0.to_vec()))
}

async fn read(
    service: &Service,
    slot: &ServedTable,
    peer: Peer,
    reader: &mut BodyReader,
) -> Result<(Arc<TableEpoch>, Vec<u8>, MemoryPermit), Refusal> {
    service.sessions.may_register(peer, Instant::now())?;
    service.check_working()?;
    let head = keys::KeysHead::parse(reader.head(keys::HEAD_BYTES).await?)?;
    let live = slot.live()?.admit(&head.pin)?.clone();
    live.check_queried()?;
    if live.default_session().is_some() {
        return Err(Refusal::new(Code::BadKeys, "this table's scheme has no keys"));
    }
    let (frame, room) = reader.exactly(live.sizes().keys_frame_bytes()).await?;
    Ok((live, frame, room))
}

fn admit(service: &Service, live: &TableEpoch, peer: Peer, frame: &[u8]) -> Result<SessionId, Refusal> {
    let keys =
        frame.get(keys::HEAD_BYTES..).expect_or_default("a frame's length was checked when it was read");
    let session = with_yield_hook(service.batch.wait_until_idle(), || live.server().admit(keys));
    let session = session.map_err(|error| match error {
        Error::Peer(_) => Refusal::new(Code::BadKeys, "these keys are not ones the parameters allow"),
        error => {
            tracing::error!(table = ?live, %error, "the scheme could not admit keys");
            Code::Internal.into()
        }
    })?;
    let session = (session, live.server().session_bytes() as u64);
    let made = service.sessions.insert((live.owner(), peer), keys, session, sessions::now());
    made.map_err(|error| {
        tracing::error!(%error, "no session id could be drawn");
        Code::Internal.into()
    })
}
