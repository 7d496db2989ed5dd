//! Keys in, a session id out; and the session that a frame names: none, in memory, or on disk.

use super::Served;
use crate::TableEpoch;
use crate::body::BodyReader;
use crate::client::Peer;
use crate::host::{HttpResult, octets};
use crate::http_error::HttpError;
use crate::limits::slots::Permit;
use crate::served_table::ServedTable;
use crate::service::Service;
use crate::sessions::{self, Registration, SessionPlace};
use axum::extract::{Path, Request, State};
use sotto_core::cooperative::with_yield_hook;
use sotto_core::{AnySession, Error, ExpectOrDefault};
use sotto_wire::{ProblemCode, SessionId, keys};
use std::sync::Arc;
use std::time::Instant;

/// `POST /v1/tables/{table}/keys`
pub(super) async fn register(
    State(service): Served,
    Path(name): Path<String>,
    request: Request,
) -> HttpResult {
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
        Err(ProblemCode::Internal.into())
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
        return Err(HttpError::new(ProblemCode::BadKeys, "the table's scheme has no evaluation keys"));
    }
    let (frame, memory) = reader.exactly(live.sizes().keys_frame_bytes()).await?;
    Ok((live, frame, memory))
}

fn admit(service: &Service, live: &TableEpoch, peer: Peer, frame: &[u8]) -> Result<SessionId, HttpError> {
    let keys =
        frame.get(keys::HEAD_BYTES..).expect_or_default("a frame's length was checked when it was read");
    let session = with_yield_hook(service.host.scheduler.wait_until_idle(), || live.server().admit(keys));
    let session = session.map_err(|error| match error {
        Error::Peer(_) => HttpError::new(ProblemCode::BadKeys, "invalid keys for these parameters"),
        error => {
            tracing::error!(table = ?live, %error, "the scheme could not admit keys");
            ProblemCode::Internal.into()
        }
    })?;
    let new = Registration {
        owner: live.owner(),
        peer,
        keys,
        client_stamp: 0,
        session: Arc::new(session),
        session_bytes: live.server().session_bytes() as u64,
    };
    service.sessions.insert(new, sessions::now()).map_err(|error| {
        tracing::error!(%error, "no randomness for a session id");
        ProblemCode::Internal.into()
    })
}

/// Finds the session that a frame for `live` names. This costs nothing, and so comes before the
/// payload is read.
///
/// # Errors
/// [`ProblemCode::SessionExpired`].
pub(super) fn find_session(
    service: &Service,
    live: &TableEpoch,
    id: &SessionId,
) -> Result<SessionPlace, HttpError> {
    let found = match live.default_session() {
        Some(default_session) if *id == SessionId::NONE => {
            Some(SessionPlace::Memory(default_session.clone()))
        }
        Some(_) => None,
        None => service.sessions.find(id, &live.owner(), sessions::now()),
    };
    found.ok_or_else(expired)
}

/// Loads the session; one that is on disk is admitted again.
///
/// # Errors
/// [`ProblemCode::SessionExpired`] if it was evicted meanwhile, or its stored keys are damaged;
/// [`ProblemCode::Internal`].
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
    loaded.await.map_err(|_| ProblemCode::Internal)?.ok_or_else(expired)
}

fn expired() -> HttpError {
    HttpError::new(ProblemCode::SessionExpired, "the session is unknown or was evicted")
}
