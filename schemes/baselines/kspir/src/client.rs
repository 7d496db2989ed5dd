//! The client: make keys, query, recover.
//!
//! No branch, index or allocation depends on the requested record or on a secret; the only
//! exception is refusing a record past the end.

use crate::KsPir;
use crate::message::{Answer, Keys, Query};
use crate::params::Params;
use crate::ring::{BABY, CYCLE, FOLD, GIANT, LAW, N, PACK, SIGMA, T, gadget, rotation};
use sotto_core::{CryptoRng, Misuse, OneServer, Record, RecordIndex, Result};
use sotto_lattice::automorphism::AutomorphismKey;
use sotto_lattice::cdks;
use sotto_lattice::encrypt::{ErrorSource, MaskSource, encrypt};
use sotto_lattice::rgsw::RgswCiphertext;
use sotto_lattice::ring::ModulusLevel;
use sotto_lattice::secret::SecretKey;
use sotto_math::divide::divide;
use sotto_math::sample::Gaussian;
use sotto_prg::PublicSeed;
use subtle::{ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

/// Label of the masks of keys.
pub(crate) const KEY_MASKS: &str = "kspir key";

/// Label of the masks of queries.
pub(crate) const QUERY_MASKS: &str = "kspir query";

/// A client in preparation: its keys are made at once, since no artifact is needed.
pub struct Prepare {
    client: Client,
}

impl sotto_core::Prepare<KsPir> for Prepare {
    fn begin(params: &Params, rng: &mut dyn CryptoRng) -> Result<Self> {
        Ok(Prepare { client: Client::new(params.clone(), rng)? })
    }

    fn finish(self) -> Result<Client> {
        Ok(self.client)
    }
}

/// A client with its secret key.
pub struct Client {
    params: Params,
    error: Gaussian,
    secret: SecretKey,
    keys: Keys,
}

/// The secret of one query: nothing, since every record comes back at the same place.
pub struct Pending(());

impl sotto_core::Client<KsPir> for Client {
    type Pending = Pending;

    fn keys(&self) -> Keys {
        self.keys.clone()
    }

    /// The encrypted unit vector of the record's column, and the encrypted power of X that moves
    /// the record to its front.
    fn query(&mut self, index: RecordIndex, rng: &mut dyn CryptoRng) -> Result<(OneServer<Query>, Pending)> {
        let len = self.params.literal.records;
        if index.0 >= len {
            return Err(Misuse::IndexPastEnd { index: index.0, len }.into());
        }
        let [column, number] = self.params.grid.place(index.0);
        let (ring, seed) = (&self.params.ring, PublicSeed::fresh(rng));
        let masks = MaskSource { seed: &seed, label: QUERY_MASKS, first: 0 };
        let a = masks.mask(ring, ModulusLevel::Full, 0);
        let vector = self.vector(column);
        let mut bodies = encrypt(ring, ModulusLevel::Full, &[&self.secret], &a, &[&vector], &self.error, rng);
        let power = Zeroizing::new(ring.from_small(ModulusLevel::Main, &power(number)));
        let rows = MaskSource { first: 1, ..masks };
        let mut errors = ErrorSource { law: &self.error, rng };
        let secrets = [&self.secret];
        bodies.extend(RgswCiphertext::generate(
            ring,
            ModulusLevel::Main,
            [&gadget(&FOLD)?; 2],
            &secrets,
            &power,
            rows,
            &mut errors,
        ));
        Ok((OneServer(Query { seed, bodies }), Pending(())))
    }

    fn recover(&mut self, _: Pending, OneServer(Answer(pages)): OneServer<Answer>) -> Result<Record> {
        let grid = &self.params.grid;
        if pages.len() != grid.pages {
            return Err(Misuse::ForeignValue("ticket").into());
        }
        let mut record = vec![0; grid.record_bytes()];
        let words = record.as_chunks_mut::<2>().0;
        for (page, words) in pages.iter().zip(words.chunks_mut(N)) {
            let coefficients = self.coefficients(page);
            // Word k N / r + j is coefficient j r + k.
            for (k, part) in words.chunks_mut(N / grid.blocks).enumerate() {
                let own = coefficients.iter().skip(k).step_by(grid.blocks);
                part.iter_mut().zip(own).for_each(|(word, x)| *word = (*x as u16).to_le_bytes());
            }
        }
        Ok(Record::new(record))
    }
}

impl Client {
    /// Draws the secret and makes the keys.
    fn new(params: Params, rng: &mut dyn CryptoRng) -> Result<Self> {
        let (ring, error, seed) = (&params.ring, Gaussian::new(SIGMA), PublicSeed::fresh(rng));
        let secret = SecretKey::sample(ring, LAW, rng);
        let mut errors = ErrorSource { law: &error, rng };
        let mut bodies: Vec<Vec<u64>> = Vec::new();
        let babies = (ModulusLevel::Full, BABY, 1, params.grid.babies / 2);
        let giants = (ModulusLevel::Main, GIANT, params.grid.babies, params.grid.giants() - 1);
        for (level, digits, by, count) in [babies, giants] {
            let gadget = gadget(&digits)?;
            for step in 1..=count {
                let masks = MaskSource { seed: &seed, label: KEY_MASKS, first: bodies.len() as u64 };
                let (k, errors) = (rotation(by * step), &mut errors);
                bodies.extend(AutomorphismKey::generate(ring, level, &gadget, k, &secret, masks, errors));
            }
        }
        let gadgets = vec![gadget(&PACK)?; params.grid.levels()];
        let masks = MaskSource { seed: &seed, label: KEY_MASKS, first: bodies.len() as u64 };
        bodies.extend(cdks::generate(ring, &gadgets, &secret, masks, &mut errors));
        Ok(Client { error, secret, keys: Keys { seed, bodies }, params })
    }

    /// The message of the vector, in slots modulo q times the special modulus: a one at the column
    /// in every run of slots, times that modulus over t and rounded.
    fn vector(&self, column: u64) -> Zeroizing<Vec<u64>> {
        let (ring, around) = (&self.params.ring, self.params.grid.columns as u64 - 1);
        let marks = (0..N as u64).map(|slot| {
            let own = ((slot % CYCLE as u64) & around).ct_eq(&column);
            u64::conditional_select(&0, &1, own)
        });
        let coefficients = Zeroizing::new(self.params.slots.encode(marks));
        let modulus = ring.modulus(ModulusLevel::Full);
        let (whole, rest) = (modulus / u128::from(T), (modulus % u128::from(T)) as u64);
        let scaled = coefficients.iter().map(|x| {
            let (quotient, _) = divide(x * rest + T / 2, T);
            u128::from(*x) * whole + u128::from(quotient)
        });
        let scaled = Zeroizing::new(scaled.collect::<Vec<u128>>());
        Zeroizing::new(ring.from_integers(ModulusLevel::Full, &scaled))
    }

    /// The coefficients of a packed plaintext: `t (b / 2^body - a s / 2^mask)` to the nearest integer, modulo t.
    ///
    /// The product is exact: its coefficients are below `N 2^mask`, which is below q / 2 for a mask of at most 42 bits.
    fn coefficients(&self, [mask, body]: &[Vec<u64>; 2]) -> Zeroizing<Vec<u64>> {
        let ring = &self.params.ring;
        let bits = self.params.literal.answer_bits.map(u32::from);
        let mut product = Zeroizing::new(mask.clone());
        ring.forward(ModulusLevel::Main, &mut product);
        ring.mul(ModulusLevel::Main, &mut product, self.secret.slots(ring, ModulusLevel::Main));
        ring.inverse(ModulusLevel::Main, &mut product);
        let (last, half) = ((1u64 << bits[0]) - 1, 1u64 << bits[0] >> 1);
        let coefficient = |(body, product): (&u64, &u64)| {
            let phase = (body << (bits[0] - bits[1])).wrapping_sub(ring.q().centered(*product) as u64) & last;
            // A value that rounds up to t is zero.
            let rounded = (phase * T + half) >> bits[0];
            rounded.min(rounded.wrapping_sub(T))
        };
        Zeroizing::new(body.iter().zip(product.iter()).map(coefficient).collect())
    }
}

/// The coefficients of X^-p, which is 1 or -X^(N - p).
fn power(p: u64) -> Zeroizing<Vec<i32>> {
    let front = i32::conditional_select(&0, &1, p.ct_eq(&0));
    let others = (1..N as u64).map(|j| i32::conditional_select(&0, &-1, (j + p).ct_eq(&(N as u64))));
    Zeroizing::new(std::iter::once(front).chain(others).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_where_they_belong() {
        assert_eq!(power(0).iter().position(|x| *x != 0), Some(0));
        for p in [1, 2, 4095] {
            let power = power(p);
            assert_eq!(power[N - p as usize], -1);
            assert_eq!(power.iter().filter(|x| **x != 0).count(), 1);
        }
    }
}
