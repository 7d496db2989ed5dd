//! The recorded files, and helpers that all tests use.

use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use sotto_apple::codec::Codec;
use sotto_apple::config::ConfigDigest;
use sotto_apple::keyword::table::Shard;
use sotto_apple::proto::PirConfig;
use sotto_apple::service::{DecodeKeys, KeyStore, StoredKeys};
use sotto_apple::sets::{WeakParams, find};
use sotto_bfv::mulpir::RingContext;
use sotto_lattice::bgv::SecretKey;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex};
use zeroize::Zeroizing;

/// Name of the parameter set of all recordings.
pub(crate) const SET: &str = "n_4096_logq_27_28_28_logt_5";

pub(crate) static CODEC: LazyLock<Codec> =
    LazyLock::new(|| Codec::new(find(SET).unwrap().kit(WeakParams::Reject).unwrap().0).unwrap());

pub(crate) fn kit() -> &'static RingContext {
    CODEC.kit()
}

/// Randomness for proofs of evaluations, which most requests do not need.
pub(crate) fn proofs() -> ChaCha20Rng {
    ChaCha20Rng::from_seed([0; 32])
}

fn path(name: &str) -> PathBuf {
    let here = || concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data").into();
    std::env::var_os("SOTTO_APPLE_RECORDED").map_or_else(here, PathBuf::from).join(name)
}

pub(crate) fn read(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

pub(crate) fn json(name: &str) -> serde_json::Value {
    serde_json::from_slice(&read(name)).unwrap()
}

/// Words of four bytes in a file.
pub(crate) fn words(name: &str) -> Vec<u64> {
    read(name).as_chunks::<4>().0.iter().map(|x| u64::from(u32::from_le_bytes(*x))).collect()
}

/// Words of eight bytes in a file.
pub(crate) fn longs(name: &str) -> Vec<u64> {
    read(name).as_chunks::<8>().0.iter().map(|x| u64::from_le_bytes(*x)).collect()
}

pub(crate) fn secret(name: &str) -> SecretKey {
    let coefficients = read(name).iter().map(|x| i32::from(*x as i8)).collect();
    SecretKey::again(kit().ring(), Zeroizing::new(coefficients)).unwrap()
}

/// Lists of bytes in a file, each after its length.
pub(crate) fn lists(name: &str) -> Vec<Vec<u8>> {
    let bytes = read(name);
    let (mut rest, mut out) = (bytes.as_slice(), Vec::new());
    while let Some((len, left)) = rest.split_first_chunk() {
        let (list, left) = left.split_at(u32::from_le_bytes(*len) as usize);
        out.push(list.to_vec());
        rest = left;
    }
    assert!(rest.is_empty());
    out
}

/// A shard of recorded buckets.
pub(crate) fn shard(case: &str, config: &PirConfig, s: usize) -> Shard {
    let entries = lists(&format!("{case}/shard{s}.buckets.bin"));
    let config = &config.shard_configs[s];
    let count = config.num_entries as usize;
    assert_eq!(entries.len(), 2 * count);
    let entry = |table: usize, bucket: usize, out: &mut [u8]| {
        let entry = &entries[table * count + bucket];
        out[..entry.len()].copy_from_slice(entry);
    };
    let dimensions = [0, 1].map(|i| config.dimensions[i] as usize);
    Shard::of_entries(&CODEC, count, config.entry_size as usize, dimensions, entry).unwrap()
}

/// A store of keys in memory.
#[derive(Default)]
pub(crate) struct Memory(Mutex<HashMap<(String, ConfigDigest), StoredKeys>>);

impl KeyStore for Memory {
    fn timestamp(&self, user: &str, id: &ConfigDigest) -> Option<u64> {
        self.0.lock().unwrap().get(&(user.into(), *id)).map(|stored| stored.timestamp)
    }

    fn get(&self, user: &str, id: &ConfigDigest, _: &DecodeKeys<'_>) -> Option<StoredKeys> {
        self.0.lock().unwrap().get(&(user.into(), *id)).cloned()
    }

    fn put(&self, user: &str, id: ConfigDigest, keys: StoredKeys, _: &[u8]) {
        self.0.lock().unwrap().insert((user.into(), id), keys);
    }
}
