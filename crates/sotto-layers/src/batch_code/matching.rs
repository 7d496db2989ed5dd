//! Which bucket serves which item: a largest matching, found in the same time whatever the items are.
//!
//! Items are placed one after the other, and one that finds no free bucket pushes another out, as in a cuckoo table. But
//! where an item goes is not random: a bucket has a *label*, a lower bound on how many moves it takes from there to a free
//! one, and the item in hand goes to the lowest of its buckets, whose label becomes one more than the next lowest
//! (Khosla, "Balls into bins made faster", ESA 2013).
//!
//! *It is exact*, given enough steps. Labels of free buckets are 0. The label of a full one is at most one more than each label
//! of its item's other buckets, when it is set and, since labels only grow, forever after; so no label exceeds the true
//! distance. A shortest way leads over full buckets only, fewer than there are items: an item whose buckets all have labels of
//! the number of items has no way to a free one, and never will (Berge). It is set aside.
//!
//! *It ends.* Each step puts an item aside or raises the label of a full bucket: `b` items take at most `b^2 + b` steps, and
//! far fewer where a code has slack ([`super::effort`]), whose labels end sooner. So many are made, nearly all of them idle, and
//! each looks at everything: neither time nor addresses depend on the items. What has no place after the last step has none.

use super::search_budget::SearchBudget;
use zeroize::Zeroizing;

/// No item, or no place.
pub const NONE: u16 = u16::MAX;

/// What became of the items.
#[derive(Debug)]
pub struct Matching {
    /// The item of each bucket, or [`NONE`].
    pub holders: Zeroizing<Vec<u16>>,
    /// Those that have no bucket, as many as were allowed for: the others' slots are [`NONE`].
    pub aside: Zeroizing<Vec<u16>>,
    /// How many were set aside, also beyond those that `aside` has room for.
    pub unplaced: u16,
}

/// All ones if two numbers are equal, zero if not. Not by a comparison: compilers make branches of masks that they see through.
pub(super) fn same(x: u16, y: u16) -> u16 {
    let d = x ^ y;
    ((d | d.wrapping_neg()) >> 15).wrapping_sub(1)
}

/// `x` under a mask of ones, `y` under one of zeros.
fn choose(mask: u16, x: u16, y: u16) -> u16 {
    x & mask | y & !mask
}

fn less(x: u16, y: u16) -> u16 {
    (u32::from(x).wrapping_sub(y.into()) >> 16) as u16
}

/// The entry at a secret place, or 0 if there is no such place. `numbers` are those of the entries: a list of them, since loops
/// over lists are made for whole registers.
fn read(list: &[u16], numbers: &[u16], place: u16) -> u16 {
    numbers.iter().zip(list).fold(0, |found, (i, entry)| found | entry & same(*i, place))
}

/// Where an entry is, or [`NONE`].
pub(super) fn find(list: &[u16], entry: u16) -> u16 {
    (0u16..).zip(list).fold(NONE, |found, (i, other)| choose(same(entry, *other), i, found))
}

/// Places as many items as can be. `wanted` has all ones for an item that is to be placed, and zero for another.
/// `choices[j * n + i]` is bucket `j` of item `i` of `n`; the same bucket may be there twice. Up to `room` of those that
/// have no place are named.
///
/// # Panics
/// If there are 2^15 items or buckets or more, or the choices are not some for each item.
pub fn assign(
    choices: &[u16],
    wanted: &[u16],
    buckets: usize,
    room: usize,
    effort: SearchBudget,
) -> Matching {
    let n = wanted.len();
    assert!(n < 1 << 15 && buckets < 1 << 15, "items and buckets below 2^15");
    assert_eq!(choices.len().checked_rem(n).unwrap_or(choices.len()), 0, "as many buckets for each item");
    let SearchBudget { limit, steps } = effort;
    let end = n as u16;
    let numbers: Vec<u16> = (0..n.max(buckets) as u16).collect();
    let copies = choices.len() / n.max(1);
    let mut labels = Zeroizing::new(vec![0; buckets]);
    let mut holders = Zeroizing::new(vec![NONE; buckets]);
    let mut aside = Zeroizing::new(vec![NONE; room]);
    let (mut own, mut heights) = (Zeroizing::new(vec![0; copies]), Zeroizing::new(vec![0; copies]));
    let (mut hand, mut next, mut unplaced) = (NONE, 0, 0);
    for _ in 0..steps {
        let idle = same(hand, NONE);
        hand = choose(idle, next, hand);
        next += idle & less(next, end) & 1;
        let active = read(wanted, &numbers, hand);

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
        // The lowest of the other buckets. One that is there twice is no other.
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
mod tests;
