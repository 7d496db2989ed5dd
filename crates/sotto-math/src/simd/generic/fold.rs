//! Addition of rows to parities, in registers.
//!
//! Rows come from a window that is in a cache, and nothing is prefetched: the positions of a set do
//! not depend on earlier additions, so the processor works on several sets at once. Prefetching for
//! later sets was no faster at any size.

use super::{Register, Word};
use crate::simd::args::{ALWAYS, LANES, RowSources};

/// Adds the rows at each set's positions to its parity. `half` and `quarter` are registers of 32
/// and of 16 bytes.
#[inline(always)]
pub(in crate::simd) fn add_rows<R: Register>(
    whole: R,
    half: impl Register,
    quarter: impl Register,
    from: RowSources<'_>,
    places: &[[u32; LANES]],
    parities: &mut [u8],
) {
    match from.stride {
        8 => _ = pieces::<_, 1>(Word, 0, from, places, parities),
        16 => _ = pieces::<_, 1>(quarter, 0, from, places, parities),
        32 => _ = pieces::<_, 1>(half, 0, from, places, parities),
        stride => {
            let mut at = 0;
            while at < stride {
                at += match (stride - at) / R::BYTES {
                    8.. if R::MAX >= 8 => pieces::<_, 8>(whole, at, from, places, parities),
                    4.. if R::MAX >= 4 => pieces::<_, 4>(whole, at, from, places, parities),
                    2.. => pieces::<_, 2>(whole, at, from, places, parities),
                    _ => pieces::<_, 1>(whole, at, from, places, parities),
                };
            }
        }
    }
}

/// Iterates over the positions of each set: those that are always added, and the others if there
/// are any.
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

/// Processes `K` registers of each parity, from byte `at` on, and returns their number of bytes.
#[inline(always)]
fn pieces<R: Register, const K: usize>(
    r: R,
    at: usize,
    from: RowSources<'_>,
    places: &[[u32; LANES]],
    parities: &mut [u8],
) -> usize {
    let wide = K * R::BYTES;
    for (places, parity) in places.iter().zip(parities.chunks_exact_mut(from.stride)) {
        let Some(parity) = parity[at..].get_mut(..wide) else { continue };
        let mut sums = [r.zero(); K];
        for (sum, part) in sums.iter_mut().zip(parity.chunks_exact(R::BYTES)) {
            *sum = r.load(part);
        }
        each!(from, places, place, {
            if let Some(row) = from.rows[place as usize * from.stride + at..].get(..wide) {
                for (sum, part) in sums.iter_mut().zip(row.chunks_exact(R::BYTES)) {
                    *sum = r.xor(*sum, r.load(part));
                }
            }
        });
        for (part, sum) in parity.chunks_exact_mut(R::BYTES).zip(sums) {
            r.store(part, sum);
        }
    }
    wide
}
