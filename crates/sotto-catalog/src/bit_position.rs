//! Positions of single bits in a table whose rows are one string of bits.

use crate::{CatalogError, Result};
use sotto_math::modulus::divide;
use subtle::{ConditionallySelectable, ConstantTimeEq};

/// Position of one bit of a table: its row, and its place in the row.
///
/// Bits are numbered from 0 through all rows in their order, from the least significant bit of each
/// byte on.
///
/// ```
/// use sotto_catalog::BitPosition;
/// let bit = BitPosition::locate(19, 4, 2).unwrap();
/// assert_eq!((bit.row(), bit.of(&[0b1000, 0])), (1, true));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BitPosition {
    row: u64,
    byte: u64,
    shift: u32,
}

impl BitPosition {
    /// Finds a bit in a table of `rows` rows of `row_bytes` bytes.
    ///
    /// # Errors
    /// [`CatalogError::NoSuchRow`] past the end of the table.
    pub fn locate(bit: u64, rows: u64, row_bytes: u64) -> Result<BitPosition> {
        let (at, shift) = (bit / 8, (bit % 8) as u32);
        let (row, byte) = divide(at, row_bytes);
        if row_bytes == 0 || row >= rows {
            let bits = u128::from(rows) * u128::from(row_bytes) * 8;
            return Err(CatalogError::NoSuchRow(format!(
                "bit {bit} is past the end: the table has {bits} bits, counted from 0"
            )));
        }
        Ok(BitPosition { row, byte, shift })
    }

    /// Number of the row that contains the bit.
    pub fn row(&self) -> u64 {
        self.row
    }

    /// Whether the bit is set in the bytes of its row. All bytes of the row are read, whatever the
    /// position of the bit.
    pub fn of(&self, row: &[u8]) -> bool {
        let mut byte = 0u8;
        for (at, candidate) in (0u64..).zip(row) {
            byte.conditional_assign(candidate, at.ct_eq(&self.byte));
        }
        byte >> self.shift & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_lies_where_it_is_counted() {
        let rows = [[0x01u8, 0x80, 0x5a], [0xff, 0x00, 0x33]];
        let all: Vec<u8> = rows.concat();
        for n in 0..48u64 {
            let bit = BitPosition::locate(n, 2, 3).unwrap();
            assert_eq!(bit.of(&rows[bit.row() as usize]), all[n as usize / 8] >> (n % 8) & 1 == 1, "{n}");
        }
    }

    #[test]
    fn a_table_has_so_many_bits_and_no_more() {
        for (bit, rows, row_bytes) in [(48, 2, 3), (u64::MAX, 2, 3), (0, 0, 3), (0, 2, 0)] {
            assert!(matches!(BitPosition::locate(bit, rows, row_bytes), Err(CatalogError::NoSuchRow { .. })));
        }
        let past = BitPosition::locate(48, 2, 3).unwrap_err().to_string();
        assert!(past.contains("bit 48 is past the end: the table has 48 bits"), "{past}");
        assert_eq!(BitPosition::locate(u64::MAX, u64::MAX, u64::MAX).map(|bit| bit.row()).unwrap(), 0);
    }
}
