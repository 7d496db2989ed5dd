use super::super::search_budget::SearchBudget;
use super::{NONE, assign};
use proptest::prelude::*;

/// Size of a maximum matching, by depth-first search for augmenting paths.
fn largest(choices: &[u16], wanted: &[u16], buckets: usize) -> usize {
    fn reach(i: usize, choices: &[u16], n: usize, holders: &mut [Option<usize>], seen: &mut [bool]) -> bool {
        for list in choices.chunks_exact(n) {
            let v = usize::from(list[i]);
            if seen[v] {
                continue;
            }
            seen[v] = true;
            if holders[v].is_none_or(|other| reach(other, choices, n, holders, seen)) {
                holders[v] = Some(i);
                return true;
            }
        }
        false
    }
    let n = wanted.len();
    let mut holders = vec![None; buckets];
    (0..n)
        .filter(|i| wanted[*i] != 0 && reach(*i, choices, n, &mut holders, &mut vec![false; buckets]))
        .count()
}

fn check(choices: &[u16], wanted: &[u16], buckets: usize, room: usize) {
    let n = wanted.len();
    let matching = assign(choices, wanted, buckets, room, SearchBudget::thorough(n));
    let mut times = vec![0; n];
    for (v, holder) in matching.holders.iter().enumerate().filter(|(_, holder)| **holder != NONE) {
        times[usize::from(*holder)] += 1;
        assert!(choices.chunks_exact(n).any(|list| usize::from(list[usize::from(*holder)]) == v));
    }
    let placed: usize = times.iter().sum();
    let asked = wanted.iter().filter(|wanted| **wanted != 0).count();
    assert_eq!(placed, largest(choices, wanted, buckets));
    assert_eq!(placed + usize::from(matching.unplaced), asked);
    for (slot, item) in matching.aside.iter().enumerate() {
        assert_eq!(*item == NONE, slot >= usize::from(matching.unplaced), "{:?}", matching.aside);
        if *item != NONE {
            times[usize::from(*item)] += 1;
        }
    }
    for (times, wanted) in times.iter().zip(wanted) {
        assert!(*times <= usize::from(*wanted != 0));
    }
}

#[test]
fn nothing_to_place_and_nowhere() {
    check(&[], &[], 0, 0);
    check(&[], &[!0, !0], 0, 1);
    check(&[], &[!0, !0], 0, 2);
    check(&[0, 0], &[0, !0], 1, 0);
}

/// One chain: an item at its end moves all others, and where the chain is closed there is no path.
#[test]
fn the_longest_ways_are_found() {
    for n in [2u16, 3, 20, 64] {
        // Item i may go to i or i + 1, and the last one, which may only go to the first, moves all
        // others on.
        let first = (0..n - 1).chain([0]);
        let second = (1..n).chain([0]);
        let chain: Vec<u16> = first.chain(second).collect();
        check(&chain, &vec![!0; usize::from(n)], usize::from(n), 0);
        // Without the last bucket there are too many items.
        let closed: Vec<u16> = chain.iter().map(|v| (*v).min(n - 2)).collect();
        check(&closed, &vec![!0; usize::from(n)], usize::from(n) - 1, 1);
    }
}

#[test]
fn all_in_one_bucket() {
    check(&[4; 30], &[!0; 10], 15, 0);
    check(&[4; 30], &[!0; 10], 15, 3);
    check(&[4; 30], &[!0; 10], 15, 10);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn matchings_are_largest(
        n in 1usize..24,
        copies in 1usize..5,
        buckets in 1u16..30,
        room in 0usize..4,
        draw in prop::collection::vec(any::<u16>(), 96),
        wanted in any::<u32>(),
    ) {
        let choices: Vec<u16> = draw.iter().take(n * copies).map(|v| v % buckets).collect();
        // Half of the cases place all items, the others some.
        let wanted = if wanted & 1 == 0 { u32::MAX } else { wanted };
        let wanted: Vec<u16> = (0..n).map(|i| 0u16.wrapping_sub((wanted >> i & 1) as u16)).collect();
        check(&choices, &wanted, buckets.into(), room);
    }
}
