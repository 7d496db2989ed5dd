//! Clients as bytes.

use super::{AnyBatch, AnyCheckpoint, AnyState, AnySum, AnyUnits, AnyUpkeep, checked};
use crate::{
    Artifact, ArtifactNeed, Budget, Client, CryptoRng, Fan, Misuse, PeerMisbehaved, PendingOf, Prepare,
    Record, RecordIndex, Result, Scheme, Wire,
};
use std::any::Any;

/// The secret of one query, opaque and unclonable.
pub struct Ticket(pub(super) Box<dyn Any + Send>);

/// A client being prepared.
pub trait AnyPrepare: Send {
    /// See [`Prepare::needs`].
    fn needs(&self) -> Vec<ArtifactNeed>;
    /// See [`Prepare::absorb`].
    ///
    /// # Errors
    /// As there.
    fn absorb(&mut self, from: Artifact, chunk: &[u8]) -> Result<()>;
    /// See [`Prepare::finish`].
    ///
    /// # Errors
    /// As there.
    fn finish(self: Box<Self>) -> Result<Box<dyn AnyClient>>;
    /// What writes it down half done, where the scheme can.
    fn checkpoint(&self) -> Option<&dyn AnyCheckpoint>;
}

/// A prepared client.
pub trait AnyClient: Send {
    /// The keys to register, encoded; empty if the scheme has none.
    fn keys(&self) -> Vec<u8>;
    /// One encoded query per server, and the secret that reads the answers.
    ///
    /// # Errors
    /// As [`Client::query`].
    fn query(&mut self, index: RecordIndex, rng: &mut dyn CryptoRng) -> Result<(Vec<Vec<u8>>, Ticket)>;
    /// Reads one encoded answer per server.
    ///
    /// # Errors
    /// As [`Client::recover`]; [`crate::Error::Peer`] for bytes that are no answer; [`Misuse::Foreign`].
    fn recover(&mut self, ticket: Ticket, answers: &[Vec<u8>]) -> Result<Record>;
    /// See [`Client::budget`].
    fn budget(&self) -> Budget;
    /// What reads records piece by piece, where the scheme can.
    fn units(&mut self) -> Option<&mut dyn AnyUnits>;
    /// What asks for a record of each bucket at once, where the scheme can.
    fn batch(&mut self) -> Option<&mut dyn AnyBatch>;
    /// What asks for the sum of several records, where the scheme can.
    fn sum(&mut self) -> Option<&mut dyn AnySum>;
    /// The state that must survive, where the scheme has one. Whoever asks without keeping it may ask as long as
    /// nothing crashes.
    fn state(&mut self) -> Option<&mut dyn AnyState>;
    /// What orders hints, where a server makes them.
    fn upkeep(&mut self) -> Option<&mut dyn AnyUpkeep>;
}

pub(super) struct Preparing<S: Scheme> {
    pub(super) params: S::Params,
    pub(super) prepare: S::Prepare,
}

pub(super) struct Ready<S: Scheme> {
    pub(super) params: S::Params,
    pub(super) client: S::Client,
}

pub(super) fn prepare<S: Scheme>(params: &[u8], rng: &mut dyn CryptoRng) -> Result<Box<dyn AnyPrepare>> {
    let params = checked::<S>(params)?;
    let prepare = S::Prepare::begin(&params, rng)?;
    Ok(Box::new(Preparing::<S> { params, prepare }))
}

impl<S: Scheme> AnyPrepare for Preparing<S> {
    fn needs(&self) -> Vec<ArtifactNeed> {
        self.prepare.needs()
    }
    fn absorb(&mut self, from: Artifact, chunk: &[u8]) -> Result<()> {
        self.prepare.absorb(from, chunk)
    }
    fn finish(self: Box<Self>) -> Result<Box<dyn AnyClient>> {
        let Preparing { params, prepare } = *self;
        Ok(Box::new(Ready::<S> { params, client: prepare.finish()? }))
    }
    fn checkpoint(&self) -> Option<&dyn AnyCheckpoint> {
        S::CAPS.as_checkpoint.map(|view| view(self))
    }
}

impl<S: Scheme> Ready<S> {
    /// A query as it is sent, and its secret.
    pub(super) fn sent(&self, queries: S::Fan<S::Query>, pending: PendingOf<S>) -> (Vec<Vec<u8>>, Ticket) {
        let bytes = queries.into_vec().into_iter().map(|query| {
            let mut out = Vec::with_capacity(S::Query::size(&self.params));
            query.put(&self.params, &mut out);
            out
        });
        (bytes.collect(), Ticket(Box::new(pending)))
    }

    /// A secret, and the answers as they came.
    pub(super) fn came(
        &self,
        ticket: Ticket,
        answers: &[Vec<u8>],
    ) -> Result<(PendingOf<S>, S::Fan<S::Answer>)> {
        let pending = ticket.0.downcast::<PendingOf<S>>().map_err(|_| Misuse::Foreign("ticket"))?;
        let got = answers.len() as u64;
        let answers =
            answers.iter().map(|bytes| S::Answer::take(&self.params, bytes)).collect::<Result<Vec<_>>>()?;
        let answers = S::Fan::<S::Answer>::from_vec(answers).ok_or(PeerMisbehaved::Count {
            what: "answers",
            got,
            want: <S::Fan<()> as Fan<()>>::SERVERS as u64,
        })?;
        Ok((*pending, answers))
    }
}

impl<S: Scheme> AnyClient for Ready<S> {
    fn keys(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(S::Keys::size(&self.params));
        self.client.keys().put(&self.params, &mut out);
        out
    }

    fn query(&mut self, index: RecordIndex, rng: &mut dyn CryptoRng) -> Result<(Vec<Vec<u8>>, Ticket)> {
        let (queries, pending) = self.client.query(index, rng)?;
        Ok(self.sent(queries, pending))
    }

    fn recover(&mut self, ticket: Ticket, answers: &[Vec<u8>]) -> Result<Record> {
        let (pending, answers) = self.came(ticket, answers)?;
        self.client.recover(pending, answers)
    }

    fn budget(&self) -> Budget {
        self.client.budget()
    }

    fn units(&mut self) -> Option<&mut dyn AnyUnits> {
        S::CAPS.as_units.map(|view| view(self))
    }
    fn batch(&mut self) -> Option<&mut dyn AnyBatch> {
        S::CAPS.as_batch.map(|view| view(self))
    }
    fn sum(&mut self) -> Option<&mut dyn AnySum> {
        S::CAPS.as_sum.map(|view| view(self))
    }
    fn state(&mut self) -> Option<&mut dyn AnyState> {
        S::CAPS.as_state.map(|view| view(self))
    }
    fn upkeep(&mut self) -> Option<&mut dyn AnyUpkeep> {
        S::CAPS.as_upkeep.map(|view| view(self))
    }
}
