//! Encoding: records into matrices, and their diagonals into plaintexts, written in the order in
//! which the pass reads them. A copy of the records follows, since every plaintext has a number of
//! each of them.

use crate::Params;
use crate::grid::{Grid, PAGE_BYTES};
use crate::ring::{CYCLE, N, Slots, T, ring};
use rayon::prelude::*;
use sotto_core::{Misuse, RecordChange, RecordSource, Result, Section, Sink};
use sotto_lattice::ring::Ring;
use sotto_math::tiles::{Strip, TileLayout, WordFormat, strips};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Records that are copied at a time.
const TOGETHER: usize = 64;

/// Plaintexts that are put into a strip together.
const SOME: usize = 8;

/// A column of a block: N numbers modulo t, cycle after cycle.
type Column = Vec<u32>;

/// Writes the image of a table.
///
/// # Errors
/// Storage errors.
pub(crate) fn encode(params: &Params, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
    write_blocks(params, rows, out, |_| true)?;
    copy(params, rows, out)
}

/// Writes the changed bytes, and the plaintexts of every block that they are in. Queries and keys do not
/// depend on the table, so nothing changes for clients.
///
/// # Errors
/// Storage errors.
pub(crate) fn update_image(params: &Params, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
    let grid = params.grid();
    let mut blocks = BTreeSet::new();
    for RecordChange { record, offset, bytes } in changes {
        let start = grid.table_bytes() + record * grid.record_bytes() as u64 + offset;
        out.write_at(Section::Resident, start, bytes)?;
        // Both offsets are within a record, which is in memory as a whole elsewhere.
        let of = |at: usize| at / PAGE_BYTES * grid.blocks + at % PAGE_BYTES / grid.part_bytes();
        blocks.extend((*offset as usize..*offset as usize + bytes.len()).map(of));
    }
    write_blocks(params, &StoredRecords { params, out }, out, |some| blocks.range(some).next().is_some())
}

/// The copies of the records after the table.
struct StoredRecords<'a> {
    params: &'a Params,
    out: &'a dyn Sink,
}

impl RecordSource for StoredRecords<'_> {
    fn records(&self) -> u64 {
        self.params.records
    }

    fn record_bytes(&self) -> usize {
        self.params.grid().record_bytes()
    }

    fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
        let start = self.params.grid().table_bytes() + first * self.record_bytes() as u64;
        self.out.read_at(Section::Resident, start, out)
    }
}

/// Writes the plaintexts of some blocks, and of the blocks whose plaintexts share cache lines with
/// them.
///
/// # Errors
/// The errors of `rows`; storage errors.
pub(crate) fn write_blocks(
    params: &Params,
    rows: &dyn RecordSource,
    out: &dyn Sink,
    is_needed: impl Fn(Range<usize>) -> bool,
) -> Result<()> {
    let grid = &params.grid();
    let layout = layout(grid, grid.all_blocks())?;
    let words = words()?;
    let mut strips: Vec<Strip> = strips(&layout).collect();
    // Strips of the same columns are consecutive, since they are made of the same blocks.
    strips.sort_by_key(|strip| strip.cols.start);
    strips.retain(|strip| is_needed(blocks_of(grid, &strip.cols)));
    let (done, total) = (AtomicU64::new(0), strips.len() as u64);
    for same in strips.chunk_by(|a, b| a.cols == b.cols) {
        let Some(cols) = same.first().map(|strip| strip.cols.clone()) else { continue };
        let blocks = blocks_of(grid, &cols);
        let writer = Writer {
            grid,
            ring: ring()?,
            slots: Slots::get()?,
            layout: &layout,
            words: &words,
            matrices: read(params, rows, blocks)?,
        };
        same.par_iter().try_for_each(|strip| {
            writer.write(strip, out)?;
            out.progress("table", done.fetch_add(1, Ordering::Relaxed) + 1, total);
            Ok::<_, sotto_core::Error>(())
        })?;
    }
    Ok(())
}

/// The blocks whose plaintexts are in some columns of the table.
fn blocks_of(grid: &Grid, cols: &Range<usize>) -> Range<usize> {
    cols.start / grid.giants()..cols.end.div_ceil(grid.giants())
}

/// The layout of the plaintexts of some blocks.
///
/// # Errors
/// [`Misuse::Rule`] for no blocks.
pub(crate) fn layout(grid: &Grid, blocks: usize) -> Result<TileLayout> {
    Ok(grid.layout(blocks).ok_or(Misuse::Rule("a part must have at least one block"))?)
}

/// The storage format of plaintexts.
///
/// # Errors
/// None, since the modulus is a constant.
pub(crate) fn words() -> Result<WordFormat> {
    Ok(WordFormat::new(ring()?.q()).ok_or(Misuse::Rule("the modulus must have a stored form"))?)
}

/// The matrices of some blocks of all layers, block by block and column by column.
struct Matrices {
    first: usize,
    columns: Vec<Column>,
}

/// Reads the pieces of records in some blocks.
fn read(params: &Params, rows: &dyn RecordSource, blocks: Range<usize>) -> Result<Matrices> {
    let (grid, first) = (params.grid(), blocks.start);
    let all: Vec<(usize, usize)> =
        blocks.flat_map(|block| (0..grid.columns).map(move |column| (block, column))).collect();
    let columns = all.into_par_iter().map(|(block, column)| read_column(params, rows, block, column));
    Ok(Matrices { first, columns: columns.collect::<Result<_>>()? })
}

/// The slots of the polynomial that has the pieces of a column's records.
fn read_column(params: &Params, rows: &dyn RecordSource, block: usize, column: usize) -> Result<Column> {
    let grid = params.grid();
    let (page, k) = (block / grid.blocks, block % grid.blocks);
    let mut coefficients = vec![0; N];
    let mut part = vec![0; grid.part_bytes()];
    for p in 0..grid.blocks {
        let record = (column * grid.blocks + p) as u64;
        if record < params.records {
            let offset = page * PAGE_BYTES + k * grid.part_bytes();
            rows.read_part(record, offset as u64, &mut part)?;
            let own = coefficients.iter_mut().skip(p).step_by(grid.blocks);
            let words = part.as_chunks::<2>().0;
            own.zip(words).for_each(|(x, word)| *x = u64::from(u16::from_le_bytes(*word)));
        }
    }
    Ok(Slots::get()?.decode(&mut coefficients).map(|x| x as u32).collect())
}

/// The state of writing strips of the same columns.
struct Writer<'a> {
    grid: &'a Grid,
    ring: &'static Ring,
    slots: &'static Slots,
    layout: &'a TileLayout,
    words: &'a WordFormat,
    matrices: Matrices,
}

impl Writer<'_> {
    fn write(&self, strip: &Strip, out: &dyn Sink) -> Result<()> {
        let layout = self.layout;
        let mut buffer = vec![0; strip.block_bytes(layout) * layout.blocks()];
        let cells: Vec<(usize, usize)> = strip.polynomials().collect();
        for some in cells.chunks(SOME) {
            let made: Vec<_> = some.iter().map(|cell| (*cell, self.plaintext(*cell))).collect();
            strip.put(layout, &made, &mut buffer);
        }
        for (block, bytes) in buffer.chunks_exact(strip.block_bytes(layout)).enumerate() {
            out.write_at(Section::Resident, strip.offset(layout, block), bytes)?;
        }
        Ok(())
    }

    /// The stored words of the plaintext of a baby step and a giant step: slot `i` is in row `i - g n1` and column `i + a mod D`.
    fn plaintext(&self, (a, col): (usize, usize)) -> Vec<u64> {
        let (grid, ring) = (self.grid, self.ring);
        let (block, g) = (col / grid.giants(), col % grid.giants());
        let first = (block - self.matrices.first) * grid.columns;
        let columns = self.matrices.columns.get(first..first + grid.columns).unwrap_or_default();
        let slots = (0..N).map(|slot| {
            let (cycle, i) = (slot / CYCLE * CYCLE, slot % CYCLE);
            let row = cycle + (i + CYCLE - g * grid.babies) % CYCLE;
            columns
                .get((i + a) % grid.columns)
                .and_then(|column| column.get(row))
                .copied()
                .unwrap_or(0)
                .into()
        });
        let mut out = self.slots.encode(slots);
        let q = ring.q().value();
        out.iter_mut().for_each(|x| *x += (q - T) * u64::from(*x > T / 2));
        ring.plan().forward(&mut out);
        self.words.store(&mut out);
        out
    }
}

/// Copies the records after the table.
fn copy(params: &Params, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
    let (records, each) = (params.records, params.grid().record_bytes());
    for first in (0..records).step_by(TOGETHER) {
        let mut bytes = vec![0; each * (records - first).min(TOGETHER as u64) as usize];
        rows.read(first, &mut bytes)?;
        out.write_at(Section::Resident, params.grid().table_bytes() + first * each as u64, &bytes)?;
    }
    Ok(())
}
