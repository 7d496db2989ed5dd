//! The server: one pass over both matrices, and one over the weights, for a few queries at once.

use crate::Ypir;
use crate::message::{Answer, PackedPart, Query};
use crate::params::Params;
use rayon::prelude::*;
use sotto_core::server::together;
use sotto_core::{Image, Params as _, PeerMisbehaved, RecordSource, Result, Section, Sink};
use sotto_lattice::ring::{ModulusLevel, Ring};
use sotto_math::matrix::{QueryPlanes, scan_planes};
use sotto_math::modulus_pair::round_to_bits;
use sotto_silent::lattice;
use sotto_silent::matrix::SectionOffset;
use sotto_silent::packed_groups::{MaskLayout, PackedGroups, PackingKeys, write_packed};
use sotto_silent::samples::SampleMasks;
use sotto_silent::two_pass::{TwoPassLayout, TwoPassTables, write};
use std::ops::Range;
use std::sync::Arc;

/// Queries in one pass: words of the second have five or six planes, and twenty planes saturate the
/// multipliers.
const BATCH: usize = 4;

/// An open table as a single part.
pub struct Server {
    part: PartServer,
    fresh: FreshSamples,
}

/// An open part: some rows of the first matrix, and some groups of the second.
pub struct PartServer {
    pub(crate) params: Params,
    pub(crate) tables: TwoPassTables,
    pub(crate) packed: PackedGroups,
    /// The groups of the part.
    pub(crate) groups: Range<usize>,
}

/// The results of all passes: packed ciphertexts without unused coefficients, and the fresh words
/// of all rows.
pub(crate) struct PassOutput {
    pub(crate) packed: Vec<PackedPart>,
    pub(crate) fresh: Vec<u16>,
}

/// Makes the samples of fresh numbers.
pub struct FreshSamples {
    ring: Ring,
    samples: SampleMasks,
}

/// A query in the form that the passes take.
struct ExpandedQuery {
    first: QueryPlanes,
    second: QueryPlanes,
    keys: PackingKeys,
}

impl sotto_core::Server<Ypir> for Server {
    type Session = ();

    fn encode(params: &Params, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        let (cut, packed) = (params.cut(), packed(params)?);
        out.reserve(Section::Resident, cut.first_bytes() + cut.second_bytes() + packed.bytes())?;
        write(&cut, Section::Resident, rows, out)?;
        write_packed(cut.second(), second(&cut), &packed, packed.together(0..params.groups()), out)
    }

    fn open(params: &Params, image: Arc<dyn Image>) -> Result<Self> {
        let (cut, packed) = (params.cut(), packed(params)?);
        let tables = TwoPassTables::open(cut, packed.bytes(), Section::Resident, image)?;
        let part = PartServer { params: params.clone(), tables, packed, groups: 0..params.groups() };
        Ok(Server { part, fresh: FreshSamples::new(params)? })
    }

    fn records(params: &Params, image: Arc<dyn Image>) -> Result<Box<dyn RecordSource>> {
        let beyond = params.literal().weight_bytes();
        Ok(TwoPassTables::open(params.cut(), beyond, Section::Resident, image)?.records())
    }

    fn admit(&self, (): ()) -> Result<()> {
        Ok(())
    }

    /// Answer: multiply the table by the first vectors of a few queries in one pass, and the second
    /// matrix by their second ones; then pack the latter products, in one pass over the weights.
    /// The numbers that follow from the first products are not packed.
    fn answer_many(&self, queries: Vec<(&(), Query)>) -> Vec<Result<Answer>> {
        let queries: Vec<Query> = queries.into_iter().map(|(_, query)| query).collect();
        let passed = self.part.passes(&queries);
        let answer = |(query, passed): (&Query, Result<PassOutput>)| {
            Ok(self.fresh.answer(&self.part.params, query, passed?))
        };
        queries.par_iter().zip(passed).map(answer).collect()
    }
}

impl PartServer {
    /// All passes, for a few queries at once.
    pub(crate) fn passes(&self, queries: &[Query]) -> Vec<Result<PassOutput>> {
        let prepared = queries.iter().map(|query| self.prepare(query)).collect();
        together(prepared, |queries: Vec<ExpandedQuery>| {
            queries.chunks(BATCH).flat_map(|some| self.pass(some)).map(Ok).collect()
        })
    }

    fn prepare(&self, Query { columns, blocks }: &Query) -> Result<ExpandedQuery> {
        let first = self.tables.planes(columns, self.params.first_bits());
        let second =
            QueryPlanes::from_u64(&blocks.words, self.params.planes(), self.tables.second().layout());
        let keys = self.packed.keys(&blocks.keys).ok_or(PeerMisbehaved::NotCanonical("query"))?;
        Ok(ExpandedQuery { first, second, keys })
    }

    fn pass(&self, queries: &[ExpandedQuery]) -> Vec<PassOutput> {
        let planes: Vec<QueryPlanes> = queries.iter().map(|query| query.first.clone()).collect();
        let fresh = self.tables.fresh(&planes, self.params.first_bits());
        let planes: Vec<QueryPlanes> = queries.iter().map(|query| query.second.clone()).collect();
        let matrix = self.tables.second();
        let sums = matrix.times(&planes, self.params.planes(), scan_planes);
        let products: Vec<Vec<u64>> =
            sums.iter().map(|sums| self.packed.products(sums, self.params.planes())).collect();
        let (_, weights) = matrix.parts();
        let keys: Vec<&PackingKeys> = queries.iter().map(|query| &query.keys).collect();
        let packed = self.packed.pack(weights, &keys, &products);
        let passed = |(mut packed, fresh): (Vec<PackedPart>, Vec<u16>)| {
            for (group, [_, body]) in self.groups.clone().zip(&mut packed) {
                body.truncate(self.params.in_use(group));
            }
            PassOutput { packed, fresh }
        };
        packed.into_iter().zip(fresh).map(passed).collect()
    }
}

impl FreshSamples {
    pub(crate) fn new(params: &Params) -> Result<Self> {
        Ok(FreshSamples { ring: lattice::ring()?, samples: SampleMasks::new(params.cut().second())? })
    }

    /// One answer, from its packed ciphertexts and the fresh words of all rows.
    pub(crate) fn answer(&self, params: &Params, query: &Query, passed: PassOutput) -> Answer {
        let bits = params.bits();
        let rounded = |residues: &[u64], bits| {
            let mut rounded = vec![0; residues.len()];
            round_to_bits(self.ring.q(), residues, bits, &mut rounded);
            rounded
        };
        let sample = |words: &Vec<u16>| {
            let numbers: Vec<i16> = words.iter().map(|word| *word as i16).collect();
            let body = self.samples.fresh_product(&numbers, &query.blocks.words, bits.dropped());
            let mut mask = self.samples.of_fresh(&[numbers]);
            self.ring.inverse(ModulusLevel::Main, &mut mask);
            [rounded(&mask, bits.mask), rounded(&[body], bits.body)]
        };
        let fresh = params.cut().by_byte(&passed.fresh);
        Answer { packed: passed.packed, fresh: fresh.par_iter().map(sample).collect() }
    }
}

/// The layout of weights and masks, and their packing.
pub(crate) fn packed(params: &Params) -> Result<PackedGroups> {
    PackedGroups::new(params.literal().packing(), params.bits(), MaskLayout::Sent)
}

/// The offset of the second matrix in an image.
pub(crate) fn second(cut: &TwoPassLayout) -> SectionOffset {
    SectionOffset { section: Section::Resident, start: cut.first_bytes() }
}
