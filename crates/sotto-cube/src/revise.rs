//! Moving an image to the next epoch: only the polynomials that changed are read, changed and written.

use crate::answer::stored;
use crate::encode::stored_words;
use crate::params::Inner;
use crate::read::{LINE_BYTES, lines, read};
use crate::whiten::whiten;
use rayon::prelude::*;
use sotto_core::{Change, Misuse, Result, Section, Sink};
use sotto_math::tiles::Words;
use std::collections::BTreeMap;

/// What changes in one part of one record: bytes, and where in the part they go. Later ones win.
type Edits<'a> = Vec<(usize, &'a [u8])>;

/// Applies changes to an image that holds the old table. There is nothing a client needs to be told: it
/// holds nothing of the table.
///
/// # Errors
/// [`Misuse::IndexPastEnd`] for a change outside the records; storage errors.
pub fn revise(params: &Inner, changes: &[Change], out: &dyn Sink) -> Result<()> {
    let grid = &params.grid;
    let mut parts: BTreeMap<(u64, u64), Edits<'_>> = BTreeMap::new();
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
            let (now, rest) = bytes.split_at(bytes.len().min(grid.part_bytes() - inside));
            parts.entry((change.record, part as u64)).or_default().push((inside, now));
            (at, bytes) = (at + now.len(), rest);
        }
    }
    out.reserve(Section::Resident, grid.bytes())?;
    let words = stored(params)?;
    let parts: Vec<_> = parts.into_iter().collect();
    parts.par_iter().try_for_each(|((record, part), edits)| {
        Part { params, words: &words, out, record: *record, part: *part }.apply(edits)
    })
}

/// One part of one record in an image.
struct Part<'a> {
    params: &'a Inner,
    words: &'a Words,
    out: &'a dyn Sink,
    record: u64,
    part: u64,
}

impl Part<'_> {
    /// Reads the polynomial, changes it, writes it back.
    fn apply(&self, edits: &Edits<'_>) -> Result<()> {
        let mut bytes = self.read()?;
        for (start, new) in edits {
            if let Some(room) = bytes.get_mut(*start..start + new.len()) {
                room.copy_from_slice(new);
            }
        }
        whiten(&self.params.literal.mask, self.record, self.part, &mut bytes);
        self.write(&stored_words(self.params, self.words, &bytes)?)
    }

    /// The bytes of the polynomial, without the mask.
    fn read(&self) -> Result<Vec<u8>> {
        read(self.params, self.words, self.record, self.part, |offset, line| {
            self.out.read_at(Section::Resident, offset, line)
        })
    }

    fn write(&self, words: &[u64]) -> Result<()> {
        for (offset, line) in lines(self.params, self.record, self.part).zip(words.as_chunks::<8>().0) {
            let mut bytes = [0; LINE_BYTES];
            for (bytes, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(line) {
                *bytes = word.to_le_bytes();
            }
            self.out.write_at(Section::Resident, offset, &bytes)?;
        }
        Ok(())
    }
}
