//! The hints of a client: for each id its marks and parities.
//!
//! Ids 0..M are hints from the start. The ids after them are backups, each of which has a second
//! row besides its parity; a query promotes one of them to a hint. Nothing ever moves: a spent hint
//! leaves its place empty.

use super::params::{Params, ParamsFamily};
use super::prf::Prf;
use super::row_order::PartitionPlace;
use crate::codec::StateReader;
use borsh::{BorshDeserialize, BorshSerialize};
use sotto_core::Result;
use std::fmt::Debug;
use std::io::Write;
use std::ops::Range;
use zeroize::{Zeroize, Zeroizing};

/// Mark of a hint that may be chosen.
pub const LIVE: u8 = 1;
/// Mark of a hint that was chosen and whose query has no answer yet.
pub const OWED: u8 = 2;

/// The data of an id besides its parity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Zeroize, BorshSerialize, BorshDeserialize)]
pub struct Hint<S> {
    /// The family's data of the set.
    pub set: S,
    /// The number of the place that the set has besides those of its id; of no meaning without such
    /// an entry.
    pub entry: u32,
    /// Bits: [`LIVE`], [`OWED`], [`HintFamily::KNOWN`], and the marks of the family.
    pub mark: u8,
}

/// The sets and the backups of a family.
pub trait HintFamily: ParamsFamily {
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
    type BackupStock: BackupStock<Self>;
    /// Number of ids that a search goes through: those that are or may have been hints.
    fn searched(hints: &Hints<Self>) -> usize;
}

/// The backups that are left, and the encoding of backups and hints.
pub trait BackupStock<F: HintFamily>: Sized + Send + 'static {
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
    /// The errors of [`StateReader::get`].
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
    /// The errors of [`StateReader::get`].
    fn get_hint(
        &mut self,
        params: &Params<F>,
        id: usize,
        from: &mut StateReader<'_>,
    ) -> Result<Option<Hint<F::Set>>>;
    /// Whether the parity and the second row of an id are written.
    fn has(&self, params: &Params<F>, id: usize, hint: &Hint<F::Set>) -> [bool; 2];
}

/// All hints and backups of a client.
pub struct Hints<F: HintFamily> {
    row_bytes: usize,
    first_backup: usize,
    /// Hints by id. The last one stands for "none", is no hint's, and is always empty.
    pub of: Zeroizing<Vec<Hint<F::Set>>>,
    /// For each id the tag of a live hint's own entry; 0 for a hint that is not searched for by a
    /// tag.
    pub tags: Zeroizing<Vec<u16>>,
    /// Parities by id, and one for "none".
    parities: Zeroizing<Vec<u8>>,
    /// Second rows by backup, and one for "none".
    seconds: Zeroizing<Vec<u8>>,
    /// Number of ids that have parities; they are the first ones.
    pub ids_received: usize,
    /// The backups that are left.
    pub backup_stock: F::BackupStock,
}

impl<F: HintFamily> Hints<F> {
    /// Empty hints and backups for all ids and for none, with their parities and the second rows.
    pub fn new(
        params: &Params<F>,
        prf: &Prf<F>,
        of: Zeroizing<Vec<Hint<F::Set>>>,
        [parities, seconds]: [Zeroizing<Vec<u8>>; 2],
        backup_stock: F::BackupStock,
    ) -> Self {
        let tags = Zeroizing::new(of.iter().map(|hint| tag(prf, hint)).collect());
        let (row_bytes, first_backup) = (params.row_bytes(), params.hints());
        let ids_received = of.len().saturating_sub(1);
        Hints { row_bytes, first_backup, of, tags, parities, seconds, ids_received, backup_stock }
    }

    /// The id that stands for no hint.
    #[inline]
    pub fn none(&self) -> u32 {
        // There are at most 2^25 ids.
        (self.of.len() - 1) as u32
    }

    /// The data of an id besides its parity.
    #[inline]
    pub fn hint(&self, id: u32) -> Hint<F::Set> {
        self.of.get(id as usize).copied().unwrap_or_default()
    }

    /// Whether an id has one of these marks.
    #[inline]
    pub fn is(&self, id: u32, marks: u8) -> bool {
        self.hint(id).mark & marks != 0
    }

    /// The number of the first backup.
    pub fn first_backup(&self) -> usize {
        self.first_backup
    }

    fn at(&self, id: u32) -> Range<usize> {
        let at = self.row_bytes * id as usize;
        at..at + self.row_bytes
    }

    fn second_at(&self, id: u32) -> Range<usize> {
        let at = self.row_bytes * self.backup_stock.second((id as usize).saturating_sub(self.first_backup));
        at..at + self.row_bytes
    }

    /// The parity of an id; zeros for none.
    pub fn parity(&self, id: u32) -> &[u8] {
        self.parities.get(self.at(id)).unwrap_or_default()
    }

    /// The parity of an id, writable.
    pub fn parity_mut(&mut self, id: u32) -> &mut [u8] {
        let at = self.at(id);
        self.parities.get_mut(at).unwrap_or_default()
    }

    /// The second row of a backup.
    pub fn second(&self, id: u32) -> &[u8] {
        self.seconds.get(self.second_at(id)).unwrap_or_default()
    }

    /// The second row of a backup, writable.
    pub fn second_mut(&mut self, id: u32) -> &mut [u8] {
        let at = self.second_at(id);
        self.seconds.get_mut(at).unwrap_or_default()
    }

    /// The parity and the second row of a backup, writable.
    pub fn both_mut(&mut self, id: u32) -> [&mut [u8]; 2] {
        let (at, second) = (self.at(id), self.second_at(id));
        let parity = self.parities.get_mut(at).unwrap_or_default();
        [parity, self.seconds.get_mut(second).unwrap_or_default()]
    }

    /// Sets the data of an id, and its tag.
    pub fn begin(&mut self, prf: &Prf<F>, id: u32, hint: Hint<F::Set>) {
        let new = tag(prf, &hint);
        if let (Some(of), Some(tag)) = (self.of.get_mut(id as usize), self.tags.get_mut(id as usize)) {
            (*of, *tag) = (hint, new);
        }
    }

    /// Spends the hint `chosen` and gives the backup `promoted` these marks and the entry `row`, if
    /// `found` is 1. If it is 0, both get no marks. The work is the same in both cases.
    pub fn promote(
        &mut self,
        prf: &Prf<F>,
        found: u8,
        chosen: u32,
        promoted: (u32, u8),
        row: PartitionPlace,
    ) {
        let keep = found.wrapping_neg();
        let (id, mark) = promoted;
        if let (Some(hint), Some(tag)) =
            (self.of.get_mut(chosen as usize), self.tags.get_mut(chosen as usize))
        {
            hint.mark = (hint.mark & !LIVE) | (OWED & keep);
            *tag = 0;
        }
        if let (Some(hint), Some(tag)) = (self.of.get_mut(id as usize), self.tags.get_mut(id as usize)) {
            hint.mark = mark & keep;
            hint.entry = row.number() & u32::from(found).wrapping_neg();
            *tag = prf.tag(row) & u16::from(found).wrapping_neg();
        }
    }

    /// Adds a row to the parity of a promoted hint, which becomes that of its set. A hint that was
    /// spent and forgotten meanwhile stays forgotten.
    pub fn learn(&mut self, promoted: u32, row: &[u8]) {
        if self.make_known(promoted) {
            self.parity_mut(promoted).iter_mut().zip(row).for_each(|(byte, row)| *byte ^= row);
        }
    }

    fn make_known(&mut self, id: u32) -> bool {
        let there = self.is(id, LIVE | OWED);
        if let Some(hint) = self.of.get_mut(id as usize).filter(|_| there) {
            hint.mark |= F::KNOWN;
        }
        there
    }

    /// Wipes the parity of a hint and keeps the hint, so that later choices are as if nothing had
    /// happened.
    pub fn withdraw(&mut self, id: u32) {
        self.parity_mut(id).zeroize();
        if let Some(hint) = self.of.get_mut(id as usize) {
            hint.mark &= !F::KNOWN;
        }
    }

    /// Wipes a hint that was chosen and whose query is completed.
    pub fn forget(&mut self, chosen: u32) {
        self.parity_mut(chosen).zeroize();
        if let Some(hint) = self.of.get_mut(chosen as usize) {
            (hint.entry, hint.mark) = (0, hint.mark & F::STAYS);
        }
    }

    /// Whether a live hint contains a row: the result of a search, for one hint and by definition.
    pub fn contain(&self, prf: &Prf<F>, id: u32, row: PartitionPlace) -> bool {
        let hint = self.hint(id);
        hint.mark & LIVE != 0 && F::contains(prf, id, &hint, row)
    }
}

/// The tag by which a hint's own entry is searched for; 0 for none.
fn tag<F: HintFamily>(prf: &Prf<F>, hint: &Hint<F::Set>) -> u16 {
    if hint.mark & F::TAGGED == F::TAGGED { prf.tag(PartitionPlace::of(hint.entry)) } else { 0 }
}
