//! AES by its instructions (AES-NI).

use super::registers::{Xmm, Ymm, load};
use crate::simd::Blocks;
use crate::simd::args::{Aes, Needle, PART};
use crate::simd::generic::{self, Register};
use crate::simd::scalar::Pairs;
use core::arch::x86_64::*;
use zeroize::Zeroizing;

/// Proof that this processor has AVX2 and AES. Only the probe makes one.
pub(in crate::simd) struct AesNi(());

impl AesNi {
    pub(in crate::simd) fn probe() -> Option<&'static dyn Blocks> {
        static PROVEN: AesNi = AesNi(());
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("aes")).then_some(&PROVEN)
    }
}

compiled_aes!(AesNi);
compiled_single!("avx2,aes", Xmm::with_aes());

/// The search, 32 words at a time: masks of words are packed into masks of bytes.
#[target_feature(enable = "avx2")]
fn either16(words: &[[u8; 2]], tags: &[u16], needle: Needle, hits: &mut [u64]) {
    let r = Ymm::new();
    let [word, mask, tag] = [needle.word, needle.mask, needle.tag].map(|word| r.load(&[word; 16]));
    let (words, words_rest) = words.as_chunks::<64>();
    let (tags, tags_rest) = tags.as_chunks::<64>();
    let (whole, last) = hits.split_at_mut(tags.len());
    let hit = |words: &[[u8; 2]], tags: &[u16; 16]| {
        let words = _mm256_cmpeq_epi16(_mm256_and_si256(r.load(words.as_flattened()), mask), word);
        _mm256_or_si256(words, _mm256_cmpeq_epi16(load(tags), tag))
    };
    for ((words, tags), hits) in words.iter().zip(tags).zip(whole) {
        *hits = 0;
        let pairs = words.as_chunks::<32>().0.iter().zip(tags.as_chunks::<16>().0.as_chunks::<2>().0);
        for ((words, [tags, upper]), at) in pairs.zip([0, 32]) {
            // Packing works on halves of registers, so the middle two groups are swapped.
            let packed = _mm256_packs_epi16(hit(&words[..16], tags), hit(&words[16..], upper));
            let half = _mm256_movemask_epi8(_mm256_permute4x64_epi64::<0b11_01_10_00>(packed));
            *hits |= u64::from(half as u32) << at;
        }
    }
    crate::simd::scalar::either16(words_rest, tags_rest, needle, last);
}
