//! Groups of numbers, each of which becomes a packed ciphertext, and the sizes of their data in an
//! image.

use crate::lattice::{N, PackingDigits, Q_BITS, mask_bytes};
#[cfg(feature = "server")]
use crate::pieces::Piece;
use crate::plain_modulus::PlainModulus;
#[cfg(feature = "server")]
use sotto_core::{Artifact, Section};
use sotto_math::matrix::PANEL_ROWS;
use sotto_math::matrix::PanelLayout;
use std::ops::Range;

/// Where the masks of packed ciphertexts are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaskLayout {
    /// In the artifact that clients fetch once an epoch, from byte `start` on: coefficients rounded
    /// to the bits of an answer. No query changes them, so answers are bodies alone.
    Artifact {
        /// Offset of the first mask.
        start: u64,
    },
    /// Beside the weights, as slots with all their bits, for ciphertexts that are computed with.
    Whole,
}

impl MaskLayout {
    /// The section of an image with the masks that clients fetch.
    #[cfg(feature = "server")]
    pub const SECTION: Section = Section::Public(Artifact::Hint);

    /// The artifact of a table whose masks are those of one packing.
    pub const ARTIFACT: MaskLayout = MaskLayout::Artifact { start: 0 };

    /// Bits of a mask's word beside the weights.
    pub(crate) const fn image_bits(self) -> u32 {
        match self {
            MaskLayout::Artifact { .. } => 0,
            MaskLayout::Whole => Q_BITS,
        }
    }
}

/// The division of records into groups; the last group of a record may not be full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Groups {
    plain: PlainModulus,
    size: usize,
    numbers: usize,
    records: usize,
}

impl Groups {
    /// Groups of up to N numbers of two bytes.
    pub const fn new(numbers: usize, records: usize) -> Self {
        Self::of(PlainModulus::PAIR, N, numbers, records)
    }

    /// Groups of up to `size` numbers, for which packing exists: N, or a power of two from 64 to N
    /// / 2.
    pub const fn of(plain: PlainModulus, size: usize, numbers: usize, records: usize) -> Self {
        Groups { plain, size, numbers, records }
    }

    /// The plain modulus of the numbers.
    pub const fn plain(&self) -> PlainModulus {
        self.plain
    }

    /// The digits of packing.
    pub const fn digits(&self) -> PackingDigits {
        self.plain.packing()
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
        (record * self.rows() + self.rows_of(first), self.size.min(self.numbers - first))
    }

    /// Rows of a record's weights. All groups of a record but the last are whole panels.
    const fn rows(&self) -> usize {
        self.rows_of(self.numbers)
    }

    /// Rows of the weights of `numbers` numbers, in whole panels.
    const fn rows_of(&self, numbers: usize) -> usize {
        (self.digits().weight_bytes * numbers).next_multiple_of(PANEL_ROWS)
    }

    /// The given groups alone, for a single record.
    pub fn some(&self, groups: &Range<usize>) -> Self {
        let number = |group: usize| (group * self.size).min(self.numbers);
        Groups { numbers: number(groups.end) - number(groups.start), ..*self }
    }

    /// Weights, digits of last switches, and masks, with those of some groups, for a single record.
    #[cfg(feature = "server")]
    pub fn pieces(&self, groups: &Range<usize>, masks: MaskLayout) -> [Piece; 3] {
        let of = |groups: Range<usize>| {
            let some = self.some(&groups);
            let weights = (some.rows() * self.digits().key_words()) as u64;
            [weights, some.last_bytes(), groups.len() as u64 * mask_bytes(masks.image_bits())]
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
        PanelLayout::new(self.records * self.rows(), self.digits().key_words())
    }

    /// Bytes of the digits of all last switches.
    pub const fn last_bytes(&self) -> u64 {
        let groups = if self.size == N { self.count() as u64 } else { 0 };
        groups * self.digits().bodies() as u64 * mask_bytes(Q_BITS)
    }

    /// Bytes of weights, digits and masks together.
    pub const fn bytes(&self, masks: MaskLayout) -> u64 {
        // A large table has more bytes than a browser's addresses can count.
        let weights = self.records as u64 * self.rows() as u64 * self.digits().key_words() as u64;
        weights + self.last_bytes() + self.count() as u64 * mask_bytes(masks.image_bits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_follow_each_other_in_whole_panels() {
        let (pair, byte) = (PlainModulus::PAIR, PlainModulus::BYTE);
        let of = [(pair, N, 5000, 3), (pair, N, 1, 1), (byte, 1024, 3072, 1), (byte, N, 2048, 4)];
        for (plain, size, numbers, records) in of {
            let groups = Groups::of(plain, size, numbers, records);
            let mut next = 0;
            for group in 0..groups.count() {
                let (row, count) = groups.place(group);
                assert!(row == next && count > 0 && count <= size);
                next = row + groups.rows_of(count);
            }
            assert_eq!(next, groups.layout().rows());
            let all = (0..groups.count()).map(|group| groups.place(group).1).sum::<usize>();
            assert_eq!(all, numbers * records);
            let rest = groups.last_bytes() + groups.count() as u64 * mask_bytes(Q_BITS);
            assert_eq!(groups.bytes(MaskLayout::Whole), groups.layout().bytes() as u64 + rest);
        }
    }
}
