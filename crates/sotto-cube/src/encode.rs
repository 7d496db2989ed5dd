//! Encoding: records to whitened polynomials to slots to tiles, written in the order in which the
//! scan reads them. Memory is bounded whatever the table's size, and each byte is written once.

use crate::params::Inner;
use crate::whitening::whiten;
use rayon::prelude::*;
use sotto_core::{Misuse, RecordSource, Result, Section, Sink};
use sotto_math::bits;
use sotto_math::modulus::Modulus;
use sotto_math::tiles::{Strip, WordFormat, strips};
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes the image of a table.
///
/// # Errors
/// [`Misuse::Rule`] if `rows` has another shape than the parameters; storage errors.
pub fn encode(params: &Inner, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
    let grid = &params.grid;
    if rows.records() != grid.records() || rows.record_bytes() as u64 != params.literal.record_bytes {
        return Err(Misuse::Rule("the records must have the shape of the parameters").into());
    }
    out.reserve(Section::Resident, grid.bytes())?;
    let words = word_format(params)?;
    let strips: Vec<Strip> = strips(grid.layout()).collect();
    let total = grid.units() * strips.len() as u64;
    let done = AtomicU64::new(0);
    for unit in 0..grid.units() {
        strips.par_iter().try_for_each_init(Vec::new, |buffer, strip| -> Result<()> {
            let strip = StripWriter { params, words: &words, rows, out, unit, strip };
            strip.write(buffer)?;
            out.progress("table", done.fetch_add(1, Ordering::Relaxed) + 1, total);
            Ok(())
        })?;
    }
    Ok(())
}

/// The word format of slots in an image: residues modulo q, or modulo its two factors.
pub(crate) fn word_format(params: &Inner) -> Result<WordFormat> {
    let q = params.ring.q();
    let words = match q.factors() {
        Some([first, second]) => Modulus::new(first)
            .zip(Modulus::new(second))
            .and_then(|(first, second)| WordFormat::pair(first, second)),
        None => WordFormat::new(q),
    };
    words.ok_or_else(|| Misuse::Rule("the modulus of a ring must have a word format").into())
}

/// The state for writing one strip of a unit's region.
struct StripWriter<'a> {
    params: &'a Inner,
    words: &'a WordFormat,
    rows: &'a dyn RecordSource,
    out: &'a dyn Sink,
    unit: u64,
    strip: &'a Strip,
}

impl StripWriter<'_> {
    /// The record in a cell of the unit's region, and the number of the part there.
    fn part(&self, (row, col): &(usize, usize)) -> (u64, u64) {
        let (record, k) = self.params.grid.owner(*row, *col);
        (record, self.params.grid.part(self.unit, k))
    }

    /// Fills the strip and writes its range of each block, which is contiguous.
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
        let grid = &self.params.grid;
        let held = |(row, col): &(usize, usize)| grid.owner(*row, *col).0 < grid.records();
        let cells: Vec<_> = strip.polynomials().filter(held).collect();
        let mut reading = PolynomialReader::default();
        for cells in cells.chunks(READ) {
            reading.read(self, cells)?;
            for (i, cells) in cells.chunks(TOGETHER).enumerate() {
                strip.put(layout, &reading.polynomials(self, i * TOGETHER, cells)?, buffer);
            }
        }
        for (block, bytes) in buffer.chunks_exact(bytes).enumerate() {
            self.out.write_at(Section::Resident, region + strip.offset(layout, block), bytes)?;
        }
        Ok(())
    }
}

/// Polynomials that are put into a strip together.
const TOGETHER: usize = 8;

/// Polynomials that are read together: where rows come from an image, as many as share cache lines.
const READ: usize = 40;

/// Reader of a table's polynomials on their way into the image.
#[derive(Default)]
struct PolynomialReader {
    /// Bytes of the polynomials, concatenated.
    bytes: Vec<u8>,
    /// Bytes of parts that are shorter than a polynomial.
    short: Vec<u8>,
}

impl PolynomialReader {
    /// Reads the parts of records for some cells of a unit's region, each of which has a record.
    fn read(&mut self, of: &StripWriter<'_>, cells: &[(usize, usize)]) -> Result<()> {
        let grid = &of.params.grid;
        let each = grid.part_bytes();
        let range = |cell: &(usize, usize)| grid.bytes_of_part(of.part(cell).1);
        self.bytes.clear();
        self.bytes.resize(cells.len() * each, 0);
        let mut free = self.bytes.as_mut_slice();
        // The last part of a record may be shorter.
        for cells in cells.chunk_by(|a, b| range(a).len() == range(b).len()) {
            let parts: Vec<_> =
                cells.iter().map(|cell| (of.part(cell).0, range(cell).start as u64)).collect();
            let (batch, rest) = free.split_at_mut(cells.len() * each);
            match cells.first().map_or(0, |cell| range(cell).len()) {
                0 => {}
                len if len == each => of.rows.read_parts(&parts, batch)?,
                len => {
                    self.short.resize(cells.len() * len, 0);
                    of.rows.read_parts(&parts, &mut self.short)?;
                    let parts = batch.chunks_exact_mut(each).zip(self.short.chunks_exact(len));
                    parts.for_each(|(batch, short)| batch.iter_mut().zip(short).for_each(|(a, b)| *a = *b));
                }
            }
            free = rest;
        }
        Ok(())
    }

    /// The stored words of the polynomials in some of these cells, from number `first` on.
    fn polynomials(
        &mut self,
        of: &StripWriter<'_>,
        first: usize,
        cells: &[(usize, usize)],
    ) -> Result<Vec<((usize, usize), Vec<u64>)>> {
        let bytes = self.bytes.chunks_exact_mut(of.params.grid.part_bytes()).skip(first);
        let polynomial = |(cell, bytes): (&(usize, usize), &mut [u8])| {
            let (record, part) = of.part(cell);
            whiten(&of.params.literal.mask, record, part, bytes);
            Ok((*cell, stored_words(of.params, of.words, bytes)?))
        };
        cells.iter().zip(bytes).map(polynomial).collect()
    }
}

/// The stored words of a polynomial with these whitened bytes: the coefficients are centered, then
/// transformed.
pub(crate) fn stored_words(params: &Inner, form: &WordFormat, bytes: &[u8]) -> Result<Vec<u64>> {
    let (n, p_log2) = (params.n(), u32::from(params.literal.p_log2));
    let mut words = bits::unpack_words(bytes, p_log2, n)
        .ok_or(Misuse::Rule("a part must have the bytes of a polynomial"))?;
    // From 0..p to the representatives in [-p/2, p/2), modulo q.
    let (q, p) = (params.ring.q().value(), 1u64 << p_log2);
    words.iter_mut().for_each(|word| *word += (q - p) * u64::from(*word >= p / 2));
    params.ring.plan().forward(&mut words);
    form.store(&mut words);
    Ok(words)
}
