//! Converting a ciphertext to plaintexts, and back.
//!
//! The second dimension multiplies ciphertexts of the first by plaintexts, so they have to become
//! plaintexts themselves: rounded to few bits, which are written into coefficients, as many to each
//! as a plaintext holds (S&P 2018, section 3.2, where F is the number of plaintexts). With three
//! more bits of a body than a coefficient has, and as many fewer bits of a mask than two
//! coefficients, all bits of a ciphertext are exactly three plaintexts.

use sotto_bfv::rings::{Ring, RingSet};
use sotto_lattice::bgv::{Answer, AnswerBits, Ciphertext, SlotRing};
use sotto_math::bits::{pack_words, unpack_words};
use zeroize::Zeroizing;

/// Number of plaintexts of a ciphertext, F.
pub const PLAINTEXTS: usize = 3;

/// Bits of a body above those of a coefficient.
const BODY_MORE: u32 = 3;

/// The bits of the ciphertexts that become plaintexts; `None` if the ring is too small for them.
pub fn bits(set: &RingSet) -> Option<AnswerBits> {
    let mask = (PLAINTEXTS as u32 - 1) * set.bits - BODY_MORE;
    AnswerBits::new(set.ring()?, set.bits + BODY_MORE, mask)
}

/// The plaintexts of a ciphertext at the last level.
pub fn split(ring: &Ring, bits: AnswerBits, width: u32, c: &Ciphertext) -> Vec<Vec<u64>> {
    let mut bytes = Vec::new();
    Answer::new(ring, bits, c).put(bits, &mut bytes);
    let n = ring.ring().degree();
    let digits = unpack_words(&bytes, width, PLAINTEXTS * n).unwrap_or_default();
    digits.chunks(n).map(<[u64]>::to_vec).collect()
}

/// The ciphertext with these plaintexts, in time that does not depend on them; `None` if their
/// number differs.
pub fn join(ring: &Ring, bits: AnswerBits, width: u32, plaintexts: &[Zeroizing<Vec<u64>>]) -> Option<Answer> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(bits.bytes(ring)));
    let mask = (1 << width) - 1;
    // A wrong answer does not decrypt to more bits either.
    let digits =
        Zeroizing::new(plaintexts.iter().flat_map(|x| x.iter().map(|x| x & mask)).collect::<Vec<u64>>());
    pack_words(&digits, width, &mut bytes);
    Answer::take(ring, bits, &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sotto_bfv::rings;

    #[test]
    fn ciphertexts_are_three_plaintexts() {
        for name in [rings::COEFFICIENTS, rings::COEFFICIENTS_SMALL] {
            let set = rings::find(name).unwrap();
            let (ring, bits) = (set.ring().unwrap(), bits(set).unwrap());
            let last = ring.level(1).unwrap();
            let part = |seed: u64| (0..4096).map(|i| (i * i * 77 + seed) << 20).collect::<Vec<u64>>();
            let c = Ciphertext::new(ring, last, &[&part(5), &part(7)]);
            let plaintexts = split(ring, bits, set.bits, &c);
            assert!(plaintexts.len() == PLAINTEXTS);
            assert!(plaintexts.iter().all(|x| x.len() == 4096 && x.iter().all(|x| *x < set.plain)));
            let back: Vec<_> = plaintexts.into_iter().map(Zeroizing::new).collect();
            assert_eq!(join(ring, bits, set.bits, &back), Some(Answer::new(ring, bits, &c)));
            assert_eq!(join(ring, bits, set.bits, &back[1..]), None);
        }
    }
}
