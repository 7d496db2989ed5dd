//! Image updates: only the polynomials that changed are read, changed and written.

use crate::encode::{stored_words, word_format};
use crate::params::Inner;
use crate::read::read;
use crate::whitening::whiten;
use rayon::prelude::*;
use sotto_core::{Misuse, RecordChange, Result, Section, Sink};
use sotto_math::tiles::WordFormat;
use std::collections::BTreeMap;

/// Changes of one part of one record: offsets in the part, and bytes. Later ones win.
type Edits<'a> = Vec<(usize, &'a [u8])>;

/// Applies changes to an image that holds the old table. There is no delta for clients, since they
/// store nothing of the table.
///
/// # Errors
/// [`Misuse::IndexPastEnd`] for a change outside the records; storage errors.
pub fn update_image(params: &Inner, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
    let grid = &params.grid;
    // Sorted by the cache lines that they share.
    let mut parts: BTreeMap<_, Edits<'_>> = BTreeMap::new();
    for change in changes {
        let end = change.offset.saturating_add(change.bytes.len() as u64);
        let (records, len) = (grid.records(), params.literal.record_bytes);
        if change.record >= records {
            return Err(Misuse::IndexPastEnd { index: change.record, len: records }.into());
        }
        if end > len {
            return Err(Misuse::IndexPastEnd { index: end, len }.into());
        }
        let (mut at, mut bytes) = (change.offset as usize, change.bytes.as_slice());
        while !bytes.is_empty() {
            let (part, inside) = (at / grid.part_bytes(), at % grid.part_bytes());
            let (piece, rest) = bytes.split_at(bytes.len().min(grid.part_bytes() - inside));
            let (record, part) = (change.record, part as u64);
            parts.entry((grid.bunch(record, part), record, part)).or_default().push((inside, piece));
            (at, bytes) = (at + piece.len(), rest);
        }
    }
    out.reserve(Section::Resident, grid.bytes())?;
    let words = word_format(params)?;
    let parts: Vec<_> = parts.into_iter().collect();
    // Parts that share lines are changed by one thread, one after the other.
    let bunches: Vec<_> = parts.chunk_by(|((a, ..), _), ((b, ..), _)| a == b).collect();
    let part = |((_, record, part), edits): &(_, Edits<'_>)| {
        RecordPart { params, words: &words, out, record: *record, part: *part }.apply(edits)
    };
    bunches.into_par_iter().try_for_each(|bunch| bunch.iter().try_for_each(part))
}

/// One part of one record in an image.
struct RecordPart<'a> {
    params: &'a Inner,
    words: &'a WordFormat,
    out: &'a dyn Sink,
    record: u64,
    part: u64,
}

impl RecordPart<'_> {
    /// Reads the polynomial, changes it, and writes it back.
    fn apply(&self, edits: &Edits<'_>) -> Result<()> {
        let mut bytes = self.read()?;
        for (start, new) in edits {
            if let Some(target) = bytes.get_mut(*start..start + new.len()) {
                target.copy_from_slice(new);
            }
        }
        whiten(&self.params.literal.mask, self.record, self.part, &mut bytes);
        self.write(&stored_words(self.params, self.words, &bytes)?)
    }

    /// Reads the bytes of the polynomial, without the whitening.
    fn read(&self) -> Result<Vec<u8>> {
        read(self.params, self.words, (self.record, self.part), |at, out| self.at(at, out))
    }

    fn write(&self, words: &[u64]) -> Result<()> {
        let grid = &self.params.grid;
        let cell = grid.cell_of(self.record, self.part);
        let region = grid.region_of(self.part);
        let put = |offset, bytes: &[u8]| self.out.write_at(Section::Resident, region + offset, bytes);
        for (block, line) in words.as_chunks::<8>().0.iter().enumerate() {
            let at = |offset, out: &mut [u8]| self.at(region + offset, out);
            grid.layout().write(block, (cell.row, cell.col), line, at, put)?;
        }
        Ok(())
    }

    fn at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        self.out.read_at(Section::Resident, offset, out)
    }
}
