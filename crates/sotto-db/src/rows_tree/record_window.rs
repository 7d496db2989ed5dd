//! Records that are read together, and then looked at one by one.

use sotto_core::{RecordSource, Result};

/// Some records in memory, in front of all of them.
pub(super) struct RecordWindow<'a> {
    of: &'a dyn RecordSource,
    /// The first that is in memory.
    first: u64,
    bytes: Vec<u8>,
}

impl<'a> RecordWindow<'a> {
    /// Reads so many records.
    ///
    /// # Errors
    /// Those of reading.
    pub(super) fn read(of: &'a dyn RecordSource, first: u64, count: u64) -> Result<Self> {
        let mut bytes = vec![0; count as usize * of.record_bytes()];
        of.read(first, &mut bytes)?;
        Ok(RecordWindow { of, first, bytes })
    }

    /// Bytes of records that are in memory, if all of them are.
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
