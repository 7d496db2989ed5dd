//! Evaluation keys in memory: the most recently used ones, within a budget of bytes.
//!
//! A client whose keys were evicted is refused; it requests its configuration, which reports that
//! there are no keys, and sends them again.

use crate::config::ConfigDigest;
use crate::service::{DecodeKeys, KeyStore, StoredKeys};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Cache of the most recently used evaluation keys.
#[derive(Debug)]
pub struct KeyCache {
    most_bytes: usize,
    kept: Mutex<CacheState>,
}

type Name = (String, ConfigDigest);

#[derive(Debug, Default)]
struct CacheState {
    /// Keys with the sequence number of their last use.
    keys: HashMap<Name, (StoredKeys, u64)>,
    turns: BTreeMap<u64, Name>,
    bytes: usize,
    turn: u64,
}

impl KeyCache {
    /// A cache for keys of at most `most_bytes` bytes in total.
    pub fn new(most_bytes: usize) -> Self {
        KeyCache { most_bytes, kept: Mutex::default() }
    }

    /// Bytes of all cached keys.
    pub fn bytes(&self) -> usize {
        self.kept().bytes
    }

    /// Locks the state. A poisoned lock is fine: no panic leaves the state half changed.
    fn kept(&self) -> MutexGuard<'_, CacheState> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CacheState {
    fn take(&mut self, name: &Name) -> Option<StoredKeys> {
        let (stored, turn) = self.keys.remove(name)?;
        self.turns.remove(&turn);
        self.bytes -= stored.bytes;
        Some(stored)
    }

    fn keep(&mut self, name: Name, stored: StoredKeys) {
        self.turn += 1;
        self.bytes += stored.bytes;
        self.turns.insert(self.turn, name.clone());
        self.keys.insert(name, (stored, self.turn));
    }
}

impl KeyStore for KeyCache {
    fn timestamp(&self, user: &str, id: &ConfigDigest) -> Option<u64> {
        self.kept().keys.get(&(user.to_owned(), *id)).map(|(stored, _)| stored.timestamp)
    }

    fn get(&self, user: &str, id: &ConfigDigest, _: &DecodeKeys<'_>) -> Option<StoredKeys> {
        let (mut kept, name) = (self.kept(), (user.to_owned(), *id));
        let stored = kept.take(&name)?;
        kept.keep(name, stored.clone());
        Some(stored)
    }

    fn put(&self, user: &str, id: ConfigDigest, keys: StoredKeys, _: &[u8]) {
        let (mut kept, name) = (self.kept(), (user.to_owned(), id));
        kept.take(&name);
        kept.keep(name, keys);
        while kept.bytes > self.most_bytes {
            let Some(oldest) = kept.turns.values().next().cloned() else { break };
            kept.take(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Codec;
    use crate::sets::{SETS, WeakParams};
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;
    use sotto_bfv::mulpir::Keys;
    use sotto_lattice::bgv::SecretKey;
    use std::sync::Arc;

    #[test]
    fn those_used_last_are_kept_in_the_bytes_there_are() {
        let codec = Codec::new(SETS[1].kit(WeakParams::Reject).unwrap().0).unwrap();
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let secret = SecretKey::sample(codec.kit().ring(), &mut rng);
        let keys = codec.take_keys(&codec.make_keys(&secret, &[], &mut rng), &[]).unwrap();
        assert_eq!(Keys::bytes(codec.kit(), 0), 2 * 3 * 4096 * 8);
        let keys = Arc::new(keys);
        let of = |timestamp, bytes| StoredKeys { timestamp, keys: keys.clone(), bytes };
        let recent = KeyCache::new(30);
        let at = |user: &str| recent.get(user, &[1; 32], &|_| None).map(|stored| stored.timestamp);
        for (i, user) in ["a", "b", "c"].into_iter().enumerate() {
            recent.put(user, [1; 32], of(i as u64, 10), &[]);
        }
        assert_eq!(
            (at("a"), recent.get("a", &[2; 32], &|_| None).is_none(), recent.bytes()),
            (Some(0), true, 30)
        );
        recent.put("d", [1; 32], of(3, 10), &[]);
        assert_eq!([at("a"), at("b"), at("c"), at("d")], [Some(0), None, Some(2), Some(3)]);
        assert_eq!((recent.timestamp("d", &[1; 32]), recent.timestamp("b", &[1; 32])), (Some(3), None));
        // The same user's keys again, and more keys than there is space for.
        recent.put("a", [1; 32], of(4, 15), &[]);
        assert_eq!(([at("a"), at("c"), at("d")], recent.bytes()), ([Some(4), None, Some(3)], 25));
        recent.put("e", [1; 32], of(5, 31), &[]);
        assert_eq!(([at("a"), at("d"), at("e")], recent.bytes()), ([None; 3], 0));
    }
}
