//! What a method works with: the ring, the layout and a client's keys; and the steps that several methods take.

use super::session::Session;
use crate::layout::Layout;
use crate::rings::Ring;
use rayon::prelude::*;
use sotto_lattice::bgv::lower::lower;
use sotto_lattice::bgv::tensor::tensor;
use sotto_lattice::bgv::{Cipher, Scratch};
use std::ops::Range;

/// What a method works with.
#[derive(Debug, Clone, Copy)]
pub struct Desk<'a> {
    /// The ring.
    pub ring: &'a Ring,
    /// Where records lie.
    pub layout: &'a Layout,
    /// The client's keys.
    pub keys: &'a Session,
}

/// What a query was made into.
#[derive(Debug)]
pub struct Selected {
    /// For each table as many selectors as it has rows, at the level that it is multiplied at.
    pub tables: Vec<Vec<Cipher>>,
    /// What is kept for the end.
    pub kept: Vec<Cipher>,
}

/// Some columns of each table, in which every selector was multiplied.
#[derive(Debug)]
pub struct Columns {
    /// Which ones.
    pub which: Range<usize>,
    /// Of each table the sums.
    pub tables: Vec<Vec<Cipher>>,
}

/// The shape of what is made of them.
#[derive(Debug, Clone, Copy)]
pub struct Shared {
    /// How many ciphertexts.
    pub ciphers: usize,
    /// Parts of each.
    pub parts: usize,
    /// Primes of each.
    pub primes: usize,
}

impl Desk<'_> {
    /// Working memory.
    pub fn scratch(&self) -> Scratch {
        Scratch::new(self.ring)
    }

    /// A ciphertext and its turns, each from the one before: so many in all.
    pub fn turns(&self, first: Cipher, count: usize) -> Vec<Cipher> {
        let (mut scratch, mut out) = (self.scratch(), Vec::with_capacity(count));
        out.push(first);
        while out.len() < count
            && let (Some(turn), Some(last)) = (&self.keys.turn, out.last())
        {
            let mut next = Cipher::zero(self.ring, last.level(), 2);
            turn.apply(self.ring, last, &mut next, &mut scratch);
            out.push(next);
        }
        out
    }

    /// Expands a ciphertext of coefficients: the first so many, each in a ciphertext of its own.
    pub fn expand(&self, query: Cipher, count: usize) -> Vec<Cipher> {
        let mut leaves = vec![query];
        for round in &self.keys.rounds {
            let wanted = count.saturating_sub(leaves.len()).min(leaves.len());
            let split = |scratch: &mut Scratch, (i, c): (usize, &mut Cipher)| {
                if i < wanted {
                    return Some(round.split(self.ring, c, scratch));
                }
                round.fold(self.ring, c, scratch);
                None
            };
            let odd: Vec<Cipher> =
                leaves.par_iter_mut().enumerate().map_init(|| self.scratch(), split).flatten().collect();
            leaves.extend(odd);
        }
        leaves.truncate(count);
        leaves
    }

    /// The sum of products of ciphertexts, relinearised.
    ///
    /// Without the key, which every method that multiplies asks for, it is zero.
    pub fn product(&self, pairs: &[[&Cipher; 2]], scratch: &mut Scratch) -> Cipher {
        self.relinearised(&self.product_sum(pairs), scratch)
    }

    /// The sum of products of ciphertexts, of three parts.
    pub fn product_sum(&self, pairs: &[[&Cipher; 2]]) -> Cipher {
        let level = pairs.first().map_or(self.ring.top(), |[a, _]| a.level());
        let mut product = Cipher::zero(self.ring, level, 3);
        if !pairs.is_empty() {
            tensor(self.ring, pairs, &mut product);
        }
        product
    }

    /// Such a sum, of two parts again; zero without the key.
    pub fn relinearised(&self, product: &Cipher, scratch: &mut Scratch) -> Cipher {
        let mut out = Cipher::zero(self.ring, product.level(), 2);
        if let Some(square) = &self.keys.square {
            square.relinearise(self.ring, product, &mut out, scratch);
        }
        out
    }

    /// Sums of ciphertexts of equal shape, place by place.
    pub fn added(&self, shares: Vec<Vec<Cipher>>) -> Vec<Cipher> {
        let mut shares = shares.into_iter();
        let mut sums = shares.next().unwrap_or_default();
        for share in shares {
            sums.iter_mut().zip(&share).for_each(|(sum, cipher)| sum.add(self.ring, cipher));
        }
        sums
    }

    /// Each product by itself, relinearised and left with so many primes.
    pub fn products(&self, pairs: &[[&Cipher; 2]], primes: usize) -> Vec<Cipher> {
        let product = |scratch: &mut Scratch, pair: &[&Cipher; 2]| {
            let product = self.product(std::slice::from_ref(pair), scratch);
            self.lowered(product, primes, scratch)
        };
        pairs.par_iter().map_init(|| self.scratch(), product).collect()
    }

    /// Ciphertexts left with so many primes.
    pub fn all_lowered(&self, all: Vec<Cipher>, primes: usize) -> Vec<Cipher> {
        let lower = |scratch: &mut Scratch, c| self.lowered(c, primes, scratch);
        all.into_par_iter().map_init(|| self.scratch(), lower).collect()
    }

    /// A ciphertext left with so many primes.
    pub fn lowered(&self, mut c: Cipher, primes: usize, scratch: &mut Scratch) -> Cipher {
        while let Some(below) = c.level().below().filter(|below| below.primes() >= primes) {
            let mut out = Cipher::zero(self.ring, below, 2);
            lower(self.ring, &c, &mut out, scratch);
            c = out;
        }
        c
    }
}
