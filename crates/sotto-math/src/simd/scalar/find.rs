//! The search, one word at a time.

use crate::simd::args::Needle;

pub(in crate::simd) fn either16(words: &[[u8; 2]], tags: &[u16], sought: Needle, hits: &mut [u64]) {
    for ((words, tags), hits) in words.chunks(64).zip(tags.chunks(64)).zip(hits) {
        *hits = words.iter().zip(tags).zip(0..).fold(0, |hits, ((&word, &tag), i)| {
            let word = u32::from((u16::from_le_bytes(word) & sought.mask) ^ sought.word);
            let tag = u32::from(tag ^ sought.tag);
            // Of 17 bits and fewer, only zero borrows from the upper half: no branch.
            hits | u64::from((word.wrapping_sub(1) | tag.wrapping_sub(1)) >> 31) << i
        });
    }
}
