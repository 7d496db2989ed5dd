//! What a client keeps of its hints: for each id its standing and parities.
//!
//! Ids 0..M are hints from the start. Those that follow are backups, each of which has a second row besides its parity; a query
//! makes one of them a hint. Nothing ever moves: a hint that is spent leaves its place empty.

use super::family::Stock;
use super::row_order::PartitionPlace;
use super::{Family, Params, Prf};
use borsh::{BorshDeserialize, BorshSerialize};
use std::ops::Range;
use zeroize::{Zeroize, Zeroizing};

/// The hint may be chosen.
pub const LIVE: u8 = 1;
/// It was chosen, and the answer to its query has not come yet.
pub const OWED: u8 = 2;

/// What is known of an id, besides its parity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Zeroize, BorshSerialize, BorshDeserialize)]
pub struct Hint<S> {
    /// What the family keeps of its set.
    pub set: S,
    /// The entry that it has besides those of its id: the number of a place. Nothing for what has none.
    pub entry: u32,
    /// [`LIVE`], [`OWED`], [`Family::KNOWN`], and what the family adds.
    pub mark: u8,
}

/// All hints and backups of a client.
pub struct Hints<F: Family> {
    row_bytes: usize,
    first_backup: usize,
    /// By id, and one more that stands for "none": it is no hint's, and always empty.
    pub of: Zeroizing<Vec<Hint<F::Set>>>,
    /// By id, the tag of a live hint's own entry, 0 for what is not searched for by one.
    pub tags: Zeroizing<Vec<u16>>,
    /// By id, and one that is nobody's.
    parities: Zeroizing<Vec<u8>>,
    /// By the place of a backup, and one that is nobody's.
    seconds: Zeroizing<Vec<u8>>,
    /// How many ids there are parities of, the first so many.
    pub stocked: usize,
    /// Which backups are left.
    pub stock: F::BackupStock,
}

impl<F: Family> Hints<F> {
    /// Hints and backups of all ids and of none, their parities, and the second rows of backups and of none.
    pub fn new(
        params: &Params<F>,
        prf: &Prf<F>,
        of: Zeroizing<Vec<Hint<F::Set>>>,
        [parities, seconds]: [Zeroizing<Vec<u8>>; 2],
        stock: F::BackupStock,
    ) -> Self {
        let tags = Zeroizing::new(of.iter().map(|hint| tag(prf, hint)).collect());
        let (row_bytes, first_backup) = (params.row_bytes(), params.hints());
        let stocked = of.len().saturating_sub(1);
        Hints { row_bytes, first_backup, of, tags, parities, seconds, stocked, stock }
    }

    /// The id that stands for no hint.
    #[inline]
    pub fn none(&self) -> u32 {
        // There are at most 2^25 ids.
        (self.of.len() - 1) as u32
    }

    /// What is known of an id.
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
        let at = self.row_bytes * self.stock.second((id as usize).saturating_sub(self.first_backup));
        at..at + self.row_bytes
    }

    /// The parity of an id; zeros for none.
    pub fn parity(&self, id: u32) -> &[u8] {
        self.parities.get(self.at(id)).unwrap_or_default()
    }

    /// The same, to write.
    pub fn parity_mut(&mut self, id: u32) -> &mut [u8] {
        let at = self.at(id);
        self.parities.get_mut(at).unwrap_or_default()
    }

    /// The second row of a backup.
    pub fn second(&self, id: u32) -> &[u8] {
        self.seconds.get(self.second_at(id)).unwrap_or_default()
    }

    /// The same, to write.
    pub fn second_mut(&mut self, id: u32) -> &mut [u8] {
        let at = self.second_at(id);
        self.seconds.get_mut(at).unwrap_or_default()
    }

    /// Both rows of a backup, to write.
    pub fn both_mut(&mut self, id: u32) -> [&mut [u8]; 2] {
        let (at, second) = (self.at(id), self.second_at(id));
        let parity = self.parities.get_mut(at).unwrap_or_default();
        [parity, self.seconds.get_mut(second).unwrap_or_default()]
    }

    /// Makes an id what it is from now on.
    pub fn begin(&mut self, prf: &Prf<F>, id: u32, hint: Hint<F::Set>) {
        let new = tag(prf, &hint);
        if let (Some(of), Some(tag)) = (self.of.get_mut(id as usize), self.tags.get_mut(id as usize)) {
            (*of, *tag) = (hint, new);
        }
    }

    /// Spends the hint `chosen`, if `found` is 1, and gives the backup `promoted` these marks and the entry `row`; if it is 0,
    /// the marks of both are nothing. Does the same work in either case.
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

    /// Adds a row to a promoted hint's parity, which is that of its set from now on. A hint that was spent and forgotten
    /// meanwhile stays so.
    pub fn learn(&mut self, promoted: u32, row: &[u8]) {
        if self.make_known(promoted) {
            self.parity_mut(promoted).iter_mut().zip(row).for_each(|(byte, row)| *byte ^= row);
        }
    }

    /// Gives a promoted hint the parity of its set, unless it was spent and forgotten meanwhile.
    pub fn set_parity(&mut self, promoted: u32, parity: &[u8]) {
        if self.make_known(promoted) {
            self.parity_mut(promoted).iter_mut().zip(parity).for_each(|(byte, parity)| *byte = *parity);
        }
    }

    fn make_known(&mut self, id: u32) -> bool {
        let there = self.is(id, LIVE | OWED);
        if let Some(hint) = self.of.get_mut(id as usize).filter(|_| there) {
            hint.mark |= F::KNOWN;
        }
        there
    }

    /// Forgets the parity of a hint, but not the hint: it will be chosen as if nothing had happened.
    pub fn withdraw(&mut self, id: u32) {
        self.parity_mut(id).zeroize();
        if let Some(hint) = self.of.get_mut(id as usize) {
            hint.mark &= !F::KNOWN;
        }
    }

    /// Wipes a hint that was chosen and is not owed any more.
    pub fn forget(&mut self, chosen: u32) {
        self.parity_mut(chosen).zeroize();
        if let Some(hint) = self.of.get_mut(chosen as usize) {
            (hint.entry, hint.mark) = (0, hint.mark & F::STAYS);
        }
    }

    /// Whether a live hint contains a row: what a search finds, for one hint and by definition.
    pub fn contain(&self, prf: &Prf<F>, id: u32, row: PartitionPlace) -> bool {
        let hint = self.hint(id);
        hint.mark & LIVE != 0 && F::contains(prf, id, &hint, row)
    }
}

/// What a hint's own entry is searched for by; 0 for nothing.
fn tag<F: Family>(prf: &Prf<F>, hint: &Hint<F::Set>) -> u16 {
    if hint.mark & F::TAGGED == F::TAGGED { prf.tag(PartitionPlace::of(hint.entry)) } else { 0 }
}
