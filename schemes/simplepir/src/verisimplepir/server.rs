//! The server: `v = D c mod Q`, exactly, in one pass over the matrix for up to eight queries. It
//! answers from the bytes that clients stream. A part has some rows of the matrix.

use super::VeriSimplePir;
use sotto_core::{Artifact, Misuse, PartIndex, RecordChange, RecordSource, Result, Section, Sink};
use sotto_math::matrix::QueryPlanes;
use sotto_silent::lwe::ring::{Q, reduce};
use sotto_silent::matrix::{BATCH, Matrix, RowRange, change_panels, write_matrix};
use sotto_silent::message::{Field, Partial, PartialFormat, Query};
use sotto_silent::pieces::{PartSection, Piece};
use sotto_silent::{MatrixServer, Params};

/// The section of the table in an image.
const ROWS: Section = Section::Public(Artifact::Rows);

/// Byte planes of a query word.
const PLANES: usize = 4;

/// An open table, or a part of one.
pub struct Server {
    matrix: Matrix,
}

impl MatrixServer<VeriSimplePir> for Server {
    const BATCH: usize = BATCH;
    const SECTION: Section = ROWS;
    type Expanded = QueryPlanes;
    type Joiner = ();

    fn pieces(params: &Params<VeriSimplePir>, cut: PartIndex) -> Vec<Piece> {
        vec![RowRange::of(&params.layout(), cut).piece]
    }

    fn write(params: &Params<VeriSimplePir>, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        write_matrix(params.layout(), ROWS, rows, out)
    }

    /// Clients stream the new epoch's table again: their state depends on all of it, and they do not
    /// hold what applying a change would need.
    fn update_image(params: &Params<VeriSimplePir>, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
        change_panels(params.layout(), ROWS, changes, out, |_| Ok(())).map(drop)
    }

    fn records(params: &Params<VeriSimplePir>, held: PartSection) -> Box<dyn RecordSource> {
        Matrix::new(params.layout(), held, 0).records()
    }

    fn max_parts(params: &Params<VeriSimplePir>) -> u32 {
        RowRange::max_parts(&params.layout())
    }

    fn partial(params: &Params<VeriSimplePir>, cut: PartIndex) -> PartialFormat {
        let rows = RowRange::of(&params.layout(), cut).rows.len() as u64;
        PartialFormat { words: vec![Field::below(rows, Q)], ..PartialFormat::default() }
    }

    fn open(params: &Params<VeriSimplePir>, cut: PartIndex, held: PartSection) -> Result<Self> {
        Ok(Server { matrix: Matrix::new(RowRange::of(&params.layout(), cut).layout, held, 0) })
    }

    fn joiner(_: &Params<VeriSimplePir>) -> Result<()> {
        Ok(())
    }

    fn expand(&self, _: &Params<VeriSimplePir>, (): &(), Query(fields): &Query) -> Result<QueryPlanes> {
        let [words] = fields.as_slice() else { return Err(Misuse::ForeignValue("query").into()) };
        Ok(QueryPlanes::from_u64(words, PLANES, self.matrix.layout()))
    }

    /// The paper's Answer, for eight queries in one pass: D c modulo Q.
    fn pass(&self, _: &Params<VeriSimplePir>, queries: &[QueryPlanes]) -> Vec<Partial> {
        let sums = self.matrix.times_planes(&queries.iter().collect::<Vec<_>>());
        let of_query = |sums: &Vec<i64>| {
            let words = vec![put_together(sums, self.matrix.layout().rows())];
            Partial { words, ..Partial::default() }
        };
        sums.iter().map(of_query).collect()
    }
}

/// Combines the four exact sums of each row, one for each plane, to the word of the row:
/// `sum_k 2^(8k) y_k mod Q`.
///
/// A sum over 2^19 columns of bytes times signed bytes is below 2^34, so the combination stays
/// below 2^59.
fn put_together(sums: &[i64], rows: usize) -> Vec<u64> {
    let rows = sums.as_chunks::<PLANES>().0.iter().take(rows);
    rows.map(|planes| reduce(planes.iter().rev().fold(0, |word, plane| (word << 8) + plane))).collect()
}
