//! Selections of records by queries, as the matrices that a scan multiplies by.

pub use crate::simd::args::{RUN_RECORDS, SelectionMatrices, SelectionShare};
use crate::simd::{self, Kernels};

/// Queries whose selections make one matrix.
pub const GROUP: usize = 8;

/// Writes the matrices of up to eight queries for each of their runs, to every `step`-th element of
/// `out`.
///
/// Several groups of queries are interleaved, run after run: group `g` of `step` groups is written
/// to `&mut out[g..]`. Rows of absent queries are zero.
///
/// # Panics
/// If there is no query or more than eight, their runs differ in number, or `out` is too short.
pub fn matrices(shares: &[SelectionShare<'_>], step: usize, out: &mut [SelectionMatrices]) {
    matrices_with(simd::kernels(), shares, step, out);
}

pub(crate) fn matrices_with(
    kernels: &dyn Kernels,
    shares: &[SelectionShare<'_>],
    step: usize,
    out: &mut [SelectionMatrices],
) {
    assert!((1..=GROUP).contains(&shares.len()), "one to eight queries");
    let runs = shares[0].masks.len();
    assert!(
        shares.iter().all(|s| s.bytes.len() == runs && s.masks.len() == runs),
        "as many runs in each share"
    );
    assert!(step > 0 && out.len().div_ceil(step) >= runs, "an output for all runs");
    kernels.matrices(shares, step, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::available;

    #[test]
    fn every_backend_gives_the_rows_in_order() {
        let byte = |i: usize| ((i as u32).wrapping_mul(2654435761) >> 9) as u8;
        for (queries, runs, step) in [(1, 3, 1), (3, 1, 2), (8, 5, 3), (7, 2, 1)] {
            let bytes: Vec<Vec<[u8; 64]>> = (0..queries)
                .map(|q| (0..runs).map(|r| std::array::from_fn(|k| byte(q * 7919 + r * 64 + k))).collect())
                .collect();
            let masks: Vec<Vec<u8>> = (0..queries)
                .map(|q| (0..runs).map(|r| 0u8.wrapping_sub((q + r) as u8 & 1)).collect())
                .collect();
            let words: Vec<[u8; 64]> =
                (0..queries).map(|q| std::array::from_fn(|k| byte(q * 31 + k + 5))).collect();
            let shares: Vec<SelectionShare<'_>> = (0..queries)
                .map(|q| SelectionShare { bytes: &bytes[q], masks: &masks[q], word: &words[q] })
                .collect();
            for kernels in available() {
                let mut out = vec![[0xAAAA; 64]; runs * step];
                matrices_with(kernels, &shares, step, &mut out);
                for (i, got) in out.iter().enumerate() {
                    let (run, at) = (i / step, i % step);
                    let expected: SelectionMatrices = std::array::from_fn(|k| {
                        let row = |q: usize| {
                            if q >= queries { 0 } else { bytes[q][run][k] ^ (masks[q][run] & words[q][k]) }
                        };
                        if at == 0 { u64::from_be_bytes(std::array::from_fn(row)) } else { 0xAAAA }
                    });
                    assert_eq!(*got, expected, "{queries} queries, place {i}, by {}", kernels.name());
                }
            }
        }
    }
}
