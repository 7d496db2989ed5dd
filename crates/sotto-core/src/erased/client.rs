//! Erased clients, whose messages are bytes; and what they offer besides queries for one record:
//! batch queries, sums of records, and records read unit by unit.

use super::{AnyCheckpoint, AnyHintClient, AnyState, checked};
use crate::{
    Artifact, ArtifactNeed, BatchScheme, Budget, Client, CryptoRng, Misuse, PeerMisbehaved, PendingOf,
    PerServer, Prepare, Record, RecordIndex, Result, Scheme, StreamScheme, SumScheme, UnitLayout, Wire,
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
    fn recover(&mut self, pending: AnyPending, answers: &[Vec<u8>]) -> Result<Record>;
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
        pending: AnyPending,
        answers: &[Vec<u8>],
    ) -> Result<(PendingOf<S>, S::Fan<S::Answer>)> {
        let pending =
            pending.0.downcast::<PendingOf<S>>().map_err(|_| Misuse::ForeignValue("pending query"))?;
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

    fn recover(&mut self, pending: AnyPending, answers: &[Vec<u8>]) -> Result<Record> {
        let (pending, answers) = self.decode_answers(pending, answers)?;
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

/// Makes batch queries: one record of each bucket. See [`BatchScheme`].
pub trait AnyBatch {
    /// Makes one encoded query per server, and the secret that reads the answers.
    ///
    /// # Errors
    /// The errors of [`BatchScheme::query_buckets`].
    fn query_buckets(
        &mut self,
        places: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(Vec<Vec<u8>>, AnyPending)>;
    /// Reads one encoded answer per server, and returns the records of all buckets in their order.
    ///
    /// # Errors
    /// The errors of [`BatchScheme::recover_buckets`]; [`crate::Error::Peer`] for bytes that are
    /// not an answer; [`crate::Misuse::ForeignValue`].
    fn recover_buckets(&mut self, pending: AnyPending, answers: &[Vec<u8>]) -> Result<Vec<Record>>;
}

pub(super) fn buckets<S: BatchScheme>(params: &[u8]) -> Result<u64> {
    Ok(S::buckets(&checked::<S>(params)?))
}

pub(super) fn batch_view<S: BatchScheme>(ready: &mut ErasedClient<S>) -> &mut dyn AnyBatch {
    ready
}

impl<S: BatchScheme> AnyBatch for ErasedClient<S> {
    fn query_buckets(
        &mut self,
        places: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(Vec<Vec<u8>>, AnyPending)> {
        let (queries, pending) = S::query_buckets(&mut self.client, places, rng)?;
        Ok(self.encode_query(queries, pending))
    }

    fn recover_buckets(&mut self, pending: AnyPending, answers: &[Vec<u8>]) -> Result<Vec<Record>> {
        let (pending, answers) = self.decode_answers(pending, answers)?;
        S::recover_buckets(&mut self.client, pending, answers)
    }
}

/// Makes queries for the sum of several records. See [`SumScheme`].
pub trait AnySum {
    /// Makes one encoded query per server, and the secret that reads the answers like those for one
    /// record.
    ///
    /// # Errors
    /// The errors of [`SumScheme::query_sum`].
    fn query_sum(
        &mut self,
        first: RecordIndex,
        ones: u128,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Vec<Vec<u8>>, AnyPending)>;
}

pub(super) fn sum_view<S: SumScheme>(ready: &mut ErasedClient<S>) -> &mut dyn AnySum {
    ready
}

impl<S: SumScheme> AnySum for ErasedClient<S> {
    fn query_sum(
        &mut self,
        first: RecordIndex,
        ones: u128,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Vec<Vec<u8>>, AnyPending)> {
        let (queries, pending) = S::query_sum(&mut self.client, first, ones, rng)?;
        Ok(self.encode_query(queries, pending))
    }
}

/// Reads a record unit by unit. See [`StreamScheme`].
pub trait AnyStreamClient {
    /// Reads the encoded answer for one unit of the record that the query of `pending` asked for.
    /// The ticket can be used for every unit; dropping it wipes the secret.
    ///
    /// # Errors
    /// The errors of [`StreamScheme::recover_unit`]; [`crate::Error::Peer`] for bytes that are not
    /// an answer; [`Misuse::IndexPastEnd`]; [`Misuse::ForeignValue`].
    fn recover_unit(&mut self, pending: &AnyPending, unit: u64, answer: &[u8]) -> Result<Record>;
}

pub(super) fn unit_layout<S: StreamScheme>(params: &[u8]) -> Result<UnitLayout> {
    Ok(units::<S>(&checked::<S>(params)?))
}

pub(super) fn units<S: StreamScheme>(params: &S::Params) -> UnitLayout {
    UnitLayout {
        count: S::units(params),
        bytes: S::unit_bytes(params) as u64,
        answer_bytes: S::UnitAnswer::size(params) as u64,
    }
}

pub(super) fn stream_view<S: StreamScheme>(ready: &mut ErasedClient<S>) -> &mut dyn AnyStreamClient {
    ready
}

/// Refuses a unit past the end of the record.
pub(super) fn check_unit<S: StreamScheme>(params: &S::Params, unit: u64) -> Result<()> {
    let len = S::units(params);
    if unit < len { Ok(()) } else { Err(Misuse::IndexPastEnd { index: unit, len }.into()) }
}

impl<S: StreamScheme> AnyStreamClient for ErasedClient<S> {
    fn recover_unit(&mut self, pending: &AnyPending, unit: u64, answer: &[u8]) -> Result<Record> {
        let ErasedClient { params, client } = self;
        check_unit::<S>(params, unit)?;
        let pending =
            pending.0.downcast_ref::<PendingOf<S>>().ok_or(Misuse::ForeignValue("pending query"))?;
        S::recover_unit(client, pending, unit, S::UnitAnswer::take(params, answer)?)
    }
}
