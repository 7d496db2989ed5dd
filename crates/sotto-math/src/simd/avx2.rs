//! 32-byte registers: AVX2, FMA and POPCNT, which every x86 processor of the last ten years has.

pub(super) mod aes;
mod bytes;
mod cyclic;
mod digits;
mod gauss;
mod generic;
mod lanes;
mod ntt;
mod rank;
pub(super) mod registers;
mod scan;
mod select;
mod slots;
mod tiles;

use super::{Blocks, Kernels, Planes, scalar};
use crate::basis::Pair;
use crate::fold::{LANES, Sources};
use crate::gadget::Digits;
use crate::gather::{Picks, Rows};
use crate::ntt::{Room, Tables};
use crate::rader::{Cells, Grid, Spectrum};
use crate::slices::Matrices;
use crate::tiles::{Block, Words};

/// Proof that this processor has AVX2, FMA and POPCNT. Only the probe makes one.
pub(crate) struct Avx2(());

impl Avx2 {
    pub(crate) fn probe() -> Option<&'static dyn Kernels> {
        static PROVEN: Avx2 = Avx2(());
        let has = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("popcnt");
        has.then_some(&PROVEN)
    }
}

/// Proof that this processor has AVX2, FMA, POPCNT and AVX-VNNI. Only the probe makes one.
pub(crate) struct AvxVnni(());

impl AvxVnni {
    pub(crate) fn probe() -> Option<&'static dyn Kernels> {
        static PROVEN: AvxVnni = AvxVnni(());
        (Avx2::probe().is_some() && is_x86_feature_detected!("avxvnni")).then_some(&PROVEN)
    }
}

/// One implementation of [`Kernels`] for both: they differ in the scan alone.
macro_rules! kernels {
    ($backend:ident, $name:literal, $scan:path) => {
        impl Kernels for $backend {
            fn name(&self) -> &'static str {
                $name
            }

            fn scan(&self, groups: &[u8], queries: &[Planes<'_>], sums: &mut [i32]) {
                // SAFETY: self proves the features.
                unsafe { $scan(groups, queries, sums) }
            }

            fn ntt_forward(&self, t: &Tables, x: &mut [u64]) {
                // SAFETY: self proves AVX2 and FMA.
                unsafe { ntt::forward(t, x) }
            }

            fn ntt_inverse(&self, t: &Tables, x: &mut [u64]) {
                // SAFETY: self proves AVX2 and FMA.
                unsafe { ntt::inverse(t, x) }
            }

            fn ntt_forward_i8(&self, t: &Tables, bytes: &[i8], out: &mut [u64]) {
                // SAFETY: self proves AVX2 and FMA.
                unsafe { ntt::forward_i8(t, bytes, out) }
            }

            fn ntt_forward_i8_mul_acc(&self, t: &Tables, bytes: &[i8], b: &[u64], sum: Room<'_>) {
                self.ntt_forward_i8(t, bytes, sum.scratch);
                scalar::mul_acc_wide(t, sum.scratch, b, sum.cells);
            }

            fn mul_acc(&self, t: &Tables, acc: &mut [u64], a: &[u64], b: &[u64]) {
                scalar::mul_acc(t, acc, a, b);
            }

            fn mul_acc_wide(&self, t: &Tables, a: &[u64], b: &[u64], sum: Room<'_>) {
                scalar::mul_acc_wide(t, a, b, sum.cells);
            }

            fn dot(&self, h: &[u32], n: usize, s: &[&[i32]], y: &mut [&mut [i64]]) {
                // SAFETY: self proves AVX2.
                unsafe { generic::dot(h, n, s, y) }
            }

            fn tiles(&self, form: &Words, block: Block<'_>, sums: &mut [&mut [[u64; 8]]]) {
                // SAFETY: self proves AVX2 and FMA.
                unsafe { tiles::tiles(form, block, sums) }
            }

            fn select(
                &self,
                blocks: &[[u8; 64]],
                queries: usize,
                selections: &[Matrices],
                sums: &mut [[u8; 64]],
            ) {
                // SAFETY: self proves AVX2.
                unsafe { select::select(blocks, queries, selections, sums) }
            }

            fn read(&self, bytes: &[u8]) -> u64 {
                // SAFETY: self proves AVX2.
                unsafe { generic::read(bytes) }
            }

            fn gauss(&self, thresholds: &[u64], uniform: &[u64], out: &mut [i32]) {
                // SAFETY: self proves AVX2.
                unsafe { gauss::gauss(thresholds, uniform, out) }
            }

            fn aes(&self) -> &'static dyn Blocks {
                aes::AesNi::probe().unwrap_or(&scalar::Plain)
            }

            fn gather(&self, rows: Rows<'_>, picks: Picks<'_>, parities: [&mut [u8]; 2]) {
                // SAFETY: self proves AVX2.
                unsafe { generic::gather(rows, picks, parities) }
            }

            fn tally(&self, values: &[u8], x: u8, equal: &mut [u64]) -> [usize; 2] {
                // SAFETY: self proves AVX2 and POPCNT.
                unsafe { rank::tally(values, x, equal) }
            }

            fn compare(&self, values: &[[u8; 16]], bounds: &[u8], less: &mut [u16], equal: &mut [u16]) {
                // SAFETY: self proves AVX2.
                unsafe { rank::compare(values, bounds, less, equal) }
            }

            fn add_rows(&self, from: Sources<'_>, places: &[[u32; LANES]], parities: &mut [u8]) {
                // SAFETY: self proves AVX2.
                unsafe { generic::add_rows(from, places, parities) }
            }

            fn cyclic(&self, g: &Grid, spectrum: &Spectrum, cells: &mut Cells) {
                // SAFETY: self proves AVX2 and FMA.
                unsafe { cyclic::cyclic(g, spectrum, cells) }
            }

            fn add(&self, t: &Tables, x: &mut [u64], y: &[u64]) {
                // SAFETY: self proves AVX2 and FMA.
                unsafe { slots::add(t, x, y) }
            }

            fn sub(&self, t: &Tables, x: &mut [u64], y: &[u64]) {
                // SAFETY: self proves AVX2 and FMA.
                unsafe { slots::sub(t, x, y) }
            }

            fn mul(&self, t: &Tables, x: &mut [u64], y: &[u64]) {
                // SAFETY: self proves AVX2 and FMA.
                unsafe { slots::mul(t, x, y) }
            }

            fn split(&self, t: &Tables, c: &mut [u64], s: &[u64], m: &[u64], odd: &mut [u64]) {
                // SAFETY: self proves AVX2 and FMA.
                unsafe { slots::split(t, c, s, m, odd) }
            }

            fn sum_of_products(&self, t: &Tables, a: &[&[u64]], b: &[&[u64]], add: bool, out: &mut [u64]) {
                // SAFETY: self proves AVX2 and FMA.
                unsafe { slots::sum_of_products(t, a, b, add, out) }
            }

            fn decompose(&self, d: &Digits, x: &[u64], out: &mut [u64]) {
                // SAFETY: self proves AVX2 and FMA.
                unsafe { slots::decompose(d, x, out) }
            }

            fn centred(&self, p: &Pair, x: &[u64], out: &mut [u64]) {
                // SAFETY: self proves AVX2 and FMA.
                unsafe { digits::centred(p, x, out) }
            }

            fn lower(&self, p: &Pair, x: &mut [u64], correction: &[u64]) {
                // SAFETY: self proves AVX2 and FMA.
                unsafe { digits::lower(p, x, correction) }
            }
        }
    };
}

kernels!(Avx2, "avx2", scan::scan);
kernels!(AvxVnni, "avxvnni", bytes::scan);
