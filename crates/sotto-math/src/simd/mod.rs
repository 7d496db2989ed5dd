//! The kernels, once per backend, and the choice between backends.
//!
//! | folder | needs |
//! |---|---|
//! | `scalar` | nothing; the others are tested against it |
//! | `avx2` | AVX2, FMA and POPCNT; with AVX-VNNI it has another scan and is called `avxvnni` |
//! | `neon` | NEON, as all 64-bit ARM has it; with byte products it has another scan and is called `neondot` |
//! | `simd128` | a build for WebAssembly with its vectors; there is no detection at run time |
//! | `avx512` | AVX-512 F, BW, DQ, VL, VNNI, IFMA and VBMI2, and POPCNT; with AMX it has another scan of many planes and is called `amx` |
//!
//! The arguments of kernels are in `args`, below both the backends and the modules that make them.
//! Each folder of a backend has the same files: `scan`, `compare`, `select`, `aes`, and `sha256`
//! where it has something faster than scalar code. Algorithms that are the same for registers of
//! every width are in `generic`, and a backend's `registers` define the operations; the same holds
//! for `ntt`, `tiles`, `slots`, `digits` and `cyclic` for registers of 32 bytes, or two of 16, and
//! `avx512` has its own. A backend is a value that only its probe can make, so holding one proves
//! that the processor has the instructions. Kernels take whole slices, so that the choice costs one
//! indirect call per slice. A new backend is a new folder and one line in [`BACKENDS`].

#[deny(unsafe_code)]
pub(crate) mod args;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128"))]
#[macro_use]
mod compiled;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128"))]
mod generic;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;
pub(crate) mod shapes;
#[cfg(target_feature = "simd128")]
#[expect(
    unused_unsafe,
    reason = "of functions for WebAssembly, which names no features at run time, compilers ask for no proof"
)]
mod simd128;

#[cfg(test)]
pub(crate) use scalar::Scalar;

use args::gadget::{GadgetDigits, PairDigits};
use args::grid::{Cells, Grid, Spectrum};
use args::ntt::{Automorphism, Tables};
use args::tiles::{Block, WordFormat};
use args::{
    AccumulatorMut, Aes, LANES, ModulusPair, Needle, PartitionRows, Planes, ResidueLift, RowPicks,
    RowSources, SelectionMatrices, SelectionShare, SetOffsets,
};
use shapes::{ScanShape, SelectShape, TilesShape};
use std::sync::OnceLock;

/// The kernels of one backend. The safe callers above this module check lengths. No memory safety
/// rests on them: backends split slices into arrays of a register's size, and what does not fit
/// would be ignored or panic.
pub(crate) trait Kernels: Sync {
    /// The backend's name: `scalar`, `avx2`, `avxvnni`, `avx512`, `amx`, `neon`, `neondot` or
    /// `simd128`.
    fn name(&self) -> &'static str;

    /// Adds the products of a run of column groups of one panel to `sums`, which has 64
    /// sums per plane, query after query, wrapping modulo 2^32.
    fn scan(&self, shape: &ScanShape, groups: &[u8], queries: &[Planes<'_>], sums: &mut [i32]);

    /// Arranges the planes of a run of column groups in an order of the backend's own, once for all
    /// panels of a pass; empty where [`scan`](Self::scan) reads them as they are.
    fn arrange(&self, _: &[Planes<'_>]) -> Vec<u32> {
        Vec::new()
    }

    /// Adds the products of [`scan`](Self::scan), given these planes in the order of
    /// [`arrange`](Self::arrange) too.
    fn scan_arranged(
        &self,
        shape: &ScanShape,
        groups: &[u8],
        queries: &[Planes<'_>],
        _arranged: &[u32],
        sums: &mut [i32],
    ) {
        self.scan(shape, groups, queries, sums);
    }

    /// Transforms reduced coefficients to reduced slots.
    fn ntt_forward(&self, t: &Tables, x: &mut [u64]);

    /// Transforms reduced slots to reduced coefficients.
    fn ntt_inverse(&self, t: &Tables, x: &mut [u64]);

    /// Transforms numbers modulo the special modulus, carried or centered, to reduced slots modulo
    /// the other, which is the plan's.
    fn ntt_forward_from(&self, t: &Tables, p: &ModulusPair, carry: ResidueLift, x: &[u64], out: &mut [u64]) {
        match carry {
            ResidueLift::Unsigned => self.carried(p, x, out),
            ResidueLift::Centered => self.centered(p, x, out),
        }
        self.ntt_forward(t, out);
    }

    /// Transforms reduced slots to reduced coefficients in another buffer.
    fn ntt_inverse_to(&self, t: &Tables, x: &[u64], out: &mut [u64]) {
        out.copy_from_slice(x);
        self.ntt_inverse(t, out);
    }

    /// Transforms signed bytes to reduced slots.
    fn ntt_forward_i8(&self, t: &Tables, bytes: &[i8], out: &mut [u64]);

    /// Transforms signed bytes to slots below 2^52, and adds their products with `b` to `sum`; by
    /// default one step after the other.
    fn ntt_forward_i8_mul_acc(&self, t: &Tables, bytes: &[i8], b: &[u64], sum: AccumulatorMut<'_>) {
        self.ntt_forward_i8(t, bytes, sum.scratch);
        scalar::mul_acc_wide(t, sum.scratch, b, sum.cells);
    }

    /// Computes `acc + a b`, reduced.
    fn mul_acc(&self, t: &Tables, acc: &mut [u64], a: &[u64], b: &[u64]);

    /// Adds the low 52 bits of `a b` to the lower halves in `sum`, the rest to the upper; for a
    /// wide modulus the halves are those of a 128-bit sum. Scalar code is as good as vectors
    /// without such a product.
    fn mul_acc_wide(&self, t: &Tables, a: &[u64], b: &[u64], sum: AccumulatorMut<'_>) {
        scalar::mul_acc_wide(t, a, b, sum.cells);
    }

    /// Multiplies rows of `h`, `n` words each, by each vector of `s`.
    fn dot(&self, h: &[u32], n: usize, s: &[&[i32]], y: &mut [&mut [i64]]);

    /// Adds a block's products to each query's sums: a line for each column and component, reduced
    /// before and after.
    fn tiles(&self, shape: &TilesShape, form: &WordFormat, block: Block<'_>, sums: &mut [&mut [[u64; 8]]]);

    /// Adds the records in bit slices that each query selects to its bits of the sums: one block of
    /// sums for each eight queries.
    fn select(
        &self,
        shape: &SelectShape,
        blocks: &[[u8; 64]],
        queries: usize,
        selections: &[SelectionMatrices],
        sums: &mut [[u8; 64]],
    );

    /// Evaluates lines at a point, modulo 2^32; all lists are of one length.
    fn affine(&self, factors: &[u32], terms: &[u32], x: u32, out: &mut [u32]);

    /// Computes the exclusive or of all 64-bit words.
    fn read(&self, bytes: &[u8]) -> u64;

    /// Counts, for each uniform word, the thresholds that do not exceed its upper 63 bits, with the
    /// sign from its lowest bit.
    fn gauss(&self, thresholds: &[u64], uniform: &[u64], out: &mut [i32]);

    /// Replaces the parities by that of all picked rows and that of half 1.
    fn gather(&self, rows: PartitionRows<'_>, picks: RowPicks<'_>, parities: [&mut [u8]; 2]);

    /// Counts the values that are less than `x`, and those that equal it; `equal` receives a bit
    /// for each of the latter.
    fn tally(&self, values: &[u8], x: u8, equal: &mut [u64]) -> [usize; 2];

    /// Compares sixteen values of each set with its bound, as bits.
    fn compare(&self, values: &[[u8; 16]], bounds: &[u8], less: &mut [u16], equal: &mut [u16]);

    /// Adds the rows at each set's positions to its parity.
    fn add_rows(&self, from: RowSources<'_>, places: &[[u32; LANES]], parities: &mut [u8]);

    // The following methods are scalar code where a backend has nothing faster.

    /// The fastest AES of the processor: its instructions are detected separately from those of the
    /// backend.
    fn aes(&self) -> &'static dyn Blocks {
        &scalar::ScalarAes
    }

    /// Makes the selections of up to eight queries matrices, one in every `step` elements.
    fn matrices(&self, shares: &[SelectionShare<'_>], step: usize, out: &mut [SelectionMatrices]) {
        scalar::matrices(shares, step, out);
    }

    /// Computes the nodes of hash trees above pairs of hashes.
    fn nodes(&self, pairs: &[[[u8; 32]; 2]], out: &mut [[u8; 32]]) {
        scalar::nodes(pairs, out);
    }

    /// Permutes slots.
    fn permute(&self, a: &Automorphism, x: &[u64], out: &mut [u64]) {
        scalar::permute(a, x, out);
    }

    /// Computes the cyclic convolution of the cells with the factor that has this spectrum, in
    /// reverse order: position `k` of it is stored in the cell of `-k`. Reduced before and after.
    fn cyclic(&self, g: &Grid, spectrum: &Spectrum, cells: &mut Cells) {
        scalar::cyclic(g, spectrum, cells);
    }

    /// Computes `x + y`, reduced.
    fn add(&self, t: &Tables, x: &mut [u64], y: &[u64]) {
        scalar::add(t, x, y);
    }

    /// Computes `x - y`, reduced.
    fn sub(&self, t: &Tables, x: &mut [u64], y: &[u64]) {
        scalar::sub(t, x, y);
    }

    /// Computes `x y`, reduced.
    fn mul(&self, t: &Tables, x: &mut [u64], y: &[u64]) {
        scalar::mul(t, x, y);
    }

    /// Computes `odd = (c - s) m`, then `c = c + s`, reduced.
    fn split(&self, t: &Tables, c: &mut [u64], s: &[u64], m: &[u64], odd: &mut [u64]) {
        scalar::split(t, c, s, m, odd);
    }

    /// Computes the sum of all `a[j] b[j]`, plus `out` if `add`, reduced. At most 2^11 products.
    fn sum_of_products(&self, t: &Tables, a: &[&[u64]], b: &[&[u64]], add: bool, out: &mut [u64]) {
        scalar::sum_of_products(t, a, b, add, out);
    }

    /// Computes the sums of all `a[j]` times both halves of `b[j]`, reduced. At most 8 products, of
    /// a modulus below 2^30.
    fn paired_products(&self, t: &Tables, a: &[&[u64]], b: &[&[u64]], out: [&mut [u64]; 2]) {
        scalar::paired_products(t, a, b, out);
    }

    /// Decomposes numbers modulo one modulus into digits.
    fn decompose(&self, d: &GadgetDigits, x: &[u64], out: &mut [u64]) {
        scalar::decompose(d, x, out);
    }

    /// Decomposes numbers modulo two moduli into digits.
    fn decompose_pair(&self, d: &PairDigits, x: [&[u64]; 2], out: [&mut [u64]; 2]) {
        scalar::decompose_pair(d, x, out);
    }

    /// Converts numbers modulo the special modulus, centered, to the other modulus.
    fn centered(&self, p: &ModulusPair, x: &[u64], out: &mut [u64]) {
        scalar::centered(p, x, out);
    }

    /// Converts numbers modulo the special modulus, as they are, to the other modulus.
    fn carried(&self, p: &ModulusPair, x: &[u64], out: &mut [u64]) {
        scalar::carried(p, x, out);
    }

    /// Computes `(x - correction)` over the special modulus.
    fn lower(&self, p: &ModulusPair, x: &mut [u64], correction: &[u64]) {
        scalar::lower(p, x, correction);
    }

    /// Computes for each set the positions of its rows, followed by that of the zeros. The first
    /// set's offsets are in block `first` of each partition.
    fn places(&self, lanes: SetOffsets<'_>, first: usize, chosen: &[u16], out: &mut [[u32; LANES]]) {
        scalar::places(lanes, first, chosen, out);
    }
}

/// AES-128 over slices whose lengths the safe callers check; the rules of [`Kernels`] hold here
/// too.
pub(crate) trait Blocks: Sync {
    /// Encrypts pairs of numbers from `from` on, in rows of `ny`, which is not zero.
    fn grid(&self, key: &Aes, from: [u64; 2], ny: u64, out: &mut [[u8; 16]]);

    /// Encrypts each input, and xors the input.
    fn mmo(&self, key: &Aes, input: &[[u8; 16]], out: &mut [[u8; 16]]);

    /// Computes `mmo` of each seed under both keys.
    fn double(&self, keys: [&Aes; 2], seeds: &[[u8; 16]], out: &mut [[u8; 16]]);

    /// Computes `mmo` of each seed with 0, 1, 2 and 3 xored to its first byte.
    fn widen(&self, key: &Aes, seeds: &[[u8; 16]], out: &mut [[u8; 16]]);

    /// Computes `mmo` of each seed under its own key, for each turn with the turn xored to its
    /// first byte.
    fn descend(&self, keys: &[[u8; 16]], turns: &[u8], seeds: &mut [[u8; 16]]);

    /// Sets a bit for each word that matches or whose tag matches, sixty-four to each of `hits`.
    /// Words are those of blocks from `from` on, as many as there are tags, which are not more than
    /// [`PART`](args::PART).
    fn find(&self, key: &Aes, from: [u64; 2], tags: &[u16], needle: Needle, hits: &mut [u64]);
}

type Probe = fn() -> Option<&'static dyn Kernels>;

/// All backends, the best first.
const BACKENDS: &[Probe] = &[
    #[cfg(target_arch = "x86_64")]
    avx512::Amx::probe,
    #[cfg(target_arch = "x86_64")]
    avx512::Avx512::probe,
    #[cfg(target_arch = "x86_64")]
    avx2::AvxVnni::probe,
    #[cfg(target_arch = "x86_64")]
    avx2::Avx2::probe,
    #[cfg(target_arch = "aarch64")]
    neon::NeonDot::probe,
    #[cfg(target_arch = "aarch64")]
    neon::Neon::probe,
    #[cfg(target_feature = "simd128")]
    simd128::Simd128::probe,
    scalar::Scalar::probe,
];

/// The backends this processor can run, the best first.
pub(crate) fn available() -> impl Iterator<Item = &'static dyn Kernels> {
    BACKENDS.iter().filter_map(|probe| probe())
}

/// The backend in use: the best, or the one that `SOTTO_SIMD` names if it is available.
pub(crate) fn kernels() -> &'static dyn Kernels {
    static CHOICE: OnceLock<&'static dyn Kernels> = OnceLock::new();
    *CHOICE.get_or_init(|| {
        let name = std::env::var("SOTTO_SIMD").unwrap_or_default();
        let named = available().find(|k| k.name() == name);
        named.or_else(|| available().next()).unwrap_or(&scalar::Scalar)
    })
}

/// AMX by an emulator, on a processor that has AVX-512 and not AMX.
#[cfg(test)]
pub(crate) fn emulated() -> Option<&'static dyn Kernels> {
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    return avx512::Amx::emulated();
    #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
    None
}

#[cfg(test)]
mod tests;
