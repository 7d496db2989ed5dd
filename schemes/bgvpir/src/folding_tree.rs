//! Folding and unfolding: a row's number as a few short one-hot vectors, and back (Dong and Chen, Algorithms 1 and 3).
//!
//! A row `alpha` of `n'` is written in a mixed radix. Each digit is one leaf of the tree, a one-hot
//! vector as long as the digit has values, and the leaves one after the other are the *folded*
//! vector `s` that a query encrypts. The product of all leaves, entry by entry, is the one-hot
//! vector of `alpha` among all rows. A server stops at the root's two children (*delayed
//! unfolding*): `u`, the product of the left leaves, and `v`, that of the right.
//!
//! The paper halves the exponent of `n' = 2^z` at each node and stops at leaves of two, or where it
//! prunes: [`FoldingTree::halving`]. Any lengths work, and lengths whose product is hardly more
//! than the number of rows are shorter: 65 and 64 instead of 128 and 64 for the 4,098 rows of 2^25
//! bits.

use sotto_core::ExpectOrDefault;
use sotto_math::modulus::divide;

/// Maximum leaves on one side of the root: four levels of products.
pub const MAX_LEAVES: usize = 16;

/// Maximum number of values of a digit: slots of a cycle of the larger ring.
pub const MAX_LENGTH: u32 = 4096;

/// The leaves of a tree, left to right, on each side of its root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoldingTree {
    left: Vec<u32>,
    right: Vec<u32>,
}

/// One side of the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The left side, `u`: the more significant digits.
    Left,
    /// The right side, `v`: the less significant digits.
    Right,
}

/// An inner node below the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// Entries of the node's vector, each a product.
    pub length: u64,
    /// Levels of products from the node's deepest leaf up to it.
    pub depth: u32,
}

/// Levels of products that make one vector of `leaves` leaves.
pub fn depth(leaves: usize) -> u32 {
    leaves.next_power_of_two().trailing_zeros()
}

impl FoldingTree {
    /// A tree with leaves of these lengths, or `None` if a side has none or too many, a length is not in
    /// `1..=MAX_LENGTH`, or the product of a side's lengths is above 2^24.
    pub fn new(left: &[u32], right: &[u32]) -> Option<Self> {
        let fits = |side: &[u32]| {
            let lengths = side.iter().all(|length| (1..=MAX_LENGTH).contains(length));
            let product = side.iter().try_fold(1u64, |all, length| all.checked_mul((*length).into()));
            (1..=MAX_LEAVES).contains(&side.len()) && lengths && product.is_some_and(|all| all <= 1 << 24)
        };
        (fits(left) && fits(right)).then(|| FoldingTree { left: left.to_vec(), right: right.to_vec() })
    }

    /// The paper's tree for `2^z` rows, cut `levels` below the root; with more levels than the tree
    /// has, unpruned.
    ///
    /// `None` if a leaf would be too long, or there would be too many leaves.
    pub fn halving(z: u32, levels: u32) -> Option<Self> {
        fn leaves(z: u32, levels: u32, out: &mut Vec<u32>) -> Option<()> {
            if z <= 1 || levels == 0 {
                out.push(1u32.checked_shl(z)?);
                return Some(());
            }
            leaves(z.div_ceil(2), levels - 1, out)?;
            leaves(z / 2, levels - 1, out)
        }
        let (mut left, mut right) = (Vec::new(), Vec::new());
        leaves(z.div_ceil(2), levels.saturating_sub(1), &mut left)?;
        leaves(z / 2, levels.saturating_sub(1), &mut right)?;
        FoldingTree::new(&left, &right)
    }

    /// The tree with one more leaf, of one entry, at the end of the right side: a *guard* (design
    /// notes, section 1.9).
    ///
    /// For slots that read their own leaves, a leaf of one entry changes nothing. It serves the
    /// slots of other records: see [`selects_nothing_else`](Self::selects_nothing_else). `None` if
    /// there would be too many leaves.
    pub fn guarded(&self) -> Option<Self> {
        let mut right = self.right.clone();
        right.push(1);
        FoldingTree::new(&self.left, &right)
    }

    /// Slots of a period that a guarded tree takes: its leaves, and after the guard twice the
    /// longest leaf minus one, which are zero.
    pub fn guarded_slots(&self) -> usize {
        let longest = self.left.iter().chain(&self.right).max().copied().unwrap_or(1);
        self.folded() + 2 * longest as usize - 1
    }

    /// Whether a query that repeats after `period` slots selects a row only in the slots of its
    /// record.
    ///
    /// That is so if the last leaf is a guard and [`guarded_slots`](Self::guarded_slots) fit.
    /// *Proof.* Say there are `k` leaves of at most `m` entries, in the slots up to `S`, and the
    /// guard in slot `S`; of a period `p` the last `p - S - 1` are zero. Slots `j` places further
    /// read the same windows `j` slots further. If they select a row, each of those `k + 1` windows
    /// holds a one. The windows have no slot in common, and there are `k + 1` ones, so each holds
    /// one of them, in the order around the period: window `i` holds one number `i + c`, modulo
    /// `k + 1`, for some `c`. `c = 0` would leave the guard's window, of one slot, where it is.
    /// Otherwise leaf window `k - c` holds the guard's one, and the next window holds that of the
    /// first leaf. These ones have the `p - S - 1` zeroes between them. If the next window is the
    /// guard's, or a leaf's, there are at most `m - 1`, or `2 m - 2`, slots between two ones in
    /// them. So `p - S - 1` is less than `2 m - 1`.
    pub fn selects_nothing_else(&self, period: usize) -> bool {
        self.right.len() > 1 && self.right.last() == Some(&1) && period >= self.guarded_slots()
    }

    /// The lengths of a side's leaves.
    pub fn leaves(&self, side: Side) -> &[u32] {
        match side {
            Side::Left => &self.left,
            Side::Right => &self.right,
        }
    }

    /// The length of `u` or of `v`.
    pub fn length(&self, side: Side) -> u64 {
        product(self.leaves(side))
    }

    /// Number of rows that the tree can address, n'.
    pub fn rows(&self) -> u64 {
        self.length(Side::Left) * self.length(Side::Right)
    }

    /// The length S of the folded vector.
    pub fn folded(&self) -> usize {
        self.left.iter().chain(&self.right).map(|length| *length as usize).sum()
    }

    /// The position of a side's first leaf in the folded vector.
    pub fn start(&self, side: Side) -> usize {
        match side {
            Side::Left => 0,
            Side::Right => self.left.iter().map(|length| *length as usize).sum(),
        }
    }

    /// Levels of products on a side: each level multiplies two ciphertexts that were products
    /// themselves.
    pub fn depth(&self, side: Side) -> u32 {
        depth(self.leaves(side).len())
    }

    /// Products of ciphertexts that make a side out of its leaves.
    pub fn products(&self, side: Side) -> u64 {
        self.walk(side, &|_| 0, &mut |left, right, node| left + right + node.length)
    }

    /// Walks from the leaves of a side to its root, in the order of [`unfold`](Self::unfold):
    /// `leaf` gets the length of a leaf, `join` the results of both halves of a node.
    pub fn walk<T>(&self, side: Side, leaf: &dyn Fn(u32) -> T, join: &mut dyn FnMut(T, T, Node) -> T) -> T {
        fn inner<T>(leaves: &[u32], leaf: &dyn Fn(u32) -> T, join: &mut dyn FnMut(T, T, Node) -> T) -> T {
            if let [length] = leaves {
                return leaf(*length);
            }
            let (left, right) = leaves.split_at(leaves.len().div_ceil(2));
            let (left, right) = (inner(left, leaf, join), inner(right, leaf, join));
            join(left, right, Node { length: product(leaves), depth: depth(leaves.len()) })
        }
        inner(self.leaves(side), leaf, join)
    }

    /// Fold: the positions of the ones of row `alpha` in the folded vector, one in each leaf.
    ///
    /// The time does not depend on `alpha`, which is below [`rows`](Self::rows).
    pub fn fold(&self, alpha: u64) -> Vec<u64> {
        let lengths: Vec<u32> = self.left.iter().chain(&self.right).copied().collect();
        let mut ones = vec![0; lengths.len()];
        let (mut rest, mut end) = (alpha, self.folded() as u64);
        for (one, length) in ones.iter_mut().zip(&lengths).rev() {
            let (quotient, digit) = divide(rest, (*length).into());
            rest = quotient;
            end -= u64::from(*length);
            *one = end + digit;
        }
        ones
    }

    /// Unfold: a side's vector from its leaves, by products of pairs,
    /// `q[a d + b] = left[a] right[b]`.
    ///
    /// # Errors
    /// The first error of a product.
    pub fn unfold<T, E>(
        leaves: Vec<Vec<T>>,
        multiply: &mut dyn FnMut(&T, &T) -> Result<T, E>,
    ) -> Result<Vec<T>, E> {
        let count = leaves.len();
        let mut left = leaves;
        let right = left.split_off(count.div_ceil(2));
        if right.is_empty() {
            return Ok(left.pop().expect_or_default("a side has a leaf"));
        }
        let (left, right) = (Self::unfold(left, multiply)?, Self::unfold(right, multiply)?);
        let mut out = Vec::with_capacity(left.len() * right.len());
        for x in &left {
            for y in &right {
                out.push(multiply(x, y)?);
            }
        }
        Ok(out)
    }
}

fn product(lengths: &[u32]) -> u64 {
    lengths.iter().map(|length| u64::from(*length)).product()
}

#[cfg(test)]
mod tests;
