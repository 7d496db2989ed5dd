//! Bodies on the wire: values, packed without gaps.
//!
//! Each limb has as many words as the ring's degree, each in as many bits as its prime has.
//! Decoding refuses words that are not reduced: a value has one encoding.
#![deny(clippy::indexing_slicing)]

use super::level::Level;
use super::ring::SlotRing;
use super::rns::RnsRing;
use sotto_math::bits::{pack_words, packed_len, unpack_words};

/// The bytes of a polynomial.
pub fn body_bytes<R: SlotRing>(rns: &RnsRing<R>, level: Level) -> usize {
    let limb = |bits| packed_len(bits, rns.ring().degree()).unwrap_or(0);
    rns.plans(level).map(|plan| limb(plan.modulus().bits())).sum()
}

/// Appends a polynomial, given as values, to `out`.
///
/// # Panics
/// If `x` is not as long as the level requires.
pub fn put_body<R: SlotRing>(rns: &RnsRing<R>, level: Level, x: &[u64], out: &mut Vec<u8>) {
    assert_eq!(x.len(), rns.words(level), "a polynomial of this level");
    for (plan, limb) in rns.plans(level).zip(x.chunks_exact(rns.ring().words())) {
        let (values, _) = limb.split_at(rns.ring().degree());
        pack_words(values, plan.modulus().bits(), out);
    }
}

/// Decodes a polynomial; `None` unless there are exactly the required bytes, every word is reduced,
/// and padding bits are zero.
pub fn take_body<R: SlotRing>(rns: &RnsRing<R>, level: Level, mut bytes: &[u8]) -> Option<Vec<u64>> {
    let degree = rns.ring().degree();
    let mut out = Vec::with_capacity(rns.words(level));
    for (limb, plan) in rns.plans(level).enumerate() {
        let q = plan.modulus();
        let (now, rest) = bytes.split_at_checked(packed_len(q.bits(), degree)?)?;
        let words = unpack_words(now, q.bits(), degree)?;
        if words.iter().any(|word| *word >= q.value()) {
            return None;
        }
        out.extend(words);
        out.resize((limb + 1) * rns.ring().words(), 0);
        bytes = rest;
    }
    bytes.is_empty().then_some(out)
}

#[cfg(test)]
mod tests;
