//! The server: one pass over both matrices for up to eight queries at once. A part has some rows of
//! both. The rows that depend on the first pass need all of it, so they are multiplied at last.

use crate::DoublePir;
use crate::literal::FRESH_ROWS;
use sotto_core::{Artifact, Misuse, PartIndex, RecordChange, RecordSource, Result, Section, Sink};
use sotto_math::matrix::QueryPlanes;
use sotto_silent::lwe::hint::{row, write_hint};
use sotto_silent::lwe::ring::{N, Ring, rounded, switch};
use sotto_silent::lwe::update::update_rows;
use sotto_silent::matrix::{ACCELERATED_BATCH, BATCH, ByteChange, Matrix, RowRange, SectionOffset};
use sotto_silent::message::{Field, Partial, PartialFormat, Query};
use sotto_silent::pieces::{PartSection, Piece};
use sotto_silent::two_pass::{FRESH_BITS, FirstPass, update_image, write};
use sotto_silent::{MatrixServer, Params};

/// The section of the client's hint in an image.
const HINT: Section = Section::Public(Artifact::Hint);

/// An open table, or some rows of both matrices.
pub struct Server {
    first: FirstPass,
    second: Matrix,
}

/// Computes the masks of fresh rows.
pub struct FreshMasks {
    ring: Ring,
    /// Values of a_k(1/X), block by block.
    blocks: Vec<Vec<u64>>,
}

/// The rows of both matrices that a part has.
fn row_ranges(params: &Params<DoublePir>, cut: PartIndex) -> [RowRange; 2] {
    [params.cut().first(), params.cut().second()].map(|layout| RowRange::of(&layout, cut))
}

impl MatrixServer<DoublePir> for Server {
    const BATCH: usize = BATCH;
    const ACCELERATED_BATCH: usize = ACCELERATED_BATCH;
    /// The planes of both vectors.
    type Expanded = [QueryPlanes; 2];
    type Joiner = FreshMasks;

    fn pieces(params: &Params<DoublePir>, cut: PartIndex) -> Vec<Piece> {
        row_ranges(params, cut).map(|range| range.piece).into()
    }

    fn artifacts(params: &Params<DoublePir>) -> Vec<(Section, u64)> {
        vec![(HINT, params.hint_bytes())]
    }

    fn write(params: &Params<DoublePir>, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        let cut = params.cut();
        write(&cut, Section::Resident, rows, out)?;
        let second = SectionOffset { section: Section::Resident, start: cut.first_bytes() };
        write_hint(cut.second(), second, HINT, out)
    }

    /// The changed bytes, the columns of the second matrix that follow from them, and the rows of its
    /// hint, which clients fetch again. Each changed column adds to every row of the hint. Where many
    /// columns change, encoding the table from scratch is cheaper.
    fn update_image(params: &Params<DoublePir>, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
        let update = |entries: &[ByteChange]| update_rows(None, entries, HINT, out);
        update_image(&params.cut(), Section::Resident, changes, out, update)
    }

    fn records(params: &Params<DoublePir>, held: PartSection) -> Box<dyn RecordSource> {
        FirstPass::records(params.cut(), held)
    }

    fn max_parts(params: &Params<DoublePir>) -> u32 {
        // The second matrix has at least as many panels as a small table can have parts.
        RowRange::max_parts(&params.cut().first()).min(RowRange::max_parts(&params.cut().second()))
    }

    /// Fresh words, and those of the second matrix.
    fn partial(params: &Params<DoublePir>, cut: PartIndex) -> PartialFormat {
        let [first, second] = row_ranges(params, cut).map(|range| range.rows.len() as u64);
        let second = Field::words(second, params.answer_bits.into());
        PartialFormat { words: vec![Field::words(first, FRESH_BITS), second], ..PartialFormat::default() }
    }

    fn open(params: &Params<DoublePir>, cut: PartIndex, held: PartSection) -> Result<Self> {
        let ([_, second], [first_bits, _]) = (row_ranges(params, cut), params.query_bits.map(u32::from));
        let first = FirstPass::new(params.cut(), cut, first_bits, held.clone());
        Ok(Server { first, second: Matrix::new(second.layout, held, 1) })
    }

    fn joiner(params: &Params<DoublePir>) -> Result<FreshMasks> {
        let ring = Ring::new()?;
        let blocks = (0..params.blocks.div_ceil(N as u64) as usize).map(|k| ring.reversed_block(k)).collect();
        Ok(FreshMasks { ring, blocks })
    }

    fn expand(&self, params: &Params<DoublePir>, (): &(), query: &Query) -> Result<[QueryPlanes; 2]> {
        let Query(fields) = query;
        let [columns, blocks] = fields.as_slice() else { return Err(Misuse::ForeignValue("query").into()) };
        let [_, bits] = params.query_bits;
        let second = QueryPlanes::from_u64(blocks, bits.div_ceil(8).into(), self.second.layout());
        Ok([self.first.planes(columns), second])
    }

    /// The paper's Answer, for eight queries in one pass: the table times the first vectors, and the
    /// second matrix times the second vectors.
    fn pass(&self, params: &Params<DoublePir>, queries: &[[QueryPlanes; 2]]) -> Vec<Partial> {
        let (first, second): (Vec<_>, Vec<_>) = queries.iter().map(|[first, second]| (first, second)).unzip();
        let [_, bits] = params.query_bits.map(u32::from);
        let products = self.second.times_u32(&second);
        let passed = |(fresh, words): (Vec<u64>, Vec<u32>)| {
            // Panels of this matrix are full, without rows of padding.
            let words = vec![fresh, rounded(&words, bits, params.answer_bits.into())];
            Partial { words, ..Partial::default() }
        };
        self.first.fresh(&first).into_iter().zip(products).map(passed).collect()
    }

    /// The rows made of the first products, times the second vector, and their masks.
    fn finish(
        params: &Params<DoublePir>,
        fresh: &FreshMasks,
        (): &(),
        Query(query): &Query,
        Partial { words: mut passed, .. }: Partial,
    ) -> Result<Vec<Vec<u64>>> {
        let (Some(vector), [first, words]) = (query.get(1), passed.as_mut_slice()) else {
            return Err(Misuse::ForeignValue("query").into());
        };
        let numbers = params.cut().by_byte(first);
        let mut products = Vec::with_capacity(FRESH_ROWS * numbers.len());
        let rows = (0..FRESH_ROWS).flat_map(|byte| numbers.iter().map(move |numbers| signed(numbers, byte)));
        let mut masks = Vec::with_capacity(FRESH_ROWS * numbers.len() * N);
        for bytes in rows {
            let product = bytes.iter().zip(vector);
            let product = product.map(|(byte, word)| (*word as u32).wrapping_mul(i32::from(*byte) as u32));
            products.push(product.fold(0, u32::wrapping_add));
            let mask = row(&fresh.ring, &fresh.blocks, &bytes);
            masks.extend(mask.iter().map(|word| u64::from(switch(*word, params.mask_bits.into()))));
        }
        let mut words = std::mem::take(words);
        words.extend(rounded(&products, params.query_bits[1].into(), params.answer_bits.into()));
        Ok(vec![words, masks])
    }
}

/// The given byte of each number, signed.
fn signed(numbers: &[i16], byte: usize) -> Vec<i8> {
    numbers.iter().map(|number| (number >> (8 * byte)) as i8).collect()
}
