//! Helpers for tests of tables in files.

use crate::recorded::proofs;
use bytes::Bytes;
use rand_chacha::ChaCha20Rng;
use sotto_apple::client::{Client, ConfigError, ConfigPolicy, KeySeed, ShardHistory, config_request};
use sotto_apple::image::description::KeyCompression;
use sotto_apple::image::{ImageError, KeywordRows, OpenUseCase, UseCaseOptions, UseCaseSummary, encode};
use sotto_apple::key_cache::KeyCache;
use sotto_apple::service::{HttpRequest, Refusal, Service};
use sotto_apple::sets::{SETS, WeakParams};
use sotto_catalog::ValueKind;
use sotto_db::TableDir;
use sotto_db::progress::silent;
use sotto_layers::keyword::KeyForm;
use std::path::Path;

const AGENT: &str = "x iOS/18.2";

pub(crate) fn how(shards: usize) -> UseCaseOptions {
    UseCaseOptions {
        name: "users".into(),
        set: SETS[1],
        weak: WeakParams::Reject,
        compression: KeyCompression::None,
        value: ValueKind::Bytes,
        value_bytes: 0,
        form: KeyForm::Text,
        shards,
        bucket_bytes: 512,
        buckets: None,
        room: 0,
    }
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
pub(crate) type Served = (Service, KeyCache);

pub(crate) fn serve(opened: OpenUseCase) -> Served {
    let mut service = Service::new();
    service.serve(&opened.name, opened.use_case, 0);
    (service, KeyCache::new(64 << 20))
}

pub(crate) fn post(served: &Served, path: &str, body: Vec<u8>) -> Result<Bytes, Refusal> {
    let asked = HttpRequest { path, user: Some("somebody"), agent: Some(AGENT), body: body.into() };
    served.0.answer(&asked, &served.1, &mut proofs()).map(Bytes::from)
}

/// A client that accepts `max_shards` shards.
pub(crate) fn learn(
    use_case: &str,
    told: Bytes,
    max_shards: u64,
    rng: &mut ChaCha20Rng,
) -> Result<Client, ConfigError> {
    let mut policy = ConfigPolicy { max_shards, ..ConfigPolicy::default() };
    let keys = KeySeed::draw(77, rng);
    Client::of_config(use_case, told, &mut policy, &mut ShardHistory::default(), &keys)
}

/// A client that has sent its keys.
pub(crate) fn client(served: &Served, rng: &mut ChaCha20Rng) -> Client {
    let told = post(served, "/config", config_request("users")).unwrap();
    let client = learn("users", told, 64, rng).unwrap();
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
    let (body, pending) = client.ask(&keys, rng).unwrap();
    let answer = post(served, "/queries", body)?;
    Ok(client.open(pending, answer).unwrap())
}
