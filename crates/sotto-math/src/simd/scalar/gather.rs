//! The gather, in arrays that compilers put into registers.

use crate::simd::args::{PartitionRows, RowPicks};

/// Replaces the parities by that of all rows and that of half 1.
pub(super) fn gather(rows: PartitionRows<'_>, picks: RowPicks<'_>, [all, one]: [&mut [u8]; 2]) {
    let at = pieces::<32>(0, rows, picks, [all, one]);
    let at = pieces::<8>(at, rows, picks, [all, one]);
    pieces::<1>(at, rows, picks, [all, one]);
}

/// Processes as many pieces of `S` bytes as there are from byte `at` on, and returns their end.
fn pieces<const S: usize>(
    at: usize,
    rows: PartitionRows<'_>,
    picks: RowPicks<'_>,
    [all, one]: [&mut [u8]; 2],
) -> usize {
    let alls = all[at..].as_chunks_mut::<S>().0;
    let ones = one[at..].as_chunks_mut::<S>().0;
    let mut at = at;
    for (all, one) in alls.iter_mut().zip(ones) {
        [*all, *one] = piece(at, rows, picks);
        at += S;
    }
    at
}

fn piece<const S: usize>(at: usize, rows: PartitionRows<'_>, picks: RowPicks<'_>) -> [[u8; S]; 2] {
    let (mut all, mut one) = ([0; S], [0; S]);
    for (k, &offset) in picks.offsets.iter().enumerate() {
        let Some(row) = rows.bytes.get(rows.at(k, offset) + at..).and_then(|b| b.first_chunk::<S>()) else {
            continue;
        };
        let mask = 0u8.wrapping_sub(picks.half(k));
        for i in 0..S {
            all[i] ^= row[i];
            one[i] ^= row[i] & mask;
        }
    }
    [all, one]
}
