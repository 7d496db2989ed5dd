//! Keys after their first registration: registered again with a server that has dropped them, and
//! taken to the next epoch of the same parameters. Both save an upload of megabytes.

use super::accepted;
use super::query_request::{QueryRequest, Session};
use super::registered_keys::RegisteredKeys;
use super::verified_table::VerifiedTable;
use crate::Result;
use crate::transport::{Request, Response};
use sotto_core::{AnyClient, Budget, Error, ExpectOrDefault, Misuse, ParamsDigest, wire};
use sotto_wire::{Problem, ProblemCode, SessionId, keys, routes};

impl Session {
    /// Whether a response says that the server no longer has this session's keys: it was restarted,
    /// needed the memory, or the keys were unused for too long. [`Session::registration`] repairs
    /// this.
    pub fn is_session_expired(&self, response: &Response) -> bool {
        !response.is_success()
            && self.sizes().keys_bytes > 0
            && Problem::read(response.status, &response.body).code == ProblemCode::SessionExpired
    }

    /// The request that registers the keys with a server again; `None` for schemes without keys.
    pub fn registration(&self, server: u8) -> Option<Request> {
        let has_keys = self.sizes().keys_bytes > 0;
        has_keys.then(|| registration(&self.table, self.client.as_ref(), server))
    }

    /// Takes the response to [`Session::registration`].
    ///
    /// # Errors
    /// [`crate::ClientError::EpochChanged`] if the table has moved on; other refusals; [`Error::Peer`].
    pub fn registered(&mut self, server: u8, response: &Response) -> Result<()> {
        let id = accepted(response, Some(self.epoch())).and_then(session_id);
        let id = id.map_err(|error| error.of_server(server, self.servers()))?;
        let place = self.ids.get_mut(usize::from(server));
        *place.ok_or(Error::from(Misuse::Rule("fewer transports than the scheme has servers")))? = id;
        Ok(())
    }

    /// Replaces the session id in an earlier query request to a server by the current one. The
    /// queries stay the same, bit for bit, since the keys are the same and a second query would
    /// reveal more than one.
    ///
    /// # Errors
    /// [`Misuse::ForeignValue`] for a request of another epoch.
    pub fn replace_session(&self, server: u8, query: &mut QueryRequest) -> Result<()> {
        let id = self.ids.get(usize::from(server)).copied().unwrap_or(SessionId::NONE);
        if !query.address(&self.table.pin(server), &id) {
            return Err(Error::from(Misuse::ForeignValue("query request")).into());
        }
        Ok(())
    }

    /// The session's keys, for [`super::SetupConfig::registered`] of another setup; `None` for
    /// schemes without keys, and for keys that are good for one epoch only.
    pub fn keys(&self) -> Option<RegisteredKeys> {
        let (params, (seed, digest)) = (self.reusable_params()?, self.seed.clone()?);
        let known = self.ids.iter().all(|id| *id != SessionId::NONE);
        known.then(|| RegisteredKeys { params, seed, digest, sessions: self.ids.clone() })
    }

    /// The parameters for which this session's client is good at any epoch, if there are any:
    /// either it has keys worth reusing, learned nothing from the data, and holds nothing that is
    /// used up; or its state is durable, and follows the table's rows.
    pub(super) fn reusable_params(&self) -> Option<ParamsDigest> {
        if self.discarded {
            return None;
        }
        if self.table.needs_state() {
            return Some(self.table.pin(0).digest);
        }
        let costs = &self.report().costs;
        let is_reusable = costs.keys_bytes > 0 && costs.artifact_bytes == 0;
        (is_reusable && self.client.budget() == Budget::Unlimited).then(|| self.table.pin(0).digest)
    }
}

/// Bytes of a session id.
const SESSION_BYTES: usize = 16;

/// The request that registers a client's keys with a server.
pub(super) fn registration(table: &VerifiedTable, client: &dyn AnyClient, server: u8) -> Request {
    let body = keys::encode(&table.pin(server), &client.keys());
    Request::post(routes::keys(table.catalog.table.as_str()), body, SESSION_BYTES as u64)
}

/// Reads the response to a registration.
pub(super) fn session_id(body: &[u8]) -> Result<SessionId> {
    wire::exact("session id", body, SESSION_BYTES)?;
    Ok(SessionId(body.try_into().expect_or_default("its length was checked")))
}
