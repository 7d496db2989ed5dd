//! Keys in, a session id out.

use crate::TableEpoch;
use crate::body::BodyReader;
use crate::client::Peer;
use crate::host::octets;
use crate::http_error::HttpError;
use crate::limits::slots::Permit;
use crate::served_table::ServedTable;
use crate::service::Service;
use crate::sessions::{self, Registration};
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
) -> Result<Response<Body>, HttpError> {
    let table = service.tables.get(&name)?;
    let (peer, mut reader) = service.host.open_body(request, table.live()?.max_keys())?;
    let read = read(&service, table, peer, &mut reader).await;
    let (live, frame, memory) = reader.end(read).await?;
    service.host.metrics.request_bytes.inc_by(frame.len() as u64);
    // Expanding keys may take a while, and must block neither the thread that serves connections
    // nor a pass. It is not canceled when the client hangs up, so its memory is released when it
    // ends, and not here.
    let admitting = service.clone();
    let admitted = service.host.low_priority.run(peer, move || {
        let _memory = memory;
        admit(&admitting, &live, peer, &frame)
    });
    let id = admitted.await.unwrap_or_else(|| {
        tracing::error!(table = name, "the scheme panicked while admitting keys; they are refused");
        Err(Code::Internal.into())
    })?;
    Ok(octets(id.0.to_vec()))
}

async fn read(
    service: &Service,
    table: &ServedTable,
    peer: Peer,
    reader: &mut BodyReader,
) -> Result<(Arc<TableEpoch>, Vec<u8>, Permit), HttpError> {
    service.sessions.may_register(peer, Instant::now())?;
    service.host.check_working()?;
    let head = keys::KeysHead::parse(reader.head(keys::HEAD_BYTES).await?)?;
    let live = table.live()?.admit(&head.pin)?.clone();
    live.check_queried()?;
    if live.default_session().is_some() {
        return Err(HttpError::new(Code::BadKeys, "the table's scheme has no evaluation keys"));
    }
    let (frame, memory) = reader.exactly(live.sizes().keys_frame_bytes()).await?;
    Ok((live, frame, memory))
}

fn admit(service: &Service, live: &TableEpoch, peer: Peer, frame: &[u8]) -> Result<SessionId, HttpError> {
    let keys =
        frame.get(keys::HEAD_BYTES..).expect_or_default("a frame's length was checked when it was read");
    let session = with_yield_hook(service.host.scheduler.wait_until_idle(), || live.server().admit(keys));
    let session = session.map_err(|error| match error {
        Error::Peer(_) => HttpError::new(Code::BadKeys, "invalid keys for these parameters"),
        error => {
            tracing::error!(table = ?live, %error, "the scheme could not admit keys");
            Code::Internal.into()
        }
    })?;
    let new = Registration {
        owner: live.owner(),
        peer,
        keys,
        stamp: 0,
        session: Arc::new(session),
        session_bytes: live.server().session_bytes() as u64,
    };
    service.sessions.insert(new, sessions::now()).map_err(|error| {
        tracing::error!(%error, "no randomness for a session id");
        Code::Internal.into()
    })
}
