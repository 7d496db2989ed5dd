//! The server: one pass over both matrices, and one over the weights, for a few queries at once. A
//! part has some rows of the first matrix, and some groups of the second's numbers with their weights.
//! The numbers that follow from the first pass need all of it, so their samples are made at last.

use crate::Ypir;
use rayon::prelude::*;
use sotto_core::{Misuse, PartIndex, RecordChange, RecordSource, Result, Section, Sink};
use sotto_lattice::ring::{ModulusLevel, Ring};
use sotto_math::matrix::QueryPlanes;
use sotto_silent::groups::MaskLayout;
use sotto_silent::lattice::{self, GROUP_BYTES};
use sotto_silent::matrix::{RowRange, SectionOffset};
use sotto_silent::message::{Field, Format, Partial, PartialFormat, Query};
use sotto_silent::packed_groups::{PackedGroups, rounded, write_packed};
use sotto_silent::packed_matrix::{BATCH, GroupRange, PackedMatrix, PackedQuery};
use sotto_silent::pieces::{PartSection, Piece};
use sotto_silent::plain_modulus::PlainModulus;
use sotto_silent::samples::SampleMasks;
use sotto_silent::two_pass::{FRESH_BITS, FirstPass, update_image, write};
use sotto_silent::{MatrixServer, Params};
use std::collections::BTreeSet;
use std::ops::Range;

/// An open table, or a part of one.
pub struct Server {
    first: FirstPass,
    second: PackedMatrix,
    /// The part's packed ciphertexts: the last group of a table may have fewer numbers.
    ciphers: Format,
}

/// A query in the form that the passes take.
pub struct ExpandedQuery {
    first: QueryPlanes,
    second: PackedQuery,
}

/// Makes the samples of fresh numbers.
pub struct FreshSamples {
    ring: Ring,
    samples: SampleMasks,
}

/// The groups of the second matrix that a part has. There may be fewer groups than parts.
fn share(params: &Params<Ypir>, cut: PartIndex) -> GroupRange {
    GroupRange::share(&params.cut().second(), &params.packing(), (cut, 1), MaskLayout::ARTIFACT)
}

/// Writes the weights of some groups of the second matrix.
fn write_weights(params: &Params<Ypir>, groups: impl Iterator<Item = usize>, out: &dyn Sink) -> Result<()> {
    let packed = PackedGroups::new(params.packing(), params.bits(), MaskLayout::ARTIFACT)?;
    let second = SectionOffset { section: Section::Resident, start: params.cut().first_bytes() };
    write_packed(0, params.cut().second(), second, &packed, packed.together(groups), out)
}

impl MatrixServer<Ypir> for Server {
    const BATCH: usize = BATCH;
    type Expanded = ExpandedQuery;
    type Joiner = FreshSamples;

    fn pieces(params: &Params<Ypir>, cut: PartIndex) -> Vec<Piece> {
        let first = RowRange::of(&params.cut().first(), cut).piece;
        std::iter::once(first).chain(share(params, cut).pieces).collect()
    }

    fn write(params: &Params<Ypir>, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        write(&params.cut(), Section::Resident, rows, out)?;
        write_weights(params, 0..params.packing().count(), out)
    }

    /// The changed bytes, the columns of the second matrix that follow from them, and the weights of
    /// every group that those touch. Queries do not depend on the table, so nothing changes for
    /// clients.
    fn update_image(params: &Params<Ypir>, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
        let mut touched = BTreeSet::new();
        update_image(&params.cut(), Section::Resident, changes, out, |entries| {
            touched.extend(entries.iter().map(|entry| entry.row as usize / GROUP_BYTES));
            Ok(())
        })?;
        write_weights(params, touched.into_iter(), out)
    }

    fn records(params: &Params<Ypir>, held: PartSection) -> Box<dyn RecordSource> {
        FirstPass::records(params.cut(), held)
    }

    fn max_parts(params: &Params<Ypir>) -> u32 {
        RowRange::max_parts(&params.cut().first())
    }

    fn partial(params: &Params<Ypir>, cut: PartIndex) -> PartialFormat {
        let rows = RowRange::of(&params.cut().first(), cut).rows.len() as u64;
        let Range { start, end } = share(params, cut).groups;
        PartialFormat {
            words: vec![Field::words(rows, FRESH_BITS)],
            ciphers: params.bodies(start as u64..end as u64),
        }
    }

    fn open(params: &Params<Ypir>, cut: PartIndex, held: PartSection) -> Result<Self> {
        let (bits, [first_bits, _]) =
            ((params.bits(), MaskLayout::ARTIFACT), params.query_bits.map(u32::from));
        let second = PackedMatrix::new(&share(params, cut), bits, held.clone(), 1)?;
        let first = FirstPass::new(params.cut(), cut, first_bits, held);
        Ok(Server { first, second, ciphers: Self::partial(params, cut).ciphers })
    }

    fn joiner(params: &Params<Ypir>) -> Result<FreshSamples> {
        Ok(FreshSamples {
            ring: lattice::ring()?,
            samples: SampleMasks::new(params.cut().second(), PlainModulus::PAIR)?,
        })
    }

    fn expand(&self, _: &Params<Ypir>, (): &(), Query(fields): &Query) -> Result<ExpandedQuery> {
        let [columns, words, keys @ ..] = fields.as_slice() else {
            return Err(Misuse::ForeignValue("query").into());
        };
        Ok(ExpandedQuery { first: self.first.planes(columns), second: self.second.expand(words, keys)? })
    }

    /// The paper's Answer: multiply the table by the first vectors of a few queries in one pass, and
    /// the second matrix by their second ones; then pack the latter products, in one pass over the
    /// weights.
    fn pass(&self, _: &Params<Ypir>, queries: &[ExpandedQuery]) -> Vec<Partial> {
        let fresh = self.first.fresh(&queries.iter().map(|query| &query.first).collect::<Vec<_>>());
        let packed = self.second.pass(&queries.iter().map(|query| &query.second).collect::<Vec<_>>());
        let passed = |(fresh, mut ciphers): (Vec<u64>, Vec<Vec<u64>>)| {
            let fields = ciphers.iter_mut().zip(self.ciphers.fields());
            fields.for_each(|(words, field)| words.truncate(field.count()));
            Partial { words: vec![fresh], ciphers }
        };
        fresh.into_iter().zip(packed).map(passed).collect()
    }

    /// The numbers that follow from the first products are not packed: each has a sample of its own.
    fn finish(
        params: &Params<Ypir>,
        fresh: &FreshSamples,
        (): &(),
        Query(query): &Query,
        Partial { words, ciphers: mut answer }: Partial,
    ) -> Result<Vec<Vec<u64>>> {
        let ([_, vector, ..], [words]) = (query.as_slice(), words.as_slice()) else {
            return Err(Misuse::ForeignValue("query").into());
        };
        let numbers = params.cut().by_byte(words);
        let samples: Vec<[Vec<u64>; 2]> =
            numbers.into_par_iter().map(|numbers| fresh.sample(params, vector, numbers)).collect();
        answer.extend(samples.into_iter().flatten());
        Ok(answer)
    }
}

impl FreshSamples {
    /// The sample of the product of a byte's numbers and the second vector.
    fn sample(&self, params: &Params<Ypir>, vector: &[u64], numbers: Vec<i16>) -> [Vec<u64>; 2] {
        let bits = params.bits();
        let body = self.samples.fresh_product(&numbers, vector, bits.dropped());
        let mut mask = self.samples.of_fresh(&[numbers]);
        self.ring.inverse(ModulusLevel::Main, &mut mask);
        [rounded(&self.ring, &mask, bits.mask), rounded(&self.ring, &[body], bits.body)]
    }
}
