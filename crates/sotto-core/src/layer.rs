//! Layers decide which rows; schemes fetch them.
//!
//! A layer turns a request into lookups, and their rows into a reply: a key into the few places where it may lie, a leaf
//! into the rows of its proof, a batch of rows into one lookup for each of many small tables. It sees no ciphertext, and
//! schemes see no keys and no trees.
//!
//! **Shards.** A layer's rows lie in one or more tables, its shards, which are numbered. Which shards a request's lookups
//! go to, and in which order, is the layer's and never the request's: [`Layer::visits`] takes no request, and a plan is only
//! the rows. So whatever is asked, servers see the same.

use crate::{Misuse, Result};
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

/// `A` decides which rows, and `B` how to fetch so many at once: `A` has one shard, and `B` serves batches of its rows.
#[derive(Debug, Clone)]
pub struct Then<A, B>(pub A, pub B);

impl<A, B> Layer for Then<A, B>
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
