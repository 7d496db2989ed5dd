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
