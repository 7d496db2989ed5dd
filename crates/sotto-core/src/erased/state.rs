//! Erased clients whose state must survive, and their preparations.

use super::client::{ErasedClient, ErasedPrepare};
use super::{AnyClient, AnyPending, AnyPrepare, checked};
use crate::{Misuse, PendingOf, Result, Stateful};
use std::io::{Read, Write};
use zeroize::Zeroizing;

/// The durable state of a client. See [`Stateful`].
pub trait AnyState {
    /// See [`Stateful::save`].
    ///
    /// # Errors
    /// The errors of [`Stateful::save`].
    fn save(&self, out: &mut dyn Write) -> Result<()>;
    /// See [`Stateful::journal`].
    fn journal(&mut self) -> Zeroizing<Vec<u8>>;
    /// See [`Stateful::replay`].
    ///
    /// # Errors
    /// The errors of [`Stateful::replay`].
    fn replay(&mut self, entry: &[u8]) -> Result<()>;
    /// See [`Stateful::query_number`].
    ///
    /// # Errors
    /// [`Misuse::ForeignValue`].
    fn query_number(&self, pending: &AnyPending) -> Result<u64>;
    /// See [`Stateful::reopen_query`].
    ///
    /// # Errors
    /// The errors of [`Stateful::reopen_query`].
    fn reopen_query(&mut self, query_number: u64) -> Result<AnyPending>;
    /// See [`Stateful::reject`].
    fn reject(&mut self, query_number: u64);
    /// See [`Stateful::apply_delta`].
    ///
    /// # Errors
    /// The errors of [`Stateful::apply_delta`].
    fn apply_delta(&mut self, delta: &[u8]) -> Result<()>;
}

/// A preparation that can be saved in progress. See [`Stateful::checkpoint`].
pub trait AnyCheckpoint {
    /// See [`Stateful::checkpoint`].
    ///
    /// # Errors
    /// The errors of [`Stateful::checkpoint`].
    fn save(&self, out: &mut dyn Write) -> Result<()>;
    /// See [`Stateful::absorbed_bytes`].
    fn absorbed_bytes(&self) -> u64;
}

/// The functions that load the state of a scheme's clients.
#[derive(Clone, Copy)]
pub struct StateEntry {
    /// See [`Stateful::load`].
    pub load: fn(&[u8], &mut dyn Read) -> Result<Box<dyn AnyClient>>,
    /// See [`Stateful::resume`].
    pub resume: fn(&[u8], &mut dyn Read) -> Result<Box<dyn AnyPrepare>>,
}

impl StateEntry {
    pub(super) const fn new<S: Stateful>() -> Self {
        StateEntry { load: load::<S>, resume: resume::<S> }
    }
}

fn load<S: Stateful>(params: &[u8], from: &mut dyn Read) -> Result<Box<dyn AnyClient>> {
    let params = checked::<S>(params)?;
    let client = S::load(&params, from)?;
    Ok(Box::new(ErasedClient::<S> { params, client }))
}

fn resume<S: Stateful>(params: &[u8], from: &mut dyn Read) -> Result<Box<dyn AnyPrepare>> {
    let params = checked::<S>(params)?;
    let prepare = S::resume(&params, from)?;
    Ok(Box::new(ErasedPrepare::<S> { params, prepare }))
}

pub(super) fn view<S: Stateful>(ready: &mut ErasedClient<S>) -> &mut dyn AnyState {
    ready
}

pub(super) fn checkpoint<S: Stateful>(preparing: &ErasedPrepare<S>) -> &dyn AnyCheckpoint {
    preparing
}

impl<S: Stateful> AnyCheckpoint for ErasedPrepare<S> {
    fn save(&self, out: &mut dyn Write) -> Result<()> {
        S::checkpoint(&self.params, &self.prepare, out)
    }
    fn absorbed_bytes(&self) -> u64 {
        S::absorbed_bytes(&self.prepare)
    }
}

impl<S: Stateful> AnyState for ErasedClient<S> {
    fn save(&self, out: &mut dyn Write) -> Result<()> {
        S::save(&self.params, &self.client, out)
    }
    fn journal(&mut self) -> Zeroizing<Vec<u8>> {
        S::journal(&mut self.client)
    }
    fn replay(&mut self, entry: &[u8]) -> Result<()> {
        S::replay(&mut self.client, entry)
    }
    fn query_number(&self, pending: &AnyPending) -> Result<u64> {
        let pending =
            pending.0.downcast_ref::<PendingOf<S>>().ok_or(Misuse::ForeignValue("pending query"))?;
        Ok(S::query_number(pending))
    }
    fn reopen_query(&mut self, query_number: u64) -> Result<AnyPending> {
        Ok(AnyPending(Box::new(S::reopen_query(&mut self.client, query_number)?)))
    }
    fn reject(&mut self, query_number: u64) {
        S::reject(&mut self.client, query_number);
    }
    fn apply_delta(&mut self, delta: &[u8]) -> Result<()> {
        S::apply_delta(&mut self.client, delta)
    }
}
