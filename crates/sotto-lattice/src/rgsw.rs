//! RGSW encryptions of a bit or a small polynomial, and their products with ciphertexts.
//!
//! An RGSW encryption of `m` has a row for each component `i = 0..=k` of a ciphertext and each
//! gadget digit `j`. Masks and bodies may have different gadgets: the dropped part of a mask is
//! multiplied by a secret, and that of a body is not. Row `(0, j)` has the phases
//! `-s_1 m g_j, ..., -s_k m g_j`; row `(i, j)` has the phase `m g_j` at position `i` and zero
//! elsewhere. The digits of all components of a ciphertext times these rows then have the phases
//! `m (b_i - a s_i)`: the message times `m`, with only the rows' errors multiplied, by digits
//! (Gentry, Sahai, Waters, CRYPTO 2013, in its ring form).

use crate::ciphertext::Ciphertext;
use crate::encrypt::{ErrorSource, MaskSource, encrypt};
use crate::ring::{ModulusLevel, Ring};
use crate::scratch::Scratch;
use crate::secret::SecretKey;
use sotto_math::gadget::Gadget;
use zeroize::Zeroizing;

/// An RGSW encryption of a bit or a small polynomial.
#[derive(Debug, Clone)]
pub struct RgswCiphertext {
    level: ModulusLevel,
    /// Gadgets of masks and of bodies.
    gadgets: [Gadget; 2],
    rank: usize,
    /// Rows component by component, digit by digit.
    rows: Vec<Ciphertext>,
}

impl RgswCiphertext {
    /// Makes an RGSW encryption of its rows, component by component and digit by digit; `None`
    /// unless there are all, of one shape.
    pub fn from_rows(gadgets: [&Gadget; 2], rows: Vec<Ciphertext>) -> Option<Self> {
        let (level, rank) = rows.first().map(|row| (row.level(), row.rank()))?;
        let alike = rows.iter().all(|row| (row.level(), row.rank()) == (level, rank));
        (alike && rows.len() == count(gadgets, rank)).then_some(RgswCiphertext {
            level,
            gadgets: gadgets.map(|gadget| *gadget),
            rank,
            rows,
        })
    }

    /// Encrypts a message given in slots: returns the bodies of the rows, row by row, secret by
    /// secret.
    ///
    /// Spiral's streaming variants upload these. Elsewhere the server makes them by
    /// [conversion](crate::rgsw_conversion).
    ///
    /// # Panics
    /// If the message is not as long as the level requires.
    pub fn generate(
        ring: &Ring,
        level: ModulusLevel,
        gadgets: [&Gadget; 2],
        secrets: &[&SecretKey],
        message: &[u64],
        masks: MaskSource<'_>,
        errors: &mut ErrorSource<'_>,
    ) -> Vec<Vec<u64>> {
        let zero = vec![0; message.len()];
        let mut bodies = Vec::with_capacity(count(gadgets, secrets.len()) * secrets.len());
        let mut rows = 0..;
        for i in 0..=secrets.len() {
            for (power, row) in gadgets[i.min(1)].powers().into_iter().zip(rows.by_ref()) {
                let mut scaled = Zeroizing::new(message.to_vec());
                ring.scale(level, &mut scaled, power);
                let products: Vec<Zeroizing<Vec<u64>>> =
                    secrets.iter().map(|secret| times_minus(ring, level, secret, &scaled)).collect();
                let place = |k| if k + 1 == i { scaled.as_slice() } else { zero.as_slice() };
                let messages: Vec<&[u64]> = match i {
                    0 => products.iter().map(|product| product.as_slice()).collect(),
                    _ => (0..secrets.len()).map(place).collect(),
                };
                let a = masks.mask(ring, level, row);
                bodies.extend(encrypt(ring, level, secrets, &a, &messages, errors.law, errors.rng));
            }
        }
        bodies
    }

    /// Assembles an encryption from the bodies that [`generate`](Self::generate) made.
    ///
    /// # Panics
    /// If there is not a body of the level's length for each row and secret.
    pub fn assemble(
        ring: &Ring,
        level: ModulusLevel,
        gadgets: [&Gadget; 2],
        rank: usize,
        bodies: &[Vec<u64>],
        masks: MaskSource<'_>,
    ) -> Self {
        assert_eq!(bodies.len(), rank * count(gadgets, rank), "one body per row and secret");
        let rows = Ciphertext::rows(ring, level, rank, bodies, masks);
        RgswCiphertext { level, gadgets: gadgets.map(|gadget| *gadget), rank, rows }
    }

    /// The rows, component by component and digit by digit.
    pub fn rows(&self) -> &[Ciphertext] {
        &self.rows
    }

    /// Computes the external product `out = C x ct`: the encrypted message times that of `ct`.
    ///
    /// # Panics
    /// If a ciphertext is of another level or rank.
    pub fn external_product(
        &self,
        ring: &Ring,
        ct: &Ciphertext,
        out: &mut Ciphertext,
        scratch: &mut Scratch,
    ) {
        self.check(ct);
        self.split(ring, scratch, |comp, poly| poly.copy_from_slice(ct.comp(comp)));
        self.check(out);
        scratch.sum(ring, &self.rows, out, self.rank + 1);
    }

    /// Replaces `zero` by the ciphertext that an encrypted bit selects: `zero += C x (one - zero)`.
    ///
    /// This is one product, where Spiral's and FSpiral's programs compute `C x one` and
    /// `(1 - C) x zero`.
    ///
    /// # Panics
    /// If a ciphertext is of another level or rank.
    pub fn cmux(&self, ring: &Ring, zero: &mut Ciphertext, one: &Ciphertext, scratch: &mut Scratch) {
        self.check(one);
        self.check(zero);
        self.split(ring, scratch, |comp, poly| {
            poly.copy_from_slice(one.comp(comp));
            ring.sub(self.level, poly, zero.comp(comp));
        });
        scratch.sum(ring, &self.rows, zero, 0);
    }

    /// Splits all components of a ciphertext, which `fill` writes one at a time.
    fn split(&self, ring: &Ring, scratch: &mut Scratch, mut fill: impl FnMut(usize, &mut [u64])) {
        scratch.reserve(ring, self.level, self.rows.len());
        let mut first = 0;
        for comp in 0..=self.rank {
            let gadget = &self.gadgets[comp.min(1)];
            fill(comp, scratch.poly(ring, self.level));
            scratch.split(ring, self.level, gadget, first);
            first += gadget.digits() as usize;
        }
    }

    fn check(&self, c: &Ciphertext) {
        assert_eq!((c.level(), c.rank()), (self.level, self.rank), "a ciphertext of the encryption's shape");
    }
}

/// Number of rows at a rank.
fn count([mask, bodies]: [&Gadget; 2], rank: usize) -> usize {
    (mask.digits() + bodies.digits() * rank as u32) as usize
}

/// Computes `-s m`, in slots.
fn times_minus(ring: &Ring, level: ModulusLevel, secret: &SecretKey, message: &[u64]) -> Zeroizing<Vec<u64>> {
    let mut product = Zeroizing::new(message.to_vec());
    ring.mul(level, &mut product, secret.slots(ring, level));
    ring.negate(level, &mut product);
    product
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encrypt::mask;
    use crate::fixture::{
        SEED, SIGMA, approximate, digits, exact, masks, message, noise_log2, norm, phases, rings, rng,
        secret, with_errors,
    };
    use crate::noise::steps;
    use sotto_math::sample::Gaussian;

    const N: usize = 256;

    fn bit(
        ring: &Ring,
        level: ModulusLevel,
        gadgets: [&Gadget; 2],
        secrets: &[&SecretKey],
        bit: i32,
    ) -> RgswCiphertext {
        let mut one = vec![0; N];
        one[0] = bit;
        let slots = ring.from_small(level, &one);
        let bodies = with_errors(9, |errors| {
            RgswCiphertext::generate(ring, level, gadgets, secrets, &slots, masks(0), errors)
        });
        RgswCiphertext::assemble(ring, level, gadgets, secrets.len(), &bodies, masks(0))
    }

    /// Makes a ciphertext of one message per secret, and returns the messages.
    fn cipher(
        ring: &Ring,
        level: ModulusLevel,
        secrets: &[&SecretKey],
        index: usize,
    ) -> (Vec<Vec<i128>>, Ciphertext) {
        let scale = ring.modulus(level) / 1000;
        let (coefficients, slots): (Vec<_>, Vec<_>) =
            (0..secrets.len()).map(|i| message(ring, level, i + index, scale)).unzip();
        let slots: Vec<&[u64]> = slots.iter().map(Vec::as_slice).collect();
        let a = mask(ring, level, &SEED, "cipher", index as u64);
        let b = encrypt(ring, level, secrets, &a, &slots, &Gaussian::new(SIGMA), &mut rng(50 + index as u8));
        (coefficients, Ciphertext::new(ring, level, &a, b.iter().map(Vec::as_slice)))
    }

    #[test]
    fn products_and_choices() {
        for ring in rings(N) {
            let s: Vec<SecretKey> = (0..3).map(|i| secret(&ring, i)).collect();
            for rank in [1u32, 2, 3] {
                let secrets: Vec<&SecretKey> = s.iter().take(rank as usize).collect();
                let level = ModulusLevel::Main;
                let [five, two, many] =
                    [exact(&ring, level, 5), approximate(&ring, level, 2), exact(&ring, level, 18)];
                for gadgets in [[&five; 2], [&two; 2], [&many; 2], [&five, &two]] {
                    let norm = norm(N);
                    let rows = [SIGMA * SIGMA; 2];
                    let laws = gadgets.map(digits);
                    let laws = [&laws[0], &laws[1]];
                    let product = steps::external_product(N, rank, laws, ring.log2_q(level), rows, norm);
                    let mut scratch = Scratch::new(&ring);
                    let (zero, zero_cipher) = cipher(&ring, level, &secrets, 0);
                    let (one, one_cipher) = cipher(&ring, level, &secrets, 1);
                    for (choice, chosen) in [(0, &zero), (1, &one)] {
                        let c = bit(&ring, level, gadgets, &secrets, choice);
                        let mut out = zero_cipher.clone();
                        c.external_product(&ring, &one_cipher, &mut out, &mut scratch);
                        let mut picked = zero_cipher.clone();
                        c.cmux(&ring, &mut picked, &one_cipher, &mut scratch);
                        let (out, picked) = (phases(&ring, &secrets, &out), phases(&ring, &secrets, &picked));
                        // Residuals are present only where the message is not zero.
                        let residual = norm * laws[0].dropped() + laws[1].dropped();
                        let residual = residual * f64::from(1 - choice);
                        let fresh = SIGMA * SIGMA;
                        for i in 0..secrets.len() {
                            let scaled: Vec<i128> = one[i].iter().map(|x| x * i128::from(choice)).collect();
                            let noise = noise_log2(&ring, level, &out[i], &scaled);
                            let predicted = product - residual + fresh * f64::from(choice);
                            assert!((noise - predicted.log2() / 2.0).abs() < 0.4, "{noise} {predicted}");
                            let noise = noise_log2(&ring, level, &picked[i], &chosen[i]);
                            let predicted = product - residual + fresh;
                            assert!((noise - predicted.log2() / 2.0).abs() < 0.4, "{noise} {predicted}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn rows_that_do_not_fit_are_refused() {
        let ring = &rings(64)[0];
        let gadget = exact(ring, ModulusLevel::Main, 2);
        let row = |level, rank| Ciphertext::zero(ring, level, rank);
        assert!(RgswCiphertext::from_rows([&gadget; 2], vec![row(ModulusLevel::Main, 1); 4]).is_some());
        assert!(RgswCiphertext::from_rows([&gadget; 2], vec![row(ModulusLevel::Main, 2); 6]).is_some());
        assert!(RgswCiphertext::from_rows([&gadget; 2], vec![row(ModulusLevel::Main, 1); 3]).is_none());
        assert!(RgswCiphertext::from_rows([&gadget; 2], vec![]).is_none());
        let wide = exact(ring, ModulusLevel::Main, 3);
        assert!(RgswCiphertext::from_rows([&wide, &gadget], vec![row(ModulusLevel::Main, 1); 5]).is_some());
        assert!(RgswCiphertext::from_rows([&wide, &gadget], vec![row(ModulusLevel::Main, 1); 4]).is_none());
        let mut mixed = vec![row(ModulusLevel::Main, 1); 4];
        mixed[2] = row(ModulusLevel::Full, 1);
        assert!(RgswCiphertext::from_rows([&gadget; 2], mixed).is_none());
    }
}
