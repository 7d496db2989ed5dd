//! Blocks of ids: which is due, taking its parities in, and what is written down of that.
//!
//! Blocks are ordered one after the other, those of hints first. A block of pairs is due as soon as fewer pairs are left
//! than are in one, or than go into one request, so that queries go on while it is made. That depends on how many
//! queries were made, and on nothing else.
//!
//! Parities are taken as they come: a wrong one makes a wrong row, or an unreadable one, and changes nothing that is sent.

use crate::client::Client;
use crate::hints::{Hint, KNOWN, LIVE, number};
use crate::journal::Event;
use crate::offline::cuts::cuts;
use crate::offline::extras::extras;
use crate::prf::{Place, VOID};
use sotto_core::Result;
use sotto_hints::bytes::Source;
use std::ops::Range;
use zeroize::Zeroizing;

impl Client {
    /// The number of the block that came last, and one.
    fn blocks(&self) -> u64 {
        let (stocked, hints, block) = (self.hints.stocked, self.params.hints(), self.hints.block.max(1));
        let pairs = stocked.saturating_sub(hints);
        ((stocked - pairs + 2 * pairs) / block) as u64
    }

    /// The ids of a block, which is no later than the next to come.
    fn ids(&self, block: u64) -> Range<usize> {
        let (hints, size) = (self.params.hints(), self.hints.block.max(1));
        // There are at most 2^25 ids.
        match (block as usize).checked_sub(hints / size) {
            None => block as usize * size..(block as usize + 1) * size,
            Some(pairs) => hints + pairs * (size / 2)..hints + (pairs + 1) * (size / 2),
        }
    }

    /// Bytes of a supply.
    pub(crate) fn supply_bytes(&self) -> usize {
        self.hints.block * self.params.row_bytes()
    }

    /// The block to order next, if one is due.
    pub(crate) fn due(&self) -> Option<u32> {
        let hints = &self.hints;
        // There is room for one more block then.
        let low = hints.stocked.saturating_sub(hints.used()) + hints.block / 2 < hints.room;
        // There are fewer blocks than ids.
        (low && hints.stocked < self.params.ids()).then_some(self.blocks() as u32)
    }

    /// Takes in the parities of the next block.
    pub(crate) fn stock(&mut self, supply: &[u8]) {
        let block = self.blocks();
        self.fill(self.ids(block), supply);
        self.events.push(Event::Supplied { block });
    }

    fn fill(&mut self, ids: Range<usize>, supply: &[u8]) {
        let (row_bytes, hints) = (self.params.row_bytes(), self.params.hints());
        // There are at most 2^25 ids.
        let first = ids.start as u32;
        let mut found = Zeroizing::new(vec![VOID; ids.len()]);
        cuts(&self.prf, first, &mut found);
        let mut rows = supply.chunks_exact(row_bytes);
        if ids.start < hints {
            let mut places = Zeroizing::new(vec![Place { partition: 0, offset: 0 }; ids.len()]);
            extras(&self.prf, first, &found, &mut places);
            for (((id, cut), extra), row) in (first..).zip(found.iter()).zip(places.iter()).zip(rows) {
                if *cut != VOID {
                    self.hints.begin(
                        &self.prf,
                        id,
                        Hint { cut: *cut, extra: number(*extra), mark: LIVE | KNOWN },
                    );
                    self.hints.parity_mut(id).copy_from_slice(row);
                }
            }
        } else {
            let halves: Vec<&[u8]> = rows.by_ref().take(ids.len()).collect();
            for (((id, cut), half), other) in (first..).zip(found.iter()).zip(halves).zip(rows) {
                self.hints.begin(&self.prf, id, Hint { cut: *cut, ..Hint::default() });
                self.hints.left += u64::from(*cut != VOID);
                let [to_half, to_other] = self.hints.pair_mut(id);
                to_half.copy_from_slice(half);
                to_other.copy_from_slice(other);
            }
        }
        self.hints.stocked = ids.end;
    }

    /// Writes a block as it is now, which is how it came if nothing was asked since. Of a pair that was promoted since, what
    /// is kept is written for either half: the record of its promotion comes later, and chooses.
    pub(crate) fn put_supply(&self, block: u64, out: &mut Vec<u8>) {
        let ids = self.ids(block);
        let parts = if ids.start < self.params.hints() { 1 } else { 2 };
        for part in 0..parts {
            for id in ids.clone() {
                let promoted = id < self.hints.used();
                let id = id as u32;
                let parity = if promoted { self.hints.parity(id) } else { self.hints.pair(id)[part] };
                out.extend_from_slice(parity);
            }
        }
    }

    /// Repeats [`Client::stock`].
    pub(crate) fn replay_supplied(&mut self, block: u64, from: &mut Source<'_>) -> Result<()> {
        let mut supply = Zeroizing::new(vec![0; self.supply_bytes()]);
        from.exact(&mut supply)?;
        let next = self.blocks();
        if block < next {
            return Ok(());
        }
        if block != next || self.due().is_none() {
            return Err(from.malformed("a supply that cannot be the next"));
        }
        self.fill(self.ids(block), &supply);
        Ok(())
    }
}
