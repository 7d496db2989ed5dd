//! What a scheme adds, and the scheme that comes of it.

use super::{
    Answer, Client, DraftQuery, FamilyReport, Hint, KeyedSets, Params, Prepare, Set, TreeNumber, TreeScratch,
    Trees,
};
use borsh::{BorshDeserialize, BorshSerialize};
use sotto_core::{Caps, CryptoRng, Scheme, SchemeId, TwoServers, Wire};
use std::fmt::Debug;
use std::marker::PhantomData;
use std::ops::Range;
use zeroize::Zeroize;

/// A scheme of this kind, but for what all of them share.
pub trait Family: Sized + Copy + Debug + Send + Sync + 'static {
    /// Stable on the wire.
    const ID: SchemeId;
    /// One line for a person: the scheme's name and its paper.
    const TITLE: &'static str;
    /// Numbers of a tree.
    type Word: TreeNumber;
    /// What either server is sent.
    type Query: Wire<Params<Self>> + Send + 'static;
    /// What a client keeps of a query until its answers come.
    type QueryPlan: Plan<Self>;
    /// What a client works with, besides trees.
    type ExtraState: Send + 'static;

    /// Bits of a tree's numbers, in a table of 2^k places.
    fn number_bits(k: u32) -> u32;
    /// Rows of an answer, where trees have so many numbers.
    fn answer_rows(numbers: u64) -> u64;
    /// What parameters cost and promise, as far as it is not the same for all.
    fn promise(params: &Params<Self>) -> FamilyReport;
    /// The row that a number at a position stands for; those past the last are zeros.
    fn row(params: &Params<Self>, position: u32, number: Self::Word) -> u64;

    /// What a client works with.
    fn own(params: &Params<Self>) -> Self::ExtraState;
    /// Gives the sets of some ids to `each`, in any order.
    fn sets(
        keyed: &KeyedSets<Self::Word>,
        ids: Range<u32>,
        tools: &mut Workspace<Self>,
        each: impl FnMut(u32, Set<Self::Word>),
    );
    /// Chooses a hint that has a row, each of them with the same probability, and makes a query of it. Takes the same time for
    /// every row.
    fn ask(
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
    /// What a query asks for, of these rows.
    #[cfg(feature = "server")]
    fn answer(params: &Params<Self>, rows: &[u8], query: &Self::Query) -> Answer;

    /// Adds to each parity the rows of its set, of the ids from `first` on.
    #[cfg(feature = "server")]
    fn supply(
        params: &Params<Self>,
        rows: &[u8],
        keyed: &KeyedSets<Self::Word>,
        first: u32,
        tools: &mut Workspace<Self>,
        parities: &mut [u8],
    );

    /// The row of two answers and the parity of the hint that was spent, and the parity of the fresh set. Both come as zeros.
    fn read(
        params: &Params<Self>,
        plan: &Self::QueryPlan,
        answers: TwoServers<&Answer>,
        spent: &[u8],
        row: &mut [u8],
        parity: &mut [u8],
    );
}

/// What is known of a query besides its number and the hint that it spent.
pub trait Plan<F>: Copy + Send + Zeroize + BorshSerialize + BorshDeserialize + 'static {
    /// The slot where a hint was spent and replaced; M for none.
    fn slot(&self) -> u32;
    /// Whether the row is read with the hint that was spent.
    fn spends(&self) -> bool;
    /// Whether a client can have made it.
    fn is_possible(&self, params: &Params<F>) -> bool;
}

/// What a client works with: trees, the room to grow them in, and what its scheme adds.
pub struct Workspace<F: Family> {
    /// The shape of trees.
    pub trees: Trees<F::Word>,
    /// Room to grow them in.
    pub room: TreeScratch<F::Word>,
    /// What the scheme adds.
    pub own: F::ExtraState,
}

impl<F: Family> Workspace<F> {
    /// For tables with these parameters.
    pub fn new(params: &Params<F>) -> Self {
        Workspace { trees: params.trees(), room: TreeScratch::default(), own: F::own(params) }
    }
}

/// The scheme of a family.
pub struct TwoServerScheme<F>(PhantomData<F>);

impl<F: Family> Scheme for TwoServerScheme<F> {
    const ID: SchemeId = F::ID;
    const TITLE: &'static str = F::TITLE;
    type Params = Params<F>;
    type Fan<T> = TwoServers<T>;
    type Keys = ();
    type Query = F::Query;
    type Answer = Answer;
    type Prepare = Prepare<F>;
    type Client = Client<F>;
    #[cfg(feature = "server")]
    type Server = super::Server<F>;
    const CAPS: Caps<Self> = Caps::NONE.update_image().hint_server();
}
