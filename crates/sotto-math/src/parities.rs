//! Addition of the rows of a few partitions to many parities.
//!
//! A client of S3PIR reads a table once, and adds every row to the parities of all the sets that
//! contain it. The table passes through a [`PartitionWindow`] of up to sixteen partitions: while
//! those rows are in a cache, each parity is loaded once and the rows of its set are added. A set
//! has one row in about half of the partitions. The exact number among sixteen is random, and a
//! mispredicted branch takes longer than an addition; so twelve rows are always added, where
//! missing rows are replaced by a row of zeros that stays in the nearest cache, and more than
//! twelve are rare enough to be worth a branch. The added rows, and so the time of a pass, depend
//! on secret sets: the pass is not constant time. It happens before there is a query.

pub use crate::simd::args::LANES;
use crate::simd::args::{RowSources, SetOffsets};
use crate::simd::{self, Kernels};
use zeroize::Zeroize;

/// Sets whose row positions are looked up together.
const TOGETHER: usize = 64;

/// Buffer for the positions of rows while they are added; wiped on drop.
pub struct RowOffsets([[u32; LANES]; TOGETHER]);

impl RowOffsets {
    /// Makes a buffer that can be used again and again.
    pub fn new() -> Self {
        RowOffsets([[0; LANES]; TOGETHER])
    }
}

impl Default for RowOffsets {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for RowOffsets {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// A run of whole partitions, as a stream delivers them.
pub struct PartitionWindow {
    bytes: Vec<u8>,
    /// Offset of the rows in `bytes`, so that rows whose size is a power of two do not cross cache
    /// lines.
    start: usize,
    row_bytes: usize,
    stride: usize,
    partition_rows: usize,
    lanes: usize,
    /// Number of bytes of rows received.
    filled: usize,
}

impl PartitionWindow {
    /// Makes an empty window.
    ///
    /// # Panics
    /// If rows have no bytes, a partition is not of a power of two up to 2^16 rows, or `lanes` is
    /// not 1 to 16 partitions.
    pub fn new(row_bytes: usize, partition_rows: usize, lanes: usize) -> Self {
        assert!(row_bytes > 0, "rows of at least one byte");
        assert!(partition_rows.is_power_of_two() && partition_rows <= 1 << 16, "a power of two");
        assert!((1..=LANES).contains(&lanes), "up to 16 partitions");
        let stride = Self::stride_of(row_bytes);
        // One row of zeros follows the rows.
        let bytes = vec![0; (lanes * partition_rows + 1) * stride + 64];
        let start = bytes.as_ptr().align_offset(64).min(63);
        PartitionWindow { bytes, start, row_bytes, stride, partition_rows, lanes, filled: 0 }
    }

    /// Bytes that a row of `row_bytes` and its parities take: the next of 8, 16 and 32, or of the
    /// multiples of 64.
    pub fn stride_of(row_bytes: usize) -> usize {
        if row_bytes <= 32 { row_bytes.next_power_of_two().max(8) } else { row_bytes.next_multiple_of(64) }
    }

    /// Bytes that a row and a parity take.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Bytes of the rows of a partition.
    pub fn partition_bytes(&self) -> usize {
        self.partition_rows * self.row_bytes
    }

    /// Bytes of rows that fill the window.
    fn capacity(&self) -> usize {
        self.lanes * self.partition_bytes()
    }

    /// Whether the window has all its rows.
    pub fn is_full(&self) -> bool {
        self.filled == self.capacity()
    }

    /// Number of bytes of rows received.
    pub fn filled(&self) -> usize {
        self.filled
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.filled = 0;
    }

    /// Takes as many of these bytes as fit, and returns their number.
    pub fn absorb(&mut self, bytes: &[u8]) -> usize {
        let taken = bytes.len().min(self.capacity() - self.filled);
        let mut rest = &bytes[..taken];
        while !rest.is_empty() {
            let (row, within) = (self.filled / self.row_bytes, self.filled % self.row_bytes);
            // Rows without padding are contiguous.
            let run = if self.stride == self.row_bytes { rest.len() } else { self.row_bytes - within };
            let (now, later) = rest.split_at(run.min(rest.len()));
            self.bytes[self.start + row * self.stride + within..][..now.len()].copy_from_slice(now);
            self.filled += now.len();
            rest = later;
        }
        taken
    }

    /// Fills the window: missing rows are zeros.
    pub fn complete(&mut self) {
        let (row, within) = (self.filled / self.row_bytes, self.filled % self.row_bytes);
        let end = self.start + self.lanes * self.partition_rows * self.stride;
        self.bytes[self.start + row * self.stride + within..end].fill(0);
        self.filled = self.capacity();
    }

    /// A row of a full window, with the zeros that pad it.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, lane: usize, offset: usize) -> &[u8] {
        assert!(lane < self.lanes && offset < self.partition_rows, "a row of this window");
        &self.bytes[self.start + (lane * self.partition_rows + offset) * self.stride..][..self.stride]
    }

    /// Adds to each parity the rows of its set in this window.
    ///
    /// Set `i` has a row in partition `k` of the window if bit `k` of `chosen[i]` is set. Its
    /// number is a little-endian number: `i % 8` of block `k * chosen.len().div_ceil(8) + i / 8` of
    /// `offsets`, whose bits above those that number the rows of a partition are ignored. Parity
    /// `i` is `parities[i * stride..][..stride]`.
    ///
    /// # Panics
    /// If the window is not full, or there are not as many offsets or parities as choices.
    pub fn add(&self, offsets: &[[u8; 16]], chosen: &[u16], parities: &mut [u8], buffer: &mut RowOffsets) {
        self.add_with(simd::kernels(), offsets, chosen, parities, buffer);
    }

    pub(crate) fn add_with(
        &self,
        kernels: &dyn Kernels,
        offsets: &[[u8; 16]],
        chosen: &[u16],
        parities: &mut [u8],
        buffer: &mut RowOffsets,
    ) {
        let blocks = chosen.len().div_ceil(8);
        assert!(self.is_full(), "a full window");
        assert_eq!(offsets.len(), self.lanes * blocks, "an offset for each partition and set");
        assert_eq!(parities.len(), chosen.len() * self.stride, "a parity for each set");
        let lanes = SetOffsets { count: self.lanes, rows: self.partition_rows, offsets, blocks };
        let rows = &self.bytes[self.start..][..(self.lanes * self.partition_rows + 1) * self.stride];
        for (i, chosen) in chosen.chunks(TOGETHER).enumerate() {
            let places = &mut buffer.0[..chosen.len()];
            kernels.places(lanes, i * TOGETHER / 8, chosen, places);
            let parities = &mut parities[i * TOGETHER * self.stride..][..chosen.len() * self.stride];
            kernels.add_rows(RowSources { rows, stride: self.stride, lanes: self.lanes }, places, parities);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::mix;
    use crate::simd::available;

    struct Case {
        row_bytes: usize,
        partition_rows: usize,
        lanes: usize,
        sets: usize,
    }

    impl Case {
        fn offset(&self, set: usize, lane: usize) -> u16 {
            // Whole words, so that bits beyond the rows of a partition are set too.
            mix((set << 8 | lane) as u64) as u16
        }

        fn offsets(&self) -> Vec<[u8; 16]> {
            let blocks = self.sets.div_ceil(8);
            let word = |lane, set| self.offset(set, lane).to_le_bytes();
            let block = |b: usize| -> [u8; 16] {
                let words: [[u8; 2]; 8] = std::array::from_fn(|i| word(b / blocks, b % blocks * 8 + i));
                words.as_flattened().first_chunk().copied().unwrap()
            };
            (0..self.lanes * blocks).map(block).collect()
        }

        /// Compares every backend with the definition, with rows that came in chunks of this size.
        fn check(&self, stored: usize, chunk: usize, chosen: impl Fn(usize) -> u16) {
            let rows: Vec<u8> = (0..(stored * self.row_bytes) as u64).map(|i| mix(i) as u8).collect();
            let mut window = PartitionWindow::new(self.row_bytes, self.partition_rows, self.lanes);
            let stride = window.stride();
            // The previous contents of the window are gone.
            let ones = vec![0xFF; self.lanes * self.partition_rows * self.row_bytes];
            assert_eq!(window.absorb(&ones), ones.len());
            assert!(window.is_full());
            window.clear();
            for chunk in rows.chunks(chunk) {
                assert_eq!(window.absorb(chunk), chunk.len());
            }
            assert_eq!(window.filled(), rows.len());
            window.complete();
            let row = |lane: usize, offset: usize, b: usize| {
                let at = (lane * self.partition_rows + offset) * self.row_bytes + b;
                rows.get(at).copied().filter(|_| b < self.row_bytes).unwrap_or(0)
            };
            for (lane, offset) in [(0, 0), (self.lanes - 1, self.partition_rows - 1), (self.lanes / 2, 0)] {
                let expected: Vec<u8> = (0..stride).map(|b| row(lane, offset, b)).collect();
                assert_eq!(window.row(lane, offset), expected);
            }
            let chosen: Vec<u16> = (0..self.sets).map(chosen).collect();
            let before: Vec<u8> = (0..(self.sets * stride) as u64).map(|i| mix(!i) as u8).collect();
            let mut expected = before.clone();
            for (set, parity) in expected.chunks_exact_mut(stride).enumerate() {
                for lane in (0..self.lanes).filter(|lane| chosen[set] >> lane & 1 == 1) {
                    let offset = usize::from(self.offset(set, lane)) % self.partition_rows;
                    parity.iter_mut().enumerate().for_each(|(b, sum)| *sum ^= row(lane, offset, b));
                }
            }
            let offsets = self.offsets();
            for kernels in available() {
                let mut parities = before.clone();
                window.add_with(kernels, &offsets, &chosen, &mut parities, &mut RowOffsets::new());
                let shape = (self.row_bytes, self.partition_rows, self.lanes, self.sets, stored);
                assert_eq!(parities, expected, "{shape:?} by {}", kernels.name());
            }
        }
    }

    #[test]
    fn every_width() {
        for row_bytes in (1..=66).chain([100, 127, 128, 129, 200, 256, 320, 511, 512, 1000]) {
            for lanes in [16, 4] {
                let case = Case { row_bytes, partition_rows: 4, lanes, sets: 21 };
                case.check(4 * lanes, 13, |set| mix(set as u64) as u16);
            }
        }
    }

    #[test]
    fn every_number_of_partitions_and_of_chosen_ones() {
        for lanes in 1..=16 {
            for row_bytes in [8, 16, 32, 64, 100] {
                let case = Case { row_bytes, partition_rows: 2, lanes, sets: 34 };
                // From none to all, from the first on and from the last on.
                case.check(2 * lanes, 1000, |set| {
                    let bits = ((1u32 << (set / 2)) - 1) as u16;
                    if set % 2 == 0 { bits } else { bits.reverse_bits() }
                });
            }
        }
    }

    #[test]
    fn any_number_of_sets() {
        for sets in [0, 1, 2, 7, 8, 9, 63, 64, 65, 127, 128, 200] {
            let case = Case { row_bytes: 32, partition_rows: 8, lanes: 16, sets };
            case.check(8 * 16, 77, |set| mix(set as u64) as u16);
        }
    }

    #[test]
    fn rows_that_did_not_come_are_zeros() {
        for row_bytes in [1, 8, 9, 32, 40, 64] {
            for stored in [0, 1, 7, 8, 31, 32] {
                let case = Case { row_bytes, partition_rows: 2, lanes: 16, sets: 40 };
                case.check(stored, 5, |set| mix(set as u64) as u16);
            }
        }
    }

    #[test]
    fn partitions_of_one_row_and_of_the_most() {
        for row_bytes in [1, 32] {
            let small = Case { row_bytes, partition_rows: 1, lanes: 16, sets: 30 };
            small.check(15, 3, |set| mix(set as u64) as u16);
            let large = Case { row_bytes, partition_rows: 1 << 16, lanes: 3, sets: 100 };
            large.check(3 << 16, 1 << 20, |set| mix(set as u64) as u16);
        }
    }

    #[test]
    #[cfg(panic = "unwind")]
    fn a_window_takes_what_fits_and_folds_when_full() {
        let mut window = PartitionWindow::new(3, 2, 2);
        assert_eq!(window.absorb(&[1; 20]), 12);
        assert_eq!(window.absorb(&[1; 20]), 0);
        window.clear();
        assert_eq!(window.absorb(&[1; 4]), 4);
        let refused = std::panic::catch_unwind(move || {
            window.add(&[[0; 16]; 2], &[0], &mut [0; 8], &mut RowOffsets::new());
        });
        assert!(refused.is_err());
    }
}
