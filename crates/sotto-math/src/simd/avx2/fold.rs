//! Rows added to parities in registers. Places are put together by scalar code: there is no
//! instruction that moves the chosen ones together.

use super::lanes::{load, store};
use crate::fold::{ALWAYS, LANES, Sources};
use core::arch::x86_64::*;

#[target_feature(enable = "avx2")]
pub(super) fn add_rows(from: Sources<'_>, places: &[[u32; LANES]], parities: &mut [u8]) {
    match from.stride {
        8 => eighths(from, places, parities),
        16 => quarters(from, places, parities),
        32 => pieces::<1>(0, from, places, parities),
        stride => {
            for at in (0..stride).step_by(64) {
                pieces::<2>(at, from, places, parities);
            }
        }
    }
}

/// Goes through the places of each set: those that are always added, and the others if there are any.
macro_rules! each {
    ($from:ident, $places:ident, $place:ident, $add:expr) => {
        if $from.lanes <= 8 {
            for &$place in &$places[..8] {
                $add
            }
        } else {
            for &$place in &$places[..ALWAYS] {
                $add
            }
            if $places[ALWAYS] != $from.zeros() {
                for &$place in &$places[ALWAYS..] {
                    $add
                }
            }
        }
    };
}

/// `K` registers of each parity, from byte `at` on.
#[target_feature(enable = "avx2")]
fn pieces<const K: usize>(at: usize, from: Sources<'_>, places: &[[u32; LANES]], parities: &mut [u8]) {
    let stride = from.stride / 32;
    let rows = from.rows.as_chunks::<32>().0;
    let parities = parities.as_chunks_mut::<32>().0.chunks_exact_mut(stride);
    for (places, parity) in places.iter().zip(parities) {
        let Some(parity) = parity[at / 32..].first_chunk_mut::<K>() else { continue };
        let mut sums = [_mm256_setzero_si256(); K];
        for i in 0..K {
            sums[i] = load(&parity[i]);
        }
        each!(from, places, place, {
            let row = &rows[place as usize * stride + at / 32..][..K];
            for i in 0..K {
                sums[i] = _mm256_xor_si256(sums[i], load(&row[i]));
            }
        });
        for i in 0..K {
            store(&mut parity[i], sums[i]);
        }
    }
}

#[target_feature(enable = "avx2")]
fn quarters(from: Sources<'_>, places: &[[u32; LANES]], parities: &mut [u8]) {
    let rows = from.rows.as_chunks::<16>().0;
    for (places, parity) in places.iter().zip(parities.as_chunks_mut::<16>().0) {
        // SAFETY: the array is the 16 bytes that this load reads, and it needs no alignment.
        let mut sum = unsafe { _mm_loadu_si128(parity.as_ptr().cast()) };
        each!(from, places, place, {
            // SAFETY: as above.
            let row = unsafe { _mm_loadu_si128(rows[place as usize].as_ptr().cast()) };
            sum = _mm_xor_si128(sum, row);
        });
        // SAFETY: the array is the 16 bytes that this store writes, and it needs no alignment.
        unsafe { _mm_storeu_si128(parity.as_mut_ptr().cast(), sum) }
    }
}

#[target_feature(enable = "avx2")]
fn eighths(from: Sources<'_>, places: &[[u32; LANES]], parities: &mut [u8]) {
    let rows = from.rows.as_chunks::<8>().0;
    for (places, parity) in places.iter().zip(parities.as_chunks_mut::<8>().0) {
        let mut sum = u64::from_ne_bytes(*parity);
        each!(from, places, place, {
            sum ^= u64::from_ne_bytes(rows[place as usize]);
        });
        *parity = sum.to_ne_bytes();
    }
}
