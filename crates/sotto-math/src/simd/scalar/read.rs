//! A sequential read, one word at a time.

pub(in crate::simd) fn read(bytes: &[u8]) -> u64 {
    let (words, tail) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..tail.len()].copy_from_slice(tail);
    words.iter().fold(u64::from_le_bytes(last), |sum, word| sum ^ u64::from_le_bytes(*word))
}
