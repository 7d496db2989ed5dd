//! The public whitening of the data.
//!
//! Each slot is combined by exclusive or with a public stream, before it is encoded and after it is
//! recovered. That hides nothing. It makes the coefficients of every table uniform, for any
//! content, which the noise bound requires: noise grows with the table's coefficients, and a table
//! of equal bytes has all its weight in few of them.
//!
//! The seed is in the literal, and each table has its own: it follows from the rows and the
//! publisher's secret, when the table is encoded. So the bound holds against anyone who contributes
//! rows and does not know that secret. Of rows that are written after that, in place, the bound
//! takes as many in the worst case as the literal's `written` allows, and with the next one the
//! table is encoded from scratch under another mask. The publisher can make a table against the
//! mask, and have lookups in it fail; but publishers can always spoil their own tables.

use sotto_prg::PublicSeed;

/// Whitens the slots of one layer of a row, in place. Applying it twice restores them.
pub fn whiten(seed: &PublicSeed, row: u64, layer: u32, slot_bits: u32, slots: &mut [u64]) {
    // A table has fewer than 2^48 rows, and fewer layers than 2^16.
    let mut stream = seed.stream("bgvpir row", row << 16 ^ u64::from(layer));
    let mut bytes = [0; 4096];
    for slots in slots.chunks_mut(bytes.len() / 2) {
        let bytes = &mut bytes[..2 * slots.len()];
        stream.fill(bytes);
        for (slot, word) in slots.iter_mut().zip(bytes.as_chunks::<2>().0) {
            *slot ^= u64::from(u16::from_le_bytes(*word)) & ((1 << slot_bits) - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_differ_fit_their_slots_and_cancel() {
        let seeds = [PublicSeed([1; 32]), PublicSeed([2; 32])];
        let mut rows = [[7u64; 630]; 4];
        for (slots, (seed, row, layer)) in rows.iter_mut().zip([(0, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0)]) {
            whiten(&seeds[seed], row, layer, 13, slots);
            assert!(slots.iter().all(|slot| *slot < 1 << 13));
        }
        for (i, one) in rows.iter().enumerate() {
            assert!(rows[i + 1..].iter().all(|other| other != one));
        }
        whiten(&seeds[0], 1, 0, 13, &mut rows[1]);
        assert_eq!(rows[1], [7; 630]);
    }
}
