//! The gather: up to eight registers of each row at a time, fetched ahead.

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

#[target_feature(enable = "avx512f,avx512vl")]
pub(super) fn gather(rows: Rows<'_>, picks: Picks<'_>, [all, one]: [&mut [u8]; 2]) {
    let mut at = 0;
    while at < rows.row_bytes {
        let out = [&mut all[at..], &mut one[at..]];
        at += match rows.row_bytes - at {
            512.. => lines::<8>(at, rows, picks, out),
            256.. => lines::<4>(at, rows, picks, out),
            128.. => lines::<2>(at, rows, picks, out),
            64.. => lines::<1>(at, rows, picks, out),
            32.. => half(at, rows, picks, out),
            16.. => quarter(at, rows, picks, out),
            8.. => eighth(at, rows, picks, out),
            _ => break,
        };
    }
    // What is left is read together with bytes before it: a load that lies within the row does not touch another line.
    match rows.row_bytes.checked_sub(8) {
        None => small(rows, picks, [all, one]),
        Some(last) if at < rows.row_bytes => {
            eighth(last, rows, picks, [&mut all[last..], &mut one[last..]]);
        }
        Some(_) => {}
    }
}

/// Asks for the lines of `bytes` bytes of the row of partition `k`, if there is one. They may be one more than they fill.
#[inline]
#[target_feature(enable = "avx512f")]
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

/// The `N` bytes from byte `at` on of a row, if it is stored.
#[inline(always)]
fn bytes<'a, const N: usize>(k: usize, at: usize, rows: &Rows<'a>, picks: &Picks<'_>) -> Option<&'a [u8; N]> {
    rows.bytes.get(rows.at(k, picks.offsets[k]) + at..)?.first_chunk()
}

#[target_feature(enable = "avx512f")]
fn lines<const K: usize>(
    at: usize,
    rows: Rows<'_>,
    picks: Picks<'_>,
    [all_out, one_out]: [&mut [u8]; 2],
) -> usize {
    let mut all = [_mm512_setzero_si512(); K];
    let mut one = [_mm512_setzero_si512(); K];
    let ahead = const { ahead(K * 64) };
    for k in 0..ahead {
        fetch(k, at, K * 64, &rows, &picks);
    }
    for k in 0..picks.offsets.len() {
        fetch(k + ahead, at, K * 64, &rows, &picks);
        let mask = 0u8.wrapping_sub(picks.half(k));
        let Some(row) = rows.bytes.get(rows.at(k, picks.offsets[k]) + at..) else { continue };
        let Some(row) = row.as_chunks::<64>().0.first_chunk::<K>() else { continue };
        for i in 0..K {
            let row = load(&row[i]);
            all[i] = _mm512_xor_si512(all[i], row);
            one[i] = _mm512_mask_xor_epi64(one[i], mask, one[i], row);
        }
    }
    for (out, sums) in [(all_out, all), (one_out, one)] {
        for (out, sum) in out.as_chunks_mut::<64>().0.iter_mut().zip(sums) {
            store(out, sum);
        }
    }
    K * 64
}

#[target_feature(enable = "avx512f,avx512vl")]
fn half(at: usize, rows: Rows<'_>, picks: Picks<'_>, out: [&mut [u8]; 2]) -> usize {
    let mut sums = [_mm256_setzero_si256(); 2];
    for k in 0..AHEAD {
        fetch(k, at, 32, &rows, &picks);
    }
    for k in 0..picks.offsets.len() {
        fetch(k + AHEAD, at, 32, &rows, &picks);
        let mask = 0u8.wrapping_sub(picks.half(k));
        let Some(row) = bytes::<32>(k, at, &rows, &picks) else { continue };
        // SAFETY: the array is the 32 bytes that this load reads, and it needs no alignment.
        let row = unsafe { _mm256_loadu_si256(row.as_ptr().cast()) };
        sums[0] = _mm256_xor_si256(sums[0], row);
        sums[1] = _mm256_mask_xor_epi64(sums[1], mask, sums[1], row);
    }
    for (out, sum) in out.into_iter().zip(sums) {
        if let Some(out) = out.first_chunk_mut::<32>() {
            // SAFETY: the array is the 32 bytes that this store writes, and it needs no alignment.
            unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), sum) }
        }
    }
    32
}

#[target_feature(enable = "avx512f,avx512vl")]
fn quarter(at: usize, rows: Rows<'_>, picks: Picks<'_>, out: [&mut [u8]; 2]) -> usize {
    let mut sums = [_mm_setzero_si128(); 2];
    for k in 0..AHEAD {
        fetch(k, at, 16, &rows, &picks);
    }
    for k in 0..picks.offsets.len() {
        fetch(k + AHEAD, at, 16, &rows, &picks);
        let mask = 0u8.wrapping_sub(picks.half(k));
        let Some(row) = bytes::<16>(k, at, &rows, &picks) else { continue };
        // SAFETY: the array is the 16 bytes that this load reads, and it needs no alignment.
        let row = unsafe { _mm_loadu_si128(row.as_ptr().cast()) };
        sums[0] = _mm_xor_si128(sums[0], row);
        sums[1] = _mm_mask_xor_epi64(sums[1], mask, sums[1], row);
    }
    for (out, sum) in out.into_iter().zip(sums) {
        if let Some(out) = out.first_chunk_mut::<16>() {
            // SAFETY: the array is the 16 bytes that this store writes, and it needs no alignment.
            unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), sum) }
        }
    }
    16
}

#[target_feature(enable = "avx512f")]
fn eighth(at: usize, rows: Rows<'_>, picks: Picks<'_>, out: [&mut [u8]; 2]) -> usize {
    let mut sums = [0; 2];
    for k in 0..AHEAD {
        fetch(k, at, 8, &rows, &picks);
    }
    for k in 0..picks.offsets.len() {
        fetch(k + AHEAD, at, 8, &rows, &picks);
        let mask = 0u64.wrapping_sub(u64::from(picks.half(k)));
        let Some(row) = bytes::<8>(k, at, &rows, &picks) else { continue };
        let row = u64::from_ne_bytes(*row);
        sums[0] ^= row;
        sums[1] ^= row & mask;
    }
    for (out, sum) in out.into_iter().zip(sums) {
        if let Some(out) = out.first_chunk_mut() {
            *out = sum.to_ne_bytes();
        }
    }
    8
}

/// Rows of fewer than eight bytes: eight are read, which are more than one row's, and the others left out at the end.
#[target_feature(enable = "avx512f")]
fn small(rows: Rows<'_>, picks: Picks<'_>, out: [&mut [u8]; 2]) {
    let mut sums = [0; 2];
    for k in 0..AHEAD {
        fetch(k, 0, 8, &rows, &picks);
    }
    for k in 0..picks.offsets.len() {
        fetch(k + AHEAD, 0, 8, &rows, &picks);
        let mask = 0u64.wrapping_sub(u64::from(picks.half(k)));
        let Some(stored) = rows.bytes.get(rows.at(k, picks.offsets[k])..) else { continue };
        let row = match stored.first_chunk() {
            Some(row) => u64::from_le_bytes(*row),
            // The last bytes of the table.
            None => stored.iter().rev().fold(0, |row, byte| row << 8 | u64::from(*byte)),
        };
        sums[0] ^= row;
        sums[1] ^= row & mask;
    }
    for (out, sum) in out.into_iter().zip(sums) {
        out.copy_from_slice(&sum.to_le_bytes()[..out.len()]);
    }
}
