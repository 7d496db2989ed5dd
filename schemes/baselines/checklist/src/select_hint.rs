//! Choosing a hint that contains a row: uniformly among all hints that do.
//!
//! The sets of all hints are grown for each query, about n (ln Q + 28) numbers, and that is most of
//! a client's work. A map from rows to hints, as in the authors' program, would be quicker. But it
//! takes memory for each row, and it knows the first hint of each row only until that one is spent;
//! then either the time of a query or the choice would reveal whether its row was in a set that was
//! spent before. Here time and addresses depend on sizes alone, and the choice only on the hints
//! that contain the row.

use crate::set::{NOWHERE, find};
use sotto_hints::two_server::{Hint, TreeScratch, Trees};
use zeroize::Zeroize;

/// A hint and the position of the row in it; the number of hints, and [`NOWHERE`], if none contains the row.
pub(crate) fn choose(
    trees: &Trees<u32>,
    hints: &[Hint<u32>],
    place: u32,
    coins: u64,
    scratch: &mut TreeScratch<u32>,
) -> (u32, u32) {
    let mut positions = Vec::with_capacity(hints.len());
    let mut count = 0;
    for hints in hints.chunks(trees.together()) {
        let numbers = trees.grow(hints.iter().map(|hint| hint.set.root), scratch);
        for (hint, numbers) in hints.iter().zip(numbers.chunks_exact(trees.numbers())) {
            let position = find(numbers, place ^ hint.set.shift);
            count += u64::from(position != NOWHERE);
            positions.push(position);
        }
    }
    // The number of the chosen one among `count`, within 2^-32 of uniform.
    let target = ((u128::from(coins) * u128::from(count)) >> 64) as u64;
    let (mut passed, mut chosen, mut at) = (0, 0, 0);
    for (slot, position) in (0u32..).zip(&positions) {
        let here = u32::from(*position != NOWHERE);
        let this = (here & u32::from(passed == target)).wrapping_neg();
        chosen |= slot & this;
        at |= position & this;
        passed += u64::from(here);
    }
    positions.zeroize();
    // At least 1 and at most 2^24 hints.
    let none = u32::from(count == 0).wrapping_neg();
    (chosen | hints.len() as u32 & none, at | NOWHERE & none)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params;
    use crate::set::each;
    use sotto_core::{Params as _, TableShape};
    use sotto_hints::two_server::{KeyedSets, Workspace};

    #[test]
    fn every_hint_that_contains_a_row_is_chosen_and_no_other() {
        let params = Params::check(Params::select(&TableShape::new(200, 1, 1)).unwrap()).unwrap();
        let tools = &mut Workspace::new(&params);
        let mut hints = vec![Hint::default(); 120];
        each(&KeyedSets::new(&params.trees(), &[9; 16]), 0..120, tools, |id, set, _| {
            hints[id as usize].set = set
        });
        let (trees, scratch) = (&tools.trees, &mut tools.scratch);
        for place in [0, 77, 255] {
            let mut containing = Vec::new();
            for (slot, hint) in (0u32..).zip(&hints) {
                let numbers = trees.grow([hint.set.root].into_iter(), scratch);
                let position = numbers.iter().position(|number| number ^ hint.set.shift == place);
                containing.extend(position.map(|position| (slot, position as u32)));
            }
            let steps = containing.len() as u64 * 16;
            let chosen: Vec<_> = (0..steps)
                .map(|i| choose(trees, &hints, place, u64::MAX / steps * i + (1 << 40), scratch))
                .collect();
            let expected: Vec<_> = containing.iter().flat_map(|found| vec![*found; 16]).collect();
            assert_eq!(chosen, expected);
            let mut without = Vec::new();
            for (slot, hint) in (0..).zip(&hints) {
                without.extend((!containing.iter().any(|(found, _)| *found == slot)).then_some(*hint));
            }
            let found = choose(trees, &without, place, 1 << 63, scratch);
            assert_eq!(found, (without.len() as u32, NOWHERE));
        }
    }
}
