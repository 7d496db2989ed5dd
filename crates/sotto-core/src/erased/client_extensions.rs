//! What erased clients offer besides queries for one record: batch queries, sums of records, and
//! records read unit by unit.

use super::client::ErasedClient;
use super::{AnyPending, checked};
use crate::{
    BatchScheme, CryptoRng, Misuse, PendingOf, Record, RecordIndex, Result, StreamScheme, SumScheme,
    UnitLayout, Wire,
};

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
    fn recover_buckets(&mut self, ticket: AnyPending, answers: &[Vec<u8>]) -> Result<Vec<Record>>;
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

    fn recover_buckets(&mut self, ticket: AnyPending, answers: &[Vec<u8>]) -> Result<Vec<Record>> {
        let (pending, answers) = self.decode_answers(ticket, answers)?;
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
    fn ask_sum(
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
    fn ask_sum(
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
    /// Reads the encoded answer for one unit of the record that the query of `ticket` asked for.
    /// The ticket can be used for every unit; dropping it wipes the secret.
    ///
    /// # Errors
    /// The errors of [`StreamScheme::recover_unit`]; [`crate::Error::Peer`] for bytes that are not
    /// an answer; [`Misuse::IndexPastEnd`]; [`Misuse::ForeignValue`].
    fn open_unit(&mut self, ticket: &AnyPending, unit: u64, answer: &[u8]) -> Result<Record>;
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
    fn open_unit(&mut self, ticket: &AnyPending, unit: u64, answer: &[u8]) -> Result<Record> {
        let ErasedClient { params, client } = self;
        check_unit::<S>(params, unit)?;
        let pending = ticket.0.downcast_ref::<PendingOf<S>>().ok_or(Misuse::ForeignValue("ticket"))?;
        S::recover_unit(client, pending, unit, S::UnitAnswer::take(params, answer)?)
    }
}
