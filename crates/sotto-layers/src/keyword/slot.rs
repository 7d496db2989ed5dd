//! A key's tag and value in a row, and finding them there.
//!
//! ```text
//! row    slots slots, one after the other
//! slot   tag (tag_bytes) | length of the value (LE, none if all have one) | value | zeros
//! ```
//!
//! An empty slot is zeros.

use super::Value;
use super::params::{Params, ValueLength};
use super::tag::KeyDigest;
use sotto_core::{ExpectOrDefault, PeerMisbehaved, Result, Row};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

/// Writes a slot. `None` if the value is too long or of another length than the table's, or `slot`
/// has another length.
pub(super) fn write(params: &Params, digest: KeyDigest, value: &[u8], slot: &mut [u8]) -> Option<()> {
    let length = u32::try_from(value.len()).ok()?;
    let fits = match params.values {
        ValueLength::Fixed(bytes) => length == bytes,
        ValueLength::UpTo(most) => length <= most,
    };
    if !fits || slot.len() as u64 != params.slot_bytes() {
        return None;
    }
    let (tag, rest) = slot.split_at_mut_checked(params.tag_bytes as usize)?;
    let (length_bytes, padded) = rest.split_at_mut_checked(params.values.length_bytes() as usize)?;
    tag.iter_mut().zip(digest.bytes()).for_each(|(out, byte)| *out = byte);
    length_bytes.iter_mut().zip(length.to_le_bytes()).for_each(|(out, byte)| *out = byte);
    let (value_bytes, zeros) = padded.split_at_mut_checked(value.len())?;
    value_bytes.copy_from_slice(value);
    zeros.fill(0);
    Some(())
}

/// The hash whose tag is in a slot; `None` if the slot is empty.
pub(super) fn digest(params: &Params, slot: &[u8]) -> Option<KeyDigest> {
    slot.get(..params.tag_bytes as usize).and_then(KeyDigest::of_tag)
}

/// The value under a tag in these rows, each of the table's width. Every slot of every row is
/// compared and read, independent of which has the tag and whether any does: the first that has it,
/// should there be two.
pub(super) fn find(params: &Params, digest: KeyDigest, rows: &[Row]) -> Result<Option<Value>> {
    let (tag_bytes, length_bytes) = (params.tag_bytes as usize, params.values.length_bytes() as usize);
    let expected = zeroize::Zeroizing::new(digest.bytes());
    let expected = expected.get(..tag_bytes).expect_or_default("a tag is shorter than a digest");
    // The position of the tag is first, then those of length and value.
    let mut entry = Value::new(vec![0; params.slot_bytes() as usize - tag_bytes]);
    let mut found = Choice::from(0);
    for slot in rows.iter().flat_map(|row| row.chunks_exact(params.slot_bytes() as usize)) {
        let (tag, held) = slot.split_at_checked(tag_bytes).expect_or_default("a slot begins with its tag");
        let take = tag.ct_eq(expected) & !found;
        found |= take;
        entry.iter_mut().zip(held).for_each(|(out, byte)| out.conditional_assign(byte, take));
    }
    let length = match params.values {
        ValueLength::Fixed(bytes) => bytes,
        ValueLength::UpTo(_) => {
            entry.iter().take(length_bytes).rev().fold(0, |length, byte| length << 8 | u32::from(*byte))
        }
    };
    if length > params.values.most() {
        return Err(PeerMisbehaved::NotCanonical("length of a value").into());
    }
    // The caller learns whether the key is present and how long its value is, so the rest may
    // branch on it; a server that times the caller's next requests may learn it too. If nothing was
    // found, all this was done on zeros.
    entry.drain(..length_bytes);
    entry.truncate(length as usize);
    Ok(bool::from(found).then_some(entry))
}

#[cfg(test)]
mod tests {
    use super::super::KeyForm;
    use super::super::tag::KeyHash;
    use super::*;
    use sotto_prg::PublicSeed;

    fn params(values: ValueLength) -> Params {
        let seed = PublicSeed([1; 32]);
        let form = KeyForm::Bytes;
        Params {
            form,
            key_bytes: 9,
            probes: 2,
            slots: 3,
            rows: 2,
            tag_bytes: 9,
            values,
            seed,
            attempt: 0,
            cuts: None,
            band: None,
        }
    }

    fn digest_of(key: &[u8]) -> KeyDigest {
        KeyHash::new(&PublicSeed([1; 32]), 9).digest(key).unwrap()
    }

    #[test]
    fn only_values_of_the_table_are_written() {
        for (values, length, fits) in [
            (ValueLength::Fixed(4), 4, true),
            (ValueLength::Fixed(4), 3, false),
            (ValueLength::Fixed(0), 0, true),
            (ValueLength::UpTo(4), 0, true),
            (ValueLength::UpTo(4), 5, false),
            (ValueLength::UpTo(300), 299, true),
        ] {
            let params = params(values);
            let mut slot = vec![7; params.slot_bytes() as usize];
            let value = vec![5; length];
            assert_eq!(
                write(&params, digest_of(b"k"), &value, &mut slot).is_some(),
                fits,
                "{values:?} {length}"
            );
            if fits {
                let rows = [Row::new([slot, vec![0; 2 * params.slot_bytes() as usize]].concat())];
                assert_eq!(find(&params, digest_of(b"k"), &rows).unwrap().unwrap().to_vec(), value);
            }
        }
    }

    /// The first slot wins, and the values are never mixed.
    #[test]
    fn two_slots_of_one_tag_are_not_mixed() {
        let params = params(ValueLength::UpTo(2));
        let mut row = vec![0; params.row_bytes() as usize];
        for (slot, value) in
            row.chunks_exact_mut(params.slot_bytes() as usize).zip([[1, 2], [4, 8], [16, 32]])
        {
            write(&params, digest_of(b"k"), &value, slot).unwrap();
        }
        assert_eq!(find(&params, digest_of(b"k"), &[Row::new(row)]).unwrap().unwrap().to_vec(), [1, 2]);
    }

    #[test]
    fn lengths_past_the_longest_are_refused() {
        let params = params(ValueLength::UpTo(2));
        let mut row = vec![0; params.row_bytes() as usize];
        write(&params, digest_of(b"k"), &[1], &mut row[..params.slot_bytes() as usize]).unwrap();
        row[9] = 3;
        assert!(find(&params, digest_of(b"k"), &[Row::new(row.clone())]).is_err());
        assert!(find(&params, digest_of(b"other"), &[Row::new(row)]).unwrap().is_none());
    }
}
