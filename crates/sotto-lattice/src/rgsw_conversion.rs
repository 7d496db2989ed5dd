//! Conversion of ring-LWE ciphertexts of `m g_j` to an RGSW encryption of `m`.
//!
//! Let `c = (a, b)` be the ciphertext of `m g_j` under `s`. At rank 1, row `(1, j)` is `c` itself.
//! Row `(0, j)` needs the phase `-s m g_j = -s (b - a s) = -b s + a s^2`: the ciphertext with `b`
//! in the mask's position has the phase `-b s`, and switching `a` with a key whose source is `s^2`
//! adds `a s^2` (Chen, Chillotti, Ren, CCS 2019; Spiral, section 4.2).
//!
//! At rank `k`, under `s_1, ..., s_k`, row `(i, j)` is `c` switched to position `i` by a packing
//! key. Row `(0, j)` needs `-s_i (b - a s)` at each position `i`: again `b` in the mask's position,
//! and `a` switched by a key of sources `s s_i`. All these switches use the same digits of the same
//! `a`.

use crate::ciphertext::Ciphertext;
use crate::encrypt::{ErrorSource, MaskSource};
use crate::keyswitch::{SwitchKey, lower};
use crate::rgsw::RgswCiphertext;
use crate::ring::{ModulusLevel, Ring};
use crate::scratch::Scratch;
use crate::secret::SecretKey;
use sotto_math::gadget::Gadget;
use std::sync::Arc;
use zeroize::Zeroizing;

/// The keys of a conversion: one makes rows `(0, j)`, and at rank above 1 the packing keys make the
/// others.
#[derive(Debug, Clone)]
pub struct ConversionKey {
    products: SwitchKey,
    packing: Arc<Vec<SwitchKey>>,
}

impl ConversionKey {
    /// Makes the key of the products `s s_i`: one body for each digit and secret.
    pub fn generate(
        ring: &Ring,
        level: ModulusLevel,
        gadget: &Gadget,
        from: &SecretKey,
        secrets: &[&SecretKey],
        masks: MaskSource<'_>,
        errors: &mut ErrorSource<'_>,
    ) -> Vec<Vec<u64>> {
        let products: Vec<Zeroizing<Vec<u64>>> =
            secrets.iter().map(|secret| from.product(ring, level, secret)).collect();
        let products: Vec<&[u64]> = products.iter().map(|product| product.as_slice()).collect();
        SwitchKey::generate(ring, level, gadget, &products, secrets, masks, errors)
    }

    /// Makes the conversion key for rank 1, where the target secret is that of the ciphertexts;
    /// `None` if `square` is of another rank.
    pub fn plain(square: SwitchKey) -> Option<Self> {
        (square.rank() == 1).then(|| ConversionKey { products: square, packing: Arc::default() })
    }

    /// Makes the conversion key for several secrets, with the packing keys of all positions in
    /// order; `None` if the keys do not share rank, level and gadget. Selectors are packed with the
    /// same keys, which are megabytes, so the keys are shared.
    pub fn packed(products: SwitchKey, packing: Arc<Vec<SwitchKey>>) -> Option<Self> {
        let fits = packing.iter().all(|key| key.rank() == products.rank() && key.splits_like(&products));
        (fits && packing.len() == products.rank()).then_some(ConversionKey { products, packing })
    }

    /// Converts the ciphertexts of `m g_j`, one for each digit of `gadget`, and switches the rows
    /// to level `Main`.
    ///
    /// `None` if there is not one ciphertext for each digit. `gadget` is the one of later external
    /// products.
    ///
    /// # Panics
    /// If the ciphertexts are not of rank 1 and of level `Full`, or the keys are of level `Main`.
    pub fn convert(
        &self,
        ring: &Ring,
        gadget: &Gadget,
        ciphers: &[Ciphertext],
        scratch: &mut Scratch,
    ) -> Option<RgswCiphertext> {
        let (l, rank) = (gadget.digits() as usize, self.products.rank());
        if ciphers.len() != l {
            return None;
        }
        let empty = |_| Ciphertext::unfilled(ring, ModulusLevel::Main, rank);
        let mut rows: Vec<Ciphertext> = (0..(rank + 1) * l).map(empty).collect();
        let mut high = Ciphertext::unfilled(ring, ModulusLevel::Full, rank);
        for (j, c) in ciphers.iter().enumerate() {
            self.first_row(ring, c, &mut high, scratch);
            // The other rows use the same digits, which modulus switching removes from the scratch
            // memory.
            let others =
                self.packing.iter().zip(1..).map(|(key, place)| placed(ring, key, place, c, scratch));
            let others: Vec<Ciphertext> = others.collect();
            lower(ring, &high, &mut rows[j], scratch);
            if others.is_empty() {
                lower(ring, c, &mut rows[l + j], scratch);
            }
            for (row, place) in others.iter().zip(1..) {
                lower(ring, row, &mut rows[place * l + j], scratch);
            }
        }
        RgswCiphertext::from_rows([gadget; 2], rows)
    }

    /// Computes row `(0, j)`, modulo `Q`. It leaves the digits of the mask in the scratch memory.
    fn first_row(&self, ring: &Ring, c: &Ciphertext, out: &mut Ciphertext, scratch: &mut Scratch) {
        out.components_mut().for_each(|comp| comp.fill(0));
        out.comp_mut(0).copy_from_slice(c.comp(1));
        self.products.add_switched(ring, c.comp(0), out, scratch);
    }
}

/// Computes row `(place, j)`, modulo `Q`, from the digits in the scratch memory.
fn placed(ring: &Ring, key: &SwitchKey, place: usize, c: &Ciphertext, scratch: &Scratch) -> Ciphertext {
    let mut out = Ciphertext::zero(ring, ModulusLevel::Full, key.rank());
    out.comp_mut(place).copy_from_slice(c.comp(1));
    key.add_digits(ring, &mut out, scratch);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{encrypted, exact, masks, message, noise_log2, phases, rings, secret, with_errors};
    use crate::pack;

    const N: usize = 256;

    /// Makes ciphertexts of `bit g_j q'`, which modulus switching turns into `bit g_j`.
    fn digits(ring: &Ring, gadget: &Gadget, secret: &SecretKey, bit: u128) -> Vec<Ciphertext> {
        let special = ring.special_plan().map_or(1, |plan| u128::from(plan.modulus().value()));
        let encrypt = |(j, power): (u64, u128)| {
            let mut one = vec![0; N];
            one[0] = bit * power * special;
            encrypted(ring, ModulusLevel::Full, secret, &ring.from_integers(ModulusLevel::Full, &one), j)
        };
        (0..).zip(gadget.powers()).map(encrypt).collect()
    }

    fn check(ring: &Ring, key: &ConversionKey, from: &SecretKey, targets: &[&SecretKey]) {
        let gadget = exact(ring, ModulusLevel::Main, 6);
        let scale = ring.modulus(ModulusLevel::Main) / 1000;
        let mut scratch = Scratch::new(ring);
        for bit in 0..2 {
            let ciphers = digits(ring, &gadget, from, bit);
            let gsw = key.convert(ring, &gadget, &ciphers, &mut scratch).unwrap();
            assert!(key.convert(ring, &gadget, &ciphers[1..], &mut scratch).is_none());
            let mut one = Ciphertext::zero(ring, ModulusLevel::Main, targets.len());
            let mut messages = Vec::new();
            for place in 1..=targets.len() {
                let (coefficients, slots) = message(ring, ModulusLevel::Main, place, scale);
                one.comp_mut(place).copy_from_slice(&slots);
                messages.push(coefficients);
            }
            // A ciphertext without a mask is a valid one, and a mask makes the secret's rows work.
            let mut hidden = one.clone();
            for target in 1..=targets.len() {
                let mut product = targets[target - 1].slots(ring, ModulusLevel::Main).to_vec();
                ring.mul(ModulusLevel::Main, &mut product, one.comp(1));
                ring.add(ModulusLevel::Main, hidden.comp_mut(target), &product);
            }
            hidden.comp_mut(0).copy_from_slice(one.comp(1));
            let mut out = Ciphertext::zero(ring, ModulusLevel::Main, targets.len());
            gsw.external_product(ring, &hidden, &mut out, &mut scratch);
            for (phase, message) in phases(ring, targets, &out).iter().zip(&messages) {
                let expected: Vec<i128> = message.iter().map(|x| x * bit as i128).collect();
                let noise = noise_log2(ring, ModulusLevel::Main, phase, &expected);
                assert!(noise < ring.log2_q(ModulusLevel::Main) - 14.0, "{noise}");
            }
        }
    }

    #[test]
    fn converted_ciphertexts_multiply() {
        for ring in rings(N) {
            let s = secret(&ring, 1);
            let gadget = exact(&ring, ModulusLevel::Full, 8);
            let bodies = with_errors(7, |errors| {
                ConversionKey::generate(&ring, ModulusLevel::Full, &gadget, &s, &[&s], masks(0), errors)
            });
            let square = SwitchKey::assemble(&ring, ModulusLevel::Full, &gadget, 1, &bodies, masks(0));
            check(&ring, &ConversionKey::plain(square).unwrap(), &s, &[&s]);
        }
    }

    #[test]
    fn converted_ciphertexts_of_higher_rank_multiply() {
        for ring in rings(N) {
            let level = ModulusLevel::Full;
            let from = secret(&ring, 1);
            let targets = [secret(&ring, 2), secret(&ring, 3)];
            let targets: Vec<&SecretKey> = targets.iter().collect();
            let gadget = exact(&ring, level, 8);
            let bodies = with_errors(7, |errors| {
                ConversionKey::generate(&ring, level, &gadget, &from, &targets, masks(0), errors)
            });
            let products = SwitchKey::assemble(&ring, level, &gadget, 2, &bodies, masks(0));
            let packing = |place: usize| {
                let masks = masks(1000 * place as u64);
                let bodies = with_errors(place as u8, |errors| {
                    pack::generate(&ring, level, &gadget, (&from, place), &targets, masks, errors)
                });
                SwitchKey::assemble(&ring, level, &gadget, 2, &bodies, masks)
            };
            let packing: Vec<SwitchKey> = (1..=2).map(packing).collect();
            assert!(ConversionKey::packed(products.clone(), packing[1..].to_vec().into()).is_none());
            assert!(ConversionKey::plain(products.clone()).is_none());
            check(&ring, &ConversionKey::packed(products, packing.into()).unwrap(), &from, &targets);
        }
    }
}
