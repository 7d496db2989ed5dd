//! The server: one pass over the matrix, and for each ring one over digits and one over diagonals, for
//! a few queries at once.
//!
//! A part has some rows of the matrix; the first part also has one ring of LinPIR, and the last one the
//! other. A ring is not divided, since all of it takes the same rotations of a client's secret. A part
//! with a ring has fewer rows.

use crate::Hintless;
use crate::linpir::server::{HintRows, LinPir, LinPirMasks};
use crate::linpir::{EncryptedSecret, RINGS, and_products, ring_bytes, rings};
use sotto_core::{Misuse, PartIndex, RecordChange, RecordSource, Result, Section, Sink, work};
use sotto_math::matrix::QueryPlanes;
use sotto_silent::lwe::dense::HINTLESS;
use sotto_silent::matrix::{ByteChange, Matrix, RowRange, change_panels, write_matrix};
use sotto_silent::message::{Field, Format, Partial, PartialFormat, Query};
use sotto_silent::pieces::{PartSection, Piece};
use sotto_silent::{MatrixServer, Params};
use std::ops::Range;

/// Byte planes of a query's word.
const PLANES: usize = 4;

/// An open table, or some of its rows and some of the rings.
pub struct Server {
    matrix: Matrix,
    linpir: LinPir,
    held: PartSection,
}

/// A query in the form that the passes take.
pub struct ExpandedQuery {
    words: QueryPlanes,
    secret: Vec<EncryptedSecret>,
}

/// The contents of a part: rows of the matrix, and rings.
fn contents(params: &Params<Hintless>, cut: PartIndex) -> (RowRange, Range<usize>) {
    let [start, end] = [cut.part(), cut.part() + 1].map(|part| before(params, part, cut.parts()) as u64);
    let first = if cut.part() == 0 { 0 } else { 1 };
    let last = if cut.part() + 1 == cut.parts() { RINGS } else { 1 };
    (RowRange::panels(&params.layout(), start..end), first..last)
}

/// Panels of the parts before a part: one for each part, and the others such that the parts have
/// equal work, as far as the undivided rings permit.
fn before(params: &Params<Hintless>, part: u32, parts: u32) -> usize {
    let layout = params.layout();
    let panels = layout.panels() as i128;
    let (part, parts) = (i128::from(part), i128::from(parts));
    if part == 0 || part == parts {
        return if part == 0 { 0 } else { layout.panels() };
    }
    let panel = i128::from(layout.panel_bytes() as u64 * work::READ_BYTE);
    let [first, last] = params.ring_ops().map(i128::from);
    let share = (first + panels * panel + last) * part / parts;
    let more = ((share - first).div_euclid(panel) - part).clamp(0, panels - parts);
    (part + more) as usize
}

impl MatrixServer<Hintless> for Server {
    /// Each query has its own rotations, a hundred megabytes of them.
    const BATCH: usize = 4;
    type Expanded = ExpandedQuery;
    type Joiner = ();

    fn pieces(params: &Params<Hintless>, cut: PartIndex) -> Vec<Piece> {
        let (rows, rings) = contents(params, cut);
        let ring = |(k, bytes)| Piece { bytes, part: 0..if rings.contains(&k) { bytes } else { 0 } };
        let rings = ring_bytes(params.blocks(), params.block_rows).into_iter().enumerate().map(ring);
        std::iter::once(rows.piece).chain(rings).collect()
    }

    /// The paper's Setup: the matrix, the digits of all rotations, and the hint as diagonals.
    fn write(params: &Params<Hintless>, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        let linpir = linpir(params)?;
        write_matrix(params.layout(), Section::Resident, rows, out)?;
        let masks = linpir.prepare(&params.seed, put(params, out))?;
        write_blocks(params, &linpir, &masks, linpir.together(0..params.blocks() as usize), out)
    }

    /// The changed bytes, and the rows of the hint of every block that they touch. Queries do not depend
    /// on the table, so nothing changes for clients.
    fn update_image(params: &Params<Hintless>, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
        let (linpir, block_rows) = (linpir(params)?, params.block_rows as usize);
        let blocks = |entries: &[ByteChange]| {
            let mut blocks: Vec<usize> =
                entries.iter().map(|entry| entry.row as usize / block_rows).collect();
            blocks.dedup();
            Ok(blocks)
        };
        let touched = change_panels(params.layout(), Section::Resident, changes, out, blocks)?;
        // The digits exist already: they are the same for every table.
        let masks = linpir.prepare(&params.seed, |_, _| Ok(()))?;
        write_blocks(params, &linpir, &masks, linpir.together(touched.into_iter().flatten()), out)
    }

    fn records(params: &Params<Hintless>, held: PartSection) -> Box<dyn RecordSource> {
        Matrix::new(params.layout(), held, 0).records()
    }

    fn max_parts(params: &Params<Hintless>) -> u32 {
        RowRange::max_parts(&params.layout())
    }

    fn partial(params: &Params<Hintless>, cut: PartIndex) -> PartialFormat {
        let (RowRange { rows, .. }, rings) = contents(params, cut);
        let with = |format, ring| and_products(format, ring, params.blocks());
        PartialFormat {
            words: vec![Field::words(rows.len() as u64, u32::BITS)],
            ciphers: rings.fold(Format::default(), with),
        }
    }

    fn open(params: &Params<Hintless>, cut: PartIndex, held: PartSection) -> Result<Self> {
        let (rows, which) = contents(params, cut);
        let linpir = LinPir::new(rings()?, which, &params.seed, params.rows())?;
        Ok(Server { matrix: Matrix::new(rows.layout, held.clone(), 0), linpir, held })
    }

    fn joiner(_: &Params<Hintless>) -> Result<()> {
        Ok(())
    }

    fn expand(&self, _: &Params<Hintless>, (): &(), Query(fields): &Query) -> Result<ExpandedQuery> {
        let (words, secret) = fields.split_first().ok_or(Misuse::ForeignValue("query"))?;
        let words = QueryPlanes::from_u64(words, PLANES, self.matrix.layout());
        Ok(ExpandedQuery { words, secret: EncryptedSecret::all_of(secret) })
    }

    /// The paper's Answer: the matrix times the words of a few queries; then the hint times their
    /// secrets, under encryption.
    fn pass(&self, _: &Params<Hintless>, queries: &[ExpandedQuery]) -> Vec<Partial> {
        let planes: Vec<&QueryPlanes> = queries.iter().map(|query| &query.words).collect();
        let words = self.matrix.times_u32(&planes);
        let secrets: Vec<&[EncryptedSecret]> = queries.iter().map(|query| query.secret.as_slice()).collect();
        let products = self.linpir.answers(self.held.rest(1), &secrets);
        let rows = self.matrix.layout().rows();
        let passed = |(words, products): (Vec<u32>, Vec<Vec<[Vec<u64>; 2]>>)| Partial {
            words: vec![words.into_iter().take(rows).map(u64::from).collect()],
            ciphers: products.into_iter().flatten().flatten().collect(),
        };
        words.into_iter().zip(products).map(passed).collect()
    }
}

/// LinPIR in all rings.
fn linpir(params: &Params<Hintless>) -> Result<LinPir> {
    LinPir::new(rings()?, 0..RINGS, &params.seed, params.rows())
}

/// Writes bytes of LinPIR, from an offset after the matrix on.
fn put(params: &Params<Hintless>, out: &dyn Sink) -> impl Fn(u64, &[u8]) -> Result<()> + Sync {
    let start = params.matrix_bytes();
    move |at, bytes| out.write_at(Section::Resident, start + at, bytes)
}

/// Writes the diagonals and masks of some blocks: their rows of the hint, `H = D A`, and then their slots.
fn write_blocks(
    params: &Params<Hintless>,
    linpir: &LinPir,
    masks: &LinPirMasks,
    blocks: Vec<Range<usize>>,
    out: &dyn Sink,
) -> Result<()> {
    let (height, total) = (params.block_rows as usize, blocks.len() as u64);
    out.progress("hint", 0, total);
    for (done, blocks) in (1..).zip(blocks) {
        let rows = blocks.start * height..(params.record_bytes as usize).min(blocks.end * height);
        let read = |at, bytes: &mut [u8]| out.read_at(Section::Resident, at, bytes);
        let words = HINTLESS.hint(&params.seed, params.layout(), rows, read, |_| ())?;
        linpir.write(&HintRows { words: &words, n: HINTLESS.n, blocks }, masks, put(params, out))?;
        out.progress("hint", done, total);
    }
    Ok(())
}
