//! Tables in parts: the leaves of the tree are divided, and the records under them. A part grows
//! its leaves alone; partial answers are added as those of threads are.

use crate::Dpf;
use crate::literal::{LEAF_RECORDS, ParamsLiteral, SubTable};
use crate::message::{Answer, Query};
use crate::params::Params;
use crate::server::{LeafRange, MAX_LEAVES, Server};
use sotto_core::parts::add_partials;
use sotto_core::{Image, ImageSection, Params as _, PartIndex, PartScheme, Result, Section, Wire};
use std::ops::Range;
use std::sync::Arc;

/// Pieces of a part, by at most one of which parts differ.
const PIECES: u64 = 8;

impl Params {
    /// Number of leaves that are not divided: those of a block of every layer.
    fn least_leaves(&self) -> u64 {
        let shift = self.layers().last().map_or(0, |layer| layer.shift);
        (8u64 << shift).div_ceil(LEAF_RECORDS)
    }

    /// The leaves of a part, in whole pieces of a power of two of leaves.
    fn leaves_of(&self, cut: PartIndex) -> (Range<u64>, u64) {
        let piece = self.leaves() / (u64::from(cut.parts()) * PIECES);
        let piece = 1 << piece.clamp(1, MAX_LEAVES as u64).ilog2();
        let piece = self.least_leaves().max(piece);
        let share = cut.share(self.leaves().div_ceil(piece));
        (share.start * piece..(share.end * piece).min(self.leaves()), piece)
    }

    /// The part's range of the table.
    fn range(&self, cut: PartIndex) -> Result<LeafRange> {
        let (leaves, align) = self.leaves_of(cut);
        let records = records(&leaves, self.records());
        let literal = ParamsLiteral { records: records.end - records.start, ..self.literal().clone() };
        Ok(LeafRange { first: leaves.start, align, params: Params::check(literal)? })
    }
}

fn records(leaves: &Range<u64>, all: u64) -> Range<u64> {
    let place = |leaf: u64| (leaf * LEAF_RECORDS).min(all);
    place(leaves.start)..place(leaves.end)
}

impl<const PROVEN: bool> PartScheme for Dpf<PROVEN> {
    type Part = Server<PROVEN>;
    type Joiner = ();

    fn max_parts(params: &Params) -> u32 {
        u32::try_from(params.leaves().div_ceil(params.least_leaves())).unwrap_or(u32::MAX)
    }

    fn part_ranges(params: &Params, cut: PartIndex) -> Vec<Range<u64>> {
        let records = records(&params.leaves_of(cut).0, params.records());
        let range = |layer: &SubTable| {
            // Records begin with a block of the layer, unless there are no more.
            let bytes = |record: u64| match record < params.records() {
                true => (record >> layer.shift) * layer.width as u64,
                false => layer.bytes(),
            };
            layer.at + bytes(records.start)..layer.at + bytes(records.end)
        };
        params.layers().iter().map(range).collect()
    }

    fn open_part(params: &Params, cut: PartIndex, image: Arc<dyn Image>) -> Result<Server<PROVEN>> {
        let leaves = params.range(cut)?;
        let table =
            ImageSection::open(image, Section::Resident, "part of the table", leaves.params.table_bytes())?;
        Ok(Server { leaves, table })
    }

    fn partial_bytes(params: &Params, _: PartIndex) -> usize {
        Answer::size(params)
    }

    fn admit(_: &Params, (): ()) -> Result<()> {
        Ok(())
    }

    fn answer_part(part: &Server<PROVEN>, queries: Vec<(&(), Query)>) -> Vec<Result<Vec<u8>>> {
        let partial = |answer: Result<Answer>| answer.map(|Answer(sum)| sum);
        sotto_core::Server::answer_many(part, queries).into_iter().map(partial).collect()
    }

    fn prepare_join(_: &Params) -> Result<()> {
        Ok(())
    }

    fn join(_: (&Params, &()), _: (&(), Query), partials: &[Vec<u8>]) -> Result<Answer> {
        add_partials(partials).map(Answer)
    }
}
