//! The results of several lookups, in one piece of memory, as `README.md` describes.

/// Length that stands for a value that the table does not have.
const ABSENT: u64 = u64::MAX;

/// Bytes of the number of values, and of each offset and length.
const HEAD: usize = 8;
const ENTRY: usize = 16;

/// Encodes values one after the other, after the offset and length of each.
pub(crate) fn encode(values: &[Option<Vec<u8>>]) -> Vec<u8> {
    let mut out = (values.len() as u64).to_le_bytes().to_vec();
    let mut start = (HEAD + ENTRY * values.len()) as u64;
    for value in values {
        let length = value.as_ref().map_or(ABSENT, |value| value.len() as u64);
        out.extend(start.to_le_bytes());
        out.extend(length.to_le_bytes());
        start += value.as_ref().map_or(0, |value| value.len() as u64);
    }
    values.iter().flatten().for_each(|value| out.extend(value));
    out
}

/// A value of an encoded list.
pub(crate) enum ValueAt<'a> {
    Bytes(&'a [u8]),
    /// The table does not have the key.
    Absent,
    /// The list has fewer values.
    PastEnd,
}

/// The value at an index.
pub(crate) fn at(values: &[u8], index: usize) -> ValueAt<'_> {
    read(values, index).unwrap_or(ValueAt::PastEnd)
}

fn read(values: &[u8], index: usize) -> Option<ValueAt<'_>> {
    let count = u64::from_le_bytes(*values.first_chunk()?);
    if index as u64 >= count {
        return None;
    }
    let entry = values.get(HEAD.checked_add(ENTRY.checked_mul(index)?)?..)?;
    let (start, rest) = entry.split_first_chunk()?;
    let (start, length) = (u64::from_le_bytes(*start), u64::from_le_bytes(*rest.first_chunk()?));
    if length == ABSENT {
        return Some(ValueAt::Absent);
    }
    let (start, length) = (usize::try_from(start).ok()?, usize::try_from(length).ok()?);
    values.get(start..start.checked_add(length)?).map(ValueAt::Bytes)
}
