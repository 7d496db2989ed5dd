//! Layers decide which rows a request needs; schemes fetch them.
//!
//! A layer turns a request into lookups, and the rows of those lookups into a reply: a key into the
//! few places where it may be, a leaf of a tree into the rows of its proof, a batch of rows into
//! one lookup in each of many small tables. A layer sees no ciphertext, and schemes see no keys and
//! no trees.
//!
//! **Shards.** The rows of a layer are in one or more numbered tables, its shards. The layer alone
//! decides which shards the lookups go to and in which order, never the request: [`Layer::visits`]
//! takes no request, and a plan consists only of rows. So servers see the same for every request.

use crate::params::REQUIRED_FAILURE_LOG2;
use crate::{Misuse, ParamsError, Result};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// A fetched row of a shard. Wiped on drop.
pub type Row = Zeroizing<Vec<u8>>;

/// Turns requests into row lookups, and fetched rows into replies.
pub trait Layer {
    /// The request that a caller makes, such as a key.
    type Request: ?Sized;
    /// The reply to a request.
    type Reply;
    /// The secret that [`Self::assemble`] needs from [`Self::plan`].
    type Plan;

    /// Number of rows of each shard.
    fn shards(&self) -> Vec<u64>;

    /// The shard of each lookup: public, and the same for all requests.
    fn visits(&self) -> Vec<usize>;

    /// Chooses a row for each lookup of [`Self::visits`], in that order. Rows that the request does
    /// not need are drawn at random: no server learns the rows, but the cost of a lookup to a
    /// client must not depend on them either.
    ///
    /// # Errors
    /// [`Misuse`] for a request that no table can serve.
    fn plan(&self, request: &Self::Request, rng: &mut dyn CryptoRng) -> Result<(Vec<u64>, Self::Plan)>;

    /// Makes the reply from the planned rows, which come in the order of the plan.
    ///
    /// # Errors
    /// [`Misuse::Rule`] if rows are missing, [`PeerMisbehaved`](crate::PeerMisbehaved) if they are
    /// not rows of such a table. Errors about the contents of a row never leave the client.
    fn assemble(&self, plan: Self::Plan, rows: Vec<Row>) -> Result<Self::Reply>;
}

/// Gives log2 of a bound on the probability that any lookup of a request fails: the sum of the
/// bounds of its lookups. `of_rows` holds log2 of the bound of one lookup in each shard; a lookup
/// counts as always failing if its shard has no bound or a NaN.
///
/// Bounds that cover all lookups of a client's budget at once, as those of hints that are used up,
/// count like others: the sum then overestimates the failure probability of one request.
///
/// ```
/// use sotto_core::layer::failure_log2;
///
/// // Two lookups in the first shard and one in the second.
/// let bound = failure_log2(&[0, 0, 1], &[-43.0, -42.0]);
/// assert_eq!(bound, -41.0);
/// ```
pub fn failure_log2(visits: &[usize], of_rows: &[f64]) -> f64 {
    let of = |shard: &usize| of_rows.get(*shard).copied().filter(|bound| !bound.is_nan()).unwrap_or(0.0);
    let bounds = || visits.iter().map(of);
    // Relative to the largest bound, since a power of two may be too small for an `f64`.
    let largest = bounds().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return largest;
    }
    largest + bounds().map(|bound| (bound - largest).exp2()).sum::<f64>().log2()
}

/// Checks that the lookups of a request together fail rarely enough, and gives [`failure_log2`].
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

/// A layer that has `A` choose rows and `B` fetch them in a batch: `A` has one shard, and `B`
/// serves batches of its rows.
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
            return Err(Misuse::Rule("a layer over a batch must have one shard").into());
        }
        let (requested, above) = self.0.plan(request, rng)?;
        let (rows, below) = self.1.plan(&requested, rng)?;
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
