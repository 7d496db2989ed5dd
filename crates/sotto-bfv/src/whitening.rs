//! Whitening: a public random stream that is combined with the data.
//!
//! Every record's numbers are combined by exclusive or with a public stream, before they are
//! encoded and after they are recovered; space without a record holds the stream alone. This hides
//! nothing. It makes the plaintexts of every table uniform, whatever its contents, which the noise
//! bound requires.
//!
//! The seed is in the literal, and each table has its own: it is derived from the rows and the
//! publisher's secret, when the table is encoded. Of rows that are written after that, in place,
//! the bound assumes the worst values for as many as the literal's `written` says, and with the
//! next one the table is re-encoded under another seed.

use sotto_prg::PublicSeed;

/// Whitens a record's numbers of `bits` bits each, in place. Applying it twice changes nothing.
pub fn whiten(seed: &PublicSeed, record: u64, bits: u32, words: &mut [u64]) {
    let mut stream = seed.stream("bfv record", record);
    let mut bytes = [0; 512];
    for words in words.chunks_mut(bytes.len() / 2) {
        let bytes = &mut bytes[..2 * words.len()];
        stream.fill(bytes);
        for (word, mask) in words.iter_mut().zip(bytes.as_chunks::<2>().0) {
            *word ^= u64::from(u16::from_le_bytes(*mask)) & ((1 << bits) - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_differ_fit_their_numbers_and_cancel() {
        let seeds = [PublicSeed([1; 32]), PublicSeed([2; 32])];
        let mut records = [[7u64; 600]; 3];
        for (words, (seed, record)) in records.iter_mut().zip([(0, 0), (0, 1), (1, 0)]) {
            whiten(&seeds[seed], record, 14, words);
            assert!(words.iter().all(|word| *word < 1 << 14));
        }
        assert!(records[0] != records[1] && records[0] != records[2]);
        whiten(&seeds[0], 1, 14, &mut records[1]);
        assert_eq!(records[1], [7; 600]);
    }
}
