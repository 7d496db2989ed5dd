//! Keys to tags, and tags to rows.
//!
//! ```text
//! digest = BLAKE3 keyed with K ( key | zeros up to key_bytes | length (u32 LE) ), its first 16 bytes
//! K      = BLAKE3-derive-key("sotto 2026 keyword v1", seed)
//! tag    = the first tag_bytes of digest
//! row    = probe * part + floor( part * mix(h + (4 * attempt + probe + 1) * g) / 2^64 )     h: tag's first 8 bytes, LE
//! ```
//!
//! `part` is the number of rows over the number of probes, so that a key's rows are never the same.
//! `mix` and `g` are those of SplitMix64 (Steele, Lea, Flood, 2014): its outputs 4 `attempt` + 1
//! and so on, seeded with `h`. That is no cryptographic function and need not be, since `h` is the
//! output of one.
//!
//! Rows follow from the tag alone, so a table can be changed by anyone who has its rows, without
//! the keys. A tag of zeros marks an empty slot; where the hash gives `h` = 0, `h` is 1.

use sotto_prg::PublicSeed;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

const CONTEXT: &str = "sotto 2026 keyword v1";

/// Number of choices of one attempt: [`super::params::MAX_PROBES`].
const STRIDE: u64 = 4;

/// The increment g of SplitMix64, from the golden ratio.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The hash function of a table.
#[derive(Debug, Clone)]
pub(super) struct KeyHash {
    key: [u8; 32],
    key_bytes: usize,
}

/// The hash of a key. A slot holds its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, zeroize::Zeroize)]
pub(super) struct KeyDigest(u128);

impl KeyHash {
    pub(super) fn new(seed: &PublicSeed, key_bytes: u32) -> Self {
        KeyHash { key: blake3::derive_key(CONTEXT, &seed.0), key_bytes: key_bytes as usize }
    }

    /// The hash of a key; `None` if the key is too long. It is hashed at the maximum length, so
    /// that the time does not reveal the key's length.
    pub(super) fn digest(&self, key: &[u8]) -> Option<KeyDigest> {
        let mut input = Zeroizing::new(vec![0u8; self.key_bytes + 4]);
        let (text, length) = input.split_at_mut_checked(self.key_bytes)?;
        text.get_mut(..key.len())?.copy_from_slice(key);
        length.copy_from_slice(&(key.len() as u32).to_le_bytes());
        let mut hasher = Zeroizing::new(blake3::Hasher::new_keyed(&self.key));
        hasher.update(&input);
        let mut bytes = Zeroizing::new([0; 16]);
        hasher.finalize_xof().fill(bytes.as_mut());
        let digest = u128::from_le_bytes(*bytes);
        let is_zero = (digest as u64).ct_eq(&0).unwrap_u8();
        Some(KeyDigest(digest | u128::from(is_zero)))
    }
}

impl KeyDigest {
    /// The 16 bytes of the hash, of which the tag is the first.
    pub(super) fn bytes(self) -> [u8; 16] {
        self.0.to_le_bytes()
    }

    /// The part of the hash that a slot holds, from which rows follow.
    pub(super) fn cut(self, tag_bytes: u32) -> Self {
        KeyDigest(self.0 & (u128::MAX >> (128 - 8 * tag_bytes.clamp(1, 16))))
    }

    /// The tag in a slot, of at most 16 bytes; `None` if the slot is empty.
    pub(super) fn of_tag(tag: &[u8]) -> Option<Self> {
        let digest = tag.iter().rev().fold(0, |digest, byte| digest << 8 | u128::from(*byte));
        (digest != 0).then_some(KeyDigest(digest))
    }

    /// The row of a probe, out of `part` rows.
    pub(super) fn choice(self, attempt: u32, probe: u32, part: u64) -> u64 {
        let at = STRIDE * u64::from(attempt) + u64::from(probe) + 1;
        let hash = mix((self.0 as u64).wrapping_add(at.wrapping_mul(STEP)));
        ((u128::from(hash) * u128::from(part)) >> 64) as u64
    }
}

/// The finalizer of SplitMix64, a permutation.
pub(super) fn mix(x: u64) -> u64 {
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference implementation's first outputs for seed 1234567.
    #[test]
    fn choices_are_splitmix() {
        let first = [6_457_827_717_110_365_317u64, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        for (i, want) in (1..).zip(first) {
            assert_eq!(mix(1_234_567u64.wrapping_add(STEP.wrapping_mul(i))), want);
        }
    }

    #[test]
    fn keys_differ_by_their_length_too() {
        let hash = KeyHash::new(&PublicSeed([3; 32]), 8);
        assert_ne!(hash.digest(b"a"), hash.digest(b"a\0"));
        assert_eq!(hash.digest(b"123456789"), None);
        assert_ne!(hash.digest(b"12345678"), KeyHash::new(&PublicSeed([4; 32]), 8).digest(b"12345678"));
    }

    #[test]
    fn tags_are_read_back() {
        let digest = KeyHash::new(&PublicSeed([3; 32]), 8).digest(b"key").unwrap();
        for bytes in 8..=16u32 {
            let cut = digest.cut(bytes);
            assert_eq!(KeyDigest::of_tag(&digest.bytes()[..bytes as usize]), Some(cut));
            assert_eq!(cut.choice(5, 1, 1000), digest.choice(5, 1, 1000));
        }
        assert_eq!(KeyDigest::of_tag(&[0; 12]), None);
    }
}
