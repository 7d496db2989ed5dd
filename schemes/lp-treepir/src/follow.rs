//! Moving hints to the next epoch: every parity whose set has a changed row takes the difference of old and new.
//!
//! One pass over all sets. Its time depends on hints and changes, not on what is asked.

use crate::client::{Client, KNOWN};
use crate::set::{Place, Set};
use crate::tree::{Room, Trees};
use sotto_core::{PeerMisbehaved, Result};

/// The changed rows of an epoch: for each its offset, and old ^ new.
struct Changes<'a> {
    rows: Vec<(u16, &'a [u8])>,
    /// For each partition with a changed row: its number, and which of `rows` are in it.
    partitions: Vec<(usize, std::ops::Range<usize>)>,
}

impl Client {
    /// Takes a whole rows delta: for each changed row its number (u64) and old ^ new, by ascending numbers.
    pub(crate) fn follow_rows(&mut self, delta: &[u8]) -> Result<()> {
        let (record, len) = (8 + self.params.row_bytes(), self.params.rows());
        if !delta.len().is_multiple_of(record) {
            return Err(malformed("a row that is cut short"));
        }
        let mut changes = Changes { rows: Vec::new(), partitions: Vec::new() };
        let mut least = 0;
        for (bytes, change) in delta.chunks_exact(record).filter_map(|record| record.split_first_chunk()) {
            let row = u64::from_le_bytes(*bytes);
            if !(least..len).contains(&row) {
                return Err(malformed("rows out of order, or past the last"));
            }
            least = row + 1;
            let (place, at) = (Place::of(&self.params, row), changes.rows.len());
            let partition = place.partition as usize;
            match changes.partitions.last_mut().filter(|(last, _)| *last == partition) {
                Some((_, rows)) => rows.end = at + 1,
                None => changes.partitions.push((partition, at..at + 1)),
            }
            changes.rows.push((place.offset, change));
        }
        let (width, room) = (self.params.row_bytes(), &mut Room::default());
        let slots = self.hints.iter().zip(self.parities.chunks_exact_mut(width));
        let spent = self.asked.iter_mut().map(|asked| (&asked.spent, asked.parity.as_mut_slice()));
        let known = slots.chain(spent).filter(|(hint, _)| hint.standing == KNOWN);
        let mut known = known.map(|(hint, parity)| (&hint.set, parity));
        while !changes.rows.is_empty() {
            let together: Vec<_> = known.by_ref().take(self.trees.together()).collect();
            if together.is_empty() {
                break;
            }
            changes.add(&self.trees, together, room);
        }
        Ok(())
    }
}

impl Changes<'_> {
    fn add(&self, trees: &Trees, sets: Vec<(&Set, &mut [u8])>, room: &mut Room) {
        let roots: Vec<_> = sets.iter().map(|(set, _)| set.root).collect();
        let numbers = trees.grow(roots.into_iter(), room);
        for ((set, parity), numbers) in sets.into_iter().zip(numbers.chunks_exact(trees.span(0))) {
            for (partition, rows) in &self.partitions {
                let rows = self.rows.get(rows.clone()).unwrap_or_default();
                let Some(number) = numbers.get(*partition) else { continue };
                let found = rows.binary_search_by_key(&(number ^ set.shift), |(offset, _)| *offset);
                if let Some((_, change)) = found.ok().and_then(|at| rows.get(at)) {
                    parity.iter_mut().zip(*change).for_each(|(byte, change)| *byte ^= change);
                }
            }
        }
    }
}

fn malformed(why: &str) -> sotto_core::Error {
    PeerMisbehaved::Malformed { what: "rows delta", why: why.into() }.into()
}
