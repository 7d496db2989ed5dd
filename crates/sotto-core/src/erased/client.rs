//! Erased clients, whose messages are bytes.

use super::{AnyBatch, AnyCheckpoint, AnyHintClient, AnyState, AnyStreamClient, AnySum, checked};
use crate::{
    Artifact, ArtifactNeed, Budget, Client, CryptoRng, Misuse, PeerMisbehaved, PendingOf, PerServer, Prepare,
    Record, RecordIndex, Result, Scheme, Wire,
};
use std::any::Any;

/// The secret of one query, opaque and not `Clone`.
pub struct AnyPending(pub(super) Box<dyn Any + Send>);

/// A client being prepared.
pub trait AnyPrepare: Send {
    /// See [`Prepare::needs`].
    fn needs(&self) -> Vec<ArtifactNeed>;
    /// See [`Prepare::absorb`].
    ///
    /// # Errors
    /// The errors of [`Prepare::absorb`].
    fn absorb(&mut self, from: Artifact, chunk: &[u8]) -> Result<()>;
    /// See [`Prepare::finish`].
    ///
    /// # Errors
    /// The errors of [`Prepare::finish`].
    fn finish(self: Box<Self>) -> Result<Box<dyn AnyClient>>;
    /// Returns the interface that saves a preparation in progress, if the scheme can.
    fn checkpoint(&self) -> Option<&dyn AnyCheckpoint>;
}

/// A prepared client.
pub trait AnyClient: Send {
    /// The encoded keys to register; empty if the scheme has none.
    fn keys(&self) -> Vec<u8>;
    /// Makes one encoded query per server, and the secret that reads the answers.
    ///
    /// # Errors
    /// The errors of [`Client::query`].
    fn query(&mut self, index: RecordIndex, rng: &mut dyn CryptoRng) -> Result<(Vec<Vec<u8>>, AnyPending)>;
    /// Recovers the record from one encoded answer per server.
    ///
    /// # Errors
    /// The errors of [`Client::recover`]; [`crate::Error::Peer`] for bytes that are not an answer;
    /// [`Misuse::ForeignValue`].
    fn recover(&mut self, ticket: AnyPending, answers: &[Vec<u8>]) -> Result<Record>;
    /// See [`Client::budget`].
    fn budget(&self) -> Budget;
    /// Returns the interface that reads records unit by unit, if the scheme can.
    fn units(&mut self) -> Option<&mut dyn AnyStreamClient>;
    /// Returns the interface for batch queries, if the scheme can.
    fn batch(&mut self) -> Option<&mut dyn AnyBatch>;
    /// Returns the interface for sums of several records, if the scheme can.
    fn sum(&mut self) -> Option<&mut dyn AnySum>;
    /// Returns the state that must survive, if the scheme has one. A caller that does not store it
    /// may query as long as nothing crashes.
    fn state(&mut self) -> Option<&mut dyn AnyState>;
    /// Returns the interface that requests hints, if a server makes them.
    fn hint_client(&mut self) -> Option<&mut dyn AnyHintClient>;
}

pub(super) struct ErasedPrepare<S: Scheme> {
    pub(super) params: S::Params,
    pub(super) prepare: S::Prepare,
}

pub(super) struct ErasedClient<S: Scheme> {
    pub(super) params: S::Params,
    pub(super) client: S::Client,
}

pub(super) fn prepare<S: Scheme>(params: &[u8], rng: &mut dyn CryptoRng) -> Result<Box<dyn AnyPrepare>> {
    let params = checked::<S>(params)?;
    let prepare = S::Prepare::begin(&params, rng)?;
    Ok(Box::new(ErasedPrepare::<S> { params, prepare }))
}

impl<S: Scheme> AnyPrepare for ErasedPrepare<S> {
    fn needs(&self) -> Vec<ArtifactNeed> {
        self.prepare.needs()
    }
    fn absorb(&mut self, from: Artifact, chunk: &[u8]) -> Result<()> {
        self.prepare.absorb(from, chunk)
    }
    fn finish(self: Box<Self>) -> Result<Box<dyn AnyClient>> {
        let ErasedPrepare { params, prepare } = *self;
        Ok(Box::new(ErasedClient::<S> { params, client: prepare.finish()? }))
    }
    fn checkpoint(&self) -> Option<&dyn AnyCheckpoint> {
        S::CAPS.as_checkpoint.map(|view| view(self))
    }
}

impl<S: Scheme> ErasedClient<S> {
    /// Encodes a query for each server, and erases its secret.
    pub(super) fn encode_query(
        &self,
        queries: S::Fan<S::Query>,
        pending: PendingOf<S>,
    ) -> (Vec<Vec<u8>>, AnyPending) {
        let bytes = queries.into_vec().into_iter().map(|query| {
            let mut out = Vec::with_capacity(S::Query::size(&self.params));
            query.put(&self.params, &mut out);
            out
        });
        (bytes.collect(), AnyPending(Box::new(pending)))
    }

    /// Restores the type of a secret, and decodes the answers of all servers.
    pub(super) fn decode_answers(
        &self,
        ticket: AnyPending,
        answers: &[Vec<u8>],
    ) -> Result<(PendingOf<S>, S::Fan<S::Answer>)> {
        let pending = ticket.0.downcast::<PendingOf<S>>().map_err(|_| Misuse::ForeignValue("ticket"))?;
        let got = answers.len() as u64;
        let answers =
            answers.iter().map(|bytes| S::Answer::take(&self.params, bytes)).collect::<Result<Vec<_>>>()?;
        let answers = S::Fan::<S::Answer>::from_vec(answers).ok_or(PeerMisbehaved::Count {
            what: "answers",
            got,
            want: <S::Fan<()> as PerServer<()>>::SERVERS as u64,
        })?;
        Ok((*pending, answers))
    }
}

impl<S: Scheme> AnyClient for ErasedClient<S> {
    fn keys(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(S::Keys::size(&self.params));
        self.client.keys().put(&self.params, &mut out);
        out
    }

    fn query(&mut self, index: RecordIndex, rng: &mut dyn CryptoRng) -> Result<(Vec<Vec<u8>>, AnyPending)> {
        let (queries, pending) = self.client.query(index, rng)?;
        Ok(self.encode_query(queries, pending))
    }

    fn recover(&mut self, ticket: AnyPending, answers: &[Vec<u8>]) -> Result<Record> {
        let (pending, answers) = self.decode_answers(ticket, answers)?;
        self.client.recover(pending, answers)
    }

    fn budget(&self) -> Budget {
        self.client.budget()
    }

    fn units(&mut self) -> Option<&mut dyn AnyStreamClient> {
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
    fn hint_client(&mut self) -> Option<&mut dyn AnyHintClient> {
        S::CAPS.as_hint_client.map(|view| view(self))
    }
}
