//! The rows of a table in an image: one after the other, in a single section.

use sotto_core::{
    Artifact, Image, ImageSection, Misuse, PeerMisbehaved, RecordChange, RecordSource, Result, Section,
    SectionRecords, Sink,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes of rows that are copied at once while encoding.
const CHUNK: usize = 1 << 20;

/// The location and the shape of a table's rows in an image.
#[derive(Debug, Clone, Copy)]
pub struct RowTable {
    /// The section of the image.
    pub section: Section,
    /// Number of rows.
    pub rows: u64,
    /// Bytes of a row.
    pub row_bytes: usize,
    /// Bytes of the section, which may be longer than the rows.
    pub bytes: u64,
}

impl RowTable {
    /// Copies all rows into the section. `order` maps consecutive row numbers to the places at
    /// which rows are stored.
    ///
    /// # Errors
    /// [`Misuse::Rule`] if the rows have another shape; errors of the source and the sink.
    pub fn encode(
        &self,
        rows: &dyn RecordSource,
        out: &dyn Sink,
        mut order: impl FnMut(u64, &mut [u64]),
    ) -> Result<()> {
        let RowTable { section, row_bytes, .. } = *self;
        if rows.records() != self.rows || rows.record_bytes() != row_bytes {
            return Err(Misuse::Rule("the records must have the shape of the parameters").into());
        }
        out.reserve(section, self.bytes)?;
        let at_once = (CHUNK / row_bytes).max(1) as u64;
        let mut first = 0;
        while first < self.rows {
            let count = (self.rows - first).min(at_once) as usize;
            let (mut chunk, mut places) = (vec![0; count * row_bytes], vec![0; count]);
            rows.read(first, &mut chunk)?;
            order(first, &mut places);
            // Adjacent rows that stay adjacent are written together.
            let mut done = 0;
            for run in places.chunk_by(|one, next| one + 1 == *next) {
                let bytes = chunk.get(done * row_bytes..(done + run.len()) * row_bytes).unwrap_or_default();
                let at = run.first().map_or(0, |row| row * row_bytes as u64);
                if out.wants(section, at..at + bytes.len() as u64) {
                    out.write_at(section, at, bytes)?;
                }
                done += run.len();
            }
            first += count as u64;
            out.progress("rows", first, self.rows);
        }
        Ok(())
    }

    /// The rows of an image, each read from the place that `order` gives.
    ///
    /// # Errors
    /// [`PeerMisbehaved::Length`] if the section has another length.
    pub fn records(
        &self,
        image: Arc<dyn Image>,
        order: impl Fn(u64) -> u64 + Send + Sync + 'static,
    ) -> Result<Box<dyn RecordSource>> {
        let held = ImageSection::open(image, self.section, "table", self.bytes)?;
        let width = self.row_bytes;
        let read = move |table: &[u8], row: u64, offset: usize, out: &mut [u8]| {
            let start = usize::try_from(order(row)).ok()?.checked_mul(width)?.checked_add(offset)?;
            out.copy_from_slice(table.get(start..)?.get(..out.len())?);
            Some(())
        };
        Ok(Box::new(SectionRecords { held, records: self.rows, record_bytes: width, read }))
    }

    /// Checks that an image has the rows.
    ///
    /// # Errors
    /// [`PeerMisbehaved::Length`] if not.
    pub fn check(&self, image: &dyn Image) -> Result<()> {
        let got = image.section(self.section).map_or(0, <[u8]>::len) as u64;
        if got != self.bytes {
            return Err(PeerMisbehaved::Length { what: "rows", got, want: self.bytes }.into());
        }
        Ok(())
    }

    /// The bytes of the rows.
    ///
    /// # Errors
    /// [`sotto_core::Error::Peer`] if the section is no longer there.
    pub fn of<'a>(&self, image: &'a dyn Image) -> Result<&'a [u8]> {
        let lost =
            || PeerMisbehaved::Malformed { what: "image", why: "the section of the rows is missing".into() };
        Ok(image.section(self.section).ok_or_else(lost)?)
    }

    /// Moves an image to the next epoch, and writes the delta that clients need, of rows or of a
    /// hint that consists of them: the place that `order` gives each changed row, and old xor new.
    ///
    /// # Errors
    /// [`Misuse::IndexPastEnd`] for a change outside the rows; errors of `out`.
    pub fn update_image(
        &self,
        changes: &[RecordChange],
        out: &dyn Sink,
        order: impl Fn(u64) -> u64,
    ) -> Result<()> {
        let RowTable { section, row_bytes, .. } = *self;
        out.reserve(section, self.bytes)?;
        let mut rows: BTreeMap<u64, Vec<&RecordChange>> = BTreeMap::new();
        for change in changes {
            if change.record >= self.rows {
                return Err(Misuse::IndexPastEnd { index: change.record, len: self.rows }.into());
            }
            let end = change.offset.saturating_add(change.bytes.len() as u64);
            if end > row_bytes as u64 {
                return Err(Misuse::IndexPastEnd { index: end, len: row_bytes as u64 }.into());
            }
            rows.entry(order(change.record)).or_default().push(change);
        }
        let mut delta = Vec::new();
        let mut row = vec![0; row_bytes];
        for (index, changes) in rows {
            let at = index * row_bytes as u64;
            out.read_at(section, at, &mut row)?;
            let mut new = row.clone();
            for change in changes {
                // The offset is less than the length of a row.
                let bytes = new.iter_mut().skip(change.offset as usize);
                bytes.zip(&change.bytes).for_each(|(byte, new)| *byte = *new);
            }
            row.iter_mut().zip(&new).for_each(|(old, new)| *old ^= new);
            if row.iter().any(|byte| *byte != 0) {
                out.write_at(section, at, &new)?;
                delta.extend_from_slice(&index.to_le_bytes());
                delta.extend_from_slice(&row);
            }
        }
        let to = Section::Public(if section == Section::Public(Artifact::Hint) {
            Artifact::HintDelta
        } else {
            Artifact::RowsDelta
        });
        out.reserve(to, delta.len() as u64)?;
        out.write_at(to, 0, &delta)?;
        out.progress("rows delta", delta.len() as u64, delta.len() as u64);
        Ok(())
    }
}

/// The identity order, for tables that need no other.
pub fn in_order(first: u64, places: &mut [u64]) {
    (first..).zip(places).for_each(|(row, place)| *place = row);
}
