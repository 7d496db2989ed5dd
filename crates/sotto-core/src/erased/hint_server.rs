//! Clients that order hints, and servers that make them.

use super::checked;
use super::client::ErasedClient;
#[cfg(feature = "server")]
use super::server::ErasedServer;
#[cfg(feature = "server")]
use crate::HintServer;
use crate::{HintScheme, Result, Wire};

/// Orders hints. See [`HintScheme`].
pub trait AnyHintClient {
    /// The next order, encoded. See [`HintScheme::order`].
    ///
    /// # Errors
    /// As there.
    fn order(&mut self) -> Result<Option<Vec<u8>>>;
    /// Takes an encoded supply. See [`HintScheme::stock`].
    ///
    /// # Errors
    /// As there; [`crate::Error::Peer`] for bytes that are no supply.
    fn stock(&mut self, supply: &[u8]) -> Result<()>;
}

/// What is known of a scheme's upkeep before there is a client.
#[derive(Clone, Copy)]
pub struct HintServerEntry {
    /// See [`HintScheme::HINT_SERVER`].
    pub helper: usize,
    /// Exact bytes of an order and of its supply, under these parameters.
    pub sizes: fn(&[u8]) -> Result<(u64, u64)>,
}

impl HintServerEntry {
    pub(super) const fn new<S: HintScheme>() -> Self {
        HintServerEntry { helper: S::HINT_SERVER, sizes: sizes::<S> }
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
    fn order(&mut self) -> Result<Option<Vec<u8>>> {
        let ErasedClient { params, client } = self;
        let Some(order) = S::next_hint_request(client)? else { return Ok(None) };
        let mut out = Vec::with_capacity(S::HintRequest::size(params));
        order.put(params, &mut out);
        Ok(Some(out))
    }

    fn stock(&mut self, supply: &[u8]) -> Result<()> {
        let ErasedClient { params, client } = self;
        S::apply_hint_response(client, S::HintResponse::take(params, supply)?)
    }
}

/// A server that makes hints.
#[cfg(feature = "server")]
pub trait AnyHintServer: Send + Sync {
    /// Exact bytes of an encoded order.
    fn order_bytes(&self) -> usize;
    /// Exact bytes of an encoded supply.
    fn supply_bytes(&self) -> usize;
    /// Decodes an order, and makes what it asks for. May take seconds.
    ///
    /// # Errors
    /// [`crate::Error::Peer`] for bytes that are no order; as [`HintServer::supply`].
    fn supply(&self, order: &[u8]) -> Result<Vec<u8>>;
}

#[cfg(feature = "server")]
pub(super) fn supplier<S: HintServer>(open: &ErasedServer<S>) -> &dyn AnyHintServer {
    open
}

#[cfg(feature = "server")]
impl<S: HintServer> AnyHintServer for ErasedServer<S> {
    fn order_bytes(&self) -> usize {
        S::HintRequest::size(&self.params)
    }
    fn supply_bytes(&self) -> usize {
        S::HintResponse::size(&self.params)
    }
    fn supply(&self, order: &[u8]) -> Result<Vec<u8>> {
        let params = &self.params;
        let supply = S::answer_hint_request(&self.server, S::HintRequest::take(params, order)?)?;
        let mut out = Vec::with_capacity(S::HintResponse::size(params));
        supply.put(params, &mut out);
        Ok(out)
    }
}
