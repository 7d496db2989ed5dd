//! Seeds of clients' keys: 32 bytes, which a keyring stores in place of the keys.

use crate::codec::Codec;
use crate::config::ConfigDigest;
use rand_core::{CryptoRng, SeedableRng};
use sotto_lattice::bgv::SecretKey;
use sotto_prg::ChaCha20Rng;
use std::fmt;
use zeroize::Zeroizing;

/// Context of the hash that derives a generator from a seed.
const CONTEXT: &str = "sotto 2026 apple client keys v1";

/// Seed of a client's keys, and their time of creation. Secret; wiped on drop.
#[derive(Clone)]
pub struct KeySeed {
    seed: Zeroizing<[u8; 32]>,
    made: u64,
}

impl KeySeed {
    /// Draws a new seed. The server identifies keys by their time of creation, in seconds.
    pub fn draw(made: u64, rng: &mut dyn CryptoRng) -> Self {
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(seed.as_mut());
        KeySeed { seed, made }
    }

    /// Makes a seed from its bytes.
    pub fn new(seed: Zeroizing<[u8; 32]>, made: u64) -> Self {
        KeySeed { seed, made }
    }

    /// Bytes of the seed, to be stored. They are secret.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.seed
    }

    /// Time of creation of the keys, as the caller's clock has it.
    pub fn made(&self) -> u64 {
        self.made
    }

    /// Secret key of this seed. The purpose of the keys is part of the derivation, so that no two
    /// configurations share a secret.
    pub(super) fn secret(&self, codec: &Codec, key_id: &ConfigDigest) -> SecretKey {
        let material = Zeroizing::new([*self.seed, *key_id].concat());
        let key = Zeroizing::new(blake3::derive_key(CONTEXT, &material));
        let mut rng = ChaCha20Rng::from_seed(*key);
        let secret = SecretKey::sample(codec.kit().ring(), &mut rng);
        // Overwrites the whole generator; the black box keeps the optimizer from removing that.
        rng = ChaCha20Rng::from_seed([0; 32]);
        std::hint::black_box(&rng);
        secret
    }
}

/// Prints nothing of the seed.
impl fmt::Debug for KeySeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeySeed(made at {})", self.made)
    }
}
