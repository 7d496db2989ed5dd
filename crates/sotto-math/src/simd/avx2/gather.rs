//! The gather: up to four registers of each row at a time, fetched ahead.

use super::lanes::{load, prefetch, store};
use crate::gather::{Picks, Rows};
use core::arch::x86_64::*;

/// How many partitions ahead rows are fetched. Measured on Zen 5 with rows of 32 bytes, of 32 MiB to 8 GiB: 64 to 128 take
/// the same time, and a third to a half less than 16 or 32.
const AHEAD: usize = 96;

/// The same for wider rows, of which fewer fit the nearest cache.
const fn ahead(bytes: usize) -> usize {
    if bytes <= 64 { AHEAD } else { AHEAD * 64 / bytes + 8 }
}

#[target_feature(enable = "avx2")]
pub(super) fn gather(rows: Rows<'_>, picks: Picks<'_>, [all, one]: [&mut [u8]; 2]) {
    let mut at = 0;
    while rows.row_bytes - at >= 32 {
        let out = [&mut all[at..], &mut one[at..]];
        at += match rows.row_bytes - at {
            128.. => pieces::<4>(at, rows, picks, out),
            64.. => pieces::<2>(at, rows, picks, out),
            _ => pieces::<1>(at, rows, picks, out),
        };
    }
    crate::simd::scalar::gather_from(at, rows, picks, [all, one]);
}

/// Asks for the lines of `bytes` bytes of the row of partition `k`, if there is one. They may be one more than they fill.
#[inline]
#[target_feature(enable = "avx2")]
fn fetch(k: usize, at: usize, bytes: usize, rows: &Rows<'_>, picks: &Picks<'_>) {
    if let Some(&offset) = picks.offsets.get(k) {
        let from = rows.bytes.as_ptr().wrapping_add(rows.at(k, offset) + at);
        for line in (0..bytes).step_by(64) {
            prefetch(from.wrapping_add(line));
        }
        if !rows.row_bytes.is_multiple_of(bytes) || bytes > 64 {
            prefetch(from.wrapping_add(bytes - 1));
        }
    }
}

#[target_feature(enable = "avx2")]
fn pieces<const K: usize>(
    at: usize,
    rows: Rows<'_>,
    picks: Picks<'_>,
    [all_out, one_out]: [&mut [u8]; 2],
) -> usize {
    let mut all = [_mm256_setzero_si256(); K];
    let mut one = [_mm256_setzero_si256(); K];
    let ahead = const { ahead(K * 32) };
    for k in 0..ahead {
        fetch(k, at, K * 32, &rows, &picks);
    }
    for k in 0..picks.offsets.len() {
        fetch(k + ahead, at, K * 32, &rows, &picks);
        let mask = _mm256_set1_epi8(0i8.wrapping_sub(picks.half(k) as i8));
        let Some(row) = rows.bytes.get(rows.at(k, picks.offsets[k]) + at..) else { continue };
        let Some(row) = row.as_chunks::<32>().0.first_chunk::<K>() else { continue };
        for i in 0..K {
            let row = load(&row[i]);
            all[i] = _mm256_xor_si256(all[i], row);
            one[i] = _mm256_xor_si256(one[i], _mm256_and_si256(row, mask));
        }
    }
    for (out, sums) in [(all_out, all), (one_out, one)] {
        for (out, sum) in out.as_chunks_mut::<32>().0.iter_mut().zip(sums) {
            store(out, sum);
        }
    }
    K * 32
}
