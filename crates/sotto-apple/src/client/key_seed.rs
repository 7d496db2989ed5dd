//! What a client's keys are drawn from: 32 bytes, which a keyring keeps in place of the keys.

use crate::codec::Codec;
use crate::config::ConfigDigest;
use rand_core::{CryptoRng, SeedableRng};
use sotto_lattice::bgv::SecretKey;
use sotto_prg::ChaCha20Rng;
use std::fmt;
use zeroize::Zeroizing;

/// The context of the hash that leads from a seed to a generator.
const CONTEXT: &str = "sotto 2026 apple client keys v1";

/// What a client's keys are drawn from, and when. Secret; wiped on drop.
#[derive(Clone)]
pub struct KeySeed {
    seed: Zeroizing<[u8; 32]>,
    made: u64,
}

impl KeySeed {
    /// A new one. The server knows keys by when they were made, in seconds.
    pub fn draw(made: u64, rng: &mut dyn CryptoRng) -> Self {
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(seed.as_mut());
        KeySeed { seed, made }
    }

    /// The one with these bytes.
    pub fn new(seed: Zeroizing<[u8; 32]>, made: u64) -> Self {
        KeySeed { seed, made }
    }

    /// Its bytes, to be kept. They are secret.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.seed
    }

    /// When its keys were made, as the caller has it.
    pub fn made(&self) -> u64 {
        self.made
    }

    /// The secret of its keys. What the keys are for goes into the generator, so that no secret is one of two sets.
    pub(super) fn secret(&self, codec: &Codec, key_id: &ConfigDigest) -> SecretKey {
        let material = Zeroizing::new([*self.seed, *key_id].concat());
        let key = Zeroizing::new(blake3::derive_key(CONTEXT, &material));
        let mut rng = ChaCha20Rng::from_seed(*key);
        let secret = SecretKey::sample(codec.kit().ring(), &mut rng);
        // The whole generator is replaced; the optimizer must believe that somebody reads it afterwards.
        rng = ChaCha20Rng::from_seed([0; 32]);
        std::hint::black_box(&rng);
        secret
    }
}

/// Nothing of the seed.
impl fmt::Debug for KeySeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeySeed(made at {})", self.made)
    }
}
