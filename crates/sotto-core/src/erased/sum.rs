//! Erased clients that ask for sums of records.

use super::AnyPending;
use super::client::ErasedClient;
use crate::{CryptoRng, RecordIndex, Result, SumScheme};

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

pub(super) fn view<S: SumScheme>(ready: &mut ErasedClient<S>) -> &mut dyn AnySum {
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
