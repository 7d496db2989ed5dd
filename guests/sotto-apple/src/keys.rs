//! Evaluation keys: decoded, made, and kept for users.

use crate::codec::Codec;
use crate::config::ConfigDigest;
use crate::drbg::SEED_BYTES;
use crate::proto::{
    SerializedCiphertext, SerializedCiphertextVec, SerializedEvaluationKey, SerializedGaloisKey,
    SerializedKeySwitchKey, SerializedRelinKey,
};
use rand_core::CryptoRng;
use sotto_bfv::mulpir::Keys;
use sotto_core::PeerMisbehaved;
use sotto_lattice::bgv::bfv::{GaloisKey, PackedSwitchKey, generate_square};
use sotto_lattice::bgv::{Ciphertext, SecretKey};
use sotto_lattice::encrypt::ErrorSource;
use sotto_math::sample::Gaussian;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

const WHAT: &str = "evaluation key";

/// Largest size in bytes of an evaluation key's message for a number of automorphisms: its
/// polynomials, with some space for tags and lengths.
pub fn most_bytes(codec: &Codec, elements: usize) -> usize {
    let row = codec.poly_bytes(codec.full()) + SEED_BYTES + 64;
    (elements + 1) * (2 * row + 64) + 256
}

impl Codec {
    /// Decodes a client's keys for these automorphisms. Keys of other automorphisms are ignored.
    ///
    /// # Errors
    /// [`PeerMisbehaved`] if one is missing, or does not fit the ring.
    pub fn take_keys(
        &self,
        message: &SerializedEvaluationKey,
        elements: &[usize],
    ) -> Result<Keys, PeerMisbehaved> {
        let malformed = |why: String| PeerMisbehaved::Malformed { what: WHAT, why };
        let sent = message.galois_key.as_ref().map(|key| &key.key_switch_keys);
        let mut galois = Vec::with_capacity(elements.len());
        for element in elements {
            let lacks = || malformed(format!("lacks the automorphism {element}"));
            let key = sent.and_then(|sent| sent.get(&(*element as u64))).ok_or_else(lacks)?;
            let made = GaloisKey::of_rows(self.kit().ring(), *element, &self.take_rows(Some(key))?);
            galois.push(made.ok_or_else(|| malformed("has another number of rows than primes".into()))?);
        }
        let square = message.relin_key.as_ref().and_then(|key| key.relin_key.as_ref());
        let square = PackedSwitchKey::of_rows(self.kit().ring(), &self.take_rows(square)?)
            .ok_or_else(|| malformed("has another number of rows than primes".into()))?;
        Keys::new(self.kit(), elements, galois, square)
    }

    fn take_rows(&self, key: Option<&SerializedKeySwitchKey>) -> Result<Vec<Ciphertext>, PeerMisbehaved> {
        let rows = key.and_then(|key| key.key_switch_key.as_ref()).map_or(&[][..], |rows| &rows.ciphertexts);
        // Further rows are not decoded: such a key is refused for its number of rows.
        rows.iter().take(self.top().primes() + 1).map(|row| self.take_row(row)).collect()
    }

    /// Makes the keys of these automorphisms, as a client sends them.
    pub fn make_keys(
        &self,
        secret: &SecretKey,
        elements: &[usize],
        rng: &mut dyn CryptoRng,
    ) -> SerializedEvaluationKey {
        let law = Gaussian::new(sotto_bfv::rings::SIGMA);
        let mut switch_key = |element: Option<usize>| {
            let seeds: Vec<[u8; SEED_BYTES]> = (0..self.top().primes())
                .map(|_| {
                    let mut seed = [0; SEED_BYTES];
                    rng.fill_bytes(&mut seed);
                    seed
                })
                .collect();
            let masks: Vec<Vec<u64>> = seeds.iter().map(|seed| self.mask(self.full(), seed)).collect();
            let mut errors = ErrorSource { law: &law, rng: &mut *rng };
            let ring = self.kit().ring();
            let bodies = match element {
                Some(element) => GaloisKey::generate(ring, element, secret, &masks, &mut errors),
                None => generate_square(ring, secret, &masks, &mut errors),
            };
            let rows = bodies.iter().zip(&seeds).map(|(body, seed)| self.put_row(body, seed));
            let ciphertexts = rows.collect::<Vec<SerializedCiphertext>>();
            SerializedKeySwitchKey { key_switch_key: Some(SerializedCiphertextVec { ciphertexts }) }
        };
        let galois = elements.iter().map(|element| (*element as u64, switch_key(Some(*element)))).collect();
        let square = switch_key(None);
        SerializedEvaluationKey {
            galois_key: Some(SerializedGaloisKey { key_switch_keys: galois }),
            relin_key: Some(SerializedRelinKey { relin_key: Some(square) }),
        }
    }
}

/// Evaluation keys of a client, with their time of creation.
#[derive(Debug, Clone)]
pub struct StoredKeys {
    /// Time of creation, by the client's own clock.
    pub timestamp: u64,
    /// The evaluation keys.
    pub keys: Arc<Keys>,
    /// Approximate bytes of the keys in memory.
    pub bytes: usize,
}

/// Decodes keys from the message that contained them.
pub type DecodeKeys<'a> = dyn Fn(&[u8]) -> Option<StoredKeys> + 'a;

/// Storage of evaluation keys, by user name and by the digest of what they are for.
pub trait KeyStore: Send + Sync {
    /// Time of creation of a user's keys, by the client's own clock. The keys themselves are not
    /// read.
    fn timestamp(&self, user: &str, id: &ConfigDigest) -> Option<u64>;

    /// Keys of a user. A store of messages calls `read` to decode the keys.
    fn get(&self, user: &str, id: &ConfigDigest, read: &DecodeKeys<'_>) -> Option<StoredKeys>;

    /// Stores the keys of a user in place of earlier ones, with the message that contained them.
    fn put(&self, user: &str, id: ConfigDigest, keys: StoredKeys, sent: &[u8]);
}

/// Keys in memory, by user and by the digest of what they are for.
pub type KeyMap = Mutex<HashMap<(String, ConfigDigest), StoredKeys>>;

impl KeyStore for KeyMap {
    fn timestamp(&self, user: &str, id: &ConfigDigest) -> Option<u64> {
        self.get(user, id, &|_| None).map(|stored| stored.timestamp)
    }

    fn get(&self, user: &str, id: &ConfigDigest, _: &DecodeKeys<'_>) -> Option<StoredKeys> {
        let keys = self.lock().unwrap_or_else(PoisonError::into_inner);
        keys.get(&(user.to_owned(), *id)).cloned()
    }

    fn put(&self, user: &str, id: ConfigDigest, keys: StoredKeys, _: &[u8]) {
        self.lock().unwrap_or_else(PoisonError::into_inner).insert((user.to_owned(), id), keys);
    }
}
