//! Clients that ask for sums of records.

use super::Ticket;
use super::client::Ready;
use crate::{CryptoRng, RecordIndex, Result, Summed};

/// Asks for the sum of several records.
pub trait AnySum {
    /// One encoded query per server, and the secret that reads the answers, as those of one record are read.
    ///
    /// # Errors
    /// As [`Summed::ask_sum`].
    fn ask_sum(
        &mut self,
        first: RecordIndex,
        ones: u128,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Vec<Vec<u8>>, Ticket)>;
}

pub(super) fn view<S: Summed>(ready: &mut Ready<S>) -> &mut dyn AnySum {
    ready
}

impl<S: Summed> AnySum for Ready<S> {
    fn ask_sum(
        &mut self,
        first: RecordIndex,
        ones: u128,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Vec<Vec<u8>>, Ticket)> {
        let (queries, pending) = S::ask_sum(&mut self.client, first, ones, rng)?;
        Ok(self.sent(queries, pending))
    }
}
