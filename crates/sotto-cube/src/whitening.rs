//! Whitening: a public random stream that is combined with the data.
//!
//! Each part of each record, of one polynomial, is combined by exclusive or with a public stream of
//! its own, before it is encoded and after it is recovered. This hides nothing. It makes the
//! coefficients of every table uniform, whatever its contents: noise grows with the table's
//! coefficients, and a table of equal bytes, which is a polynomial with all its weight on few
//! frequencies, could line up with a secret. So the noise model's assumption holds by construction,
//! with p²/12 where the worst table would have p²/4 and a heavy tail.
//!
//! The seed is in the literal, and each table has its own: it is derived from the rows and the
//! publisher's secret, when the table is encoded. So the bound holds against anyone who contributes
//! rows and does not know that secret. Rows that were written *before* were written without
//! knowledge of the stream; of those that are written *after*, in place, the failure bound assumes
//! the worst values for as many as the literal's `written` says, and with the next one the table is
//! re-encoded under another seed. The publisher can make a table against the stream, and have
//! lookups in it fail; but a publisher can always spoil its own table.

use sotto_prg::PublicSeed;

/// Whitens one part of a record, in place. Applying it twice changes nothing.
pub fn whiten(seed: &PublicSeed, record: u64, part: u64, bytes: &mut [u8]) {
    seed.stream("cube part", record.wrapping_shl(PART_BITS) ^ part).combine(bytes);
}

/// Bits of a part's number in a stream's index. A record has fewer than 2^32 parts, and a table
/// fewer than 2^32 records: images have at most 2^46 bytes, and a part takes at least 2^14.
const PART_BITS: u32 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_differ_and_cancel() {
        let seeds = [PublicSeed([1; 32]), PublicSeed([2; 32])];
        let mut units = [[7u8; 5000]; 4];
        let which = [(0, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0)];
        for (bytes, (seed, record, unit)) in units.iter_mut().zip(which) {
            whiten(&seeds[seed], record, unit, bytes);
        }
        for (i, one) in units.iter().enumerate() {
            assert!(units[i + 1..].iter().all(|other| other != one));
        }
        whiten(&seeds[0], 1, 0, &mut units[1]);
        assert_eq!(units[1], [7; 5000]);
    }
}
