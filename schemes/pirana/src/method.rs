//! PIRANA's method: a query of m ciphertexts, of which pairs are multiplied.
//!
//! Ciphertext i has bit i of the word of each bucket's row, in the slot of its record's position,
//! and zeroes elsewhere. The product of two is one in that slot if both bits are, so the product of
//! the two ones of row r's word is the selector of row r. Selectors are relinearized, and lowered
//! to the primes at which the table is multiplied.

use sotto_bfv::candidates::{CandidateTable, LayoutCandidate};
#[cfg(feature = "server")]
use sotto_bfv::evaluator::ColumnSums;
#[cfg(feature = "server")]
use sotto_bfv::evaluator::Evaluator;
#[cfg(feature = "server")]
use sotto_bfv::evaluator::SelectorSet;
use sotto_bfv::family::QueryPlaintext;
use sotto_bfv::layout::{BucketPlace, Layout, PlaintextForm, equal};
use sotto_bfv::noise::{NORM_LOG2, Noise, RoundedNoise, steps};
use sotto_bfv::rings::{Ring, RingSet, RingTimes};
use sotto_bfv::{Method, RequiredKeys, column_merge};
use sotto_core::ParamsError;
#[cfg(feature = "server")]
use sotto_lattice::bgv::Ciphertext;

/// Maximum number of rows: their selectors take 128 KiB each.
const MAX_SELECTED: usize = 1 << 13;

/// The selectors of rows, as products of pairs of ciphertexts.
#[derive(Debug, Clone)]
pub struct ConstantWeight {
    rows: usize,
    /// Primes of selectors after lowering.
    primes: usize,
    length: usize,
    keys: RequiredKeys,
}

impl Method for ConstantWeight {
    const FORM: PlaintextForm = PlaintextForm::Slots;

    fn candidates(table: &CandidateTable) -> Vec<LayoutCandidate> {
        let queries = length(table.needed.min(MAX_SELECTED as u64 + 1) as usize) as u64;
        let numbers = |merged| {
            // All primes are tried, since the noise of so many rows may need all.
            (1..=table.primes).map(move |primes| LayoutCandidate {
                rows: table.needed,
                merged,
                primes,
                queries,
                stride: 1,
            })
        };
        table.merges().flat_map(numbers).collect()
    }

    fn new(layout: &Layout, _: &'static RingSet) -> Result<Self, ParamsError> {
        if layout.rows > MAX_SELECTED {
            return Err(ParamsError::Field { field: "rows", why: "must be at most 8192".into() });
        }
        let length = length(layout.rows);
        if layout.queries != length {
            let why = format!("must be {length}, the length of words of two ones for all rows");
            return Err(ParamsError::Field { field: "queries", why });
        }
        let keys = RequiredKeys { rotation: Some(layout.gap()), square: true, ..RequiredKeys::default() };
        Ok(ConstantWeight { rows: layout.rows, primes: layout.primes, length, keys })
    }

    fn keys(&self) -> RequiredKeys {
        self.keys
    }

    fn query_plaintexts(&self, layout: &Layout, places: &[BucketPlace]) -> Vec<QueryPlaintext> {
        let marks = |i: usize| layout.marked(places, |place| bit(self.rows, place.row, i));
        (0..self.length).map(|i| (marks(i), 0)).collect()
    }

    fn noise(&self, ring: &Ring, layout: &Layout, written: f64) -> Noise {
        let (steps, top) = (steps(ring), ring.top());
        let product = steps.tensor(steps.fresh(), steps.fresh(), 1.0) + steps.key_switch(top);
        let (mut selector, mut level) = (product, top);
        while let Some(below) = level.below().filter(|below| below.primes() >= self.primes) {
            (selector, level) = (steps.lowered(selector, level), below);
        }
        let sum = steps.rows(selector, self.rows as f64);
        let worst = steps.chosen_rows(selector, written, NORM_LOG2);
        let inner = steps.failure_log2(sum, worst, level) + (layout.width as f64).log2();
        let together =
            RoundedNoise::merged(&steps, layout, level, [sum, worst], column_merge::answers(layout));
        Noise {
            steps: vec![
                ("noise: of a product", product),
                ("noise: of a selector", selector),
                ("noise: of a column's sum", sum),
                ("noise: of the columns together", together.variance),
            ],
            rounded: vec![together],
            inner_log2: (steps.failure_log2(product, 0.0, top) + (self.rows as f64).log2()).max(inner) + 1.0,
        }
    }

    fn nanoseconds(&self, layout: &Layout, times: &RingTimes) -> f64 {
        let products = self.rows as f64 * (times.tensor(2) + times.switch(2) + times.lower(1));
        // Sums of columns leave the primes that selectors still have, one after the other.
        let lowered: f64 = (2..=self.primes).map(|primes| times.lower(primes)).sum();
        let merged = (layout.width - column_merge::answers(layout)) as f64;
        products + layout.width as f64 * lowered + merged * times.switch(1)
    }

    #[cfg(feature = "server")]
    fn select(&self, evaluator: &Evaluator<'_>, query: Vec<Ciphertext>) -> SelectorSet {
        let of = |[lower, upper]: [usize; 2]| Some([query.get(lower)?, query.get(upper)?]);
        let pairs: Vec<[&Ciphertext; 2]> = ones().take(self.rows).filter_map(of).collect();
        SelectorSet { tables: vec![evaluator.products(&pairs, self.primes)], second_dimension: Vec::new() }
    }

    #[cfg(feature = "server")]
    fn partial(&self, evaluator: &Evaluator<'_>, _: &[Ciphertext], columns: ColumnSums) -> Vec<Ciphertext> {
        evaluator.all_lowered(columns.tables.concat(), 1)
    }
}

/// The least length, at least 2, that has as many words as there are rows.
pub fn length(rows: usize) -> usize {
    // The positive root of m (m - 1) / 2 = rows, and one more where floating point falls short.
    let root = ((8.0 * rows as f64 + 1.0).sqrt() + 1.0) / 2.0;
    let least = (root.floor() as usize).max(2);
    least + usize::from(words(least) < rows)
}

/// Number of words of a length.
pub fn words(length: usize) -> usize {
    length * length.saturating_sub(1) / 2
}

/// The positions of the ones of each word: 0 and 1, 0 and 2, 1 and 2, 0 and 3, ...
pub fn ones() -> impl Iterator<Item = [usize; 2]> {
    (1..).flat_map(|upper| (0..upper).map(move |lower| [lower, upper]))
}

/// Bit `place` of the word of a row among `rows`, in time that does not depend on the row.
pub fn bit(rows: usize, row: u64, place: usize) -> u64 {
    let of_words = (0..).zip(ones().take(rows));
    let mine = of_words.filter(|(_, ones)| ones.contains(&place));
    mine.fold(0, |bit, (i, _)| bit | equal(i, row)) & 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_the_papers() {
        assert_eq!([1, 2, 3, 4, 6, 7].map(length), [2, 3, 3, 4, 4, 5]);
        // The published table of bucket sizes.
        assert_eq!([409, 1368, 4543].map(length), [30, 53, 96]);
        for rows in 1..3000 {
            let length = length(rows);
            assert!(words(length) >= rows && (length == 2 || words(length - 1) < rows), "{rows}");
        }
    }

    #[test]
    fn words_differ_and_have_two_ones() {
        let words: Vec<Vec<u64>> =
            (0..45).map(|row| (0..10).map(|place| bit(45, row, place)).collect()).collect();
        for (i, word) in words.iter().enumerate() {
            assert_eq!(word.iter().sum::<u64>(), 2);
            assert!(!words[..i].contains(word));
        }
        for (word, ones) in words.iter().zip(ones()) {
            assert_eq!(ones.map(|place| word[place]), [1, 1]);
        }
    }
}
