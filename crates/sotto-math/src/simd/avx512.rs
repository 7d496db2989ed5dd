//! 64-byte registers: AVX-512 with byte products (VNNI) and 52-bit products (IFMA), and where the
//! processor has them tiles of bytes (AMX).

mod aes;
mod amx;
mod compare;
mod cyclic;
mod digits;
mod fold;
mod ntt;
mod products;
mod registers;
mod scan;
mod select;
mod sha256;
mod slots;
mod tiles;

use super::args::ntt::Automorphism;
use super::args::tiles::WordFormat;
use super::args::{AccumulatorMut, ModulusPair, ResidueLift};
use super::avx2::aes::AesNi;
use super::shapes::{ScanShape, SelectShape, TilesShape};
use super::{Blocks, Kernels, scalar};
use crate::simd::args::gadget::{GadgetDigits, PairDigits};
use crate::simd::args::grid::{Cells, Grid, Spectrum};
use crate::simd::args::ntt::Tables;
use crate::simd::args::tiles::Block;
use crate::simd::args::{
    LANES, PartitionRows, Planes, RowPicks, RowSources, SelectionMatrices, SelectionShare, SetOffsets,
};

/// The [generic](crate::simd::generic) kernels, compiled for AVX-512.
mod generic {
    use super::registers::Zmm;
    use super::*;
    use crate::simd::avx2::registers::{Xmm, Ymm};
    use crate::simd::generic;

    compiled_generic!("avx512f,avx512vl", Zmm::new(), Ymm::new(), Xmm(()));
}

/// Proof that this processor has AVX-512 F, BW, DQ, VL, VNNI, IFMA and VBMI2, and POPCNT. Only the probe makes one.
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
            && is_x86_feature_detected!("avx512vbmi2")
            && is_x86_feature_detected!("popcnt");
        has.then_some(&PROVEN)
    }
}

/// Proof that this processor has what [`Avx512`] proves and tiles of bytes (AMX), and that the system lets the process use
/// them. Only the probe makes one, and tests.
pub(crate) struct Amx(());

impl Amx {
    pub(crate) fn probe() -> Option<&'static dyn Kernels> {
        static PROVEN: Amx = Amx(());
        (Avx512::probe().is_some() && amx::is_permitted()).then_some(&PROVEN)
    }

    /// Tiles by an emulator.
    #[cfg(all(test, target_os = "linux"))]
    pub(crate) fn emulated() -> Option<&'static dyn Kernels> {
        static EMULATED: Amx = Amx(());
        (Avx512::probe().is_some() && !amx::is_permitted()).then(|| {
            amx::emulator::install();
            &EMULATED as &dyn Kernels
        })
    }
}

/// What both backends share: all but the scan of many planes.
macro_rules! avx512_kernels {
    () => {
        compiled_by_all!();
        compiled! {
            scan::scan as scan(shape: &ScanShape, groups: &[u8], queries: &[Planes<'_>], sums: &mut [i32]);
            ntt::forward_i8_mul_acc as ntt_forward_i8_mul_acc(t: &Tables, bytes: &[i8], b: &[u64], sum: AccumulatorMut<'_>);
            ntt::forward_from as ntt_forward_from(t: &Tables, p: &ModulusPair, carry: ResidueLift, x: &[u64], out: &mut [u64]);
            slots::paired_products as paired_products(t: &Tables, a: &[&[u64]], b: &[&[u64]], out: [&mut [u64]; 2]);
            ntt::inverse_to as ntt_inverse_to(t: &Tables, x: &[u64], out: &mut [u64]);
            products::mul_acc as mul_acc(t: &Tables, acc: &mut [u64], a: &[u64], b: &[u64]);
            sha256::nodes as nodes(pairs: &[[[u8; 32]; 2]], out: &mut [[u8; 32]]);
            fold::places as places(lanes: SetOffsets<'_>, first: usize, chosen: &[u16], out: &mut [[u32; LANES]]);
            select::matrices as matrices(shares: &[SelectionShare<'_>], step: usize, out: &mut [SelectionMatrices]);
            cyclic::cyclic as cyclic(g: &Grid, spectrum: &Spectrum, cells: &mut Cells);
            slots::permute as permute(a: &Automorphism, x: &[u64], out: &mut [u64]);
            digits::decompose_pair as decompose_pair(d: &PairDigits, x: [&[u64]; 2], out: [&mut [u64]; 2]);
        }

        fn mul_acc_wide(&self, t: &Tables, a: &[u64], b: &[u64], sum: AccumulatorMut<'_>) {
            if t.wide {
                return scalar::mul_acc_wide(t, a, b, sum.cells);
            }
            // SAFETY: self proves the features.
            unsafe { products::mul_acc_wide(a, b, sum.cells) }
        }

        fn select(
            &self,
            shape: &SelectShape,
            blocks: &[[u8; 64]],
            queries: usize,
            selections: &[SelectionMatrices],
            sums: &mut [[u8; 64]],
        ) {
            if is_x86_feature_detected!("gfni") {
                // SAFETY: self proves AVX-512, and GFNI was asked for.
                unsafe { select::select(shape, blocks, queries, selections, sums) }
            } else {
                scalar::select(blocks, queries, selections, sums);
            }
        }

        fn aes(&self) -> &'static dyn Blocks {
            aes::Vaes::probe().or_else(AesNi::probe).unwrap_or(&scalar::ScalarAes)
        }
    };
}

impl Kernels for Avx512 {
    fn name(&self) -> &'static str {
        "avx512"
    }

    avx512_kernels!();
}

impl Kernels for Amx {
    fn name(&self) -> &'static str {
        "amx"
    }

    fn arrange(&self, queries: &[Planes<'_>]) -> Vec<u32> {
        amx::arrange(queries)
    }

    fn scan_arranged(
        &self,
        shape: &ScanShape,
        groups: &[u8],
        queries: &[Planes<'_>],
        arranged: &[u32],
        sums: &mut [i32],
    ) {
        if arranged.is_empty() {
            return self.scan(shape, groups, queries, sums);
        }
        // SAFETY: self proves the tiles.
        unsafe { amx::scan(groups, arranged, sums) }
    }

    avx512_kernels!();
}
