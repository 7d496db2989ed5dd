//! Files that a client of Apple's lookups stores between calls: keys, in the keyring, and the
//! shards that each server has seen.
//!
//! Keys and the name under which a server stores them expire together, as any registered keys do.
//! What a server has learned of keys from their shards never expires: `STATE/apple/<hash of the
//! address>.shards`, in `spec/keys.md`.

use crate::connect_args;
use crate::connect_args::ConnectArgs;
use crate::failure::{Exit, Failure, Result};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sotto_apple::client::{Client, ConfigError, ConfigPolicy, KeySeed, ShardError, ShardHistory};
use sotto_client::cache::keyring::{ActiveKeys, KeyLimits, KeyringSlot};
use sotto_client::cache::{Keyring, SharedFile};
use sotto_core::CryptoRng;
use std::time::Duration;
use zeroize::Zeroizing;

/// Format of the file of shards that a server has seen.
const FORMAT: &str = "sotto-apple-shards/1";

/// The files of one server's use case.
pub(crate) struct ClientFiles {
    /// Slot in the keyring; `None` for keys of one call.
    ring: Option<(Keyring, KeyringSlot)>,
    /// File of revealed shards; `None` without a folder: then no shard may be revealed.
    revealed: Option<SharedFile>,
    server: String,
    use_case: String,
    /// User name that the caller has set.
    user: Option<String>,
    max_wait: Duration,
    active: Option<ActiveKeys>,
}

/// Keys of a call.
pub(crate) struct LookupKeys {
    pub(crate) seed: KeySeed,
    /// Name under which the server stores the keys.
    pub(crate) user: String,
}

/// Contents of the file of revealed shards.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RevealedShards {
    format: String,
    server: String,
    #[serde(rename = "told")]
    history: ShardHistory,
}

impl ClientFiles {
    /// Opens the files of a use case of the server at an address, for a user of this name or
    /// without one.
    pub(crate) fn open(remote: &ConnectArgs, url: &str, use_case: &str, user: Option<&str>) -> Result<Self> {
        let url = url.trim_end_matches('/').to_ascii_lowercase();
        let name = format!("{}:{use_case}{}", use_case.len(), user.unwrap_or_default());
        let slot = KeyringSlot::of(&format!("apple {url}"), &name);
        let ring = remote.keyring()?.map(|ring| (ring, slot));
        let dir = remote.state.clone().or_else(connect_args::default_state_dir);
        let file = format!("{}.shards", &blake3::hash(url.as_bytes()).to_hex()[..32]);
        let revealed = dir.map(|dir| SharedFile::open(&dir.join("apple"), &file)).transpose()?;
        Ok(ClientFiles {
            ring,
            revealed,
            server: url,
            use_case: use_case.to_owned(),
            user: user.map(str::to_owned),
            max_wait: remote.max_wait,
            active: None,
        })
    }

    /// Keys for `queries` queries, which are counted on disk before one is made.
    pub(crate) fn keys(&mut self, queries: u64, rng: &mut dyn CryptoRng) -> Result<LookupKeys> {
        let mut active = self.active.take();
        let lasts = active.as_mut().map_or(Ok(false), |active| active.reserve(queries))?;
        let active = match active.filter(|_| lasts) {
            Some(active) => active,
            None => self.next_keys(queries, rng)?,
        };
        let keys = LookupKeys::parse(active.keys(), self.user.as_deref());
        self.active = Some(active);
        keys.ok_or_else(|| Failure::internal("the stored keys are of another configuration"))
    }

    /// The keys of the next request: the ones in the keyring, or new ones if those have expired.
    fn next_keys(&self, queries: u64, rng: &mut dyn CryptoRng) -> Result<ActiveKeys> {
        let limits = KeyLimits::default();
        let Some((ring, slot)) = &self.ring else {
            return Ok(ActiveKeys::create(None, limits, LookupKeys::draw(rng), queries, rng)?);
        };
        let lock = ring.lock(slot, self.max_wait)?;
        if let Some(active) = ActiveKeys::load(ring, slot, limits, queries)?
            && LookupKeys::parse(active.keys(), None).is_some()
        {
            return Ok(active);
        }
        // A process that did not get the lock uses keys of its own.
        let place = lock.is_some().then(|| (ring.clone(), slot.clone()));
        Ok(ActiveKeys::create(place, limits, LookupKeys::draw(rng), queries, rng)?)
    }

    /// Counts queries that were made under the keys.
    pub(crate) fn spend(&mut self, queries: u64) {
        if let Some(active) = &mut self.active {
            active.spend(queries);
        }
    }

    /// The client of a configuration, if `policy` accepts what its lookups reveal, together with
    /// what was revealed to the server before. The revealed shards are stored first.
    pub(crate) fn client(&self, config: Bytes, policy: &mut ConfigPolicy, keys: &KeySeed) -> Result<Client> {
        let learn = |history: &mut ShardHistory| {
            Client::of_config(&self.use_case, config, policy, history, keys).map_err(refused)
        };
        let Some(file) = &self.revealed else {
            let client = learn(&mut ShardHistory::default())?;
            return match client.parts_revealed() {
                1 => Ok(client),
                _ => Err(Failure::usage("no folder for the record of shards revealed to servers")
                    .fix("give --state DIR")),
            };
        };
        file.change(self.max_wait, |before| {
            let damaged = |why: String| {
                let message = format!(
                    "the record of shards revealed to servers is unreadable in {}: {why}",
                    file.path().display()
                );
                Failure::new(Exit::Storage, message).fix(
                    "restore a copy; without one, delete the file, after which that server can learn more of a key",
                )
            };
            let mut history = match before.as_deref().map(serde_json::from_slice::<RevealedShards>) {
                None => ShardHistory::default(),
                Some(Ok(read)) if read.format == FORMAT => read.history,
                Some(Ok(read)) => {
                    return Err(damaged(format!(
                        "format is {:?}, expected {FORMAT}",
                        read.format
                    )));
                }
                Some(Err(error)) => return Err(damaged(error.to_string())),
            };
            let client = learn(&mut history)?;
            let server = self.server.clone();
            let after = RevealedShards { format: FORMAT.to_owned(), server, history };
            let after = serde_json::to_vec_pretty(&after).map_err(|error| damaged(error.to_string()))?;
            Ok((after, client))
        })
    }
}

/// Format in the keyring: time when the keys were made (8 bytes), name (16), and seed (32).
impl LookupKeys {
    fn draw(rng: &mut dyn CryptoRng) -> Zeroizing<Vec<u8>> {
        let (seed, mut name) = (KeySeed::draw(crate::apple::now(), rng), [0; 16]);
        rng.fill_bytes(&mut name);
        Zeroizing::new([&seed.made().to_le_bytes()[..], &name, seed.bytes()].concat())
    }

    fn parse(bytes: &[u8], user: Option<&str>) -> Option<Self> {
        let (made, rest) = bytes.split_first_chunk()?;
        let (name, seed) = rest.split_first_chunk()?;
        let seed = KeySeed::new(Zeroizing::new(seed.try_into().ok()?), u64::from_le_bytes(*made));
        Some(LookupKeys { seed, user: user.map_or_else(|| uuid(*name), str::to_owned) })
    }
}

fn refused(error: ConfigError) -> Failure {
    let message = error.to_string();
    match error {
        ConfigError::Core(error) => error.into(),
        ConfigError::Shards(ShardError::TooMany { parts, .. }) => Failure::peer(message).fix(format!(
            "ask the operator for a table of one shard, or accept that the shard is revealed with \
             --max-shards {parts}"
        )),
        ConfigError::Shards(ShardError::Changed { function, .. }) => Failure::peer(message).fix(format!(
            "ask the operator why; --accept-shards {function} accepts the change, with --max-shards for \
             both mappings together"
        )),
        _ => Failure::peer(message),
    }
}

/// A name like those of phones: a random UUID of version 4 (RFC 9562, section 5.4).
fn uuid(random: [u8; 16]) -> String {
    let number = u128::from_be_bytes(random) & !(0xF << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let hex = format!("{number:032X}");
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| hex.get(part).unwrap_or_default());
    parts.join("-")
}

#[cfg(test)]
mod tests {
    use super::uuid;

    #[test]
    fn names_are_random_uuids() {
        assert_eq!(uuid([0xFF; 16]), "FFFFFFFF-FFFF-4FFF-BFFF-FFFFFFFFFFFF");
        assert_eq!(uuid([0; 16]), "00000000-0000-4000-8000-000000000000");
    }
}
