//! A hint that contains a row: one of all that do, each with the same probability.
//!
//! Of every hint's tree the path to the row's partition is grown anew for each query: about w (ln Q + 28) paths, and that is most of what a client does.
//! The authors' program takes the first hint with the row, after w paths on average; but then the time of a query tells
//! which hint it was. Here time and addresses depend on sizes alone, and the choice on nothing but which hints contain the row.

use crate::client::Hint;
use crate::set::Place;
use crate::tree::Trees;
use zeroize::Zeroizing;

/// A hint, or their number if none contains the row.
pub(crate) fn choose(trees: &Trees, hints: &[Hint], place: Place, coins: u64) -> u32 {
    let found: Zeroizing<Vec<u32>> =
        Zeroizing::new(hints.iter().map(|hint| hint.set.contains(place, trees)).collect());
    let count: u64 = found.iter().copied().map(u64::from).sum();
    // Which of `count`: off from uniform by less than 2^-32.
    let wanted = ((u128::from(coins) * u128::from(count)) >> 64) as u64;
    let (mut seen, mut chosen) = (0, 0);
    for (slot, here) in (0u32..).zip(found.iter()) {
        chosen |= slot & (here & u32::from(seen == wanted)).wrapping_neg();
        seen += u64::from(*here);
    }
    chosen | hints.len() as u32 & u32::from(count == 0).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params;
    use crate::set::Keyed;
    use sotto_core::{Params as _, Shape};

    #[test]
    fn every_hint_that_contains_a_row_is_chosen_and_no_other() {
        let params = Params::check(Params::select(&Shape::new(200, 1, 1)).unwrap()).unwrap();
        let (trees, keyed) = (Trees::new(&params), Keyed::new(&params, &[9; 16]));
        let hints: Vec<Hint> = (0..120).map(|id| Hint { set: keyed.set(id), ..Hint::default() }).collect();
        for row in [0, 77, 255] {
            let place = Place::of(&params, row);
            let mut containing = Vec::new();
            keyed.each(&trees, 0..120, |id, offsets| {
                containing.extend((offsets[place.partition as usize] == place.offset).then_some(id));
            });
            assert!(containing.len() > 1);
            let steps = containing.len() as u64 * 16;
            let chosen: Vec<_> =
                (0..steps).map(|i| choose(&trees, &hints, place, u64::MAX / steps * i + (1 << 40))).collect();
            let expected: Vec<_> = containing.iter().flat_map(|found| [*found; 16]).collect();
            assert_eq!(chosen, expected);
            let without: Vec<Hint> = (0..)
                .zip(&hints)
                .filter(|(slot, _)| !containing.contains(slot))
                .map(|(_, hint)| *hint)
                .collect();
            assert_eq!(choose(&trees, &without, place, 1 << 63), without.len() as u32);
        }
    }
}
