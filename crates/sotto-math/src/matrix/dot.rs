//! Products of rows of 32-bit words and short vectors: the client's half of a hint.

use crate::simd::{self, Kernels};

/// Computes `y[r]` = sum over `j` of `h[r * n + j] * s[j]`, modulo 2^64.
///
/// The sum is the exact integer while `n` times the largest `|s|` is below 2^31.
///
/// # Panics
/// If `s` is not `n` long or `h` is not `y.len()` rows of `n`.
pub fn dot_rows(h: &[u32], n: usize, s: &[i32], y: &mut [i64]) {
    dot_rows_with(simd::kernels(), h, n, &[s], &mut [y]);
}

/// Computes [`dot_rows`] for several vectors, reading `h` once.
///
/// # Panics
/// If there are not as many outputs as vectors, or as [`dot_rows`].
pub fn dot_rows_many(h: &[u32], n: usize, s: &[&[i32]], y: &mut [&mut [i64]]) {
    dot_rows_with(simd::kernels(), h, n, s, y);
}

pub(crate) fn dot_rows_with(kernels: &dyn Kernels, h: &[u32], n: usize, s: &[&[i32]], y: &mut [&mut [i64]]) {
    assert_eq!(s.len(), y.len(), "one output per vector");
    for (s, y) in s.iter().zip(y.iter()) {
        assert_eq!(s.len(), n, "a vector of n words");
        assert_eq!(h.len(), y.len() * n, "rows of n words");
    }
    if n == 0 {
        y.iter_mut().for_each(|y| y.fill(0));
    } else {
        kernels.dot(h, n, s, y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::mix;
    use crate::simd::available;

    #[test]
    fn every_backend_gives_the_integers() {
        let fills: [(&dyn Fn(u64) -> u32, &dyn Fn(u64) -> i32); 5] = [
            (&|i| mix(i) as u32, &|i| (mix(i) % 200) as i32 - 100),
            (&|_| u32::MAX, &|_| 32767),
            (&|_| u32::MAX, &|_| -32768),
            (&|_| 1 << 31, &|i| if i % 2 == 0 { -1 } else { 1 }),
            (&|i| mix(i) as u32, &|i| mix(i) as i32),
        ];
        for n in [0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 1024, 1030] {
            for (rows, vectors) in [(0, 1), (1, 1), (2, 2), (3, 3), (5, 5), (2, 0), (4, 9)] {
                for (word, small) in fills {
                    let h: Vec<u32> = (0..(rows * n) as u64).map(word).collect();
                    let s: Vec<Vec<i32>> =
                        (0..vectors).map(|v| (0..n as u64).map(|i| small(i + v * 5000)).collect()).collect();
                    let s: Vec<&[i32]> = s.iter().map(|s| &s[..]).collect();
                    let exact = |v: usize, r: usize| -> i128 {
                        (0..n).map(|j| i128::from(h[r * n + j]) * i128::from(s[v][j])).sum()
                    };
                    for k in available() {
                        let mut y = vec![vec![55; rows]; s.len()];
                        let mut views: Vec<&mut [i64]> = y.iter_mut().map(|y| &mut y[..]).collect();
                        dot_rows_with(k, &h, n, &s, &mut views);
                        for (v, y) in y.iter().enumerate() {
                            let expected: Vec<i64> = (0..rows).map(|r| exact(v, r) as i64).collect();
                            assert_eq!(y, &expected, "{rows} rows of {n}, {vectors} vectors, {}", k.name());
                        }
                    }
                }
            }
        }
    }
}
