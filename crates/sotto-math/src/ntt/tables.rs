//! The constants of a transform.

use crate::modulus::Modulus;

/// Precomputed constants, shared by all backends.
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "some are for vector backends alone"))]
#[derive(Debug, Clone)]
pub(crate) struct Tables {
    pub(crate) n: usize,
    pub(crate) modulus: Modulus,
    pub(crate) root: u64,
    /// 2^52 mod q.
    pub(crate) two_52: u64,
    /// floor(2^52 / q).
    pub(crate) barrett: u64,
    pub(crate) forward: Direction,
    pub(crate) inverse: Direction,
    /// 1/n, and the last inverse factor times 1/n.
    pub(crate) scale: [Factor; 2],
    pub(crate) reduction: Reduction,
}

/// A constant factor `w` below q, with Shoup's quotient floor(2^52 w / q).
///
/// For any `x` below 2^52, `x w - floor(x quotient / 2^52) q` is congruent to `x w` and
/// lies in `0..2q`: the product costs three multiplications and no division.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Factor {
    pub(crate) w: u64,
    pub(crate) quotient: u64,
}

/// Factors of one direction.
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "some are for vector backends alone"))]
#[derive(Debug, Clone)]
pub(crate) struct Direction {
    /// In the level with `m` blocks, block `i` multiplies by entry `m + i`.
    pub(crate) factors: Vec<Factor>,
    /// The last six levels, for each run of 64 slots.
    pub(crate) squares: Vec<SquareFactors>,
}

/// The factors of one run of 64 slots, seen as a square: of each level, as many as there
/// are blocks. Levels that pair rows come first, levels that pair lanes second, and of each
/// three the one with the longest blocks first.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub(crate) struct SquareFactors {
    pub(crate) lanes: [LaneFactors; 7],
    pub(crate) rows: [Factor; 7],
}

/// Eight factors, one for each lane.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct LaneFactors {
    pub(crate) w: [u64; 8],
    pub(crate) quotient: [u64; 8],
}

/// How much of the reductions between levels can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reduction {
    /// Values may grow through all levels and stay below 2^52, where the multipliers end.
    AtTheEnd,
    /// Values are kept below 4q, which is below 2^52 for every [`Modulus`].
    EachLevel,
}

impl Tables {
    pub(crate) fn new(n: usize, modulus: Modulus) -> Option<Self> {
        let q = modulus.value();
        if !n.is_power_of_two() || !(64..=16384).contains(&n) || !(q - 1).is_multiple_of(2 * n as u64) {
            return None;
        }
        let levels = u64::from(n.trailing_zeros());
        // The first number whose power has order 2n exactly. Half of all numbers do.
        let root = (2..q)
            .map(|g| modulus.pow(g, (q - 1) / (2 * n as u64)))
            .find(|&r| modulus.pow(r, n as u64) == q - 1)?;
        let powers = |base: u64| {
            let mut w = vec![1; n];
            for i in 1..n {
                // brev(i) has one bit more than brev of i without its last bit.
                let rest = i & (i - 1);
                let bit = i ^ rest;
                let exponent = (n as u64 >> 1) >> bit.trailing_zeros();
                w[i] = modulus.mul(w[rest], modulus.pow(base, exponent));
            }
            w
        };
        let inverse = Direction::new(&powers(modulus.inv(root)), q);
        let n_inv = modulus.inv(n as u64 % q);
        let scale = [Factor::new(n_inv, q), Factor::new(modulus.mul(n_inv, inverse.factors[1].w), q)];
        // Forward, a level adds at most 2q to values that start below (2 levels + 2) q: see
        // the bias in the kernels. Inverse, a level doubles values that start below 2q.
        let growth = u128::from((4 * levels + 4).max(2 << levels));
        let grown = growth * u128::from(q);
        let reduction = if grown < 1 << 52 { Reduction::AtTheEnd } else { Reduction::EachLevel };
        Some(Tables {
            n,
            modulus,
            root,
            two_52: modulus.reduce(1 << 52),
            barrett: (1 << 52) / q,
            forward: Direction::new(&powers(root), q),
            inverse,
            scale,
            reduction,
        })
    }

    /// Reverses the index bits.
    pub(crate) fn brev(&self, i: usize) -> usize {
        i.reverse_bits() >> (usize::BITS - self.n.trailing_zeros())
    }
}

impl Direction {
    fn new(w: &[u64], q: u64) -> Self {
        let n = w.len();
        let factors: Vec<Factor> = w.iter().map(|&w| Factor::new(w, q)).collect();
        // Block and level of each of seven: one block of all, two of half, four of a quarter.
        const SEVEN: [(usize, usize); 7] = [(1, 0), (2, 0), (2, 1), (4, 0), (4, 1), (4, 2), (4, 3)];
        let square = |s: usize| SquareFactors {
            rows: SEVEN.map(|(blocks, i)| factors[(n / 64 + s) * blocks + i]),
            lanes: SEVEN.map(|(blocks, i)| {
                let lane = |j: usize| factors[(n / 8 + 8 * s + j) * blocks + i];
                let lanes = [0, 1, 2, 3, 4, 5, 6, 7].map(lane);
                LaneFactors { w: lanes.map(|f| f.w), quotient: lanes.map(|f| f.quotient) }
            }),
        };
        Direction { squares: (0..n / 64).map(square).collect(), factors }
    }
}

impl Factor {
    fn new(w: u64, q: u64) -> Self {
        Factor { w, quotient: ((u128::from(w) << 52) / u128::from(q)) as u64 }
    }
}

/// Slot index to and from the index in plain bit-reversed order.
pub(crate) fn transpose(i: usize) -> usize {
    i & !63 | (i & 7) << 3 | i >> 3 & 7
}
