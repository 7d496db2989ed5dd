//! AES by its instructions, eight blocks in flight.

use super::find::either16;
use super::registers::Xmm;
use crate::aes::Aes;
use crate::find::{PART, Sought};
use crate::simd::Blocks;
use crate::simd::generic::Register;
use crate::simd::generic::aes::{encrypt, hash, load_all, paths, store_all};
use crate::simd::scalar::Pairs;
use core::arch::x86_64::*;
use zeroize::Zeroizing;

/// Blocks in flight: a round takes some four cycles, and two can begin in each.
const FLIGHT: usize = 8;

/// Proof that this processor has AVX2 and AES. Only the probe makes one.
pub(in crate::simd) struct AesNi(());

impl AesNi {
    pub(in crate::simd) fn probe() -> Option<&'static dyn Blocks> {
        static PROVEN: AesNi = AesNi(());
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("aes")).then_some(&PROVEN)
    }
}

compiled_aes!(AesNi);

#[target_feature(enable = "avx2,aes")]
fn grid(key: &Aes, [x, y]: [u64; 2], ny: u64, out: &mut [[u8; 16]]) {
    encrypt_pairs(key, Pairs { x, b: 0, y, ny }, out);
}

/// Of blocks that are made first, and stay in the nearest cache.
#[target_feature(enable = "avx2,aes")]
fn find(key: &Aes, [x, y]: [u64; 2], tags: &[u16], sought: Sought, hits: &mut [u64]) {
    let mut made = Zeroizing::new([[0; 16]; PART / 8]);
    let made = &mut made[..tags.len().div_ceil(8)];
    encrypt_pairs(key, Pairs { x, b: 0, y, ny: u64::MAX }, made);
    either16(&made.as_flattened().as_chunks().0[..tags.len()], tags, sought, hits);
}

/// Encrypts pairs from wherever the walk stands.
#[target_feature(enable = "avx2,aes")]
pub(in crate::simd) fn encrypt_pairs(key: &Aes, mut pairs: Pairs, out: &mut [[u8; 16]]) {
    let r = Xmm::with_aes();
    let keys = keys(key);
    let (groups, rest) = out.as_chunks_mut::<FLIGHT>();
    for out in groups {
        let mut blocks = [_mm_setzero_si128(); FLIGHT];
        for block in &mut blocks {
            *block = pair(pairs.next_pair());
        }
        store_all(r, out, encrypt(r, &keys, blocks));
    }
    for out in rest {
        let [block] = encrypt(r, &keys, [pair(pairs.next_pair())]);
        r.store(out, block);
    }
}

#[target_feature(enable = "avx2,aes")]
pub(in crate::simd) fn mmo(key: &Aes, input: &[[u8; 16]], out: &mut [[u8; 16]]) {
    let r = Xmm::with_aes();
    let keys = keys(key);
    let (groups, rest) = input.as_chunks::<FLIGHT>();
    let (out_groups, out_rest) = out.as_chunks_mut::<FLIGHT>();
    for (input, out) in groups.iter().zip(out_groups) {
        store_all(r, out, hash(r, &keys, load_all::<_, FLIGHT>(r, input)));
    }
    for (input, out) in rest.iter().zip(out_rest) {
        let [hash] = hash(r, &keys, [r.load(input)]);
        r.store(out, hash);
    }
}

#[target_feature(enable = "avx2,aes")]
pub(in crate::simd) fn double(sides: [&Aes; 2], seeds: &[[u8; 16]], out: &mut [[u8; 16]]) {
    let r = Xmm::with_aes();
    let sides = [keys(sides[0]), keys(sides[1])];
    let (groups, rest) = seeds.as_chunks::<FLIGHT>();
    let (out, out_rest) = out.split_at_mut(2 * FLIGHT * groups.len());
    for (seeds, out) in groups.iter().zip(out.as_chunks_mut::<{ 2 * FLIGHT }>().0) {
        for (at, keys) in sides.iter().enumerate() {
            let hashes = hash(r, keys, load_all::<_, FLIGHT>(r, seeds));
            for (out, hash) in out.as_chunks_mut::<2>().0.iter_mut().zip(hashes) {
                r.store(&mut out[at], hash);
            }
        }
    }
    for (seed, out) in rest.iter().zip(out_rest.as_chunks_mut::<2>().0) {
        for (out, keys) in out.iter_mut().zip(&sides) {
            let [hash] = hash(r, keys, [r.load(seed)]);
            r.store(out, hash);
        }
    }
}

#[target_feature(enable = "avx2,aes")]
pub(in crate::simd) fn widen(key: &Aes, seeds: &[[u8; 16]], out: &mut [[u8; 16]]) {
    let r = Xmm::with_aes();
    let keys = keys(key);
    // Two leaves are a flight. An odd last one is a shorter flight.
    let (groups, rest) = seeds.as_chunks::<{ FLIGHT / 4 }>();
    let (out, out_rest) = out.split_at_mut(FLIGHT * groups.len());
    for (seeds, out) in groups.iter().zip(out.as_chunks_mut::<FLIGHT>().0) {
        let mut blocks = [_mm_setzero_si128(); FLIGHT];
        for (seed, blocks) in seeds.iter().zip(blocks.as_chunks_mut::<4>().0) {
            *blocks = leaf(seed);
        }
        store_all(r, out, hash(r, &keys, blocks));
    }
    for (seed, out) in rest.iter().zip(out_rest.as_chunks_mut::<4>().0) {
        store_all(r, out, hash(r, &keys, leaf(seed)));
    }
}

#[target_feature(enable = "avx2,aes")]
pub(in crate::simd) fn descend(keys: &[[u8; 16]], turns: &[u8], seeds: &mut [[u8; 16]]) {
    let r = Xmm::with_aes();
    let (groups, rest) = keys.as_chunks::<FLIGHT>();
    let (seeds, seeds_rest) = seeds.as_chunks_mut::<FLIGHT>();
    for (keys, seeds) in groups.iter().zip(seeds) {
        let ends = paths::<_, FLIGHT>(r, load_all(r, keys), turns, load_all(r, seeds));
        store_all(r, seeds, ends);
    }
    for (key, seed) in rest.iter().zip(seeds_rest) {
        let [end] = paths(r, [r.load(key)], turns, [r.load(seed)]);
        r.store(seed, end);
    }
}

/// A seed four times, with 0, 1, 2 and 3 added to its first byte without carry.
#[inline]
#[target_feature(enable = "avx2")]
fn leaf(seed: &[u8; 16]) -> [__m128i; 4] {
    let mut blocks = [Xmm(()).load(seed); 4];
    for (block, t) in blocks.iter_mut().zip(0..) {
        *block = _mm_xor_si128(*block, _mm_cvtsi32_si128(t));
    }
    blocks
}

#[inline]
#[target_feature(enable = "avx2")]
fn keys(key: &Aes) -> [__m128i; 11] {
    load_all(Xmm(()), &key.rounds)
}

#[inline]
#[target_feature(enable = "avx2")]
fn pair([x, y]: [u64; 2]) -> __m128i {
    _mm_set_epi64x(y as i64, x as i64)
}
