//! AES by instructions on four blocks (VAES), eight registers in flight.

use super::registers::{Zmm, load, store};
use crate::simd::Blocks;
use crate::simd::args::{Aes, Needle};
use crate::simd::avx2::aes as single;
use crate::simd::generic::Register;
use crate::simd::generic::aes::{encrypt, hash, load_all, paths, store_all};
use crate::simd::scalar::Pairs;
use core::arch::x86_64::*;
use zeroize::Zeroizing;

/// Registers in flight: a round takes some four cycles, and on Zen 5 two can begin in each. With
/// registers alone, 12 give 3.2 G blocks/s and 8 give 2.9; with counters, keys and stores 8 give
/// 2.7, and 12 and 16 give 2.6 and 2.4.
const FLIGHT: usize = 8;

/// Blocks in flight. The rest of a slice is shorter, and has one block per register.
const BLOCKS: usize = 4 * FLIGHT;

/// Registers in flight where each lane has a key of its own, which takes eleven more registers.
const PATHS: usize = 4;

/// Proof that this processor has AVX-512 F and BW, VAES, AVX2 and AES. Only the probe makes one.
pub(super) struct Vaes(());

impl Vaes {
    pub(super) fn probe() -> Option<&'static dyn Blocks> {
        static PROVEN: Vaes = Vaes(());
        let has = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("vaes")
            && is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("aes");
        has.then_some(&PROVEN)
    }
}

compiled_aes!(Vaes);

#[target_feature(enable = "avx512f,avx2,vaes,aes")]
fn grid(key: &Aes, [x, y]: [u64; 2], ny: u64, out: &mut [[u8; 16]]) {
    let count = out.len() as u64;
    // Runs along which one number grows by one and the other stays: all with the same first number,
    // or the whole slice.
    let (step, run) = if ny == 1 { ([1, 0], count) } else { ([0, 1], ny) };
    if run < BLOCKS as u64 {
        return single::encrypt_pairs(key, Pairs { x, b: 0, y, ny }, out);
    }
    let r = Zmm::with_aes();
    let keys = keys(key);
    let count_by = Counter::of(step);
    // A run is no longer than the slice.
    for (a, run) in (0..).zip(out.chunks_mut(run.min(count) as usize)) {
        let x = x.wrapping_add(a);
        let (groups, rest) = run.as_chunks_mut::<BLOCKS>();
        let done = (groups.len() * BLOCKS) as u64;
        let mut from = pairs_of(x, y);
        for out in groups {
            store_all(r, out, encrypt(r, &keys, count_by.next(&mut from)));
        }
        if !rest.is_empty() {
            let x = x.wrapping_add(step[0] * done);
            single::encrypt_pairs(key, Pairs { x, b: step[1] * done, y, ny }, rest);
        }
    }
}

/// Compares a flight of blocks while the next is computed: they are never stored.
#[target_feature(enable = "avx512f,avx512bw,avx2,vaes,aes")]
fn find(key: &Aes, [x, y]: [u64; 2], tags: &[u16], needle: Needle, hits: &mut [u64]) {
    let r = Zmm::with_aes();
    let pattern = Pattern::of(needle);
    let (flights, rest) = tags.as_chunks::<{ 8 * BLOCKS }>();
    let (flights_hits, rest_hits) = hits.split_at_mut(flights.len() * FLIGHT / 2);
    let (keys, count_by, mut from) = (keys(key), Counter::of([0, 1]), pairs_of(x, y));
    for (tags, hits) in flights.iter().zip(flights_hits.as_chunks_mut::<{ FLIGHT / 2 }>().0) {
        let blocks = encrypt(r, &keys, count_by.next(&mut from));
        for ((blocks, tags), hits) in blocks.as_chunks::<2>().0.iter().zip(tags.as_chunks().0).zip(hits) {
            *hits = pattern.hits(*blocks, tags);
        }
    }
    let mut made = Zeroizing::new([[0; 16]; BLOCKS]);
    let made = &mut made[..rest.len().div_ceil(8)];
    let y = y.wrapping_add((flights.len() * BLOCKS) as u64);
    single::encrypt_pairs(key, Pairs { x, b: 0, y, ny: u64::MAX }, made);
    either16(&made.as_flattened().as_chunks().0[..rest.len()], rest, needle, rest_hits);
}

/// A generator of pairs of numbers of which one grows by one and the other stays.
struct Counter {
    /// Distance of each pair of a flight from the first.
    steps: [[u64; 8]; FLIGHT],
    /// Distance of flights from each other.
    flight: __m512i,
}

impl Counter {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn of(step: [u64; 2]) -> Self {
        let mut steps = [[0u64; 8]; FLIGHT];
        for (i, pair) in (0..).zip(steps.as_flattened_mut().as_chunks_mut::<2>().0) {
            *pair = step.map(|step: u64| step * i);
        }
        let [x, y] = step.map(|step| step * BLOCKS as u64);
        Counter { steps, flight: pairs_of(x, y) }
    }

    /// Returns the pairs of a flight, given its first pair four times, and advances that to the
    /// next flight.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn next(&self, from: &mut __m512i) -> [__m512i; FLIGHT] {
        let mut pairs = [*from; FLIGHT];
        for (pair, step) in pairs.iter_mut().zip(&self.steps) {
            *pair = _mm512_add_epi64(*pair, load(step));
        }
        *from = _mm512_add_epi64(*from, self.flight);
        pairs
    }
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

/// Repeats a block four times.
#[inline]
#[target_feature(enable = "avx512f")]
fn repeat(block: &[u8; 16]) -> __m512i {
    // SAFETY: the array is the 16 bytes that this load reads, and it needs no alignment.
    _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(block.as_ptr().cast()) })
}

/// Repeats a pair of numbers four times.
#[inline]
#[target_feature(enable = "avx512f")]
fn pairs_of(x: u64, y: u64) -> __m512i {
    let (x, y) = (x as i64, y as i64);
    _mm512_setr_epi64(x, y, x, y, x, y, x, y)
}

/// The search, 32 words at a time, by mask registers.
#[target_feature(enable = "avx512f,avx512bw")]
fn either16(words: &[[u8; 2]], tags: &[u16], needle: Needle, hits: &mut [u64]) {
    let r = Zmm::new();
    let pattern = Pattern::of(needle);
    let (words, words_rest) = words.as_chunks::<64>();
    let (tags, tags_rest) = tags.as_chunks::<64>();
    let (whole, last) = hits.split_at_mut(tags.len());
    for ((words, tags), hits) in words.iter().zip(tags).zip(whole) {
        let (lower, upper) = words.as_flattened().split_at(64);
        *hits = pattern.hits([r.load(lower), r.load(upper)], tags);
    }
    crate::simd::scalar::either16(words_rest, tags_rest, needle, last);
}

/// The searched values, in every lane.
#[derive(Clone, Copy)]
struct Pattern {
    word: __m512i,
    mask: __m512i,
    tag: __m512i,
}

impl Pattern {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn of(needle: Needle) -> Self {
        let [word, mask, tag] = [needle.word as i16, needle.mask as i16, needle.tag as i16];
        Pattern { word: _mm512_set1_epi16(word), mask: _mm512_set1_epi16(mask), tag: _mm512_set1_epi16(tag) }
    }

    /// A bit for each of 32 words that matches, or whose tag matches.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn half(self, words: __m512i, tags: &[u16; 32]) -> u32 {
        _mm512_cmpeq_epi16_mask(_mm512_and_si512(words, self.mask), self.word)
            | _mm512_cmpeq_epi16_mask(load(tags), self.tag)
    }

    /// A bit for each of sixty-four words, in two registers, that matches, or whose tag matches.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn hits(self, words: [__m512i; 2], tags: &[u16; 64]) -> u64 {
        let mut hits = 0;
        for ((words, tags), at) in words.into_iter().zip(tags.as_chunks::<32>().0).zip([0, 32]) {
            hits |= u64::from(self.half(words, tags)) << at;
        }
        hits
    }
}
