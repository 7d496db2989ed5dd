//! Encodings of polynomials and ciphertexts, and the order of their values.
//!
//! A polynomial is written prime by prime: each number in as many bits as its prime has, highest
//! bit first, and each prime starts at a byte. Values are those at the odd powers of the *smallest*
//! primitive root of unity, in the order of an in-place transform; ours are at powers of another
//! root, in another order, so one list of places for each prime translates between them.

use crate::drbg::{SEED_BYTES, uniform};
use crate::proto::{CiphertextForm, FullCiphertext, SeededCiphertext, SerializedCiphertext};
use bytes::Bytes;
use sotto_bfv::mulpir::{Compression, EntryShape, RingContext};
use sotto_core::{ParamsError, PeerMisbehaved};
use sotto_lattice::bgv::{Ciphertext, Level, SlotRing};
use sotto_math::bits::{highest, packed_len};
use sotto_math::modulus::Modulus;
use sotto_math::ntt::NttPlan;

/// Tools of a ring, and the encoding of its numbers.
#[derive(Debug)]
pub struct Codec {
    kit: RingContext,
    /// For each prime, the place of each value among ours.
    places: Vec<Vec<u32>>,
    /// Number of low bits that are omitted from each polynomial of a response.
    skipped: [u32; 2],
}

impl Codec {
    /// Makes the codec of a ring.
    ///
    /// # Errors
    /// [`ParamsError::Field`] if the plain modulus is too large for a response.
    pub fn new(kit: RingContext) -> Result<Self, ParamsError> {
        let plans = kit.ring().ring().plans();
        let places = plans.iter().map(places).collect();
        let first = plans.first().map_or(0, |plan| plan.modulus().value());
        let skipped = skipped(kit.degree(), first, kit.ring().ring().plain())?;
        Ok(Codec { kit, places, skipped })
    }

    /// Tools of the ring.
    pub fn kit(&self) -> &RingContext {
        &self.kit
    }

    /// Checks that lookups in tables of this shape fail rarely enough, with keys of this
    /// compression.
    ///
    /// # Errors
    /// [`ParamsError::Unreliable`] above 2^-40, with the probability.
    pub fn check(&self, shape: &EntryShape, compression: Compression) -> Result<(), ParamsError> {
        self.kit.check(shape, compression, self.skipped)
    }

    /// Level of queries.
    pub fn top(&self) -> Level {
        self.kit.ring().top()
    }

    /// Level of keys.
    pub fn full(&self) -> Level {
        self.kit.ring().full()
    }

    fn moduli(&self, level: Level) -> Vec<Modulus> {
        self.kit.ring().plans(level).map(|plan| *plan.modulus()).collect()
    }

    /// Bytes of a polynomial.
    pub fn poly_bytes(&self, level: Level) -> usize {
        self.moduli(level).iter().map(|q| packed_len(q.bits(), self.kit.degree()).unwrap_or(0)).sum()
    }

    /// Bytes of the polynomials of a response's ciphertext.
    pub fn answer_bytes(&self) -> usize {
        let bits = self.moduli(self.top()).first().map_or(1, Modulus::bits);
        let len = |skip| packed_len(bits - skip, self.kit.degree()).unwrap_or(0);
        2 + self.skipped.into_iter().map(len).sum::<usize>()
    }

    /// Appends a polynomial, number by number.
    pub fn put_poly(&self, level: Level, x: &[u64], out: &mut Vec<u8>) {
        for (q, x) in self.moduli(level).iter().zip(x.chunks(self.kit.degree())) {
            highest::pack(x.iter().copied(), q.bits(), out);
        }
    }

    /// Decodes the numbers of a polynomial, each of which must be reduced.
    pub fn take_poly(
        &self,
        level: Level,
        mut bytes: &[u8],
        what: &'static str,
    ) -> Result<Vec<u64>, PeerMisbehaved> {
        let (got, want) = (bytes.len() as u64, self.poly_bytes(level) as u64);
        let degree = self.kit.degree();
        let mut out = vec![0; self.kit.ring().words(level)];
        for (q, out) in self.moduli(level).iter().zip(out.chunks_mut(degree)) {
            let len = packed_len(q.bits(), degree).unwrap_or(usize::MAX);
            let (now, rest) =
                bytes.split_at_checked(len).ok_or(PeerMisbehaved::Length { what, got, want })?;
            let whole = highest::unpack(now, q.bits(), out);
            let largest = out.iter().fold(0, |largest, x| largest.max(*x));
            if whole.is_none() || largest >= q.value() {
                return Err(PeerMisbehaved::NotCanonical(what));
            }
            bytes = rest;
        }
        if bytes.is_empty() { Ok(out) } else { Err(PeerMisbehaved::Length { what, got, want }) }
    }

    /// Converts values from Apple's order to ours.
    pub fn ours(&self, theirs: &[u64]) -> Vec<u64> {
        let degree = self.kit.degree();
        let mut out = vec![0; theirs.len()];
        for ((places, theirs), out) in
            self.places.iter().zip(theirs.chunks(degree)).zip(out.chunks_mut(degree))
        {
            for (place, x) in places.iter().zip(theirs) {
                if let Some(out) = out.get_mut(*place as usize) {
                    *out = *x;
                }
            }
        }
        out
    }

    /// Converts values from our order to Apple's.
    pub fn theirs(&self, ours: &[u64]) -> Vec<u64> {
        let limbs = self.places.iter().zip(ours.chunks(self.kit.degree()));
        let value = |ours: &[u64], place: &u32| ours.get(*place as usize).copied().unwrap_or(0);
        limbs.flat_map(|(places, ours)| places.iter().map(move |place| value(ours, place))).collect()
    }

    /// Uniform values of a seed, in our order.
    pub fn mask(&self, level: Level, seed: &[u8; SEED_BYTES]) -> Vec<u64> {
        self.ours(&uniform(seed, self.kit.degree(), &self.moduli(level)))
    }

    fn seeded<'a>(
        &self,
        c: &'a SerializedCiphertext,
        what: &'static str,
    ) -> Result<(&'a Bytes, &'a [u8; SEED_BYTES]), PeerMisbehaved> {
        let Some(CiphertextForm::Seeded(c)) = &c.form else {
            return Err(PeerMisbehaved::Malformed { what, why: "lacks a seed".into() });
        };
        let length =
            PeerMisbehaved::Length { what: "seed", got: c.seed.len() as u64, want: SEED_BYTES as u64 };
        Ok((&c.poly0, c.seed.as_array().ok_or(length)?))
    }

    /// Decodes a fresh ciphertext: a polynomial of coefficients and a seed.
    pub fn take_fresh(&self, c: &SerializedCiphertext) -> Result<Ciphertext, PeerMisbehaved> {
        let (poly, seed) = self.seeded(c, "ciphertext")?;
        let level = self.top();
        let mut body = self.take_poly(level, poly, "ciphertext")?;
        self.kit.ring().forward(level, &mut body);
        Ok(Ciphertext::new(self.kit.ring(), level, &[&body, &self.mask(level, seed)]))
    }

    /// Encodes a fresh ciphertext, given the values of its body.
    pub fn put_fresh(&self, body: &[u64], seed: &[u8; SEED_BYTES]) -> SerializedCiphertext {
        let level = self.top();
        let mut body = body.to_vec();
        self.kit.ring().inverse(level, &mut body);
        self.put_seeded(level, &body, seed)
    }

    /// Decodes a row of a key: a polynomial of values and a seed.
    pub fn take_row(&self, c: &SerializedCiphertext) -> Result<Ciphertext, PeerMisbehaved> {
        let (poly, seed) = self.seeded(c, "evaluation key")?;
        let level = self.full();
        let body = self.ours(&self.take_poly(level, poly, "evaluation key")?);
        Ok(Ciphertext::new(self.kit.ring(), level, &[&body, &self.mask(level, seed)]))
    }

    /// Encodes a row of a key, given the values of its body.
    pub fn put_row(&self, body: &[u64], seed: &[u8; SEED_BYTES]) -> SerializedCiphertext {
        self.put_seeded(self.full(), &self.theirs(body), seed)
    }

    fn put_seeded(&self, level: Level, body: &[u64], seed: &[u8; SEED_BYTES]) -> SerializedCiphertext {
        let mut poly0 = Vec::with_capacity(self.poly_bytes(level));
        self.put_poly(level, body, &mut poly0);
        let seed = Bytes::copy_from_slice(seed);
        let seeded = SeededCiphertext { poly0: poly0.into(), seed };
        SerializedCiphertext { form: Some(CiphertextForm::Seeded(seeded)) }
    }

    /// Encodes a ciphertext of a response: coefficients modulo the first prime, without some low
    /// bits.
    pub fn put_answer(&self, parts: &[Vec<u64>; 2]) -> SerializedCiphertext {
        let bits = self.moduli(self.top()).first().map_or(1, Modulus::bits);
        let mut polys = 2u16.to_le_bytes().to_vec();
        for (part, skip) in parts.iter().zip(self.skipped) {
            highest::pack(part.iter().map(|x| x >> skip), bits - skip, &mut polys);
        }
        let full =
            FullCiphertext { polys: polys.into(), skip_lsbs: self.skipped.to_vec(), correction_factor: 1 };
        SerializedCiphertext { form: Some(CiphertextForm::Full(full)) }
    }

    /// Decodes a ciphertext of a response, with zeros for the bits that were omitted.
    pub fn take_answer(&self, c: &SerializedCiphertext) -> Result<[Vec<u64>; 2], PeerMisbehaved> {
        let what = "response";
        let malformed = |why: &str| PeerMisbehaved::Malformed { what, why: why.into() };
        let Some(CiphertextForm::Full(c)) = &c.form else {
            return Err(malformed("is not a complete ciphertext"));
        };
        let q = self.moduli(self.top()).first().copied().ok_or(malformed("has no prime"))?;
        let [first, second] =
            *c.skip_lsbs.as_array().ok_or(malformed("does not say which bits two polynomials lack"))?;
        let (count, mut rest) =
            c.polys.split_first_chunk().ok_or(malformed("has no count of its polynomials"))?;
        if u16::from_le_bytes(*count) != 2 || first >= q.bits() || second >= q.bits() {
            return Err(malformed("is not two polynomials with at least one bit each"));
        }
        let mut out = [vec![0; self.kit.degree()], vec![0; self.kit.degree()]];
        for (out, skip) in out.iter_mut().zip([first, second]) {
            let len = packed_len(q.bits() - skip, out.len()).unwrap_or(usize::MAX);
            let (now, left) = rest.split_at_checked(len).ok_or(malformed("is too short"))?;
            highest::unpack(now, q.bits() - skip, out).ok_or(PeerMisbehaved::NotCanonical(what))?;
            out.iter_mut().for_each(|x| *x <<= skip);
            if out.iter().any(|x| *x >= q.value()) {
                return Err(PeerMisbehaved::NotCanonical(what));
            }
            rest = left;
        }
        if rest.is_empty() { Ok(out) } else { Err(malformed("is too long")) }
    }
}

/// Place of each of Apple's values among ours. Their value number `i` is at `psi^(2 brev(i) + 1)`,
/// for the smallest root `psi`.
fn places(plan: &NttPlan) -> Vec<u32> {
    let (n, q) = (plan.n(), plan.modulus());
    let order = 2 * n;
    let square = q.mul(plan.root(), plan.root());
    let odd_powers = std::iter::successors(Some(plan.root()), |root| Some(q.mul(*root, square)));
    // The smallest root is an odd power of ours.
    let smallest = odd_powers.take(n).enumerate().min_by_key(|(_, root)| *root).map_or(1, |(i, _)| 2 * i + 1);
    let mut slot_of = vec![0; order];
    for slot in 0..n {
        if let Some(place) = slot_of.get_mut(plan.exponent(slot)) {
            *place = slot as u32;
        }
    }
    let brev = |i: usize| i.reverse_bits() >> (usize::BITS - n.trailing_zeros());
    let place = |i: usize| slot_of.get(smallest * (2 * brev(i) + 1) % order).copied().unwrap_or(0);
    (0..n).map(place).collect()
}

/// Number of low bits that a response can omit: the resulting noise leaves the plaintext readable.
fn skipped(degree: usize, q: u64, t: u64) -> Result<[u32; 2], ParamsError> {
    let bits = (q / t).checked_ilog2().and_then(|bits| bits.checked_sub(3));
    let bits =
        bits.ok_or(ParamsError::Field { field: "plain modulus", why: "must be below q / 8".into() })?;
    // ceil(log2(floor(8 sqrt(2 N / 9)))).
    let spread = ((64 * 2 * degree / 9).isqrt()).next_power_of_two().ilog2();
    Ok(match bits.checked_sub(spread) {
        Some(second @ 2..) => [bits, second],
        _ => [bits + 1, 0],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sets::{SETS, WeakParams};

    #[test]
    fn bits_that_responses_lack_are_those_of_the_library() {
        let expected = [[20, 12], [19, 11], [18, 10], [11, 3], [9, 0], [8, 0]];
        for (set, expected) in SETS.iter().zip(expected) {
            let codec = Codec::new(set.kit(WeakParams::Reject).unwrap().0).unwrap();
            assert_eq!(codec.skipped, expected, "{}", set.name);
        }
        assert!(skipped(4096, 100, 17).is_err());
    }
}
