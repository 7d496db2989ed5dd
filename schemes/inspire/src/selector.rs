//! The second dimension of a query: an RGSW encryption of a root of unity omega^k, omega = X^(2 d /
//! t), under the secret of the query. Its masks are public and the same for everyone, so only
//! bodies are sent.
//!
//! Its errors meet few digits compared with those of packing, so its gadget is coarse: two digits
//! for masks, and one for bodies, whose dropped bits meet no secret.

use sotto_core::{CryptoRng, Misuse, Result};
use sotto_lattice::encrypt::{ErrorSource, MaskSource};
use sotto_lattice::noise::steps::GadgetNoise;
use sotto_lattice::rgsw::RgswCiphertext;
use sotto_lattice::ring::{ModulusLevel, Ring};
use sotto_lattice::secret::SecretKey;
use sotto_math::gadget::Gadget;
use sotto_math::sample::Gaussian;
use sotto_silent::lattice::{N, PUBLIC_SEED, SIGMA};
use sotto_silent::unit_vector::truncated;
use subtle::{ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

/// Digits of masks.
pub const MASK_DIGITS: GadgetNoise = GadgetNoise { count: 2, base_log2: 14, drop_log2: 22 };

/// Digits of bodies.
pub const BODY_DIGITS: GadgetNoise = GadgetNoise { count: 1, base_log2: 21, drop_log2: 29 };

/// Rows of the encryption.
pub const ROWS: usize = (MASK_DIGITS.count + BODY_DIGITS.count) as usize;

/// Masks of the rows.
pub(crate) const MASKS: MaskSource<'static> =
    MaskSource { seed: &PUBLIC_SEED, label: "silent selector", first: 0 };

/// The gadgets that decompose masks and bodies into digits.
///
/// # Errors
/// None, since the numbers are constants.
pub fn gadgets() -> Result<[Gadget; 2]> {
    let gadget = |digits: GadgetNoise| Gadget::new(digits.count, digits.base_log2, digits.drop_log2);
    let both = gadget(MASK_DIGITS).zip(gadget(BODY_DIGITS)).map(|(mask, body)| [mask, body]);
    Ok(both.ok_or(Misuse::Rule("the digits of a selector must reach the modulus"))?)
}

/// Encrypts roots of unity of order t.
pub struct RootEncryptor {
    gadgets: [Gadget; 2],
    gaussian: Gaussian,
    places: usize,
}

impl RootEncryptor {
    /// An encryptor for t places in a column.
    ///
    /// # Errors
    /// None, since the constants of [`gadgets`] are valid.
    pub fn new(places: usize) -> Result<Self> {
        Ok(RootEncryptor { gadgets: gadgets()?, gaussian: Gaussian::new(SIGMA), places })
    }

    /// The top bits of the bodies of an encryption of omega^`place`: of the rows for masks, and
    /// then of the row for bodies.
    pub fn encrypt(
        &self,
        ring: &Ring,
        secret: &SecretKey,
        place: u32,
        bits: [u32; 2],
        rng: &mut dyn CryptoRng,
    ) -> Vec<Vec<u64>> {
        let root = Zeroizing::new(ring.from_small(ModulusLevel::Main, &self.root(place)));
        let mut errors = ErrorSource { law: &self.gaussian, rng };
        let [mask, body] = &self.gadgets;
        let rows = RgswCiphertext::generate(
            ring,
            ModulusLevel::Main,
            [mask, body],
            &[secret],
            &root,
            MASKS,
            &mut errors,
        );
        let (masks, bodies) = rows.split_at(MASK_DIGITS.count as usize);
        let masks = masks.iter().map(|row| (row, bits[0]));
        let rows = masks.chain(bodies.iter().map(|row| (row, bits[1])));
        rows.map(|(row, bits)| truncated(ring, row, bits)).collect()
    }

    /// The coefficients of omega^`place`, reading every power of omega.
    fn root(&self, place: u32) -> Zeroizing<Vec<i32>> {
        let mut root = Zeroizing::new(vec![0; N]);
        // The second half of the powers are the negatives of the first.
        let half = self.places / 2;
        for (k, x) in (0u32..).zip(root.iter_mut().step_by(N / half).take(half)) {
            *x = i32::conditional_select(x, &1, place.ct_eq(&k));
            *x = i32::conditional_select(x, &-1, place.ct_eq(&(k + half as u32)));
        }
        root
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_monomials() {
        for places in [2, 4, 8] {
            let selector = RootEncryptor::new(places).unwrap();
            for k in 0..places {
                let (turn, sign) = (2 * N / places * k % N, if k < places / 2 { 1 } else { -1 });
                let root = selector.root(k as u32);
                assert!(root.iter().enumerate().all(|(i, x)| *x == if i == turn { sign } else { 0 }));
            }
        }
    }
}
