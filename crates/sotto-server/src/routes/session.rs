//! The session that a frame names: none, in memory, or on disk.

use crate::TableEpoch;
use crate::refusal::Refusal;
use crate::service::Service;
use crate::sessions::{self, SessionPlace};
use sotto_core::AnySession;
use sotto_wire::{Code, SessionId};
use std::sync::Arc;

/// Finds the session that a frame for `live` names. This costs nothing, and so comes before the
/// payload is read.
///
/// # Errors
/// [`Code::SessionExpired`].
pub(super) fn find(service: &Service, live: &TableEpoch, id: &SessionId) -> Result<SessionPlace, Refusal> {
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
pub(super) async fn bring(
    service: &Arc<Service>,
    live: &Arc<TableEpoch>,
    id: &SessionId,
    found: SessionPlace,
) -> Result<Arc<AnySession>, Refusal> {
    if let SessionPlace::Memory(session) = found {
        return Ok(session);
    }
    let turn = service.sessions.bringing_back.clone().lock_owned().await;
    // Another request of the same session may have loaded it while this one waited.
    if let SessionPlace::Memory(session) = find(service, live, id)? {
        return Ok(session);
    }
    let (bringing, live, id) = (service.clone(), live.clone(), *id);
    let brought = tokio::task::spawn_blocking(move || {
        // The task is not canceled when the client hangs up, so its permit ends with the task.
        let _turn = turn;
        let sessions = &bringing.sessions;
        let keys = sessions.keys(&id)?;
        match live.server().admit(&keys) {
            Ok(session) => {
                let session = Arc::new(session);
                sessions.admitted(&id, session.clone(), live.server().session_bytes() as u64);
                Some(session)
            }
            Err(error) => {
                tracing::error!(table = ?live, %error, "stored keys are not admitted any more");
                sessions.drop_session(&id);
                None
            }
        }
    });
    brought.await.map_err(|_| Code::Internal)?.ok_or_else(expired)
}

fn expired() -> Refusal {
    Refusal::new(Code::SessionExpired, "the session is not held, or was never made")
}
