//! Plaintexts as coefficients, in about as many bits as they hold, which become values when they
//! are needed.
//!
//! ```text
//! plaintext   for each 16 bits of a coefficient: its words, 16 bits little-endian each
//!             for each bit after those: one bit a coefficient, the first the lowest bit of the first byte
//! ```
//!
//! A coefficient is a number in `0..t`. In the ring of 8191 that is one bit, and modulo 65537 a
//! word and a bit that is nearly always zero: no bits are shifted across words, so that reading
//! takes a small fraction of the time of a transform. The words that pad a limb are stored too.

use super::ring::SlotRing;

/// The format in which the plaintexts of a ring are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoefficientFormat {
    /// Number of coefficients, including those that pad a limb.
    count: usize,
    plain: u64,
}

/// Bits of a word.
const WORD_BITS: u32 = 16;

/// Coefficients whose bits of one plane fill a word of 64 bits.
const TOGETHER: usize = 64;

impl CoefficientFormat {
    /// The format for the plaintexts of a ring.
    pub fn new<R: SlotRing>(ring: &R) -> Self {
        Self::of(ring.words(), ring.plain())
    }

    /// The format for `count` coefficients, a multiple of 64, in `0..plain`.
    pub const fn of(count: usize, plain: u64) -> Self {
        CoefficientFormat { count, plain }
    }

    const fn bits(self) -> u32 {
        u64::BITS - (self.plain - 1).leading_zeros()
    }

    /// Bytes of a plaintext.
    pub const fn bytes(self) -> usize {
        self.count / 8 * self.bits() as usize
    }

    /// Splits a plaintext into planes of words, and planes of bits with the position of each.
    fn planes(self, bytes: &[u8]) -> (impl Iterator<Item = &[u8]>, impl Iterator<Item = (u32, &[u8])>) {
        let words = (self.bits() / WORD_BITS) as usize * self.count * 2;
        let (words, bits) = bytes.split_at(words);
        let first = self.bits() / WORD_BITS * WORD_BITS;
        (words.chunks_exact(2 * self.count), (first..).zip(bits.chunks_exact(self.count / 8)))
    }

    /// Appends a plaintext with coefficients in `0..t`.
    ///
    /// # Panics
    /// If there is not one limb of them.
    pub fn put(self, coefficients: &[u64], out: &mut Vec<u8>) {
        assert_eq!(coefficients.len(), self.count, "one limb of coefficients");
        let words = self.bits() / WORD_BITS;
        for word in 0..words {
            out.extend(coefficients.iter().flat_map(|x| ((x >> (word * WORD_BITS)) as u16).to_le_bytes()));
        }
        for bit in words * WORD_BITS..self.bits() {
            let byte = |x: &[u64]| (0..).zip(x).fold(0, |byte, (i, x)| byte | ((x >> bit & 1) as u8) << i);
            out.extend(coefficients.chunks(8).map(byte));
        }
    }

    /// Decodes the coefficients of a plaintext. A damaged one gives other numbers, in `0..t` too.
    ///
    /// # Panics
    /// If `bytes` is not [`bytes`](Self::bytes) long, or `coefficients` is not one limb.
    pub fn take(self, bytes: &[u8], coefficients: &mut [u64]) {
        assert!(
            bytes.len() == self.bytes() && coefficients.len() == self.count,
            "one plaintext and its output"
        );
        let (mut words, bits) = self.planes(bytes);
        match words.next() {
            Some(plane) => coefficients.iter_mut().zip(plane.as_chunks::<2>().0).for_each(|(x, word)| {
                *x = u64::from(u16::from_le_bytes(*word));
            }),
            None => coefficients.fill(0),
        }
        for (plane, shift) in words.zip((1..).map(|word| word * WORD_BITS)) {
            for (x, word) in coefficients.iter_mut().zip(plane.as_chunks::<2>().0) {
                *x |= u64::from(u16::from_le_bytes(*word)) << shift;
            }
        }
        for (bit, plane) in bits {
            for (x, set) in coefficients.chunks_exact_mut(TOGETHER).zip(plane.as_chunks::<8>().0) {
                let set = u64::from_le_bytes(*set);
                // All numbers modulo 65537 but one have a zero bit in this plane.
                if set != 0 {
                    for (i, x) in x.iter_mut().enumerate() {
                        *x = (*x | (set >> i & 1) << bit).min(self.plain - 1);
                    }
                }
            }
        }
    }

    /// Decodes the coefficients modulo each of some primes, centered around zero, as the input of the
    /// transform in [`RnsRing::from_plain`](super::RnsRing::from_plain). `out` has one limb for each
    /// prime.
    ///
    /// # Panics
    /// As [`take`](Self::take).
    pub fn residues(self, bytes: &[u8], primes: &[u64], out: &mut [&mut [u64]]) {
        let Some((last, others)) = out.split_last_mut() else { return };
        self.take(bytes, last);
        for (start, last) in (0..).step_by(TOGETHER).zip(last.chunks_exact_mut(TOGETHER)) {
            for (prime, out) in primes.iter().zip(&mut *others) {
                let out = &mut out[start..start + TOGETHER];
                out.iter_mut().zip(&*last).for_each(|(out, x)| *out = self.residue(*prime, *x));
            }
            let prime = primes.last().copied().unwrap_or_default();
            last.iter_mut().for_each(|x| *x = self.residue(prime, *x));
        }
    }

    #[inline]
    fn residue(self, prime: u64, x: u64) -> u64 {
        // All ones for values above a half; there are none modulo 2.
        x.wrapping_add(
            prime.wrapping_sub(self.plain) & ((self.plain / 2).wrapping_sub(x) as i64 >> 63) as u64,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bgv::fixture::{on_every_ring, plaintexts};
    use crate::bgv::{M8191, Pow2, RnsRing};

    on_every_ring!(plaintexts_come_back);

    fn plaintexts_come_back<R: SlotRing>(rns: &RnsRing<R>) {
        let (ring, stored) = (rns.ring(), CoefficientFormat::new(rns.ring()));
        for mut plaintext in plaintexts(rns) {
            // What is rare among numbers modulo 65537.
            plaintext[3] = ring.plain() - 1;
            let mut bytes = Vec::new();
            stored.put(&plaintext, &mut bytes);
            assert_eq!(bytes.len(), stored.bytes());
            let mut out = vec![7; ring.words()];
            stored.take(&bytes, &mut out);
            assert_eq!(out, plaintext);
            let level = rns.top();
            let values = rns.from_plain(level, &plaintext);
            for ((prime, plan), values) in rns.plans(level).enumerate().zip(values.chunks(ring.words())) {
                stored.residues(&bytes, &[plan.modulus().value()], &mut [&mut out]);
                ring.forward(prime, &mut out);
                assert_eq!(out, values);
            }
        }
    }

    #[test]
    fn bytes_are_few() {
        assert_eq!(CoefficientFormat::new(&Pow2::standard(2).unwrap()).bytes(), 17 * 1024);
        assert_eq!(CoefficientFormat::new(&M8191::standard(2).unwrap()).bytes(), 1024);
    }

    #[test]
    fn layouts_are_as_drawn() {
        let mut x = vec![0; 64];
        (x[0], x[1], x[63]) = (65536, 0x1234, 0xabcd);
        let mut bytes = Vec::new();
        CoefficientFormat::of(64, 65537).put(&x, &mut bytes);
        let mut drawn = vec![0; 136];
        (drawn[2], drawn[3], drawn[126], drawn[127], drawn[128]) = (0x34, 0x12, 0xcd, 0xab, 1);
        assert_eq!(bytes, drawn);
        // Of a damaged image: 65536 + 0x1234 is no number modulo 65537.
        bytes[128] = 3;
        CoefficientFormat::of(64, 65537).take(&bytes, &mut x);
        assert_eq!(x[1], 65536);
    }
}
