//! Privacy Pass: keys, requests for tokens, headers that spend them, the file of users.

use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use sotto_pass::client::{Client, header};
use sotto_pass::key::{IssuerKey, PublicKey};
use sotto_pass::ledger::{Ledger, MemoryLedger};
use sotto_pass::{Issuer, IssuerKeys, RotationSchedule, UserTiers};
use std::sync::LazyLock;

const USERS: &str =
    "free ann # one\npaid sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae\n";

/// An issuer with the key of RFC 9578's vectors, its ledger, a request and a token.
struct World {
    pass: Issuer,
    ledger: MemoryLedger,
    request: Vec<u8>,
    header: String,
}

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::from_seed([7; 32])
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let data = include_str!("../../../guests/sotto-pass/tests/data/rfc9578.json");
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let key = IssuerKey::from_pem(data["skS"].as_str().unwrap()).unwrap();
    let ledger = MemoryLedger::default();
    ledger.store_key("free", 0, &key.to_der().unwrap()).unwrap();
    let ring = IssuerKeys::open(RotationSchedule::default(), &ledger).unwrap();
    let users = UserTiers::parse(USERS).unwrap();
    let pass = Issuer { ring, users, max_issued: u32::MAX, issue_uri: "/issue".into(), issuer: None };
    let client = Client::new(key.public().spki(), &pass.directory(0), b"", 0).unwrap();
    let (request, pending) = client.request(&mut rng()).unwrap();
    let answer = pass.issue(Some("Bearer ann"), &request, 0, &ledger, &mut rng()).unwrap();
    let header = header(&client.finish(pending, &answer).unwrap());
    World { pass, ledger, request, header }
});

/// A public key. What is taken is written as it was.
pub(crate) fn pass_key(data: &[u8]) -> bool {
    let Some(key) = PublicKey::take(data) else { return false };
    assert_eq!(key.spki(), data);
    true
}

/// The issuer's key.
pub(crate) fn pass_keys() -> Vec<Vec<u8>> {
    vec![WORLD.pass.key_for(Some("Bearer ann"), 0).unwrap().to_vec()]
}

/// A request for a token. Whatever is signed is as long as a signature is.
pub(crate) fn pass_request(data: &[u8]) -> bool {
    let answer = WORLD.pass.issue(Some("Bearer ann"), data, 0, &WORLD.ledger, &mut rng());
    answer.inspect(|answer| assert_eq!(answer.len(), 256)).is_ok()
}

pub(crate) fn pass_requests() -> Vec<Vec<u8>> {
    vec![WORLD.request.clone()]
}

/// A header that spends a token: what is taken once is not taken twice.
pub(crate) fn pass_header(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let ledger = MemoryLedger::default();
    let taken = WORLD.pass.redeem(Some(text), 0, &ledger).is_ok();
    assert!(WORLD.pass.redeem(Some(text), 0, &ledger).is_err());
    taken
}

pub(crate) fn pass_headers() -> Vec<Vec<u8>> {
    vec![WORLD.header.clone().into_bytes()]
}

/// A file of users. Each line is one of them at most.
pub(crate) fn pass_users(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let Ok(users) = UserTiers::parse(text) else { return false };
    assert!(users.len() <= text.lines().count() && users.tiers().len() <= users.len());
    true
}

pub(crate) fn pass_userses() -> Vec<Vec<u8>> {
    vec![USERS.into()]
}
