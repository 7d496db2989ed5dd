//! Encoding: records to whitened polynomials to slots to tiles, written as the scan reads them. Memory is
//! bounded whatever the table's size, and each byte is written once.

use crate::answer::stored;
use crate::params::Inner;
use crate::whiten::whiten;
use rayon::prelude::*;
use sotto_core::{Misuse, Result, Rows, Section, Sink};
use sotto_math::bits;
use sotto_math::tiles::{Strip, Words, strips};
use std::sync::atomic::{AtomicU64, Ordering};

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
    /// Fills the strip and writes each block's part, which is contiguous.
    fn write(&self, buffer: &mut Vec<u8>) -> Result<()> {
        let (layout, strip) = (self.params.grid.layout(), self.strip);
        let (region, bytes) = (self.params.grid.region(self.unit), strip.block_bytes(layout));
        let is_wanted = |block: usize| {
            let start = region + strip.offset(layout, block);
            self.out.wants(Section::Resident, start..start + bytes as u64)
        };
        if !(0..layout.blocks()).any(is_wanted) {
            return Ok(());
        }
        buffer.clear();
        buffer.resize(bytes * layout.blocks(), 0);
        let mut polynomial = Polynomial::new(self.params);
        let mut some = Vec::with_capacity(TOGETHER);
        for (row, col) in strip.polynomials() {
            if let Some(slots) = polynomial.read(self.rows, self.unit, row, col, self.words)? {
                some.push(((row, col), slots));
            }
            if some.len() == TOGETHER {
                strip.put(layout, &some, buffer);
                some.clear();
            }
        }
        strip.put(layout, &some, buffer);
        for (block, bytes) in buffer.chunks_exact(bytes).enumerate() {
            self.out.write_at(Section::Resident, region + strip.offset(layout, block), bytes)?;
        }
        Ok(())
    }
}

/// Polynomials that are put into a strip together.
const TOGETHER: usize = 8;

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
        whiten(&self.params.literal.mask, record, part, &mut self.bytes);
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
