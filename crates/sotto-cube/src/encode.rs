//! Encoding: records to whitened polynomials to slots to tiles, written as the scan reads them. Memory is
//! bounded whatever the table's size, and each byte is written once.

use crate::answer::stored;
use crate::params::Inner;
use crate::whiten::whiten;
use rayon::prelude::*;
use sotto_core::{Misuse, Result, Rows, Section, Sink};
use sotto_math::bits;
use sotto_math::tiles::{TileLayout, Words};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of finished polynomials that a thread holds: the size of a strip.
const STRIP_BYTES: usize = 32 << 20;

/// Words of a block of slots.
const LINE: usize = 8;

/// Writes the image of a table.
///
/// # Errors
/// [`Misuse::Rule`] if `rows` has another shape than the parameters; storage errors.
pub fn encode(params: &Inner, rows: &dyn Rows, out: &dyn Sink) -> Result<()> {
    let grid = &params.grid;
    if rows.records() != grid.records() || rows.record_bytes() as u64 != params.literal.record_bytes {
        return Err(Misuse::Rule("the records have the shape the parameters were chosen for").into());
    }
    out.reserve(Section::Resident, grid.bytes())?;
    let words = stored(params)?;
    let strips: Vec<Strip> = strips(grid.layout()).collect();
    let total = grid.units() * strips.len() as u64;
    let done = AtomicU64::new(0);
    for unit in 0..grid.units() {
        strips.par_iter().try_for_each_init(Vec::new, |buffer, strip| -> Result<()> {
            let strip = Writer { params, words: &words, rows, out, unit, strip };
            strip.write(buffer)?;
            out.progress("table", done.fetch_add(1, Ordering::Relaxed) + 1, total);
            Ok(())
        })?;
    }
    Ok(())
}

/// A rectangle of polynomials whose lines are contiguous in every block: one tile of rows, some whole groups
/// of columns.
struct Strip {
    rows: std::ops::Range<usize>,
    cols: std::ops::Range<usize>,
}

fn strips(layout: &TileLayout) -> impl Iterator<Item = Strip> + '_ {
    let polynomial = layout.n() * 8;
    (0..layout.rows()).step_by(TileLayout::TILE_ROWS).flat_map(move |row| {
        let rows = row..(row + TileLayout::TILE_ROWS).min(layout.rows());
        let group = TileLayout::GROUP_COLS;
        let width = (STRIP_BYTES / polynomial / rows.len() / group).max(1) * group;
        (0..layout.cols())
            .step_by(width)
            .map(move |col| Strip { rows: rows.clone(), cols: col..(col + width).min(layout.cols()) })
    })
}

/// What one strip needs.
struct Writer<'a> {
    params: &'a Inner,
    words: &'a Words,
    rows: &'a dyn Rows,
    out: &'a dyn Sink,
    unit: u64,
    strip: &'a Strip,
}

impl Writer<'_> {
    /// Fills the strip block by block and writes each block's part, which is contiguous.
    fn write(&self, buffer: &mut Vec<u8>) -> Result<()> {
        let layout = self.params.grid.layout();
        let (rows, cols) = (&self.strip.rows, &self.strip.cols);
        let block_bytes = rows.len() * cols.len() * LINE * 8;
        buffer.clear();
        buffer.resize(block_bytes * layout.blocks(), 0);
        let start = layout.line(0, rows.start, cols.start);
        let mut polynomial = Polynomial::new(self.params);
        let mut some = Vec::with_capacity(TOGETHER);
        for col in cols.clone().step_by(TileLayout::GROUP_COLS) {
            let group = col..cols.end.min(col + TileLayout::GROUP_COLS);
            // Lines of one block lie in this order, so that those of several polynomials are one stretch.
            for (row, col) in rows.clone().flat_map(|row| group.clone().map(move |col| (row, col))) {
                if let Some(slots) = polynomial.read(self.rows, self.unit, row, col, self.words)? {
                    some.push(((layout.line(0, row, col) - start) as usize, slots));
                }
                if some.len() == TOGETHER {
                    scatter(&some, buffer, block_bytes);
                    some.clear();
                }
            }
            scatter(&some, buffer, block_bytes);
            some.clear();
        }
        let region = self.params.grid.region(self.unit);
        for (block, bytes) in buffer.chunks_exact(block_bytes).enumerate() {
            let offset = region + layout.line(block, rows.start, cols.start);
            self.out.write_at(Section::Resident, offset, bytes)?;
        }
        Ok(())
    }
}

/// Polynomials that are put into a strip together. The same line of each is written before the next line of any:
/// blocks are so far apart that each line would be a cache miss and a page of its own.
const TOGETHER: usize = 8;

/// Writes lines of polynomials to where in a block they go, block after block.
fn scatter(polynomials: &[(usize, Vec<u64>)], buffer: &mut [u8], block_bytes: usize) {
    for (i, block) in buffer.chunks_exact_mut(block_bytes).enumerate() {
        for (inside, slots) in polynomials {
            let line = slots.as_chunks::<LINE>().0.get(i);
            let room = block.get_mut(*inside..*inside + LINE * 8);
            for (room, word) in
                room.into_iter().flat_map(|room| room.as_chunks_mut::<8>().0).zip(line.into_iter().flatten())
            {
                *room = word.to_le_bytes();
            }
        }
    }
}

/// One polynomial of a table on its way into the image.
pub(crate) struct Polynomial<'a> {
    params: &'a Inner,
    bytes: Vec<u8>,
}

impl<'a> Polynomial<'a> {
    pub(crate) fn new(params: &'a Inner) -> Self {
        Polynomial { params, bytes: Vec::new() }
    }

    /// Reads the part of a record that is in a cell of a unit's region; `None` if no record is there.
    fn read(
        &mut self,
        rows: &dyn Rows,
        unit: u64,
        row: usize,
        col: usize,
        words: &Words,
    ) -> Result<Option<Vec<u64>>> {
        let grid = &self.params.grid;
        let (record, k) = grid.owner(row, col);
        if record >= grid.records() {
            return Ok(None);
        }
        let part = grid.part(unit, k);
        let range = grid.bytes_of_part(part);
        self.bytes.clear();
        self.bytes.resize(grid.part_bytes(), 0);
        if let Some(room) = self.bytes.get_mut(..range.len()) {
            rows.read_part(record, range.start as u64, room)?;
        }
        whiten(record, part, &mut self.bytes);
        stored_words(self.params, words, &self.bytes).map(Some)
    }
}

/// The stored words of a polynomial with these whitened bytes: coefficients centred, then transformed.
pub(crate) fn stored_words(params: &Inner, form: &Words, bytes: &[u8]) -> Result<Vec<u64>> {
    let (n, p_log2) = (params.n(), u32::from(params.literal.p_log2));
    let mut words = bits::unpack_words(bytes, p_log2, n)
        .ok_or(Misuse::Rule("a part is as many bytes as a polynomial holds"))?;
    // From 0..p to the representatives in [-p/2, p/2), modulo q.
    let (q, p) = (params.ring.q().value(), 1u64 << p_log2);
    words.iter_mut().for_each(|word| *word += (q - p) * u64::from(*word >= p / 2));
    params.ring.plan().forward(&mut words);
    form.store(&mut words);
    Ok(words)
}
