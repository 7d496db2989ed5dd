//! Tables in parts: a part has some rows of the first matrix, and some groups of the second's
//! numbers with their weights; its partial answer is the results of all passes. The numbers that
//! follow from the first pass need all of it, so the coordinator makes their samples.

use crate::Ypir;
use crate::message::{Answer, Query, put_parts, take_groups};
use crate::params::Params;
use crate::server::{FreshSamples, PartServer, PassOutput};
use sotto_core::{Image, Params as _, PartIndex, PartScheme, PeerMisbehaved, Result, Section};
use sotto_math::bits::packed_len;
use sotto_silent::group_range;
use sotto_silent::lattice::N;
use sotto_silent::matrix::RowRange;
use sotto_silent::packed_groups::{MaskLayout, PackedGroups};
use sotto_silent::two_pass::TwoPassTables;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a fresh word.
const FRESH_BYTES: usize = 2;

/// The part's rows of the first matrix, and its groups of the second. There may be fewer groups
/// than parts.
fn shares(params: &Params, cut: PartIndex) -> (RowRange, group_range::GroupRange) {
    let (table, groups) = (params.cut(), cut.share(params.groups() as u64));
    let groups = groups.start as usize..groups.end as usize;
    let packing = params.literal().packing();
    let second = group_range::GroupRange::of(&table.second(), &packing, groups, params.bits().mask);
    (RowRange::of(&table.first(), cut), second)
}

impl PartScheme for Ypir {
    type Part = PartServer;
    type Joiner = FreshSamples;

    fn max_parts(params: &Params) -> u32 {
        RowRange::max_parts(&params.cut().first())
    }

    fn part_ranges(params: &Params, cut: PartIndex) -> Vec<Range<u64>> {
        let (first, second) = shares(params, cut);
        std::iter::once(first.bytes).chain(second.bytes(params.cut().first_bytes())).collect()
    }

    fn open_part(params: &Params, cut: PartIndex, image: Arc<dyn Image>) -> Result<PartServer> {
        let (first, second) = shares(params, cut);
        let packed = PackedGroups::new(second.packing, params.bits(), MaskLayout::Sent)?;
        let layouts = [first.layout, second.layout];
        let tables =
            TwoPassTables::open_some(params.cut(), layouts, packed.bytes(), Section::Resident, image)?;
        Ok(PartServer { params: params.clone(), tables, packed, groups: second.groups })
    }

    fn partial_bytes(params: &Params, cut: PartIndex) -> usize {
        let (first, second) = shares(params, cut);
        let bits = params.bits();
        let group = |group| Some(packed_len(bits.mask, N)? + packed_len(bits.body, params.in_use(group))?);
        FRESH_BYTES * first.rows.len() + second.groups.filter_map(group).sum::<usize>()
    }

    fn admit(_: &Params, (): ()) -> Result<()> {
        Ok(())
    }

    fn answer_part(part: &PartServer, queries: Vec<(&(), Query)>) -> Vec<Result<Vec<u8>>> {
        let queries: Vec<Query> = queries.into_iter().map(|(_, query)| query).collect();
        let written = |PassOutput { packed, fresh }| {
            let mut out: Vec<u8> = fresh.into_iter().flat_map(u16::to_le_bytes).collect();
            put_parts(&packed, &part.params, &mut out);
            out
        };
        part.passes(&queries).into_iter().map(|passed| passed.map(written)).collect()
    }

    fn prepare_join(params: &Params) -> Result<FreshSamples> {
        FreshSamples::new(params)
    }

    fn join(
        (params, fresh): (&Params, &FreshSamples),
        (_, query): (&(), Query),
        partials: &[Vec<u8>],
    ) -> Result<Answer> {
        let mut passed = PassOutput { packed: Vec::new(), fresh: Vec::new() };
        let parts = u32::try_from(partials.len()).unwrap_or(u32::MAX);
        for (cut, partial) in PartIndex::all(parts).zip(partials) {
            let bad = || PeerMisbehaved::NotCanonical("partial");
            let (first, second) = shares(params, cut);
            let (words, mut rest) =
                partial.split_at_checked(FRESH_BYTES * first.rows.len()).ok_or_else(bad)?;
            passed.fresh.extend(words.as_chunks().0.iter().map(|word| u16::from_le_bytes(*word)));
            passed.packed.extend(take_groups(&mut rest, params, second.groups).ok_or_else(bad)?);
        }
        Ok(fresh.answer(params, &query, passed))
    }
}
