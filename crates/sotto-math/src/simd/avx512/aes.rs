//! AES by instructions on four blocks (VAES), eight registers in flight.

use super::lanes::{load, store};
use super::registers::Zmm;
use crate::aes::Aes;
use crate::simd::Blocks;
use crate::simd::avx2::aes as single;
use crate::simd::generic::aes::{encrypt, hash, load_all, paths, store_all};
use crate::simd::scalar::Pairs;
use core::arch::x86_64::*;

/// Registers in flight: a round takes some four cycles, and on Zen 5 two can begin in each. Of registers alone, 12 give
/// 3.2 G blocks/s and 8 give 2.9; with counters, keys and stores 8 give 2.7, and 12 and 16 give 2.6 and 2.4.
const FLIGHT: usize = 8;

/// Blocks in flight. What is left at the end of a slice is fewer, and goes one block to a register.
const BLOCKS: usize = 4 * FLIGHT;

/// Registers in flight where each lane has a key of its own, and so eleven registers more.
const PATHS: usize = 4;

/// Proof that this processor has AVX-512 F, VAES, AVX2 and AES. Only the probe makes one.
pub(super) struct Vaes(());

impl Vaes {
    pub(super) fn probe() -> Option<&'static dyn Blocks> {
        static PROVEN: Vaes = Vaes(());
        let has = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("vaes")
            && is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("aes");
        has.then_some(&PROVEN)
    }
}

compiled_aes!(Vaes);

#[target_feature(enable = "avx512f,avx2,vaes,aes")]
fn grid(key: &Aes, [x, y]: [u64; 2], ny: u64, out: &mut [[u8; 16]]) {
    let r = Zmm::with_aes();
    let keys = keys(key);
    let (groups, rest) = out.as_chunks_mut::<BLOCKS>();
    // Lanes of each register are four pairs; second numbers are counted from y, and so stay below ny.
    let mut ahead = Pairs { x, b: 0, y: 0, ny };
    let mut first = [[0u64; 8]; FLIGHT];
    for lanes in first.as_flattened_mut().as_chunks_mut::<2>().0 {
        *lanes = ahead.next_pair();
    }
    let mut pairs = [_mm512_setzero_si512(); FLIGHT];
    for (pair, first) in pairs.iter_mut().zip(&first) {
        *pair = load(first);
    }
    // What the walk came to is how far each pair is from its successor a flight later. It is less than a row
    // in the second number, so at most one row ends between them.
    let flight = pairs_of(ahead.x.wrapping_sub(x), ahead.b);
    let row = pairs_of(1, ny.wrapping_neg());
    let (from, ny8) = (pairs_of(0, y), _mm512_set1_epi64(ny as i64));
    for out in groups.iter_mut() {
        let mut blocks = pairs;
        for block in &mut blocks {
            *block = _mm512_add_epi64(*block, from);
        }
        store_all(r, out, encrypt(r, &keys, blocks));
        for pair in &mut pairs {
            let next = _mm512_add_epi64(*pair, flight);
            let ended = _mm512_cmpge_epu64_mask(_mm512_unpackhi_epi64(next, next), ny8);
            *pair = _mm512_mask_add_epi64(next, ended, next, row);
        }
    }
    let mut next = [0u64; 8];
    store(&mut next, pairs[0]);
    single::encrypt_pairs(key, Pairs { x: next[0], b: next[1], y, ny }, rest);
}

#[target_feature(enable = "avx512f,avx2,vaes,aes")]
fn mmo(key: &Aes, input: &[[u8; 16]], out: &mut [[u8; 16]]) {
    let r = Zmm::with_aes();
    let keys = keys(key);
    let (groups, rest) = input.as_chunks::<BLOCKS>();
    let (out, out_rest) = out.split_at_mut(BLOCKS * groups.len());
    for (input, out) in groups.iter().zip(out.as_chunks_mut::<BLOCKS>().0) {
        store_all(r, out, hash(r, &keys, load_all::<_, FLIGHT>(r, input)));
    }
    single::mmo(key, rest, out_rest);
}

#[target_feature(enable = "avx512f,avx2,vaes,aes")]
fn double(sides: [&Aes; 2], seeds: &[[u8; 16]], out: &mut [[u8; 16]]) {
    let r = Zmm::with_aes();
    let [left, right] = [keys(sides[0]), keys(sides[1])];
    let (groups, rest) = seeds.as_chunks::<{ BLOCKS / 2 }>();
    let (out, out_rest) = out.split_at_mut(BLOCKS * groups.len());
    // Halves of two registers in turn: the first two blocks of each, and the last two.
    let (low, high) =
        (_mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15));
    for (seeds, out) in groups.iter().zip(out.as_chunks_mut::<BLOCKS>().0) {
        let blocks: [_; FLIGHT / 2] = load_all(r, seeds);
        let sides = hash(r, &left, blocks).into_iter().zip(hash(r, &right, blocks));
        for (out, (left, right)) in out.as_chunks_mut::<8>().0.iter_mut().zip(sides) {
            let [first, second] = out.as_chunks_mut::<4>().0 else { continue };
            store(first, _mm512_permutex2var_epi64(left, low, right));
            store(second, _mm512_permutex2var_epi64(left, high, right));
        }
    }
    single::double(sides, rest, out_rest);
}

#[target_feature(enable = "avx512f,avx2,vaes,aes")]
fn widen(key: &Aes, seeds: &[[u8; 16]], out: &mut [[u8; 16]]) {
    let r = Zmm::with_aes();
    let keys = keys(key);
    let (groups, rest) = seeds.as_chunks::<FLIGHT>();
    let (out, out_rest) = out.split_at_mut(BLOCKS * groups.len());
    let leaf = _mm512_setr_epi64(0, 0, 1, 0, 2, 0, 3, 0);
    for (seeds, out) in groups.iter().zip(out.as_chunks_mut::<BLOCKS>().0) {
        let mut blocks = [leaf; FLIGHT];
        for (block, seed) in blocks.iter_mut().zip(seeds) {
            *block = _mm512_xor_si512(*block, repeat(seed));
        }
        store_all(r, out, hash(r, &keys, blocks));
    }
    single::widen(key, rest, out_rest);
}

#[target_feature(enable = "avx512f,avx2,vaes,aes")]
fn descend(keys: &[[u8; 16]], turns: &[u8], seeds: &mut [[u8; 16]]) {
    let r = Zmm::with_aes();
    let (groups, rest) = keys.as_chunks::<{ 4 * PATHS }>();
    let (seeds, seeds_rest) = seeds.as_chunks_mut::<{ 4 * PATHS }>();
    for (keys, seeds) in groups.iter().zip(seeds) {
        let ends = paths::<_, PATHS>(r, load_all(r, keys), turns, load_all(r, seeds));
        store_all(r, seeds, ends);
    }
    single::descend(rest, turns, seeds_rest);
}

#[inline]
#[target_feature(enable = "avx512f")]
fn keys(key: &Aes) -> [__m512i; 11] {
    let mut keys = [_mm512_setzero_si512(); 11];
    for (key, round) in keys.iter_mut().zip(&key.rounds) {
        *key = repeat(round);
    }
    keys
}

/// A block four times.
#[inline]
#[target_feature(enable = "avx512f")]
fn repeat(block: &[u8; 16]) -> __m512i {
    // SAFETY: the array is the 16 bytes that this load reads, and it needs no alignment.
    _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(block.as_ptr().cast()) })
}

/// A pair of numbers four times.
#[inline]
#[target_feature(enable = "avx512f")]
fn pairs_of(x: u64, y: u64) -> __m512i {
    let (x, y) = (x as i64, y as i64);
    _mm512_setr_epi64(x, y, x, y, x, y, x, y)
}
