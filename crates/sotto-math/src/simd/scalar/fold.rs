//! Positions of rows, and addition of rows to parities, in arrays that compilers put into
//! registers.

use crate::simd::args::{ALWAYS, LANES, RowSources, SetOffsets};

/// Computes for each set the positions of its rows, followed by that of the zeros. The first set's
/// offsets are in block `first` of each partition.
pub(in crate::simd) fn places(lanes: SetOffsets<'_>, first: usize, chosen: &[u16], out: &mut [[u32; LANES]]) {
    for (i, (&chosen, out)) in chosen.iter().zip(out).enumerate() {
        *out = [lanes.zeros(); LANES];
        // Every position is written, and the next one over it if it does not belong to the set.
        let mut len = 0;
        for k in 0..lanes.count {
            let block = &lanes.offsets[k * lanes.blocks + first + i / 8].as_chunks::<2>().0;
            let offset = usize::from(u16::from_le_bytes(block[i % 8])) & (lanes.rows - 1);
            out[len % LANES] = (k * lanes.rows + offset) as u32;
            len += usize::from(chosen >> k & 1);
        }
        if len < LANES {
            out[len] = lanes.zeros();
        }
    }
}

pub(super) fn add_rows(from: RowSources<'_>, places: &[[u32; LANES]], parities: &mut [u8]) {
    match from.stride {
        8 => pieces::<8>(from, places, parities),
        16 => pieces::<16>(from, places, parities),
        32 => pieces::<32>(from, places, parities),
        _ => pieces::<64>(from, places, parities),
    }
}

fn pieces<const S: usize>(from: RowSources<'_>, places: &[[u32; LANES]], parities: &mut [u8]) {
    let zeros = from.zeros();
    for (places, parity) in places.iter().zip(parities.chunks_exact_mut(from.stride)) {
        let (always, rest) = places.split_at(ALWAYS.min(from.lanes));
        let rest = if rest.first().is_some_and(|&place| place != zeros) { rest } else { &[] };
        for (i, parity) in parity.as_chunks_mut::<S>().0.iter_mut().enumerate() {
            for &place in always.iter().chain(rest) {
                let row =
                    from.rows.get(place as usize * from.stride + i * S..).and_then(|r| r.first_chunk::<S>());
                let Some(row) = row else { continue };
                for (sum, byte) in parity.iter_mut().zip(row) {
                    *sum ^= byte;
                }
            }
        }
    }
}
