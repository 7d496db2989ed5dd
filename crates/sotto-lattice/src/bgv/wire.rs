//! Bodies on the wire: values, packed without gaps.
//!
//! Each limb has as many words as the ring's degree, each in as many bits as its prime has.
//! Decoding refuses words that are not reduced: a value has one encoding.
#![deny(clippy::indexing_slicing)]

use super::ring::{Level, SlotRing};
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
mod tests {
    use super::*;
    use crate::bgv::fixture::{SEED, levels, on_every_ring};

    on_every_ring!(bodies_come_back_and_nothing_else_does);

    fn bodies_come_back_and_nothing_else_does<R: SlotRing>(rns: &RnsRing<R>) {
        for level in levels(rns).chain([rns.full()]) {
            let x = rns.mask(level, &SEED, "body", 0);
            let mut bytes = Vec::new();
            put_body(rns, level, &x, &mut bytes);
            assert_eq!(bytes.len(), body_bytes(rns, level));
            assert_eq!(take_body(rns, level, &bytes).unwrap(), x);

            assert!(take_body(rns, level, &[]).is_none());
            assert!(take_body(rns, level, &bytes[1..]).is_none());
            assert!(take_body(rns, level, &[&bytes[..], &[0]].concat()).is_none());
            if let Some(below) = level.below() {
                assert!(take_body(rns, below, &bytes).is_none());
            }
            // The first and the last word of every limb, just reduced and just not.
            let words = rns.ring().words();
            for (limb, plan) in rns.plans(level).enumerate() {
                for at in [0, rns.ring().degree() - 1] {
                    for (over, fits) in [(0, true), (1, false)] {
                        let mut x = x.clone();
                        x[limb * words + at] = plan.modulus().value() - 1 + over;
                        let mut bytes = Vec::new();
                        put_body(rns, level, &x, &mut bytes);
                        assert_eq!(take_body(rns, level, &bytes), fits.then_some(x));
                    }
                }
            }
            // Bits that belong to no word, where there are any.
            let bits = rns.plans(level).next().map_or(0, |plan| plan.modulus().bits()) as usize;
            if !(bits * rns.ring().degree()).is_multiple_of(8) {
                let mut bytes = bytes.clone();
                bytes[(bits * rns.ring().degree()) / 8] |= 0x80;
                assert!(take_body(rns, level, &bytes).is_none());
            }
        }
    }
}
