//! What a scheme adds, and the scheme that comes of it.

use super::client::{AnswerEffect, Client, OpenQuery};
use super::hints::{Hint, Hints};
use super::params::{Literal, Params};
use super::pass::{ParitySums, TablePass};
use super::row_order::{PartitionPlace, RowOrder};
use super::{Answer, Prepare, Prf};
use crate::codec::StateReader;
use crate::delta::PartitionDelta;
use borsh::{BorshDeserialize, BorshSerialize};
use sotto_core::{Caps, CryptoRng, OneServer, Result, Scheme, SchemeId, Wire};
use std::fmt::Debug;
use std::io::Write;
use std::marker::PhantomData;
use zeroize::{Zeroize, Zeroizing};

/// A scheme of this kind, but for what all of them share.
pub trait Family: Sized + Copy + Debug + Send + Sync + 'static {
    /// Stable on the wire.
    const ID: SchemeId;
    /// One line for a person: the scheme's name and its paper.
    const TITLE: &'static str;

    /// What is written into a catalog.
    type Literal: Literal;
    /// The public order of rows.
    type Order: RowOrder + Send + Sync + 'static;
    /// Rows of an answer: one, or two.
    const ANSWER_ROWS: usize;

    /// The number x for offsets in partition 0; that of partition k is k more. Its low 56 bits are zeros, here as below.
    const OFFSET: u64;
    /// The number x for the tags of rows.
    const TAG: u64;
    /// The number x for a client's name.
    const NAME: u64;
    /// What is kept of a set besides its id.
    type Set: Copy
        + Debug
        + Default
        + PartialEq
        + Zeroize
        + BorshSerialize
        + BorshDeserialize
        + Send
        + Sync
        + 'static;
    /// The mark of a hint whose parity is that of its set.
    const KNOWN: u8;
    /// The marks of a hint whose own entry is searched for.
    const TAGGED: u8;
    /// The marks that a hint which is forgotten keeps.
    const STAYS: u8;
    /// Whether a set contains a row, be it by its own entry.
    fn contains(prf: &Prf<Self>, id: u32, hint: &Hint<Self::Set>, row: PartitionPlace) -> bool;
    /// Room to look at candidates.
    type Looks: Default + Send + 'static;
    /// For each of these ids and what is kept of them, 1 if it is a live hint that contains the row and 0 if not, without a
    /// branch.
    fn look(
        prf: &Prf<Self>,
        row: PartitionPlace,
        candidates: (&[u32], &[Hint<Self::Set>]),
        looks: &mut Self::Looks,
        contain: &mut [u32],
    );

    /// Which backups are left.
    type BackupStock: Stock<Self>;
    /// How many ids a search goes through: those that are or may have been hints.
    fn searched(hints: &Hints<Self>) -> usize;

    /// What the pass sums up.
    type Sums: ParitySums<Self>;
    /// Begins the pass of a client.
    ///
    /// # Errors
    /// If there is no memory for it.
    fn pass(params: &Params<Self>, prf: &Prf<Self>) -> Result<TablePass<Self>>;
    /// Hints and backups that came of it.
    ///
    /// # Errors
    /// If there is no memory for them.
    fn harvest(params: &Params<Self>, prf: &Prf<Self>, sums: Self::Sums) -> Result<Hints<Self>>;

    /// What the server is sent.
    type Query: Wire<Params<Self>> + Send + 'static;
    /// What is kept of a query until its answer comes.
    type QueryPlan: Plan;
    /// Room to make requests in.
    type Scratch: Default + Send + 'static;
    /// How many queries can be made.
    fn left(client: &Client<Self>) -> u64;
    /// Chooses a hint that contains the row, each of them with the same probability, and makes a query of it. Takes the same time
    /// for every row, and changes nothing but what was passed over.
    ///
    /// # Errors
    /// [`sotto_core::Error::Exhausted`] without a backup; [`sotto_core::Error::Peer`] for a state that was damaged.
    fn ask(
        client: &mut Client<Self>,
        row: PartitionPlace,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Self::Query, Self::QueryPlan)>;
    /// The plan of the next query again, out of what was written down; the hint it spends contains the row, if it spends one.
    ///
    /// # Errors
    /// Why there is none.
    fn again(
        client: &mut Client<Self>,
        chosen: u32,
        row: PartitionPlace,
        more: <Self::QueryPlan as Plan>::More,
    ) -> Result<Self::QueryPlan, &'static str>;
    /// Spends the hint of a query and makes a backup a hint.
    fn promote(hints: &mut Hints<Self>, prf: &Prf<Self>, plan: &Self::QueryPlan, row: PartitionPlace);
    /// Which offsets a query asks for, and of which half each partition is (a bit for each).
    #[cfg(feature = "server")]
    fn picks(params: &Params<Self>, query: Self::Query) -> (Vec<u16>, Vec<u8>);
    /// The row of an answer, and whether it can be known.
    fn read(client: &Client<Self>, plan: &Self::QueryPlan, answer: &Answer) -> (Zeroizing<Vec<u8>>, bool);

    /// What a client keeps besides hints.
    type FamilyState: FamilyState<Self>;
    /// What is written where no answer came yet.
    const NOTHING: AnswerEffect<FamilyStateChange<Self>>;
    /// Keeps what an answer says besides to the hint that was promoted.
    fn keep(
        client: &mut Client<Self>,
        asked: &OpenQuery<Self::QueryPlan>,
        row: Option<&[u8]>,
    ) -> FamilyStateChange<Self>;
    /// What an answer taught, for the journal, and whether that is known.
    fn learnt(client: &Client<Self>, number: u64, promoted: u32) -> (bool, &[u8]);
    /// Learns it again.
    fn learn_again(client: &mut Client<Self>, asked: &OpenQuery<Self::QueryPlan>, known: Option<&[u8]>);

    /// Adds the changes of these ids' rows in partition k to the parities that have them.
    fn follow(hints: &mut Hints<Self>, prf: &Prf<Self>, k: u64, touched: &[(u32, &[u8])]);
    /// Adds the changes of partition k to what has a row that its id does not say.
    fn follow_own(client: &mut Client<Self>, k: u64, changes: &PartitionDelta<'_>);

    /// Whether an answer can have taught this.
    fn can_have_learnt(
        client: &Client<Self>,
        number: u64,
        learnt: &AnswerEffect<FamilyStateChange<Self>>,
    ) -> bool;
    /// Whether a client can wait for the answer to this.
    fn can_wait(client: &Client<Self>, asked: &OpenQuery<Self::QueryPlan>) -> bool;

    /// Writes a block of ids that was supplied, where hints are ordered.
    fn put_supply(_: &Client<Self>, _block: u64, _: &mut Vec<u8>) {}
    /// Bytes of it.
    fn supply_bytes(_: &Client<Self>) -> usize {
        0
    }
    /// Takes it in again.
    ///
    /// # Errors
    /// [`sotto_core::Error::Peer`] if that cannot be.
    fn replay_supply(_: &mut Client<Self>, _block: u64, from: &mut StateReader<'_>) -> Result<()> {
        Err(from.malformed("a record of an unknown kind"))
    }
}

/// Which backups are left, and how that and all hints are written.
pub trait Stock<F: Family>: Sized + Send + 'static {
    /// What a state has after the number of the next query.
    type StockCounts: Copy + BorshSerialize + BorshDeserialize;
    /// That.
    fn counted(&self) -> Self::StockCounts;
    /// Where the second row of a backup is kept. The number after the last backup's is that of none.
    fn second(&self, backup: usize) -> usize;
    /// For how many backups there is room for a second row.
    fn seconds(&self, params: &Params<F>) -> usize;
    /// Writes what there is to say of backups before all ids.
    ///
    /// # Errors
    /// What `out` gives.
    fn put(&self, out: &mut dyn Write) -> Result<()>;
    /// Reads it, where so many queries were made.
    ///
    /// # Errors
    /// As [`StateReader::get`].
    fn get(
        params: &Params<F>,
        next: u64,
        counted: Self::StockCounts,
        from: &mut StateReader<'_>,
    ) -> Result<Self>;
    /// Writes an id without its rows.
    ///
    /// # Errors
    /// What `out` gives.
    fn put_hint(&self, params: &Params<F>, id: usize, hint: &Hint<F::Set>, out: &mut dyn Write)
    -> Result<()>;
    /// Reads it; none if it cannot be.
    ///
    /// # Errors
    /// As [`StateReader::get`].
    fn get_hint(
        &mut self,
        params: &Params<F>,
        id: usize,
        from: &mut StateReader<'_>,
    ) -> Result<Option<Hint<F::Set>>>;
    /// Whether the parity and the second row of an id are written.
    fn has(&self, params: &Params<F>, id: usize, hint: &Hint<F::Set>) -> [bool; 2];
}

/// What a client keeps besides hints: nothing, or the rows that it read.
pub trait FamilyState<F: Family>: Sized + Send + 'static {
    /// Whether that is rows: what a rejected answer taught is then put into words before it is taken back.
    const ROWS: bool;
    /// Which of it an answer changed.
    type StateChange: Copy + Debug + PartialEq + BorshSerialize + BorshDeserialize + Send + 'static;
    /// What a client keeps that has asked nothing.
    ///
    /// # Errors
    /// If there is no memory for it.
    fn new(params: &Params<F>) -> Result<Self>;
    /// Forgets what an answer changed.
    fn unlearn(&mut self, kept: Self::StateChange);
    /// Writes it, after so many queries.
    ///
    /// # Errors
    /// What `out` gives.
    fn save(&self, next: u64, out: &mut dyn Write) -> Result<()>;
    /// Reads it.
    ///
    /// # Errors
    /// As [`StateReader::get`].
    fn load(params: &Params<F>, next: u64, from: &mut StateReader<'_>) -> Result<Self>;
}

/// What of a family's [`FamilyState`] an answer changes.
pub type FamilyStateChange<F> = <<F as Family>::FamilyState as FamilyState<F>>::StateChange;

impl<F: Family> FamilyState<F> for () {
    const ROWS: bool = false;
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

/// What is known of a query besides its number.
pub trait Plan:
    Copy + Debug + PartialEq + Send + Zeroize + BorshSerialize + BorshDeserialize + 'static
{
    /// What is written down of it besides the hint and the row, since it cannot be derived.
    type More: BorshSerialize + BorshDeserialize;
    /// The hint that is spent and the backup that takes its place; none if there is none.
    fn ids(&mut self) -> [&mut u32; 2];
    /// What else is written down.
    fn more(&self) -> Self::More;
}

/// The scheme of a family.
pub struct OneServerScheme<F>(PhantomData<F>);

impl<F: Family> Scheme for OneServerScheme<F> {
    const ID: SchemeId = F::ID;
    const TITLE: &'static str = F::TITLE;
    type Params = Params<F>;
    type Fan<T> = OneServer<T>;
    type Keys = ();
    type Query = F::Query;
    type Answer = Answer;
    type Prepare = Prepare<F>;
    type Client = Client<F>;
    #[cfg(feature = "server")]
    type Server = super::Server<F>;
    const CAPS: Caps<Self> = Caps::NONE.update_image().parts().state();
}
