//! The server: one pass over both matrices for up to eight queries at once.

use crate::DoublePir;
use crate::literal::FRESH_ROWS;
use crate::message::{Answer, Query};
use crate::params::Params;
use rayon::prelude::*;
use sotto_core::{Artifact, Image, ImageSection, Params as _, RecordSource, Result, Section, Sink};
use sotto_math::matrix::{QueryPlanes, scan_u32};
use sotto_silent::lwe::hint::{row, write_hint};
use sotto_silent::lwe::ring::{N, Ring, round, switch};
use sotto_silent::matrix::{BATCH, SectionOffset};
use sotto_silent::two_pass::{TwoPassTables, write};
use std::sync::Arc;

/// The section of the client's hint in an image.
pub(crate) const HINT: Section = Section::Public(Artifact::Hint);

/// An open table as a single part.
pub struct Server {
    part: PartServer,
    fresh: FreshMasks,
}

/// An open part: some rows of both matrices.
pub struct PartServer {
    pub(crate) params: Params,
    pub(crate) tables: TwoPassTables,
}

/// The results of both passes: rounded words of the second matrix, and those of the first, which
/// are its fresh rows.
pub(crate) struct PassOutput {
    pub(crate) words: Vec<u32>,
    pub(crate) fresh: Vec<u16>,
}

/// Computes the masks of fresh rows.
pub struct FreshMasks {
    ring: Ring,
    /// Values of a_k(1/X), block by block.
    blocks: Vec<Vec<u64>>,
}

impl sotto_core::Server<DoublePir> for Server {
    type Session = ();

    fn encode(params: &Params, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        let cut = params.cut();
        out.reserve(Section::Resident, cut.first_bytes() + cut.second_bytes())?;
        out.reserve(HINT, params.literal().hint_bytes())?;
        write(&cut, Section::Resident, rows, out)?;
        let second = SectionOffset { section: Section::Resident, start: cut.first_bytes() };
        write_hint(cut.second(), second, HINT, out)
    }

    fn open(params: &Params, image: Arc<dyn Image>) -> Result<Self> {
        // Clients fetch the hint, and the server itself does not use it.
        ImageSection::open(image.clone(), HINT, "hint", params.literal().hint_bytes())?;
        let tables = TwoPassTables::open(params.cut(), 0, Section::Resident, image)?;
        Ok(Server { part: PartServer { params: params.clone(), tables }, fresh: FreshMasks::new(params)? })
    }

    fn records(params: &Params, image: Arc<dyn Image>) -> Result<Box<dyn RecordSource>> {
        Ok(TwoPassTables::open(params.cut(), 0, Section::Resident, image)?.records())
    }

    fn admit(&self, (): ()) -> Result<()> {
        Ok(())
    }

    /// Answer, for eight queries in one pass: the table times the first vectors; then the second
    /// matrix, and the rows made of those products, times the second vectors.
    fn answer_many(&self, queries: Vec<(&(), Query)>) -> Vec<Result<Answer>> {
        let queries: Vec<Query> = queries.into_iter().map(|(_, query)| query).collect();
        let passed = self.part.passes(&queries);
        let all = queries.par_iter().zip(passed);
        all.map(|(query, passed)| Ok(self.fresh.answer(&self.part.params, query, passed))).collect()
    }
}

impl PartServer {
    /// Computes both passes, for eight queries at once.
    pub(crate) fn passes(&self, queries: &[Query]) -> Vec<PassOutput> {
        queries.chunks(BATCH).flat_map(|some| self.pass(some)).collect()
    }

    fn pass(&self, queries: &[Query]) -> Vec<PassOutput> {
        let [first, second] = self.params.query_bits();
        let planes: Vec<QueryPlanes> =
            queries.iter().map(|Query([columns, _])| self.tables.planes(columns, first)).collect();
        let fresh = self.tables.fresh(&planes, first);
        let matrix = self.tables.second();
        let planes: Vec<QueryPlanes> = queries
            .iter()
            .map(|Query([_, c])| QueryPlanes::from_u32(c, second.div_ceil(8) as usize, matrix.layout()))
            .collect();
        let products = matrix.times(&planes, 1, scan_u32);
        let passed = |(mut words, fresh): (Vec<u32>, Vec<u16>)| {
            // Panels of this matrix are full, without rows of padding.
            round(&mut words, second, self.params.answer_bits());
            PassOutput { words, fresh }
        };
        products.into_iter().zip(fresh).map(passed).collect()
    }
}

impl FreshMasks {
    pub(crate) fn new(params: &Params) -> Result<Self> {
        let ring = Ring::new()?;
        let blocks = 0..params.cut().blocks.div_ceil(N as u64) as usize;
        let blocks = blocks.map(|k| ring.reversed_block(k)).collect();
        Ok(FreshMasks { ring, blocks })
    }

    /// Completes one answer from the results of both passes for all rows.
    pub(crate) fn answer(&self, params: &Params, Query([_, c]): &Query, passed: PassOutput) -> Answer {
        let (mut words, fresh) = (passed.words, params.cut().by_byte(&passed.fresh));
        let mut products = Vec::with_capacity(FRESH_ROWS * fresh.len());
        let rows = (0..FRESH_ROWS).flat_map(|byte| fresh.iter().map(move |words| signed(words, byte)));
        let mut masks = Vec::with_capacity(FRESH_ROWS * fresh.len() * N);
        for bytes in rows {
            let product = bytes.iter().zip(c).map(|(byte, word)| word.wrapping_mul(i32::from(*byte) as u32));
            products.push(product.fold(0, u32::wrapping_add));
            let mask = row(&self.ring, &self.blocks, &bytes);
            masks.extend(mask.iter().map(|word| switch(*word, params.mask_bits())));
        }
        let [_, bits] = params.query_bits();
        round(&mut products, bits, params.answer_bits());
        words.extend(products);
        Answer { words, masks }
    }
}

/// The given byte of each word, signed.
fn signed(words: &[u16], byte: usize) -> Vec<i8> {
    words.iter().map(|word| (word >> (8 * byte)) as i8).collect()
}
