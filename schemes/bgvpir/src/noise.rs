//! The noise of a lookup, step by step, as bounds on variances (`sotto_lattice::bgv::noise`).
//!
//! A figure is the variance proxy of a coefficient of the error, in units of the last place of the
//! modulus that the ciphertext has at that step.

use crate::folding_tree::{FoldingTree, Side};
use crate::literal::ParamsLiteral;
use crate::rings::{Ring, SIGMA, on_ring};
use sotto_core::ParamsError;
use sotto_lattice::bgv::noise::Noise as Steps;
use sotto_lattice::bgv::{AnswerBits, Level, RnsRing, SlotRing};

/// log2 of the probability that a polynomial's norm exceeds its bound. A lookup has fewer than 2^24 polynomials.
const NORM_LOG2: f64 = -90.0;

/// log2 of the part of a lookup's failure probability that all norm bounds take together.
const NORMS_LOG2: f64 = NORM_LOG2 + 24.0;

/// Variances after each step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Variance after the last rotation of the query.
    pub rotated: f64,
    /// Variances of the entries of u, and of v, at the level of the table.
    pub unfolded: [f64; 2],
    /// Variance of the sums over b of `v[b] X[a, b]`.
    pub first: f64,
    /// Variance of the products `u[a] v[b]`, before the paper's order multiplies them by rows.
    pub raw: f64,
    /// Bounds on the variance of the whole sum before relinearization, for each
    /// [`ProductOrder`](crate::layout::ProductOrder). Both bound the same sum.
    pub sums: [f64; 2],
    /// Variance of the answer modulo the last prime.
    pub answer: f64,
    /// Bounds on the contributions of adversarial rows to the sum, and to the answer: see
    /// [`sotto_lattice::bgv::noise`].
    pub chosen: [f64; 2],
    /// log2 of the probability that noise passes half a step of the message in unfolding, or at the table's level.
    inner_log2: f64,
}

/// An entry of a vector that is being unfolded: its variance, and how many primes are left.
#[derive(Clone, Copy)]
struct VectorEntry {
    variance: f64,
    level: Level,
}

/// The noise steps of one ring, and the level to which ciphertexts are lowered.
struct NoiseModel<'a, R: SlotRing> {
    rns: &'a RnsRing<R>,
    steps: Steps,
    scan: Level,
}

impl<R: SlotRing> NoiseModel<'_, R> {
    fn lower_to(&self, mut entry: VectorEntry, primes: usize) -> VectorEntry {
        while let Some(below) = entry.level.below().filter(|below| below.primes() >= primes) {
            entry = VectorEntry { variance: self.steps.lowered(entry.variance, entry.level), level: below };
        }
        entry
    }

    /// The variance of a side of the tree, as the server unfolds it; `inner_log2` keeps the worst
    /// failure probability of its nodes.
    fn side(
        &self,
        literal: &ParamsLiteral,
        tree: &FoldingTree,
        side: Side,
        leaf: VectorEntry,
        inner_log2: &mut f64,
    ) -> VectorEntry {
        tree.walk(side, &|_| leaf, &mut |left: VectorEntry, right: VectorEntry, node| {
            let primes = left.level.primes().min(right.level.primes());
            let [a, b] = [left, right].map(|entry| self.lower_to(entry, primes));
            let level = a.level;
            let variance = self.steps.tensor(a.variance, b.variance, 1.0) + self.steps.key_switch(level);
            let wrong = self.steps.failure_log2(variance, 0.0, level) + (node.length as f64).log2();
            *inner_log2 = inner_log2.max(wrong);
            self.lower_to(VectorEntry { variance, level }, literal.left_with(primes, node.depth))
        })
    }

    fn run(&self, literal: &ParamsLiteral, tree: &FoldingTree) -> Noise {
        let (steps, top) = (&self.steps, self.rns.top());
        let depth = literal.rotations(tree).depth() as u32;
        let rotated = steps.rotated(steps.fresh(), depth, top);
        let leaf = VectorEntry { variance: rotated, level: top };
        let primes = self.scan.primes();
        let mut unfolding_log2 = f64::NEG_INFINITY;
        let [u, v] = [Side::Left, Side::Right].map(|side| {
            self.lower_to(self.side(literal, tree, side, leaf, &mut unfolding_log2), primes).variance
        });
        let [us, vs] = [Side::Left, Side::Right].map(|side| tree.length(side) as f64);
        let first = steps.rows(v, vs);
        let raw = steps.tensor(u, v, 1.0);
        let sums = [steps.tensor(u, first, us), steps.rows(raw, us * vs)];
        // Nothing is rounded before the sum is complete, so both orders have the same error, and
        // either bound holds for it.
        let sum = sums[0] + steps.key_switch(self.scan);
        let answer = self.lower_to(VectorEntry { variance: sum, level: self.scan }, 1).variance;
        // Up to `written` rows may have been written by someone who knew the mask, in any sums over
        // b.
        let row = steps.chosen_rows(v, 1.0, NORM_LOG2);
        let written = steps.chosen_tensor(u, row, f64::from(literal.written), NORM_LOG2);
        let inner_log2 = steps.failure_log2(sum, written, self.scan).max(unfolding_log2);
        let (mut left, mut level) = (written, self.scan);
        while let Some(below) = level.below() {
            (left, level) = (steps.chosen_lowered(left, level), below);
        }
        let chosen = [written, left];
        Noise { rotated, unfolded: [u, v], first, raw, sums, answer, chosen, inner_log2 }
    }
}

fn steps(ring: &Ring) -> Steps {
    on_ring!(ring, rns => Steps::bound(rns, SIGMA, NORM_LOG2))
}

impl Noise {
    /// The noise of a lookup in a table with this literal. The ring has as many primes as the
    /// literal states.
    pub fn of(literal: &ParamsLiteral, ring: &Ring, tree: &FoldingTree) -> Self {
        on_ring!(ring, rns => {
            let scan = rns.level(literal.scan_primes.into()).unwrap_or(rns.top());
            NoiseModel { rns, steps: steps(ring), scan }.run(literal, tree)
        })
    }

    /// log2 of the probability that any coefficient of a record is read wrongly.
    pub fn failure_log2(&self, literal: &ParamsLiteral, ring: &Ring, bits: AnswerBits) -> f64 {
        let steps = steps(ring);
        let answer = steps.answer_failure_log2(steps.answer(self.answer, bits), self.chosen[1], bits);
        let layers = f64::from(literal.layers).log2();
        let worst = (answer + layers).max(self.inner_log2 + layers).max(NORMS_LOG2);
        // The sum of three is at most three times the largest. NaN becomes certain failure.
        (worst + 3f64.log2()).min(0.0)
    }
}

/// The error for parameters without margin.
pub(crate) fn unreliable(log2: f64) -> ParamsError {
    ParamsError::Unreliable { log2, required: sotto_core::params::REQUIRED_FAILURE_LOG2 }
}
