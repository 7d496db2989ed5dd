//! Plain Rust: the definition of every kernel, and the fallback everywhere.

mod aes;
mod cyclic;
mod digits;
mod fold;
mod gather;
mod ntt;
mod select;
pub(super) mod sha256;
mod slots;
mod tiles;

use super::Kernels;
use super::args::tiles::WordFormat;
use super::shapes::{ScanShape, SelectShape, TilesShape};
use crate::simd::args::ntt::Tables;
use crate::simd::args::tiles::Block;
use crate::simd::args::{
    GROUP_BYTES, LANES, Needle, PANEL_ROWS, PartitionRows, Planes, RowPicks, RowSources, SelectionMatrices,
};

// The part that vector backends leave to scalar code: the rest that does not fill a register, and
// what their instructions do not make faster.
#[cfg(target_feature = "simd128")]
pub(super) use aes::Cipher;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) use aes::Pairs;
pub(super) use aes::ScalarAes;
pub(super) use cyclic::cyclic;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128"))]
pub(super) use digits::decompose_64;
pub(super) use digits::{carried, centered, decompose, decompose_pair, lower};
#[cfg(target_arch = "x86_64")]
pub(super) use digits::{decompose_from, decompose_pair_from};
pub(super) use fold::places;
pub(super) use ntt::mul_acc_wide;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128"))]
pub(super) use ntt::{forward, inverse, mul_acc, spread};
pub(super) use select::matrices;
#[cfg(any(target_arch = "x86_64", target_feature = "simd128"))]
pub(super) use select::select;
pub(super) use sha256::nodes;
pub(super) use slots::{add, mul, paired_products, permute, split, sub, sum_of_products};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128"))]
pub(super) use tiles::tiles;

pub(crate) struct Scalar;

impl Scalar {
    pub(crate) fn probe() -> Option<&'static dyn Kernels> {
        Some(&Scalar)
    }
}

impl Kernels for Scalar {
    fn name(&self) -> &'static str {
        "scalar"
    }

    fn scan(&self, _: &ScanShape, groups: &[u8], queries: &[Planes<'_>], sums: &mut [i32]) {
        scan(groups, queries, sums);
    }

    fn ntt_forward(&self, t: &Tables, x: &mut [u64]) {
        ntt::forward(t, x);
    }

    fn ntt_inverse(&self, t: &Tables, x: &mut [u64]) {
        ntt::inverse(t, x);
    }

    fn ntt_forward_i8(&self, t: &Tables, bytes: &[i8], out: &mut [u64]) {
        ntt::forward_i8(t, bytes, out);
    }

    fn mul_acc(&self, t: &Tables, acc: &mut [u64], a: &[u64], b: &[u64]) {
        ntt::mul_acc(t, acc, a, b);
    }

    fn dot(&self, h: &[u32], n: usize, s: &[&[i32]], y: &mut [&mut [i64]]) {
        dot(h, n, s, y);
    }

    fn tiles(&self, _: &TilesShape, form: &WordFormat, block: Block<'_>, sums: &mut [&mut [[u64; 8]]]) {
        tiles::tiles(form, block, sums);
    }

    fn select(
        &self,
        _: &SelectShape,
        blocks: &[[u8; 64]],
        queries: usize,
        selections: &[SelectionMatrices],
        sums: &mut [[u8; 64]],
    ) {
        select::select(blocks, queries, selections, sums);
    }

    fn affine(&self, factors: &[u32], terms: &[u32], x: u32, out: &mut [u32]) {
        affine(factors, terms, x, out);
    }

    fn read(&self, bytes: &[u8]) -> u64 {
        read(bytes)
    }

    fn gauss(&self, thresholds: &[u64], uniform: &[u64], out: &mut [i32]) {
        gauss(thresholds, uniform, out);
    }

    fn gather(&self, rows: PartitionRows<'_>, picks: RowPicks<'_>, parities: [&mut [u8]; 2]) {
        gather::gather(rows, picks, parities);
    }

    fn tally(&self, values: &[u8], x: u8, equal: &mut [u64]) -> [usize; 2] {
        tally(values, x, equal)
    }

    fn compare(&self, values: &[[u8; 16]], bounds: &[u8], less: &mut [u16], equal: &mut [u16]) {
        compare(values, bounds, less, equal);
    }

    fn add_rows(&self, from: RowSources<'_>, places: &[[u32; LANES]], parities: &mut [u8]) {
        fold::add_rows(from, places, parities);
    }
}

/// The scan, one byte at a time.
pub(super) fn scan(groups: &[u8], queries: &[Planes<'_>], sums: &mut [i32]) {
    let mut rest = sums;
    for query in queries {
        let (mine, others) = rest.split_at_mut(query.planes * PANEL_ROWS);
        rest = others;
        for (group, dwords) in groups.chunks_exact(GROUP_BYTES).zip(query.dwords.chunks_exact(query.planes)) {
            for (plane, dword) in mine.chunks_exact_mut(PANEL_ROWS).zip(dwords) {
                let q = dword.to_le_bytes().map(i32::from);
                for (sum, cell) in plane.iter_mut().zip(group.as_chunks::<4>().0) {
                    let [a, b, c, d] = cell.map(|byte| i32::from(byte as i8));
                    // At most 4 * 128 * 255, so only the sum can wrap.
                    *sum = sum.wrapping_add(a * q[0] + b * q[1] + c * q[2] + d * q[3]);
                }
            }
        }
    }
}

/// Evaluation of lines at a point, one at a time. Other backends compile the same loop for wider
/// registers.
#[inline(always)]
pub(super) fn affine(factors: &[u32], terms: &[u32], x: u32, out: &mut [u32]) {
    for ((out, factor), term) in out.iter_mut().zip(factors).zip(terms) {
        *out = factor.wrapping_mul(x).wrapping_add(*term);
    }
}

/// Products of rows of words and short vectors, one product at a time.
fn dot(h: &[u32], n: usize, s: &[&[i32]], y: &mut [&mut [i64]]) {
    for (r, row) in h.chunks_exact(n).enumerate() {
        for (s, y) in s.iter().zip(y.iter_mut()) {
            y[r] = row
                .iter()
                .zip(*s)
                .fold(0, |sum: i64, (&h, &s)| sum.wrapping_add(i64::from(h).wrapping_mul(i64::from(s))));
        }
    }
}

/// The search, one word at a time.
pub(super) fn either16(words: &[[u8; 2]], tags: &[u16], needle: Needle, hits: &mut [u64]) {
    for ((words, tags), hits) in words.chunks(64).zip(tags.chunks(64)).zip(hits) {
        *hits = words.iter().zip(tags).zip(0..).fold(0, |hits, ((&word, &tag), i)| {
            let word = u32::from((u16::from_le_bytes(word) & needle.mask) ^ needle.word);
            let tag = u32::from(tag ^ needle.tag);
            // Of 17 bits and fewer, only zero borrows from the upper half: no branch.
            hits | u64::from((word.wrapping_sub(1) | tag.wrapping_sub(1)) >> 31) << i
        });
    }
}

/// Sampling by the cumulative table, one comparison at a time.
pub(super) fn gauss(thresholds: &[u64], uniform: &[u64], out: &mut [i32]) {
    for (out, &uniform) in out.iter_mut().zip(uniform) {
        let t = uniform >> 1;
        // Both numbers are below 2^63, so the sign of the difference is the comparison: no branch,
        // and the whole table is read whatever the sample is.
        let magnitude = thresholds.iter().map(|&bound| 1 - (t.wrapping_sub(bound) >> 63) as i32).sum::<i32>();
        let sign = -((uniform & 1) as i32);
        *out = (magnitude ^ sign) - sign;
    }
}

/// Counts the values that are less than `x`, and those that equal it; `equal` receives a bit for
/// each of the latter.
pub(super) fn tally(values: &[u8], x: u8, equal: &mut [u64]) -> [usize; 2] {
    let mut counts = [0, 0];
    for (values, equal) in values.chunks(64).zip(equal) {
        // Sums of bytes over 64 values do not wrap.
        counts[0] += usize::from(values.iter().map(|&v| u8::from(v < x)).sum::<u8>());
        counts[1] += usize::from(values.iter().map(|&v| u8::from(v == x)).sum::<u8>());
        *equal = values.iter().zip(0..).fold(0, |bits, (&v, i)| bits | u64::from(v == x) << i);
    }
    counts
}

/// Compares sixteen values of each set with its bound, as bits.
fn compare(values: &[[u8; 16]], bounds: &[u8], less: &mut [u16], equal: &mut [u16]) {
    for (((values, &bound), less), equal) in values.iter().zip(bounds).zip(less).zip(equal) {
        let bits = |is: &dyn Fn(u8) -> bool| {
            values.iter().zip(0..).fold(0, |bits, (&v, k)| bits | u16::from(is(v)) << k)
        };
        *less = bits(&|v| v < bound);
        *equal = bits(&|v| v == bound);
    }
}

/// A sequential read, one word at a time.
pub(super) fn read(bytes: &[u8]) -> u64 {
    let (words, tail) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..tail.len()].copy_from_slice(tail);
    words.iter().fold(u64::from_le_bytes(last), |sum, word| sum ^ u64::from_le_bytes(*word))
}
