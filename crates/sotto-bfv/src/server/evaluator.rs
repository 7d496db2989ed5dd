//! What a method works with: the ring, the layout and a client's keys; and the steps that several methods take.

use super::session::EvaluationKeys;
use crate::layout::Layout;
use crate::rings::Ring;
use rayon::prelude::*;
use sotto_lattice::bgv::mod_down::lower;
use sotto_lattice::bgv::tensor::tensor;
use sotto_lattice::bgv::{Ciphertext, Scratch};
use std::ops::Range;

/// What a method works with.
#[derive(Debug, Clone, Copy)]
pub struct Evaluator<'a> {
    /// The ring.
    pub ring: &'a Ring,
    /// Where records lie.
    pub layout: &'a Layout,
    /// The client's keys.
    pub keys: &'a EvaluationKeys,
}

/// What a query was made into.
#[derive(Debug)]
pub struct SelectorSet {
    /// For each table as many selectors as it has rows, at the level that it is multiplied at.
    pub tables: Vec<Vec<Ciphertext>>,
    /// What is kept for the end.
    pub kept: Vec<Ciphertext>,
}

/// Some columns of each table, in which every selector was multiplied.
#[derive(Debug)]
pub struct ColumnSums {
    /// Which ones.
    pub which: Range<usize>,
    /// Of each table the sums.
    pub tables: Vec<Vec<Ciphertext>>,
}

/// The shape of what is made of them.
#[derive(Debug, Clone, Copy)]
pub struct PartialShape {
    /// How many ciphertexts.
    pub ciphers: usize,
    /// Parts of each.
    pub parts: usize,
    /// Primes of each.
    pub primes: usize,
}

impl Evaluator<'_> {
    /// Working memory.
    pub fn scratch(&self) -> Scratch {
        Scratch::new(self.ring)
    }

    /// A ciphertext and its turns, each from the one before: so many in all.
    pub fn turns(&self, first: Ciphertext, count: usize) -> Vec<Ciphertext> {
        let (mut scratch, mut out) = (self.scratch(), Vec::with_capacity(count));
        out.push(first);
        while out.len() < count
            && let (Some(turn), Some(last)) = (&self.keys.turn, out.last())
        {
            let mut next = Ciphertext::zero(self.ring, last.level(), 2);
            turn.apply(self.ring, last, &mut next, &mut scratch);
            out.push(next);
        }
        out
    }

    /// Expands a ciphertext of coefficients: the first so many, each in a ciphertext of its own.
    pub fn expand(&self, query: Ciphertext, count: usize) -> Vec<Ciphertext> {
        let mut leaves = vec![query];
        for round in &self.keys.rounds {
            let wanted = count.saturating_sub(leaves.len()).min(leaves.len());
            let split = |scratch: &mut Scratch, (i, c): (usize, &mut Ciphertext)| {
                if i < wanted {
                    return Some(round.split(self.ring, c, scratch));
                }
                round.fold(self.ring, c, scratch);
                None
            };
            let odd: Vec<Ciphertext> =
                leaves.par_iter_mut().enumerate().map_init(|| self.scratch(), split).flatten().collect();
            leaves.extend(odd);
        }
        leaves.truncate(count);
        leaves
    }

    /// The sum of products of ciphertexts, relinearized.
    ///
    /// Without the key, which every method that multiplies asks for, it is zero.
    pub fn product(&self, pairs: &[[&Ciphertext; 2]], scratch: &mut Scratch) -> Ciphertext {
        self.relinearized(&self.product_sum(pairs), scratch)
    }

    /// The sum of products of ciphertexts, of three parts.
    pub fn product_sum(&self, pairs: &[[&Ciphertext; 2]]) -> Ciphertext {
        let level = pairs.first().map_or(self.ring.top(), |[a, _]| a.level());
        let mut product = Ciphertext::zero(self.ring, level, 3);
        if !pairs.is_empty() {
            tensor(self.ring, pairs, &mut product);
        }
        product
    }

    /// Such a sum, of two parts again; zero without the key.
    pub fn relinearized(&self, product: &Ciphertext, scratch: &mut Scratch) -> Ciphertext {
        let mut out = Ciphertext::zero(self.ring, product.level(), 2);
        if let Some(square) = &self.keys.square {
            square.relinearize(self.ring, product, &mut out, scratch);
        }
        out
    }

    /// Sums of ciphertexts of equal shape, place by place.
    pub fn added(&self, shares: Vec<Vec<Ciphertext>>) -> Vec<Ciphertext> {
        let mut shares = shares.into_iter();
        let mut sums = shares.next().unwrap_or_default();
        for share in shares {
            sums.iter_mut().zip(&share).for_each(|(sum, cipher)| sum.add(self.ring, cipher));
        }
        sums
    }

    /// Each product by itself, relinearized and left with so many primes.
    pub fn products(&self, pairs: &[[&Ciphertext; 2]], primes: usize) -> Vec<Ciphertext> {
        let product = |scratch: &mut Scratch, pair: &[&Ciphertext; 2]| {
            let product = self.product(std::slice::from_ref(pair), scratch);
            self.lowered(product, primes, scratch)
        };
        pairs.par_iter().map_init(|| self.scratch(), product).collect()
    }

    /// Ciphertexts left with so many primes.
    pub fn all_lowered(&self, all: Vec<Ciphertext>, primes: usize) -> Vec<Ciphertext> {
        let lower = |scratch: &mut Scratch, c| self.lowered(c, primes, scratch);
        all.into_par_iter().map_init(|| self.scratch(), lower).collect()
    }

    /// A ciphertext left with so many primes.
    pub fn lowered(&self, mut c: Ciphertext, primes: usize, scratch: &mut Scratch) -> Ciphertext {
        while let Some(below) = c.level().below().filter(|below| below.primes() >= primes) {
            let mut out = Ciphertext::zero(self.ring, below, 2);
            lower(self.ring, &c, &mut out, scratch);
            c = out;
        }
        c
    }
}
