//! Anonymity of clients. Oblivious HTTP: messages, keys, sealed requests and answers, the file of a
//! gateway's keys. Privacy Pass: keys, requests for tokens, headers that spend them, the file of users.

use bytes::Bytes;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use sotto_ohttp::bhttp::{BhttpLimits, Request, Response};
use sotto_ohttp::client::seal;
use sotto_ohttp::config::KeyConfig;
use sotto_ohttp::gateway::{GatewayKey, open};
use sotto_ohttp::gateway_keys::{self, GatewayKeys};
use sotto_pass::client::{Client, header};
use sotto_pass::key::{IssuerKey, PublicKey};
use sotto_pass::ledger::{Ledger, MemoryLedger};
use sotto_pass::{Issuer, IssuerKeys, UserTiers};
use std::sync::LazyLock;

const ROTATION: gateway_keys::RotationSchedule = gateway_keys::RotationSchedule { every: 100, after: 100 };

/// Few, so that they are met.
const LIMITS: BhttpLimits = BhttpLimits { fields: 8, bytes: 200 };

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::from_seed([7; 32])
}

fn key() -> GatewayKey {
    GatewayKey::generate(1, &mut rng()).unwrap()
}

fn request() -> Request {
    let field = |name: &str, value: &str| (name.to_owned(), Bytes::from(value.to_owned()));
    Request {
        method: "POST".into(),
        scheme: "https".into(),
        authority: "pir.example".into(),
        path: "/queries".into(),
        fields: vec![field("user-agent", "sotto"), field("user-identifier", "somebody")],
        body: Bytes::from_static(b"content"),
    }
}

/// A request. What is taken says the same when it is written again.
pub(crate) fn ohttp_request(data: &[u8]) -> bool {
    let Ok(read) = Request::read(Bytes::copy_from_slice(data), LIMITS) else { return false };
    assert!(read.fields.len() <= LIMITS.fields && read.body.len() <= data.len());
    assert_eq!(Request::read(read.to_bytes().into(), LIMITS).unwrap(), read);
    true
}

/// Of both forms.
pub(crate) fn requests() -> Vec<Vec<u8>> {
    let chunked = b"\x02\x03GET\x05https\x00\x01/\x01a\x01b\x00\x02xy\x01z\x00\x01t\x00\x00\x00";
    vec![request().to_bytes(), chunked.to_vec()]
}

/// A response. The same.
pub(crate) fn ohttp_response(data: &[u8]) -> bool {
    let Ok(read) = Response::read(Bytes::copy_from_slice(data), LIMITS) else { return false };
    assert!((200..600).contains(&read.status) && read.body.len() <= data.len());
    assert_eq!(Response::read(read.to_bytes().into(), LIMITS).unwrap(), read);
    true
}

/// Of both forms.
pub(crate) fn responses() -> Vec<Vec<u8>> {
    let known = Response { status: 200, fields: request().fields, body: request().body };
    vec![known.to_bytes(), b"\x03\x40\x66\x00\x40\xC8\x01a\x01b\x00\x02xy\x00\x00".to_vec()]
}

/// A list of keys. What is taken is taken again.
pub(crate) fn ohttp_keys(data: &[u8]) -> bool {
    let Some(keys) = KeyConfig::read_all(data) else { return false };
    let bytes: Vec<u8> = keys.iter().flat_map(KeyConfig::to_bytes).collect();
    assert_eq!(KeyConfig::read_all(&bytes).unwrap(), keys);
    if let Some(key) = keys.first() {
        // A point that no secret can be had with is refused, and nothing worse.
        let _ = seal(key, b"x", &mut rng());
    }
    true
}

/// One key, and two.
pub(crate) fn keyses() -> Vec<Vec<u8>> {
    let one = key().config().to_bytes();
    vec![one.clone(), [&one[..], &GatewayKey::generate(9, &mut rng()).unwrap().config().to_bytes()].concat()]
}

/// A sealed request, for a gateway with one key.
pub(crate) fn ohttp_sealed(data: &[u8]) -> bool {
    let Ok(opened) = open([key()].iter(), data) else { return false };
    assert!(opened.plain.len() < data.len());
    assert!(opened.reply.seal(b"answer", &mut rng()).is_some());
    true
}

pub(crate) fn sealeds() -> Vec<Vec<u8>> {
    vec![seal(&key().config(), &request().to_bytes(), &mut rng()).unwrap().0]
}

/// A sealed answer, to whoever waits for it.
pub(crate) fn ohttp_answer(data: &[u8]) -> bool {
    let (_, pending) = seal(&key().config(), &request().to_bytes(), &mut rng()).unwrap();
    pending.open(data).is_ok_and(|plain| plain.len() < data.len())
}

pub(crate) fn answers() -> Vec<Vec<u8>> {
    let opened = open([key()].iter(), &sealeds()[0]).unwrap();
    vec![opened.reply.seal(b"answer", &mut rng()).unwrap()]
}

/// The file of a gateway's keys. What is taken is written as it was.
pub(crate) fn ohttp_ring(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let Some(ring) = GatewayKeys::read(ROTATION, text) else { return false };
    let written = ring.to_text();
    assert_eq!(GatewayKeys::read(ROTATION, &written).unwrap().to_text(), written);
    true
}

/// One with two keys.
pub(crate) fn rings() -> Vec<Vec<u8>> {
    let one = GatewayKeys::new(ROTATION).turned(0, &mut rng()).unwrap();
    vec![one.turned(150, &mut rng()).unwrap().to_text().as_bytes().to_vec()]
}

const USERS: &str =
    "free ann # one\npaid sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae\n";

/// An issuer with the key of RFC 9578's vectors, its ledger, a request and a token.
struct World {
    pass: Issuer,
    ledger: MemoryLedger,
    request: Vec<u8>,
    header: String,
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let data = include_str!("../../../guests/sotto-pass/tests/data/rfc9578.json");
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let key = IssuerKey::from_pem(data["skS"].as_str().unwrap()).unwrap();
    let ledger = MemoryLedger::default();
    ledger.store_key("free", 0, &key.to_der().unwrap()).unwrap();
    let ring = IssuerKeys::open(sotto_pass::RotationSchedule::default(), &ledger).unwrap();
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
