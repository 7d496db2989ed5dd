//! Clients whose state must survive, and their preparations.

use super::client::{self, Preparing, Ready};
use super::{AnyClient, AnyPrepare, AnyUpkeep, Ticket, checked};
use crate::{
    Artifact, ArtifactNeed, Budget, CryptoRng, Misuse, PendingOf, Prepare, Record, RecordIndex, Result,
    Stateful,
};
use std::io::{Read, Write};
use zeroize::Zeroizing;

/// The state of a client. See [`Stateful`].
pub trait AnyState {
    /// See [`Stateful::save`].
    ///
    /// # Errors
    /// As there.
    fn save(&self, out: &mut dyn Write) -> Result<()>;
    /// See [`Stateful::journal`].
    fn journal(&mut self) -> Zeroizing<Vec<u8>>;
    /// See [`Stateful::replay`].
    ///
    /// # Errors
    /// As there.
    fn replay(&mut self, entry: &[u8]) -> Result<()>;
    /// See [`Stateful::number`].
    ///
    /// # Errors
    /// [`Misuse::Foreign`].
    fn number(&self, ticket: &Ticket) -> Result<u64>;
    /// See [`Stateful::reopen`].
    ///
    /// # Errors
    /// As there.
    fn reopen(&mut self, number: u64) -> Result<Ticket>;
    /// See [`Stateful::reject`].
    fn reject(&mut self, number: u64);
    /// See [`Stateful::follow`].
    ///
    /// # Errors
    /// As there.
    fn follow(&mut self, delta: &[u8]) -> Result<()>;
}

/// A preparation that can be written down. See [`Stateful::checkpoint`].
pub trait AnyCheckpoint {
    /// See [`Stateful::checkpoint`].
    ///
    /// # Errors
    /// As there.
    fn save(&self, out: &mut dyn Write) -> Result<()>;
    /// See [`Stateful::kept`].
    fn kept(&self) -> u64;
}

/// How the state of a scheme's clients is read back.
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
    Ok(Box::new(load_as::<S>(params, from)?))
}

pub(super) fn load_as<S: Stateful>(params: &[u8], from: &mut dyn Read) -> Result<Kept<S>> {
    let params = checked::<S>(params)?;
    let client = S::load(&params, from)?;
    Ok(Kept(Ready { params, client }))
}

fn resume<S: Stateful>(params: &[u8], from: &mut dyn Read) -> Result<Box<dyn AnyPrepare>> {
    Ok(Box::new(resume_as::<S>(params, from, finish)?))
}

pub(super) fn resume_as<S: Stateful>(
    params: &[u8],
    from: &mut dyn Read,
    finish: fn(Ready<S>) -> Box<dyn AnyClient>,
) -> Result<Keeping<S>> {
    let params = checked::<S>(params)?;
    let prepare = S::resume(&params, from)?;
    Ok(Keeping(Preparing { params, prepare, finish }))
}

pub(super) fn prepare<S: Stateful>(params: &[u8], rng: &mut dyn CryptoRng) -> Result<Box<dyn AnyPrepare>> {
    prepare_as::<S>(params, rng, finish)
}

pub(super) fn prepare_as<S: Stateful>(
    params: &[u8],
    rng: &mut dyn CryptoRng,
    finish: fn(Ready<S>) -> Box<dyn AnyClient>,
) -> Result<Box<dyn AnyPrepare>> {
    Ok(Box::new(Keeping(client::preparing::<S>(params, rng, finish)?)))
}

fn finish<S: Stateful>(ready: Ready<S>) -> Box<dyn AnyClient> {
    Box::new(Kept(ready))
}

/// A preparation that can be written down.
pub(super) struct Keeping<S: Stateful>(Preparing<S>);

impl<S: Stateful> AnyPrepare for Keeping<S> {
    fn needs(&self) -> Vec<ArtifactNeed> {
        self.0.prepare.needs()
    }
    fn absorb(&mut self, from: Artifact, chunk: &[u8]) -> Result<()> {
        self.0.prepare.absorb(from, chunk)
    }
    fn finish(self: Box<Self>) -> Result<Box<dyn AnyClient>> {
        self.0.finish()
    }
    fn checkpoint(&self) -> Option<&dyn AnyCheckpoint> {
        Some(self)
    }
}

impl<S: Stateful> AnyCheckpoint for Keeping<S> {
    fn save(&self, out: &mut dyn Write) -> Result<()> {
        S::checkpoint(&self.0.params, &self.0.prepare, out)
    }
    fn kept(&self) -> u64 {
        S::kept(&self.0.prepare)
    }
}

/// A client whose state can be written down.
pub(super) struct Kept<S: Stateful>(pub(super) Ready<S>);

impl<S: Stateful> AnyClient for Kept<S> {
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
        Some(self)
    }
    fn upkeep(&mut self) -> Option<&mut dyn AnyUpkeep> {
        None
    }
}

impl<S: Stateful> AnyState for Kept<S> {
    fn save(&self, out: &mut dyn Write) -> Result<()> {
        S::save(&self.0.params, &self.0.client, out)
    }
    fn journal(&mut self) -> Zeroizing<Vec<u8>> {
        S::journal(&mut self.0.client)
    }
    fn replay(&mut self, entry: &[u8]) -> Result<()> {
        S::replay(&mut self.0.client, entry)
    }
    fn number(&self, ticket: &Ticket) -> Result<u64> {
        let pending = ticket.0.downcast_ref::<PendingOf<S>>().ok_or(Misuse::Foreign("ticket"))?;
        Ok(S::number(pending))
    }
    fn reopen(&mut self, number: u64) -> Result<Ticket> {
        Ok(Ticket(Box::new(S::reopen(&mut self.0.client, number)?)))
    }
    fn reject(&mut self, number: u64) {
        S::reject(&mut self.0.client, number);
    }
    fn follow(&mut self, delta: &[u8]) -> Result<()> {
        S::follow(&mut self.0.client, delta)
    }
}
