//! The server: one pass over the table for up to 48 queries at once.

use crate::Dpf;
use crate::message::{Answer, Query};
use crate::params::Params;
use crate::tree::Tree;
use rayon::prelude::*;
use sotto_core::{Held, Image, Result, Rows, Section, Sink, Stored, Sure};
use sotto_math::slices::{GROUP, Matrices, Share, matrices, scan, unslice};
use std::sync::Arc;

/// Queries in one pass: as many as have their sums in registers.
const BATCH: usize = 48;

/// Bytes of matrices that are made and used in turn: what is left of a second-level cache beside the table that
/// streams through.
const MATRICES: usize = 512 << 10;

/// Most leaves that are made in one turn.
const MOST_LEAVES: usize = 512;

/// An open table.
pub struct Server {
    params: Params,
    table: Held,
}

impl sotto_core::Server<Dpf> for Server {
    type Session = ();

    fn encode(params: &Params, rows: &dyn Rows, out: &dyn Sink) -> Result<()> {
        crate::encode::encode(params, rows, out)
    }

    fn open(params: &Params, image: Arc<dyn Image>) -> Result<Self> {
        let table = Held::open(image, Section::Resident, "table", params.table_bytes())?;
        Ok(Server { params: params.clone(), table })
    }

    fn records(params: &Params, image: Arc<dyn Image>) -> Result<Box<dyn Rows>> {
        let held = Held::open(image, Section::Resident, "table", params.table_bytes())?;
        let (records, record_bytes, block_bytes) =
            (params.records(), params.record_bytes(), params.block_bytes());
        let read = move |table: &[u8], record: u64, offset: usize, out: &mut [u8]| {
            let (block, which) = ((record / 8) as usize, (record % 8) as usize);
            let slices = table.get(block * block_bytes + 8 * offset..)?.get(..8 * out.len())?;
            unslice(slices, which, out);
            Some(())
        };
        Ok(Box::new(Stored { held, records, record_bytes, read }))
    }

    fn admit(&self, (): ()) -> Result<()> {
        Ok(())
    }

    /// Answer, for up to 48 queries in one pass: the exclusive or of the records whose bit is set.
    fn answer_many(&self, asks: Vec<(&(), Query)>) -> Vec<Result<Answer>> {
        let queries: Vec<Query> = asks.into_iter().map(|(_, query)| query).collect();
        // Passes of equal size: 49 queries are 25 and 24, not 48 and one.
        let passes = queries.len().div_ceil(BATCH).max(1);
        queries
            .chunks(queries.len().div_ceil(passes).max(1))
            .flat_map(|batch| self.answers(batch))
            .map(Ok)
            .collect()
    }
}

impl Server {
    fn answers(&self, queries: &[Query]) -> Vec<Answer> {
        let blocks = self.table.bytes();
        let groups = queries.len().div_ceil(GROUP);
        let turn = (MATRICES / (groups * size_of::<Matrices>())).clamp(1, MOST_LEAVES);
        let turn = 1 << turn.ilog2();
        let turns = self.params.leaves().div_ceil(turn as u64);
        // One stretch per thread: more streams at once than that slow the memory down.
        let stretch = turns.div_ceil(rayon::current_num_threads() as u64).max(1);
        let sums: Vec<Vec<u8>> = (0..turns.div_ceil(stretch))
            .into_par_iter()
            .map(|part| {
                let turns = part * stretch..turns.min((part + 1) * stretch);
                Pass::new(&self.params, queries).over(blocks, turns, turn)
            })
            .collect();
        let block = self.params.block_bytes();
        let mut sums = sums.into_iter();
        let mut total = sums.next().sure("a table has a leaf");
        for sum in sums {
            total.iter_mut().zip(sum).for_each(|(total, sum)| *total ^= sum);
        }
        total
            .chunks_exact(block)
            .flat_map(|sums| (0..GROUP).map(move |i| (sums, i)))
            .take(queries.len())
            .map(|(sums, i)| {
                let mut record = vec![0; self.params.record_bytes()];
                unslice(sums, i, &mut record);
                Answer(record)
            })
            .collect()
    }
}

/// One thread's part of a pass.
struct Pass<'a> {
    params: &'a Params,
    trees: Vec<Tree>,
    matrices: Vec<Matrices>,
    sums: Vec<u8>,
}

impl<'a> Pass<'a> {
    fn new(params: &'a Params, queries: &[Query]) -> Self {
        let groups = queries.len().div_ceil(GROUP);
        Pass {
            params,
            trees: queries.iter().map(Tree::new).collect(),
            matrices: Vec::new(),
            sums: vec![0; groups * params.block_bytes()],
        }
    }

    /// Goes over a stretch of the table, in turns of `turn` leaves: bits of all queries, then the records they select.
    fn over(mut self, blocks: &[u8], turns: std::ops::Range<u64>, turn: usize) -> Vec<u8> {
        let groups = self.trees.len().div_ceil(GROUP);
        // The table is in memory, so its size fits.
        let leaf_bytes = 64 * self.params.block_bytes();
        for number in turns {
            let first = number * turn as u64;
            let start = first as usize * leaf_bytes;
            let piece = blocks.get(start..).sure("a turn begins inside the table");
            let piece = piece.get(..turn * leaf_bytes).unwrap_or(piece);
            let leaves = piece.len().div_ceil(leaf_bytes);
            self.matrices.resize(leaves * groups, [0; 64]);
            for (g, trees) in self.trees.chunks_mut(GROUP).enumerate() {
                let shares: Vec<Share<'_>> =
                    trees.iter_mut().map(|tree| share(tree, first, leaves)).collect();
                matrices(&shares, groups, self.matrices.get_mut(g..).sure("each group has matrices"));
            }
            let width = self.params.record_bytes();
            scan(piece, width, self.trees.len(), &self.matrices, &mut self.sums);
        }
        self.sums
    }
}

fn share(tree: &mut Tree, first: u64, count: usize) -> Share<'_> {
    let leaves = tree.leaves(first, count);
    Share { bytes: leaves.bytes, masks: leaves.masks, word: leaves.word }
}
