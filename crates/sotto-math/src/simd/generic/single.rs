//! AES with one block per register, eight in flight.

use super::aes::{Blocks, encrypt, hash, load_all, paths, store_all};
use crate::simd::args::Aes;
use crate::simd::scalar::Pairs;

/// Blocks in flight: a round takes two to four cycles, and two can begin in each.
const FLIGHT: usize = 8;

/// Encrypts pairs from the iterator's current one on.
#[inline(always)]
pub(in crate::simd) fn encrypt_pairs<R: Blocks>(r: R, key: &Aes, mut pairs: Pairs, out: &mut [[u8; 16]]) {
    let keys = keys(r, key);
    let (groups, rest) = out.as_chunks_mut::<FLIGHT>();
    for out in groups {
        let mut blocks = [r.zero(); FLIGHT];
        for block in &mut blocks {
            *block = r.load(&pairs.next_pair());
        }
        store_all(r, out, encrypt(r, &keys, blocks));
    }
    for out in rest {
        let [block] = encrypt(r, &keys, [r.load(&pairs.next_pair())]);
        r.store(out, block);
    }
}

#[inline(always)]
pub(in crate::simd) fn mmo<R: Blocks>(r: R, key: &Aes, input: &[[u8; 16]], out: &mut [[u8; 16]]) {
    let keys = keys(r, key);
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

#[inline(always)]
pub(in crate::simd) fn double<R: Blocks>(
    r: R,
    [left, right]: [&Aes; 2],
    seeds: &[[u8; 16]],
    out: &mut [[u8; 16]],
) {
    let sides = [keys(r, left), keys(r, right)];
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

#[inline(always)]
pub(in crate::simd) fn widen<R: Blocks>(r: R, key: &Aes, seeds: &[[u8; 16]], out: &mut [[u8; 16]]) {
    let keys = keys(r, key);
    // Two leaves are a flight. An odd last one is a shorter flight.
    let (groups, rest) = seeds.as_chunks::<{ FLIGHT / 4 }>();
    let (out, out_rest) = out.split_at_mut(FLIGHT * groups.len());
    for (seeds, out) in groups.iter().zip(out.as_chunks_mut::<FLIGHT>().0) {
        let mut blocks = [r.zero(); FLIGHT];
        for (seed, blocks) in seeds.iter().zip(blocks.as_chunks_mut::<4>().0) {
            *blocks = leaf(r, seed);
        }
        store_all(r, out, hash(r, &keys, blocks));
    }
    for (seed, out) in rest.iter().zip(out_rest.as_chunks_mut::<4>().0) {
        store_all(r, out, hash(r, &keys, leaf(r, seed)));
    }
}

#[inline(always)]
pub(in crate::simd) fn descend<R: Blocks>(r: R, keys: &[[u8; 16]], turns: &[u8], seeds: &mut [[u8; 16]]) {
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

/// Makes four copies of a seed, with 0, 1, 2 and 3 xored to their first bytes.
#[inline(always)]
fn leaf<R: Blocks>(r: R, seed: &[u8; 16]) -> [R::Value; 4] {
    let seed = r.load(seed);
    [r.xor(seed, r.firsts(0)), r.xor(seed, r.firsts(1)), r.xor(seed, r.firsts(2)), r.xor(seed, r.firsts(3))]
}

#[inline(always)]
fn keys<R: Blocks>(r: R, key: &Aes) -> [R::Value; 11] {
    load_all(r, &key.rounds)
}
