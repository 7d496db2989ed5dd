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
use crate::keyswitch::SwitchKey;
use crate::mod_down::lower;
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
        let room = |_| Ciphertext::room(ring, ModulusLevel::Main, rank);
        let mut rows: Vec<Ciphertext> = (0..(rank + 1) * l).map(room).collect();
        let mut high = Ciphertext::room(ring, ModulusLevel::Full, rank);
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
mod tests;
