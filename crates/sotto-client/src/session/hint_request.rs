//! Hints that one of the servers makes: requests for them, and responses.
//!
//! The hint server learns how this client's hints are made, and must never see a query; the query
//! servers see queries, and must never see a hint request. When a hint request is due depends on
//! how many queries were made, never on their rows.

use super::{Session, accepted};
use crate::transport::{Request, Response};
use crate::{ClientError, Result};
use sotto_core::{Error, ExpectOrDefault, HintServerEntry, Misuse};
use sotto_wire::{FrameHeader, hints, routes};
use std::fmt;

/// A request for hints. A retry sends the same bytes, or those of the next hint request, which are
/// the same until the response was applied.
pub struct HintRequest {
    server: u8,
    request: Request,
    pin: FrameHeader,
}

impl HintRequest {
    /// Number of the server that the request is for, counted from 0. No other server may see it.
    pub fn server(&self) -> u8 {
        self.server
    }

    /// The request to send.
    pub fn request(&self) -> &Request {
        &self.request
    }
}

impl Session {
    /// The next hint request, if one is due; never one for schemes whose clients make their own
    /// hints.
    ///
    /// # Errors
    /// An error of sampling; [`ClientError::ClientDiscarded`].
    pub fn hint_request(&mut self) -> Result<Option<HintRequest>> {
        self.ensure_usable()?;
        let Some(HintServerEntry { role, sizes }) = self.scheme().hint_server else { return Ok(None) };
        let (_, response_bytes) = sizes(&self.table.params)?;
        let refill = self.client.hint_client().ok_or(Error::from(Misuse::ForeignValue("client")))?;
        let Some(bytes) = refill.next_hint_request()? else { return Ok(None) };
        let server = u8::try_from(role).expect_or_default("a scheme has few servers");
        let pin = self.table.pin(server);
        let path = routes::hints(self.catalog().table.as_str());
        let request = Request::post(path, hints::encode(&pin, &bytes), hints::frame_bytes(response_bytes));
        Ok(Some(HintRequest { server, request, pin }))
    }

    /// Applies the response to a hint request.
    ///
    /// # Errors
    /// [`ClientError::EpochChanged`] if the table has moved on; [`ClientError::Refused`];
    /// [`ClientError::Frame`] and [`Error::Peer`] for bytes that are no hint response.
    pub fn apply_hint_response(&mut self, hint_request: &HintRequest, response: &Response) -> Result<()> {
        self.ensure_usable()?;
        if hint_request.pin != self.table.pin(hint_request.server) {
            return Err(Error::from(Misuse::ForeignValue("hint request")).into());
        }
        let applied = self.take_response(hint_request, response);
        applied.map_err(|error| error.of_server(hint_request.server, self.servers()))
    }

    fn take_response(&mut self, hint_request: &HintRequest, response: &Response) -> Result<()> {
        let foreign = || ClientError::from(Error::from(Misuse::ForeignValue("hint request")));
        let HintServerEntry { sizes, .. } = self.scheme().hint_server.ok_or_else(foreign)?;
        let (_, bytes) = sizes(&self.table.params)?;
        let bytes = usize::try_from(bytes).map_err(|_| foreign())?;
        let parities =
            hints::decode_response(accepted(response, Some(self.epoch()))?, &hint_request.pin, bytes)?;
        Ok(self.client.hint_client().ok_or_else(foreign)?.apply_hint_response(parities)?)
    }
}

/// Shows nothing of what hints are made from.
impl fmt::Debug for HintRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HintRequest(server {}, epoch {})", self.server, self.pin.epoch)
    }
}
