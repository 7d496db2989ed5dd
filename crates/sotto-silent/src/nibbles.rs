//! Numbers of four bits: a byte is two of them, both signed, the low one first.

#[cfg(feature = "server")]
pub use records::{NibbleRecords, WholeRecords, nibbles_of_changes};

/// The two numbers of a byte, from -8 to 7, as signed bytes.
pub const fn nibbles_of(byte: u8) -> [u8; 2] {
    let low = (byte << 4) as i8 >> 4;
    let high = byte.wrapping_sub(low as u8) as i8 >> 4;
    [low as u8, high as u8]
}

/// The byte that consists of two numbers modulo 16.
pub const fn byte_of((low, high): (u8, u8)) -> u8 {
    (((low << 4) as i8 >> 4) as u8).wrapping_add(high << 4)
}

#[cfg(feature = "server")]
mod records {
    use super::{byte_of, nibbles_of};
    use sotto_core::{RecordChange, RecordSource, Result};

    /// The numbers of records, a signed byte each.
    pub struct NibbleRecords<'a>(pub &'a dyn RecordSource);

    impl RecordSource for NibbleRecords<'_> {
        fn records(&self) -> u64 {
            self.0.records()
        }

        fn record_bytes(&self) -> usize {
            2 * self.0.record_bytes()
        }

        fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
            let mut bytes = vec![0; out.len() / 2];
            self.0.read(first, &mut bytes)?;
            out.as_chunks_mut::<2>().0.iter_mut().zip(bytes).for_each(|(two, byte)| *two = nibbles_of(byte));
            Ok(())
        }
    }

    /// The records of which a source has the numbers.
    pub struct WholeRecords(pub Box<dyn RecordSource>);

    impl RecordSource for WholeRecords {
        fn records(&self) -> u64 {
            self.0.records()
        }

        fn record_bytes(&self) -> usize {
            self.0.record_bytes() / 2
        }

        fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
            let mut numbers = vec![0; 2 * out.len()];
            self.0.read(first, &mut numbers)?;
            out.iter_mut()
                .zip(numbers.as_chunks::<2>().0)
                .for_each(|(byte, two)| *byte = byte_of((*two).into()));
            Ok(())
        }
    }

    /// Changes of bytes as changes of their numbers.
    pub fn nibbles_of_changes(changes: &[RecordChange]) -> Vec<RecordChange> {
        let of_numbers = |change: &RecordChange| RecordChange {
            record: change.record,
            offset: change.offset.saturating_mul(2),
            bytes: change.bytes.iter().flat_map(|byte| nibbles_of(*byte)).collect(),
        };
        changes.iter().map(of_numbers).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_two_numbers() {
        for byte in 0..=255u8 {
            let two = nibbles_of(byte);
            assert!(two.iter().all(|number| (-8..8).contains(&(*number as i8))), "{byte}");
            assert_eq!((two[0] as i8 as i32 + 16 * (two[1] as i8 as i32)) as u8, byte);
            // Residues modulo 16 are as good as the numbers.
            assert_eq!(byte_of(two.into()), byte);
            assert_eq!(byte_of(two.map(|number| number % 16).into()), byte);
        }
    }
}
