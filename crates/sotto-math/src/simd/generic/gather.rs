//! The gather: some registers of each row at a time, prefetched.

use super::{Register, Word, prefetch_second};
use crate::simd::args::{PartitionRows, RowPicks};

/// Number of partitions ahead that rows are prefetched. Measured on Zen 5 with rows of 32 bytes,
/// tables of 32 MiB to 8 GiB, and prefetches into the first-level cache: 64 to 128 take the same
/// time, and a third to a half less than 16 or 32. On Zen 4, with 512 MiB: into the second-level
/// cache 64 to 512 take the same time, and less than half of what they take into the first.
const AHEAD: usize = 96;

/// Number of partitions ahead for wider rows, of which fewer fit the nearest cache.
const fn ahead(bytes: usize) -> usize {
    if bytes <= 64 { AHEAD } else { AHEAD * 64 / bytes + 8 }
}

/// Replaces the parities by that of all picked rows and that of half 1. `half` and `quarter` are
/// registers of 32 and of 16 bytes.
#[inline(always)]
pub(in crate::simd) fn gather<R: Register>(
    whole: R,
    half: impl Register,
    quarter: impl Register,
    rows: PartitionRows<'_>,
    picks: RowPicks<'_>,
    [all, one]: [&mut [u8]; 2],
) {
    let mut at = 0;
    while at < rows.row_bytes {
        let out = [&mut all[at..], &mut one[at..]];
        let left = rows.row_bytes - at;
        at += match (left / R::BYTES, left) {
            (8.., _) if R::MAX >= 8 => pieces::<_, 8>(whole, at, rows, picks, out),
            (4.., _) => pieces::<_, 4>(whole, at, rows, picks, out),
            (2.., _) => pieces::<_, 2>(whole, at, rows, picks, out),
            (1.., _) => pieces::<_, 1>(whole, at, rows, picks, out),
            (_, 32..) => pieces::<_, 1>(half, at, rows, picks, out),
            (_, 16..) => pieces::<_, 1>(quarter, at, rows, picks, out),
            (_, 8..) => pieces::<_, 1>(Word, at, rows, picks, out),
            _ => break,
        };
    }
    // The rest is read together with bytes before it: a load within the row does not touch another
    // line.
    match rows.row_bytes.checked_sub(8) {
        None => small(rows, picks, [all, one]),
        Some(last) if at < rows.row_bytes => {
            pieces::<_, 1>(Word, last, rows, picks, [&mut all[last..], &mut one[last..]]);
        }
        Some(_) => {}
    }
}

/// Prefetches the lines of `bytes` bytes of the row of partition `k`, if there is one. They may be
/// one more than the bytes fill.
#[inline(always)]
fn fetch(k: usize, at: usize, bytes: usize, rows: &PartitionRows<'_>, picks: &RowPicks<'_>) {
    if let Some(&offset) = picks.offsets.get(k) {
        let from = rows.bytes.as_ptr().wrapping_add(rows.at(k, offset) + at);
        for line in (0..bytes).step_by(64) {
            prefetch_second(from.wrapping_add(line));
        }
        if !rows.row_bytes.is_multiple_of(bytes) || bytes > 64 {
            prefetch_second(from.wrapping_add(bytes - 1));
        }
    }
}

/// Processes `K` registers of each row, from byte `at` on, and returns their number of bytes.
#[inline(always)]
fn pieces<R: Register, const K: usize>(
    r: R,
    at: usize,
    rows: PartitionRows<'_>,
    picks: RowPicks<'_>,
    [all_out, one_out]: [&mut [u8]; 2],
) -> usize {
    let wide = K * R::BYTES;
    let (mut all, mut one) = ([r.zero(); K], [r.zero(); K]);
    let ahead = ahead(wide);
    for k in 0..ahead {
        fetch(k, at, wide, &rows, &picks);
    }
    for k in 0..picks.offsets.len() {
        fetch(k + ahead, at, wide, &rows, &picks);
        let half = picks.half(k);
        // The last partitions may lack rows.
        let Some(row) = rows.bytes.get(rows.at(k, picks.offsets[k]) + at..) else { continue };
        let Some(row) = row.get(..wide) else { continue };
        for (i, part) in row.chunks_exact(R::BYTES).enumerate() {
            let row = r.load(part);
            all[i] = r.xor(all[i], row);
            one[i] = r.xor_if(half, one[i], row);
        }
    }
    for (out, sums) in [(all_out, all), (one_out, one)] {
        for (out, sum) in out.chunks_exact_mut(R::BYTES).zip(sums) {
            r.store(out, sum);
        }
    }
    wide
}

/// Processes rows of fewer than eight bytes: eight are read, which are more than one row's, and the
/// others dropped at the end.
#[inline(always)]
fn small(rows: PartitionRows<'_>, picks: RowPicks<'_>, out: [&mut [u8]; 2]) {
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
