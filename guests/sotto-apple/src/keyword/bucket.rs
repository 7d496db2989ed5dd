//! Encoding of a bucket: a count, and for each row the hash of its key, the length of its value,
//! and the value.

use subtle::{Choice, ConditionallySelectable, ConstantTimeEq, ConstantTimeGreater};
use zeroize::Zeroizing;

/// Bytes of a bucket without rows.
pub const EMPTY: usize = 1;

/// Bytes of a row besides its value.
pub const ROW: usize = 8 + 2;

/// Largest number of rows in a bucket.
pub const MAX_ROWS: usize = u8::MAX as usize;

/// Writes a bucket to the beginning of `out`; the bytes after it are unchanged. Rows that do not
/// fit are omitted.
pub fn write<'a>(rows: impl Iterator<Item = (u64, &'a [u8])>, out: &mut [u8]) {
    let mut bytes = vec![0];
    for (hash, value) in rows.take(MAX_ROWS) {
        if let Some(count) = bytes.first_mut() {
            *count += 1;
        }
        bytes.extend_from_slice(&hash.to_le_bytes());
        bytes.extend_from_slice(&(value.len() as u16).to_le_bytes());
        bytes.extend_from_slice(value);
    }
    out.iter_mut().zip(bytes).for_each(|(out, byte)| *out = byte);
}

/// Rows of a bucket; `None` if it is shorter than its rows, or if a byte after its rows is not
/// zero.
pub fn read(bytes: &[u8]) -> Option<Vec<(u64, &[u8])>> {
    let (count, mut rest) = bytes.split_first()?;
    let mut rows = Vec::with_capacity(usize::from(*count));
    for _ in 0..*count {
        let (hash, left) = rest.split_first_chunk()?;
        let (len, left) = left.split_first_chunk()?;
        let (value, left) = left.split_at_checked(usize::from(u16::from_le_bytes(*len)))?;
        rows.push((u64::from_le_bytes(*hash), value));
        rest = left;
    }
    rest.iter().all(|byte| *byte == 0).then_some(rows)
}

/// Result of a constant-time search in a bucket; nothing of it is revealed until its owner reads
/// it.
pub(super) struct BucketMatch {
    /// Whether the bucket is valid, as [`read`] defines it.
    pub(super) is_whole: Choice,
    /// Whether the row was found.
    pub(super) is_there: Choice,
    /// The value and the bytes after it, as long as the bucket.
    pub(super) value: Zeroizing<Vec<u8>>,
    /// Bytes of the value.
    pub(super) length: u64,
}

/// Finds the first row with this hash, in a time that depends only on the bucket's length.
pub(super) fn find(bytes: &[u8], hash: u64) -> BucketMatch {
    let (mut left, mut next) = (bytes.first().map_or(0, |count| u64::from(*count)), EMPTY as u64);
    let (mut start, mut length) = (0, 0);
    let (mut is_whole, mut is_there) = (Choice::from(u8::from(!bytes.is_empty())), Choice::from(0));
    // A row may begin at each byte.
    for (i, byte) in bytes.iter().enumerate().skip(EMPTY) {
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
        let head = bytes.get(i..).unwrap_or_default();
        let (of, rest) = head.split_at(head.len().min(8));
        let of_row = number(of);
        let long = number(rest.get(..rest.len().min(2)).unwrap_or_default());
        let value = (i + ROW) as u64;
        let begins = next.ct_eq(&(i as u64)) & !left.ct_eq(&0);
        is_whole &= !(begins & (value + long).ct_gt(&(bytes.len() as u64)));
        let take = begins & of_row.ct_eq(&hash) & !is_there;
        is_there |= take;
        start.conditional_assign(&value, take);
        length.conditional_assign(&long, take);
        next.conditional_assign(&(value + long), begins);
        left.conditional_assign(&left.wrapping_sub(1), begins);
        // All bytes after the last row must be zero.
        let is_behind = left.ct_eq(&0) & !next.ct_gt(&(i as u64));
        is_whole &= !(is_behind & !byte.ct_eq(&0));
    }
    is_whole &= left.ct_eq(&0);
    BucketMatch { is_whole, is_there, value: shifted(bytes, start), length }
}

/// Shifts bytes from a secret offset to the front, with zeros after them: each bit of the offset
/// moves all bytes or none.
fn shifted(bytes: &[u8], start: u64) -> Zeroizing<Vec<u8>> {
    let mut out = Zeroizing::new(bytes.to_vec());
    for bit in 0..=bytes.len().checked_ilog2().unwrap_or(0) {
        let (step, moves) = (1 << bit, Choice::from((start >> bit & 1) as u8));
        for i in 0..out.len() {
            let ahead = out.get(i + step).copied().unwrap_or(0);
            if let Some(byte) = out.get_mut(i) {
                byte.conditional_assign(&ahead, moves);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rows_come_back() {
        let rows: Vec<(u64, &[u8])> = vec![(7, b"value"), (u64::MAX, b""), (0, &[0; 300])];
        let mut bytes = vec![0; 400];
        write(rows.iter().copied(), &mut bytes);
        assert_eq!(read(&bytes), Some(rows));
        let len = EMPTY + 3 * ROW + 305;
        assert!(read(&bytes[..len]).is_some() && read(&bytes[..len - 1]).is_none());
        bytes[len] = 1;
        assert_eq!(read(&bytes), None);
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[0]), Some(Vec::new()));
        assert_eq!(read(&[1]), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// A search agrees with decoding, for valid buckets and for damaged ones.
        #[test]
        fn a_search_is_a_reading(
            rows in prop::collection::vec((0..4u64, prop::collection::vec(any::<u8>(), 0..9)), 0..5),
            len in 0..90usize,
            damage in prop::option::of((0..90usize, any::<u8>())),
            hash in 0..5u64,
        ) {
            let mut bytes = vec![0; len];
            write(rows.iter().map(|(hash, value)| (*hash, &value[..])), &mut bytes);
            if let Some((at, byte)) = damage
                && let Some(place) = bytes.get_mut(at)
            {
                *place = byte;
            }
            let found = find(&bytes, hash);
            let read = read(&bytes);
            prop_assert_eq!(bool::from(found.is_whole), read.is_some());
            if let Some(rows) = read {
                let row = rows.iter().find(|(of, _)| *of == hash);
                prop_assert_eq!(bool::from(found.is_there), row.is_some());
                if let Some((_, value)) = row {
                    prop_assert_eq!(&found.value[..found.length as usize], *value);
                }
            }
        }
    }
}
