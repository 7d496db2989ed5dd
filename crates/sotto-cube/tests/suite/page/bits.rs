//! Words of any width, one bit at a time.

/// Words of some bits, the lowest bit first.
pub(crate) fn append(out: &mut Vec<bool>, words: &[u128], bits: u32) {
    out.extend(words.iter().flat_map(|word| (0..bits).map(move |bit| word >> bit & 1 == 1)));
    out.resize(out.len().next_multiple_of(8), false);
}

pub(crate) fn bytes(bits: &[bool]) -> Vec<u8> {
    bits.chunks(8).map(|byte| byte.iter().rev().fold(0, |sum, bit| sum * 2 + u8::from(*bit))).collect()
}

pub(crate) fn words(bytes: &[u8], bits: u32, count: usize) -> Vec<u64> {
    let bit = |i: usize| u64::from(bytes[i / 8] >> (i % 8) & 1);
    let word = |w: usize| (0..bits as usize).map(|i| bit(w * bits as usize + i) << i).sum();
    (0..count).map(word).collect()
}
