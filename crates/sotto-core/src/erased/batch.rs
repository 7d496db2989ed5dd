//! Clients that ask for one record of each bucket.

use super::client::Ready;
use super::{Ticket, checked};
use crate::{Batched, CryptoRng, Record, Result};

/// Asks for one record of each bucket.
pub trait AnyBatch {
    /// One encoded query per server, and the secret that reads the answers.
    ///
    /// # Errors
    /// As [`Batched::ask`].
    fn ask(&mut self, places: &[u64], rng: &mut dyn CryptoRng) -> Result<(Vec<Vec<u8>>, Ticket)>;
    /// Reads one encoded answer per server: the records of all buckets, in their order.
    ///
    /// # Errors
    /// As [`Batched::read`]; [`crate::Error::Peer`] for bytes that are no answer; [`crate::Misuse::Foreign`].
    fn read(&mut self, ticket: Ticket, answers: &[Vec<u8>]) -> Result<Vec<Record>>;
}

pub(super) fn of<S: Batched>(params: &[u8]) -> Result<u64> {
    Ok(S::buckets(&checked::<S>(params)?))
}

pub(super) fn view<S: Batched>(ready: &mut Ready<S>) -> &mut dyn AnyBatch {
    ready
}

impl<S: Batched> AnyBatch for Ready<S> {
    fn ask(&mut self, places: &[u64], rng: &mut dyn CryptoRng) -> Result<(Vec<Vec<u8>>, Ticket)> {
        let (queries, pending) = S::ask(&mut self.client, places, rng)?;
        Ok(self.sent(queries, pending))
    }

    fn read(&mut self, ticket: Ticket, answers: &[Vec<u8>]) -> Result<Vec<Record>> {
        let (pending, answers) = self.came(ticket, answers)?;
        S::read(&mut self.client, pending, answers)
    }
}
