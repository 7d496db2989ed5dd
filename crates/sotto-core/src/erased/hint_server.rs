//! Erased clients that request hints, and servers that make them.

use super::checked;
use super::client::ErasedClient;
#[cfg(feature = "server")]
use super::server::ErasedServer;
#[cfg(feature = "server")]
use crate::HintServer;
use crate::{HintScheme, Result, Wire};

/// Requests hints from the hint server. See [`HintScheme`].
pub trait AnyHintClient {
    /// Returns the next hint request, encoded. See [`HintScheme::next_hint_request`].
    ///
    /// # Errors
    /// The errors of [`HintScheme::next_hint_request`].
    fn next_hint_request(&mut self) -> Result<Option<Vec<u8>>>;
    /// Applies an encoded hint response. See [`HintScheme::apply_hint_response`].
    ///
    /// # Errors
    /// The errors of [`HintScheme::apply_hint_response`]; [`crate::Error::Peer`] for bytes that are
    /// not a hint response.
    fn apply_hint_response(&mut self, response: &[u8]) -> Result<()>;
}

/// The hint server of a scheme: what is known of it before there is a client.
#[derive(Clone, Copy)]
pub struct HintServerEntry {
    /// See [`HintScheme::HINT_SERVER`].
    pub role: usize,
    /// Gives the exact bytes of a hint request and of its response under the given parameters.
    pub sizes: fn(&[u8]) -> Result<(u64, u64)>,
}

impl HintServerEntry {
    pub(super) const fn new<S: HintScheme>() -> Self {
        HintServerEntry { role: S::HINT_SERVER, sizes: sizes::<S> }
    }
}

fn sizes<S: HintScheme>(params: &[u8]) -> Result<(u64, u64)> {
    let params = checked::<S>(params)?;
    Ok((S::HintRequest::size(&params) as u64, S::HintResponse::size(&params) as u64))
}

pub(super) fn view<S: HintScheme>(ready: &mut ErasedClient<S>) -> &mut dyn AnyHintClient {
    ready
}

impl<S: HintScheme> AnyHintClient for ErasedClient<S> {
    fn next_hint_request(&mut self) -> Result<Option<Vec<u8>>> {
        let ErasedClient { params, client } = self;
        let Some(request) = S::next_hint_request(client)? else { return Ok(None) };
        let mut out = Vec::with_capacity(S::HintRequest::size(params));
        request.put(params, &mut out);
        Ok(Some(out))
    }

    fn apply_hint_response(&mut self, response: &[u8]) -> Result<()> {
        let ErasedClient { params, client } = self;
        S::apply_hint_response(client, S::HintResponse::take(params, response)?)
    }
}

/// A server that makes hints on request.
#[cfg(feature = "server")]
pub trait AnyHintServer: Send + Sync {
    /// Exact bytes of an encoded hint request.
    fn hint_request_bytes(&self) -> usize;
    /// Exact bytes of an encoded hint response.
    fn hint_response_bytes(&self) -> usize;
    /// Decodes a hint request, and makes the encoded response. This may take seconds.
    ///
    /// # Errors
    /// [`crate::Error::Peer`] for bytes that are not a hint request; the errors of
    /// [`HintServer::answer_hint_request`].
    fn answer_hint_request(&self, request: &[u8]) -> Result<Vec<u8>>;
}

#[cfg(feature = "server")]
pub(super) fn hint_server<S: HintServer>(open: &ErasedServer<S>) -> &dyn AnyHintServer {
    open
}

#[cfg(feature = "server")]
impl<S: HintServer> AnyHintServer for ErasedServer<S> {
    fn hint_request_bytes(&self) -> usize {
        S::HintRequest::size(&self.params)
    }
    fn hint_response_bytes(&self) -> usize {
        S::HintResponse::size(&self.params)
    }
    fn answer_hint_request(&self, request: &[u8]) -> Result<Vec<u8>> {
        let params = &self.params;
        let response = S::answer_hint_request(&self.server, S::HintRequest::take(params, request)?)?;
        let mut out = Vec::with_capacity(S::HintResponse::size(params));
        response.put(params, &mut out);
        Ok(out)
    }
}
