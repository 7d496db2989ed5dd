//! The server: one pass over the table for up to 48 queries at once.
//!
//! Of a table in parts the leaves of the tree are divided, and the records under them. A part grows
//! its leaves alone; partial answers are added as those of threads are.

use crate::Dpf;
use crate::literal::{LEAF_RECORDS, ParamsLiteral, SubTable};
use crate::message::{Answer, Query};
use crate::params::Params;
use crate::tree::Tree;
use rayon::prelude::*;
use sotto_core::parts::add_partials;
use sotto_core::{
    ExpectOrDefault, Image, ImageSection, Params as _, PartIndex, PartScheme, RecordSource, Result, Section,
    Sink, Wire,
};
use sotto_math::bitslice::{GROUP, RUN_RECORDS, SelectionMatrices, SelectionShare, matrices, scan, unslice};
use std::ops::Range;
use std::sync::Arc;

/// Queries in one pass: as many as can have their sums in registers.
const BATCH: usize = 48;

/// Bytes of matrices that are made and used per step: the space of a second-level cache beside the
/// table that streams through.
const MATRICES: usize = 512 << 10;

/// Maximum number of leaves that one step makes.
pub(crate) const MAX_LEAVES: usize = 512;

/// A range of a table: its first leaf, and the parameters of its records as a table.
pub(crate) struct LeafRange {
    pub(crate) first: u64,
    /// A power of two that divides `first`.
    pub(crate) align: u64,
    pub(crate) params: Params,
}

impl LeafRange {
    /// The range of all leaves.
    fn all(params: &Params) -> Self {
        LeafRange { first: 0, align: MAX_LEAVES as u64, params: params.clone() }
    }
}

/// An open table, or a part of one.
pub struct Server<const PROVEN: bool = false> {
    pub(crate) leaves: LeafRange,
    pub(crate) table: ImageSection,
}

impl<const PROVEN: bool> sotto_core::Server<Dpf<PROVEN>> for Server<PROVEN> {
    type Session = ();

    fn encode(params: &Params, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        crate::encode::encode(params, rows, out)
    }

    fn open(params: &Params, image: Arc<dyn Image>) -> Result<Self> {
        let table = ImageSection::open(image, Section::Resident, "table", params.table_bytes())?;
        Ok(Server { leaves: LeafRange::all(params), table })
    }

    fn records(params: &Params, image: Arc<dyn Image>) -> Result<Box<dyn RecordSource>> {
        let held = ImageSection::open(image, Section::Resident, "table", params.table_bytes())?;
        Ok(crate::encode::records(params, held))
    }

    fn admit(&self, (): ()) -> Result<()> {
        Ok(())
    }

    /// Answer, for up to 48 queries in one pass: the exclusive or of the records whose bit is set.
    fn answer_many(&self, queries: Vec<(&(), Query)>) -> Vec<Result<Answer>> {
        let queries: Vec<Query> = queries.into_iter().map(|(_, query)| query).collect();
        // Passes have equal sizes: 49 queries are 25 and 24, not 48 and one.
        let passes = queries.len().div_ceil(BATCH).max(1);
        queries
            .chunks(queries.len().div_ceil(passes).max(1))
            .flat_map(|batch| self.answers(batch))
            .map(Ok)
            .collect()
    }
}

impl<const PROVEN: bool> Server<PROVEN> {
    fn answers(&self, queries: &[Query]) -> Vec<Answer> {
        let table = self.table.bytes();
        let groups = queries.len().div_ceil(GROUP);
        let step = (MATRICES / (groups * size_of::<SelectionMatrices>())).clamp(1, MAX_LEAVES);
        // Small tables have shorter steps, so that each thread has one. All are powers of two.
        let threads = rayon::current_num_threads() as u64;
        let of_thread =
            (self.leaves.params.leaves().div_ceil(threads)).max(self.leaves.params.least_leaves());
        let step = (1u64 << step.ilog2()).min(1 << of_thread.ilog2()).min(self.leaves.align);
        let steps = self.leaves.params.leaves().div_ceil(step);
        // One range per thread: more streams at once slow the memory down.
        let each = steps.div_ceil(threads).max(1);
        let sums: Vec<Vec<u8>> = (0..steps.div_ceil(each))
            .into_par_iter()
            .map(|part| {
                let steps = part * each..steps.min((part + 1) * each);
                Pass::new(&self.leaves, queries).over(table, steps, step as usize)
            })
            .collect();
        let mut sums = sums.into_iter();
        let mut total = sums.next().expect_or_default("a table has a leaf");
        for sum in sums {
            total.iter_mut().zip(sum).for_each(|(total, sum)| *total ^= sum);
        }
        (0..queries.len()).map(|query| self.answer(&total, groups, query)).collect()
    }

    /// The answer of one query, from the sums of all.
    fn answer(&self, mut sums: &[u8], groups: usize, query: usize) -> Answer {
        let mut record = vec![0; self.leaves.params.record_bytes()];
        for layer in self.leaves.params.layers() {
            let (of_layer, rest) = sums.split_at(groups * layer.block_bytes());
            let of_group = of_layer.chunks_exact(layer.block_bytes()).nth(query / GROUP);
            let part = record.get_mut(layer.start..layer.start + layer.width);
            let part = part.expect_or_default("a layer is part of a record");
            unslice(of_group.expect_or_default("each group has sums"), query % GROUP, part);
            sums = rest;
        }
        Answer(record)
    }
}

/// The part of a pass that one thread does.
struct Pass<'a> {
    leaves: &'a LeafRange,
    trees: Vec<Tree>,
    matrices: Vec<SelectionMatrices>,
    /// The sums of all groups, layer by layer.
    sums: Vec<u8>,
}

impl<'a> Pass<'a> {
    fn new(leaves: &'a LeafRange, queries: &[Query]) -> Self {
        let groups = queries.len().div_ceil(GROUP);
        let blocks: usize = leaves.params.layers().iter().map(SubTable::block_bytes).sum();
        Pass {
            leaves,
            trees: queries.iter().map(Tree::new).collect(),
            matrices: Vec::new(),
            sums: vec![0; groups * blocks],
        }
    }

    /// Processes a range of the table in steps of `step` leaves: the bits of all queries, then the
    /// records that they select in each layer.
    fn over(mut self, table: &[u8], steps: Range<u64>, step: usize) -> Vec<u8> {
        let groups = self.trees.len().div_ceil(GROUP);
        for number in steps {
            let first = number * step as u64;
            let count = (self.leaves.params.leaves() - first).min(step as u64) as usize;
            self.matrices.resize(count * groups, [0; RUN]);
            for (g, trees) in self.trees.chunks_mut(GROUP).enumerate() {
                let shares: Vec<SelectionShare<'_>> =
                    trees.iter_mut().map(|tree| share(tree, self.leaves.first + first, count)).collect();
                matrices(
                    &shares,
                    groups,
                    self.matrices.get_mut(g..).expect_or_default("each group has matrices"),
                );
            }
            let mut sums = self.sums.as_mut_slice();
            for layer in self.leaves.params.layers() {
                if layer.shift > 0 {
                    fold(&mut self.matrices, groups);
                }
                let (of_layer, rest) = sums.split_at_mut(groups * layer.block_bytes());
                let blocks = blocks(table, layer, first, step);
                let runs = (blocks.len() / layer.block_bytes()).div_ceil(RUN);
                let selections = self
                    .matrices
                    .get(..runs * groups)
                    .expect_or_default("there are selections for all blocks");
                scan(blocks, layer.width, self.trees.len(), selections, of_layer);
                sums = rest;
            }
        }
        self.sums
    }
}

/// Blocks of a run.
const RUN: usize = RUN_RECORDS / GROUP;

/// The blocks of a layer that a step of `step` leaves from `first` on covers. A step has so many
/// leaves that it begins and ends with blocks, unless the table ends before.
fn blocks<'a>(table: &'a [u8], layer: &SubTable, first: u64, step: usize) -> &'a [u8] {
    let all = layer.items.div_ceil(GROUP as u64);
    // The table is in memory, so its size fits into a `usize`.
    let place = |leaves: u64| {
        let blocks = ((leaves * RUN as u64) >> layer.shift).min(all);
        layer.at as usize + blocks as usize * layer.block_bytes()
    };
    table.get(place(first)..place(first + step as u64)).expect_or_default("a step covers blocks of the table")
}

/// Selects a node above two where exactly one of them is selected. This is linear, so it works on
/// shares of a selection as on the selection.
///
/// Bytes of a word are eight queries' bits for the eight records of a block; those of two blocks
/// become those of one.
fn fold(matrices: &mut Vec<SelectionMatrices>, groups: usize) {
    let runs = (matrices.len() / groups.max(1)).div_ceil(2);
    for (run, g) in (0..runs).flat_map(|run| (0..groups).map(move |g| (run, g))) {
        let below = |half: usize| matrices.get((2 * run + half) * groups + g).unwrap_or(&[0; RUN]);
        let both = [*below(0), *below(1)];
        let (words, _) = both.as_flattened().as_chunks::<2>();
        let mut above = [0; RUN];
        above.iter_mut().zip(words).for_each(|(above, [low, high])| *above = pairs(*low) | pairs(*high) << 4);
        if let Some(place) = matrices.get_mut(run * groups + g) {
            *place = above;
        }
    }
    matrices.truncate(runs * groups);
}

/// In each byte, the exclusive or of bits 2i and 2i + 1 as bit i.
fn pairs(word: u64) -> u64 {
    let sums = (word ^ word >> 1) & 0x5555_5555_5555_5555;
    let pairs = (sums | sums >> 1) & 0x3333_3333_3333_3333;
    (pairs | pairs >> 2) & 0x0f0f_0f0f_0f0f_0f0f
}

fn share(tree: &mut Tree, first: u64, count: usize) -> SelectionShare<'_> {
    let leaves = tree.leaves(first, count);
    SelectionShare { bytes: leaves.bytes, masks: leaves.masks, word: leaves.word }
}

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

    fn join(_: &Params, (): &(), (): &(), _: Query, partials: &[Vec<u8>]) -> Result<Answer> {
        add_partials(partials).map(Answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_adds_neighbors() {
        let bit = |i: u64, q: u64| (i.wrapping_mul(0x9E37_79B9) >> (5 + q)) & 1;
        for (groups, runs) in [(1, 1), (1, 2), (2, 3)] {
            let word = |group: usize, block: usize| -> u64 {
                let byte = |q: u64| {
                    (0..8).fold(0, |byte, i| byte | bit((group * 9000 + block * 8) as u64 + i, q) << i)
                };
                (0..8).fold(0, |word, q| word | byte(q) << (8 * (7 - q)))
            };
            let at = |i: usize| std::array::from_fn(|k| word(i % groups, i / groups * RUN + k));
            let mut matrices: Vec<SelectionMatrices> = (0..groups * runs).map(at).collect();
            fold(&mut matrices, groups);
            for (group, node) in (0..groups).flat_map(|g| (0..runs * RUN * 4).map(move |node| (g, node))) {
                let (block, place) = (node / 8, node % 8);
                for q in 0..8 {
                    let got = matrices[block / RUN * groups + group][block % RUN]
                        >> (8 * (7 - q) + place as u64)
                        & 1;
                    let first = (group * 9000 + 2 * node) as u64;
                    assert_eq!(got, bit(first, q) ^ bit(first + 1, q), "node {node} of query {q}");
                }
            }
        }
    }
}
