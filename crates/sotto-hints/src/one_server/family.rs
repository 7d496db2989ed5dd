//! The trait that a scheme with one server implements, and the client that its functions work on.

use super::hints::Hints;
use super::params::Params;
use super::pass::PassFamily;
use super::prf::Prf;
use super::query::HintSearch;
use super::row_order::PartitionPlace;
use crate::codec::StateReader;
use crate::delta::PartitionDelta;
use crate::journal::Journal;
use crate::message::Answer;
use borsh::{BorshDeserialize, BorshSerialize};
use sotto_core::{CryptoRng, Result};
use std::collections::VecDeque;
use std::fmt::Debug;
use std::io::Write;
use std::marker::PhantomData;
use zeroize::{Zeroize, Zeroizing};

/// A scheme with hints from the streamed table, apart from what all such schemes share.
pub trait Family: PassFamily {
    /// The secret data of a query until its answer comes.
    type QueryPlan: Plan;
    /// Scratch memory of requests.
    type Scratch: Default + Send + 'static;
    /// Number of queries that the client can still make.
    fn left(client: &Client<Self>) -> u64;
    /// Chooses a hint that contains the row, all of them with the same probability, and makes a
    /// query of it. Takes the same time for every row, and changes nothing but the backups that it
    /// skips.
    ///
    /// # Errors
    /// [`sotto_core::Error::Exhausted`] without a backup; [`sotto_core::Error::Peer`] for a damaged
    /// state.
    fn make_query(
        client: &mut Client<Self>,
        row: PartitionPlace,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Self::Query, Self::QueryPlan)>;
    /// Makes the plan of the next query again, without the query and without a search: its record
    /// says which hint it spends, if any. That hint contains the row.
    ///
    /// # Errors
    /// The reason why the record is impossible.
    fn replay_query(
        client: &mut Client<Self>,
        chosen: u32,
        row: PartitionPlace,
        more: <Self::QueryPlan as Plan>::More,
    ) -> Result<Self::QueryPlan, &'static str>;
    /// Spends the hint of a query and promotes a backup to a hint.
    fn promote(hints: &mut Hints<Self>, prf: &Prf<Self>, plan: &Self::QueryPlan, row: PartitionPlace);
    /// The offsets of a query, and the half that each partition belongs to (one bit each).
    #[cfg(feature = "server")]
    fn picks(params: &Params<Self>, query: Self::Query) -> (Vec<u16>, Vec<u8>);
    /// The row of an answer, and whether it can be known.
    fn read(client: &Client<Self>, plan: &Self::QueryPlan, answer: &Answer) -> (Zeroizing<Vec<u8>>, bool);

    /// The state of a client besides hints.
    type FamilyState: FamilyState<Self>;
    /// The effect that is written if no answer has come yet.
    const NOTHING: AnswerEffect<FamilyStateChange<Self>>;
    /// Stores the remaining data of an answer with the promoted hint.
    fn keep(
        client: &mut Client<Self>,
        open_queries: &OpenQuery<Self::QueryPlan>,
        row: Option<&[u8]>,
    ) -> FamilyStateChange<Self>;

    /// Adds the changes of these ids' rows in partition k to the parities that contain them.
    fn follow(hints: &mut Hints<Self>, prf: &Prf<Self>, k: u64, touched: &[(u32, &[u8])]);
    /// Adds the changes of partition k to everything that contains a row for another reason than
    /// its id.
    fn follow_own(client: &mut Client<Self>, k: u64, changes: &PartitionDelta<'_>);

    /// Whether an answer can have had this effect.
    fn effect_is_possible(
        client: &Client<Self>,
        number: u64,
        effect: &AnswerEffect<FamilyStateChange<Self>>,
    ) -> bool;
    /// Whether a client can wait for the answer to this query.
    fn query_is_possible(client: &Client<Self>, open: &OpenQuery<Self::QueryPlan>) -> bool;
}

/// The state of a client besides hints: nothing, or the rows that it read.
pub trait FamilyState<F: Family>: Sized + Send + 'static {
    /// The change that an answer makes to the state.
    type StateChange: Copy + Debug + PartialEq + BorshSerialize + BorshDeserialize + Send + 'static;
    /// The state of a client that has made no query.
    ///
    /// # Errors
    /// [`sotto_core::Error::Storage`] if the memory is not available.
    fn new(params: &Params<F>) -> Result<Self>;
    /// Reverts the change of an answer.
    fn unlearn(&mut self, kept: Self::StateChange);
    /// Writes the state of a client whose next query is `next`.
    ///
    /// # Errors
    /// Errors of `out`.
    fn save(&self, next: u64, out: &mut dyn Write) -> Result<()>;
    /// Reads the state of a client whose next query is `next`.
    ///
    /// # Errors
    /// The errors of [`StateReader::get`].
    fn load(params: &Params<F>, next: u64, from: &mut StateReader<'_>) -> Result<Self>;
}

/// The change that an answer makes to a family's [`FamilyState`] state.
pub type FamilyStateChange<F> = <<F as Family>::FamilyState as FamilyState<F>>::StateChange;

impl<F: Family> FamilyState<F> for () {
    type StateChange = ();
    fn new(_: &Params<F>) -> Result<()> {
        Ok(())
    }
    fn unlearn(&mut self, (): ()) {}
    fn save(&self, _: u64, _: &mut dyn Write) -> Result<()> {
        Ok(())
    }
    fn load(_: &Params<F>, _: u64, _: &mut StateReader<'_>) -> Result<()> {
        Ok(())
    }
}

/// The data of a query besides its number.
pub trait Plan:
    Copy + Debug + PartialEq + Send + Zeroize + BorshSerialize + BorshDeserialize + 'static
{
    /// The data that is written besides the hint and the row, since it cannot be derived.
    type More: BorshSerialize + BorshDeserialize;
    /// The spent hint and the backup that replaces it; the id of none where there is none.
    fn ids(&mut self) -> [&mut u32; 2];
    /// The data to write besides the hint and the row.
    fn more(&self) -> Self::More;
}

/// The scheme of a one-server family.
pub struct OneServerScheme<F>(PhantomData<F>);

/// A client with hints.
pub struct Client<F: Family> {
    /// Parameters of the table.
    pub params: Params<F>,
    /// The key that all sets are derived from.
    pub key: Zeroizing<[u8; 16]>,
    /// The pseudo-random function under the client's key.
    pub prf: Prf<F>,
    pub(super) order: F::Order,
    /// The client's hints and backups.
    pub hints: Hints<F>,
    /// The family's state besides hints.
    pub own: F::FamilyState,
    /// The number of the next query.
    pub next: u64,
    /// Queries whose answers have not come, by ascending number.
    pub open_queries: VecDeque<OpenQuery<F::QueryPlan>>,
    /// The number of the query that was recovered last, and the effect of its answer.
    pub last: Option<(u64, AnswerEffect<FamilyStateChange<F>>)>,
    /// What was done since the journal was taken.
    pub(super) journal: Journal,
    /// A number that distinguishes this client's queries from those of other clients.
    pub(super) name: u64,
    /// Scratch memory of the search for a hint.
    pub search: HintSearch<F>,
    /// Scratch memory of requests.
    pub scratch: F::Scratch,
}

/// A query whose answer has not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Zeroize, BorshSerialize, BorshDeserialize)]
pub struct OpenQuery<P> {
    /// The number of the query.
    pub number: u64,
    /// The spent hint, its replacement, and whatever else is needed to read the answer.
    pub plan: P,
}

/// The effect of an answer on a client's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct AnswerEffect<K> {
    /// The hint that learned the row; the id of none if there is none.
    pub promoted: u32,
    /// The change of the family's state.
    pub kept: K,
}
