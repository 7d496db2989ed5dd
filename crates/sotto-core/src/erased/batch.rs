//! Clients that ask for one record of each bucket.

use super::client::ErasedClient;
use super::{AnyPending, checked};
use crate::{BatchScheme, CryptoRng, Record, Result};

/// Asks for one record of each bucket.
pub trait AnyBatch {
    /// One encoded query per server, and the secret that reads the answers.
    ///
    /// # Errors
    /// As [`BatchScheme::query_buckets`].
    fn query_buckets(
        &mut self,
        places: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(Vec<Vec<u8>>, AnyPending)>;
    /// Reads one encoded answer per server: the records of all buckets, in their order.
    ///
    /// # Errors
    /// As [`BatchScheme::recover_buckets`]; [`crate::Error::Peer`] for bytes that are no answer; [`crate::Misuse::ForeignValue`].
    fn recover_buckets(&mut self, ticket: AnyPending, answers: &[Vec<u8>]) -> Result<Vec<Record>>;
}

pub(super) fn of<S: BatchScheme>(params: &[u8]) -> Result<u64> {
    Ok(S::buckets(&checked::<S>(params)?))
}

pub(super) fn view<S: BatchScheme>(ready: &mut ErasedClient<S>) -> &mut dyn AnyBatch {
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
