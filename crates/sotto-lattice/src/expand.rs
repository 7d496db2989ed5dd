//! Expansion of one ciphertext of a polynomial to ciphertexts of its coefficients.
//!
//! Round `j` splits a ciphertext whose message has only powers of `X^(2^j)`. Under `tau` with
//! `k = n / 2^j + 1` its even powers (of `X^(2^j)`) stay and its odd ones change sign, so with
//! `t = tau(c)` the ciphertext `c + t` has twice the even ones, and `X^(-2^j) (c - t)` twice the
//! odd ones, moved to even positions (Angel, Chen, Laine, Setty, S&P 2018). Spiral and FSpiral
//! switch keys for both halves. One switch is enough, since `tau` negates `X^(-2^j)`: the odd half
//! of their algorithm, `X^(-2^j) c + tau(X^(-2^j) c)`, is exactly `X^(-2^j) (c - t)`, with the same
//! noise as `t`.
//!
//! A query carries two lists: coefficient `2i` is value `i` on the left, `2i + 1` is value `i` on
//! the right. Round 0 separates them, and two trees follow, of different depths and possibly with
//! keys of different gadgets. A node whose residue has no coefficient below it is never computed. A
//! query without right values is one tree over all coefficients.

use crate::automorphism::AutomorphismKey;
use crate::ciphertext::Ciphertext;
use crate::ring::{ModulusLevel, Ring};
use crate::scratch::Scratch;
use crate::threads::{both, worth_sharing};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The numbers of values that a query carries in its two lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SelectorCounts {
    /// Values in even coefficients, or in all if there are none on the right.
    pub left: usize,
    /// Values in odd coefficients.
    pub right: usize,
}

/// The value of a query that a ciphertext holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpandedLeaf {
    /// A value of the left list.
    Left(usize),
    /// A value of the right list.
    Right(usize),
}

/// The exponent `k` of the automorphism of one round.
pub fn element(n: usize, round: u32) -> usize {
    (n >> round) + 1
}

/// Expansion for one shape of query, with everything that depends on neither keys nor queries.
///
/// ```
/// use sotto_lattice::automorphism::AutomorphismKey;
/// use sotto_lattice::ciphertext::Ciphertext;
/// use sotto_lattice::encrypt::{ErrorSource, MaskSource, encrypt, mask, phase};
/// use sotto_lattice::expand::{Expansion, SelectorCounts, element};
/// use sotto_lattice::ring::{ModulusLevel, Ring};
/// use sotto_lattice::secret::{Distribution, SecretKey};
/// use sotto_math::{gadget::Gadget, modulus::Modulus, sample::Gaussian};
/// use sotto_prg::{PublicSeed, system_rng};
///
/// let q = Modulus::new(1_125_899_904_679_937).ok_or("not a prime")?;
/// let ring = Ring::new(64, q, None).ok_or("no such ring")?;
/// let (level, law, rng) = (ModulusLevel::Full, Gaussian::new(3.2), &mut system_rng()?);
/// let seed = PublicSeed::fresh(rng);
/// let secret = SecretKey::sample(&ring, Distribution::Ternary, rng);
///
/// // The client: a key for each round, and one ciphertext that selects the third of four.
/// let counts = SelectorCounts { left: 4, right: 0 };
/// let expansion = Expansion::new(&ring, counts).ok_or("too many")?;
/// let gadget = Gadget::new(5, 10, 0).ok_or("no such gadget")?;
/// let mut keys = Vec::new();
/// for round in expansion.left_rounds() {
///     let masks = MaskSource { seed: &seed, label: "keys", first: 5 * u64::from(round) };
///     let (k, errors) = (element(64, round), &mut ErrorSource { law: &law, rng });
///     let bodies = AutomorphismKey::generate(&ring, level, &gadget, k, &secret, masks, errors);
///     let key = AutomorphismKey::assemble(&ring, level, &gadget, k, &bodies, masks);
///     keys.push(key.ok_or("an even exponent")?);
/// }
/// let mut selector = vec![0; 64];
/// selector[2] = 1 << 40;
/// let message = ring.from_integers(level, &selector);
/// let a = mask(&ring, level, &seed, "query", 0);
/// let b = encrypt(&ring, level, &[&secret], &a, &[&message], &law, rng);
/// let query = Ciphertext::new(&ring, level, &a, b.iter().map(Vec::as_slice));
///
/// // The server: four ciphertexts, multiplied by 2 in each of the two rounds.
/// let (selectors, _) = expansion.run(&keys, &[], query, |_, leaf| leaf.clone());
/// for (i, leaf) in selectors.iter().enumerate() {
///     let value = phase(&ring, level, &secret, leaf.comp(0), leaf.comp(1))[0];
///     assert_eq!((value + (1 << 41)) >> 42, i128::from(i == 2));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Expansion {
    ring: Ring,
    counts: SelectorCounts,
    /// For each round `j`, the slots of `X^(-2^j)`.
    monomials: Vec<Vec<u64>>,
    /// Working memory of earlier runs. A thread's megabyte, fresh from the system, costs as much as
    /// ten splits.
    idle: Arc<Mutex<Vec<ThreadScratch>>>,
}

impl Expansion {
    /// Makes an expansion; `None` if there is no left value or the lists need more than `n`
    /// coefficients.
    pub fn new(ring: &Ring, counts: SelectorCounts) -> Option<Self> {
        let longer = counts.left.max(counts.right);
        let limit = if counts.right == 0 { ring.n() } else { ring.n() / 2 };
        if counts.left == 0 || longer > limit {
            return None;
        }
        let mut expansion =
            Expansion { ring: ring.clone(), counts, monomials: Vec::new(), idle: Arc::default() };
        let rounds = expansion.left_rounds().end.max(expansion.right_rounds().end);
        let monomial = |round: u32| {
            ring.plans(ModulusLevel::Full).flat_map(|plan| plan.monomial(-(1i64 << round))).collect()
        };
        expansion.monomials = (0..rounds).map(monomial).collect();
        Some(expansion)
    }

    /// The rounds that need a key for the left values, which are multiplied by 2 to the power of
    /// the range's end.
    pub fn left_rounds(&self) -> Range<u32> {
        let first = u32::from(self.counts.right > 0);
        first..first + depth(self.counts.left)
    }

    /// The rounds that need a key for the right values, which are multiplied by 2 to the power of
    /// the range's end.
    ///
    /// The first of them is round 0, which separates left from right and so serves both.
    pub fn right_rounds(&self) -> Range<u32> {
        if self.counts.right == 0 { 0..0 } else { 0..1 + depth(self.counts.right) }
    }

    /// Expands a query. `finish` receives every leaf once, and its results are returned in order.
    ///
    /// Keys are those of [`left_rounds`](Self::left_rounds) and
    /// [`right_rounds`](Self::right_rounds), in that order. With the feature `server`, subtrees run
    /// on the current rayon pool.
    ///
    /// # Panics
    /// If there is not one key of level `Full` for each round, or the query is not of rank 1 and
    /// level `Full`.
    pub fn run<T: Send>(
        &self,
        left: &[AutomorphismKey],
        right: &[AutomorphismKey],
        mut query: Ciphertext,
        finish: impl Fn(ExpandedLeaf, &mut Ciphertext) -> T + Sync,
    ) -> (Vec<T>, Vec<T>) {
        assert_eq!(left.len(), self.left_rounds().len(), "one key per round of the left tree");
        assert_eq!(right.len(), self.right_rounds().len(), "one key per round of the right tree");
        let finish_left = |i: usize, c: &mut Ciphertext| finish(ExpandedLeaf::Left(i), c);
        let finish_right = |i: usize, c: &mut Ciphertext| finish(ExpandedLeaf::Right(i), c);
        let left = self.tree(left, self.left_rounds().start, self.counts.left, &finish_left);
        let Some((first, rest)) = right.split_first() else {
            return (left.grow(query), Vec::new());
        };
        let right = self.tree(rest, 1, self.counts.right, &finish_right);
        let mut odd = Ciphertext::unfilled(&self.ring, ModulusLevel::Full, 1);
        self.with_work(|tools, _| self.split(0, first, &mut query, Some(&mut odd), tools));
        both(|| left.grow(query), || right.grow(odd))
    }

    /// Runs `f` with working memory for one thread, which has one ciphertext for each round.
    fn with_work<T>(&self, f: impl FnOnce(&mut SplitScratch, &mut [Ciphertext]) -> T) -> T {
        let found = self.idle().pop();
        let mut work = found.unwrap_or_else(|| ThreadScratch::new(&self.ring, self.monomials.len()));
        let out = f(&mut work.tools, &mut work.odds);
        self.idle().push(work);
        out
    }

    /// Locks the unused working memory. It has no state that a panic elsewhere could have left half
    /// changed.
    fn idle(&self) -> MutexGuard<'_, Vec<ThreadScratch>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tree<'a, F>(
        &'a self,
        keys: &'a [AutomorphismKey],
        round: u32,
        count: usize,
        finish: &'a F,
    ) -> ExpansionTree<'a, F> {
        ExpansionTree { expansion: self, keys, round, count, finish }
    }

    /// Splits `c` once. The even half stays in `c`; the odd one is omitted if it has no values.
    fn split(
        &self,
        round: u32,
        key: &AutomorphismKey,
        c: &mut Ciphertext,
        odd: Option<&mut Ciphertext>,
        tools: &mut SplitScratch,
    ) {
        let (ring, n) = (&self.ring, self.ring.n());
        key.apply(ring, c, &mut tools.image, &mut tools.scratch);
        let Some(odd) = odd else {
            return c.add(ring, &tools.image);
        };
        let monomial = &self.monomials[round as usize];
        for comp in 0..=1 {
            let c = c.comp_mut(comp).chunks_exact_mut(n);
            let image = tools.image.comp(comp).chunks_exact(n);
            let odd = odd.comp_mut(comp).chunks_exact_mut(n);
            let limbs = c.zip(image).zip(odd).zip(monomial.chunks_exact(n));
            for (plan, (((c, image), odd), monomial)) in ring.plans(ModulusLevel::Full).zip(limbs) {
                plan.split(c, image, monomial, odd);
            }
        }
    }
}

/// Working memory of one split.
#[derive(Debug)]
struct SplitScratch {
    scratch: Scratch,
    image: Ciphertext,
}

/// The working memory of one thread.
#[derive(Debug)]
struct ThreadScratch {
    tools: SplitScratch,
    /// Odd halves that wait for their turn, one for each round.
    odds: Vec<Ciphertext>,
}

impl ThreadScratch {
    fn new(ring: &Ring, rounds: usize) -> Self {
        let cipher = || Ciphertext::unfilled(ring, ModulusLevel::Full, 1);
        let tools = SplitScratch { scratch: Scratch::new(ring), image: cipher() };
        ThreadScratch { tools, odds: (0..rounds).map(|_| cipher()).collect() }
    }
}

/// The tree of one list: node `(j, rho)` has the values whose index is `rho` modulo `2^j`.
struct ExpansionTree<'a, F> {
    expansion: &'a Expansion,
    keys: &'a [AutomorphismKey],
    /// The round of the first key.
    round: u32,
    count: usize,
    finish: &'a F,
}

impl<F> ExpansionTree<'_, F> {
    fn grow<T: Send>(&self, mut root: Ciphertext) -> Vec<T>
    where
        F: Fn(usize, &mut Ciphertext) -> T + Sync,
    {
        let mut leaves = self.branch(0, 0, &mut root);
        leaves.sort_unstable_by_key(|(index, _)| *index);
        leaves.into_iter().map(|(_, leaf)| leaf).collect()
    }

    /// Computes all leaves of a node, with working memory of its own.
    fn branch<T: Send>(&self, j: usize, rho: usize, c: &mut Ciphertext) -> Vec<(usize, T)>
    where
        F: Fn(usize, &mut Ciphertext) -> T + Sync,
    {
        let mut leaves = Vec::new();
        self.expansion.with_work(|tools, odds| self.node(j, rho, c, odds, tools, &mut leaves));
        leaves
    }

    /// Computes all leaves of a node. `odds` has a ciphertext for each level below it: a node's
    /// even half replaces it, and its odd half waits there while the even one is finished.
    fn node<T: Send>(
        &self,
        j: usize,
        rho: usize,
        c: &mut Ciphertext,
        odds: &mut [Ciphertext],
        tools: &mut SplitScratch,
        leaves: &mut Vec<(usize, T)>,
    ) where
        F: Fn(usize, &mut Ciphertext) -> T + Sync,
    {
        let (Some(key), Some((odd, odds))) = (self.keys.get(j), odds.split_first_mut()) else {
            leaves.push((rho, (self.finish)(rho, c)));
            return;
        };
        let (round, odd_rho) = (self.round + j as u32, rho + (1 << j));
        if odd_rho >= self.count {
            self.expansion.split(round, key, c, None, tools);
            self.node(j + 1, rho, c, odds, tools, leaves);
            return;
        }
        self.expansion.split(round, key, c, Some(odd), tools);
        if worth_sharing(j, (self.count - rho) >> j) {
            let (_, shared) =
                both(|| self.node(j + 1, rho, c, odds, tools, leaves), || self.branch(j + 1, odd_rho, odd));
            leaves.extend(shared);
        } else {
            self.node(j + 1, rho, c, odds, tools, leaves);
            self.node(j + 1, odd_rho, odd, odds, tools, leaves);
        }
    }
}

/// Number of levels below a node of `count` leaves.
fn depth(count: usize) -> u32 {
    count.next_power_of_two().trailing_zeros()
}

#[cfg(test)]
mod tests;
