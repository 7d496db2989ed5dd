//! The transform of moduli below 2^30 in 32-bit arithmetic, sixteen slots per register.
//!
//! Slots are packed to 32 bits on entry, into the first half of their slice, and spread again on
//! exit: half the bytes go through the caches, of values and of factors, and those take most of the
//! time. Two squares of 64 slots are processed at once, one in the lower half of each register and
//! one in the upper.
//!
//! **Bounds.** Values stay below 4q between the levels of the forward transform, and below 2q
//! between those of the inverse (Harvey 2014). A product with a factor is below 2q for any 32-bit
//! number.

use super::super::registers::{load, store};
use super::{Row, quarters_mut, store_quarters};
use crate::simd::args::ntt::{Factor, ShortFactors, Tables};
use crate::simd::args::{ModulusPair, ResidueLift};
use core::arch::x86_64::*;

/// Two squares, packed.
type Packed = [Row; 8];

/// A factor, its quotient by 32 bits, and that quotient with the odd lanes in the even ones.
#[derive(Clone, Copy)]
struct Factors {
    w: __m512i,
    quotient: __m512i,
    odd: __m512i,
}

// As macros, since the compiler would call functions of so many registers, whose values then go
// through memory.

/// Does three forward levels, between registers 4, 2 and 1 apart.
macro_rules! forward_three {
    ($l:ident, $x:ident, $f:expr) => {
        let f = $f;
        for i in 0..4 {
            [$x[i], $x[i + 4]] = $l.forward([$x[i], $x[i + 4]], f[0]);
        }
        for i in [0, 1, 4, 5] {
            [$x[i], $x[i + 2]] = $l.forward([$x[i], $x[i + 2]], f[1 + i / 4]);
        }
        for i in [0, 2, 4, 6] {
            [$x[i], $x[i + 1]] = $l.forward([$x[i], $x[i + 1]], f[3 + i / 2]);
        }
    };
}

/// Does three inverse levels, between registers 1, 2 and 4 apart.
macro_rules! inverse_three {
    ($l:ident, $x:ident, $f:expr) => {
        let f = $f;
        for i in [0, 2, 4, 6] {
            [$x[i], $x[i + 1]] = $l.inverse([$x[i], $x[i + 1]], f[3 + i / 2]);
        }
        for i in [0, 1, 4, 5] {
            [$x[i], $x[i + 2]] = $l.inverse([$x[i], $x[i + 2]], f[1 + i / 4]);
        }
        for i in 0..4 {
            [$x[i], $x[i + 4]] = $l.inverse([$x[i], $x[i + 4]], f[0]);
        }
    };
}

/// The factors of two consecutive squares.
macro_rules! seven {
    ($of:ident, $a:expr, $b:expr) => {{
        let (a, b) = ($a, $b);
        [
            $of(&a[0], &b[0]),
            $of(&a[1], &b[1]),
            $of(&a[2], &b[2]),
            $of(&a[3], &b[3]),
            $of(&a[4], &b[4]),
            $of(&a[5], &b[5]),
            $of(&a[6], &b[6]),
        ]
    }};
}

/// The modulus in every lane.
#[derive(Clone, Copy)]
struct Lanes {
    q: __m512i,
    two_q: __m512i,
}

#[target_feature(enable = "avx512f")]
pub(super) fn forward(t: &Tables, x: &mut [u64]) {
    let rows = x.as_chunks_mut::<8>().0;
    for i in 0..rows.len() / 2 {
        let row = narrowed(load(&rows[2 * i]), load(&rows[2 * i + 1]));
        store(&mut rows[i], row);
    }
    forward_packed(t, rows);
}

/// Transforms numbers that are below the pair's special modulus, which is below 4q: so they need
/// not be reduced.
#[target_feature(enable = "avx512f")]
pub(super) fn forward_from(t: &Tables, p: &ModulusPair, carry: ResidueLift, x: &[u64], out: &mut [u64]) {
    // Subtracts the special modulus above half, and adds 2q so that the result is not negative.
    let (q, special) = (t.modulus.value(), p.special().value());
    let half = _mm512_set1_epi32((special / 2) as i32);
    let down = _mm512_set1_epi32((2 * q).wrapping_sub(special) as i32);
    let (x, rows) = (x.as_chunks::<8>().0, out.as_chunks_mut::<8>().0);
    for (pair, out) in x.as_chunks::<2>().0.iter().zip(&mut *rows) {
        let mut row = narrowed(load(&pair[0]), load(&pair[1]));
        if carry == ResidueLift::Centered {
            row = _mm512_mask_add_epi32(row, _mm512_cmpgt_epu32_mask(row, half), row, down);
        }
        store(out, row);
    }
    forward_packed(t, rows);
}

/// Transforms the slots that are packed into the first half of the rows.
#[inline]
#[target_feature(enable = "avx512f")]
fn forward_packed(t: &Tables, rows: &mut [Row]) {
    let (l, half) = (Lanes::new(t), rows.len() / 2);
    l.long_forward(t, &mut rows[..half]);
    // From the end on, so that nothing is overwritten before it is read.
    for pair in (0..half / 8).rev() {
        let [a, b] = [2 * pair, 2 * pair + 1];
        let (squares, short) = (&t.forward.squares, &t.forward.short_squares);
        let mut x = squares_of(&rows[8 * pair..].as_chunks::<8>().0[0]);
        forward_three!(l, x, seven!(both, &squares[a].rows, &squares[b].rows));
        let mut x = transpose(x);
        forward_three!(l, x, seven!(each, &short[a], &short[b]));
        for (r, x) in x.into_iter().enumerate() {
            let [low, high] = widened(below(below(x, l.two_q), l.q));
            store(&mut rows[16 * pair + r], low);
            store(&mut rows[16 * pair + 8 + r], high);
        }
    }
}

/// Does the first six inverse levels of two squares, and stores their rows.
macro_rules! inverse_squares {
    ($t:ident, $l:ident, $pair:ident, $from:expr, $to:expr) => {
        let [a, b] = [2 * $pair, 2 * $pair + 1];
        let (squares, short) = (&$t.inverse.squares, &$t.inverse.short_squares);
        let mut x = [_mm512_setzero_si512(); 8];
        for (r, x) in x.iter_mut().enumerate() {
            *x = narrowed(load(&$from[16 * $pair + r]), load(&$from[16 * $pair + 8 + r]));
        }
        inverse_three!($l, x, seven!(each, &short[a], &short[b]));
        let mut x = transpose(x);
        inverse_three!($l, x, seven!(both, &squares[a].rows, &squares[b].rows));
        for k in 0..4 {
            let [first, second] = halves(x[2 * k], x[2 * k + 1]);
            store(&mut $to[8 * $pair + k], first);
            store(&mut $to[8 * $pair + 4 + k], second);
        }
    };
}

#[target_feature(enable = "avx512f")]
pub(super) fn inverse(t: &Tables, x: &mut [u64]) {
    let (l, rows) = (Lanes::new(t), x.as_chunks_mut::<8>().0);
    for pair in 0..rows.len() / 16 {
        inverse_squares!(t, l, pair, rows, rows);
    }
    inverse_packed(t, l, rows);
}

#[target_feature(enable = "avx512f")]
pub(super) fn inverse_to(t: &Tables, x: &[u64], out: &mut [u64]) {
    let (l, x, rows) = (Lanes::new(t), x.as_chunks::<8>().0, out.as_chunks_mut::<8>().0);
    for pair in 0..rows.len() / 16 {
        inverse_squares!(t, l, pair, x, rows);
    }
    inverse_packed(t, l, rows);
}

/// Does the inverse levels after the squares, of the slots that are packed into the first half of
/// the rows.
#[inline]
#[target_feature(enable = "avx512f")]
fn inverse_packed(t: &Tables, l: Lanes, rows: &mut [Row]) {
    let half = rows.len() / 2;
    l.long_inverse(t, &mut rows[..half]);
    let scale = every(t.scale[0]);
    for i in (0..half).rev() {
        let [low, high] = widened(below(l.times(load(&rows[i]), scale), l.q));
        store(&mut rows[2 * i], low);
        store(&mut rows[2 * i + 1], high);
    }
}

impl Lanes {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(t: &Tables) -> Self {
        let q = t.modulus.value() as i32;
        Lanes { q: _mm512_set1_epi32(q), two_q: _mm512_set1_epi32(2 * q) }
    }

    /// Does the levels of more than 64 slots per block.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn long_forward(self, t: &Tables, rows: &mut [Row]) {
        let mut blocks = 1;
        while t.n / blocks >= 256 {
            for (i, block) in rows.chunks_exact_mut(t.n / blocks / 16).enumerate() {
                let f = three(&t.forward.factors, blocks + i);
                for [a, b, c, d] in quarters_mut(block) {
                    let [x, z] = self.forward([load(a), load(c)], f[0]);
                    let [y, w] = self.forward([load(b), load(d)], f[0]);
                    let [x, y] = self.forward([x, y], f[1]);
                    let [z, w] = self.forward([z, w], f[2]);
                    store_quarters([a, b, c, d], [x, y, z, w]);
                }
            }
            blocks *= 4;
        }
        if t.n / blocks == 128 {
            for (i, block) in rows.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                let f = every(t.forward.factors[blocks + i]);
                let (left, right) = block.split_at_mut(4);
                for (a, b) in left.iter_mut().zip(right) {
                    let [x, y] = self.forward([load(a), load(b)], f);
                    store(a, x);
                    store(b, y);
                }
            }
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn long_inverse(self, t: &Tables, rows: &mut [Row]) {
        let mut blocks = t.n / 64;
        if blocks.trailing_zeros() % 2 == 1 {
            blocks /= 2;
            for (i, block) in rows.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                let f = every(t.inverse.factors[blocks + i]);
                let (left, right) = block.split_at_mut(4);
                for (a, b) in left.iter_mut().zip(right) {
                    let [x, y] = self.inverse([load(a), load(b)], f);
                    store(a, x);
                    store(b, y);
                }
            }
        }
        while blocks > 1 {
            blocks /= 4;
            for (i, block) in rows.chunks_exact_mut(t.n / blocks / 16).enumerate() {
                let f = three(&t.inverse.factors, blocks + i);
                for [a, b, c, d] in quarters_mut(block) {
                    let [x, y] = self.inverse([load(a), load(b)], f[1]);
                    let [z, w] = self.inverse([load(c), load(d)], f[2]);
                    let [x, z] = self.inverse([x, z], f[0]);
                    let [y, w] = self.inverse([y, w], f[0]);
                    store_quarters([a, b, c, d], [x, y, z, w]);
                }
            }
        }
    }

    /// Computes `u + v w` and `u - v w`, below 4q.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn forward(self, [u, v]: [__m512i; 2], f: Factors) -> [__m512i; 2] {
        let (u, product) = (below(u, self.two_q), self.times(v, f));
        [_mm512_add_epi32(u, product), _mm512_sub_epi32(_mm512_add_epi32(u, self.two_q), product)]
    }

    /// Computes `u + v` and `(u - v) w`, below 2q.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn inverse(self, [u, v]: [__m512i; 2], f: Factors) -> [__m512i; 2] {
        let difference = _mm512_sub_epi32(_mm512_add_epi32(u, self.two_q), v);
        [below(_mm512_add_epi32(u, v), self.two_q), self.times(difference, f)]
    }

    /// Computes `x w` modulo q, below 2q.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn times(self, x: __m512i, f: Factors) -> __m512i {
        let even = _mm512_mul_epu32(x, f.quotient);
        let odd = _mm512_mul_epu32(odd_lanes(x), f.odd);
        // The upper halves of both, each in its lane.
        let quotient = _mm512_mask_shuffle_epi32::<_MM_PERM_DDBB>(odd, 0x5555, even);
        _mm512_sub_epi32(_mm512_mullo_epi32(x, f.w), _mm512_mullo_epi32(quotient, self.q))
    }
}

/// Returns `x` or `x - b`, whichever does not wrap.
#[inline]
#[target_feature(enable = "avx512f")]
fn below(x: __m512i, b: __m512i) -> __m512i {
    _mm512_min_epu32(x, _mm512_sub_epi32(x, b))
}

/// Moves the odd lanes to the even ones.
#[inline]
#[target_feature(enable = "avx512f")]
fn odd_lanes(x: __m512i) -> __m512i {
    _mm512_shuffle_epi32::<_MM_PERM_DDBB>(x)
}

/// Packs the lower words of the 64-bit lanes of two registers.
#[inline]
#[target_feature(enable = "avx512f")]
fn narrowed(low: __m512i, high: __m512i) -> __m512i {
    let low = _mm512_castsi256_si512(_mm512_cvtepi64_epi32(low));
    _mm512_inserti64x4::<1>(low, _mm512_cvtepi64_epi32(high))
}

/// Spreads the words of a register to the 64-bit lanes of two.
#[inline]
#[target_feature(enable = "avx512f")]
fn widened(x: __m512i) -> [__m512i; 2] {
    let high = _mm512_extracti64x4_epi64::<1>(x);
    [_mm512_cvtepu32_epi64(_mm512_castsi512_si256(x)), _mm512_cvtepu32_epi64(high)]
}

/// Joins the lower halves of two registers in one, and the upper halves in another.
#[inline]
#[target_feature(enable = "avx512f")]
fn halves(a: __m512i, b: __m512i) -> [__m512i; 2] {
    [_mm512_shuffle_i64x2::<0b01_00_01_00>(a, b), _mm512_shuffle_i64x2::<0b11_10_11_10>(a, b)]
}

/// Row after row of two squares, the first one's in the lower half.
#[inline]
#[target_feature(enable = "avx512f")]
fn squares_of(rows: &Packed) -> [__m512i; 8] {
    let mut x = [_mm512_setzero_si512(); 8];
    for k in 0..4 {
        [x[2 * k], x[2 * k + 1]] = halves(load(&rows[k]), load(&rows[4 + k]));
    }
    x
}

#[inline]
#[target_feature(enable = "avx512f")]
fn every(f: Factor) -> Factors {
    let quotient = _mm512_set1_epi32((f.quotient >> 20) as i32);
    Factors { w: _mm512_set1_epi32(f.w as i32), quotient, odd: quotient }
}

/// One factor in the lower half, another in the upper.
#[inline]
#[target_feature(enable = "avx512f")]
fn both(a: &Factor, b: &Factor) -> Factors {
    let (a, b) = (every(*a), every(*b));
    let quotient = _mm512_mask_blend_epi64(0xF0, a.quotient, b.quotient);
    Factors { w: _mm512_mask_blend_epi64(0xF0, a.w, b.w), quotient, odd: quotient }
}

/// The factors of one block and of its two halves.
#[inline]
#[target_feature(enable = "avx512f")]
fn three(factors: &[Factor], i: usize) -> [Factors; 3] {
    [every(factors[i]), every(factors[2 * i]), every(factors[2 * i + 1])]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn each(a: &ShortFactors, b: &ShortFactors) -> Factors {
    let quotient = joined(&a.quotient, &b.quotient);
    Factors { w: joined(&a.w, &b.w), quotient, odd: odd_lanes(quotient) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn joined(a: &[u32; 8], b: &[u32; 8]) -> __m512i {
    // SAFETY: each is 32 bytes long, and an unaligned load needs nothing else.
    let [a, b] = unsafe { [_mm256_loadu_si256(a.as_ptr().cast()), _mm256_loadu_si256(b.as_ptr().cast())] };
    _mm512_inserti64x4::<1>(_mm512_castsi256_si512(a), b)
}

/// Transposes 8 by 8 lanes of 32 bits, in each half.
#[inline]
#[target_feature(enable = "avx512f")]
fn transpose(x: [__m512i; 8]) -> [__m512i; 8] {
    let low = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
    let high = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
    let mut pairs = [_mm512_setzero_si512(); 8];
    for i in 0..4 {
        pairs[2 * i] = _mm512_unpacklo_epi32(x[2 * i], x[2 * i + 1]);
        pairs[2 * i + 1] = _mm512_unpackhi_epi32(x[2 * i], x[2 * i + 1]);
    }
    let mut fours = [_mm512_setzero_si512(); 8];
    for i in [0, 1] {
        for k in [0, 1] {
            let [a, b] = [pairs[4 * i + k], pairs[4 * i + k + 2]];
            fours[4 * i + 2 * k] = _mm512_unpacklo_epi64(a, b);
            fours[4 * i + 2 * k + 1] = _mm512_unpackhi_epi64(a, b);
        }
    }
    let mut out = [_mm512_setzero_si512(); 8];
    for i in 0..4 {
        out[i] = _mm512_permutex2var_epi64(fours[i], low, fours[4 + i]);
        out[4 + i] = _mm512_permutex2var_epi64(fours[i], high, fours[4 + i]);
    }
    out
}
