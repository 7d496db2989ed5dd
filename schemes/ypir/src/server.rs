//! The server: one pass over both matrices, and one over the weights, for a few queries at once.

use crate::Ypir;
use crate::message::{Answer, Part, Query};
use crate::params::Params;
use rayon::prelude::*;
use sotto_core::server::together;
use sotto_core::{Image, Params as _, PeerMisbehaved, Result, Rows, Section, Sink};
use sotto_lattice::ring::Level;
use sotto_math::matrix::{QueryPlanes, scan_planes};
use sotto_silent::behind::write_behind;
use sotto_silent::matrix::Place;
use sotto_silent::packed::{Keys, Masks, Packed};
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
    keys: Keys,
}

impl sotto_core::Server<Ypir> for Server {
    type Session = ();

    fn encode(params: &Params, rows: &dyn Rows, out: &dyn Sink) -> Result<()> {
        let (cut, packed) = (params.cut(), packed(params)?);
        out.reserve(Section::Resident, cut.first_bytes() + cut.second_bytes() + packed.bytes())?;
        write(&cut, Section::Resident, rows, out)?;
        write_behind(cut.second(), second(&cut), &packed, packed.together(0..params.groups()), out)
    }

    fn open(params: &Params, image: Arc<dyn Image>) -> Result<Self> {
        let (cut, packed) = (params.cut(), packed(params)?);
        let tables = Tables::open(cut, packed.bytes(), Section::Resident, image)?;
        let samples = Samples::new(cut.second())?;
        Ok(Server { params: params.clone(), tables, packed, samples })
    }

    fn records(params: &Params, image: Arc<dyn Image>) -> Result<Box<dyn Rows>> {
        let beyond = params.literal().weight_bytes();
        Ok(Tables::open(params.cut(), beyond, Section::Resident, image)?.records())
    }

    fn admit(&self, (): ()) -> Result<()> {
        Ok(())
    }

    /// Answer: multiply the table by the first vectors of a few queries in one pass, and the second matrix by their second ones;
    /// then pack what came of that, in one pass over the weights. The numbers that follow from the first products stay alone.
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
        let (_, weights) = matrix.parts();
        let keys: Vec<&Keys> = queries.iter().map(|query| &query.keys).collect();
        let packed = self.packed.pack(weights, &keys, &products);
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
            let (ring, bits) = (self.packed.ring(), self.params.bits());
            let body = self.samples.fresh_product(&numbers, &query.words, bits.dropped());
            let mut mask = self.samples.of_fresh(&[numbers]);
            ring.inverse(Level::Main, &mut mask);
            [self.packed.rounded(&mask, bits.mask), self.packed.rounded(&[body], bits.body)]
        };
        Answer { packed, fresh: fresh.iter().map(sample).collect() }
    }
}

/// Where weights and masks lie, and what packs with them.
pub(crate) fn packed(params: &Params) -> Result<Packed> {
    Packed::new(params.literal().packing(), params.bits(), Masks::Sent)
}

/// Where the second matrix lies in an image.
pub(crate) fn second(cut: &Cut) -> Place {
    Place { section: Section::Resident, start: cut.first_bytes() }
}
