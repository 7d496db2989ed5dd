//! Registered keys in a few bytes: enough to make queries under them from another process.
//!
//! A client that registers keys is derived from a seed of 32 bytes and from nothing else. A program
//! that stores the seed and the session ids need not send megabytes again. The cost: a server can
//! link all queries under the same keys to one client, and anyone who has the seed can read, from
//! recorded traffic, what was queried under them.

use super::verified_table::VerifiedTable;
use crate::Result;
use rand_core::SeedableRng;
use sotto_catalog::Hex32;
use sotto_core::{AnyClient, AnyPrepare, CryptoRng, ParamsDigest};
use sotto_prg::ChaCha20Rng;
use sotto_wire::SessionId;
use std::fmt;
use zeroize::Zeroizing;

/// Context of the hash that derives a generator from a seed.
const CONTEXT: &str = "sotto 2026 client keys v1";
/// Bytes of a seed, and of each digest.
const WORD: usize = 32;
/// Bytes of a session id.
const ID: usize = 16;
/// Maximum number of servers that a scheme registers keys with.
const MAX_SERVERS: usize = 8;

/// Seed that a client's keys are drawn from. It is wiped when dropped.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct KeySeed(Zeroizing<[u8; WORD]>);

impl KeySeed {
    pub(super) fn draw(rng: &mut dyn CryptoRng) -> Self {
        let mut seed = Zeroizing::new([0; WORD]);
        rng.fill_bytes(seed.as_mut());
        KeySeed(seed)
    }

    /// Begins to prepare the client of this seed. The parameters are hashed into the generator, so
    /// that no secret belongs to two parameter sets.
    pub(super) fn prepare(&self, table: &VerifiedTable) -> Result<Box<dyn AnyPrepare>> {
        let material = Zeroizing::new([*self.0, table.pin(0).digest.0].concat());
        let key = Zeroizing::new(blake3::derive_key(CONTEXT, &material));
        let mut rng = ChaCha20Rng::from_seed(*key);
        let prepare = (table.scheme.prepare)(&table.params, &mut rng);
        // Wipes the generator. The optimizer must assume that the new value is read.
        rng = ChaCha20Rng::from_seed([0; WORD]);
        std::hint::black_box(&rng);
        Ok(prepare?)
    }
}

/// Registered keys: the seed that they are drawn from, and the session id at each query server.
/// They are secret.
#[derive(Clone, PartialEq, Eq)]
pub struct RegisteredKeys {
    pub(super) params: ParamsDigest,
    pub(super) seed: KeySeed,
    /// Digest of the keys' bytes: another build may draw other keys from the same seed.
    pub(super) digest: Hex32,
    pub(super) sessions: Vec<SessionId>,
}

impl RegisteredKeys {
    /// Encodes the keys: parameters, seed and digest of 32 bytes each, and 16 bytes for each
    /// server.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut out = Zeroizing::new(Vec::with_capacity(3 * WORD + ID * self.sessions.len()));
        for word in [&self.params.0, &*self.seed.0, &self.digest.0] {
            out.extend(word);
        }
        self.sessions.iter().for_each(|id| out.extend(id.0));
        out
    }

    /// Decodes what [`Self::to_bytes`] wrote; `None` for anything else.
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

    /// The client that registered the keys, if it has these parameters and this build draws the
    /// same keys.
    pub(super) fn client(&self, table: &VerifiedTable) -> Result<Option<(Box<dyn AnyClient>, KeySeed)>> {
        let fits = self.params == table.pin(0).digest
            && self.sessions.len() == table.scheme.query_servers
            && table.draws_keys();
        if !fits {
            return Ok(None);
        }
        let prepare = self.seed.prepare(table)?;
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

    /// Whether both are the same keys, whatever their session ids.
    #[cfg(feature = "cache")]
    pub(crate) fn is_same_client(&self, other: &RegisteredKeys) -> bool {
        self.params == other.params && self.seed == other.seed
    }
}

pub(super) fn digest(client: &dyn AnyClient) -> Hex32 {
    blake3::hash(&client.keys()).into()
}

/// Shows nothing of the seed.
impl fmt::Debug for RegisteredKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RegisteredKeys(at {} servers)", self.sessions.len())
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
