//! AES on bit planes, eight blocks at a time: of eight registers, number `k` has bit `k` of every
//! byte (Käsper and Schwabe, CHES 2009, section 4).
//!
//! WebAssembly has no instructions for AES. The rounds are logic and fixed shuffles alone, so
//! nothing depends on a key or a block.

use super::registers::Register16;
use crate::simd::args::{Aes, Needle};
use crate::simd::generic::aes::{Blocks, encrypt, paths};
use crate::simd::generic::{Number, Register, register};
use crate::simd::scalar::{self, Cipher};
use core::arch::wasm32::*;
use zeroize::{Zeroize, Zeroizing};

/// Blocks that the planes hold.
const BLOCKS: usize = 8;

/// Bit `k` of every byte of eight blocks, from the lowest bit on. Byte `p` of a plane has those of
/// the bytes `p`, one bit for each block.
type BitPlanes = [v128; 8];

/// AES on bit planes.
pub(in crate::simd) struct PlaneAes;

impl Cipher for PlaneAes {
    fn encrypt(&self, key: &Aes, blocks: &mut [[u8; 16]]) {
        let r = PlaneRegister::new();
        let mut keys = [r.zero(); 11];
        for (planes, round) in keys.iter_mut().zip(&key.rounds) {
            *planes = planes_of(Register16::new().load(round));
        }
        in_eights(blocks, |blocks| encrypt_planes(&keys, blocks));
    }

    fn descend(&self, keys: &[[u8; 16]], turns: &[u8], seeds: &mut [[u8; 16]]) {
        let r = PlaneRegister::new();
        for (keys, seeds) in keys.chunks(BLOCKS).zip(seeds.chunks_mut(BLOCKS)) {
            let mut all = Zeroizing::new([[0; 16]; BLOCKS]);
            all[..keys.len()].copy_from_slice(keys);
            let keys = r.load(&*all);
            in_eights(seeds, |seeds| {
                let [ends] = paths::<_, 1>(r, [keys], turns, [r.load(&*seeds)]);
                r.store(seeds, ends);
            });
        }
    }

    /// The search, 64 words at a time, whose masks one instruction packs to bits.
    fn either16(words: &[[u8; 2]], tags: &[u16], needle: Needle, hits: &mut [u64]) {
        let r = Register16::new();
        let [word, mask, tag] = [needle.word, needle.mask, needle.tag].map(|word| u16x8_splat(word));
        let (words, words_rest) = words.as_chunks::<64>();
        let (tags, tags_rest) = tags.as_chunks::<64>();
        let (whole, last) = hits.split_at_mut(tags.len());
        for ((words, tags), hits) in words.iter().zip(tags).zip(whole) {
            let (words, tags) = (words.as_chunks::<16>().0, tags.as_chunks::<16>().0);
            *hits = 0;
            for ((words, tags), at) in words.iter().zip(tags).zip([0, 16, 32, 48]) {
                let mut halves = [r.zero(); 2];
                let pairs = words.as_chunks::<8>().0.iter().zip(tags.as_chunks::<8>().0);
                for (half, (words, tags)) in halves.iter_mut().zip(pairs) {
                    let words = i16x8_eq(v128_and(r.load(words), mask), word);
                    *half = v128_or(words, i16x8_eq(r.load(tags), tag));
                }
                *hits |= u64::from(i8x16_bitmask(i8x16_narrow_i16x8(halves[0], halves[1]))) << at;
            }
        }
        scalar::either16(words_rest, tags_rest, needle, last);
    }
}

/// Works on eight blocks at a time; what is missing of the last eight is zeros.
fn in_eights(blocks: &mut [[u8; 16]], mut work: impl FnMut(&mut [[u8; 16]; BLOCKS])) {
    let (eights, rest) = blocks.as_chunks_mut::<BLOCKS>();
    eights.iter_mut().for_each(&mut work);
    if !rest.is_empty() {
        let mut all = [[0; 16]; BLOCKS];
        all[..rest.len()].copy_from_slice(rest);
        work(&mut all);
        rest.copy_from_slice(&all[..rest.len()]);
        all.zeroize();
    }
}

/// A function of its own, so that builds have the rounds once.
#[inline(never)]
fn encrypt_planes(keys: &[BitPlanes; 11], blocks: &mut [[u8; 16]; BLOCKS]) {
    let r = PlaneRegister::new();
    let [planes] = encrypt(r, keys, [r.load(&*blocks)]);
    r.store(blocks, planes);
}

/// Eight registers that act as one of eight blocks; `P` is further knowledge.
#[derive(Clone, Copy)]
struct PlaneRegister<P = ()>(P);

impl PlaneRegister {
    #[inline(always)]
    fn new() -> Self {
        PlaneRegister(())
    }
}

register! {
    PlaneRegister of 128 bytes in BitPlanes, 1 sums:
    zeros, load, store, xor,
    |bit, sum, x| xor(sum, x.map(|x| v128_and(x, u8x16_splat(0u8.wrapping_sub(bit)))))
}

impl<P: Copy> Blocks for PlaneRegister<P> {
    #[inline(always)]
    fn splat(self, x: i32) -> BitPlanes {
        planes_of(i32x4_splat(x))
    }

    #[inline(always)]
    fn firsts(self, x: u8) -> BitPlanes {
        planes_of(u8x16_replace_lane::<0>(u64x2_splat(0), x))
    }

    #[inline(always)]
    fn round(self, x: BitPlanes, key: BitPlanes) -> BitPlanes {
        xor(mix_columns(substitute(x)), key)
    }

    #[inline(always)]
    fn last_round(self, x: BitPlanes, key: BitPlanes) -> BitPlanes {
        xor(substitute(x).map(shift_rows), key)
    }

    #[inline(always)]
    fn turned(self, x: BitPlanes) -> BitPlanes {
        x.map(|x| i8x16_shuffle::<13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15, 12>(x, x))
    }

    #[inline(always)]
    fn sums(self, x: BitPlanes) -> BitPlanes {
        let zero = u64x2_splat(0);
        x.map(|x| {
            let pairs = v128_xor(x, i32x4_shuffle::<0, 4, 5, 6>(zero, x));
            v128_xor(pairs, i64x2_shuffle::<0, 2>(zero, pairs))
        })
    }
}

#[inline(always)]
fn zeros() -> BitPlanes {
    [u64x2_splat(0); 8]
}

/// # Safety
/// There are 128 bytes to read.
#[inline(always)]
unsafe fn load(from: *const v128) -> BitPlanes {
    let mut blocks = zeros();
    for (i, block) in blocks.iter_mut().enumerate() {
        // SAFETY: the caller says so, and they need no alignment.
        *block = unsafe { v128_load(from.add(i)) };
    }
    transpose(blocks)
}

/// # Safety
/// There are 128 bytes to write.
#[inline(always)]
unsafe fn store(to: *mut v128, planes: BitPlanes) {
    for (i, block) in transpose(planes).into_iter().enumerate() {
        // SAFETY: the caller says so, and they need no alignment.
        unsafe { v128_store(to.add(i), block) };
    }
}

#[inline(always)]
fn xor(mut a: BitPlanes, b: BitPlanes) -> BitPlanes {
    for (a, b) in a.iter_mut().zip(b) {
        *a = v128_xor(*a, b);
    }
    a
}

/// The bit planes of eight equal blocks.
#[inline(always)]
fn planes_of(block: v128) -> BitPlanes {
    let mut planes = zeros();
    for (k, plane) in planes.iter_mut().enumerate() {
        *plane = i8x16_ne(v128_and(block, u8x16_splat(1 << k)), u64x2_splat(0));
    }
    planes
}

/// Transposes the 8 by 8 bits that the bytes at one place of all registers are.
#[inline(always)]
fn transpose([a, b, c, d, e, f, g, h]: BitPlanes) -> BitPlanes {
    let ([a, b], [c, d]) = (swap::<1>(a, b, 0x55), swap::<1>(c, d, 0x55));
    let ([e, f], [g, h]) = (swap::<1>(e, f, 0x55), swap::<1>(g, h, 0x55));
    let ([a, c], [b, d]) = (swap::<2>(a, c, 0x33), swap::<2>(b, d, 0x33));
    let ([e, g], [f, h]) = (swap::<2>(e, g, 0x33), swap::<2>(f, h, 0x33));
    let ([a, e], [b, f]) = (swap::<4>(a, e, 0x0f), swap::<4>(b, f, 0x0f));
    let ([c, g], [d, h]) = (swap::<4>(c, g, 0x0f), swap::<4>(d, h, 0x0f));
    [a, b, c, d, e, f, g, h]
}

/// Swaps the bits of `a` that are `BY` above those of the mask with the bits of `b` at the mask.
#[inline(always)]
fn swap<const BY: u32>(a: v128, b: v128, mask: u8) -> [v128; 2] {
    let differ = v128_and(v128_xor(u64x2_shr(a, BY), b), u8x16_splat(mask));
    [v128_xor(a, u64x2_shl(differ, BY)), v128_xor(b, differ)]
}

/// ShiftRows (FIPS 197, section 5.1.2): the byte in row r of a column comes from r columns on.
#[inline(always)]
fn shift_rows(x: v128) -> v128 {
    i8x16_shuffle::<0, 5, 10, 15, 4, 9, 14, 3, 8, 13, 2, 7, 12, 1, 6, 11>(x, x)
}

/// ShiftRows, and then the next row of each column.
#[inline(always)]
fn shifted_next_rows(x: v128) -> v128 {
    i8x16_shuffle::<5, 10, 15, 0, 9, 14, 3, 4, 13, 2, 7, 8, 1, 6, 11, 12>(x, x)
}

/// The row after the next of each column.
#[inline(always)]
fn second_rows(x: v128) -> v128 {
    i8x16_shuffle::<2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13>(x, x)
}

/// ShiftRows and MixColumns (FIPS 197, section 5.1.3): with `u` the sum of a byte and the next of
/// its column, twice `u`, the next byte, and the `u` after the next.
#[inline(always)]
fn mix_columns(x: BitPlanes) -> BitPlanes {
    let next = x.map(shifted_next_rows);
    let sums = xor(x.map(shift_rows), next);
    // Twice a byte modulo x^8 + x^4 + x^3 + x + 1.
    let [a, b, c, d, e, f, g, h] = sums;
    let twice = [h, v128_xor(a, h), b, v128_xor(c, h), v128_xor(d, h), e, f, g];
    xor(xor(twice, next), sums.map(second_rows))
}

/// SubBytes (FIPS 197, section 5.1.1), by the circuit of Boyar and Peralta, "A small depth-16
/// circuit for the AES S-box" (2012), figures 5 to 7 in their names, whose bit 0 is the highest.
#[inline(always)]
fn substitute([u7, u6, u5, u4, u3, u2, u1, u0]: BitPlanes) -> BitPlanes {
    let (x, a) = (v128_xor, v128_and);
    // The linear layer at the top.
    let (y14, y13, y9, y8) = (x(u3, u5), x(u0, u6), x(u0, u3), x(u0, u5));
    let t0 = x(u1, u2);
    let y1 = x(t0, u7);
    let (y4, y12, y2, y5) = (x(y1, u3), x(y13, y14), x(y1, u0), x(y1, u6));
    let (y3, t1) = (x(y5, y8), x(u4, y12));
    let (y15, y20) = (x(t1, u5), x(t1, u1));
    let (y6, y10, y11) = (x(y15, u7), x(y15, t0), x(y20, y9));
    let (y7, y17, y19, y16) = (x(u7, y11), x(y10, y11), x(y10, y8), x(t0, y11));
    let (y21, y18) = (x(y13, y16), x(u0, y16));
    // The inversion.
    let t2 = a(y12, y15);
    let (t4, t6) = (x(a(y3, y6), t2), x(a(y4, u7), t2));
    let t7 = a(y13, y16);
    let (t9, t11) = (x(a(y5, y1), t7), x(a(y2, y7), t7));
    let t12 = a(y9, y11);
    let (t14, t16) = (x(a(y14, y17), t12), x(a(y8, y10), t12));
    let (t21, t22) = (x(x(t4, t14), y20), x(x(t6, t16), y19));
    let (t23, t24) = (x(x(t9, t14), y21), x(x(t11, t16), y18));
    let (t25, t26) = (x(t21, t22), a(t21, t23));
    let t27 = x(t24, t26);
    let t29 = x(a(t25, t27), t22);
    let (t30, t31) = (x(t23, t24), x(t22, t26));
    let t33 = x(a(t31, t30), t24);
    let t36 = a(t24, x(t27, t33));
    let (t37, t38) = (x(t36, x(t23, t33)), x(t27, t36));
    let t40 = x(t25, a(t29, t38));
    let t41 = x(t40, t37);
    let (t42, t43, t44) = (x(t29, t33), x(t29, t40), x(t33, t37));
    let t45 = x(t42, t41);
    let (z0, z1, z2, z3) = (a(t44, y15), a(t37, y6), a(t33, u7), a(t43, y16));
    let (z4, z5, z6, z7) = (a(t40, y1), a(t29, y7), a(t42, y11), a(t45, y17));
    let (z8, z9, z10, z11) = (a(t41, y10), a(t44, y12), a(t37, y3), a(t33, y4));
    let (z12, z13, z14, z15) = (a(t43, y13), a(t40, y5), a(t29, y2), a(t42, y9));
    let (z16, z17) = (a(t45, y14), a(t41, y8));
    // The linear layer at the bottom.
    let (t46, t47, t48, t49) = (x(z15, z16), x(z10, z11), x(z5, z13), x(z9, z10));
    let (t50, t51, t52, t53) = (x(z2, z12), x(z2, z5), x(z7, z8), x(z0, z3));
    let (t54, t55) = (x(z6, z7), x(z16, z17));
    let (t56, t57, t58, t59) = (x(z12, t48), x(t50, t53), x(z4, t46), x(z3, t54));
    let (t60, t61, t62, t63) = (x(t46, t57), x(z14, t57), x(t52, t58), x(t49, t58));
    let t64 = x(z4, t59);
    let (t65, t66) = (x(t61, t62), x(z1, t63));
    let (s3, s4, s5) = (x(t53, t66), x(t51, t66), x(t47, t65));
    let (s0, s1, s2) = (x(t59, t63), v128_not(x(t64, s3)), v128_not(x(t55, x(t64, t65))));
    let (s6, s7) = (v128_not(x(t56, t62)), v128_not(x(t48, t60)));
    [s7, s6, s5, s4, s3, s2, s1, s0]
}
