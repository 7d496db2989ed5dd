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
mod tests;
