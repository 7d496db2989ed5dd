//! Blocks of eight records in bit slices.
//!
//! ```text
//! byte t of a block, 0 <= t < 8 * record_bytes:
//!
//!    bit     7          6          ...  1          0
//!         +----------+----------+-----+----------+----------+
//!         | bit t of | bit t of |     | bit t of | bit t of |
//!         | record 7 | record 6 | ... | record 1 | record 0 |
//!         +----------+----------+-----+----------+----------+
//! ```
//!
//! Bit `t` of a record is bit `t % 8` of its byte `t / 8`. A block has the size of its records.

/// Records in a block.
pub const BLOCK_RECORDS: usize = 8;

/// Encodes eight consecutive records as a block.
///
/// # Panics
/// If `records` is not eight records of a multiple of 8 bytes, or `block` has another size.
pub fn slice(records: &[u8], block: &mut [u8]) {
    assert_eq!(records.len(), block.len(), "a block of the records' size");
    assert_eq!(records.len() % 64, 0, "eight records of a multiple of 8 bytes");
    let words = records.as_chunks::<8>().0;
    let width = words.len() / BLOCK_RECORDS;
    for (w, out) in block.as_chunks_mut::<64>().0.iter_mut().enumerate() {
        let column: [u64; 8] = std::array::from_fn(|i| u64::from_le_bytes(words[i * width + w]));
        let bytes = transpose_bytes(column);
        for (out, word) in out.as_chunks_mut::<8>().0.iter_mut().zip(bytes) {
            *out = transpose_bits(word).to_le_bytes();
        }
    }
}

/// Decodes one of eight records from its block: the bits numbered `which` of all bytes.
///
/// Sums of a [`scan`](super::scan()) have the same form, with queries in place of records.
///
/// # Panics
/// If `which` is not below 8, or `block` is not eight times as long as `record`.
pub fn unslice(block: &[u8], which: usize, record: &mut [u8]) {
    assert!(which < BLOCK_RECORDS, "one of eight");
    assert_eq!(block.len(), record.len() * BLOCK_RECORDS, "a block of records of this size");
    for (byte, slices) in record.iter_mut().zip(block.as_chunks::<8>().0) {
        let bits = u64::from_le_bytes(*slices) >> which & 0x0101_0101_0101_0101;
        // Bit 8 b of the factor times bit 7 (8 - b) of the constant is bit 56 + b, and no two
        // products collide.
        *byte = (bits.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8;
    }
}

/// Writes bytes of one of eight records into their slices: the reverse of [`unslice`], also for
/// changes of a part.
///
/// # Panics
/// As [`unslice`], for the slices that hold those bytes.
pub fn reslice(record: &[u8], which: usize, block: &mut [u8]) {
    assert!(which < BLOCK_RECORDS, "one of eight");
    assert_eq!(block.len(), record.len() * BLOCK_RECORDS, "the slices of these bytes");
    for (byte, slices) in record.iter().zip(block.as_chunks_mut::<8>().0) {
        for (b, slice) in slices.iter_mut().enumerate() {
            *slice = *slice & !(1 << which) | (byte >> b & 1) << which;
        }
    }
}

/// Moves byte `i` of word `j` to byte `j` of word `i`.
pub(crate) fn transpose_bytes(mut x: [u64; 8]) -> [u64; 8] {
    for (step, mask) in [(4, 0x0000_0000_FFFF_FFFF), (2, 0x0000_FFFF_0000_FFFF), (1, 0x00FF_00FF_00FF_00FF)] {
        let bits = 8 * step;
        for i in (0..8).filter(|i| i & step == 0) {
            let (low, high) = (x[i], x[i + step]);
            x[i] = low & mask | (high & mask) << bits;
            x[i + step] = low >> bits & mask | high & !mask;
        }
    }
    x
}

/// Moves bit `i` of byte `j` to bit `j` of byte `i`.
fn transpose_bits(mut x: u64) -> u64 {
    for (shift, mask) in
        [(7, 0x00AA_00AA_00AA_00AA), (14, 0x0000_CCCC_0000_CCCC), (28, 0x0000_0000_F0F0_F0F0)]
    {
        let swap = (x ^ x >> shift) & mask;
        x ^= swap ^ swap << shift;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    fn byte(i: usize) -> u8 {
        ((i as u32).wrapping_mul(2654435761) >> 11) as u8
    }

    #[test]
    fn a_byte_holds_one_bit_of_each_record() {
        for width in [8, 16, 40] {
            let records: Vec<u8> = (0..8 * width).map(byte).collect();
            let mut block = vec![0; 8 * width];
            slice(&records, &mut block);
            for (t, slice) in block.iter().enumerate() {
                for r in 0..8 {
                    let bit = records[r * width + t / 8] >> (t % 8) & 1;
                    assert_eq!(slice >> r & 1, bit, "bit {t} of record {r}");
                }
            }
            for r in 0..8 {
                let mut record = vec![0; width];
                unslice(&block, r, &mut record);
                assert_eq!(record, records[r * width..][..width], "record {r}");
            }
        }
    }

    #[test]
    fn a_part_of_a_record_is_replaced_and_nothing_else() {
        let mut records: Vec<u8> = (0..8 * 24).map(byte).collect();
        let mut block = vec![0; records.len()];
        slice(&records, &mut block);
        for (which, at, len) in [(0, 0, 24), (7, 23, 1), (3, 5, 9), (4, 8, 0)] {
            let new: Vec<u8> = (0..len).map(|i| byte(1000 * which + i)).collect();
            reslice(&new, which, &mut block[8 * at..8 * (at + len)]);
            records[24 * which + at..][..len].copy_from_slice(&new);
            let mut fresh = vec![0; records.len()];
            slice(&records, &mut fresh);
            assert!(block == fresh, "{len} bytes of record {which}");
        }
    }

    #[test]
    fn bytes_are_transposed() {
        let x: [u64; 8] =
            std::array::from_fn(|j| u64::from_le_bytes(std::array::from_fn(|i| byte(8 * j + i))));
        let y = transpose_bytes(x);
        for (i, y) in y.iter().enumerate() {
            for (j, x) in x.iter().enumerate() {
                assert_eq!(y.to_le_bytes()[j], x.to_le_bytes()[i]);
            }
        }
    }
}
