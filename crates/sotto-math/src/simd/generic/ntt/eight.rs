//! The transform of moduli below 2^31, eight slots per register.
//!
//! Slots are packed to 32 bits on entry, into the first half of their slice, and spread again on
//! exit. In between, the structure is that of the AVX-512 transform: levels of long blocks two at a
//! time through memory, the last six in eight registers, a square of 64 slots that is transposed in
//! the middle. Values are always reduced.

use super::super::Register;
use crate::simd::args::ntt::{Factor, ShortFactors, Tables};

type Row = [u64; 4];

/// Rows hold eight slots of 32 bits when packed, four of 64 when not.
type Square = [Row; 8];

/// Registers of 32 bytes with arithmetic on eight words of 32 bits.
pub(in crate::simd) trait Words: Register {
    /// Repeats a word in every lane.
    fn splat_word(self, x: u32) -> Self::Value;

    /// Computes the sums, wrapping.
    fn add_words(self, a: Self::Value, b: Self::Value) -> Self::Value;

    /// Computes the differences, wrapping.
    fn sub_words(self, a: Self::Value, b: Self::Value) -> Self::Value;

    /// Computes the minima.
    fn min_words(self, a: Self::Value, b: Self::Value) -> Self::Value;

    /// Computes the lower halves of the products.
    fn mul_words(self, a: Self::Value, b: Self::Value) -> Self::Value;

    /// Prepares the input of [`quotients`](Self::quotients): `floor(2^32 w / q)`, or fewer bits of
    /// it.
    fn ready(self, quotient: Self::Value) -> Self::Value;

    /// Computes, for `x` below 2^31, the quotient of `x w` by q or one less.
    fn quotients(self, x: Self::Value, ready: Self::Value) -> Self::Value;

    /// Packs the lower words of the 64-bit lanes of two registers.
    fn pack(self, x: [Self::Value; 2]) -> Self::Value;

    /// Spreads the words of a register to the 64-bit lanes of two.
    fn unpack(self, x: Self::Value) -> [Self::Value; 2];

    /// Transposes 8 by 8 words.
    fn transpose_words(self, rows: [Self::Value; 8]) -> [Self::Value; 8];
}

/// A factor and its quotient by 32 bits, in every lane or one for each.
#[derive(Clone, Copy)]
struct Factors<V> {
    w: V,
    quotient: V,
}

/// The context of the transform: the registers, and the modulus in every lane.
#[derive(Clone, Copy)]
struct Lanes<R: Words> {
    r: R,
    q: R::Value,
}

#[inline(always)]
pub(super) fn forward<R: Words>(r: R, t: &Tables, x: &mut [u64]) {
    let l = Lanes::new(r, t);
    let packed = l.pack(x);
    let mut blocks = 1;
    while t.n / blocks >= 256 {
        for (i, block) in packed.chunks_exact_mut(t.n / blocks / 8).enumerate() {
            let f = l.three(&t.forward.factors, blocks + i);
            for [a, b, c, d] in quarters(block) {
                let [x, z] = l.forward([r.load(a), r.load(c)], f[0]);
                let [y, w] = l.forward([r.load(b), r.load(d)], f[0]);
                l.store_pair([a, b], l.forward([x, y], f[1]));
                l.store_pair([c, d], l.forward([z, w], f[2]));
            }
        }
        blocks *= 4;
    }
    if t.n / blocks == 128 {
        for (i, block) in packed.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let f = l.every(t.forward.factors[blocks + i]);
            let (left, right) = block.split_at_mut(8);
            for (a, b) in left.iter_mut().zip(right) {
                let x = l.forward([r.load(a), r.load(b)], f);
                l.store_pair([a, b], x);
            }
        }
    }
    for (i, square) in packed.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let rows = l.every_seven(&t.forward.squares[i].rows);
        let mut x = l.load_square(square);
        l.forward_square(&mut x, &rows);
        let mut x = r.transpose_words(x);
        l.forward_square(&mut x, &l.each_seven(&t.forward.short_squares[i]));
        l.store_square(square, x);
    }
    l.unpack(x);
}

#[inline(always)]
pub(super) fn inverse<R: Words>(r: R, t: &Tables, x: &mut [u64]) {
    let l = Lanes::new(r, t);
    let packed = l.pack(x);
    for (i, square) in packed.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let mut x = l.load_square(square);
        l.inverse_square(&mut x, &l.each_seven(&t.inverse.short_squares[i]));
        let mut x = r.transpose_words(x);
        l.inverse_square(&mut x, &l.every_seven(&t.inverse.squares[i].rows));
        l.store_square(square, x);
    }
    let mut blocks = t.n / 64;
    if blocks.trailing_zeros() % 2 == 1 {
        blocks /= 2;
        for (i, block) in packed.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let f = l.every(t.inverse.factors[blocks + i]);
            let (left, right) = block.split_at_mut(8);
            for (a, b) in left.iter_mut().zip(right) {
                let x = l.inverse([r.load(a), r.load(b)], f);
                l.store_pair([a, b], x);
            }
        }
    }
    while blocks > 1 {
        blocks /= 4;
        for (i, block) in packed.chunks_exact_mut(t.n / blocks / 8).enumerate() {
            let f = l.three(&t.inverse.factors, blocks + i);
            for [a, b, c, d] in quarters(block) {
                let [x, y] = l.inverse([r.load(a), r.load(b)], f[1]);
                let [z, w] = l.inverse([r.load(c), r.load(d)], f[2]);
                l.store_pair([a, c], l.inverse([x, z], f[0]));
                l.store_pair([b, d], l.inverse([y, w], f[0]));
            }
        }
    }
    let scale = l.every(t.scale[0]);
    for row in packed {
        let x = l.times(r.load(row), scale);
        r.store(row, x);
    }
    l.unpack(x);
}

impl<R: Words> Lanes<R> {
    #[inline(always)]
    fn new(r: R, t: &Tables) -> Self {
        Lanes { r, q: r.splat_word(t.modulus.value() as u32) }
    }

    /// Moves the slots, which fit 32 bits, to the first half of the slice, and returns that.
    #[inline(always)]
    fn pack(self, x: &mut [u64]) -> &mut [Row] {
        let rows = x.as_chunks_mut::<4>().0;
        for i in 0..rows.len() / 2 {
            let pair = [self.r.load(&rows[2 * i]), self.r.load(&rows[2 * i + 1])];
            self.r.store(&mut rows[i], self.r.pack(pair));
        }
        let half = rows.len() / 2;
        &mut rows[..half]
    }

    /// Spreads the slots over the slice again, from the end on, so that nothing is overwritten
    /// before it is read.
    #[inline(always)]
    fn unpack(self, x: &mut [u64]) {
        let rows = x.as_chunks_mut::<4>().0;
        for i in (0..rows.len() / 2).rev() {
            let [a, b] = self.r.unpack(self.r.load(&rows[i]));
            self.r.store(&mut rows[2 * i], a);
            self.r.store(&mut rows[2 * i + 1], b);
        }
    }

    #[inline(always)]
    fn every(self, f: Factor) -> Factors<R::Value> {
        let quotient = self.r.splat_word((f.quotient >> 20) as u32);
        Factors { w: self.r.splat_word(f.w as u32), quotient: self.r.ready(quotient) }
    }

    #[inline(always)]
    fn each(self, f: &ShortFactors) -> Factors<R::Value> {
        Factors { w: self.r.load(&f.w), quotient: self.r.ready(self.r.load(&f.quotient)) }
    }

    /// The factors of one block and of its two halves.
    #[inline(always)]
    fn three(self, factors: &[Factor], i: usize) -> [Factors<R::Value>; 3] {
        [self.every(factors[i]), self.every(factors[2 * i]), self.every(factors[2 * i + 1])]
    }

    #[inline(always)]
    fn every_seven(self, [a, b, c, d, e, f, g]: &[Factor; 7]) -> [Factors<R::Value>; 7] {
        [
            self.every(*a),
            self.every(*b),
            self.every(*c),
            self.every(*d),
            self.every(*e),
            self.every(*f),
            self.every(*g),
        ]
    }

    #[inline(always)]
    fn each_seven(self, [a, b, c, d, e, f, g]: &[ShortFactors; 7]) -> [Factors<R::Value>; 7] {
        [self.each(a), self.each(b), self.each(c), self.each(d), self.each(e), self.each(f), self.each(g)]
    }

    /// Does three levels, between registers 4, 2 and 1 apart.
    #[inline(always)]
    fn forward_square(self, x: &mut [R::Value; 8], f: &[Factors<R::Value>; 7]) {
        for i in 0..4 {
            [x[i], x[i + 4]] = self.forward([x[i], x[i + 4]], f[0]);
        }
        for i in [0, 1, 4, 5] {
            [x[i], x[i + 2]] = self.forward([x[i], x[i + 2]], f[1 + i / 4]);
        }
        for i in [0, 2, 4, 6] {
            [x[i], x[i + 1]] = self.forward([x[i], x[i + 1]], f[3 + i / 2]);
        }
    }

    #[inline(always)]
    fn inverse_square(self, x: &mut [R::Value; 8], f: &[Factors<R::Value>; 7]) {
        for i in [0, 2, 4, 6] {
            [x[i], x[i + 1]] = self.inverse([x[i], x[i + 1]], f[3 + i / 2]);
        }
        for i in [0, 1, 4, 5] {
            [x[i], x[i + 2]] = self.inverse([x[i], x[i + 2]], f[1 + i / 4]);
        }
        for i in 0..4 {
            [x[i], x[i + 4]] = self.inverse([x[i], x[i + 4]], f[0]);
        }
    }

    #[inline(always)]
    fn forward(self, [u, v]: [R::Value; 2], f: Factors<R::Value>) -> [R::Value; 2] {
        let product = self.times(v, f);
        [self.once(self.r.add_words(u, product)), self.back(self.r.sub_words(u, product))]
    }

    #[inline(always)]
    fn inverse(self, [u, v]: [R::Value; 2], f: Factors<R::Value>) -> [R::Value; 2] {
        [self.once(self.r.add_words(u, v)), self.times(self.back(self.r.sub_words(u, v)), f)]
    }

    /// Computes `x w`, reduced.
    #[inline(always)]
    fn times(self, x: R::Value, f: Factors<R::Value>) -> R::Value {
        let multiple = self.r.mul_words(self.r.quotients(x, f.quotient), self.q);
        self.once(self.r.sub_words(self.r.mul_words(x, f.w), multiple))
    }

    /// Returns `x - q` where that does not wrap, else `x`.
    #[inline(always)]
    fn once(self, x: R::Value) -> R::Value {
        self.r.min_words(x, self.r.sub_words(x, self.q))
    }

    /// Returns `x + q` where `x` has wrapped, else `x`.
    #[inline(always)]
    fn back(self, x: R::Value) -> R::Value {
        self.r.min_words(x, self.r.add_words(x, self.q))
    }

    #[inline(always)]
    fn load_square(self, [a, b, c, d, e, f, g, h]: &Square) -> [R::Value; 8] {
        let r = self.r;
        [r.load(a), r.load(b), r.load(c), r.load(d), r.load(e), r.load(f), r.load(g), r.load(h)]
    }

    #[inline(always)]
    fn store_square(self, square: &mut Square, x: [R::Value; 8]) {
        for (row, x) in square.iter_mut().zip(x) {
            self.r.store(row, x);
        }
    }

    #[inline(always)]
    fn store_pair(self, [a, b]: [&mut Row; 2], [x, y]: [R::Value; 2]) {
        self.r.store(a, x);
        self.r.store(b, y);
    }
}

fn quarters(x: &mut [Row]) -> impl Iterator<Item = [&mut Row; 4]> {
    let (left, right) = x.split_at_mut(x.len() / 2);
    let (a, b) = left.split_at_mut(left.len() / 2);
    let (c, d) = right.split_at_mut(right.len() / 2);
    a.iter_mut().zip(b).zip(c).zip(d).map(|(((a, b), c), d)| [a, b, c, d])
}
