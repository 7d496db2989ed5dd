//! The places of rows in partitions. A set has the row of a partition whose offset is the tree's
//! number there, xor the shift.

use crate::Params;
use borsh::{BorshDeserialize, BorshSerialize};
use sotto_core::CryptoRng;
use sotto_hints::two_server::sets::equal;
use sotto_hints::two_server::{Root, Seed, Set, TreeNumber, Trees};
use sotto_math::aes::descend;
use zeroize::{Zeroize, Zeroizing};

/// log2 of the numbers of a block.
pub(crate) const EIGHT: u32 = 3;

/// A row: its partition l, and its offset o there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Zeroize, BorshSerialize, BorshDeserialize)]
pub struct PartitionOffset {
    pub(crate) partition: u32,
    pub(crate) offset: u16,
}

impl PartitionOffset {
    /// The place of a row.
    pub fn of(params: &Params, row: u64) -> Self {
        // Both are below 2^16.
        let partition = (row >> params.ratio_bits()) as u32;
        PartitionOffset { partition, offset: row as u16 & params.trees().mask() }
    }

    /// Whether a table has such a row.
    pub(crate) fn is_of(self, params: &Params) -> bool {
        let row = u64::from(self.partition) << params.ratio_bits() | u64::from(self.offset);
        self.offset <= params.trees().mask() && row < params.rows()
    }
}

/// 1 if a set contains a row, otherwise 0, in time that does not depend on either.
pub fn has(set: &Set<u16>, place: PartitionOffset, trees: &Trees<u16>) -> u32 {
    has_number(set, number(trees, &set.root, place.partition), place)
}

/// 1 if a set contains a row, otherwise 0, for the known number of the tree in the row's partition.
pub(crate) fn has_number(set: &Set<u16>, number: u16, place: PartitionOffset) -> u32 {
    equal((number ^ set.shift).into(), place.offset.into()) & 1
}

/// A set that contains a row and is otherwise random.
pub(crate) fn containing(place: PartitionOffset, trees: &Trees<u16>, rng: &mut dyn CryptoRng) -> Set<u16> {
    let mut root = Root::default();
    rng.fill_bytes(&mut root.salt);
    rng.fill_bytes(&mut root.seed);
    Set { root, shift: number(trees, &root, place.partition) ^ place.offset }
}

/// From the seeds of roots to the blocks that hold each tree's number at a position, and the
/// numbers that share its block: eight, or all if a tree has fewer. Takes the same time for all
/// positions.
pub(crate) fn blocks_at(trees: &Trees<u16>, salts: &[[u8; 16]], seeds: &mut [Seed], position: u32) {
    // A leaf has a block for every eight numbers, as an inner node has one for each child.
    let last = position >> EIGHT & ((1 << (trees.leaf_bits().max(EIGHT) - EIGHT)) - 1);
    let turns = (0..trees.depth()).map(|level| trees.turn(level, position)).chain([last]);
    let turns: Zeroizing<Vec<u8>> = Zeroizing::new(turns.map(|turn| turn as u8).collect());
    descend(salts, &turns, seeds);
}

/// The numbers of trees at a position, in time that does not depend on the position.
pub(crate) fn numbers_at(
    trees: &Trees<u16>,
    roots: impl Iterator<Item = Root>,
    position: u32,
) -> Zeroizing<Vec<u16>> {
    let (salts, seeds): (Vec<_>, Vec<_>) = roots.map(|root| (root.salt, root.seed)).unzip();
    let mut seeds = Zeroizing::new(seeds);
    blocks_at(trees, &salts, &mut seeds, position);
    let within = position & ((1 << trees.leaf_bits().min(EIGHT)) - 1);
    let pick = |block: &Seed| {
        (0..).zip(u16::words(block)).fold(0, |sum, (at, number)| sum | number & equal(at, within) as u16)
    };
    Zeroizing::new(seeds.iter().map(|block| pick(block) & trees.mask()).collect())
}

/// The number of a tree at a position.
fn number(trees: &Trees<u16>, root: &Root, position: u32) -> u16 {
    numbers_at(trees, [*root].into_iter(), position).first().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sotto_core::{Params as _, TableShape};
    use sotto_hints::two_server::{KeyedSets, TreeScratch};
    use sotto_testkit::rng::seeded;

    fn params(rows: u64) -> Params {
        Params::check(Params::select(&TableShape::new(rows, 1, 1)).unwrap()).unwrap()
    }

    #[test]
    fn numbers_alone_are_those_of_whole_trees() {
        for rows in [1, 30, 500, 1 << 11, 1 << 14, 1 << 20, 1 << 25, 1 << 32] {
            let params = params(rows);
            let (trees, root) = (params.trees(), Root { salt: [3; 16], seed: [4; 16] });
            let numbers = trees.grow([root].into_iter(), &mut TreeScratch::default()).to_vec();
            for position in (0..params.numbers()).step_by(1.max(params.numbers() / 300)) {
                assert_eq!(number(&trees, &root, position as u32), numbers[position], "{rows} {position}");
            }
        }
    }

    #[test]
    fn sets_of_a_key_have_each_row_as_often() {
        let params = params(1 << 12);
        let (trees, keyed) = (params.trees(), KeyedSets::new(&params.trees(), &[5; 16]));
        let mut rows = [0u32; 1 << 12];
        let all: Vec<Set<u16>> = (0..300).map(|id| keyed.candidate(id, 0)).collect();
        for set in &all {
            for (partition, number) in
                (0..).zip(trees.grow([set.root].into_iter(), &mut TreeScratch::default()))
            {
                let offset = number ^ set.shift;
                assert_eq!(has(set, PartitionOffset { partition, offset }, &trees), 1);
                assert_eq!(has(set, PartitionOffset { partition, offset: offset ^ 1 }, &trees), 0);
                rows[partition as usize * 64 + usize::from(offset)] += 1;
            }
        }
        assert!((0..300).all(|i| !all[..i].contains(&all[i])), "every id has a set of its own");
        // 300 sets among 64 rows of a partition: 4.7 of each. That a row is in none, or in twenty,
        // has a probability of thousandths.
        assert!(rows.iter().filter(|count| **count == 0 || **count > 18).count() < 100);
    }

    #[test]
    fn a_fresh_set_has_its_row() {
        let params = params(1 << 13);
        let (trees, rng) = (params.trees(), &mut seeded("containing"));
        let mut shifts = Vec::new();
        for row in [0, 1, 4000, 8191, 17, 17, 17] {
            let place = PartitionOffset::of(&params, row);
            assert_eq!(u64::from(place.partition) * 64 + u64::from(place.offset), row);
            let set = containing(place, &trees, rng);
            assert_eq!(has(&set, place, &trees), 1);
            shifts.push(set.shift);
        }
        shifts.dedup();
        assert!(shifts.len() > 3, "shifts are random: {shifts:?}");
    }
}
