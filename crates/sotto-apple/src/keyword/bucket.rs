//! The bytes of a bucket: a count, and for each row the hash of its key, the length of its value, and the value.

/// Bytes of a bucket without rows.
pub const EMPTY: usize = 1;

/// Bytes of a row besides its value.
pub const ROW: usize = 8 + 2;

/// Rows of a bucket at most.
pub const MOST_ROWS: usize = u8::MAX as usize;

/// Writes a bucket to the beginning of `out`; what is behind it stays as it is. Rows that have no room are left out.
pub fn write<'a>(rows: impl Iterator<Item = (u64, &'a [u8])>, out: &mut [u8]) {
    let mut bytes = vec![0];
    for (hash, value) in rows.take(MOST_ROWS) {
        if let Some(count) = bytes.first_mut() {
            *count += 1;
        }
        bytes.extend_from_slice(&hash.to_le_bytes());
        bytes.extend_from_slice(&(value.len() as u16).to_le_bytes());
        bytes.extend_from_slice(value);
    }
    out.iter_mut().zip(bytes).for_each(|(out, byte)| *out = byte);
}

/// The rows of a bucket; `None` where there are fewer bytes than it says, or one behind its rows that is not zero.
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

#[cfg(test)]
mod tests {
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
}
