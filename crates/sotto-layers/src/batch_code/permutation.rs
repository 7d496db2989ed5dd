//! The positions of an item's copies: a permutation for each copy, without a map.
//!
//! A permutation is an alternating Feistel network (Black and Rogaway, CT-RSA 2002, section 5) on
//! pairs of a number below `a` and one below `b`, and the table's rows are numbered by such pairs.
//! Each round shifts one of the two by a pseudo-random function of the other. No cycle walking is
//! needed: `a b` is the least possible product from the number of rows on, often that number
//! itself, and the few pairs above it are rows of zeros.
//!
//! The round functions have only `a` or `b` inputs, about the square root of the table. So a server
//! tabulates them ([`InversePermutation`]) and finds the row of a position with ten small lookups;
//! a client, whose rows are secret, evaluates AES.
//!
//! The seed is public and nothing is kept secret by it: permutations must only look random to
//! requests that were not made against them. Ten rounds are what FF1 (NIST SP 800-38G) takes for
//! this shape.
//!
//! # Placement
//!
//! The server's half of a batch code: the rows of each bucket. Nothing is sorted, and there is no map of
//! the table: the inverse of one permutation gives the row at any place of any bucket. So buckets can be
//! written in any order, by several threads, and from any position.

use crate::batch_code::BatchCode;
use sotto_core::{Misuse, Result};
use sotto_math::aes::Aes;
use sotto_math::modulus::divide;
use sotto_prg::PublicSeed;
use zeroize::Zeroizing;

const ROUNDS: u64 = 10;

/// Blocks that are made in one call.
const LANES: usize = 64;

/// A domain of rows as pairs of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeistelDomain {
    a: u64,
    b: u64,
}

impl FeistelDomain {
    /// The smallest domain of at least `rows` rows whose sides differ at most by a factor of six.
    pub fn new(rows: u64) -> Self {
        let root = rows.isqrt().max(1);
        let sides = (root.div_ceil(2).max(root.min(2))..=root).rev();
        // Of equal products the most nearly square one, which comes first.
        let best =
            sides.map(|a| FeistelDomain { a, b: rows.div_ceil(a).max(1) }).min_by_key(FeistelDomain::len);
        best.unwrap_or(FeistelDomain { a: 1, b: rows.max(1) })
    }

    /// Number of rows of the domain, including those of zeros.
    pub fn len(&self) -> u64 {
        self.a * self.b
    }

    /// Always false: the domain has a row of zeros if the table has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The modulus of a round, and the number that the round changes: `true` for the one below `a`.
    fn side(&self, round: u64) -> (bool, u64) {
        let first = round.is_multiple_of(2);
        (first, if first { self.a } else { self.b })
    }
}

/// The permutations of a seed, for rows that are secret.
#[derive(Debug)]
pub struct Permutations {
    domain: FeistelDomain,
    aes: Aes,
}

impl Permutations {
    /// The permutations of a public seed.
    pub fn new(domain: FeistelDomain, seed: &PublicSeed) -> Self {
        let mut key = [0; 16];
        seed.stream("batch code", 0).fill(&mut key);
        Permutations { domain, aes: Aes::new(&key) }
    }

    /// The domain of the permutations.
    pub fn domain(&self) -> FeistelDomain {
        self.domain
    }

    /// The positions of each item under each of `copies` permutations: those of the first
    /// permutation before those of the second. Time and addresses do not depend on the items, which
    /// are below the domain's length.
    pub fn positions(&self, copies: usize, items: &[u64]) -> Zeroizing<Vec<u64>> {
        let FeistelDomain { a, b } = self.domain;
        let pairs: Zeroizing<Vec<(u64, u64)>> =
            Zeroizing::new(items.iter().map(|item| divide(*item, b)).collect());
        let (mut left, mut right) = (Zeroizing::new(Vec::new()), Zeroizing::new(Vec::new()));
        for _ in 0..copies {
            left.extend(pairs.iter().map(|pair| pair.0));
            right.extend(pairs.iter().map(|pair| pair.1));
        }
        let mut moves = Zeroizing::new(vec![0; left.len()]);
        let per_copy = items.len().max(1);
        for round in 0..ROUNDS {
            let (first, modulus) = self.domain.side(round);
            let (moved, by) = if first { (&mut left, &right) } else { (&mut right, &left) };
            self.round(round, modulus, by, |lane| lane / per_copy, &mut moves);
            for (number, by) in moved.iter_mut().zip(moves.iter()) {
                let (sum, less) = (*number + by).overflowing_sub(modulus);
                *number = sum.wrapping_add(modulus & 0u64.wrapping_sub(u64::from(less)));
            }
        }
        debug_assert!(left.iter().all(|left| *left < a));
        Zeroizing::new(left.iter().zip(right.iter()).map(|(left, right)| left * b + right).collect())
    }

    /// The function of a round, for numbers in any lanes: below `modulus`, within 2^-40 of uniform.
    fn round(
        &self,
        round: u64,
        modulus: u64,
        numbers: &[u64],
        copy: impl Fn(usize) -> usize,
        out: &mut [u64],
    ) {
        let mut input = Zeroizing::new([[0; 16]; LANES]);
        let mut blocks = Zeroizing::new([[0; 16]; LANES]);
        let chunks = numbers.chunks(LANES).zip(out.chunks_mut(LANES));
        for (chunk, (numbers, out)) in chunks.enumerate() {
            let n = numbers.len();
            for (lane, (block, number)) in input.iter_mut().zip(numbers).enumerate() {
                let tweak = (copy(chunk * LANES + lane) as u64) << 32 | round;
                *block = (u128::from(tweak) << 64 | u128::from(*number)).to_le_bytes();
            }
            self.aes.mmo(&input[..n], &mut blocks[..n]);
            for (out, block) in out.iter_mut().zip(blocks.iter()) {
                let word = u128::from_le_bytes(*block) as u64;
                *out = ((u128::from(word) * u128::from(modulus)) >> 64) as u64;
            }
        }
    }

    /// The inverse of a permutation, for public positions.
    pub fn inverse(&self, copy: usize) -> InversePermutation {
        let tables = (0..ROUNDS).map(|round| {
            let (first, modulus) = self.domain.side(round);
            let inputs: Vec<u64> = (0..if first { self.domain.b } else { self.domain.a }).collect();
            let mut moves = vec![0; inputs.len()];
            self.round(round, modulus, &inputs, |_| copy, &mut moves);
            // Sides are below 2^32, as tables have at most 2^40 rows.
            moves.into_iter().map(|by| by as u32).collect()
        });
        InversePermutation { domain: self.domain, tables: tables.collect() }
    }
}

/// The inverse of a permutation, with its round functions as tables of some square roots of the
/// domain.
#[derive(Debug)]
pub struct InversePermutation {
    domain: FeistelDomain,
    tables: Vec<Vec<u32>>,
}

impl InversePermutation {
    /// The items at `first`, `first + step` and so on, all below the domain's length.
    pub fn items(&self, first: u64, step: u64, out: &mut [u64]) {
        let FeistelDomain { a, b } = self.domain;
        let (mut left, mut right) = ([0u32; LANES], [0u32; LANES]);
        let mut position = first;
        for out in out.chunks_mut(LANES) {
            let n = out.len();
            for (left, right) in left.iter_mut().zip(&mut right).take(n) {
                (*left, *right) = ((position / b) as u32, (position % b) as u32);
                position += step;
            }
            for (round, table) in (0..ROUNDS).rev().zip(self.tables.iter().rev()) {
                let (first, modulus) = self.domain.side(round);
                let (moved, by) = if first { (&mut left, &right) } else { (&mut right, &left) };
                for (number, by) in moved[..n].iter_mut().zip(by) {
                    let (rest, less) = number.overflowing_sub(table[*by as usize]);
                    *number = rest.wrapping_add(if less { modulus as u32 } else { 0 });
                }
            }
            for ((out, left), right) in out.iter_mut().zip(left).zip(right) {
                *out = u64::from(left) * b + u64::from(right);
            }
        }
        debug_assert!(out.iter().all(|item| *item < a * b));
    }
}

/// The rows of a code's buckets.
#[derive(Debug)]
pub struct Placement {
    /// Buckets of each copy.
    buckets: u64,
    bucket_rows: u64,
    /// Places of the domain.
    places: u64,
    inverses: Vec<InversePermutation>,
}

impl Placement {
    /// The placement of a code: some square roots of the table in memory.
    pub fn new(code: &BatchCode) -> Self {
        let (sizes, permutations) = (code.sizes(), code.permutations());
        Placement {
            buckets: sizes.buckets as u64,
            bucket_rows: code.bucket_rows(),
            places: permutations.domain().len(),
            inverses: (0..sizes.copies).map(|copy| permutations.inverse(copy)).collect(),
        }
    }

    /// The table's rows in a bucket, from the bucket's row `from` on. A number past the end of the
    /// table stands for a row of zeros.
    ///
    /// # Errors
    /// [`Misuse::IndexPastEnd`] for a bucket or rows that do not exist.
    pub fn rows(&self, bucket: usize, from: u64, out: &mut [u64]) -> Result<()> {
        let buckets = self.buckets * self.inverses.len() as u64;
        if bucket as u64 >= buckets {
            return Err(Misuse::IndexPastEnd { index: bucket as u64, len: buckets }.into());
        }
        let end = from.saturating_add(out.len() as u64);
        if end > self.bucket_rows {
            return Err(Misuse::IndexPastEnd { index: end, len: self.bucket_rows }.into());
        }
        let (copy, first) = (bucket as u64 / self.buckets, bucket as u64 % self.buckets);
        // Row `r` is position `r g + first` of its permutation, and the last one may be past the
        // end.
        let inside = self.places.saturating_sub(first).div_ceil(self.buckets).saturating_sub(from);
        let (inside, outside) = out.split_at_mut(inside.min(out.len() as u64) as usize);
        if let Some(inverse) = self.inverses.get(copy as usize) {
            inverse.items(from * self.buckets + first, self.buckets, inside);
        }
        outside.fill(u64::MAX);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{FeistelDomain, Permutations};
    use proptest::prelude::*;
    use sotto_prg::PublicSeed;

    #[test]
    fn domains_hold_hardly_more_than_the_table() {
        for rows in (1..3000).chain([(1 << 21) - 2, (1 << 25) - 2, 10_000_019, 1 << 36, (1 << 40) - 87]) {
            let FeistelDomain { a, b } = FeistelDomain::new(rows);
            assert!(a * b >= rows && a * b - rows <= rows.isqrt(), "{rows}: {a} {b}");
            assert!(a <= b && (rows < 4 || b <= 6 * a), "{rows}: {a} {b}");
            assert!(b < 1 << 32);
        }
        assert_eq!(FeistelDomain::new((1 << 21) - 2).len(), (1 << 21) - 2, "as many as a tree of 20 layers");
    }

    #[test]
    fn every_row_has_one_position_in_each_copy() {
        for rows in [1, 2, 3, 5, 13, 64, 100, 997, 4096] {
            let permutations = Permutations::new(FeistelDomain::new(rows), &PublicSeed([3; 32]));
            let len = permutations.domain().len();
            let items: Vec<u64> = (0..len).collect();
            let positions = permutations.positions(3, &items);
            for (copy, list) in positions.chunks_exact(items.len()).enumerate() {
                let mut sorted = list.to_vec();
                sorted.sort();
                assert_eq!(sorted, items, "{rows} rows, copy {copy}");
                // The inverse gives the items again.
                let mut back = vec![0; items.len()];
                permutations.inverse(copy).items(0, 1, &mut back);
                for (position, item) in back.iter().enumerate() {
                    assert_eq!(list[*item as usize], position as u64);
                }
            }
            if rows > 12 {
                let (first, second) = positions.split_at(items.len());
                assert_ne!(first, &second[..items.len()], "copies differ");
            }
        }
    }

    #[test]
    fn another_seed_is_another_permutation() {
        let positions = |seed| {
            Permutations::new(FeistelDomain::new(1 << 20), &PublicSeed([seed; 32]))
                .positions(2, &[0, 1, 2, 3])
                .to_vec()
        };
        assert_eq!(positions(1), positions(1));
        assert_ne!(positions(1), positions(2));
    }

    /// Catalogs stay valid for years, so the positions of a seed must never change.
    #[test]
    fn positions_stay_what_they_were() {
        let permutations = Permutations::new(FeistelDomain::new(2_097_150), &PublicSeed([0; 32]));
        assert_eq!(*permutations.positions(2, &[0, 1, 2_097_149]), KNOWN);
    }

    const KNOWN: [u64; 6] = [1_579_045, 1_787_216, 298_963, 164_835, 751_833, 1_203_424];

    proptest! {
        #[test]
        fn backwards_is_backwards(rows in 1u64..1 << 40, seed: [u8; 32], at: u64, step in 1u64..5000) {
            // Sides of a million have tables that take long to make.
            let rows = rows >> (at % 20 + 12);
            let permutations = Permutations::new(FeistelDomain::new(rows.max(1)), &PublicSeed(seed));
            let len = permutations.domain().len();
            let first = at % len;
            let n = ((len - first).div_ceil(step)).min(130) as usize;
            let mut items = vec![0; n];
            permutations.inverse(1).items(first, step, &mut items);
            let positions = permutations.positions(2, &items);
            for (i, position) in positions[n..].iter().enumerate() {
                prop_assert_eq!(*position, first + i as u64 * step);
            }
        }

        /// Two rows fall into the same bucket as often as two balls do.
        #[test]
        fn neighbors_part(seed: [u8; 32]) {
            let permutations = Permutations::new(FeistelDomain::new(100_000), &PublicSeed(seed));
            let items: Vec<u64> = (0..20_000).collect();
            let positions = permutations.positions(1, &items);
            let buckets: Vec<u64> = positions.iter().map(|position| position % 32).collect();
            for distance in [1, 2, 316, 317, 1000] {
                let equal = buckets.iter().zip(&buckets[distance..]).filter(|(x, y)| x == y).count() as f64;
                let mean = (items.len() - distance) as f64 / 32.0;
                prop_assert!((equal - mean).abs() < 7.0 * mean.sqrt(), "{distance}: {equal} of {mean}");
            }
        }
    }
}
