//! A parity for each partition that a query may mean.
//!
//! A query does not reveal the partition that it lacks. If it is l, then the k-th seed beside the
//! path on a level belongs to child k of the path's node there, or, if the path goes to child k or
//! one before it, to child k + 1. So below each node of a level that may be on the path, every seed
//! is at one of two places, independent of everything below: for a node with F children, 2 (F - 1)
//! sums of rows give the common part of all choices. In total that is about (3 log4(c / 32) + 4) c
//! / 2 rows for c parities, in one walk down the levels. A leaf is one more level, with 32 children
//! that are partitions.

use crate::Params;
use crate::message::Query;
use sotto_hints::two_server::{TreeScratch, Trees};
use sotto_math::aes::Aes;
use sotto_math::gather::{PartitionRows, RowPicks, gather};
use zeroize::Zeroizing;

/// Number of rows from which on prefetching pays.
const MANY: usize = 16;

/// The table, and reused memory.
pub(crate) struct GuessParities<'a> {
    rows: &'a [u8],
    width: usize,
    partition_rows: usize,
    /// The bits of a half, all 0; and the parity of the other half, which contains no row.
    halves: Vec<u8>,
    none: Vec<u8>,
    sum: Zeroizing<Vec<u8>>,
}

impl<'a> GuessParities<'a> {
    pub(crate) fn new(params: &Params, rows: &'a [u8]) -> Self {
        let width = params.row_bytes();
        GuessParities {
            rows,
            width,
            partition_rows: 1 << params.ratio_bits(),
            halves: vec![0; params.numbers().div_ceil(8)],
            none: vec![0; width],
            sum: Zeroizing::new(vec![0; width]),
        }
    }

    /// The parities of all partitions, of a row's size each.
    pub(crate) fn all(&mut self, trees: &Trees<u16>, query: &Query) -> Zeroizing<Vec<u8>> {
        let (key, mut scratch) = (Aes::new(&query.salt), TreeScratch::default());
        let mut parities = Zeroizing::new(vec![0; self.width]);
        let mut beside = query.beside.as_slice();
        for level in 0..trees.depth() {
            let (now, below) = beside.split_at_checked(trees.fan(level) - 1).unwrap_or_default();
            let offsets = trees.grow_below(&key, level, now, &mut scratch);
            offsets.iter_mut().for_each(|number| *number ^= query.shift);
            parities = self.spread(&parities, offsets, trees.span(level + 1));
            beside = below;
        }
        let offsets: Vec<u16> = query.others.iter().map(|number| number ^ query.shift).collect();
        self.spread(&parities, &offsets, 1)
    }

    /// From the parities of the nodes of a level to those of their children. Each node that is not
    /// on the path has `span` of the offsets.
    fn spread(&mut self, parities: &[u8], offsets: &[u16], span: usize) -> Zeroizing<Vec<u8>> {
        let (width, fan) = (self.width, offsets.len() / span + 1);
        let mut children = Zeroizing::new(vec![0; fan * parities.len()]);
        let families = children.chunks_exact_mut(fan * width).zip(parities.chunks_exact(width));
        for (first, (family, parity)) in (0..).step_by(fan).zip(families) {
            // The path goes to one child. Seeds from that on belong to the children after it ...
            self.sum.copy_from_slice(parity);
            let turns = family.chunks_exact_mut(width).enumerate().rev();
            for (turn, child) in turns {
                if let Some(offsets) = offsets.get(turn * span..(turn + 1) * span) {
                    self.add((first + turn + 1) * span, offsets);
                }
                child.copy_from_slice(&self.sum);
            }
            // ... and seeds before it to the children before.
            self.sum.fill(0);
            for (turn, child) in family.chunks_exact_mut(width).enumerate() {
                child.iter_mut().zip(self.sum.iter()).for_each(|(byte, sum)| *byte ^= sum);
                if let Some(offsets) = offsets.get(turn * span..(turn + 1) * span) {
                    self.add((first + turn) * span, offsets);
                }
            }
        }
        children
    }

    /// Adds rows at these offsets to the sum, the first offset in this partition, and each further
    /// one in the next. Rows past the last are zeros.
    fn add(&mut self, partition: usize, offsets: &[u16]) {
        let first = partition * self.partition_rows;
        if offsets.len() >= MANY {
            let Some(bytes) = self.rows.get(first * self.width..) else { return };
            let rows = PartitionRows { bytes, row_bytes: self.width, partition_rows: self.partition_rows };
            let halves = self.halves.get(..offsets.len().div_ceil(8)).unwrap_or_default();
            let mut parity = Zeroizing::new(vec![0; self.width]);
            gather(rows, RowPicks { offsets, halves }, [&mut parity, &mut self.none]);
            self.sum.iter_mut().zip(parity.iter()).for_each(|(sum, byte)| *sum ^= byte);
            return;
        }
        for (partition, offset) in (0..).zip(offsets) {
            let at = (first + partition * self.partition_rows + usize::from(*offset)) * self.width;
            if let Some(row) = self.rows.get(at..at + self.width) {
                self.sum.iter_mut().zip(row).for_each(|(sum, byte)| *sum ^= byte);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sotto_core::{Params as _, TableShape};
    use sotto_hints::two_server::{KeyedSets, Set};

    /// The parity for the requested partition is that of the set without its row, and the one
    /// beside it that of the same numbers there.
    #[test]
    fn the_parity_for_every_partition() {
        for (rows, row_bytes) in
            [(1, 3), (3, 1), (30, 8), (700, 5), (2000, 16), (5000, 3), (1 << 14, 32), (40_000, 2)]
        {
            let params =
                Params::check(Params::select(&TableShape::new(rows, row_bytes, 1)).unwrap()).unwrap();
            let (trees, width) = (params.trees(), row_bytes as usize);
            let table: Vec<u8> = (0..params.table_bytes()).map(|i| ((i * 2654435761) >> 24) as u8).collect();
            let Set { root, shift } = KeyedSets::new(&trees, &[6; 16]).candidate(9, 0);
            let mut scratch = TreeScratch::default();
            let numbers = trees.grow([root].into_iter(), &mut scratch).to_vec();
            let mut guesses = GuessParities::new(&params, &table);
            for requested in (0..params.numbers()).step_by(1 + params.numbers() / 20) {
                let query = Query::new(&trees, &Set { root, shift }, requested as u32);
                let parities = guesses.all(&trees, &query);
                assert_eq!(parities.len(), params.numbers() * width);
                let mut expected = vec![0; width];
                for (partition, number) in numbers.iter().enumerate().filter(|(at, _)| *at != requested) {
                    let row = partition << params.ratio_bits() | usize::from(number ^ shift);
                    let row = table.get(row * width..(row + 1) * width).unwrap_or_default();
                    expected.iter_mut().zip(row).for_each(|(sum, byte)| *sum ^= byte);
                }
                assert_eq!(parities[requested * width..][..width], expected, "{rows} rows, {requested}");
                // For the next partition in its leaf, one number moves to the requested partition.
                let next = requested ^ 1;
                for partition in [next, requested] {
                    let row = partition << params.ratio_bits() | usize::from(numbers[next] ^ shift);
                    let row = table.get(row * width..(row + 1) * width).unwrap_or_default();
                    expected.iter_mut().zip(row).for_each(|(sum, byte)| *sum ^= byte);
                }
                assert_eq!(
                    parities[next * width..][..width],
                    expected,
                    "{rows} rows, {next} for {requested}"
                );
            }
        }
    }

    #[test]
    fn as_many_rows_as_reported() {
        // Each leaf 31 twice; one level of four below two of them.
        let params = Params::check(Params::select(&TableShape::new(1 << 20, 1, 1)).unwrap()).unwrap();
        assert_eq!(crate::family::guessed_rows(&params.trees()), 1024 + 2 * 1536 + 2 * 31 * 32);
    }
}
