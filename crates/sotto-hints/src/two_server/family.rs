//! The trait that a scheme with two servers implements.

use super::params::{Params, ParamsFamily};
use super::sets::{Hint, KeyedSets, Set};
use super::tree::{TreeScratch, Trees};
use crate::message::Answer;
use borsh::{BorshDeserialize, BorshSerialize};
use sotto_core::{CryptoRng, TwoServers};
use std::marker::PhantomData;
use std::ops::Range;
use zeroize::Zeroize;

/// A scheme with hints from a second server, apart from what all such schemes share.
pub trait Family: ParamsFamily {
    /// The secret data of a query until its answers come.
    type QueryPlan: Plan<Self>;
    /// The working state of a client besides trees.
    type ExtraState: Send + 'static;

    /// The working state of a client besides trees.
    fn own(params: &Params<Self>) -> Self::ExtraState;
    /// Calls `each` with the sets of some ids, in any order.
    fn sets(
        keyed: &KeyedSets<Self::Word>,
        ids: Range<u32>,
        tools: &mut Workspace<Self>,
        each: impl FnMut(u32, Set<Self::Word>),
    );
    /// Chooses a hint that contains a row, all of them with the same probability, and makes a query
    /// of it. Takes the same time for every row.
    fn make_query(
        params: &Params<Self>,
        hints: &[Hint<Self::Word>],
        row: u64,
        tools: &mut Workspace<Self>,
        rng: &mut dyn CryptoRng,
    ) -> DraftQuery<Self>;
    /// Whether a client can have drawn this fresh set for a query.
    fn is_fresh(
        params: &Params<Self>,
        plan: &Self::QueryPlan,
        fresh: &Set<Self::Word>,
        tools: &mut Workspace<Self>,
    ) -> bool;
    /// The answer to a query on these rows.
    #[cfg(feature = "server")]
    fn answer(params: &Params<Self>, rows: &[u8], query: &Self::Query) -> Answer;

    /// Adds to each parity the rows of its set, for the ids from `first` on.
    #[cfg(feature = "server")]
    fn fill_parities(
        params: &Params<Self>,
        rows: &[u8],
        keyed: &KeyedSets<Self::Word>,
        first: u32,
        tools: &mut Workspace<Self>,
        parities: &mut [u8],
    );

    /// Recovers the row from two answers and the parity of the spent hint, and the parity of the
    /// fresh set. Both outputs are zeros before.
    fn read(
        params: &Params<Self>,
        plan: &Self::QueryPlan,
        answers: TwoServers<&Answer>,
        spent: &[u8],
        row: &mut [u8],
        parity: &mut [u8],
    );
}

/// The data of a query besides its number and the hint that it spent.
pub trait Plan<F>: Copy + Send + Zeroize + BorshSerialize + BorshDeserialize + 'static {
    /// The slot in which a hint was spent and replaced; M for none.
    fn slot(&self) -> u32;
    /// Whether the row is recovered with the spent hint.
    fn spends(&self) -> bool;
    /// Whether a client can have made this plan.
    fn is_possible(&self, params: &Params<F>) -> bool;
}

/// A query and its plan, as a family drafts them.
pub struct DraftQuery<F: Family> {
    /// The messages to the two servers.
    pub queries: TwoServers<F::Query>,
    /// The data of the query until the servers answer.
    pub plan: F::QueryPlan,
    /// The set that replaces the hint, if one is spent.
    pub fresh: Set<F::Word>,
}

/// The working memory of a client: trees, scratch to grow them in, and the scheme's own state.
pub struct Workspace<F: Family> {
    /// The shape of trees.
    pub trees: Trees<F::Word>,
    /// Scratch memory for growing trees.
    pub scratch: TreeScratch<F::Word>,
    /// The working state of the scheme.
    pub own: F::ExtraState,
}

impl<F: Family> Workspace<F> {
    /// The working memory for tables with these parameters.
    pub fn new(params: &Params<F>) -> Self {
        Workspace { trees: params.trees(), scratch: TreeScratch::default(), own: F::own(params) }
    }
}

/// The scheme of a two-server family.
pub struct TwoServerScheme<F>(PhantomData<F>);
