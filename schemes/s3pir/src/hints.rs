//! What a client keeps of its hints: for each id its cut, extra entry and standing, and the parities.
//!
//! Ids 0..M are hints from the start. Ids M..M+P are backup pairs, each with the parities of both halves; a query makes the
//! next of them a hint. Nothing ever moves: a hint that is spent leaves its place empty.
//!
//! A client that streams the table has all ids from the start. One that orders them ([`stock`](crate::two)) has those of
//! the blocks that were supplied, the first so many, and room for the other halves of two blocks of pairs.

use crate::params::Params;
use crate::prf::{Place, Prf, VOID};
use borsh::{BorshDeserialize, BorshSerialize};
use zeroize::{Zeroize, Zeroizing};

/// The hint may be chosen.
pub(crate) const LIVE: u8 = 1;
/// It was chosen, and the answer to its query has not come yet.
pub(crate) const OWED: u8 = 2;
/// Its partitions are those outside the half.
pub(crate) const OUTSIDE: u8 = 4;
/// Its parity is that of its set. While it is not, a promoted hint has that of its half alone.
pub(crate) const KNOWN: u8 = 8;

/// What is known of an id, besides its parity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Zeroize, BorshSerialize, BorshDeserialize)]
pub(crate) struct Hint {
    /// The rank below which partitions are in the half; [`VOID`] if the id is never used.
    pub(crate) cut: u32,
    /// Partition and offset of the extra entry. Of no meaning for a pair.
    pub(crate) extra: u32,
    /// [`LIVE`], [`OWED`], [`OUTSIDE`], [`KNOWN`]; nothing of it for a pair.
    pub(crate) mark: u8,
}

/// All hints and pairs of a client.
pub(crate) struct Hints {
    row_bytes: usize,
    first_pair: usize,
    /// By id, and one more that stands for "none": it is no hint's, and always empty.
    pub(crate) of: Zeroizing<Vec<Hint>>,
    /// By id, the tag of a live hint's extra entry, 0 for what is not live.
    pub(crate) tags: Zeroizing<Vec<u16>>,
    /// Parities by id, of pairs those of their halves; and after them those of the other halves, of each pair in turn and
    /// from the beginning again where there is room for no more.
    parities: Zeroizing<Vec<u8>>,
    /// Of how many pairs there is room for the other half.
    pub(crate) room: usize,
    /// How many ids there are parities of.
    pub(crate) stocked: usize,
    /// How many ids are supplied together; 0 if all came at once.
    pub(crate) block: usize,
    /// The next pair to promote, counted from 0.
    pub(crate) next: usize,
    /// How many pairs are left that are not void.
    pub(crate) left: u64,
}

/// The one number that a place is kept as.
pub(crate) fn number(place: Place) -> u32 {
    u32::from(place.partition) << 16 | u32::from(place.offset)
}

/// The place again.
pub(crate) fn place(number: u32) -> Place {
    Place { partition: (number >> 16) as u16, offset: number as u16 }
}

impl Hints {
    /// Hints and pairs with these parities, of ids with these cuts and extra entries; `next` pairs are promoted or void.
    pub(crate) fn new(
        params: &Params,
        prf: &Prf,
        mut of: Zeroizing<Vec<Hint>>,
        parities: Zeroizing<Vec<u8>>,
        next: usize,
    ) -> Self {
        let first_pair = params.hints();
        of.truncate(params.ids());
        let tag = |hint: &Hint| if hint.mark & LIVE == 0 { 0 } else { prf.tag(place(hint.extra)) };
        let mut tags: Vec<u16> = of.iter().map(tag).collect();
        let left = of.iter().skip(first_pair + next).filter(|pair| pair.cut != VOID).count() as u64;
        let mut of = Zeroizing::new(std::mem::take(&mut *of));
        of.push(Hint::default());
        tags.push(0);
        Hints {
            row_bytes: params.row_bytes(),
            first_pair,
            of,
            tags: Zeroizing::new(tags),
            parities,
            room: params.pairs(),
            stocked: params.ids(),
            block: 0,
            next,
            left,
        }
    }

    /// Says that only the first `stocked` ids came, in blocks of `block` hints or half as many pairs, of which there is
    /// room for so many.
    pub(crate) fn in_blocks(&mut self, block: usize, room: usize, stocked: usize) {
        (self.room, self.stocked, self.block) = (room, stocked, block);
    }

    /// The id that stands for no hint.
    pub(crate) fn none(&self) -> u32 {
        // There are at most 2^25 ids.
        (self.of.len() - 1) as u32
    }

    /// How many ids are or were hints: what a search goes through.
    pub(crate) fn used(&self) -> usize {
        self.first_pair + self.next
    }

    /// Makes an id that was just supplied what it is.
    pub(crate) fn begin(&mut self, prf: &Prf, id: u32, hint: Hint) {
        let new = if hint.mark & LIVE == 0 { 0 } else { prf.tag(place(hint.extra)) };
        if let (Some(of), Some(tag)) = (self.of.get_mut(id as usize), self.tags.get_mut(id as usize)) {
            (*of, *tag) = (hint, new);
        }
    }

    /// Passes over void pairs, and says which id is promoted next.
    pub(crate) fn next_pair(&mut self) -> Option<u32> {
        let rest = self.of.get(self.used()..self.stocked)?;
        self.next += rest.iter().take_while(|pair| pair.cut == VOID).count();
        (self.used() < self.stocked).then_some(self.used() as u32)
    }

    /// Where the other half of a pair begins.
    fn other(&self, id: u32) -> usize {
        let pair = (id as usize).saturating_sub(self.first_pair);
        self.row_bytes * (self.of.len() - 1 + pair % self.room.max(1))
    }

    /// The parity of an id that is a hint, or was one. The id of none has an empty one.
    pub(crate) fn parity(&self, id: u32) -> &[u8] {
        let at = self.row_bytes * id as usize;
        self.parities.get(at..at + self.row_bytes).unwrap_or_default()
    }

    /// The same, to write.
    pub(crate) fn parity_mut(&mut self, id: u32) -> &mut [u8] {
        let at = self.row_bytes * id as usize;
        self.parities.get_mut(at..at + self.row_bytes).unwrap_or_default()
    }

    /// The parities of a pair's half and of its other half, to write.
    pub(crate) fn pair_mut(&mut self, id: u32) -> [&mut [u8]; 2] {
        let (half, other) = (self.row_bytes * id as usize, self.other(id));
        let (halves, others) = self.parities.split_at_mut_checked(other).unwrap_or_default();
        let parity = halves.get_mut(half..half + self.row_bytes);
        [parity.unwrap_or_default(), others.get_mut(..self.row_bytes).unwrap_or_default()]
    }

    /// Spends the hint `chosen`, and promotes the next pair, `id`, to a hint with the extra entry `row`: of its halves
    /// the one without the row's partition. If `chosen` is none, the pair is spent as well.
    ///
    /// Does the same work in both cases, and whichever half it is.
    pub(crate) fn promote(&mut self, prf: &Prf, chosen: u32, id: u32, row: Place) {
        let found = u8::from(chosen != self.none());
        if let (Some(hint), Some(tag)) =
            (self.of.get_mut(chosen as usize), self.tags.get_mut(chosen as usize))
        {
            hint.mark = (hint.mark & !LIVE) | (OWED * found);
            *tag = 0;
        }
        let rank = prf.rank(id, row.partition);
        let mut outside = 0;
        if let (Some(hint), Some(tag)) = (self.of.get_mut(id as usize), self.tags.get_mut(id as usize)) {
            outside = u8::from(rank < hint.cut);
            hint.mark = (LIVE | (OUTSIDE * outside)) * found;
            hint.extra = number(row) * u32::from(found);
            *tag = prf.tag(row) * u16::from(found);
        }
        let [half, other] = self.pair_mut(id);
        let keep = |kept: u8| (kept & found).wrapping_neg();
        for (half, other) in half.iter_mut().zip(other) {
            *half = (*half & keep(1 ^ outside)) | (std::mem::take(other) & keep(outside));
        }
        self.next += 1;
        self.left -= 1;
    }

    /// Adds the row to a promoted hint's parity, which is that of its set from now on. A hint that was spent and
    /// forgotten meanwhile stays so.
    pub(crate) fn settle(&mut self, promoted: u32, row: &[u8]) {
        if self.is(promoted, LIVE | OWED) {
            self.mark(promoted, KNOWN);
            self.parity_mut(promoted).iter_mut().zip(row).for_each(|(byte, row)| *byte ^= row);
        }
    }

    /// Gives a hint the parity of its set, unless it was spent and forgotten meanwhile.
    pub(crate) fn set_parity(&mut self, id: u32, parity: &[u8]) {
        if self.is(id, LIVE | OWED) {
            self.mark(id, KNOWN);
            self.parity_mut(id).iter_mut().zip(parity).for_each(|(byte, parity)| *byte = *parity);
        }
    }

    /// Forgets the parity of a hint, but not the hint: it will be chosen as if nothing had happened.
    pub(crate) fn withdraw(&mut self, id: u32) {
        self.parity_mut(id).zeroize();
        if let Some(hint) = self.of.get_mut(id as usize) {
            hint.mark &= !KNOWN;
        }
    }

    /// Whether an id has one of these marks.
    pub(crate) fn is(&self, id: u32, marks: u8) -> bool {
        self.of.get(id as usize).is_some_and(|hint| hint.mark & marks != 0)
    }

    fn mark(&mut self, id: u32, mark: u8) {
        if let Some(hint) = self.of.get_mut(id as usize) {
            hint.mark |= mark;
        }
    }

    /// Whether a live hint contains a row: what a search finds, for one hint and by definition.
    pub(crate) fn contain(&self, prf: &Prf, id: u32, row: Place) -> bool {
        let Some(hint) = self.of.get(id as usize).filter(|hint| hint.mark & LIVE != 0) else { return false };
        let inside = (prf.rank(id, row.partition) < hint.cut) != (hint.mark & OUTSIDE != 0);
        inside && prf.offset(id, row.partition) == row.offset || hint.extra == number(row)
    }

    /// Wipes a hint that was chosen and is not owed any more.
    pub(crate) fn forget(&mut self, chosen: u32) {
        self.parity_mut(chosen).zeroize();
        if let Some(hint) = self.of.get_mut(chosen as usize) {
            *hint = Hint { cut: hint.cut, ..Hint::default() };
        }
    }

    /// What is known of all ids that are or were hints, and of the pairs that are left.
    pub(crate) fn split(&self) -> (&[Hint], &[Hint]) {
        let ids = self.of.get(..self.stocked).unwrap_or_default();
        ids.split_at(self.used().min(ids.len()))
    }

    /// The parities of a pair that is left, of its half and of its other half.
    pub(crate) fn pair(&self, id: u32) -> [&[u8]; 2] {
        [self.row_bytes * id as usize, self.other(id)]
            .map(|at| self.parities.get(at..at + self.row_bytes).unwrap_or_default())
    }
}
