//! The cyclic group of order 8190 as a grid of 91 by 90, and the roots of unity of its axes.
//!
//! Position `k` is in row `k mod 91` and column `k mod 90`, which is an isomorphism of groups, so a
//! transform along rows and one along columns are the transform of the whole, and neither needs
//! positions in any other order. Within a row `c` stands for `(c mod 2, c mod 5, c mod 9)` and
//! within a column `r` for `(r mod 7, r mod 13)` alike. Positions in sequence go down the diagonal,
//! so that few cache lines are in use at a time.

use super::ntt::Factor;
use crate::modulus::Modulus;

pub(crate) const ROWS: usize = 91;
pub(crate) const COLUMNS: usize = 90;
/// Number of rows, padded to registers of eight words, like that of columns. Rows are an odd number
/// of cache lines apart, so that those of a column do not fall into few sets of the caches.
pub(crate) const HEIGHT: usize = 96;
pub(crate) const WIDTH: usize = 104;

/// The words of all positions, row by row.
pub(crate) type Cells = [[u64; WIDTH]; HEIGHT];

/// A transformed factor over 8190, column by column.
pub(crate) type Spectrum = Vec<[u64; WIDTH]>;

/// Rows of each transform of length 7, for each position of the other factors; the following tables
/// are those of the other factors.
pub(crate) const SEVENS: [[u8; 7]; 13] = orbits(ROWS);
pub(crate) const THIRTEENS: [[u8; 13]; 7] = orbits(ROWS);
pub(crate) const FIVES: [[u8; 5]; 18] = orbits(COLUMNS);
pub(crate) const NINES: [[u8; 9]; 10] = orbits(COLUMNS);

/// The modulus, and the factors of the transforms along the axes.
#[derive(Debug, Clone)]
pub(crate) struct Grid {
    pub(crate) modulus: Modulus,
    /// 1 and 2^64 mod q, for reducing 128-bit sums.
    halves: [Factor; 2],
    /// A root of unity of order 8190: the product of the roots of the axes.
    root: u64,
    pub(crate) five: Roots<2>,
    pub(crate) seven: Roots<3>,
    pub(crate) nine: Nine,
    pub(crate) thirteen: Roots<6>,
}

/// Factors of a transform of an odd length `2 H + 1` for sums and differences of opposite
/// positions.
///
/// With `v` the root, entry `j` of row `k` is `(v^(jk) + v^(-jk)) / 2`, counted from 1; and with a
/// minus. These are cosine and sine in a prime field, and halve the products.
#[derive(Debug, Clone)]
pub(crate) struct Roots<const H: usize> {
    pub(crate) even: [[Root; H]; H],
    pub(crate) odd: [[Root; H]; H],
}

/// Factors of a transform of length 9, which is three of 3, four twiddle factors, and three of 3
/// (Cooley and Tukey, 1965).
///
/// A transform of length 3 takes a single product, since the powers of its root add up to zero:
/// `a + b + c`, `a - c + v (b - c)` and `a - b - v (b - c)`.
#[derive(Debug, Clone)]
pub(crate) struct Nine {
    /// The root of order 3.
    pub(crate) third: Root,
    /// The root of order 9 to the powers 1, 2 and 4.
    pub(crate) twiddles: [Root; 3],
}

/// A factor as an integer, also with its quotient for products of 52 bits, and for floating-point
/// arithmetic as a double centered around zero and the same over q.
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "some are for vector backends alone"))]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Root {
    pub(crate) factor: Factor,
    pub(crate) scaled: u64,
    pub(crate) centered: f64,
    pub(crate) over_q: f64,
}

/// The index of a position among the cells.
pub(crate) fn cell(k: usize) -> u16 {
    (k % ROWS * WIDTH + k % COLUMNS) as u16
}

/// The classes of numbers below `of` that differ by multiples of all factors but one, `P`; each
/// from its multiple of `P`.
const fn orbits<const P: usize, const N: usize>(of: usize) -> [[u8; P]; N] {
    let step = unit(of, P);
    let mut orbits = [[0; P]; N];
    let mut i = 0;
    while i < N {
        let mut j = 0;
        while j < P {
            // i P runs through all multiples of P once.
            orbits[i][j] = ((i * P + j * step) % of) as u8;
            j += 1;
        }
        i += 1;
    }
    orbits
}

/// The number below `of` that is 1 modulo `p` and 0 modulo the rest.
const fn unit(of: usize, p: usize) -> usize {
    let mut unit = of / p;
    while unit % p != 1 {
        unit += of / p;
    }
    unit
}

impl Grid {
    /// Makes the grid; `None` unless the modulus is a prime that is 1 modulo 8190.
    pub(crate) fn new(q: Modulus) -> Option<Self> {
        let n = ROWS * COLUMNS;
        if q.factors().is_some() || !(q.value() - 1).is_multiple_of(n as u64) {
            return None;
        }
        let exponent = (q.value() - 1) / n as u64;
        // The order is 8190 unless it divides 8190 by a prime.
        let primitive = |&r: &u64| [2, 3, 5, 7, 13].iter().all(|p| q.pow(r, n as u64 / p) != 1);
        let root = (2..q.value()).map(|g| q.pow(g, exponent)).take(1 << 10).find(primitive)?;
        let axis = |p| q.pow(root, unit(n, p) as u64);
        Some(Grid {
            halves: [0, 64].map(|e| Factor::new(q.reduce_u128(1 << e), q.value(), true)),
            five: Roots::new(&q, axis(5)),
            seven: Roots::new(&q, axis(7)),
            nine: Nine::new(&q, axis(9)),
            thirteen: Roots::new(&q, axis(13)),
            modulus: q,
            root,
        })
    }

    /// Reduces any 128-bit number without a division.
    #[inline]
    pub(crate) fn reduce(&self, x: u128) -> u64 {
        let [low, high] = self.halves;
        let q = self.modulus.value();
        self.modulus.add(low.times(x as u64, q), high.times((x >> 64) as u64, q))
    }

    /// Transforms a factor of convolutions, over 8190, axis by axis by the definition.
    pub(crate) fn spectrum(&self, mut x: Vec<u64>) -> Spectrum {
        let (q, n) = (&self.modulus, x.len());
        for p in [2, 5, 7, 9, 13] {
            let step = unit(n, p);
            let root = q.pow(self.root, step as u64);
            let powers: Vec<u64> = (0..p as u64).map(|e| q.pow(root, e)).collect();
            for start in (0..n).step_by(p) {
                let places: Vec<usize> = (0..p).map(|j| (start + j * step) % n).collect();
                let before: Vec<u64> = places.iter().map(|at| x[*at]).collect();
                for (i, at) in places.into_iter().enumerate() {
                    let factors = (0..p).map(|j| powers[i * j % p]);
                    x[at] = before.iter().zip(factors).fold(0, |sum, (x, f)| q.add(sum, q.mul(*x, f)));
                }
            }
        }
        let over = q.inv(n as u64);
        let mut spectrum = vec![[0; WIDTH]; COLUMNS];
        for (k, x) in x.into_iter().enumerate() {
            spectrum[k % COLUMNS][k % ROWS] = q.mul(x, over);
        }
        spectrum
    }
}

impl<const H: usize> Roots<H> {
    fn new(q: &Modulus, root: u64) -> Self {
        let half = q.inv(2);
        let table = |odd: bool| {
            std::array::from_fn(|k| {
                std::array::from_fn(|j| {
                    let power = q.pow(root, ((j + 1) * (k + 1)) as u64);
                    let inverse = q.inv(power);
                    let sum = if odd { q.sub(power, inverse) } else { q.add(power, inverse) };
                    Root::new(q, q.mul(sum, half))
                })
            })
        };
        Roots { even: table(false), odd: table(true) }
    }
}

impl Nine {
    fn new(q: &Modulus, root: u64) -> Self {
        let power = |e| Root::new(q, q.pow(root, e));
        Nine { third: power(3), twiddles: [1, 2, 4].map(power) }
    }
}

impl Root {
    fn new(q: &Modulus, w: u64) -> Self {
        // Below 2^49, so that the conversion is exact.
        let centered = q.centered(w) as f64;
        let over_q = centered / q.value() as f64;
        let scaled = q.reduce_u128(u128::from(w) << 52);
        Root { factor: Factor::new(w, q.value(), false), scaled, centered, over_q }
    }
}
