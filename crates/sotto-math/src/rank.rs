//! Rank of bytes: finds the smaller half of many.

use crate::simd::{self, Kernels};

/// The position of a rank among bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankSplit {
    /// Byte at the rank.
    pub byte: u8,
    /// Number of bytes that are smaller.
    pub below: usize,
    /// Number of bytes that are equal.
    pub equal: usize,
}

/// Finds the byte that would be at `rank` (from 0) if `values` were sorted; `equal` receives a bit
/// for each value that equals it.
///
/// Every pass counts the values below a guess, and the next guess assumes that bytes are uniform;
/// so two or three passes suffice for uniform bytes, and a dozen for any. The number of passes
/// depends on the values.
///
/// # Panics
/// If there are not more than `rank` values, or `equal` is not one word for each 64 of them.
pub fn split(values: &[u8], rank: usize, equal: &mut [u64]) -> RankSplit {
    split_with(simd::kernels(), values, rank, equal)
}

pub(crate) fn split_with(kernels: &dyn Kernels, values: &[u8], rank: usize, equal: &mut [u64]) -> RankSplit {
    /// Number of guesses that assume uniform bytes; those after them halve the remaining range.
    const GUESSES: u32 = 4;
    let n = values.len();
    assert!(rank < n, "a rank of these values");
    assert_eq!(equal.len(), n.div_ceil(64), "a bit for each value");
    let (mut low, mut high) = (0, 255);
    let mut guess = rank * 256 / n;
    let mut passes = 0;
    loop {
        let byte = guess as u8;
        let [below, count] = kernels.tally(values, byte, equal);
        let up_to = below + count;
        passes += 1;
        if rank < below {
            high = guess - 1;
            guess = high.saturating_sub((below - 1 - rank) * 256 / n);
        } else if rank >= up_to {
            low = guess + 1;
            guess = low + (rank - up_to) * 256 / n;
        } else {
            return RankSplit { byte, below, equal: count };
        }
        guess = if passes < GUESSES { guess.clamp(low, high) } else { (low + high) / 2 };
    }
}

/// Compares sixteen bytes of each set with the bound of that set: bit `k` of `less[i]` says that
/// byte `k` of `values[i]` is less than `bounds[i]`, and `equal` likewise.
///
/// # Panics
/// If the slices differ in length.
pub fn compare(values: &[[u8; 16]], bounds: &[u8], less: &mut [u16], equal: &mut [u16]) {
    compare_with(simd::kernels(), values, bounds, less, equal);
}

pub(crate) fn compare_with(
    kernels: &dyn Kernels,
    values: &[[u8; 16]],
    bounds: &[u8],
    less: &mut [u16],
    equal: &mut [u16],
) {
    let n = values.len();
    assert!(bounds.len() == n && less.len() == n && equal.len() == n, "one of each for a set");
    kernels.compare(values, bounds, less, equal);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::mix;
    use crate::simd::available;

    #[test]
    fn the_byte_at_every_rank() {
        let fills: [&dyn Fn(u64) -> u8; 7] = [
            &|i| mix(i) as u8,
            &|i| (mix(i) % 3) as u8 + 127,
            &|_| 0,
            &|_| 255,
            &|i| if i % 2 == 0 { 0 } else { 255 },
            &|i| (mix(i) % 250).min(1) as u8,
            &|i| 255 - (mix(i) % 250).min(1) as u8,
        ];
        for n in [1, 2, 3, 15, 16, 17, 63, 64, 65, 127, 130, 1024, 1000, 5000] {
            for fill in fills {
                let values: Vec<u8> = (0..n as u64).map(fill).collect();
                let mut sorted = values.clone();
                sorted.sort_unstable();
                for rank in [0, n / 3, n / 2, n - 1] {
                    let byte = sorted[rank];
                    let below = sorted.partition_point(|&v| v < byte);
                    let expected =
                        RankSplit { byte, below, equal: sorted.partition_point(|&v| v <= byte) - below };
                    for kernels in available() {
                        let mut equal = vec![u64::MAX; n.div_ceil(64)];
                        let split = split_with(kernels, &values, rank, &mut equal);
                        assert_eq!(split, expected, "{n} {rank} by {}", kernels.name());
                        for i in 0..equal.len() * 64 {
                            let is = values.get(i) == Some(&byte);
                            assert_eq!(
                                equal[i / 64] >> (i % 64) & 1 == 1,
                                is,
                                "{n} {i} by {}",
                                kernels.name()
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn every_set_has_a_bound() {
        for n in [0, 1, 2, 3, 4, 5, 31, 64, 100] {
            let values: Vec<[u8; 16]> =
                (0..n).map(|i| std::array::from_fn(|k| (mix(i << 8 | k as u64) % 5) as u8 * 63)).collect();
            let bounds: Vec<u8> = (0..n).map(|i| (mix(i) % 5) as u8 * 63).collect();
            for kernels in available() {
                let (mut less, mut equal) = (vec![0xAAAA; n as usize], vec![0x5555; n as usize]);
                compare_with(kernels, &values, &bounds, &mut less, &mut equal);
                for (i, values) in values.iter().enumerate() {
                    for (k, value) in values.iter().enumerate() {
                        let got = (less[i] >> k & 1 == 1, equal[i] >> k & 1 == 1);
                        let expected = (*value < bounds[i], *value == bounds[i]);
                        assert_eq!(got, expected, "{n} {i} {k} by {}", kernels.name());
                    }
                }
            }
        }
    }
}
