//! Records that are read together, and then accessed one by one.

use sotto_core::{RecordSource, Result};

/// A range of records in memory; all others are read from the source.
pub(super) struct RecordWindow<'a> {
    of: &'a dyn RecordSource,
    /// Number of the first record in memory.
    first: u64,
    bytes: Vec<u8>,
}

impl<'a> RecordWindow<'a> {
    /// Reads `count` records from `first` on.
    ///
    /// # Errors
    /// The errors of reading.
    pub(super) fn read(of: &'a dyn RecordSource, first: u64, count: u64) -> Result<Self> {
        let mut bytes = vec![0; count as usize * of.record_bytes()];
        of.read(first, &mut bytes)?;
        Ok(RecordWindow { of, first, bytes })
    }

    /// Bytes of a record, if all of them are in memory.
    fn held(&self, record: u64, offset: u64, len: usize) -> Option<&[u8]> {
        let before = record.checked_sub(self.first)?.checked_mul(self.of.record_bytes() as u64)?;
        let start = usize::try_from(before.checked_add(offset)?).ok()?;
        self.bytes.get(start..)?.get(..len)
    }
}

impl RecordSource for RecordWindow<'_> {
    fn records(&self) -> u64 {
        self.of.records()
    }

    fn record_bytes(&self) -> usize {
        self.of.record_bytes()
    }

    fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
        match self.held(first, 0, out.len()) {
            Some(held) => out.copy_from_slice(held),
            None => self.of.read(first, out)?,
        }
        Ok(())
    }

    fn read_part(&self, record: u64, offset: u64, out: &mut [u8]) -> Result<()> {
        match self.held(record, offset, out.len()) {
            Some(held) => out.copy_from_slice(held),
            None => self.of.read_part(record, offset, out)?,
        }
        Ok(())
    }
}
