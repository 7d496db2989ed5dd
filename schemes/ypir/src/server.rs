//! The server: one pass over both matrices, and one over the digits, for a few queries at once.

use crate::Ypir;
use crate::message::{Answer, Part, Query};
use crate::params::Params;
use rayon::prelude::*;
use sotto_core::server::together;
use sotto_core::{Image, Params as _, PeerMisbehaved, Result, Rows, Section, Sink};
use sotto_math::matrix::{QueryPlanes, scan_planes};
use sotto_math::tiles::Turned;
use sotto_silent::matrix::Place;
use sotto_silent::packed::Packed;
use sotto_silent::samples::Samples;
use sotto_silent::second::{Cut, Tables, write};
use std::sync::Arc;

/// Queries in one pass: words of the second are of five or six planes, and twenty planes keep the multipliers busy.
const BATCH: usize = 4;

/// An open table.
pub struct Server {
    params: Params,
    tables: Tables,
    packed: Packed,
    /// What makes the masks of fresh numbers.
    samples: Samples,
}

/// A query as the passes take it.
struct Prepared {
    first: QueryPlanes,
    second: QueryPlanes,
    /// The words of the second vector, for the fresh numbers.
    words: Vec<u64>,
    keys: Turned,
}

impl sotto_core::Server<Ypir> for Server {
    type Session = ();

    fn encode(params: &Params, rows: &dyn Rows, out: &dyn Sink) -> Result<()> {
        let (cut, packed) = (params.cut(), packed(params)?);
        out.reserve(Section::Resident, cut.first_bytes() + cut.second_bytes() + packed.bytes())?;
        write(&cut, Section::Resident, rows, out)?;
        packed.write_all(cut.second(), second(&cut), packed.together(0..params.groups()), out)
    }

    fn open(params: &Params, image: Arc<dyn Image>) -> Result<Self> {
        let (cut, packed) = (params.cut(), packed(params)?);
        let tables = Tables::open(cut, packed.bytes(), Section::Resident, image)?;
        let samples = Samples::new(cut.second())?;
        Ok(Server { params: params.clone(), tables, packed, samples })
    }

    fn records(params: &Params, image: Arc<dyn Image>) -> Result<Box<dyn Rows>> {
        let beyond = params.literal().digit_bytes();
        Ok(Tables::open(params.cut(), beyond, Section::Resident, image)?.records())
    }

    fn admit(&self, (): ()) -> Result<()> {
        Ok(())
    }

    /// Answer: multiply the table by the first vectors of a few queries in one pass, and the second matrix by their second ones;
    /// then pack what came of that, in one pass over the digits. The numbers that follow from the first products stay alone.
    fn answer_many(&self, asks: Vec<(&(), Query)>) -> Vec<Result<Answer>> {
        let prepared = asks.into_iter().map(|(_, query)| self.prepare(query)).collect();
        together(prepared, |queries: Vec<Prepared>| {
            queries.chunks(BATCH).flat_map(|some| self.answers(some)).map(Ok).collect()
        })
    }
}

impl Server {
    fn prepare(&self, Query { columns, blocks }: Query) -> Result<Prepared> {
        let first = self.tables.planes(&columns, self.params.first_bits());
        let second =
            QueryPlanes::from_u64(&blocks.words, self.params.planes(), self.tables.second().layout());
        let keys = self.packed.keys(&blocks.keys).ok_or(PeerMisbehaved::NotCanonical("query"))?;
        Ok(Prepared { first, second, words: blocks.words, keys })
    }

    fn answers(&self, queries: &[Prepared]) -> Vec<Answer> {
        let planes: Vec<QueryPlanes> = queries.iter().map(|query| query.first.clone()).collect();
        let fresh = self.tables.fresh(&planes, self.params.first_bits());
        let planes: Vec<QueryPlanes> = queries.iter().map(|query| query.second.clone()).collect();
        let matrix = self.tables.second();
        let sums = matrix.times(&planes, self.params.planes(), scan_planes);
        let products: Vec<Vec<u64>> =
            sums.iter().map(|sums| self.packed.products(sums, self.params.planes())).collect();
        let (_, digits) = matrix.parts();
        let keys: Vec<&Turned> = queries.iter().map(|query| &query.keys).collect();
        let packed = self.packed.pack(digits, &keys, &products);
        let all = queries.par_iter().zip(packed).zip(fresh);
        all.map(|((query, packed), fresh)| self.answer(query, packed, &fresh)).collect()
    }

    /// One answer, from its packed ciphertexts and the fresh words of all blocks.
    fn answer(&self, query: &Prepared, mut packed: Vec<Part>, fresh: &[Vec<u16>]) -> Answer {
        for (group, [_, body]) in packed.iter_mut().enumerate() {
            body.truncate(self.params.in_use(group));
        }
        let sample = |words: &Vec<u16>| {
            let numbers: Vec<i16> = words.iter().map(|word| *word as i16).collect();
            self.samples.of_numbers(&query.words, &numbers, self.params.bits())
        };
        Answer { packed, fresh: fresh.iter().map(sample).collect() }
    }
}

/// Where digits and masks lie, and what packs with them.
pub(crate) fn packed(params: &Params) -> Result<Packed> {
    Packed::new(params.groups(), params.bits())
}

/// Where the second matrix lies in an image.
pub(crate) fn second(cut: &Cut) -> Place {
    Place { section: Section::Resident, start: cut.first_bytes() }
}
