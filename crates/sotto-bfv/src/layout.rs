//! The layout of records: which numbers of which plaintexts they are in.
//!
//! The plaintexts are one or several *tables* of `rows` by columns; a selector multiplies a row,
//! and each column becomes a sum. A record has the same position in `width` consecutive columns,
//! its *block*.
//!
//! ```text
//! Slots   one table; the slots of a plaintext are lanes of D positions, one for each part of each bucket's records,
//!         and the record at place i is in row i div D at position i mod D; word k of it is in part k div width, in
//!         slot (lane, position) of column k mod width
//! Whole   a table for each bucket; the record at place i is in row i mod rows of block i div rows, and word k of
//!         it is coefficient k mod n of the block's column k div n
//! ```
//!
//! Slots form two cycles of n/2 that rotate together. The number of lanes is a power of two, and
//! half of it is the gap `g`: slot (lane, position) is number `position g + lane mod g` of cycle
//! `lane div g`, so that a rotation by g moves every lane by one position. A single lane has the
//! positions of both cycles, one cycle after the other.

use crate::literal::Literal;
use crate::rings::RingSet;
use sotto_core::ParamsError;
use sotto_math::modulus::divide;
use std::hint::black_box;
use zeroize::Zeroizing;

/// The form of the numbers of a plaintext.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaintextForm {
    /// Slots: every record has one in each of its columns.
    Slots,
    /// Coefficients: every record has whole plaintexts.
    Whole,
}

/// The layout of the records of one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Form of the numbers.
    pub form: PlaintextForm,
    /// n: number of numbers in a plaintext.
    pub n: usize,
    /// Bits of data in each number.
    pub bits: u32,
    /// B: number of buckets.
    pub buckets: usize,
    /// R: records of each bucket.
    pub records: u64,
    /// Numbers of a record.
    pub words: usize,
    /// Parts of a record, each of which has a lane of its own.
    pub split: usize,
    /// Rows of a table.
    pub rows: usize,
    /// D: records of a bucket in the same plaintexts.
    pub positions: usize,
    /// Blocks of columns of a table.
    pub blocks: usize,
    /// Columns of a block.
    pub width: usize,
    /// Columns whose sums share an answer, each rotated one position further than the one before; 1
    /// for whole plaintexts.
    pub merged: usize,
    /// Number of primes that plaintexts are stored modulo, and multiplied at.
    pub primes: usize,
    /// Number of ciphertexts of a query.
    pub queries: usize,
    /// Positions by which a second key rotates; 1 without one.
    pub stride: usize,
}

/// The position of a bucket's record in the tables. Secret, where it is a client's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BucketPlace {
    /// Row of the record.
    pub row: u64,
    /// Block of the record.
    pub block: u64,
    /// Position of the record within its bucket's lanes.
    pub position: u64,
}

/// So that lists of places can be wiped.
impl zeroize::DefaultIsZeroes for BucketPlace {}

/// Largest number of numbers of a record.
pub const MAX_WORDS: u32 = 1 << 20;

/// The number of positions of each of `lanes` lanes; 0 if there are too many lanes.
pub fn positions(form: PlaintextForm, n: usize, lanes: u64) -> u64 {
    match form {
        PlaintextForm::Whole => 1,
        PlaintextForm::Slots => n as u64 / lanes.clamp(1, n as u64 + 1).next_power_of_two(),
    }
}

impl Layout {
    /// Makes the layout of a literal's table.
    ///
    /// # Errors
    /// [`ParamsError::Field`] for numbers that do not fit the ring.
    pub(crate) fn new(form: PlaintextForm, ring: &RingSet, literal: &Literal) -> Result<Self, ParamsError> {
        let (n, bits, buckets) = (ring.degree, ring.bits, literal.buckets as usize);
        let [words, rows, merged] = [literal.record_words, literal.rows, literal.merged].map(|x| x as usize);
        let records = literal.records / u64::from(literal.buckets.max(1));
        let field = |field, why: &str| Err(ParamsError::Field { field, why: why.into() });
        let split = literal.split as usize;
        let positions = positions(form, n, (buckets as u64).saturating_mul(split as u64));
        if buckets == 0 || positions == 0 {
            return field("buckets", "must be at least 1, and at most the numbers of a plaintext");
        }
        if split == 0 || split > words || form == PlaintextForm::Whole && split > 1 {
            return field(
                "split",
                "must be at least 1, at most the numbers of a record, and 1 for whole plaintexts",
            );
        }
        if records == 0 || records > 1 << 40 || !literal.records.is_multiple_of(buckets as u64) {
            return field("records", "must be 1 to 2^40 in each bucket, and a multiple of the buckets");
        }
        if words == 0 || words > MAX_WORDS as usize {
            return field("record_words", "must be 1 to 2^20");
        }
        let needed = records.div_ceil(positions);
        let in_reach = match form {
            PlaintextForm::Slots => rows as u64 == needed,
            PlaintextForm::Whole => rows > 0 && rows as u64 <= needed,
        };
        if !in_reach || rows > MAX_ROWS {
            return field("rows", "must be at most 2^16, and as many as the records take");
        }
        let span = if form == PlaintextForm::Whole { n } else { 1 };
        let layout = Layout {
            form,
            n,
            bits,
            buckets,
            records,
            words,
            split,
            rows,
            positions: positions as usize,
            blocks: usize::try_from(needed.div_ceil(rows as u64)).unwrap_or(usize::MAX),
            width: words.div_ceil(span * split),
            merged,
            primes: literal.primes.into(),
            queries: literal.queries as usize,
            stride: literal.stride as usize,
        };
        if merged == 0 || merged > layout.max_merged() {
            return field(
                "merged",
                "must be at least 1, and at most the columns and the positions of a rotation",
            );
        }
        if !(1..=MAX_QUERIES).contains(&layout.queries) {
            return field("queries", "must be 1 to 4096");
        }
        if !(1..=ring.query_primes()).contains(&layout.primes) {
            return field("primes", "must be at least 1, and at most the primes of a query");
        }
        Ok(layout)
    }

    /// Bytes of a record.
    pub fn record_bytes(&self) -> usize {
        self.words * self.bits as usize / 8
    }

    /// Number of numbers that are written for a record: with slots, as many as its lanes have in
    /// its columns.
    pub fn padded_words(&self) -> usize {
        if self.form == PlaintextForm::Whole { self.words } else { self.width * self.split }
    }

    /// Number of tables of plaintexts.
    pub fn tables(&self) -> usize {
        if self.form == PlaintextForm::Whole { self.buckets } else { 1 }
    }

    /// Number of columns of a table.
    pub fn cols(&self) -> usize {
        self.blocks.saturating_mul(self.width)
    }

    /// Number of lanes of a plaintext, including unused ones up to a power of two.
    pub fn lanes(&self) -> usize {
        if self.form == PlaintextForm::Whole { 1 } else { (self.buckets * self.split).next_power_of_two() }
    }

    /// The lane and the column of number `k` of a bucket's record.
    pub fn lane(&self, bucket: usize, k: usize) -> (usize, usize) {
        (bucket * self.split + k / self.width, k % self.width)
    }

    /// Number of slots of the rotation that moves every lane by one position.
    pub fn gap(&self) -> usize {
        (self.lanes() / 2).max(1)
    }

    /// Number of positions in a cycle, around which a rotation moves them.
    pub fn cycle_positions(&self) -> usize {
        self.n / 2 / self.gap()
    }

    /// Largest number of columns whose sums fit one answer.
    pub fn max_merged(&self) -> usize {
        if self.form == PlaintextForm::Whole { 1 } else { self.cycle_positions().min(self.width) }
    }

    /// The position to which a rotation by `by` positions moves `position`, in time that does not
    /// depend on either.
    pub fn rotated_position(&self, position: u64, by: u64) -> u64 {
        // A power of two, so that the cycle stays and the position within it wraps around.
        let around = self.cycle_positions() as u64 - 1;
        position & !around | position.wrapping_sub(by) & around
    }

    /// The slot of a position of a lane.
    pub fn slot(&self, lane: usize, position: usize) -> usize {
        let gap = self.gap();
        lane / gap * (self.n / 2) + position * gap + lane % gap
    }

    /// The position of the record at a place of a bucket, in time that does not depend on the
    /// place.
    pub fn place(&self, place: u64) -> BucketPlace {
        let (rest, position) = divide(place, self.positions as u64);
        match self.form {
            PlaintextForm::Slots => BucketPlace { row: rest, block: 0, position },
            PlaintextForm::Whole => {
                let (block, row) = divide(rest, self.rows as u64);
                BucketPlace { row, block, position }
            }
        }
    }

    /// The number of a record's whitening stream, whether there is such a record or not.
    pub fn whitening_index(&self, bucket: usize, place: u64) -> u64 {
        let each = (self.rows * self.blocks * self.positions) as u64;
        bucket as u64 * each + place
    }

    /// Decodes a record's bytes to its numbers.
    pub fn words_of(&self, record: &[u8]) -> Vec<u64> {
        let word = |k: usize| {
            let at = k * self.bits as usize;
            let byte = |i: usize| u64::from(record.get(at / 8 + i).copied().unwrap_or(0)) << (8 * i);
            ((0..3).map(byte).sum::<u64>() >> (at % 8)) & ((1 << self.bits) - 1)
        };
        (0..self.words).map(word).collect()
    }

    /// Encodes a record's numbers as its bytes.
    pub fn bytes_of(&self, words: &[u64]) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.record_bytes() + 8);
        sotto_math::bits::pack_words(words, self.bits, &mut out);
        out.truncate(self.record_bytes());
        out
    }

    /// Slots with a mark for each bucket at its place's position in all its lanes, and zeros
    /// elsewhere; in time that does not depend on the places.
    pub fn marked(&self, places: &[BucketPlace], mark: impl Fn(&BucketPlace) -> u64) -> Zeroizing<Vec<u64>> {
        let mut slots = Zeroizing::new(vec![0; self.n]);
        for (bucket, place) in places.iter().enumerate() {
            let mark = mark(place);
            for position in 0..self.positions {
                let mark = mark & equal(position as u64, place.position);
                (0..self.split)
                    .for_each(|part| slots[self.slot(bucket * self.split + part, position)] = mark);
            }
        }
        slots
    }

    /// Numbers of a lane at the positions to which rotations by 0, 1, 2 and so on move `position`, once around
    /// its cycle, in time that does not depend on the position.
    pub fn rotated_numbers(&self, slots: &[u64], lane: usize, position: u64) -> Zeroizing<Vec<u64>> {
        let cycle = self.cycle_positions();
        let start = position & !(cycle as u64 - 1);
        // The cycle of the position, from its start backwards.
        let mut numbers = Zeroizing::new(vec![0; cycle]);
        for first in (0..self.positions).step_by(cycle) {
            let keep = equal(first as u64, start);
            for (by, number) in numbers.iter_mut().enumerate() {
                *number |= slots[self.slot(lane, first + (cycle - by) % cycle)] & keep;
            }
        }
        // And moved forwards by the position, one of its bits after the other.
        let mut moved = numbers.clone();
        for bit in 0..cycle.ilog2() {
            let keep = equal(position >> bit & 1, 0);
            let (head, tail) = numbers.split_at(cycle - (1 << bit));
            for ((to, from), stays) in moved.iter_mut().zip(tail.iter().chain(head)).zip(numbers.iter()) {
                *to = stays & keep | from & !keep;
            }
            std::mem::swap(&mut numbers, &mut moved);
        }
        numbers
    }
}

/// Largest number of ciphertexts of a query.
pub const MAX_QUERIES: usize = 1 << 12;

/// Largest number of rows of a table.
pub const MAX_ROWS: usize = 1 << 16;

/// All ones if the two values are equal, else zero.
pub fn equal(a: u64, b: u64) -> u64 {
    let x = a ^ b;
    // The top bit of `x | -x` says whether x is not zero. The black box keeps the mask from becoming a branch.
    black_box((x | x.wrapping_neg()) >> 63).wrapping_sub(1)
}

#[cfg(test)]
mod tests;
