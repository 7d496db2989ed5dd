//! Rows as records of a scheme: narrow rows are packed, wide ones split, and unused bytes are zero.

use super::{TableSource, check_part, check_read};
use sotto_catalog::Packing;
use sotto_core::{Misuse, RecordSource, Result};

/// The records that a scheme encodes of a table.
pub struct PackedRecords<'a> {
    table: &'a dyn TableSource,
    packing: Packing,
}

impl<'a> PackedRecords<'a> {
    /// The records of `table` in the layout `packing`.
    ///
    /// # Errors
    /// [`Misuse::Rule`] if the layout is of another table.
    pub fn new(table: &'a dyn TableSource, packing: Packing) -> Result<Self> {
        if table.rows() != packing.rows() || table.row_bytes() as u64 != packing.row_bytes() {
            return Err(Misuse::Rule("the layout belongs to another table").into());
        }
        Ok(PackedRecords { table, packing })
    }

    /// Reads records of narrow rows: each record holds the next `per_record` rows.
    fn read_packed(&self, first: u64, out: &mut [u8]) -> Result<()> {
        let (width, step) = (self.table.row_bytes(), self.record_bytes());
        let per_record = self.packing.rows_per_record();
        let used = width * per_record as usize;
        let first_row = first.saturating_mul(per_record);
        let rows_wanted = (out.len() / step) as u64 * per_record;
        let rows = self.table.rows().saturating_sub(first_row).min(rows_wanted);
        let bytes = rows as usize * width;
        // Rows are read into the front of `out` in one piece and then, if records have unused
        // bytes, moved to their places, the last one first so that none is overwritten.
        let (filled, rest) = out.split_at_mut_checked(bytes).ok_or(PAST_END)?;
        if rows > 0 {
            self.table.read(first_row, filled)?;
        }
        rest.fill(0);
        if used == step {
            return Ok(());
        }
        let records = bytes.div_ceil(used.max(1));
        for record in (0..records).rev() {
            let from = record * used;
            let length = used.min(bytes - from);
            let to = record * step;
            out.copy_within(from..from + length, to);
            // The last record may be cut short by the end of the table.
            out.get_mut(to + length..to + step).ok_or(PAST_END)?.fill(0);
        }
        Ok(())
    }

    /// Reads records of wide rows: each row spans the next `lookups` records.
    fn read_split(&self, first: u64, out: &mut [u8]) -> Result<()> {
        let (width, step) = (self.table.row_bytes(), self.record_bytes());
        let lookups = self.packing.records_per_row() as u64;
        let mut row = Vec::new();
        let mut held = None;
        for (record, out) in (first..).zip(out.chunks_exact_mut(step)) {
            let (index, part) = (record / lookups, (record % lookups) as usize);
            out.fill(0);
            if index >= self.table.rows() {
                continue;
            }
            if held != Some(index) {
                row.resize(width, 0);
                self.table.read(index, &mut row)?;
                held = Some(index);
            }
            // After a row's last record there may be a record for its proof.
            let bytes = row.chunks(step).nth(part).unwrap_or_default();
            out.get_mut(..bytes.len()).ok_or(PAST_END)?.copy_from_slice(bytes);
        }
        Ok(())
    }
}

const PAST_END: Misuse = Misuse::Rule("records are read past the end");

impl RecordSource for PackedRecords<'_> {
    fn records(&self) -> u64 {
        self.packing.records()
    }

    fn record_bytes(&self) -> usize {
        self.packing.record_bytes() as usize
    }

    fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
        check_read(first, out, self.record_bytes(), self.records())?;
        if self.packing.records_per_row() == 1 {
            self.read_packed(first, out)
        } else {
            self.read_split(first, out)
        }
    }

    fn read_part(&self, record: u64, offset: u64, out: &mut [u8]) -> Result<()> {
        check_part(record, self.records(), offset, out, self.record_bytes())?;
        out.fill(0);
        let (width, lookups) = (self.packing.row_bytes(), self.packing.records_per_row() as u64);
        // A record holds `held` bytes of the table from `start` on, and then zeros.
        let (start, held) = match lookups {
            1 => {
                let rows = self.packing.rows_per_record();
                (record.saturating_mul(rows).saturating_mul(width), rows * width)
            }
            _ => {
                let (row, before) = (record / lookups, record % lookups * self.packing.record_bytes());
                (row.saturating_mul(width).saturating_add(before), width.saturating_sub(before))
            }
        };
        let length = held.saturating_sub(offset).min(out.len() as u64) as usize;
        let mut rest = out.get_mut(..length).ok_or(PAST_END)?;
        let mut at = start.saturating_add(offset);
        while !rest.is_empty() && at / width < self.table.rows() {
            let (row, in_row) = (at / width, at % width);
            // Whole rows are read together; only the first and the last may be partial.
            let whole = (rest.len() as u64 / width).min(self.table.rows() - row);
            let whole = if in_row == 0 { whole } else { 0 };
            let bytes = match whole {
                0 => rest.len().min((width - in_row) as usize),
                whole => (whole * width) as usize,
            };
            let (part, after) = rest.split_at_mut_checked(bytes).ok_or(PAST_END)?;
            match whole {
                0 => self.table.read_part(row, in_row, part)?,
                _ => self.table.read(row, part)?,
            }
            at += bytes as u64;
            rest = after;
        }
        Ok(())
    }
}
