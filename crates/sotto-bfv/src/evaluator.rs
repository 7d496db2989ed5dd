//! The evaluator, by which a method computes: the ring, the layout and a client's keys, with the
//! steps that several methods share.

use crate::layout::Layout;
use crate::rings::Ring;
use rayon::prelude::*;
use sotto_lattice::bgv::expand::ExpansionRound;
use sotto_lattice::bgv::keyswitch::SwitchKey;
use sotto_lattice::bgv::keyswitch::lower;
use sotto_lattice::bgv::rotation_grid::{RotationGrid, Rotations};
use sotto_lattice::bgv::tensor::tensor;
use sotto_lattice::bgv::{Ciphertext, Pow2, RotationKey, Scratch};
use sotto_lattice::threads::{both, items_per_thread, worth_sharing};
use std::ops::Range;

/// The evaluation keys of a client, ready for key switching.
#[derive(Debug)]
pub struct EvaluationKeys {
    /// Rotation key, if the method rotates slots.
    pub rotation: Option<RotationKey<Pow2>>,
    /// Second rotation key, by several positions, if the method rotates a query with two.
    pub stride: Option<RotationKey<Pow2>>,
    /// Relinearization key, if the method multiplies ciphertexts.
    pub square: Option<SwitchKey>,
    /// Keys of the rounds of expansion.
    pub rounds: Vec<ExpansionRound>,
}

/// The ring, the layout and the keys that a method computes with.
#[derive(Debug, Clone, Copy)]
pub struct Evaluator<'a> {
    /// The ring.
    pub ring: &'a Ring,
    /// Positions of the records.
    pub layout: &'a Layout,
    /// Evaluation keys of the client.
    pub keys: &'a EvaluationKeys,
}

/// The selectors that a method makes of a query.
#[derive(Debug)]
pub struct SelectorSet {
    /// For each table one selector for each row, at the level that the table is multiplied at.
    pub tables: Vec<Vec<Ciphertext>>,
    /// Selectors of the second dimension, which the method needs after the pass.
    pub second_dimension: Vec<Ciphertext>,
}

/// Sums of some columns of each table, over rows times selectors.
#[derive(Debug)]
pub struct ColumnSums {
    /// Range of the columns.
    pub cols: Range<usize>,
    /// Sums of each table.
    pub tables: Vec<Vec<Ciphertext>>,
}

/// The number and shape of the ciphertexts that a method makes of some columns.
#[derive(Debug, Clone, Copy)]
pub struct PartialShape {
    /// Number of ciphertexts.
    pub ciphers: usize,
    /// Number of parts of each ciphertext.
    pub parts: usize,
    /// Number of primes of each ciphertext.
    pub primes: usize,
}

impl Evaluator<'_> {
    /// Allocates working memory.
    pub fn scratch(&self) -> Scratch {
        Scratch::new(self.ring)
    }

    /// Returns a ciphertext and its rotations, `count` in all.
    ///
    /// Without the rotation key, which every method with rotations requires, there are none.
    pub fn rotations(&self, first: Ciphertext, count: usize) -> Vec<Ciphertext> {
        let Some(rotation) = &self.keys.rotation else { return vec![first] };
        let rotations = Rotations { places: count, stride: self.layout.stride };
        let grid = RotationGrid { rns: self.ring, rotations, rotation, stride: self.keys.stride.as_ref() };
        let level = first.level();
        grid.all(first, &|| Ciphertext::unfilled(self.ring, level, 2))
    }

    /// Expands a ciphertext of coefficients: each of the first `count` coefficients to a ciphertext
    /// of its own. Threads of the current pool take branches of the tree.
    pub fn expand(&self, query: Ciphertext, count: usize) -> Vec<Ciphertext> {
        let mut leaves = self.branch([0, 0], query, count, &mut self.scratch());
        leaves.sort_unstable_by_key(|(index, _)| *index);
        leaves.into_iter().map(|(_, leaf)| leaf).collect()
    }

    /// Expands node `index` of a round, which stands for coefficients `index`, `index + 2^round`,
    /// `index + 2 2^round` and so on.
    fn branch(
        &self,
        [round, index]: [usize; 2],
        mut c: Ciphertext,
        count: usize,
        scratch: &mut Scratch,
    ) -> Vec<(usize, Ciphertext)> {
        let Some(key) = self.keys.rounds.get(round) else { return vec![(index, c)] };
        let (next, odd_index) = (round + 1, index + (1 << round));
        if odd_index >= count {
            key.fold(self.ring, &mut c, scratch);
            return self.branch([next, index], c, count, scratch);
        }
        let odd = key.split(self.ring, &mut c, scratch);
        let (mut leaves, others) = if worth_sharing(round, (count - index) >> round) {
            both(
                || self.branch([next, index], c, count, scratch),
                || self.branch([next, odd_index], odd, count, &mut self.scratch()),
            )
        } else {
            let leaves = self.branch([next, index], c, count, scratch);
            (leaves, self.branch([next, odd_index], odd, count, scratch))
        };
        leaves.extend(others);
        leaves
    }

    /// Sums products of ciphertexts, and relinearizes the sum.
    ///
    /// Without the relinearization key, which every method with products requires, the result is
    /// zero.
    pub fn product(&self, pairs: &[[&Ciphertext; 2]], scratch: &mut Scratch) -> Ciphertext {
        self.relinearized(&self.product_sum(pairs), scratch)
    }

    /// Sums products of ciphertexts, to a ciphertext of three parts. Threads of the current pool take
    /// ranges of the products.
    pub fn product_sum(&self, pairs: &[[&Ciphertext; 2]]) -> Ciphertext {
        let level = pairs.first().map_or(self.ring.top(), |[a, _]| a.level());
        let some = |pairs: &[[&Ciphertext; 2]]| {
            let mut product = Ciphertext::zero(self.ring, level, 3);
            tensor(self.ring, pairs, &mut product);
            vec![product]
        };
        let sums = pairs.par_chunks(items_per_thread(pairs.len())).map(some).collect();
        self.added(sums).pop().unwrap_or_else(|| Ciphertext::zero(self.ring, level, 3))
    }

    /// Relinearizes a product of three parts to two; zero without the key.
    pub fn relinearized(&self, product: &Ciphertext, scratch: &mut Scratch) -> Ciphertext {
        let mut out = Ciphertext::zero(self.ring, product.level(), 2);
        if let Some(square) = &self.keys.square {
            square.relinearize(self.ring, product, &mut out, scratch);
        }
        out
    }

    /// Adds ciphertexts of equal shape, position by position.
    pub fn added(&self, partials: Vec<Vec<Ciphertext>>) -> Vec<Ciphertext> {
        let mut partials = partials.into_iter();
        let mut sums = partials.next().unwrap_or_default();
        for partial in partials {
            sums.iter_mut().zip(&partial).for_each(|(sum, cipher)| sum.add(self.ring, cipher));
        }
        sums
    }

    /// Makes each product by itself, relinearized and left with `primes` primes.
    pub fn products(&self, pairs: &[[&Ciphertext; 2]], primes: usize) -> Vec<Ciphertext> {
        let product = |scratch: &mut Scratch, pair: &[&Ciphertext; 2]| {
            let product = self.product(std::slice::from_ref(pair), scratch);
            self.lowered(product, primes, scratch)
        };
        pairs.par_iter().map_init(|| self.scratch(), product).collect()
    }

    /// Switches all ciphertexts down to `primes` primes.
    pub fn all_lowered(&self, all: Vec<Ciphertext>, primes: usize) -> Vec<Ciphertext> {
        let lower = |scratch: &mut Scratch, c| self.lowered(c, primes, scratch);
        all.into_par_iter().map_init(|| self.scratch(), lower).collect()
    }

    /// Switches a ciphertext down to `primes` primes.
    pub fn lowered(&self, mut c: Ciphertext, primes: usize, scratch: &mut Scratch) -> Ciphertext {
        while let Some(below) = c.level().below().filter(|below| below.primes() >= primes) {
            let mut out = Ciphertext::zero(self.ring, below, 2);
            lower(self.ring, &c, &mut out, scratch);
            c = out;
        }
        c
    }
}
