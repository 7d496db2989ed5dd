//! The public mask on the data.
//!
//! Each part of each record, a polynomial's worth, is combined by exclusive or with a public stream of its own, before it
//! is encoded and after it is recovered. That hides nothing. It makes the coefficients of every table
//! uniform, whatever its publisher filled it with: noise grows with the table's coefficients, and a table of
//! equal bytes, which is a polynomial with all its weight on few frequencies, could line up with a secret.
//! So the noise model's assumption is made true instead of being assumed, and p²/12 stands where the worst
//! table would have p²/4 and a heavy tail. The mask is fixed, so a publisher can still make a table against it, and
//! have lookups in that table fail; who publishes a table can always spoil it.

use sotto_prg::PublicSeed;

/// The seed of the mask, the same for every table: BLAKE3 of [`SENTENCE`].
pub const SEED: PublicSeed = PublicSeed([
    0xac, 0xe0, 0xdb, 0xf6, 0x7b, 0x42, 0x33, 0x02, //
    0x09, 0xf8, 0x1d, 0x26, 0xc0, 0x97, 0x1e, 0x6a, //
    0xb2, 0x9e, 0x2a, 0x2f, 0x38, 0xbc, 0xeb, 0x89, //
    0x00, 0x3b, 0x8a, 0x28, 0xf2, 0x7a, 0x7f, 0x55, //
]);

/// What [`SEED`] is the digest of.
pub const SENTENCE: &str = "sotto cube: the mask on the data is the same for everyone";

/// Applies the mask of one part of a record, in place. Applying it twice changes nothing.
pub fn whiten(record: u64, part: u64, bytes: &mut [u8]) {
    let mut stream = SEED.stream("cube part", record.wrapping_shl(PART_BITS) ^ part);
    let mut mask = [0; 4096];
    for chunk in bytes.chunks_mut(mask.len()) {
        let (mask, _) = mask.split_at_mut(chunk.len());
        stream.fill(mask);
        chunk.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= *mask);
    }
}

/// A record has fewer than 2^32 parts, and a table fewer than 2^32 records: images stop at 2^46 bytes, and a
/// part takes at least 2^14.
const PART_BITS: u32 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_is_the_digest_of_the_sentence() {
        assert_eq!(SEED.0, *blake3::hash(SENTENCE.as_bytes()).as_bytes());
    }

    #[test]
    fn masks_differ_and_cancel() {
        let mut units = [[7u8; 5000]; 3];
        for (bytes, (record, unit)) in units.iter_mut().zip([(0, 0), (1, 0), (0, 1)]) {
            whiten(record, unit, bytes);
        }
        assert!(units[0] != units[1] && units[0] != units[2] && units[1] != units[2]);
        whiten(1, 0, &mut units[1]);
        assert_eq!(units[1], [7; 5000]);
    }
}
