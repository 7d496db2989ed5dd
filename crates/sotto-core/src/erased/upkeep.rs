//! Clients that order hints, and servers that make them.

use super::client::Ready;
#[cfg(feature = "server")]
use super::server::{self, Open};
use super::state::{self, Kept};
use super::{AnyClient, AnyPrepare, AnyState, StateEntry, Ticket, checked};
#[cfg(feature = "server")]
use super::{AnyServer, AnySession};
use crate::{Budget, CryptoRng, Record, RecordIndex, Result, Upkeep, Wire};
#[cfg(feature = "server")]
use crate::{Image, Supplier};
use std::io::Read;
#[cfg(feature = "server")]
use std::sync::Arc;

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

pub(super) const fn state_entry<S: Upkeep>() -> StateEntry {
    StateEntry { load: load::<S>, resume: resume::<S> }
}

fn load<S: Upkeep>(params: &[u8], from: &mut dyn Read) -> Result<Box<dyn AnyClient>> {
    Ok(Box::new(Ordering(state::load_as::<S>(params, from)?)))
}

fn resume<S: Upkeep>(params: &[u8], from: &mut dyn Read) -> Result<Box<dyn AnyPrepare>> {
    Ok(Box::new(state::resume_as::<S>(params, from, finish)?))
}

pub(super) fn prepare<S: Upkeep>(params: &[u8], rng: &mut dyn CryptoRng) -> Result<Box<dyn AnyPrepare>> {
    state::prepare_as::<S>(params, rng, finish)
}

fn finish<S: Upkeep>(ready: Ready<S>) -> Box<dyn AnyClient> {
    Box::new(Ordering(Kept(ready)))
}

struct Ordering<S: Upkeep>(Kept<S>);

impl<S: Upkeep> AnyClient for Ordering<S> {
    fn keys(&self) -> Vec<u8> {
        self.0.keys()
    }
    fn query(&mut self, index: RecordIndex, rng: &mut dyn CryptoRng) -> Result<(Vec<Vec<u8>>, Ticket)> {
        self.0.query(index, rng)
    }
    fn recover(&mut self, ticket: Ticket, answers: &[Vec<u8>]) -> Result<Record> {
        self.0.recover(ticket, answers)
    }
    fn budget(&self) -> Budget {
        self.0.budget()
    }
    fn state(&mut self) -> Option<&mut dyn AnyState> {
        Some(&mut self.0)
    }
    fn upkeep(&mut self) -> Option<&mut dyn AnyUpkeep> {
        Some(self)
    }
}

impl<S: Upkeep> AnyUpkeep for Ordering<S> {
    fn order(&mut self) -> Result<Option<Vec<u8>>> {
        let Ready { params, client } = &mut self.0.0;
        let Some(order) = S::order(client)? else { return Ok(None) };
        let mut out = Vec::with_capacity(S::Order::size(params));
        order.put(params, &mut out);
        Ok(Some(out))
    }

    fn stock(&mut self, supply: &[u8]) -> Result<()> {
        let Ready { params, client } = &mut self.0.0;
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
pub(super) fn open<S: Supplier>(params: &[u8], image: Arc<dyn Image>) -> Result<Box<dyn AnyServer>> {
    Ok(Box::new(Supplying(server::open_as::<S>(params, image)?)))
}

#[cfg(feature = "server")]
struct Supplying<S: Supplier>(Open<S>);

#[cfg(feature = "server")]
impl<S: Supplier> AnyServer for Supplying<S> {
    server::as_open!();
    fn supplier(&self) -> Option<&dyn AnySupplier> {
        Some(self)
    }
}

#[cfg(feature = "server")]
impl<S: Supplier> AnySupplier for Supplying<S> {
    fn order_bytes(&self) -> usize {
        S::Order::size(&self.0.params)
    }
    fn supply_bytes(&self) -> usize {
        S::Supply::size(&self.0.params)
    }
    fn supply(&self, order: &[u8]) -> Result<Vec<u8>> {
        let params = &self.0.params;
        let supply = S::supply(&self.0.server, S::Order::take(params, order)?)?;
        let mut out = Vec::with_capacity(S::Supply::size(params));
        supply.put(params, &mut out);
        Ok(out)
    }
}
