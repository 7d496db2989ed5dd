//! Keys that servers know, in a few bytes: enough to ask under them again from another process.
//!
//! A client that registers keys is made from a seed of 32 bytes and from nothing else. Whoever keeps the seed, and what each
//! server calls the keys, need not send megabytes again. What it costs: all asks under the same keys are one client's to the
//! server, and whoever has the seed can read, from recorded traffic, what was asked under them.

use super::Session;
use super::epoch_agreement::VerifiedTable;
use crate::Result;
use rand_core::SeedableRng;
use sotto_catalog::Hex32;
use sotto_core::{AnyClient, AnyPrepare, CryptoRng, ParamsDigest};
use sotto_prg::ChaCha20Rng;
use sotto_wire::SessionId;
use std::fmt;
use zeroize::Zeroizing;

/// The context of the hash that leads from a seed to a generator.
const CONTEXT: &str = "sotto 2026 client keys v1";
/// Bytes of a seed, of each digest.
const WORD: usize = 32;
/// Bytes of a session id.
const ID: usize = 16;
/// The most servers that a scheme registers keys with.
const MAX_SERVERS: usize = 8;

/// What a client's keys are drawn from. Wiped when dropped.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct KeySeed(Zeroizing<[u8; WORD]>);

impl KeySeed {
    pub(super) fn draw(rng: &mut dyn CryptoRng) -> Self {
        let mut seed = Zeroizing::new([0; WORD]);
        rng.fill_bytes(seed.as_mut());
        KeySeed(seed)
    }

    /// Begins the client of this seed. Parameters go into the generator, so that no secret is one of two sets.
    pub(super) fn prepare(&self, agreed: &VerifiedTable) -> Result<Box<dyn AnyPrepare>> {
        let material = Zeroizing::new([*self.0, agreed.pin(0).digest.0].concat());
        let key = Zeroizing::new(blake3::derive_key(CONTEXT, &material));
        let mut rng = ChaCha20Rng::from_seed(*key);
        let prepare = (agreed.scheme.prepare)(&agreed.params, &mut rng);
        // The whole generator is replaced; the optimizer must believe that somebody reads it afterwards.
        rng = ChaCha20Rng::from_seed([0; WORD]);
        std::hint::black_box(&rng);
        Ok(prepare?)
    }
}

/// Keys that were registered: what they are drawn from, and what each server that is sent queries calls them. Secret.
#[derive(Clone, PartialEq, Eq)]
pub struct RegisteredKeys {
    params: ParamsDigest,
    seed: KeySeed,
    /// Of the keys' bytes: another build may draw others from the same seed.
    digest: Hex32,
    sessions: Vec<SessionId>,
}

impl RegisteredKeys {
    /// Its bytes: parameters, seed and digest of 32 each, and 16 for each server.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut out = Zeroizing::new(Vec::with_capacity(3 * WORD + ID * self.sessions.len()));
        for word in [&self.params.0, &*self.seed.0, &self.digest.0] {
            out.extend(word);
        }
        self.sessions.iter().for_each(|id| out.extend(id.0));
        out
    }

    /// Reads what [`Self::to_bytes`] wrote; `None` for anything else.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (params, rest) = bytes.split_first_chunk::<WORD>()?;
        let (seed, rest) = rest.split_first_chunk::<WORD>()?;
        let (digest, rest) = rest.split_first_chunk::<WORD>()?;
        let (ids, rest) = rest.as_chunks::<ID>();
        if !rest.is_empty() || ids.is_empty() || ids.len() > MAX_SERVERS {
            return None;
        }
        Some(RegisteredKeys {
            params: ParamsDigest(*params),
            seed: KeySeed(Zeroizing::new(*seed)),
            digest: Hex32::from(*digest),
            sessions: ids.iter().map(|id| SessionId(*id)).collect(),
        })
    }

    /// The client that registered them, if it is one of these parameters and this build draws the same keys.
    pub(super) fn client(&self, agreed: &VerifiedTable) -> Result<Option<(Box<dyn AnyClient>, KeySeed)>> {
        let fits = self.params == agreed.pin(0).digest
            && self.sessions.len() == agreed.scheme.query_servers
            && agreed.draws_keys();
        if !fits {
            return Ok(None);
        }
        let prepare = self.seed.prepare(agreed)?;
        if !prepare.needs().is_empty() {
            return Ok(None);
        }
        let client = prepare.finish()?;
        let same = digest(client.as_ref()) == self.digest;
        Ok(same.then(|| (client, self.seed.clone())))
    }

    pub(super) fn sessions(&self) -> &[SessionId] {
        &self.sessions
    }

    /// Whether both are the same keys, whatever servers call them.
    #[cfg(feature = "cache")]
    pub(crate) fn is_same_client(&self, other: &RegisteredKeys) -> bool {
        self.params == other.params && self.seed == other.seed
    }
}

impl VerifiedTable {
    /// Whether its clients have keys that servers hold, and no state that has to be kept instead.
    pub(super) fn draws_keys(&self) -> bool {
        self.sizes().keys_bytes > 0 && self.scheme.state.is_none()
    }
}

impl Session {
    /// Its keys, for [`super::SetupConfig::registered`] of another opening; `None` for schemes without keys, and for keys that
    /// are good for one epoch only.
    pub fn keys(&self) -> Option<RegisteredKeys> {
        let (params, (seed, digest)) = (self.reusable_params()?, self.seed.clone()?);
        let known = self.ids.iter().all(|id| *id != SessionId::NONE);
        known.then(|| RegisteredKeys { params, seed, digest, sessions: self.ids.clone() })
    }
}

pub(super) fn digest(client: &dyn AnyClient) -> Hex32 {
    blake3::hash(&client.keys()).into()
}

/// Nothing of the seed.
impl fmt::Debug for RegisteredKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Registered(keys at {} servers)", self.sessions.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_survives_and_damage_does_not() {
        let registered = RegisteredKeys {
            params: ParamsDigest([1; WORD]),
            seed: KeySeed(Zeroizing::new([2; WORD])),
            digest: Hex32::from([3; WORD]),
            sessions: vec![SessionId([4; ID]), SessionId([5; ID])],
        };
        let bytes = registered.to_bytes();
        assert_eq!(RegisteredKeys::parse(&bytes), Some(registered.clone()));
        for cut in (0..bytes.len()).filter(|cut| *cut != 3 * WORD + ID) {
            assert_eq!(RegisteredKeys::parse(&bytes[..cut]), None, "cut at {cut}");
        }
        assert_eq!(RegisteredKeys::parse(&[&bytes[..], &[0; ID * MAX_SERVERS]].concat()), None);
        assert!(!format!("{registered:?}").contains('2'.to_string().repeat(2).as_str()));
    }
}
