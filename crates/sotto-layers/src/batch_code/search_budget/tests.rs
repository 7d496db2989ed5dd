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
    assert!(tried > 10_000 && least > 1000, "{tried} graphs, {least} of them with fewer steps than usual");
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
