//! The server: one pass over the matrix, and for each ring one over digits and one over diagonals,
//! for a few queries at once.

use crate::Hintless;
use crate::linpir::client::EncryptedSecret;
use crate::linpir::server::{HintRows, LinPir, LinPirMasks};
use crate::message::{Answer, Query};
use crate::params::Params;
use sotto_core::{Image, Params as _, RecordSource, Result, Section, Sink};
use sotto_math::matrix::{QueryPlanes, scan_u32};
use sotto_silent::lwe::dense::HINTLESS;
use sotto_silent::matrix::{Matrix, write_matrix};
use std::ops::Range;
use std::sync::Arc;

/// Queries in one pass. Each has its own rotations, a hundred megabytes of them.
const BATCH: usize = 4;

/// Byte planes of a query's word.
const PLANES: usize = 4;

/// An open table, or some of its rows and some of the rings.
pub struct Server {
    pub(crate) params: Params,
    pub(crate) matrix: Matrix,
    pub(crate) linpir: LinPir,
}

impl sotto_core::Server<Hintless> for Server {
    type Session = ();

    fn encode(params: &Params, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        let writer = LinPirWriter::new(params, out)?;
        write_matrix(params.layout(), Section::Resident, rows, out)?;
        let put = |at, bytes: &[u8]| writer.put(at, bytes);
        let masks = writer.linpir.prepare(&params.literal().seed, put)?;
        writer.write(&masks, writer.linpir.together(0..params.blocks()))
    }

    fn open(params: &Params, image: Arc<dyn Image>) -> Result<Self> {
        let linpir = linpir(params)?;
        let matrix = Matrix::open(params.layout(), linpir.bytes(), Section::Resident, image)?;
        Ok(Server { params: params.clone(), matrix, linpir })
    }

    fn records(params: &Params, image: Arc<dyn Image>) -> Result<Box<dyn RecordSource>> {
        let beyond = params.literal().linpir_bytes();
        Ok(Matrix::open(params.layout(), beyond, Section::Resident, image)?.records())
    }

    fn admit(&self, (): ()) -> Result<()> {
        Ok(())
    }

    /// Answer: the matrix times the words of a few queries; then the hint times their secrets, under encryption.
    fn answer_many(&self, queries: Vec<(&(), Query)>) -> Vec<Result<Answer>> {
        let queries: Vec<Query> = queries.into_iter().map(|(_, query)| query).collect();
        queries.chunks(BATCH).flat_map(|some| self.answers(some)).map(Ok).collect()
    }
}

impl Server {
    fn answers(&self, queries: &[Query]) -> Vec<Answer> {
        let planes = |query: &Query| QueryPlanes::from_u32(&query.words, PLANES, self.matrix.layout());
        let planes: Vec<QueryPlanes> = queries.iter().map(planes).collect();
        let words = self.matrix.times(&planes, 1, scan_u32);
        let secrets: Vec<&[EncryptedSecret]> = queries.iter().map(|query| query.secret.as_slice()).collect();
        let (_, image) = self.matrix.parts();
        let products = self.linpir.answers(image, &secrets);
        let answers = words.into_iter().zip(products).map(|(mut words, products)| {
            words.truncate(self.matrix.layout().rows());
            Answer { words, products }
        });
        answers.collect()
    }
}

fn linpir(params: &Params) -> Result<LinPir> {
    LinPir::new(params.rings(), &params.literal().seed, [params.l(), params.block_rows()])
}

/// Writes the LinPIR part of an image after its matrix.
pub(crate) struct LinPirWriter<'a> {
    params: &'a Params,
    pub(crate) linpir: LinPir,
    out: &'a dyn Sink,
}

impl<'a> LinPirWriter<'a> {
    pub(crate) fn new(params: &'a Params, out: &'a dyn Sink) -> Result<Self> {
        let linpir = linpir(params)?;
        out.reserve(Section::Resident, params.literal().matrix_bytes() + linpir.bytes())?;
        Ok(LinPirWriter { params, linpir, out })
    }

    fn put(&self, at: u64, bytes: &[u8]) -> Result<()> {
        self.out.write_at(Section::Resident, self.params.literal().matrix_bytes() + at, bytes)
    }

    /// Writes the diagonals and masks of some blocks: their rows of the hint, `H = D A`, and then their slots.
    pub(crate) fn write(&self, masks: &LinPirMasks, blocks: Vec<Range<usize>>) -> Result<()> {
        let (params, seed) = (self.params, &self.params.literal().seed);
        let (layout, height) = (params.layout(), params.block_rows());
        let total = blocks.len() as u64;
        self.out.progress("hint", 0, total);
        for (done, blocks) in (1..).zip(blocks) {
            let rows = blocks.start * height..params.l().min(blocks.end * height);
            let read = |at, bytes: &mut [u8]| self.out.read_at(Section::Resident, at, bytes);
            let words = HINTLESS.hint(seed, layout, rows, read, |_| ())?;
            let rows = HintRows { words: &words, n: HINTLESS.n, blocks };
            self.linpir.write(&rows, masks, |at, bytes| self.put(at, bytes))?;
            self.out.progress("hint", done, total);
        }
        Ok(())
    }
}
