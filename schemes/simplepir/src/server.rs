//! The server: one pass over the matrix for up to eight queries at once.

use crate::SimplePir;
use crate::message::{Answer, Query};
use crate::params::Params;
use sotto_core::{Artifact, Image, ImageSection, Params as _, RecordSource, Result, Section, Sink};
use sotto_math::matrix::{QueryPlanes, scan_u32};
use sotto_silent::lwe::hint::write_hint;
use sotto_silent::lwe::ring::round;
use sotto_silent::matrix::{BATCH, Matrix, write_matrix};
use std::sync::Arc;

/// The section of the client's hint in an image.
pub(crate) const HINT: Section = Section::Public(Artifact::Hint);

/// An open table, or a part of one.
pub struct Server {
    pub(crate) params: Params,
    pub(crate) matrix: Matrix,
}

impl sotto_core::Server<SimplePir> for Server {
    type Session = ();

    fn encode(params: &Params, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        out.reserve(Section::Resident, params.matrix_bytes())?;
        out.reserve(HINT, params.hint_bytes())?;
        write_matrix(params.layout(), Section::Resident, rows, out)?;
        if !out.wants(HINT, 0..params.hint_bytes()) {
            return Ok(());
        }
        match params.dense() {
            None => write_hint(params.layout(), Section::Resident, HINT, out),
            Some(dense) => {
                let seed = &params.literal().seed;
                dense.write_hint(seed, params.layout(), [Section::Resident, HINT], out)
            }
        }
    }

    fn open(params: &Params, image: Arc<dyn Image>) -> Result<Self> {
        // Clients fetch the hint, and the server itself does not use it.
        ImageSection::open(image.clone(), HINT, "hint", params.hint_bytes())?;
        let matrix = Matrix::open(params.layout(), 0, Section::Resident, image)?;
        Ok(Server { params: params.clone(), matrix })
    }

    fn records(params: &Params, image: Arc<dyn Image>) -> Result<Box<dyn RecordSource>> {
        Ok(Matrix::open(params.layout(), 0, Section::Resident, image)?.records())
    }

    fn admit(&self, (): ()) -> Result<()> {
        Ok(())
    }

    /// Answer, for eight queries in one pass: `y = D c`, then the top t of b bits of every word.
    fn answer_many(&self, queries: Vec<(&(), Query)>) -> Vec<Result<Answer>> {
        let queries: Vec<Query> = queries.into_iter().map(|(_, query)| query).collect();
        queries.chunks(BATCH).flat_map(|batch| self.answers(batch)).map(Ok).collect()
    }
}

impl Server {
    fn answers(&self, queries: &[Query]) -> Vec<Answer> {
        let planes: Vec<QueryPlanes> = queries
            .iter()
            .map(|Query(c)| QueryPlanes::from_u32(c, self.params.planes(), self.matrix.layout()))
            .collect();
        let mut y = self.matrix.times(&planes, 1, scan_u32);
        for words in &mut y {
            words.truncate(self.matrix.layout().rows());
            round(words, self.params.query_bits(), self.params.answer_bits());
        }
        y.into_iter().map(Answer).collect()
    }
}
