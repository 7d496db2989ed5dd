//! Keys after the first time: registered again when a server has dropped them, and carried on when the table
//! moves to an epoch of the same parameters. What either saves is an upload of megabytes.

use super::epoch_agreement::VerifiedTable;
use super::setup::SessionSetup;
use super::{QueryRequest, Session, accepted};
use crate::Result;
use crate::transport::{Request, Response};
use sotto_core::{AnyClient, Budget, Error, ExpectOrDefault, Misuse, ParamsDigest, wire};
use sotto_wire::{Code, Problem, SessionId, keys, routes};

impl Session {
    /// Whether a response says that the server does not hold this session's keys any more: it was restarted, it
    /// needed the room, or they were not used for too long. Then [`Session::registration`] mends it.
    pub fn is_session_expired(&self, response: &Response) -> bool {
        !response.is_success()
            && self.sizes().keys_bytes > 0
            && Problem::read(response.status, &response.body).code == Code::SessionExpired
    }

    /// The request that registers the keys with a server again; `None` for schemes without keys.
    pub fn registration(&self, server: u8) -> Option<Request> {
        let has_keys = self.sizes().keys_bytes > 0;
        has_keys.then(|| registration(&self.agreed, self.client.as_ref(), server))
    }

    /// Takes the response to [`Session::registration`].
    ///
    /// # Errors
    /// [`crate::ClientError::EpochChanged`] if the table has moved on; other refusals; [`Error::Peer`].
    pub fn registered(&mut self, server: u8, response: &Response) -> Result<()> {
        let id = accepted(response, Some(self.epoch())).and_then(session_id);
        let id = id.map_err(|error| error.of_server(server, self.servers()))?;
        let place = self.ids.get_mut(usize::from(server));
        *place.ok_or(Error::from(Misuse::Rule("a table has as many servers as its scheme asks")))? = id;
        Ok(())
    }

    /// Puts the session's new id into what an ask that was made before sends to a server. The queries stay as they
    /// are, bit for bit: keys are the same, so a second query would only tell more than one.
    ///
    /// # Errors
    /// [`Misuse::ForeignValue`] for an ask of another epoch.
    pub fn readdress(&self, server: u8, ask: &mut QueryRequest) -> Result<()> {
        let id = self.ids.get(usize::from(server)).copied().unwrap_or(SessionId::NONE);
        if !ask.address(&self.agreed.pin(server), &id) {
            return Err(Error::from(Misuse::ForeignValue("ask")).into());
        }
        Ok(())
    }

    /// Goes on to the epoch an opening has led to, with the keys it has: for an [`SessionSetup::after_session`] this session
    /// of which [`SessionSetup::is_continued`] is true. Asks made before are not of this epoch.
    ///
    /// # Errors
    /// [`Misuse::Rule`] for any other opening; the session stays as it is.
    pub fn advance_to(&mut self, opening: SessionSetup) -> Result<()> {
        self.agreed = opening.continued(self.reusable_params())?;
        Ok(())
    }

    /// The parameters for which this session's client is good at any epoch: it has keys worth keeping, learnt
    /// nothing from the data, and holds nothing that is used up. Or its state is kept, and follows the table's rows.
    pub(super) fn reusable_params(&self) -> Option<ParamsDigest> {
        if self.discarded {
            return None;
        }
        if self.agreed.needs_state() {
            return Some(self.agreed.pin(0).digest);
        }
        let costs = &self.report().costs;
        let lasts = costs.keys_bytes > 0 && costs.artifact_bytes == 0;
        (lasts && self.client.budget() == Budget::Unlimited).then(|| self.agreed.pin(0).digest)
    }
}

/// Bytes of a session id.
const SESSION_BYTES: usize = 16;

/// The request that registers a client's keys with a server.
pub(super) fn registration(agreed: &VerifiedTable, client: &dyn AnyClient, server: u8) -> Request {
    let body = keys::encode(&agreed.pin(server), &client.keys());
    Request::post(routes::keys(agreed.catalog.table.as_str()), body, SESSION_BYTES as u64)
}

/// Reads what a registration is answered with.
pub(super) fn session_id(body: &[u8]) -> Result<SessionId> {
    wire::exact("session id", body, SESSION_BYTES)?;
    Ok(SessionId(body.try_into().expect_or_default("its length was checked")))
}
