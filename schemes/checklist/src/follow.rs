//! Moving hints to the next epoch: every parity whose set has a changed row takes the difference of old and new.
//!
//! One pass over all sets, as long as a query's. Its time depends on hints and changes, not on what is asked.

use crate::client::{Client, KNOWN};
use crate::set::Set;
use crate::tree::{Room, Root, Trees};
use sotto_core::{PeerMisbehaved, Result};

/// The changed rows of an epoch: for each, where it is and old ^ new.
struct Changes<'a> {
    /// By place one more than which change, and 0 for a row that stays.
    which: Vec<u32>,
    rows: Vec<&'a [u8]>,
}

impl Client {
    /// Takes a whole rows delta: for each changed row its number (u64) and old ^ new, by ascending numbers.
    pub(crate) fn follow_rows(&mut self, delta: &[u8]) -> Result<()> {
        let (record, len) = (8 + self.params.row_bytes(), self.params.rows());
        if !delta.len().is_multiple_of(record) {
            return Err(malformed("a row that is cut short"));
        }
        if delta.is_empty() {
            return Ok(());
        }
        // A table is in no client's memory, but a number for each of its rows is, for as long as this takes.
        let mut changes = Changes { which: vec![0; len as usize], rows: Vec::new() };
        let mut least = 0;
        for (bytes, change) in delta.chunks_exact(record).filter_map(|record| record.split_first_chunk()) {
            let row = u64::from_le_bytes(*bytes);
            let Some(which) = changes.which.get_mut(row as usize).filter(|_| (least..len).contains(&row))
            else {
                return Err(malformed("rows out of order, or past the last"));
            };
            least = row + 1;
            changes.rows.push(change);
            *which = changes.rows.len() as u32;
        }
        let (width, room) = (self.params.row_bytes(), &mut Room::default());
        let slots = self.hints.iter().zip(self.parities.chunks_exact_mut(width));
        let spent = self.asked.iter_mut().map(|asked| (&asked.spent, asked.parity.as_mut_slice()));
        let known = slots.chain(spent).filter(|(hint, _)| hint.standing == KNOWN);
        let mut known = known.map(|(hint, parity)| (&hint.set, parity));
        loop {
            let together: Vec<_> = known.by_ref().take(self.trees.together()).collect();
            if together.is_empty() {
                return Ok(());
            }
            changes.add(&self.trees, together, room);
        }
    }
}

impl Changes<'_> {
    fn add(&self, trees: &Trees, sets: Vec<(&Set, &mut [u8])>, room: &mut Room) {
        let count = sets.len();
        let roots: Vec<Root> = sets.iter().map(|(set, _)| set.root).collect();
        let numbers = trees.grow(roots.into_iter(), room);
        for ((set, parity), numbers) in sets.into_iter().zip(numbers.chunks_exact(numbers.len() / count)) {
            for number in numbers {
                let which = self.which.get((number ^ set.shift) as usize).copied().unwrap_or(0);
                if let Some(row) = (which as usize).checked_sub(1).and_then(|which| self.rows.get(which)) {
                    parity.iter_mut().zip(*row).for_each(|(byte, change)| *byte ^= change);
                }
            }
        }
    }
}

fn malformed(why: &str) -> sotto_core::Error {
    PeerMisbehaved::Malformed { what: "rows delta", why: why.into() }.into()
}
