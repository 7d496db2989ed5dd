//! The server: `v = D c mod Q`, exactly, in one pass over the matrix for up to eight queries. It
//! answers from the bytes that clients stream.

use super::VeriSimplePir;
use super::message::{Answer, Query};
use super::params::Params;
use sotto_core::{Artifact, Image, RecordChange, RecordSource, Result, Section, Sink, UpdateImage};
use sotto_math::matrix::{QueryPlanes, scan_planes};
use sotto_silent::lwe::ring;
use sotto_silent::matrix::{BATCH, Matrix, change_panels, write_matrix};
use std::sync::Arc;

/// The section of the table in an image.
pub(super) const ROWS: Section = Section::Public(Artifact::Rows);

/// Byte planes of a query word.
const PLANES: usize = 4;

/// An open table, or a part of one.
pub struct Server {
    pub(super) matrix: Matrix,
}

impl sotto_core::Server<VeriSimplePir> for Server {
    type Session = ();

    fn encode(params: &Params, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        out.reserve(ROWS, params.table_bytes())?;
        write_matrix(params.layout(), ROWS, rows, out)
    }

    fn open(params: &Params, image: Arc<dyn Image>) -> Result<Self> {
        Ok(Server { matrix: Matrix::open(params.layout(), 0, ROWS, image)? })
    }

    fn records(params: &Params, image: Arc<dyn Image>) -> Result<Box<dyn RecordSource>> {
        Ok(Matrix::open(params.layout(), 0, ROWS, image)?.records())
    }

    fn admit(&self, (): ()) -> Result<()> {
        Ok(())
    }

    /// Answer, for eight queries in one pass: D c modulo Q.
    fn answer_many(&self, queries: Vec<(&(), Query)>) -> Vec<Result<Answer>> {
        let queries: Vec<Query> = queries.into_iter().map(|(_, query)| query).collect();
        queries.chunks(BATCH).flat_map(|batch| self.answers(batch)).map(Ok).collect()
    }
}

impl Server {
    fn answers(&self, queries: &[Query]) -> Vec<Answer> {
        let planes: Vec<QueryPlanes> =
            queries.iter().map(|Query(c)| QueryPlanes::from_u32(c, PLANES, self.matrix.layout())).collect();
        let sums = self.matrix.times(&planes, PLANES, scan_planes);
        sums.iter().map(|sums| Answer(self.put_together(sums))).collect()
    }

    /// Combines the four exact sums of each row, one for each plane, to the word of the row:
    /// `sum_k 2^(8k) y_k mod Q`.
    ///
    /// A sum over 2^19 columns of bytes times signed bytes is below 2^34, so the combination stays
    /// below 2^59.
    fn put_together(&self, sums: &[i64]) -> Vec<u32> {
        let rows = sums.as_chunks::<PLANES>().0.iter().take(self.matrix.layout().rows());
        rows.map(|planes| ring::reduce(planes.iter().rev().fold(0, |word, plane| (word << 8) + plane)) as u32)
            .collect()
    }
}

impl UpdateImage for VeriSimplePir {
    /// Clients stream the new epoch's table again: their state depends on all of it, and they do
    /// not hold what applying a change would need.
    fn revise(params: &Params, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
        out.reserve(ROWS, params.table_bytes())?;
        change_panels(params.layout(), ROWS, changes, out, |_| Ok(())).map(drop)
    }
}
