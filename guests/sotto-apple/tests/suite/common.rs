//! Helpers that all tests use: the recorded files, and tables in files.

use bytes::Bytes;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use sotto_apple::client::{Client, ConfigError, ConfigPolicy, KeySeed, ShardHistory, config_request};
use sotto_apple::codec::Codec;
use sotto_apple::image::{ImageError, KeywordRows, OpenUseCase, UseCaseOptions, UseCaseSummary, encode};
use sotto_apple::keys::KeyMap;
use sotto_apple::keyword::table::Shard;
use sotto_apple::proto::PirConfig;
use sotto_apple::service::{HttpRequest, Refusal, Service};
use sotto_apple::sets::{WeakParams, find};
use sotto_bfv::mulpir::RingContext;
use sotto_db::TableDir;
use sotto_db::progress::silent;
use sotto_lattice::bgv::SecretKey;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use zeroize::Zeroizing;

const AGENT: &str = "x iOS/18.2";

pub(crate) fn how(shards: usize) -> UseCaseOptions {
    UseCaseOptions { shards, bucket_bytes: 512, ..UseCaseOptions::new("users") }
}

pub(crate) fn key(i: usize) -> String {
    format!("+1555{i:07}")
}

pub(crate) fn value(i: usize) -> Vec<u8> {
    vec![i as u8; i * 7 % 41]
}

pub(crate) fn rows(count: usize) -> KeywordRows {
    let mut rows = KeywordRows::default();
    (0..count).for_each(|i| rows.push(key(i).as_bytes(), &value(i)).unwrap());
    rows
}

pub(crate) fn write(
    dir: &Path,
    rows: KeywordRows,
    how: &UseCaseOptions,
) -> Result<UseCaseSummary, ImageError> {
    encode(rows, how, &TableDir::create(dir).unwrap().lock().unwrap(), &silent)
}

/// A service and its keys.
pub(crate) type Served = (Service, KeyMap);

pub(crate) fn serve(opened: OpenUseCase) -> Served {
    let mut service = Service::new();
    service.serve(&opened.name, opened.use_case, 0);
    (service, KeyMap::default())
}

pub(crate) fn post(served: &Served, path: &str, body: Vec<u8>) -> Result<Bytes, Refusal> {
    post_as(AGENT, served, path, body)
}

pub(crate) fn post_as(agent: &str, served: &Served, path: &str, body: Vec<u8>) -> Result<Bytes, Refusal> {
    let asked = HttpRequest { path, user: Some("somebody"), agent: Some(agent), body: body.into() };
    served.0.answer(&asked, &served.1, &mut proofs()).map(Bytes::from)
}

/// A client that accepts `max_shards` shards.
pub(crate) fn learn(
    use_case: &str,
    config: Bytes,
    max_shards: u64,
    rng: &mut ChaCha20Rng,
) -> Result<Client, ConfigError> {
    let mut policy = ConfigPolicy { max_shards, ..ConfigPolicy::default() };
    let keys = KeySeed::draw(77, rng);
    Client::of_config(use_case, config, &mut policy, &mut ShardHistory::default(), &keys)
}

/// A client that has sent its keys.
pub(crate) fn client(served: &Served, rng: &mut ChaCha20Rng) -> Client {
    let config = post(served, "/config", config_request("users")).unwrap();
    let client = learn("users", config, 64, rng).unwrap();
    post(served, "/key", client.key_request(rng)).unwrap();
    client
}

pub(crate) fn look_up(
    served: &Served,
    client: &Client,
    keys: &[String],
    rng: &mut ChaCha20Rng,
) -> Result<Vec<Option<Vec<u8>>>, Refusal> {
    let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes()).collect();
    let (body, pending) = client.query(&keys, rng).unwrap();
    let answer = post(served, "/queries", body)?;
    Ok(client.open(pending, answer).unwrap())
}

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
