//! Sums of records, eight bytes each.

use super::SchemeKind;
use sotto_core::Artifact;

/// The exclusive or of a record's words: what changes in a record changes its fold by the fold of the change.
pub(super) fn fold(record: &[u8]) -> u64 {
    let words = record.chunks(8).map(|word| {
        let mut padded = [0; 8];
        padded.iter_mut().zip(word).for_each(|(to, from)| *to = *from);
        u64::from_le_bytes(padded)
    });
    words.fold(0, |sum, word| sum ^ word)
}

/// The sum of a record that a client stores: a checksum where a hint has it, the fold where changes
/// are followed.
pub(super) fn sum<K: SchemeKind>(record: &[u8]) -> u64 {
    if K::ARTIFACT != Some(Artifact::Hint) {
        return fold(record);
    }
    let mut sum = [0; 8];
    blake3::Hasher::new().update(record).finalize_xof().fill(&mut sum);
    u64::from_le_bytes(sum)
}

/// Adds bytes to a record.
pub(super) fn add(record: &mut [u8], bytes: impl IntoIterator<Item = u8>) {
    record.iter_mut().zip(bytes).for_each(|(to, from)| *to ^= from);
}
