//! The public mask on the data.
//!
//! Each slot is combined by exclusive or with a public stream, before it is encoded and after it is recovered. That
//! hides nothing. It makes the coefficients of every table uniform, whatever its publisher filled it with, which the
//! noise bound rests on: noise grows with the table's coefficients, and a table of equal bytes has all its weight in
//! few of them. A publisher can still make a table against the mask, and have lookups in that table fail; who publishes
//! a table can always spoil it.

use sotto_prg::PublicSeed;

/// The seed of the mask, the same for every table: BLAKE3 of [`SENTENCE`].
pub const SEED: PublicSeed = PublicSeed([
    0xc0, 0xba, 0x59, 0x02, 0xd8, 0xaa, 0xee, 0x13, //
    0xf5, 0x7f, 0x38, 0xdb, 0x39, 0x8b, 0x3e, 0x17, //
    0x29, 0x7d, 0xbd, 0x35, 0xe7, 0x8e, 0x93, 0x1a, //
    0x14, 0x71, 0x6a, 0x34, 0x9e, 0xe0, 0x70, 0x58, //
]);

/// What [`SEED`] is the digest of.
pub const SENTENCE: &str = "sotto bgvpir: the mask on the data is the same for everyone";

/// Applies the mask of one layer of a row to its slots, in place. Applying it twice changes nothing.
pub fn whiten(row: u64, layer: u32, slot_bits: u32, slots: &mut [u64]) {
    // A table has fewer than 2^48 rows, and fewer layers than 2^16.
    let mut stream = SEED.stream("bgvpir row", row << 16 ^ u64::from(layer));
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
    fn the_seed_is_the_digest_of_the_sentence() {
        assert_eq!(SEED.0, *blake3::hash(SENTENCE.as_bytes()).as_bytes());
    }

    #[test]
    fn masks_differ_fit_their_slots_and_cancel() {
        let mut rows = [[7u64; 630]; 3];
        for (slots, (row, layer)) in rows.iter_mut().zip([(0, 0), (1, 0), (0, 1)]) {
            whiten(row, layer, 13, slots);
            assert!(slots.iter().all(|slot| *slot < 1 << 13));
        }
        assert!(rows[0] != rows[1] && rows[0] != rows[2] && rows[1] != rows[2]);
        whiten(1, 0, 13, &mut rows[1]);
        assert_eq!(rows[1], [7; 630]);
    }
}
