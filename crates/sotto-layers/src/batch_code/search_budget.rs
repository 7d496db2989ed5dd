//! The number of steps of a matching search, and what it requires of a code.
//!
//! A search that ends for all items takes `b^2 + b` steps, each of which reads everything: too long
//! for thousands of items. Codes for so many have *slack* instead: any `k` of a request's items
//! have copies in at least `k + slack(k)` buckets, except for one request in 2^40. Then no item is
//! far from a free bucket, and few steps are always enough.
//!
//! *Why.* Call a bucket's distance the number of moves from it to a free one, and let `S_i` be the
//! buckets at a distance over `i`. The items that are held in `S_i` have all their copies in
//! `S_(i-1)`, so `|S_i| + slack(|S_i|) <= |S_(i-1)|`, and `|S_0| <= b`. Let `D` be the first `i`
//! for which that leaves no more buckets than the few, `m`, that need no slack. From there on there
//! is a bucket at every distance up to the largest, so the largest is at most `D + m`, at any
//! moment of the search: an item whose buckets have higher labels has no path at all, and then `k`
//! items are in fewer than `k` buckets. In the end no label is higher than its bucket's distance,
//! nor than the limit `D + m + 1`, and each step has raised one label by one or more: so there were
//! at most `|S_0| + ... + |S_(D + m)|` steps, plus one for each item that was not placed.

/// Maximum number of items of a request whose search is exhaustive.
pub const THOROUGH: usize = 256;

/// The steps of a matching search, and the limit of its labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchBudget {
    /// The label of buckets without a path to a free one.
    pub limit: u16,
    /// Number of steps.
    pub steps: usize,
}

impl SearchBudget {
    /// The budget of a code for `items` items.
    pub fn of(items: usize) -> Self {
        if items <= THOROUGH {
            SearchBudget::thorough(items)
        } else {
            SearchBudget::with(items, |k| slack(items, k))
        }
    }

    /// A budget that is enough for any items and buckets.
    pub fn thorough(items: usize) -> Self {
        SearchBudget { limit: label(items), steps: items * items + items }
    }

    /// A budget that is enough where any `k` items have copies in `k + slack(k)` buckets.
    pub(super) fn with(items: usize, slack: impl Fn(usize) -> usize) -> Self {
        let few = (0..=items).rev().find(|k| slack(*k) == 0).unwrap_or(0);
        let (mut left, mut depth, mut steps) = (items, 0, items);
        while left > few {
            steps += left;
            depth += 1;
            left = (0..left).rev().find(|k| k + slack(*k) <= left).unwrap_or(0);
        }
        steps += left * (few + 1);
        SearchBudget { limit: label(depth + few + 1), steps }
    }
}

/// Buckets beyond `k` in which any `k` of `items` items have copies: about as many as a code
/// provides anyway that serves all requests but one in 2^40. A code is least likely to have them
/// where `k` is some five sixths of the items.
pub fn slack(items: usize, k: usize) -> usize {
    match k {
        _ if items <= THOROUGH => 0,
        k if k <= items / 4 => k / 4,
        k if k <= items / 2 => k / 8,
        k => k / 32,
    }
}

fn label(steps: usize) -> u16 {
    u16::try_from(steps).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::matching::{NONE, assign};
    use super::{SearchBudget, THOROUGH, slack};
    use rand_chacha::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};
    use std::collections::BTreeSet;

    /// Whether any `k` items have copies in `k + slack(k)` buckets, by checking all sets of items.
    fn holds(choices: &[u16], n: usize, slack: impl Fn(usize) -> usize) -> bool {
        (1u32..1 << n).all(|set| {
            let of = |list: &[u16]| -> Vec<u16> {
                list.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1).map(|(_, v)| *v).collect()
            };
            let reached: BTreeSet<u16> = choices.chunks_exact(n).flat_map(of).collect();
            let k = set.count_ones() as usize;
            reached.len() >= k + slack(k)
        })
    }

    /// Where a code has its slack, the steps of its budget place everything: on graphs that barely have
    /// it.
    #[test]
    fn slack_makes_few_steps_enough() {
        let rng = &mut ChaCha20Rng::from_seed([4; 32]);
        let (mut tried, mut least) = (0, 0);
        for (part, buckets) in [(2, 6), (3, 5), (3, 6), (4, 5), (4, 6), (5, 5)] {
            let slack = |k: usize| k / part;
            for _ in 0..30_000 {
                let n = 2 + (rng.next_u32() % 8) as usize;
                let copies = 2;
                let choices: Vec<u16> = (0..n * copies)
                    .map(|at| (at / n * buckets) as u16 + (rng.next_u32() % buckets as u32) as u16)
                    .collect();
                if !holds(&choices, n, slack) {
                    continue;
                }
                tried += 1;
                let effort = SearchBudget::with(n, slack);
                least += usize::from(effort.steps < SearchBudget::thorough(n).steps);
                let placed = assign(&choices, &vec![!0; n], copies * buckets, 0, effort);
                let held = placed.holders.iter().filter(|holder| **holder != NONE).count();
                assert_eq!((held, placed.unplaced), (n, 0), "{choices:?}, {effort:?}");
            }
        }
        assert!(
            tried > 10_000 && least > 1000,
            "{tried} graphs, {least} of them with fewer steps than usual"
        );
    }

    /// A search that is cut short leaves items without a bucket, and never two in one.
    #[test]
    fn what_has_no_place_after_the_last_step_has_none() {
        // Item i may go to i or i + 1, and the last one, which may only go to the first, moves all
        // others on.
        let n = 20u16;
        let choices: Vec<u16> = (0..n - 1).chain([0]).chain(1..n).chain([0]).collect();
        for steps in 0..=SearchBudget::thorough(20).steps {
            let effort = SearchBudget { steps, ..SearchBudget::thorough(20) };
            let placed = assign(&choices, &[!0; 20], 20, 0, effort);
            let held: Vec<u16> = placed.holders.iter().copied().filter(|holder| *holder != NONE).collect();
            let different: BTreeSet<u16> = held.iter().copied().collect();
            assert!(different.len() == held.len() && held.len() >= steps.min(19) && placed.unplaced == 0);
            assert!(held.len() == 20 || steps < 40, "{steps}");
        }
    }

    /// The sizes that can remain, one after the other, are those that the formula for the steps sums.
    #[test]
    fn steps_are_those_of_the_longest_way_down() {
        let quarter = |k: usize| k / 4;
        // 8 items with their slack of 2 are 10, 7 and 1 are 8, and so on; 3 need no slack.
        let sizes = [10, 8, 7, 6, 5, 4];
        let effort = SearchBudget::with(10, quarter);
        assert_eq!(usize::from(effort.limit), sizes.len() + 3 + 1);
        assert_eq!(effort.steps, 10 + sizes.iter().sum::<usize>() + 3 * 4);
        assert_eq!(SearchBudget::of(THOROUGH), SearchBudget { limit: 256, steps: 256 * 257 });
        for items in [THOROUGH + 1, 1000, 2000, 4096] {
            let SearchBudget { limit, steps } = SearchBudget::of(items);
            assert!(steps <= 23 * items && limit < 60, "{items}: {limit}, {steps}");
            assert!((1..=items).all(|k| slack(items, k) <= k / 4 && (k < 4 || slack(items, k) > 0)));
        }
    }
}
