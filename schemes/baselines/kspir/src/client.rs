//! The client: make keys, query, recover.

use crate::grid::Grid;
#[cfg(feature = "server")]
use crate::keys::Session;
use crate::keys::{KEY_MASKS, QUERY_MASKS, body_words, seed_words};
use crate::ring::{BABY, CYCLE, FOLD, GIANT, LAW, N, PACK, SIGMA, Slots, T, gadget, ring, rotation};
use crate::{KsPir, Params};
use sotto_core::{CryptoRng, Result};
use sotto_lattice::automorphism::AutomorphismKey;
use sotto_lattice::cdks;
use sotto_lattice::encrypt::{ErrorSource, MaskSource, encrypt};
use sotto_lattice::rgsw::RgswCiphertext;
use sotto_lattice::ring::{ModulusLevel, Ring};
use sotto_lattice::secret::SecretKey;
use sotto_math::modulus::divide;
use sotto_math::sample::Gaussian;
use sotto_prg::PublicSeed;
use sotto_silent::message::{Keys, Query};
use sotto_silent::{MatrixClient, Preparation, RegisteredKeys};
use subtle::{ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

/// The secret key of a client with the keys to register, made at once since no artifact is needed.
pub struct Secrets {
    secret: SecretKey,
    keys: Keys,
}

impl Preparation<KsPir> for Secrets {
    /// Draws the secret and makes the keys.
    fn begin(params: &Params, rng: &mut dyn CryptoRng) -> Result<Self> {
        let (ring, grid, error) = (ring()?, params.grid(), Gaussian::new(SIGMA));
        let seed = PublicSeed::fresh(rng);
        let secret = SecretKey::sample(ring, LAW, rng);
        let mut errors = ErrorSource { law: &error, rng };
        let mut fields = vec![seed_words(&seed)];
        let sent = |level: ModulusLevel, rows: Vec<Vec<u64>>| {
            rows.into_iter().map(move |row| body_words(ring, level, &row))
        };
        let babies = (ModulusLevel::Full, BABY, 1, grid.babies / 2);
        let giants = (ModulusLevel::Main, GIANT, grid.babies, grid.giants() - 1);
        for (level, digits, by, count) in [babies, giants] {
            let gadget = gadget(&digits)?;
            for step in 1..=count {
                let masks = MaskSource { seed: &seed, label: KEY_MASKS, first: fields.len() as u64 - 1 };
                let (k, errors) = (rotation(by * step), &mut errors);
                let rows = AutomorphismKey::generate(ring, level, &gadget, k, &secret, masks, errors);
                fields.extend(sent(level, rows));
            }
        }
        let gadgets = vec![gadget(&PACK)?; grid.levels()];
        let masks = MaskSource { seed: &seed, label: KEY_MASKS, first: fields.len() as u64 - 1 };
        let rows = cdks::generate(ring, &gadgets, &secret, masks, &mut errors);
        fields.extend(sent(ModulusLevel::Main, rows));
        Ok(Secrets { secret, keys: Keys(fields) })
    }
}

/// A client with its secret key.
pub struct Client {
    ring: &'static Ring,
    slots: &'static Slots,
    error: Gaussian,
    secret: SecretKey,
    pub(crate) keys: Keys,
}

impl RegisteredKeys<KsPir> for Keys {
    fn of(client: &Client) -> Self {
        client.keys.clone()
    }

    #[cfg(feature = "server")]
    type Session = Session;

    #[cfg(feature = "server")]
    fn admit(self, params: &Params) -> Result<Session> {
        Session::admit(&params.grid(), &self.0)
    }

    #[cfg(feature = "server")]
    fn session_bytes(params: &Params) -> usize {
        Session::bytes(&params.grid())
    }
}

impl MatrixClient<KsPir> for Client {
    /// Nothing, since every record comes back at the same place.
    type Pending = ();

    fn new(_: &Params, Secrets { secret, keys }: Secrets) -> Result<Self> {
        Ok(Client { ring: ring()?, slots: Slots::get()?, error: Gaussian::new(SIGMA), secret, keys })
    }

    /// The encrypted unit vector of the record's column, and the encrypted power of X that moves
    /// the record to its front.
    fn query(&self, params: &Params, record: u64, rng: &mut dyn CryptoRng) -> Result<(Query, ())> {
        let grid = params.grid();
        let [column, number] = grid.place(record);
        let (ring, seed, secrets) = (self.ring, PublicSeed::fresh(rng), [&self.secret]);
        let masks = MaskSource { seed: &seed, label: QUERY_MASKS, first: 0 };
        let (full, main) = (ModulusLevel::Full, ModulusLevel::Main);
        let a = masks.mask(ring, full, 0);
        let vector = encrypt(ring, full, &secrets, &a, &[&self.vector(&grid, column)], &self.error, rng);
        let power = Zeroizing::new(ring.from_small(main, &power(number)));
        let rows = MaskSource { first: 1, ..masks };
        let mut errors = ErrorSource { law: &self.error, rng };
        let fold = gadget(&FOLD)?;
        let rows = RgswCiphertext::generate(ring, main, [&fold; 2], &secrets, &power, rows, &mut errors);
        let mut fields = vec![seed_words(&seed)];
        fields.extend(vector.iter().map(|body| body_words(ring, full, body)));
        fields.extend(rows.iter().map(|row| body_words(ring, main, row)));
        Ok((Query(fields), ()))
    }

    fn recover(&self, params: &Params, (): (), answer: Vec<Vec<u64>>) -> Result<Vec<u8>> {
        let grid = params.grid();
        let mut record = vec![0; grid.record_bytes()];
        let words = record.as_chunks_mut::<2>().0;
        for (page, words) in answer.as_chunks().0.iter().zip(words.chunks_mut(N)) {
            let coefficients = self.coefficients(params.answer_bits.map(u32::from), page);
            // Word k N / r + j is coefficient j r + k.
            for (k, part) in words.chunks_mut(N / grid.blocks).enumerate() {
                let own = coefficients.iter().skip(k).step_by(grid.blocks);
                part.iter_mut().zip(own).for_each(|(word, x)| *word = (*x as u16).to_le_bytes());
            }
        }
        Ok(record)
    }
}

impl Client {
    /// The message of the vector, in slots modulo q times the special modulus: a one at the column
    /// in every run of slots, times that modulus over t and rounded.
    fn vector(&self, grid: &Grid, column: u64) -> Zeroizing<Vec<u64>> {
        let (ring, around) = (self.ring, grid.columns as u64 - 1);
        let marks = (0..N as u64).map(|slot| {
            let own = ((slot % CYCLE as u64) & around).ct_eq(&column);
            u64::conditional_select(&0, &1, own)
        });
        let coefficients = Zeroizing::new(self.slots.encode(marks));
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
    fn coefficients(&self, bits: [u32; 2], [mask, body]: &[Vec<u64>; 2]) -> Zeroizing<Vec<u64>> {
        let ring = self.ring;
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
