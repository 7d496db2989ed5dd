//! Tables in parts: a part has some rows of both matrices, and its partial answer is the result of
//! both passes. The rows that depend on the first pass need all of it, so the coordinator
//! multiplies them.

use crate::DoublePir;
use crate::message::{Answer, Query, put, two_parts};
use crate::params::Params;
use crate::server::{FreshMasks, PartServer, PassOutput};
use sotto_core::{Image, PartIndex, PartScheme, PeerMisbehaved, Result, Section};
use sotto_math::bits::packed_len;
use sotto_silent::matrix::RowRange;
use sotto_silent::two_pass::{FRESH_BITS, TwoPassTables};
use std::ops::Range;
use std::sync::Arc;

/// The rows of both matrices that a part has.
fn row_ranges(params: &Params, cut: PartIndex) -> [RowRange; 2] {
    [params.cut().first(), params.cut().second()].map(|layout| RowRange::of(&layout, cut))
}

/// Bits and words of a partial answer: of fresh words, and of those of the second matrix.
fn widths(params: &Params, cut: PartIndex) -> [(u32, usize); 2] {
    let [first, second] = row_ranges(params, cut);
    [(FRESH_BITS, first.rows.len()), (params.answer_bits(), second.rows.len())]
}

impl PartScheme for DoublePir {
    type Part = PartServer;
    type Joiner = FreshMasks;

    fn max_parts(params: &Params) -> u32 {
        // The second matrix has at least as many panels as a small table can have parts.
        RowRange::max_parts(&params.cut().first()).min(RowRange::max_parts(&params.cut().second()))
    }

    fn part_ranges(params: &Params, cut: PartIndex) -> Vec<Range<u64>> {
        let ([first, second], start) = (row_ranges(params, cut), params.cut().first_bytes());
        vec![first.bytes, start + second.bytes.start..start + second.bytes.end]
    }

    fn open_part(params: &Params, cut: PartIndex, image: Arc<dyn Image>) -> Result<PartServer> {
        let layouts = row_ranges(params, cut).map(|range| range.layout);
        let tables = TwoPassTables::open_some(params.cut(), layouts, 0, Section::Resident, image)?;
        Ok(PartServer { params: params.clone(), tables })
    }

    fn partial_bytes(params: &Params, cut: PartIndex) -> usize {
        widths(params, cut).into_iter().filter_map(|(bits, words)| packed_len(bits, words)).sum()
    }

    fn admit(_: &Params, (): ()) -> Result<()> {
        Ok(())
    }

    fn answer_part(part: &PartServer, queries: Vec<(&(), Query)>) -> Vec<Result<Vec<u8>>> {
        let queries: Vec<Query> = queries.into_iter().map(|(_, query)| query).collect();
        let written = |PassOutput { words, fresh }| {
            let fresh: Vec<u32> = fresh.into_iter().map(u32::from).collect();
            let mut out = Vec::new();
            put(&fresh, FRESH_BITS, &mut out);
            put(&words, part.params.answer_bits(), &mut out);
            Ok(out)
        };
        part.passes(&queries).into_iter().map(written).collect()
    }

    fn prepare_join(params: &Params) -> Result<FreshMasks> {
        FreshMasks::new(params)
    }

    fn join(
        (params, fresh): (&Params, &FreshMasks),
        (_, query): (&(), Query),
        partials: &[Vec<u8>],
    ) -> Result<Answer> {
        let mut passed = PassOutput { words: Vec::new(), fresh: Vec::new() };
        let parts = u32::try_from(partials.len()).unwrap_or(u32::MAX);
        for (cut, partial) in PartIndex::all(parts).zip(partials) {
            let taken = two_parts(partial, widths(params, cut));
            let [fresh, words] = taken.ok_or(PeerMisbehaved::NotCanonical("partial"))?;
            passed.fresh.extend(fresh.into_iter().map(|word| word as u16));
            passed.words.extend(words);
        }
        Ok(fresh.answer(params, &query, passed))
    }
}
