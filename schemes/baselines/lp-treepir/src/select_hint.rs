//! Choosing a hint that contains a row: uniformly among all hints that do.
//!
//! The path to the row's partition is grown in every hint's tree for each query: about w (ln Q +
//! 28) paths, and that is most of a client's work. The authors' program takes the first hint with
//! the row, after w paths on average; but then the time of a query reveals which hint it was. Here
//! time and addresses depend on sizes alone, and the choice only on the hints that contain the row.

use crate::partition_offset::{PartitionOffset, has_number, numbers_at};
use sotto_hints::two_server::{Hint, Trees};
use std::hint::black_box;
use zeroize::Zeroizing;

/// Trees that are walked down together: some 10 KB of them.
const TOGETHER: usize = 256;

/// A uniformly chosen hint that contains the row, or the number of hints if none does.
pub(crate) fn choose(trees: &Trees<u16>, hints: &[Hint<u16>], place: PartitionOffset, coins: u64) -> u32 {
    let mut found = Zeroizing::new(Vec::with_capacity(hints.len()));
    for hints in hints.chunks(TOGETHER) {
        let numbers = numbers_at(trees, hints.iter().map(|hint| hint.set.root), place.partition);
        let here =
            hints.iter().zip(numbers.iter()).map(|(hint, number)| has_number(&hint.set, *number, place));
        found.extend(here);
    }
    let count: u64 = found.iter().copied().map(u64::from).sum();
    // The number of the chosen one among `count`, within 2^-32 of uniform.
    let target = ((u128::from(coins) * u128::from(count)) >> 64) as u64;
    let (mut passed, mut chosen) = (0, 0);
    for (slot, here) in (0u32..).zip(found.iter()) {
        // The black boxes keep the masks from becoming branches.
        chosen |= slot & black_box(here & u32::from(passed == target)).wrapping_neg();
        passed += u64::from(*here);
    }
    chosen | hints.len() as u32 & black_box(u32::from(count == 0)).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params;
    use sotto_core::{Params as _, TableShape};
    use sotto_hints::two_server::{KeyedSets, TreeScratch};

    #[test]
    fn every_hint_that_contains_a_row_is_chosen_and_no_other() {
        let params = Params::check(Params::select(&TableShape::new(200, 1, 1)).unwrap()).unwrap();
        let (trees, keyed) = (params.trees(), KeyedSets::new(&params.trees(), &[9; 16]));
        let mut hints = vec![Hint::default(); 120];
        (0..).zip(&mut hints).for_each(|(id, hint)| hint.set = keyed.candidate(id, 0));
        let mut scratch = TreeScratch::default();
        for row in [0, 77, 255] {
            let place = PartitionOffset::of(&params, row);
            let mut containing = Vec::new();
            for (slot, hint) in (0..).zip(&hints) {
                let numbers = trees.grow([hint.set.root].into_iter(), &mut scratch);
                let has = numbers[place.partition as usize] ^ hint.set.shift == place.offset;
                containing.extend(has.then_some(slot));
            }
            assert!(containing.len() > 1);
            let steps = containing.len() as u64 * 16;
            let chosen: Vec<_> =
                (0..steps).map(|i| choose(&trees, &hints, place, u64::MAX / steps * i + (1 << 40))).collect();
            let expected: Vec<_> = containing.iter().flat_map(|found| [*found; 16]).collect();
            assert_eq!(chosen, expected);
            let without: Vec<Hint<u16>> = (0..)
                .zip(&hints)
                .filter(|(slot, _)| !containing.contains(slot))
                .map(|(_, hint)| *hint)
                .collect();
            assert_eq!(choose(&trees, &without, place, 1 << 63), without.len() as u32);
        }
    }
}
