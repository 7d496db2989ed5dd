//! The trait that a scheme with one server implements, and the scheme built from it.

use super::client::{AnswerEffect, Client, OpenQuery};
use super::hints::{Hint, Hints};
use super::params::{Literal, Params};
use super::pass::{ParitySums, TablePass};
use super::row_order::{PartitionPlace, RowOrder};
use super::{Answer, Prepare, Prf};
use crate::codec::StateReader;
use crate::delta::PartitionDelta;
use borsh::{BorshDeserialize, BorshSerialize};
use sotto_core::{Caps, CryptoRng, OneServer, Result, Scheme, SchemeId, SchemeMetadata, Wire};
use std::fmt::Debug;
use std::io::Write;
use std::marker::PhantomData;
use zeroize::{Zeroize, Zeroizing};

/// A scheme with hints from the streamed table, apart from what all such schemes share.
pub trait Family: Sized + Copy + Debug + Send + Sync + 'static {
    /// The scheme id, which is stable on the wire.
    const ID: SchemeId;
    /// Publication, protection and state of the scheme.
    const METADATA: SchemeMetadata;

    /// The parameters as a catalog states them.
    type Literal: Literal;
    /// The public order of rows.
    type Order: RowOrder + Send + Sync + 'static;
    /// Rows of an answer: one or two.
    const ANSWER_ROWS: usize;

    /// The PRF input x of offsets in partition 0; partition k uses this plus k. The low 56 bits of
    /// all such inputs are zeros.
    const OFFSET: u64;
    /// The PRF input x of the tags of rows in partition 0.
    const TAG: u64;
    /// The PRF input x of a client's name.
    const NAME: u64;
    /// The data of a set besides its id.
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
    /// The marks of a hint that is found by its own entry.
    const TAGGED: u8;
    /// The marks that a hint keeps when it is forgotten.
    const STAYS: u8;
    /// Whether a set contains a row, by its id or by its own entry.
    fn contains(prf: &Prf<Self>, id: u32, hint: &Hint<Self::Set>, row: PartitionPlace) -> bool;
    /// Scratch memory of the check of candidates.
    type Looks: Default + Send + 'static;
    /// For each of these ids and their hints, 1 if it is a live hint that contains the row and 0 if
    /// not, without a branch.
    fn look(
        prf: &Prf<Self>,
        row: PartitionPlace,
        candidates: (&[u32], &[Hint<Self::Set>]),
        looks: &mut Self::Looks,
        contain: &mut [u32],
    );

    /// The backups that are left.
    type BackupStock: Stock<Self>;
    /// Number of ids that a search goes through: those that are or may have been hints.
    fn searched(hints: &Hints<Self>) -> usize;

    /// The sums that the pass computes.
    type Sums: ParitySums<Self>;
    /// Begins a client's pass over the table.
    ///
    /// # Errors
    /// [`sotto_core::Error::Storage`] if the memory is not available.
    fn pass(params: &Params<Self>, prf: &Prf<Self>) -> Result<TablePass<Self>>;
    /// Turns the sums of a finished pass into hints and backups.
    ///
    /// # Errors
    /// [`sotto_core::Error::Storage`] if the memory is not available.
    fn harvest(params: &Params<Self>, prf: &Prf<Self>, sums: Self::Sums) -> Result<Hints<Self>>;

    /// The query that the server receives.
    type Query: Wire<Params<Self>> + Send + 'static;
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
    /// [`sotto_core::Error::Exhausted`] without a backup; [`sotto_core::Error::Peer`] for a state that was damaged.
    fn ask(
        client: &mut Client<Self>,
        row: PartitionPlace,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Self::Query, Self::QueryPlan)>;
    /// Rebuilds the plan of the next query from its journal record; the hint that it spends, if
    /// any, contains the row.
    ///
    /// # Errors
    /// The reason why the record is impossible.
    fn again(
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
        asked: &OpenQuery<Self::QueryPlan>,
        row: Option<&[u8]>,
    ) -> FamilyStateChange<Self>;
    /// The bytes that an answer revealed, for the journal, and whether they are known.
    fn learnt(client: &Client<Self>, number: u64, promoted: u32) -> (bool, &[u8]);
    /// Replays the effect of an answer from the journal.
    fn learn_again(client: &mut Client<Self>, asked: &OpenQuery<Self::QueryPlan>, known: Option<&[u8]>);

    /// Adds the changes of these ids' rows in partition k to the parities that contain them.
    fn follow(hints: &mut Hints<Self>, prf: &Prf<Self>, k: u64, touched: &[(u32, &[u8])]);
    /// Adds the changes of partition k to everything that contains a row for another reason than
    /// its id.
    fn follow_own(client: &mut Client<Self>, k: u64, changes: &PartitionDelta<'_>);

    /// Whether an answer can have had this effect.
    fn can_have_learnt(
        client: &Client<Self>,
        number: u64,
        learnt: &AnswerEffect<FamilyStateChange<Self>>,
    ) -> bool;
    /// Whether a client can wait for the answer to this query.
    fn can_wait(client: &Client<Self>, asked: &OpenQuery<Self::QueryPlan>) -> bool;

    /// Writes a block of ids from a hint response, for schemes with hint requests.
    fn put_supply(_: &Client<Self>, _block: u64, _: &mut Vec<u8>) {}
    /// Bytes of a block of ids from a hint response.
    fn supply_bytes(_: &Client<Self>) -> usize {
        0
    }
    /// Replays a hint response from the journal.
    ///
    /// # Errors
    /// [`sotto_core::Error::Peer`] if the record is impossible.
    fn replay_supply(_: &mut Client<Self>, _block: u64, from: &mut StateReader<'_>) -> Result<()> {
        Err(from.malformed("a record of an unknown kind"))
    }
}

/// The backups that are left, and the encoding of backups and hints.
pub trait Stock<F: Family>: Sized + Send + 'static {
    /// The counts that a state has after the number of the next query.
    type StockCounts: Copy + BorshSerialize + BorshDeserialize;
    /// The counts to write into a state.
    fn counted(&self) -> Self::StockCounts;
    /// The index at which the second row of a backup is stored; one past the last backup for none.
    fn second(&self, backup: usize) -> usize;
    /// Number of backups for which a second row is stored.
    fn seconds(&self, params: &Params<F>) -> usize;
    /// Writes the data of backups that precedes all ids.
    ///
    /// # Errors
    /// Errors of `out`.
    fn put(&self, out: &mut dyn Write) -> Result<()>;
    /// Reads the backups of a client that has made a given number of queries.
    ///
    /// # Errors
    /// Those of [`StateReader::get`].
    fn get(
        params: &Params<F>,
        next: u64,
        counted: Self::StockCounts,
        from: &mut StateReader<'_>,
    ) -> Result<Self>;
    /// Writes an id without its rows.
    ///
    /// # Errors
    /// Errors of `out`.
    fn put_hint(&self, params: &Params<F>, id: usize, hint: &Hint<F::Set>, out: &mut dyn Write)
    -> Result<()>;
    /// Reads an id without its rows; none if it is impossible.
    ///
    /// # Errors
    /// Those of [`StateReader::get`].
    fn get_hint(
        &mut self,
        params: &Params<F>,
        id: usize,
        from: &mut StateReader<'_>,
    ) -> Result<Option<Hint<F::Set>>>;
    /// Whether the parity and the second row of an id are written.
    fn has(&self, params: &Params<F>, id: usize, hint: &Hint<F::Set>) -> [bool; 2];
}

/// The state of a client besides hints: nothing, or the rows that it read.
pub trait FamilyState<F: Family>: Sized + Send + 'static {
    /// Whether the state consists of rows. If so, the effect of a rejected answer is encoded before
    /// it is reverted.
    const ROWS: bool;
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
    /// Those of [`StateReader::get`].
    fn load(params: &Params<F>, next: u64, from: &mut StateReader<'_>) -> Result<Self>;
}

/// The change that an answer makes to a family's [`FamilyState`] state.
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

impl<F: Family> Scheme for OneServerScheme<F> {
    const ID: SchemeId = F::ID;
    const METADATA: SchemeMetadata = F::METADATA;
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
