//! The constants of a transform, and the automorphisms `X -> X^k` of the ring, on slots.
//!
//! The slot that holds the value at `psi^e` of `f(X^k)` receives the value of `f` at `psi^(k e)`:
//! an automorphism permutes the slots. Three facts about the slot order make the permutation cheap.
//! Write the exponent of a slot as `2 r + 1`; then `r` becomes `k r + (k - 1) / 2` modulo `n`, so
//! that the low bits of the new `r` depend on the low bits of the old one alone.
//!
//! 1. The low bits of `r`, reversed, are the number of the square of 64 slots. So whole squares
//!    move, and within a square the order depends on one number below 64: the carry out of the low
//!    bits.
//! 2. In a square `r` has three bits `m` that name the lane and above them three bits `h` that name
//!    the row, each reversed. The new lane depends on the old lane alone: all rows are permuted
//!    alike.
//! 3. The new row is `k h` plus the carry out of `m`: in each lane, rows rotate by a number that
//!    the lane fixes. Three conditional moves by 1, 2 and 4 rows do that.

use crate::modulus::Modulus;

/// Precomputed constants, shared by all backends.
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "some are for vector backends alone"))]
#[derive(Debug, Clone)]
pub(crate) struct Tables {
    pub(crate) n: usize,
    pub(crate) modulus: Modulus,
    pub(crate) root: u64,
    /// Whether the modulus is 2^50 or more: quotients then have 64 bits instead of 52, and other
    /// kernels are used.
    pub(crate) wide: bool,
    /// 1 and 2^64 mod q, with 64-bit quotients whether wide or not: for reducing 128-bit sums.
    pub(crate) halves: [Factor; 2],
    /// floor(2^52 / q), or floor(2^64 / q) if wide.
    pub(crate) barrett: u64,
    /// floor(2^(s + 51) / q) for a `q` of `s` bits, or floor(2^(s + 63) / q) if wide: for reducing
    /// products.
    pub(crate) barrett_product: u64,
    /// 2^51 if narrow, 2^30 and 2^60 if wide, mod q: for folding sums of products.
    pub(crate) folds: [Factor; 2],
    pub(crate) forward: Direction,
    pub(crate) inverse: Direction,
    /// 1/n, and the last inverse factor times 1/n.
    pub(crate) scale: [Factor; 2],
    pub(crate) reduction: Reduction,
}

/// A constant factor `w` below q, with Shoup's quotient floor(2^52 w / q).
///
/// For any `x` below 2^52, `x w - floor(x quotient / 2^52) q` is congruent to `x w` and is in
/// `0..2q`: the product costs three multiplications and no division. Wide moduli have 2^64 in place
/// of 2^52.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Factor {
    pub(crate) w: u64,
    pub(crate) quotient: u64,
}

/// Factors of one direction, forward or inverse.
#[cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128")),
    expect(dead_code, reason = "some are for vector backends alone")
)]
#[derive(Debug, Clone)]
pub(crate) struct Direction {
    /// Factors of all levels but the last six: in the level with `m` blocks, block `i` multiplies
    /// by entry `m + i`.
    pub(crate) factors: Vec<Factor>,
    /// Factors of the last six levels, for each run of 64 slots.
    pub(crate) squares: Vec<SquareFactors>,
    /// Lane factors of the squares in 32 bits. Empty unless q is below 2^31.
    pub(crate) short_squares: Vec<[ShortFactors; 7]>,
    pub(crate) doubles: Doubles,
}

/// The factors as doubles centered around zero, for floating-point arithmetic. Empty if q is below
/// 2^31 or wide.
#[cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128")),
    expect(dead_code, reason = "some are for vector backends alone")
)]
#[derive(Debug, Clone, Default)]
pub(crate) struct Doubles {
    /// Factors of all levels but the last six, numbered as in [`Direction::factors`]: the factor,
    /// and the factor over q.
    pub(crate) factors: Vec<[f64; 2]>,
    pub(crate) squares: Vec<SquareDoubles>,
}

/// [`SquareFactors`] as doubles; lane factors over q would take more memory than they save time.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub(crate) struct SquareDoubles {
    pub(crate) lanes: [[f64; 8]; 7],
    pub(crate) rows: [[f64; 2]; 7],
}

/// The factors of one run of 64 slots, seen as a square: of each level, one for each block. Levels
/// that pair rows come first, levels that pair lanes second, and of each three the one with the
/// longest blocks first.
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

/// Eight factors of 32 bits, with quotients by 32 bits.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(32))]
pub(crate) struct ShortFactors {
    pub(crate) w: [u32; 8],
    pub(crate) quotient: [u32; 8],
}

/// How many of the reductions between levels can be omitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reduction {
    /// Values may grow through all levels and stay below 2^52, the limit of the multipliers. For a
    /// wide modulus this says that the forward transform may, up to 2^64; the inverse, where values
    /// double, may not.
    AtTheEnd,
    /// Values are kept below 4q, which is below 2^52 for every narrow [`Modulus`]; below 8q, which
    /// is below 2^63, for a wide one.
    EachLevel,
}

impl Tables {
    pub(crate) fn new(n: usize, modulus: Modulus) -> Option<Self> {
        let q = modulus.value();
        if !n.is_power_of_two() || !(64..=16384).contains(&n) {
            return None;
        }
        let wide = modulus.bits() > 50;
        let levels = u64::from(n.trailing_zeros());
        let root = root(n, &modulus)?;
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
        let factor = |w: u64| Factor::new(w, q, wide);
        let direction = |base: u64| Direction::new(&powers(base), &modulus, factor);
        let inverse = direction(modulus.inv(root));
        let n_inv = modulus.inv(n as u64 % q);
        let scale = [factor(n_inv), factor(modulus.mul(n_inv, inverse.factors[1].w))];
        let (growth, limit) = if wide {
            // Forward, a level adds at most 4q to values that start below (4 levels + 1) q.
            (8 * levels + 1, 1 << 64)
        } else {
            // Forward, a level adds at most 2q to values that start below (2 levels + 2) q: see
            // the bias in the kernels. Inverse, a level doubles values that start below 2q.
            ((4 * levels + 4).max(2 << levels), 1 << 52)
        };
        let lazy = u128::from(growth) * u128::from(q) < limit;
        let power_of_2 = |e: u32| modulus.reduce_u128(1 << e);
        Some(Tables {
            n,
            modulus,
            root,
            wide,
            halves: [0, 64].map(|e| Factor::new(power_of_2(e), q, true)),
            barrett: (limit / u128::from(q)) as u64,
            barrett_product: ((limit >> 1 << modulus.bits()) / u128::from(q)) as u64,
            folds: if wide { [30, 60] } else { [51, 51] }.map(|e| factor(power_of_2(e))),
            forward: direction(root),
            inverse,
            scale,
            reduction: if lazy { Reduction::AtTheEnd } else { Reduction::EachLevel },
        })
    }

    /// Reduces any 128-bit number without a division.
    #[inline]
    pub(crate) fn reduce(&self, x: u128) -> u64 {
        let [low, high] = self.halves;
        let q = self.modulus.value();
        self.modulus.add(low.times(x as u64, q), high.times((x >> 64) as u64, q))
    }

    /// Reverses the index bits.
    pub(crate) fn brev(&self, i: usize) -> usize {
        i.reverse_bits() >> (usize::BITS - self.n.trailing_zeros())
    }
}

impl Direction {
    fn new(w: &[u64], modulus: &Modulus, factor: impl Fn(u64) -> Factor) -> Self {
        let (n, bits) = (w.len(), modulus.bits());
        let factors: Vec<Factor> = w.iter().map(|&w| factor(w)).collect();
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
        let squares: Vec<_> = (0..n / 64).map(square).collect();
        let short = |f: &LaneFactors| ShortFactors {
            w: f.w.map(|w| w as u32),
            quotient: f.quotient.map(|quotient| (quotient >> 20) as u32),
        };
        let short_squares = squares.iter().take(if bits < 32 { n / 64 } else { 0 });
        let short_squares = short_squares.map(|square| square.lanes.each_ref().map(short)).collect();
        let doubles =
            if (32..51).contains(&bits) { Doubles::new(w, &squares, modulus) } else { Doubles::default() };
        Direction { short_squares, doubles, squares, factors }
    }
}

impl Doubles {
    fn new(w: &[u64], squares: &[SquareFactors], modulus: &Modulus) -> Self {
        let q = modulus.value() as f64;
        // Below 2^49, so that the conversion is exact.
        let centered = |w: u64| modulus.centered(w) as f64;
        let with_over_q = |w: u64| [centered(w), centered(w) / q];
        let square = |f: &SquareFactors| SquareDoubles {
            lanes: f.lanes.map(|lanes| lanes.w.map(centered)),
            rows: f.rows.map(|factor| with_over_q(factor.w)),
        };
        Doubles {
            factors: w[..w.len() / 64].iter().map(|w| with_over_q(*w)).collect(),
            squares: squares.iter().map(square).collect(),
        }
    }
}

impl Factor {
    pub(crate) fn new(w: u64, q: u64, wide: bool) -> Self {
        let bits = if wide { 64 } else { 52 };
        Factor { w, quotient: ((u128::from(w) << bits) / u128::from(q)) as u64 }
    }

    /// Computes `x w`, reduced, for any `x`, by a quotient of 64 bits.
    #[inline]
    pub(crate) fn times(self, x: u64, q: u64) -> u64 {
        let quotient = ((u128::from(x) * u128::from(self.quotient)) >> 64) as u64;
        let r = x.wrapping_mul(self.w).wrapping_sub(quotient.wrapping_mul(q));
        r.min(r.wrapping_sub(q))
    }
}

/// Finds a root of unity of order `2n`, modulo both primes of a product at once.
fn root(n: usize, modulus: &Modulus) -> Option<u64> {
    let q = modulus.value();
    let Some([q1, q2]) = modulus.factors() else {
        if !(q - 1).is_multiple_of(2 * n as u64) {
            return None;
        }
        // The first number whose power has order 2n exactly. Half of all numbers do.
        return (2..q)
            .map(|g| modulus.pow(g, (q - 1) / (2 * n as u64)))
            .find(|&r| modulus.pow(r, n as u64) == q - 1);
    };
    // The Chinese remainder theorem: r1 + q1 ((r2 - r1) / q1 mod q2).
    let (q1, q2) = (Modulus::new(q1)?, Modulus::new(q2)?);
    let (r1, r2) = (root(n, &q1)?, root(n, &q2)?);
    let difference = q2.sub(r2, q2.reduce(r1));
    Some(r1 + q1.value() * q2.mul(difference, q2.inv(q2.reduce(q1.value()))))
}

/// Converts a slot index to the index in plain bit-reversed order, and back.
pub(crate) fn transpose(i: usize) -> usize {
    i & !63 | (i & 7) << 3 | i >> 3 & 7
}

/// The automorphism X -> X^k for one length, as a permutation of slots.
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "some are for vector backends alone"))]
#[derive(Debug, Clone)]
pub struct Automorphism {
    k: usize,
    /// Source of each square of 64 slots.
    pub(crate) squares: Vec<SquareSource>,
    /// Source lane of each lane, by the carry modulo 8.
    pub(crate) lanes: [Lanes; 8],
    /// Lanes whose rows rotate by 1, by 2 and by 4, by the carry.
    pub(crate) turns: Vec<[u8; 3]>,
    /// Rows of a square that receive the rotated rows, in the order of `h`: `k h` in reversed bits.
    pub(crate) rows: [usize; 8],
    /// Source slot of each slot of a square, by the carry: lanes and rows combined.
    pub(crate) orders: Vec<[u8; 64]>,
}

/// The source of a square, and the carry into it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SquareSource {
    pub(crate) square: u32,
    pub(crate) carry: u8,
}

/// Eight lane numbers, in a register's alignment.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Lanes(pub(crate) [u64; 8]);

impl Automorphism {
    pub(crate) fn new(n: usize, k: usize) -> Option<Self> {
        if k.is_multiple_of(2) || k >= 2 * n {
            return None;
        }
        let squares = n / 64;
        let bits = squares.trailing_zeros();
        let origin = |square: usize| {
            // Shifted twice, since a shift by all bits is refused: with a single square, r has no
            // bits.
            let r = square.reverse_bits() >> (usize::BITS - 1 - bits) >> 1;
            let image = k * r + (k - 1) / 2;
            let from = (image % squares).reverse_bits() >> (usize::BITS - 1 - bits) >> 1;
            SquareSource { square: from as u32, carry: (image / squares % 64) as u8 }
        };
        let image = |lane: usize, carry: usize| k * brev3(lane) + carry;
        let lanes = [0, 1, 2, 3, 4, 5, 6, 7];
        let turn = |carry: usize, by: usize| {
            let turned = |lane: usize| ((image(lane, carry) / 8) & by).min(1) << lane;
            lanes.map(turned).into_iter().sum::<usize>() as u8
        };
        let order = |carry: usize| {
            std::array::from_fn(|slot| {
                let (row, lane) = (brev3(slot / 8), slot % 8);
                let lane_image = image(lane, carry);
                (8 * brev3((k * row + lane_image / 8) % 8) + brev3(lane_image % 8)) as u8
            })
        };
        Some(Automorphism {
            k,
            rows: lanes.map(|h| brev3(k * h % 8)),
            orders: (0..64).map(order).collect(),
            squares: (0..squares).map(origin).collect(),
            lanes: lanes.map(|carry| Lanes(lanes.map(|lane| brev3(image(lane, carry) % 8) as u64))),
            turns: (0..64).map(|carry| [1, 2, 4].map(|by| turn(carry, by))).collect(),
        })
    }

    /// The exponent `k` of the automorphism.
    pub fn k(&self) -> usize {
        self.k
    }
}

/// Reverses three bits.
fn brev3(i: usize) -> usize {
    (i & 1) << 2 | i & 2 | i >> 2 & 1
}
