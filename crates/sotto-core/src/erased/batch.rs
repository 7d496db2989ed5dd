//! Erased clients of schemes with batch queries: one record of each bucket.

use super::client::ErasedClient;
use super::{AnyPending, checked};
use crate::{BatchScheme, CryptoRng, Record, Result};

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
