//! The test schemes' artifact: eight bytes of checksum per record, in order; and its delta: for each
//! changed record its index (u64, little-endian) and its new checksum.

use sotto_core::{PeerMisbehaved, Result};

/// Bytes of one checksum.
pub(crate) const SUM: usize = 8;
const ENTRY: usize = 8 + SUM;

/// The checksum of a record.
pub(crate) fn sum(record: &[u8]) -> [u8; SUM] {
    let mut sum = [0; SUM];
    sum.copy_from_slice(&blake3::hash(record).as_bytes()[..SUM]);
    sum
}

/// One entry of a delta.
pub(crate) fn entry(record: u64, sum: [u8; SUM]) -> [u8; ENTRY] {
    let mut entry = [0; ENTRY];
    entry[..8].copy_from_slice(&record.to_le_bytes());
    entry[8..].copy_from_slice(&sum);
    entry
}

/// Applies a delta.
pub(crate) fn patch(held: &mut [u8], delta: &[u8]) -> Result<()> {
    let (entries, rest) = delta.as_chunks::<ENTRY>();
    if !rest.is_empty() {
        let want = entries.len() * ENTRY;
        return Err(PeerMisbehaved::Length {
            what: "hint delta",
            got: delta.len() as u64,
            want: want as u64,
        }
        .into());
    }
    let (sums, _) = held.as_chunks_mut::<SUM>();
    for [a, b, c, d, e, f, g, h, new @ ..] in entries {
        let record = u64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h]);
        let old = usize::try_from(record).ok().and_then(|record| sums.get_mut(record));
        *old.ok_or(PeerMisbehaved::NotCanonical("record index in a hint delta"))? = *new;
    }
    Ok(())
}
