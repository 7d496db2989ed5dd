//! An upper bound on the failure probability of a code.
//!
//! *The bound.* A request cannot be served if and only if, for some `k`, there are `k` of its items
//! whose copies are in no more than `t = k - s - 1` buckets (Hall, with `s` rows fetched from the
//! whole table). Where the search for a matching needs slack ([`super::search_budget`]), `t` is
//! larger by that. These are `t_1` buckets of the first copy and so on, each at least one, which
//! sum to `t`. A permutation puts `k` items into `t_j` given buckets of its `g`, which have `c` of
//! its `P` places each, with probability `(t_j c)(t_j c - 1) ... / P (P - 1) ...`, `k` factors, so
//! at most `(t_j c / P)^k`; the permutations are independent. So over the seed a request fails with
//! probability at most
//!
//! ```text
//! sum over k = s + 1, ..., b of  binomial(b, k) [z^t] f_k(z)^w,
//!                                f_k(z) = sum over x >= 1 of binomial(g, x) (x c / P)^k z^x
//! ```
//!
//! No item has its copies in fewer than `w` buckets, since each copy has its own buckets; so it
//! takes `w + 1` items to exclude one another, where two are enough if copies may be in any bucket.
//!
//! *The sum.* Its factors are far outside the range of doubles. But `[z^t] f(z)^w` is
//! `r^-t [z^t] f(r z)^w` for any `r`, and there is an `r` for which the coefficients of `f(r z)`
//! are largest near `t / w`, where `t` needs them. Divided by the largest they are 1 there and
//! decrease on both sides, faster and faster, since their logarithms are concave. Coefficients
//! below 2^-64 are left out, since no double would show them. Most `k` need not even that: `w`
//! times the largest coefficient, with the number of coefficients, bounds a negligible term.

use super::permutation::FeistelDomain;
use super::search_budget::slack;

/// Base-2 logarithm of terms that count with their bound and are not summed.
const LITTLE: f64 = -100.0;

/// Base-2 logarithm of coefficients that are left out.
const NOTHING: f64 = -64.0;

/// The tables that the bounds of several codes share, which serve the same requests to one table.
pub(super) struct FailureBound {
    rows: u64,
    items: usize,
    /// Places of the domain, P.
    places: u64,
    /// Base-2 logarithms of the numbers from 0 on, and of their factorials.
    logarithms: Vec<f64>,
    factorials: Vec<f64>,
}

impl FailureBound {
    /// The tables for codes of at most `max_buckets` buckets in a copy.
    pub(super) fn new(rows: u64, items: usize, max_buckets: usize) -> Self {
        let logarithms: Vec<f64> = (0..=max_buckets.max(items)).map(|n| (n as f64).log2()).collect();
        let factorials = logarithms.iter().skip(1).scan(0.0, |sum, log2| {
            *sum += log2;
            Some(*sum)
        });
        let factorials = [0.0].into_iter().chain(factorials).collect();
        FailureBound { rows, items, places: FeistelDomain::new(rows).len(), logarithms, factorials }
    }

    /// Base-2 logarithm of the bound for a code of these numbers of copies, of buckets in each, and of
    /// spare lookups; or of some value above `enough` if the bound is above it.
    pub(super) fn log2(&self, copies: usize, buckets: usize, spare: usize, enough: f64) -> f64 {
        let (mut first, mut last, mut sum) = (spare + 1, self.max_items(), 0.0);
        let enough = enough.exp2();
        // Mostly few items exclude one another, or nearly all do: so a bound that is too high shows
        // early.
        while first <= last && sum <= enough {
            sum += self.term(copies, buckets, spare, first);
            if first < last {
                sum += self.term(copies, buckets, spare, last);
            }
            (first, last) = (first + 1, last - 1);
        }
        sum.log2()
    }

    /// Maximum number of different items: only existing rows are requested.
    fn max_items(&self) -> usize {
        self.items.min(usize::try_from(self.rows).unwrap_or(self.items))
    }

    /// Base-2 logarithm of the expected number of sets of `k` items that exclude one another.
    fn term(&self, copies: usize, buckets: usize, spare: usize, k: usize) -> f64 {
        let t = k - spare - 1 + slack(self.items, k);
        if t >= copies * buckets {
            return 1.0;
        }
        let part = self.places.div_ceil(buckets as u64);
        // The least number of buckets with places for all of them.
        let fewest = usize::try_from((k as u64).div_ceil(part)).unwrap_or(usize::MAX);
        if t / copies < fewest {
            return 0.0;
        }
        let share = (part as f64 / self.places as f64).log2();
        let one = |x: usize| self.binomial(buckets, x) + k as f64 * (self.logarithm(x) + share).min(0.0);
        let middle = t / copies;
        let (below, above) = ((middle - 1).max(fewest), middle + 1);
        let tilt = (one(above) - one(below)) / (above - below) as f64;
        let tilted = |x: usize| one(x) - tilt * x as f64;
        let top = tilted(middle).max(tilted(below)).max(tilted(above));
        let scale = self.binomial(self.max_items(), k) + copies as f64 * top + tilt * t as f64;
        let at_most = |sum: f64| (scale + copies as f64 * sum.log2()).min(0.0);
        if at_most(buckets as f64) < LITTLE {
            return at_most(buckets as f64).exp2();
        }
        let counts = |x: &usize| tilted(*x) - top > NOTHING;
        let low = (fewest..middle).rev().take_while(counts).last().unwrap_or(middle);
        let high = (middle + 1..=buckets.min(t)).take_while(counts).last().unwrap_or(middle);
        let f: Vec<f64> = (low..=high).map(|x| (tilted(x) - top).exp2()).collect();
        let sum = f.iter().sum();
        if at_most(sum) < LITTLE {
            return at_most(sum).exp2();
        }
        let degree = t - copies * low;
        let mut half = vec![1.0];
        for _ in 0..copies / 2 {
            half = product(&half, &f, degree);
        }
        let other = if copies % 2 == 1 { product(&half, &f, degree) } else { half.clone() };
        let ways: f64 = half.iter().zip(0..=degree).map(|(x, i)| x * coefficient(&other, degree - i)).sum();
        (scale + ways.log2()).min(0.0).exp2()
    }

    fn logarithm(&self, n: usize) -> f64 {
        self.logarithms.get(n).copied().unwrap_or(f64::INFINITY)
    }

    fn factorial(&self, n: usize) -> f64 {
        self.factorials.get(n).copied().unwrap_or(f64::INFINITY)
    }

    fn binomial(&self, n: usize, k: usize) -> f64 {
        self.factorial(n) - self.factorial(k) - self.factorial(n - k)
    }
}

fn coefficient(polynomial: &[f64], i: usize) -> f64 {
    polynomial.get(i).copied().unwrap_or(0.0)
}

/// The product of two polynomials, up to this degree.
fn product(x: &[f64], y: &[f64], degree: usize) -> Vec<f64> {
    let mut out = vec![0.0; (x.len() + y.len()).saturating_sub(1).min(degree + 1)];
    for (i, x) in x.iter().enumerate() {
        for (out, y) in out.iter_mut().skip(i).zip(y) {
            *out += x * y;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::code::{CodeSizes, MAX_BUCKETS};
    use super::super::search_budget::THOROUGH;
    use super::{FailureBound, LITTLE, coefficient, product};

    /// The sum as written, without scaling, for small sizes that doubles can represent.
    fn plain(sizes: &CodeSizes) -> f64 {
        let CodeSizes { rows, items, copies, buckets, spare } = *sizes;
        assert!(items <= THOROUGH, "no slack");
        let bound = FailureBound::new(rows, items, MAX_BUCKETS);
        let most = items.min(rows as usize);
        let part = bound.places.div_ceil(buckets as u64);
        let term = |k: usize| {
            let t = k - spare - 1;
            if t >= copies * buckets {
                return 1.0;
            }
            let one = |x: usize| {
                let share = (x as f64 * part as f64 / bound.places as f64).min(1.0);
                let fits = x as u64 * part >= k as u64;
                if fits { bound.binomial(buckets, x).exp2() * share.powi(k as i32) } else { 0.0 }
            };
            let f: Vec<f64> = (0..=t.min(buckets)).map(one).collect();
            let power = (0..copies).fold(vec![1.0], |power, _| product(&power, &f, t));
            (bound.binomial(most, k).exp2() * coefficient(&power, t)).min(1.0)
        };
        (spare + 1..=most).map(term).sum::<f64>().log2()
    }

    #[test]
    fn scaling_changes_nothing() {
        for rows in [1, 2, 3, 30, 64, 1000, 100_000, 1 << 40] {
            for items in [1, 2, 3, 8, 20, 40] {
                for copies in 1..=8 {
                    for buckets in [1, 2, 5, 9, 23, 60] {
                        for spare in 0..items.min(3) {
                            let sizes = CodeSizes { rows, items, copies, buckets, spare };
                            let (scaled, plain) = (sizes.failure_log2(), plain(&sizes));
                            // Negligible terms count with their bound.
                            let little = (plain.exp2() + 40.0 * LITTLE.exp2()).log2() + 1e-9;
                            assert!(
                                scaled >= plain - 1e-9 && scaled <= little,
                                "{sizes:?}: {scaled} and {plain}"
                            );
                        }
                    }
                }
            }
        }
    }

    /// The expected values were summed by another program with forty decimal digits and exponents of
    /// any size.
    #[test]
    fn large_codes_are_bounded_right() {
        for (rows, items, copies, buckets, log2) in KNOWN {
            let found = CodeSizes { rows, items, copies, buckets, spare: 0 }.failure_log2();
            assert!(
                (found - log2).abs() < 1e-6,
                "{items} items, {copies} copies, {buckets} buckets: {found}"
            );
        }
    }

    const KNOWN: [(u64, usize, usize, usize, f64); 3] = [
        (5041, 300, 4, 97, -48.679_840_681_5),
        (262_144, 300, 3, 200, -1.592_371_273_5),
        (262_144, 600, 4, 190, -52.581_043_843_4),
    ];

    #[test]
    fn an_early_end_does_not_change_the_verdict() {
        let bound = FailureBound::new(1 << 20, 300, MAX_BUCKETS);
        for buckets in [60, 80, 90, 95, 100, 200] {
            let whole = bound.log2(4, buckets, 0, f64::INFINITY);
            let verdict = bound.log2(4, buckets, 0, -40.0);
            assert_eq!(whole <= -40.0, verdict <= -40.0, "{buckets}");
            assert!(verdict <= whole);
        }
    }
}
