//! The numbers of a batch code, and how often it fails.
//!
//! *The bound.* A request cannot be served if and only if, for some `k`, there are `k` of its items whose copies lie in
//! no more than `t = k - s - 1` buckets (Hall, with `s` rows fetched from the whole table). These are `t_1` buckets of
//! the first copy and so on, each at least one, which sum to `t`. A permutation puts `k` items into `t_j` given buckets
//! of its `g`, which have `c` of its `P` places each, with probability `(t_j c)(t_j c - 1) ... / P (P - 1) ...`, `k`
//! factors, so at most `(t_j c / P)^k`; the permutations are independent. So over the seed a request fails with
//! probability at most
//!
//! ```text
//! sum over k = s + 1, ..., b of  binomial(b, k) [z^t] f_k(z)^w,    f_k(z) = sum over x >= 1 of binomial(g, x) (x c / P)^k z^x
//! ```
//!
//! No item has its copies in fewer than `w` buckets, as each copy has buckets of its own; so it takes `w + 1` items to crowd each
//! other out, where two are enough if copies may be in any bucket.

use super::permutation::Domain;
use sotto_core::params::REQUIRED_FAILURE_LOG2;
use sotto_core::{Misuse, ParamsError, Result};

const MOST_ROWS: u64 = 1 << 40;
/// Most items of a request: what a client does grows with the third power.
const MOST_ITEMS: usize = 256;
const MOST_COPIES: usize = 8;
const MOST_BUCKETS: usize = 512;
/// Most spare lookups that are tried.
const MOST_SPARE: usize = 4;

/// The numbers of a code, unchecked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Rows of the table, N.
    pub rows: u64,
    /// The most items of a request, b.
    pub items: usize,
    /// Buckets in which each row lies, w.
    pub copies: usize,
    /// Buckets among which a copy of the table is divided, g. One lookup in each.
    pub buckets: usize,
    /// Lookups in the whole table, s.
    pub spare: usize,
}

impl Sizes {
    /// The cheapest sizes that fail seldom enough: the product of rows read and of lookups made is smallest.
    ///
    /// Rows are what a request costs where a server's pass over its data decides, and lookups where messages do. The
    /// product favours neither: a code that reads a tenth more and asks a tenth less is as good. Small requests get lookups
    /// in the whole table and nothing else.
    ///
    /// # Errors
    /// [`ParamsError::NoFit`] if there are no rows or items, more than 2^40 rows, or more than 256 items.
    pub fn fit(rows: u64, items: usize) -> Result<Sizes, ParamsError> {
        if !(1..=MOST_ROWS).contains(&rows) || !(1..=MOST_ITEMS).contains(&items) {
            let why = format!("a batch code is for 1 to {MOST_ITEMS} items and at most 2^40 rows");
            return Err(ParamsError::NoFit { rows, row_bytes: 0, why });
        }
        let bound = Bound::new(rows, items);
        let mut best = Sizes { rows, items, copies: 0, buckets: 0, spare: items };
        for copies in 1..=MOST_COPIES {
            for spare in 0..items.min(MOST_SPARE) {
                let with = |buckets: usize| Sizes { rows, items, copies, buckets, spare };
                let suffice = |buckets| bound.log2(&with(buckets)) <= f64::from(REQUIRED_FAILURE_LOG2);
                // The most that cost less, and then the fewest that suffice: more buckets fail less often.
                let cheaper = (best.weight() - 1) / (copies + spare);
                let mut most = (cheaper.saturating_sub(spare) / copies).min(MOST_BUCKETS);
                let mut fewest = 1;
                if most < fewest || !suffice(most) {
                    continue;
                }
                while fewest < most {
                    let middle = (fewest + most) / 2;
                    if suffice(middle) { most = middle } else { fewest = middle + 1 }
                }
                best = with(most);
            }
        }
        Ok(best)
    }

    /// Rows read, in whole tables, times lookups.
    fn weight(&self) -> usize {
        (self.copies + self.spare) * self.lookups()
    }

    /// Base-2 logarithm of a bound on the probability that a request fails that was not made against the seed.
    pub fn failure_log2(&self) -> f64 {
        Bound::new(self.rows, self.items).log2(self)
    }

    /// Lookups of every request.
    pub fn lookups(&self) -> usize {
        self.copies * self.buckets + self.spare
    }

    /// Rows of each bucket, c.
    pub fn bucket_rows(&self) -> u64 {
        Domain::new(self.rows).len().div_ceil(self.buckets.max(1) as u64)
    }

    /// Checks them.
    ///
    /// # Errors
    /// [`Misuse::Rule`] for a number out of its range, [`ParamsError::Unreliable`] if requests would fail too often.
    pub fn check(&self) -> Result<()> {
        let Sizes { rows, items, copies, buckets, spare } = *self;
        let ranges = (1..=MOST_ROWS).contains(&rows)
            && (1..=MOST_ITEMS).contains(&items)
            && copies <= MOST_COPIES
            && buckets <= MOST_BUCKETS
            && spare <= items
            && (copies == 0) == (buckets == 0);
        if !ranges {
            return Err(Misuse::Rule(
                "a batch code has 1 to 2^40 rows, 1 to 256 items, and at most 8 copies and 512 buckets of each",
            )
            .into());
        }
        let (log2, required) = (self.failure_log2(), REQUIRED_FAILURE_LOG2);
        if log2 > f64::from(required) {
            return Err(ParamsError::Unreliable { log2, required }.into());
        }
        Ok(())
    }
}

/// What the bounds of several codes have in common.
struct Bound {
    /// P.
    places: u64,
    /// Base-2 logarithms of factorials.
    factorials: Vec<f64>,
}

impl Bound {
    fn new(rows: u64, items: usize) -> Self {
        let logarithms = (1..=MOST_BUCKETS.max(items)).scan(0.0, |sum, n| {
            *sum += (n as f64).log2();
            Some(*sum)
        });
        Bound { places: Domain::new(rows).len(), factorials: [0.0].into_iter().chain(logarithms).collect() }
    }

    fn factorial(&self, n: usize) -> f64 {
        self.factorials.get(n).copied().unwrap_or(f64::INFINITY)
    }

    fn binomial(&self, n: usize, k: usize) -> f64 {
        self.factorial(n) - self.factorial(k) - self.factorial(n - k)
    }

    fn log2(&self, sizes: &Sizes) -> f64 {
        let Sizes { items, copies, buckets, spare, .. } = *sizes;
        // Only rows that exist are asked for, and there are no more different ones.
        let most = items.min(usize::try_from(sizes.rows).unwrap_or(items));
        let part = self.places.div_ceil(buckets.max(1) as u64);
        let term = |k: usize| {
            let t = k - spare - 1;
            if t >= copies * buckets {
                return 1.0;
            }
            let one = |x: usize| {
                let room = x as u64 * part;
                if room < k as u64 {
                    return 0.0;
                }
                let share = (room as f64 / self.places as f64).min(1.0);
                (self.binomial(buckets, x) + k as f64 * share.log2()).exp2()
            };
            let f: Vec<f64> = (0..=t.min(buckets)).map(one).collect();
            let mut half = vec![1.0];
            for _ in 0..copies / 2 {
                half = product(&half, &f, t);
            }
            let other = if copies % 2 == 1 { product(&half, &f, t) } else { half.clone() };
            let ways: f64 = half.iter().enumerate().map(|(i, x)| x * coefficient(&other, t - i)).sum();
            (self.binomial(most, k).exp2() * ways).min(1.0)
        };
        (spare + 1..=most).map(term).sum::<f64>().log2()
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
