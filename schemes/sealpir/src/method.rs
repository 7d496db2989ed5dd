//! SealPIR's and MulPIR's method: ciphertexts of coefficients, expanded to the selectors of two
//! dimensions, for every bucket.
//!
//! The first coefficients of a query are a bucket's one-hot vectors: `rows` entries by which the
//! plaintexts of a column are multiplied, then one for each block of columns. The sums are
//! ciphertexts; the requested block is selected from them in one of two ways:
//!
//! - SealPIR, where a query has one prime: sums become plaintexts (see [`digits`]), and those are
//!   multiplied by the second selectors;
//! - MulPIR, where it has two: sums are multiplied by the second selectors directly, and
//!   relinearized.
//!
//! A table of one block has no second dimension.

use crate::digits::{self, PLAINTEXTS};
use sotto_bfv::candidates::{CandidateTable, LayoutCandidate};
#[cfg(feature = "server")]
use sotto_bfv::evaluator::{ColumnSums, Evaluator, PartialShape, SelectorSet};
use sotto_bfv::family::{DecryptFn, QueryPlaintext};
use sotto_bfv::layout::{BucketPlace, Layout, PlaintextForm, equal};
use sotto_bfv::noise::{NORM_LOG2, Noise, RoundedNoise, steps};
use sotto_bfv::rings::{Ring, RingSet, RingTimes};
use sotto_bfv::{Method, RequiredKeys};
use sotto_core::ParamsError;
#[cfg(feature = "server")]
use sotto_lattice::bgv::Ciphertext;
use sotto_lattice::bgv::{Answer, AnswerBits, expand};
#[cfg(feature = "server")]
use std::ops::Range;
use zeroize::Zeroizing;

/// Maximum number of ciphertexts of a query.
const MAX_QUERIES: usize = 128;

/// The selection of the second dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SecondDimension {
    /// No selection, since there is one block.
    None,
    /// SealPIR's selection: ciphertexts of these bits become plaintexts.
    Digits(AnswerBits),
    /// MulPIR's selection: products of ciphertexts.
    Product,
}

/// Selectors of both dimensions from one ciphertext.
#[derive(Debug, Clone)]
pub struct ExpandedSelectors {
    pub(crate) set: &'static RingSet,
    rows: usize,
    pub(crate) blocks: usize,
    pub(crate) width: usize,
    pub(crate) buckets: usize,
    queries: usize,
    pub(crate) second: SecondDimension,
}

impl ExpandedSelectors {
    /// Selectors of a bucket.
    fn each(&self) -> usize {
        self.rows + if self.second == SecondDimension::None { 0 } else { self.blocks }
    }

    /// Selectors of all buckets.
    fn selectors(&self) -> usize {
        self.buckets.saturating_mul(self.each())
    }

    /// Selectors of a ciphertext.
    fn of_one(&self) -> usize {
        self.selectors().div_ceil(self.queries)
    }

    /// Ciphertexts of an answer about a column of a block.
    fn of_column(&self) -> usize {
        if matches!(self.second, SecondDimension::Digits(_)) { PLAINTEXTS } else { 1 }
    }
}

impl Method for ExpandedSelectors {
    const FORM: PlaintextForm = PlaintextForm::Whole;

    fn candidates(table: &CandidateTable) -> Vec<LayoutCandidate> {
        // Sizes around the root, where there are fewest selectors, up to one dimension.
        let root = (table.needed as f64).sqrt();
        let around = (-2..=6).map(|step| (root * (f64::from(step) / 4.0).exp2()).ceil() as u64);
        let all: Vec<u64> =
            around.filter(|rows| (1..=table.needed).contains(rows)).chain([table.needed]).collect();
        let numbers = |rows: u64| {
            let blocks = table.needed.div_ceil(rows);
            let least = (table.buckets * (rows + blocks)).div_ceil(table.degree);
            // Selectors that are spread over more ciphertexts have less noise.
            let queries = (0..5).map(move |doubled| least << doubled);
            queries.map(move |queries| LayoutCandidate {
                rows,
                merged: 1,
                primes: table.primes,
                queries,
                stride: 1,
            })
        };
        all.into_iter().flat_map(numbers).collect()
    }

    fn new(layout: &Layout, set: &'static RingSet) -> Result<Self, ParamsError> {
        let field = |field, why: &str| ParamsError::Field { field, why: why.into() };
        let second =
            match (layout.blocks, set.query_primes()) {
                (1, _) => SecondDimension::None,
                (_, 1) => SecondDimension::Digits(digits::bits(set).ok_or_else(|| {
                    field("ring", "must have plaintexts that hold the digits of a ciphertext")
                })?),
                _ => SecondDimension::Product,
            };
        let Layout { rows, blocks, width, buckets, queries, .. } = *layout;
        let method = ExpandedSelectors { set, rows, blocks, width, buckets, queries, second };
        if layout.primes != set.query_primes() {
            return Err(field("primes", "must be all primes of a query"));
        }
        let filled = method.selectors().div_ceil(method.of_one().max(1));
        if filled != queries || method.of_one() > set.degree || queries > MAX_QUERIES {
            return Err(field("queries", "must lie in 1..=128, and be the fewest that hold all selectors"));
        }
        Ok(method)
    }

    fn keys(&self) -> RequiredKeys {
        RequiredKeys {
            square: self.second == SecondDimension::Product,
            rounds: expand::rounds(self.of_one()),
            ..RequiredKeys::default()
        }
    }

    fn answers(&self, _: &Layout) -> usize {
        self.buckets * self.width * self.of_column()
    }

    fn query_plaintexts(&self, layout: &Layout, places: &[BucketPlace]) -> Vec<QueryPlaintext> {
        let one_hot = |count: usize, requested: u64| (0..count as u64).map(move |i| equal(i, requested) & 1);
        let of_bucket = |place: &BucketPlace| {
            let blocks = self.each() - self.rows;
            one_hot(self.rows, place.row).chain(one_hot(blocks, place.block)).collect::<Vec<_>>()
        };
        let all = Zeroizing::new(places.iter().flat_map(of_bucket).collect::<Vec<u64>>());
        let query = |some: &[u64]| {
            let mut numbers = Zeroizing::new(vec![0; layout.n]);
            numbers.iter_mut().zip(some).for_each(|(number, one)| *number = *one);
            (numbers, self.keys().rounds)
        };
        all.chunks(self.of_one()).map(query).collect()
    }

    fn read(
        &self,
        layout: &Layout,
        open: DecryptFn<'_>,
        answers: &[Answer],
        _: &[BucketPlace],
    ) -> Vec<Zeroizing<Vec<u64>>> {
        let column = |answers: &[Answer]| {
            let opened: Vec<_> = answers.iter().map(|answer| open(answer, None)).collect();
            let SecondDimension::Digits(bits) = self.second else { return joined(&opened) };
            let inner = self.set.ring().and_then(|ring| digits::join(ring, bits, self.set.bits, &opened));
            inner.map_or_else(|| Zeroizing::new(vec![0; layout.n]), |inner| open(&inner, Some(bits)))
        };
        let record = |answers: &[Answer]| {
            let columns: Vec<_> = answers.chunks(self.of_column()).map(column).collect();
            let mut words = joined(&columns);
            words.truncate(layout.words);
            words
        };
        answers.chunks(self.width * self.of_column()).map(record).collect()
    }

    fn noise(&self, ring: &Ring, layout: &Layout, written: f64) -> Noise {
        let (steps, top) = (steps(ring), ring.top());
        let selector = steps.expanded(steps.fresh(), self.keys().rounds, top);
        let sum = steps.rows(selector, self.rows as f64);
        let worst = steps.chosen_rows(selector, written, NORM_LOG2);
        let columns = (self.buckets * self.width) as f64;
        let lowered = |variance, chosen| {
            RoundedNoise::merged(&steps, layout, top, [variance, chosen], self.buckets * self.width)
        };
        let mut out = Noise {
            steps: vec![("noise: of a selector", selector), ("noise: of a column's sum", sum)],
            rounded: Vec::new(),
            inner_log2: steps.failure_log2(sum, worst, top) + (columns * self.blocks as f64).log2(),
        };
        match self.second {
            SecondDimension::None => out.rounded.push(lowered(sum, worst)),
            SecondDimension::Digits(bits) => {
                out.rounded.push(RoundedNoise {
                    variance: sum,
                    chosen: worst,
                    count: columns,
                    bits: Some(bits),
                });
                let variance = steps.rows(selector, self.blocks as f64);
                out.steps.push(("noise: of the digits' sum", variance));
                out.rounded.push(RoundedNoise {
                    variance,
                    chosen: 0.0,
                    count: columns * PLAINTEXTS as f64,
                    bits: None,
                });
            }
            SecondDimension::Product => {
                let product = steps.tensor(selector, sum, self.blocks as f64) + steps.key_switch(top);
                let chosen = steps.chosen_tensor(selector, worst, self.blocks as f64, NORM_LOG2);
                out.steps.push(("noise: of the products' sum", product));
                out.inner_log2 = steps.failure_log2(product, chosen, top) + columns.log2();
                out.rounded.push(lowered(product, chosen));
            }
        }
        out
    }

    fn nanoseconds(&self, _: &Layout, times: &RingTimes) -> f64 {
        let primes = self.set.query_primes();
        let columns = (self.buckets * self.width) as f64;
        let each = match self.second {
            SecondDimension::None => 0.0,
            SecondDimension::Digits(_) => {
                let polynomials = (self.blocks * PLAINTEXTS) as f64;
                polynomials * (times.transform + 2.0 * times.product)
                    + 2.0 * self.blocks as f64 * times.transform
            }
            SecondDimension::Product => {
                self.blocks as f64 * times.tensor(primes) + times.switch(primes) + times.lower(1)
            }
        };
        // A round of expansion switches every ciphertext that it starts from, whether or not it is split.
        let switches = self.queries * (self.of_one().next_power_of_two() - 1);
        switches as f64 * times.switch(primes) + columns * each
    }

    #[cfg(feature = "server")]
    fn select(&self, evaluator: &Evaluator<'_>, query: Vec<Ciphertext>) -> SelectorSet {
        let all = query.into_iter().flat_map(|c| evaluator.expand(c, self.of_one()));
        let mut all = all.take(self.selectors());
        let (mut tables, mut second_dimension) = (Vec::with_capacity(self.buckets), Vec::new());
        for _ in 0..self.buckets {
            tables.push(all.by_ref().take(self.rows).collect());
            second_dimension.extend(all.by_ref().take(self.each() - self.rows));
        }
        SelectorSet { tables, second_dimension }
    }

    #[cfg(feature = "server")]
    fn partial(
        &self,
        evaluator: &Evaluator<'_>,
        second_dimension: &[Ciphertext],
        columns: ColumnSums,
    ) -> Vec<Ciphertext> {
        self.share_of(evaluator, second_dimension, &columns)
    }

    #[cfg(feature = "server")]
    fn partial_shape(&self, layout: &Layout, cols: &Range<usize>) -> PartialShape {
        let primes = self.set.query_primes();
        let ciphers = self.answers(layout);
        match self.second {
            SecondDimension::None => PartialShape { ciphers: self.buckets * cols.len(), parts: 2, primes: 1 },
            SecondDimension::Digits(_) => PartialShape { ciphers, parts: 2, primes },
            SecondDimension::Product => PartialShape { ciphers, parts: 3, primes },
        }
    }

    #[cfg(feature = "server")]
    fn finish(&self, evaluator: &Evaluator<'_>, shares: Vec<Vec<Ciphertext>>) -> Vec<Ciphertext> {
        self.finished(evaluator, shares)
    }
}

/// Lists of secrets, one after the other.
fn joined(lists: &[Zeroizing<Vec<u64>>]) -> Zeroizing<Vec<u64>> {
    Zeroizing::new(lists.iter().flat_map(|list| list.iter().copied()).collect())
}
