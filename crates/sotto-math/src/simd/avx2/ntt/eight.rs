//! The transform of moduli below 2^31, eight slots to a register.
//!
//! Slots are packed to 32 bits on entry, into the first half of the slice they came in, and
//! spread again on exit. In between, the shape is that of the AVX-512 transform: levels of long
//! blocks two at a time through memory, the last six in eight registers, a square of 64 slots
//! that is transposed in the middle. Values are always reduced.

use super::{Row, load, store};
use crate::ntt::{Factor, ShortFactors, Tables};
use core::arch::x86_64::*;

/// Rows hold eight slots of 32 bits when packed, four of 64 when not.
type Square = [Row; 8];

/// A factor and its quotient by 32 bits, in every lane or one for each.
#[derive(Clone, Copy)]
struct Factors {
    w: __m256i,
    quotient: __m256i,
}

#[target_feature(enable = "avx2")]
pub(super) fn forward(t: &Tables, x: &mut [u64]) {
    let q = modulus(t);
    let packed = pack(x);
    let mut blocks = 1;
    while t.n / blocks >= 256 {
        for (i, block) in packed.chunks_exact_mut(t.n / blocks / 8).enumerate() {
            let f = three(&t.forward.factors, blocks + i);
            for [a, b, c, d] in quarters(block) {
                let [x, z] = forward_butterfly([load(a), load(c)], f[0], q);
                let [y, w] = forward_butterfly([load(b), load(d)], f[0], q);
                store_pair([a, b], forward_butterfly([x, y], f[1], q));
                store_pair([c, d], forward_butterfly([z, w], f[2], q));
            }
        }
        blocks *= 4;
    }
    if t.n / blocks == 128 {
        for (i, block) in packed.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let f = every(t.forward.factors[blocks + i]);
            let (left, right) = block.split_at_mut(8);
            for (a, b) in left.iter_mut().zip(right) {
                let x = forward_butterfly([load(a), load(b)], f, q);
                store_pair([a, b], x);
            }
        }
    }
    for (i, square) in packed.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let (rows, lanes) = (&t.forward.squares[i].rows, &t.forward.short_squares[i]);
        let mut x = load_square(square);
        forward_pairs::<4>(&mut x, [every(rows[0]); 4], q);
        forward_pairs::<2>(&mut x, [every(rows[1]), every(rows[2]), every(rows[1]), every(rows[2])], q);
        forward_pairs::<1>(&mut x, [every(rows[3]), every(rows[4]), every(rows[5]), every(rows[6])], q);
        let mut x = transpose(x);
        forward_pairs::<4>(&mut x, [each(&lanes[0]); 4], q);
        forward_pairs::<2>(&mut x, [each(&lanes[1]), each(&lanes[2]), each(&lanes[1]), each(&lanes[2])], q);
        forward_pairs::<1>(&mut x, [each(&lanes[3]), each(&lanes[4]), each(&lanes[5]), each(&lanes[6])], q);
        store_square(square, x);
    }
    unpack(x);
}

#[target_feature(enable = "avx2")]
pub(super) fn inverse(t: &Tables, x: &mut [u64]) {
    let q = modulus(t);
    let packed = pack(x);
    for (i, square) in packed.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let (rows, lanes) = (&t.inverse.squares[i].rows, &t.inverse.short_squares[i]);
        let mut x = load_square(square);
        inverse_pairs::<1>(&mut x, [each(&lanes[3]), each(&lanes[4]), each(&lanes[5]), each(&lanes[6])], q);
        inverse_pairs::<2>(&mut x, [each(&lanes[1]), each(&lanes[2]), each(&lanes[1]), each(&lanes[2])], q);
        inverse_pairs::<4>(&mut x, [each(&lanes[0]); 4], q);
        let mut x = transpose(x);
        inverse_pairs::<1>(&mut x, [every(rows[3]), every(rows[4]), every(rows[5]), every(rows[6])], q);
        inverse_pairs::<2>(&mut x, [every(rows[1]), every(rows[2]), every(rows[1]), every(rows[2])], q);
        inverse_pairs::<4>(&mut x, [every(rows[0]); 4], q);
        store_square(square, x);
    }
    let mut blocks = t.n / 64;
    if blocks.trailing_zeros() % 2 == 1 {
        blocks /= 2;
        for (i, block) in packed.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let f = every(t.inverse.factors[blocks + i]);
            let (left, right) = block.split_at_mut(8);
            for (a, b) in left.iter_mut().zip(right) {
                let x = inverse_butterfly([load(a), load(b)], f, q);
                store_pair([a, b], x);
            }
        }
    }
    while blocks > 1 {
        blocks /= 4;
        for (i, block) in packed.chunks_exact_mut(t.n / blocks / 8).enumerate() {
            let f = three(&t.inverse.factors, blocks + i);
            for [a, b, c, d] in quarters(block) {
                let [x, y] = inverse_butterfly([load(a), load(b)], f[1], q);
                let [z, w] = inverse_butterfly([load(c), load(d)], f[2], q);
                store_pair([a, c], inverse_butterfly([x, z], f[0], q));
                store_pair([b, d], inverse_butterfly([y, w], f[0], q));
            }
        }
    }
    let scale = every(t.scale[0]);
    for row in packed {
        store(row, times(load(row), scale, q));
    }
    unpack(x);
}

/// Moves the slots, which fit 32 bits, to the first half of the slice, and returns that.
#[inline]
#[target_feature(enable = "avx2")]
fn pack(x: &mut [u64]) -> &mut [Row] {
    let rows = x.as_chunks_mut::<4>().0;
    for i in 0..rows.len() / 2 {
        let (a, b) = (load(&rows[2 * i]), load(&rows[2 * i + 1]));
        // The lower words of both, in the order of 128-bit halves, then of registers.
        let halves = _mm256_shuffle_ps::<0b10_00_10_00>(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b));
        store(&mut rows[i], _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_castps_si256(halves)));
    }
    let half = rows.len() / 2;
    &mut rows[..half]
}

/// The reverse, from the end on, so that nothing is overwritten before it is read.
#[inline]
#[target_feature(enable = "avx2")]
fn unpack(x: &mut [u64]) {
    let rows = x.as_chunks_mut::<4>().0;
    for i in (0..rows.len() / 2).rev() {
        let row = load(&rows[i]);
        store(&mut rows[2 * i], _mm256_cvtepu32_epi64(_mm256_castsi256_si128(row)));
        store(&mut rows[2 * i + 1], _mm256_cvtepu32_epi64(_mm256_extracti128_si256::<1>(row)));
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn modulus(t: &Tables) -> __m256i {
    _mm256_set1_epi32(t.modulus.value() as i32)
}

#[inline]
#[target_feature(enable = "avx2")]
fn every(f: Factor) -> Factors {
    Factors { w: _mm256_set1_epi32(f.w as i32), quotient: _mm256_set1_epi32((f.quotient >> 20) as i32) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn each(f: &ShortFactors) -> Factors {
    Factors { w: load(&f.w), quotient: load(&f.quotient) }
}

/// The factors of one block and of the two halves it falls into.
#[inline]
#[target_feature(enable = "avx2")]
fn three(factors: &[Factor], i: usize) -> [Factors; 3] {
    [every(factors[i]), every(factors[2 * i]), every(factors[2 * i + 1])]
}

/// One level between registers `D` apart, of four butterflies with a factor each.
#[inline]
#[target_feature(enable = "avx2")]
fn forward_pairs<const D: usize>(x: &mut [__m256i; 8], f: [Factors; 4], q: __m256i) {
    for i in 0..4 {
        let (u, v, f) = pair::<D>(i, &f);
        [x[u], x[v]] = forward_butterfly([x[u], x[v]], f, q);
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn inverse_pairs<const D: usize>(x: &mut [__m256i; 8], f: [Factors; 4], q: __m256i) {
    for i in 0..4 {
        let (u, v, f) = pair::<D>(i, &f);
        [x[u], x[v]] = inverse_butterfly([x[u], x[v]], f, q);
    }
}

/// Butterfly `i` of a level: which registers it pairs, and the factor of their block.
#[inline]
fn pair<const D: usize>(i: usize, f: &[Factors; 4]) -> (usize, usize, Factors) {
    let (block, at) = (i / D, i % D);
    (2 * block * D + at, (2 * block + 1) * D + at, f[block])
}

#[inline]
#[target_feature(enable = "avx2")]
fn forward_butterfly([u, v]: [__m256i; 2], f: Factors, q: __m256i) -> [__m256i; 2] {
    let product = times(v, f, q);
    [once(_mm256_add_epi32(u, product), q), back(_mm256_sub_epi32(u, product), q)]
}

#[inline]
#[target_feature(enable = "avx2")]
fn inverse_butterfly([u, v]: [__m256i; 2], f: Factors, q: __m256i) -> [__m256i; 2] {
    [once(_mm256_add_epi32(u, v), q), times(back(_mm256_sub_epi32(u, v), q), f, q)]
}

/// `x w`, reduced, for `x` of 32 bits: the quotients of even and odd lanes are made apart.
#[inline]
#[target_feature(enable = "avx2")]
fn times(x: __m256i, f: Factors, q: __m256i) -> __m256i {
    let even = _mm256_srli_epi64::<32>(_mm256_mul_epu32(x, f.quotient));
    let odd = _mm256_mul_epu32(_mm256_srli_epi64::<32>(x), _mm256_srli_epi64::<32>(f.quotient));
    let quotient = _mm256_blend_epi32::<0b1010_1010>(even, odd);
    once(_mm256_sub_epi32(_mm256_mullo_epi32(x, f.w), _mm256_mullo_epi32(quotient, q)), q)
}

/// `x - q` where that does not wrap, else `x`.
#[inline]
#[target_feature(enable = "avx2")]
fn once(x: __m256i, q: __m256i) -> __m256i {
    _mm256_min_epu32(x, _mm256_sub_epi32(x, q))
}

/// `x + q` where `x` has wrapped, else `x`.
#[inline]
#[target_feature(enable = "avx2")]
fn back(x: __m256i, q: __m256i) -> __m256i {
    _mm256_min_epu32(x, _mm256_add_epi32(x, q))
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_square(square: &Square) -> [__m256i; 8] {
    let [a, b, c, d, e, f, g, h] = square;
    [load(a), load(b), load(c), load(d), load(e), load(f), load(g), load(h)]
}

#[inline]
#[target_feature(enable = "avx2")]
fn store_square(square: &mut Square, x: [__m256i; 8]) {
    for (row, x) in square.iter_mut().zip(x) {
        store(row, x);
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store_pair([a, b]: [&mut Row; 2], [x, y]: [__m256i; 2]) {
    store(a, x);
    store(b, y);
}

/// An 8 by 8 transposition: pairs of lanes, then pairs of pairs, then halves.
#[inline]
#[target_feature(enable = "avx2")]
fn transpose([a, b, c, d, e, f, g, h]: [__m256i; 8]) -> [__m256i; 8] {
    let [x0, x1, x2, x3] = transpose_quarters([a, b, c, d]);
    let [y0, y1, y2, y3] = transpose_quarters([e, f, g, h]);
    const LOW: i32 = 0x20;
    const HIGH: i32 = 0x31;
    [
        _mm256_permute2x128_si256::<LOW>(x0, y0),
        _mm256_permute2x128_si256::<LOW>(x1, y1),
        _mm256_permute2x128_si256::<LOW>(x2, y2),
        _mm256_permute2x128_si256::<LOW>(x3, y3),
        _mm256_permute2x128_si256::<HIGH>(x0, y0),
        _mm256_permute2x128_si256::<HIGH>(x1, y1),
        _mm256_permute2x128_si256::<HIGH>(x2, y2),
        _mm256_permute2x128_si256::<HIGH>(x3, y3),
    ]
}

/// Two 4 by 4 transpositions, one in each half.
#[inline]
#[target_feature(enable = "avx2")]
fn transpose_quarters([a, b, c, d]: [__m256i; 4]) -> [__m256i; 4] {
    let (ab_low, ab_high) = (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    let (cd_low, cd_high) = (_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
    [
        _mm256_unpacklo_epi64(ab_low, cd_low),
        _mm256_unpackhi_epi64(ab_low, cd_low),
        _mm256_unpacklo_epi64(ab_high, cd_high),
        _mm256_unpackhi_epi64(ab_high, cd_high),
    ]
}

fn quarters(x: &mut [Row]) -> impl Iterator<Item = [&mut Row; 4]> {
    let (left, right) = x.split_at_mut(x.len() / 2);
    let (a, b) = left.split_at_mut(left.len() / 2);
    let (c, d) = right.split_at_mut(right.len() / 2);
    a.iter_mut().zip(b).zip(c).zip(d).map(|(((a, b), c), d)| [a, b, c, d])
}
