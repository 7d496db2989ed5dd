//! Clients that order hints, and servers that make them.

use super::checked;
use super::client::Ready;
#[cfg(feature = "server")]
use super::server::Open;
#[cfg(feature = "server")]
use crate::Supplier;
use crate::{Result, Upkeep, Wire};

/// Orders hints. See [`Upkeep`].
pub trait AnyUpkeep {
    /// The next order, encoded. See [`Upkeep::order`].
    ///
    /// # Errors
    /// As there.
    fn order(&mut self) -> Result<Option<Vec<u8>>>;
    /// Takes an encoded supply. See [`Upkeep::stock`].
    ///
    /// # Errors
    /// As there; [`crate::Error::Peer`] for bytes that are no supply.
    fn stock(&mut self, supply: &[u8]) -> Result<()>;
}

/// What is known of a scheme's upkeep before there is a client.
#[derive(Clone, Copy)]
pub struct UpkeepEntry {
    /// See [`Upkeep::HELPER`].
    pub helper: usize,
    /// Exact bytes of an order and of its supply, under these parameters.
    pub sizes: fn(&[u8]) -> Result<(u64, u64)>,
}

impl UpkeepEntry {
    pub(super) const fn new<S: Upkeep>() -> Self {
        UpkeepEntry { helper: S::HELPER, sizes: sizes::<S> }
    }
}

fn sizes<S: Upkeep>(params: &[u8]) -> Result<(u64, u64)> {
    let params = checked::<S>(params)?;
    Ok((S::Order::size(&params) as u64, S::Supply::size(&params) as u64))
}

pub(super) fn view<S: Upkeep>(ready: &mut Ready<S>) -> &mut dyn AnyUpkeep {
    ready
}

impl<S: Upkeep> AnyUpkeep for Ready<S> {
    fn order(&mut self) -> Result<Option<Vec<u8>>> {
        let Ready { params, client } = self;
        let Some(order) = S::order(client)? else { return Ok(None) };
        let mut out = Vec::with_capacity(S::Order::size(params));
        order.put(params, &mut out);
        Ok(Some(out))
    }

    fn stock(&mut self, supply: &[u8]) -> Result<()> {
        let Ready { params, client } = self;
        S::stock(client, S::Supply::take(params, supply)?)
    }
}

/// A server that makes hints.
#[cfg(feature = "server")]
pub trait AnySupplier: Send + Sync {
    /// Exact bytes of an encoded order.
    fn order_bytes(&self) -> usize;
    /// Exact bytes of an encoded supply.
    fn supply_bytes(&self) -> usize;
    /// Decodes an order, and makes what it asks for. May take seconds.
    ///
    /// # Errors
    /// [`crate::Error::Peer`] for bytes that are no order; as [`Supplier::supply`].
    fn supply(&self, order: &[u8]) -> Result<Vec<u8>>;
}

#[cfg(feature = "server")]
pub(super) fn supplier<S: Supplier>(open: &Open<S>) -> &dyn AnySupplier {
    open
}

#[cfg(feature = "server")]
impl<S: Supplier> AnySupplier for Open<S> {
    fn order_bytes(&self) -> usize {
        S::Order::size(&self.params)
    }
    fn supply_bytes(&self) -> usize {
        S::Supply::size(&self.params)
    }
    fn supply(&self, order: &[u8]) -> Result<Vec<u8>> {
        let params = &self.params;
        let supply = S::supply(&self.server, S::Order::take(params, order)?)?;
        let mut out = Vec::with_capacity(S::Supply::size(params));
        supply.put(params, &mut out);
        Ok(out)
    }
}
