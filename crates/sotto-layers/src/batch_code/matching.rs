//! Assigning buckets to items: a maximum matching, found in a time that does not depend on the
//! items.
//!
//! Items are placed one after the other, and one that finds no free bucket evicts another, as in a
//! cuckoo table. But the choice is not random: a bucket has a *label*, a lower bound on the number
//! of moves from there to a free one, and the item in hand goes to the lowest of its buckets, whose
//! label becomes one more than the next lowest (Khosla, "Balls into bins made faster", ESA 2013).
//!
//! *It is exact*, given enough steps. Labels of free buckets are 0. The label of a full one is at
//! most one more than each label of its item's other buckets, when it is set and, since labels only
//! grow, forever after; so no label exceeds the true distance. A shortest path goes through full
//! buckets only, fewer than there are items: an item whose buckets all have labels of the number of
//! items has no path to a free one, and never will (Berge). It is set aside.
//!
//! *It ends.* Each step sets an item aside or raises the label of a full bucket: `b` items take at
//! most `b^2 + b` steps, and far fewer where a code has slack ([`super::search_budget`]), whose
//! labels end sooner. That number of steps is always made, nearly all of them idle, and each reads
//! everything: neither time nor addresses depend on the items. An item without a bucket after the
//! last step has none.

use super::search_budget::SearchBudget;
use zeroize::Zeroizing;

/// No item, or no place.
pub const NONE: u16 = u16::MAX;

/// The assignment of items to buckets.
#[derive(Debug)]
pub struct Matching {
    /// For each bucket its item, or [`NONE`].
    pub holders: Zeroizing<Vec<u16>>,
    /// Items without a bucket, up to the allowed number; unused entries are [`NONE`].
    pub aside: Zeroizing<Vec<u16>>,
    /// Number of items without a bucket, including those that `aside` has no space for.
    pub unplaced: u16,
}

/// All ones if two numbers are equal, zero if not. It avoids a comparison, since compilers turn
/// masks that they recognize into branches.
pub(super) fn same(x: u16, y: u16) -> u16 {
    let d = x ^ y;
    ((d | d.wrapping_neg()) >> 15).wrapping_sub(1)
}

/// `x` under a mask of ones, and `y` under one of zeros.
fn choose(mask: u16, x: u16, y: u16) -> u16 {
    x & mask | y & !mask
}

fn less(x: u16, y: u16) -> u16 {
    (u32::from(x).wrapping_sub(y.into()) >> 16) as u16
}

/// Entries whose masks are computed at once.
const LANES: usize = 16;

/// The entry at a secret position, or 0 if there is no such position. `numbers` are the positions
/// of the entries: a list of them, since loops over lists are vectorized. A compiler that knows that
/// masks are all ones or zero makes branches of them, so they are hidden from it, some at once.
fn read(list: &[u16], numbers: &[u16], place: u16) -> u16 {
    let (lists, rest) = list.as_chunks::<LANES>();
    let (chunks, others) = numbers.split_at(list.len() - rest.len());
    let mut found = [0; LANES];
    for (list, numbers) in lists.iter().zip(chunks.as_chunks::<LANES>().0) {
        let mut masks = [0; LANES];
        masks.iter_mut().zip(numbers).for_each(|(mask, i)| *mask = same(*i, place));
        let masks = std::hint::black_box(&masks);
        found.iter_mut().zip(list).zip(masks).for_each(|((found, x), mask)| *found |= x & mask);
    }
    let whole = found.iter().fold(0, |found, x| found | x);
    others.iter().zip(rest).fold(whole, |found, (i, x)| found | x & std::hint::black_box(same(*i, place)))
}

/// The position of an entry, or [`NONE`].
pub(super) fn find(list: &[u16], entry: u16) -> u16 {
    (0u16..).zip(list).fold(NONE, |found, (i, other)| choose(same(entry, *other), i, found))
}

/// Places as many items as possible. `requested` has all ones for an item that is to be placed, and
/// zero for another. `choices[j * n + i]` is bucket `j` of item `i` of `n`; an item may have the
/// same bucket twice. Up to `spare` items without a bucket are named.
///
/// # Panics
/// If there are 2^15 items or buckets or more, or the number of choices is no multiple of the
/// items.
pub fn assign(
    choices: &[u16],
    requested: &[u16],
    buckets: usize,
    spare: usize,
    effort: SearchBudget,
) -> Matching {
    let n = requested.len();
    assert!(n < 1 << 15 && buckets < 1 << 15, "items and buckets below 2^15");
    assert_eq!(choices.len().checked_rem(n).unwrap_or(choices.len()), 0, "as many buckets for each item");
    let SearchBudget { limit, steps } = effort;
    let end = n as u16;
    let numbers: Vec<u16> = (0..n.max(buckets) as u16).collect();
    let copies = choices.len() / n.max(1);
    let mut labels = Zeroizing::new(vec![0; buckets]);
    let mut holders = Zeroizing::new(vec![NONE; buckets]);
    let mut aside = Zeroizing::new(vec![NONE; spare]);
    let (mut own, mut heights) = (Zeroizing::new(vec![0; copies]), Zeroizing::new(vec![0; copies]));
    let (mut hand, mut next, mut unplaced) = (NONE, 0, 0);
    for _ in 0..steps {
        let idle = same(hand, NONE);
        hand = choose(idle, next, hand);
        next += idle & less(next, end) & 1;
        let active = read(requested, &numbers, hand);

        let lists = choices.chunks_exact(n);
        for ((bucket, height), list) in own.iter_mut().zip(heights.iter_mut()).zip(lists) {
            *bucket = read(list, &numbers, hand);
            *height = read(&labels, &numbers, *bucket);
        }
        let (mut goal, mut lowest) = (NONE, limit);
        for (bucket, height) in own.iter().zip(heights.iter()) {
            let lower = less(*height, lowest);
            goal = choose(lower, *bucket, goal);
            lowest = choose(lower, *height, lowest);
        }
        // The lowest of the other buckets. A bucket that occurs twice is no other.
        let mut second = limit;
        for (bucket, height) in own.iter().zip(heights.iter()) {
            second = choose(!same(*bucket, goal) & less(*height, second), *height, second);
        }
        let raised = choose(less(second, limit), second + 1, limit);

        let goes = active & !same(goal, NONE);
        let mut out = 0;
        for ((v, label), holder) in numbers.iter().zip(labels.iter_mut()).zip(holders.iter_mut()) {
            let here = goes & same(*v, goal);
            out |= *holder & here;
            *label = choose(here, raised, *label);
            *holder = choose(here, hand, *holder);
        }
        let stays = active & !goes;
        for (t, slot) in (0u16..).zip(aside.iter_mut()) {
            *slot = choose(stays & same(t, unplaced), hand, *slot);
        }
        unplaced += stays & 1;
        hand = choose(goes, out, NONE);
    }
    Matching { holders, aside, unplaced }
}

#[cfg(test)]
mod tests {
    use super::super::search_budget::SearchBudget;
    use super::{NONE, assign};
    use proptest::prelude::*;

    /// Size of a maximum matching, by depth-first search for augmenting paths.
    fn largest(choices: &[u16], requested: &[u16], buckets: usize) -> usize {
        fn reach(
            i: usize,
            choices: &[u16],
            n: usize,
            holders: &mut [Option<usize>],
            seen: &mut [bool],
        ) -> bool {
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
        let n = requested.len();
        let mut holders = vec![None; buckets];
        (0..n)
            .filter(|i| requested[*i] != 0 && reach(*i, choices, n, &mut holders, &mut vec![false; buckets]))
            .count()
    }

    fn check(choices: &[u16], requested: &[u16], buckets: usize, spare: usize) {
        let n = requested.len();
        let matching = assign(choices, requested, buckets, spare, SearchBudget::thorough(n));
        let mut times = vec![0; n];
        for (v, holder) in matching.holders.iter().enumerate().filter(|(_, holder)| **holder != NONE) {
            times[usize::from(*holder)] += 1;
            assert!(choices.chunks_exact(n).any(|list| usize::from(list[usize::from(*holder)]) == v));
        }
        let placed: usize = times.iter().sum();
        let count = requested.iter().filter(|requested| **requested != 0).count();
        assert_eq!(placed, largest(choices, requested, buckets));
        assert_eq!(placed + usize::from(matching.unplaced), count);
        for (slot, item) in matching.aside.iter().enumerate() {
            assert_eq!(*item == NONE, slot >= usize::from(matching.unplaced), "{:?}", matching.aside);
            if *item != NONE {
                times[usize::from(*item)] += 1;
            }
        }
        for (times, requested) in times.iter().zip(requested) {
            assert!(*times <= usize::from(*requested != 0));
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
            spare in 0usize..4,
            draw in prop::collection::vec(any::<u16>(), 96),
            requested in any::<u32>(),
        ) {
            let choices: Vec<u16> = draw.iter().take(n * copies).map(|v| v % buckets).collect();
            // Half of the cases place all items, the others some.
            let requested = if requested & 1 == 0 { u32::MAX } else { requested };
            let requested: Vec<u16> = (0..n).map(|i| 0u16.wrapping_sub((requested >> i & 1) as u16)).collect();
            check(&choices, &requested, buckets.into(), spare);
        }
    }
}
