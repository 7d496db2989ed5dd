//! SHA-256 of sixteen nodes at a time: a register holds one word of each.
//!
//! Rotations are one instruction, and so is any bitwise function of three words, which together
//! with additions is all that SHA-256 needs.

use super::registers::{load, store};
use crate::simd::scalar;
use crate::simd::scalar::sha256::{BITS, START};
use core::arch::x86_64::*;

const LANES: usize = 16;

/// Number of nodes from which on sixteen at a time, some of them empty, take less time than one
/// after the other.
const WORTH: usize = 5;

/// One word of each node.
type Words = __m512i;

/// The constants of the rounds (FIPS 180-4, section 4.2.2).
#[rustfmt::skip]
const ROUNDS: [u32; 64] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
];

#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn nodes(pairs: &[[[u8; 32]; 2]], out: &mut [[u8; 32]]) {
    let (whole, rest) = pairs.as_chunks::<LANES>();
    let (to, to_rest) = out.as_chunks_mut::<LANES>();
    for (pairs, out) in whole.iter().zip(to) {
        sixteen(pairs, out);
    }
    if rest.len() < WORTH {
        return scalar::nodes(rest, to_rest);
    }
    let mut padded = [[[0; 32]; 2]; LANES];
    padded[..rest.len()].copy_from_slice(rest);
    let mut hashes = [[0; 32]; LANES];
    sixteen(&padded, &mut hashes);
    to_rest.copy_from_slice(&hashes[..rest.len()]);
}

#[target_feature(enable = "avx512f,avx512bw")]
fn sixteen(pairs: &[[[u8; 32]; 2]; LANES], out: &mut [[u8; 32]; LANES]) {
    let mut rows = [_mm512_setzero_si512(); LANES];
    for (row, pair) in rows.iter_mut().zip(pairs) {
        *row = big_endian(load(pair));
    }
    let words = transpose(rows);
    // The byte 1 before them shifts all bytes by one.
    let mut first = [_mm512_setzero_si512(); 16];
    let mut before = _mm512_set1_epi32(1);
    for (moved, word) in first.iter_mut().zip(words) {
        *moved = _mm512_or_si512(_mm512_slli_epi32::<24>(before), _mm512_srli_epi32::<8>(word));
        before = word;
    }
    let mut second = [_mm512_setzero_si512(); 16];
    second[0] = _mm512_or_si512(_mm512_slli_epi32::<24>(before), _mm512_set1_epi32(0x0080_0000));
    second[15] = _mm512_set1_epi32(BITS as i32);

    let mut start = [_mm512_setzero_si512(); 8];
    for (words, word) in start.iter_mut().zip(START) {
        *words = _mm512_set1_epi32(word as i32);
    }
    let state = compress(compress(start, first), second);

    let mut columns = [_mm512_setzero_si512(); LANES];
    columns[..8].copy_from_slice(&state);
    for (row, out) in transpose(columns).into_iter().zip(out) {
        let mut bytes = [0u8; 64];
        store(&mut bytes, big_endian(row));
        out.copy_from_slice(&bytes[..32]);
    }
}

/// Computes FIPS 180-4, section 6.2.2, for sixteen blocks.
#[inline]
#[target_feature(enable = "avx512f")]
fn compress(state: [Words; 8], mut w: [Words; 16]) -> [Words; 8] {
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
    let (sixteens, _) = ROUNDS.as_chunks::<16>();
    for (number, constants) in sixteens.iter().enumerate() {
        if number > 0 {
            schedule(&mut w);
        }
        // The variables are renamed from round to round, so that no word has to be moved.
        macro_rules! round {
            ($a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident, $t:literal) => {
                let known = _mm512_add_epi32(w[$t], _mm512_set1_epi32(constants[$t] as i32));
                let choice = _mm512_ternarylogic_epi32::<CHOICE>($e, $f, $g);
                let sum = _mm512_add_epi32(_mm512_add_epi32($h, known), _mm512_add_epi32(choice, sum_1($e)));
                let majority = _mm512_ternarylogic_epi32::<MAJORITY>($a, $b, $c);
                $d = _mm512_add_epi32($d, sum);
                $h = _mm512_add_epi32(sum, _mm512_add_epi32(majority, sum_0($a)));
            };
        }
        round!(a b c d e f g h, 0);
        round!(h a b c d e f g, 1);
        round!(g h a b c d e f, 2);
        round!(f g h a b c d e, 3);
        round!(e f g h a b c d, 4);
        round!(d e f g h a b c, 5);
        round!(c d e f g h a b, 6);
        round!(b c d e f g h a, 7);
        round!(a b c d e f g h, 8);
        round!(h a b c d e f g, 9);
        round!(g h a b c d e f, 10);
        round!(f g h a b c d e, 11);
        round!(e f g h a b c d, 12);
        round!(d e f g h a b c, 13);
        round!(c d e f g h a b, 14);
        round!(b c d e f g h a, 15);
    }
    let mut out = [a, b, c, d, e, f, g, h];
    for (word, before) in out.iter_mut().zip(state) {
        *word = _mm512_add_epi32(*word, before);
    }
    out
}

/// Computes the next sixteen words of the message schedule, in place of the last.
#[inline]
#[target_feature(enable = "avx512f")]
fn schedule(w: &mut [Words; 16]) {
    for t in 0..16 {
        let near = _mm512_add_epi32(w[t], sigma_0(w[(t + 1) % 16]));
        let far = _mm512_add_epi32(w[(t + 9) % 16], sigma_1(w[(t + 14) % 16]));
        w[t] = _mm512_add_epi32(near, far);
    }
}

/// Truth tables of three bits: the exclusive or, the choice by the first bit, and the majority.
const XOR: i32 = 0x96;
const CHOICE: i32 = 0xca;
const MAJORITY: i32 = 0xe8;

#[inline]
#[target_feature(enable = "avx512f")]
fn sum_0(x: Words) -> Words {
    let (p, q, r) = (_mm512_ror_epi32::<2>(x), _mm512_ror_epi32::<13>(x), _mm512_ror_epi32::<22>(x));
    _mm512_ternarylogic_epi32::<XOR>(p, q, r)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn sum_1(x: Words) -> Words {
    let (p, q, r) = (_mm512_ror_epi32::<6>(x), _mm512_ror_epi32::<11>(x), _mm512_ror_epi32::<25>(x));
    _mm512_ternarylogic_epi32::<XOR>(p, q, r)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn sigma_0(x: Words) -> Words {
    let (p, q, r) = (_mm512_ror_epi32::<7>(x), _mm512_ror_epi32::<18>(x), _mm512_srli_epi32::<3>(x));
    _mm512_ternarylogic_epi32::<XOR>(p, q, r)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn sigma_1(x: Words) -> Words {
    let (p, q, r) = (_mm512_ror_epi32::<17>(x), _mm512_ror_epi32::<19>(x), _mm512_srli_epi32::<10>(x));
    _mm512_ternarylogic_epi32::<XOR>(p, q, r)
}

/// Reverses the bytes of each word.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn big_endian(x: __m512i) -> __m512i {
    let order = _mm_set_epi64x(0x0c0d_0e0f_0809_0a0b, 0x0405_0607_0001_0203);
    _mm512_shuffle_epi8(x, _mm512_broadcast_i32x4(order))
}

/// Transposes a square of rows.
#[inline]
#[target_feature(enable = "avx512f")]
fn transpose(r: [__m512i; 16]) -> [__m512i; 16] {
    let mut pairs = r;
    for i in 0..8 {
        pairs[2 * i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
        pairs[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
    }
    // Quarter k of fours[4 i + j] has the words of column 4 k + j in the rows from 4 i on.
    let mut fours = pairs;
    for i in [0, 4, 8, 12] {
        fours[i] = _mm512_unpacklo_epi64(pairs[i], pairs[i + 2]);
        fours[i + 1] = _mm512_unpackhi_epi64(pairs[i], pairs[i + 2]);
        fours[i + 2] = _mm512_unpacklo_epi64(pairs[i + 1], pairs[i + 3]);
        fours[i + 3] = _mm512_unpackhi_epi64(pairs[i + 1], pairs[i + 3]);
    }
    let mut out = fours;
    for j in 0..4 {
        let (a, b, c, d) = (fours[j], fours[4 + j], fours[8 + j], fours[12 + j]);
        let (low, high) = (_mm512_shuffle_i32x4::<0x44>(a, b), _mm512_shuffle_i32x4::<0xee>(a, b));
        let (low_2, high_2) = (_mm512_shuffle_i32x4::<0x44>(c, d), _mm512_shuffle_i32x4::<0xee>(c, d));
        out[j] = _mm512_shuffle_i32x4::<0x88>(low, low_2);
        out[4 + j] = _mm512_shuffle_i32x4::<0xdd>(low, low_2);
        out[8 + j] = _mm512_shuffle_i32x4::<0x88>(high, high_2);
        out[12 + j] = _mm512_shuffle_i32x4::<0xdd>(high, high_2);
    }
    out
}
