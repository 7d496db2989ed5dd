//! 64-byte registers: AVX-512 with byte products (VNNI) and 52-bit products (IFMA).

mod aes;
mod digits;
mod find;
mod fold;
mod gauss;
mod generic;
mod lanes;
mod ntt;
mod products;
mod rank;
mod registers;
mod scan;
mod select;
mod sha256;
mod slots;
mod tiles;

use super::avx2::Avx2;
use super::avx2::aes::AesNi;
use super::{Blocks, Kernels, Planes, scalar};
use crate::basis::Pair;
use crate::find::Either;
use crate::fold::{LANES, Lanes, Sources};
use crate::gadget::{Digits, PairDigits};
use crate::gather::{Picks, Rows};
use crate::ntt::{Automorphism, Room, Tables};
use crate::rader::{Cells, Grid, Spectrum};
use crate::slices::{Matrices, Share};
use crate::tiles::{Block, Words};

/// Proof that this processor has AVX-512 F, BW, DQ, VL, VNNI and IFMA, and POPCNT. Only the probe makes one.
pub(crate) struct Avx512(());

impl Avx512 {
    pub(crate) fn probe() -> Option<&'static dyn Kernels> {
        static PROVEN: Avx512 = Avx512(());
        let has = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vnni")
            && is_x86_feature_detected!("avx512ifma")
            && is_x86_feature_detected!("popcnt");
        has.then_some(&PROVEN)
    }
}

impl Kernels for Avx512 {
    fn name(&self) -> &'static str {
        "avx512"
    }

    fn scan(&self, groups: &[u8], queries: &[Planes<'_>], sums: &mut [i32]) {
        // SAFETY: self proves the features.
        unsafe { scan::scan(groups, queries, sums) }
    }

    fn ntt_forward(&self, t: &Tables, x: &mut [u64]) {
        // SAFETY: self proves the features.
        unsafe { ntt::forward(t, x) }
    }

    fn ntt_inverse(&self, t: &Tables, x: &mut [u64]) {
        // SAFETY: self proves the features.
        unsafe { ntt::inverse(t, x) }
    }

    fn ntt_forward_i8(&self, t: &Tables, bytes: &[i8], out: &mut [u64]) {
        // SAFETY: self proves the features.
        unsafe { ntt::forward_i8(t, bytes, out) }
    }

    fn ntt_forward_i8_mul_acc(&self, t: &Tables, bytes: &[i8], b: &[u64], sum: Room<'_>) {
        // SAFETY: self proves the features.
        unsafe { ntt::forward_i8_mul_acc(t, bytes, b, sum) }
    }

    fn mul_acc(&self, t: &Tables, acc: &mut [u64], a: &[u64], b: &[u64]) {
        // SAFETY: self proves the features.
        unsafe { products::mul_acc(t, acc, a, b) }
    }

    fn mul_acc_wide(&self, t: &Tables, a: &[u64], b: &[u64], sum: Room<'_>) {
        if t.wide {
            return scalar::mul_acc_wide(t, a, b, sum.cells);
        }
        // SAFETY: self proves the features.
        unsafe { products::mul_acc_wide(a, b, sum.cells) }
    }

    fn dot(&self, h: &[u32], n: usize, s: &[&[i32]], y: &mut [&mut [i64]]) {
        // SAFETY: self proves the features.
        unsafe { generic::dot(h, n, s, y) }
    }

    fn tiles(&self, form: &Words, block: Block<'_>, sums: &mut [&mut [[u64; 8]]]) {
        // SAFETY: self proves the features.
        unsafe { tiles::tiles(form, block, sums) }
    }

    fn select(&self, blocks: &[[u8; 64]], queries: usize, selections: &[Matrices], sums: &mut [[u8; 64]]) {
        if is_x86_feature_detected!("gfni") {
            // SAFETY: self proves AVX-512, and GFNI was asked for.
            unsafe { select::select(blocks, queries, selections, sums) }
        } else {
            scalar::select(blocks, queries, selections, sums);
        }
    }

    fn read(&self, bytes: &[u8]) -> u64 {
        // SAFETY: self proves the features.
        unsafe { generic::read(bytes) }
    }

    fn gauss(&self, thresholds: &[u64], uniform: &[u64], out: &mut [i32]) {
        // SAFETY: self proves the features.
        unsafe { gauss::gauss(thresholds, uniform, out) }
    }

    fn aes(&self) -> &'static dyn Blocks {
        aes::Vaes::probe().or_else(AesNi::probe).unwrap_or(&scalar::Plain)
    }

    fn either16(&self, sought: &Either<'_>, base: u32, room: &mut [u32], count: usize) -> usize {
        // SAFETY: self proves the features.
        unsafe { find::either16(sought, base, room, count) }
    }

    fn gather(&self, rows: Rows<'_>, picks: Picks<'_>, parities: [&mut [u8]; 2]) {
        // SAFETY: self proves the features.
        unsafe { generic::gather(rows, picks, parities) }
    }

    fn tally(&self, values: &[u8], x: u8, equal: &mut [u64]) -> [usize; 2] {
        // SAFETY: self proves the features.
        unsafe { rank::tally(values, x, equal) }
    }

    fn compare(&self, values: &[[u8; 16]], bounds: &[u8], less: &mut [u16], equal: &mut [u16]) {
        // SAFETY: self proves the features.
        unsafe { rank::compare(values, bounds, less, equal) }
    }

    fn add_rows(&self, from: Sources<'_>, places: &[[u32; LANES]], parities: &mut [u8]) {
        // SAFETY: self proves the features.
        unsafe { generic::add_rows(from, places, parities) }
    }

    fn nodes(&self, pairs: &[[[u8; 32]; 2]], out: &mut [[u8; 32]]) {
        // SAFETY: self proves the features.
        unsafe { sha256::nodes(pairs, out) }
    }

    fn places(&self, lanes: Lanes<'_>, first: usize, chosen: &[u16], out: &mut [[u32; LANES]]) {
        // SAFETY: self proves the features.
        unsafe { fold::places(lanes, first, chosen, out) }
    }

    fn matrices(&self, shares: &[Share<'_>], step: usize, out: &mut [Matrices]) {
        // SAFETY: self proves the features.
        unsafe { select::matrices(shares, step, out) }
    }

    fn permute(&self, a: &Automorphism, x: &[u64], out: &mut [u64]) {
        // SAFETY: self proves the features.
        unsafe { slots::permute(a, x, out) }
    }

    fn cyclic(&self, g: &Grid, spectrum: &Spectrum, cells: &mut Cells) {
        match Avx2::probe() {
            Some(half) => half.cyclic(g, spectrum, cells),
            None => scalar::cyclic(g, spectrum, cells),
        }
    }

    fn add(&self, t: &Tables, x: &mut [u64], y: &[u64]) {
        // SAFETY: self proves the features.
        unsafe { slots::add(t, x, y) }
    }

    fn sub(&self, t: &Tables, x: &mut [u64], y: &[u64]) {
        // SAFETY: self proves the features.
        unsafe { slots::sub(t, x, y) }
    }

    fn mul(&self, t: &Tables, x: &mut [u64], y: &[u64]) {
        // SAFETY: self proves the features.
        unsafe { slots::mul(t, x, y) }
    }

    fn split(&self, t: &Tables, c: &mut [u64], s: &[u64], m: &[u64], odd: &mut [u64]) {
        // SAFETY: self proves the features.
        unsafe { slots::split(t, c, s, m, odd) }
    }

    fn sum_of_products(&self, t: &Tables, a: &[&[u64]], b: &[&[u64]], add: bool, out: &mut [u64]) {
        // SAFETY: self proves the features.
        unsafe { slots::sum_of_products(t, a, b, add, out) }
    }

    fn decompose(&self, d: &Digits, x: &[u64], out: &mut [u64]) {
        // SAFETY: self proves the features.
        unsafe { digits::decompose(d, x, out) }
    }

    fn decompose_pair(&self, d: &PairDigits, x: [&[u64]; 2], out: [&mut [u64]; 2]) {
        // SAFETY: self proves the features.
        unsafe { digits::decompose_pair(d, x, out) }
    }

    fn centred(&self, p: &Pair, x: &[u64], out: &mut [u64]) {
        // SAFETY: self proves the features.
        unsafe { digits::centred(p, x, out) }
    }

    fn lower(&self, p: &Pair, x: &mut [u64], correction: &[u64]) {
        // SAFETY: self proves the features.
        unsafe { digits::lower(p, x, correction) }
    }
}
