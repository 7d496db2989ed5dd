//! The possible numbers of nodes of each color (the paper's section on feasible color sequences).

use crate::shape::{PerfectTree, below};

/// The most nearly equal sizes of a coloring, in ascending order.
///
/// A color class is a complete prefix code over `q` symbols: every leaf lies under exactly one of its nodes. Such a
/// code has `1 + k(q - 1)` words, so sizes differ by at most `q - 1`: by one in a binary tree.
pub fn balanced(shape: PerfectTree) -> Vec<u64> {
    let (q, h) = (shape.arity(), shape.height() as u64);
    // In units of q - 1 words beyond the first.
    let units = (shape.nodes() - h) / (q - 1);
    let larger = units % h;
    (0..h).map(|i| 1 + (q - 1) * (units / h + u64::from(i >= h - larger))).collect()
}

/// Whether sizes in ascending order can be those of a coloring: conditions (C1) and (C2) of the
/// paper, and that each is the size of a complete prefix code. For binary trees that is sufficient
/// (the paper's Theorem 2).
pub fn feasible(arity: u64, sizes: &[u64]) -> bool {
    let mut sum = 0u64;
    let layers = sizes.iter().enumerate().all(|(i, size)| {
        sum = sum.saturating_add(*size);
        sum >= below(arity, i + 1) && size % (arity - 1).max(1) == 1 % (arity - 1).max(1)
    });
    layers && sizes.is_sorted() && sum == below(arity, sizes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(arity: u16, height: u8) -> Vec<u64> {
        balanced(PerfectTree::new(arity, height).unwrap())
    }

    #[test]
    fn balanced_sizes_are_the_published_ones() {
        assert_eq!(of(256, 2), [32_896; 2]);
        assert_eq!(of(256, 3), [5_614_336; 3]);
        assert_eq!(of(16, 6), [2_982_616; 6]);
        assert_eq!(of(128, 3), [704_470, 704_597, 704_597]);
        let binary = of(2, 24);
        assert_eq!(binary.iter().filter(|size| **size == 1_398_101).count(), 18);
        assert_eq!(binary.iter().filter(|size| **size == 1_398_102).count(), 6);
    }

    #[test]
    fn balanced_sizes_are_feasible() {
        for (arity, most) in [(2, 40), (3, 25), (4, 20), (5, 17), (16, 10), (128, 5), (256, 5)] {
            for height in 1..=most {
                let sizes = of(arity, height);
                assert!(feasible(arity.into(), &sizes), "q = {arity}, h = {height}: {sizes:?}");
                assert!(sizes[sizes.len() - 1] - sizes[0] < u64::from(arity));
            }
        }
    }

    #[test]
    fn what_no_coloring_has_is_not_feasible() {
        assert!(feasible(2, &[2, 4, 8]) && feasible(2, &[4, 5, 5]));
        assert!(!feasible(2, &[2, 3, 9]), "(C1)");
        assert!(!feasible(2, &[5, 5, 5]) && !feasible(2, &[4, 5]), "(C2)");
        assert!(!feasible(3, &[4, 8]), "not the size of a ternary code");
        assert!(!feasible(2, &[5, 4, 5]), "not in order");
    }
}
