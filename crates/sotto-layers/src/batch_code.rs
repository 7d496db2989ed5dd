//! Several rows at once (probabilistic batch codes; Angel, Chen, Laine and Setty, S&P 2018): every
//! row is in several of many small tables, and one row of each of these tables is fetched.
//!
//! | module | contents |
//! |---|---|
//! | [`code`] | the number of copies and buckets; the checked parameters in a stack |
//! | `bound` | the bound on failures |
//! | [`permutation`] | the positions of the copies, without a map, and the rows of each bucket for its writer |
//! | [`matching`] | assigning buckets to rows |
//! | [`search_budget`] | the number of steps of that search |
//!
//! Copy `j` of row `i` is in bucket `p_j(i) mod g` of the `g` buckets that have that copy, at
//! `p_j(i) div g`, for permutations `p_j` of a public seed.
//!
//! **Lookups** are one row of each bucket, and some rows of the whole table, whatever is requested
//! and even if the request cannot be served. Unneeded buckets get a random row, and rows that are
//! requested twice are fetched once.
//!
//! **Failures** ([`Error::BatchCodeFailure`]) stay invisible as long as they change nothing that a
//! client does. Request some of the rows in the next request that is due anyway: an immediate
//! request for the missing rows would show the server that a request failed, and the public seed
//! shows everyone which requests do. Anyone who can choose a client's requests can choose one that
//! fails, and so can anyone who chooses the seed: a client that visibly reacts to the failure
//! reveals its request to them.
//!
//! **Time.** The work of [`Layer::plan`] depends on the code alone, not on the rows, on their
//! number, on duplicates, nor on whether they can be served; no branch and no index depends on a
//! secret. There are two exceptions: an invalid request is refused at once, before any lookup; and
//! [`Layer::assemble`] copies the rows from where they are, by then in the client's own memory.

mod bound;
pub mod code;
pub mod matching;
pub mod permutation;
pub mod search_budget;

pub use code::Params;

use crate::dummy_rows;
use code::CodeSizes;
use matching::{NONE, find, same};
use permutation::{FeistelDomain, Permutations};
use rand_core::CryptoRng;
use sotto_core::{Error, Layer, Misuse, Result, Row};
use sotto_math::modulus::divide;
use sotto_prg::PublicSeed;
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq, ConstantTimeLess};
use zeroize::Zeroizing;

/// The layer's name in a stack.
pub const NAME: &str = "pbc/1";

/// A batch code. Its shards are the buckets and, if the code has spare lookups, after them the whole table.
///
/// ```
/// use sotto_core::Layer as _;
/// use sotto_layers::BatchCode;
/// use sotto_layers::batch_code::code::CodeSizes;
/// use sotto_prg::{PublicSeed, system_rng};
///
/// // Up to eight rows at once, of a table of 5000.
/// let code = BatchCode::new(CodeSizes::fit(5000, 8)?, &PublicSeed([5; 32]))?;
///
/// // However many are wanted, the same buckets are asked for one row each.
/// let rng = &mut system_rng()?;
/// let (one, _) = code.plan(&[4999], rng)?;
/// let (eight, _) = code.plan(&[1, 2, 3, 5, 8, 13, 21, 34], rng)?;
/// assert_eq!((one.len(), eight.len()), (code.visits().len(), code.visits().len()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct BatchCode {
    sizes: CodeSizes,
    permutations: Permutations,
    /// Rows of each bucket, c.
    bucket_rows: u64,
}

/// The secret plan of one request.
#[derive(Debug)]
pub struct Plan {
    /// For each requested row the number of its lookup, or [`NONE`] if it has none.
    lookups: Zeroizing<Vec<u16>>,
}

impl BatchCode {
    /// The code of these sizes and a seed, which is drawn when the table is made and published with
    /// it.
    ///
    /// # Errors
    /// The errors of [`CodeSizes::check`].
    pub fn new(sizes: CodeSizes, seed: &PublicSeed) -> Result<Self> {
        sizes.check()?;
        let permutations = Permutations::new(FeistelDomain::new(sizes.rows), seed);
        Ok(BatchCode { sizes, permutations, bucket_rows: sizes.bucket_rows() })
    }

    /// The sizes of the code, which are valid.
    pub fn sizes(&self) -> &CodeSizes {
        &self.sizes
    }

    /// The permutations that place the copies.
    pub fn permutations(&self) -> &Permutations {
        &self.permutations
    }

    /// Rows of each bucket.
    pub fn bucket_rows(&self) -> u64 {
        self.bucket_rows
    }

    /// Number of buckets. Those of the first copy come first, then those of the second, and so on.
    pub fn buckets(&self) -> usize {
        self.sizes.copies * self.sizes.buckets
    }

    /// The request, filled up with dummy rows, and for each row the position of its first
    /// occurrence. All lists have the maximum length that the code allows.
    fn filled(&self, request: &[u64]) -> Result<(Zeroizing<Vec<u64>>, Zeroizing<Vec<u16>>)> {
        let CodeSizes { rows, items, .. } = self.sizes;
        if request.len() > items {
            return Err(Misuse::Rule("the request exceeds the batch size of the code").into());
        }
        // All are checked, independent of the position of the first invalid one.
        let wrong = request.iter().fold(Choice::from(0), |wrong, index| wrong | !index.ct_lt(&rows));
        if bool::from(wrong)
            && let Some(index) = request.iter().copied().find(|index| *index >= rows)
        {
            return Err(Misuse::IndexPastEnd { index, len: rows }.into());
        }
        let mut filled = Zeroizing::new(vec![u64::MAX; items]);
        for (filled, requested) in filled.iter_mut().zip(request) {
            *filled = *requested;
        }
        let place = |row: &u64| {
            (0..items as u16)
                .rev()
                .zip(filled.iter().rev())
                .fold(NONE, |first, (i, other)| u16::conditional_select(&first, &i, row.ct_eq(other)))
        };
        let firsts = Zeroizing::new(filled.iter().map(place).collect());
        Ok((filled, firsts))
    }
}

impl Layer for BatchCode {
    /// Numbers of rows, in any order and not necessarily different.
    type Request = [u64];
    /// The requested rows, in the order of the request.
    type Reply = Vec<Row>;
    type Plan = Plan;

    fn shards(&self) -> Vec<u64> {
        let mut shards = vec![self.bucket_rows; self.buckets()];
        if self.sizes.spare > 0 {
            shards.push(self.sizes.rows);
        }
        shards
    }

    fn visits(&self) -> Vec<usize> {
        (0..self.buckets()).chain(std::iter::repeat_n(self.buckets(), self.sizes.spare)).collect()
    }

    fn plan(&self, request: &[u64], rng: &mut dyn CryptoRng) -> Result<(Vec<u64>, Plan)> {
        let CodeSizes { rows, items, copies, buckets, spare } = self.sizes;
        let (mut requested, firsts) = self.filled(request)?;
        let mut first = Zeroizing::new(vec![0; items]);
        for (((i, first), requested), place) in
            (0u16..).zip(first.iter_mut()).zip(requested.iter_mut()).zip(&*firsts)
        {
            let real = u64::conditional_select(&0, &u64::MAX, requested.ct_lt(&rows));
            // Dummy entries have copies too, those of row 0, and do not use them.
            *requested &= real;
            *first = same(i, *place) & real as u16;
        }

        let positions = self.permutations.positions(copies, &requested);
        let (mut choices, mut offsets) = (Zeroizing::new(Vec::new()), Zeroizing::new(Vec::new()));
        choices.reserve_exact(positions.len());
        offsets.reserve_exact(positions.len());
        for (copy, list) in (0..copies).zip(positions.chunks_exact(items)) {
            for position in list {
                let (offset, bucket) = divide(*position, buckets as u64);
                choices.push((copy * buckets) as u16 + bucket as u16);
                offsets.push(offset);
            }
        }
        let matching = matching::assign(&choices, &first, self.buckets(), spare, self.sizes.search_budget());

        let mut queried = Vec::with_capacity(self.sizes.lookups());
        let lists = choices.chunks_exact(items).zip(offsets.chunks_exact(items));
        let groups = matching.holders.chunks_exact(buckets.max(1));
        for (copy, ((choices, offsets), holders)) in lists.zip(groups).enumerate() {
            for (bucket, holder) in ((copy * buckets) as u16..).zip(holders) {
                let mut row = dummy_rows::row(self.bucket_rows, rng);
                for ((i, own), offset) in (0u16..).zip(choices).zip(offsets) {
                    row = chosen(same(i, *holder) & same(bucket, *own), *offset, row);
                }
                queried.push(row);
            }
        }
        for holder in matching.aside.iter() {
            let items = (0u16..).zip(requested.iter());
            let random = dummy_rows::row(rows, rng);
            queried.push(items.fold(random, |row, (i, item)| chosen(same(i, *holder), *item, row)));
        }

        let mut holders = Zeroizing::new(Vec::with_capacity(self.sizes.lookups()));
        holders.extend(matching.holders.iter().chain(matching.aside.iter()));
        let mut lookups = Zeroizing::new(Vec::with_capacity(items));
        lookups.extend(firsts.iter().map(|first| find(&holders, *first)));
        lookups.truncate(request.len());
        Ok((queried, Plan { lookups }))
    }

    fn assemble(&self, plan: Plan, rows: Vec<Row>) -> Result<Vec<Row>> {
        if rows.len() != self.sizes.lookups() {
            return Err(Misuse::Rule("there must be a row for each lookup").into());
        }
        let fetched = plan.lookups.iter().map(|lookup| rows.get(usize::from(*lookup)).cloned());
        fetched.collect::<Option<_>>().ok_or(Error::BatchCodeFailure)
    }
}

/// `x` under a mask of ones, and `y` under one of zeros.
fn chosen(mask: u16, x: u64, y: u64) -> u64 {
    // All bits of the mask are the same, so its sign determines it. The compiler must not know that:
    // it would make a branch of it.
    let mask = i64::from(std::hint::black_box(mask) as i16) as u64;
    x & mask | y & !mask
}
