//! The search, 32 words at a time, by mask registers.

use super::lanes::load;
use super::registers::Zmm;
use crate::simd::args::Needle;
use crate::simd::generic::Register;
use core::arch::x86_64::*;

#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn either16(words: &[[u8; 2]], tags: &[u16], sought: Needle, hits: &mut [u64]) {
    let r = Zmm::new();
    let pattern = Pattern::of(sought);
    let (words, words_rest) = words.as_chunks::<64>();
    let (tags, tags_rest) = tags.as_chunks::<64>();
    let (whole, last) = hits.split_at_mut(tags.len());
    for ((words, tags), hits) in words.iter().zip(tags).zip(whole) {
        let (lower, upper) = words.as_flattened().split_at(64);
        *hits = pattern.hits([r.load(lower), r.load(upper)], tags);
    }
    crate::simd::scalar::either16(words_rest, tags_rest, sought, last);
}

/// The searched values, in every lane.
#[derive(Clone, Copy)]
pub(super) struct Pattern {
    word: __m512i,
    mask: __m512i,
    tag: __m512i,
}

impl Pattern {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn of(sought: Needle) -> Self {
        let [word, mask, tag] = [sought.word as i16, sought.mask as i16, sought.tag as i16];
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
    pub(super) fn hits(self, words: [__m512i; 2], tags: &[u16; 64]) -> u64 {
        let mut hits = 0;
        for ((words, tags), at) in words.into_iter().zip(tags.as_chunks::<32>().0).zip([0, 32]) {
            hits |= u64::from(self.half(words, tags)) << at;
        }
        hits
    }
}
