//! Groups of numbers, each of which becomes a packed ciphertext, and the sizes of their data in an
//! image.

use crate::lattice::{KEY_WORDS, N, Q_BITS, WEIGHT_BYTES, mask_bytes};
#[cfg(feature = "server")]
use crate::pieces::Piece;
use sotto_math::matrix::PANEL_ROWS;
use sotto_math::matrix::PanelLayout;
use std::ops::Range;

/// The division of records into groups; the last group of a record may not be full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Groups {
    size: usize,
    numbers: usize,
    records: usize,
}

impl Groups {
    /// Groups of up to N numbers.
    pub const fn new(numbers: usize, records: usize) -> Self {
        Self::of(N, numbers, records)
    }

    /// Groups of up to `size` numbers, for which packing exists: N, or a power of two from 64 to N
    /// / 2.
    pub const fn of(size: usize, numbers: usize, records: usize) -> Self {
        Groups { size, numbers, records }
    }

    /// Maximum numbers in a group.
    pub const fn size(&self) -> usize {
        self.size
    }

    /// Numbers of a record.
    pub const fn numbers(&self) -> usize {
        self.numbers
    }

    /// Groups of a record.
    const fn of_record(&self) -> usize {
        self.numbers.div_ceil(self.size)
    }

    /// Groups of all records.
    pub const fn count(&self) -> usize {
        self.of_record() * self.records
    }

    /// The first row of a group's weights, at the start of a panel, and the group's count of
    /// numbers.
    pub fn place(&self, group: usize) -> (usize, usize) {
        let (record, within) = (group / self.of_record(), group % self.of_record());
        let first = within * self.size;
        (record * self.rows() + rows(first), self.size.min(self.numbers - first))
    }

    /// Rows of a record's weights. All groups of a record but the last are whole panels.
    const fn rows(&self) -> usize {
        rows(self.numbers)
    }

    /// The given groups alone, for a single record.
    pub fn some(&self, groups: &Range<usize>) -> Self {
        let number = |group: usize| (group * self.size).min(self.numbers);
        Groups { numbers: number(groups.end) - number(groups.start), ..*self }
    }

    /// Weights, digits of last switches, and masks, with those of some groups, for a single record.
    #[cfg(feature = "server")]
    pub fn pieces(&self, groups: &Range<usize>, mask_bits: u32) -> [Piece; 3] {
        let of = |groups: Range<usize>| {
            let some = self.some(&groups);
            let weights = rows(some.numbers) as u64 * KEY_WORDS as u64;
            [weights, some.last_bytes(), groups.len() as u64 * mask_bytes(mask_bits)]
        };
        let [all, before, own] = [of(0..self.count()), of(0..groups.start), of(groups.clone())];
        let mut sizes = all.into_iter().zip(before).zip(own);
        [(); 3].map(|()| {
            let ((bytes, before), own) = sizes.next().unwrap_or_default();
            Piece { bytes, part: before..before + own }
        })
    }

    /// The layout of all weights.
    pub fn layout(&self) -> PanelLayout {
        PanelLayout::new(self.records * self.rows(), KEY_WORDS)
    }

    /// Bytes of the digits of all last switches.
    pub const fn last_bytes(&self) -> u64 {
        if self.size == N { self.count() as u64 * (KEY_WORDS / N) as u64 * mask_bytes(Q_BITS) } else { 0 }
    }

    /// Bytes of weights, digits and masks together.
    pub const fn bytes(&self, mask_bits: u32) -> u64 {
        // A large table has more bytes than a browser's addresses can count.
        let weights = self.records as u64 * self.rows() as u64 * KEY_WORDS as u64;
        weights + self.last_bytes() + self.count() as u64 * mask_bytes(mask_bits)
    }
}

/// Rows of the weights of `numbers` numbers, in whole panels.
const fn rows(numbers: usize) -> usize {
    (WEIGHT_BYTES * numbers).next_multiple_of(PANEL_ROWS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_follow_each_other_in_whole_panels() {
        for (size, numbers, records) in [(N, 5000, 3), (N, 1, 1), (1024, 3072, 1), (N, 2048, 4)] {
            let groups = Groups::of(size, numbers, records);
            let mut next = 0;
            for group in 0..groups.count() {
                let (row, count) = groups.place(group);
                assert!(row == next && count > 0 && count <= size);
                next = row + rows(count);
            }
            assert_eq!(next, groups.layout().rows());
            let all = (0..groups.count()).map(|group| groups.place(group).1).sum::<usize>();
            assert_eq!(all, numbers * records);
            let rest = groups.last_bytes() + groups.count() as u64 * mask_bytes(20);
            assert_eq!(groups.bytes(20), groups.layout().bytes() as u64 + rest);
        }
    }
}
