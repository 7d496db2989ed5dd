//! Tables in parts: the leaves of the tree are divided, and the records under them. A part grows
//! its leaves alone; partial answers are added as those of threads are.

use crate::Dpf;
use crate::message::{Answer, Query};
use crate::params::{Params, ParamsLiteral, SubTable};
use crate::server::{MAX_LEAVES, Server};
use sotto_core::parts::add_partials;
use sotto_core::{Image, ImageSection, Params as _, PartIndex, PartScheme, Result, Section, Wire};
use std::ops::Range;
use std::sync::Arc;

/// Pieces of a part, by at most one of which parts differ.
const PIECES: u64 = 8;

/// A range of a table: its first leaf, and the parameters of its records as a table.
pub(crate) struct LeafRange {
    pub(crate) first: u64,
    /// A power of two that divides `first`.
    pub(crate) align: u64,
    pub(crate) of: Params,
}

impl LeafRange {
    /// The range of all leaves.
    pub(crate) fn all(params: &Params) -> Self {
        LeafRange { first: 0, align: MAX_LEAVES as u64, of: params.clone() }
    }
}

impl Params {
    /// Number of leaves that are not divided: those of a block of every layer.
    fn least_leaves(&self) -> u64 {
        let shift = self.layers().last().map_or(0, |layer| layer.shift);
        (8u64 << shift).div_ceil(crate::params::LEAF_RECORDS)
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
    fn stretch(&self, cut: PartIndex) -> Result<LeafRange> {
        let (leaves, align) = self.leaves_of(cut);
        let records = records(&leaves, self.records());
        let literal = ParamsLiteral { records: records.end - records.start, ..self.literal().clone() };
        Ok(LeafRange { first: leaves.start, align, of: Params::check(literal)? })
    }
}

fn records(leaves: &Range<u64>, all: u64) -> Range<u64> {
    let place = |leaf: u64| (leaf * crate::params::LEAF_RECORDS).min(all);
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
        let stretch = params.stretch(cut)?;
        let table =
            ImageSection::open(image, Section::Resident, "part of the table", stretch.of.table_bytes())?;
        Ok(Server { stretch, table })
    }

    fn partial_bytes(params: &Params, _: PartIndex) -> usize {
        Answer::size(params)
    }

    fn admit(_: &Params, (): ()) -> Result<()> {
        Ok(())
    }

    fn answer_part(part: &Server<PROVEN>, asks: Vec<(&(), Query)>) -> Vec<Result<Vec<u8>>> {
        let partial = |answer: Result<Answer>| answer.map(|Answer(sum)| sum);
        sotto_core::Server::answer_many(part, asks).into_iter().map(partial).collect()
    }

    fn prepare_join(_: &Params) -> Result<()> {
        Ok(())
    }

    fn join(_: (&Params, &()), _: (&(), Query), partials: &[Vec<u8>]) -> Result<Answer> {
        add_partials(partials).map(Answer)
    }
}
