//! AES by its instructions (ARM's cryptographic extension).

use super::compare::bits;
use super::registers::Register16;
use crate::simd::Blocks;
use crate::simd::args::{Aes, Needle, PART};
use crate::simd::generic::{self, Register};
use crate::simd::scalar::Pairs;
use core::arch::aarch64::*;
use std::arch::is_aarch64_feature_detected;
use zeroize::Zeroizing;

/// Proof that this processor has NEON and AES. Only the probe makes one.
pub(super) struct NeonAes(());

impl NeonAes {
    pub(super) fn probe() -> Option<&'static dyn Blocks> {
        static PROVEN: NeonAes = NeonAes(());
        (is_aarch64_feature_detected!("neon") && is_aarch64_feature_detected!("aes")).then_some(&PROVEN)
    }
}

compiled_aes!(NeonAes);
compiled_single!("neon,aes", Register16::with_aes());

/// The search, 64 words at a time: masks of words are narrowed to masks of bytes.
#[target_feature(enable = "neon")]
fn either16(words: &[[u8; 2]], tags: &[u16], needle: Needle, hits: &mut [u64]) {
    let r = Register16::new();
    let [word, mask, tag] = [needle.word, needle.mask, needle.tag].map(|word| vdupq_n_u16(word));
    let (words, words_rest) = words.as_chunks::<64>();
    let (tags, tags_rest) = tags.as_chunks::<64>();
    let (whole, last) = hits.split_at_mut(tags.len());
    let hit = |words: &[[u8; 2]; 8], tags: &[u16; 8]| {
        let (words, tags) = (vreinterpretq_u16_u8(r.load(words)), vreinterpretq_u16_u8(r.load(tags)));
        let words = vceqq_u16(vandq_u16(words, mask), word);
        vreinterpretq_u8_u16(vorrq_u16(words, vceqq_u16(tags, tag)))
    };
    for ((words, tags), hits) in words.iter().zip(tags).zip(whole) {
        let (words, tags) = (words.as_chunks::<8>().0, tags.as_chunks::<8>().0);
        let sixteen = |i: usize| vuzp1q_u8(hit(&words[i], &tags[i]), hit(&words[i + 1], &tags[i + 1]));
        *hits = bits([sixteen(0), sixteen(2), sixteen(4), sixteen(6)]);
    }
    crate::simd::scalar::either16(words_rest, tags_rest, needle, last);
}
