//! Layers decide which rows; schemes fetch them.
//!
//! A layer turns a request into lookups, and their rows into a reply: a key into the few places where it may lie, a leaf
//! into the rows of its proof, a batch of rows into one lookup for each of many small tables. It sees no ciphertext, and
//! schemes see no keys and no trees.
//!
//! **Shards.** A layer's rows lie in one or more tables, its shards, which are numbered. Which shards a request's lookups
//! go to, and in which order, is the layer's and never the request's: [`Layer::visits`] takes no request, and a plan is only
//! the rows. So whatever is asked, servers see the same.

use crate::params::REQUIRED_FAILURE_LOG2;
use crate::{Misuse, ParamsError, Result};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// A row of a shard, as it was fetched. Wiped on drop.
pub type Row = Zeroizing<Vec<u8>>;

/// Which rows a request needs, and what they mean.
pub trait Layer {
    /// What is asked for.
    type Request: ?Sized;
    /// What comes of it.
    type Reply;
    /// What has to be remembered in between. Secret.
    type Plan;

    /// How many rows each shard has.
    fn shards(&self) -> Vec<u64>;

    /// The shard of each lookup: public, and the same for all requests.
    fn visits(&self) -> Vec<usize>;

    /// A row for each lookup of [`Self::visits`], in that order. Rows that the request has no use for are drawn at random: no
    /// server learns rows, but what a lookup costs a client must not depend on them either.
    ///
    /// # Errors
    /// [`Misuse`] for a request that nobody could be asked.
    fn plan(&self, request: &Self::Request, rng: &mut dyn CryptoRng) -> Result<(Vec<u64>, Self::Plan)>;

    /// The reply, from the rows that were planned for, in their order.
    ///
    /// # Errors
    /// [`Misuse::Rule`] if rows are missing, [`PeerMisbehaved`](crate::PeerMisbehaved) if they are no rows of such a
    /// table. What is wrong with a row never leaves the client.
    fn assemble(&self, plan: Self::Plan, rows: Vec<Row>) -> Result<Self::Reply>;
}

/// log2 of a bound on the probability that any lookup of a request fails: the sum of theirs. `of_rows` has log2 of the bound
/// of one lookup in each shard; a shard that has none, or one that is no number, fails always.
///
/// Bounds that hold for all lookups of a client's budget at once, as hints that are used up have, count like others: the
/// sum is then above what one request can be blamed for.
pub fn failure_log2(visits: &[usize], of_rows: &[f64]) -> f64 {
    let of = |shard: &usize| of_rows.get(*shard).copied().filter(|bound| !bound.is_nan()).unwrap_or(0.0);
    let bounds = || visits.iter().map(of);
    // Relative to the largest, as a power of two may be too small for a number.
    let largest = bounds().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return largest;
    }
    largest + bounds().map(|bound| (bound - largest).exp2()).sum::<f64>().log2()
}

/// Refuses lookups that fail too often together, and gives [`failure_log2`].
///
/// # Errors
/// [`ParamsError::UnreliableTogether`].
pub fn gate(visits: &[usize], of_rows: &[f64]) -> Result<f64, ParamsError> {
    let (log2, required) = (failure_log2(visits, of_rows), REQUIRED_FAILURE_LOG2);
    if log2 > f64::from(required) {
        return Err(ParamsError::UnreliableTogether { lookups: visits.len(), log2, required });
    }
    Ok(log2)
}

/// `A` decides which rows, and `B` how to fetch so many at once: `A` has one shard, and `B` serves batches of its rows.
#[derive(Debug, Clone)]
pub struct Compose<A, B>(pub A, pub B);

impl<A, B> Layer for Compose<A, B>
where
    A: Layer,
    B: Layer<Request = [u64], Reply = Vec<Row>>,
{
    type Request = A::Request;
    type Reply = A::Reply;
    type Plan = (A::Plan, B::Plan);

    fn shards(&self) -> Vec<u64> {
        self.1.shards()
    }

    fn visits(&self) -> Vec<usize> {
        self.1.visits()
    }

    fn plan(&self, request: &A::Request, rng: &mut dyn CryptoRng) -> Result<(Vec<u64>, Self::Plan)> {
        if self.0.visits().iter().any(|shard| *shard > 0) {
            return Err(Misuse::Rule("a layer over a batch has one shard").into());
        }
        let (wanted, above) = self.0.plan(request, rng)?;
        let (rows, below) = self.1.plan(&wanted, rng)?;
        Ok((rows, (above, below)))
    }

    fn assemble(&self, (above, below): Self::Plan, rows: Vec<Row>) -> Result<A::Reply> {
        self.0.assemble(above, self.1.assemble(below, rows)?)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed check fails its test")]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_lookups_add_up() {
        assert_eq!(failure_log2(&[0, 1, 1, 0], &[-43.0, -43.0]), -41.0);
        assert!((failure_log2(&[0, 1], &[-3.0, -1.0]) - 0.625f64.log2()).abs() < 1e-12);
        assert_eq!(failure_log2(&[0; 4], &[-5000.0]), -4998.0);
        assert_eq!(failure_log2(&[0, 0], &[f64::NEG_INFINITY]), f64::NEG_INFINITY);
        assert_eq!(failure_log2(&[], &[]), f64::NEG_INFINITY);
        assert_eq!(failure_log2(&[1], &[-50.0]), 0.0);
    }

    #[test]
    fn what_fails_too_often_together_is_refused() {
        assert_eq!(gate(&[0, 1], &[-41.0, -41.0]), Ok(-40.0));
        let refused = gate(&[0, 1, 1], &[-41.0, -41.0]).unwrap_err();
        assert!(matches!(refused, ParamsError::UnreliableTogether { lookups: 3, .. }), "{refused}");
        assert!(gate(&[0], &[f64::NAN]).is_err());
    }
}
