//! Whole sessions between Apple's example client and its example server, answered by our server.
//! Invalid requests, keys and queries are refused with the status that says whose fault it is, and
//! change nothing.

use crate::common::{CODEC, SET, proofs, read, shard};
use bytes::Bytes;
use prost::Message;
use sotto_apple::keys::KeyMap;
use sotto_apple::proto::{
    CiphertextForm, ConfigRequest, EvaluationKeys, PirConfig, PirRequest, Requests, SerializedCiphertext,
    SerializedEvaluationKey,
};
use sotto_apple::service::{HttpRequest, Refusal, Service, UseCase};
use sotto_apple::sets::{WeakParams, find};
use sotto_bfv::mulpir::Compression;
use std::sync::LazyLock;

const SESSION: &str = "c2_ios18.2";

static SERVICE: LazyLock<Service> =
    LazyLock::new(|| service("sotto.c2_three_shards_fixed", "c/c2_three_shards_fixed", Compression::Hybrid));

/// A store with the recorded keys.
fn keyed() -> KeyMap {
    let store = KeyMap::default();
    SERVICE.answer(&Recorded::new(SESSION, "02_key").asked(), &store, &mut proofs()).unwrap();
    store
}

fn status(step: &str, body: impl Into<Bytes>, store: &KeyMap) -> u16 {
    let recorded = Recorded { body: body.into(), ..Recorded::new(SESSION, step) };
    SERVICE.answer(&recorded.asked(), store, &mut proofs()).map_or_else(|refused| refused.status, |_| 200)
}

/// The first of the recorded lookups, changed.
fn lookup(change: impl FnOnce(&mut PirRequest)) -> Vec<u8> {
    let mut message = Requests::decode(Recorded::new(SESSION, "03_queries").body).unwrap();
    message.requests.truncate(1);
    change(message.requests[0].pir_request.as_mut().unwrap());
    message.encode_to_vec()
}

#[test]
fn a_name_that_comes_twice_is_answered_once() {
    let (recorded, store) = (Recorded::new(SESSION, "01_config"), KeyMap::default());
    let mut message = ConfigRequest::decode(recorded.body.clone()).unwrap();
    message.usecases = vec![message.usecases[0].clone(); 1000];
    let often = Recorded { body: message.encode_to_vec().into(), ..Recorded::new(SESSION, "01_config") };
    assert_eq!(
        SERVICE.answer(&often.asked(), &store, &mut proofs()),
        SERVICE.answer(&recorded.asked(), &store, &mut proofs())
    );
}

#[test]
fn headers_and_paths() {
    let recorded = Recorded::new(SESSION, "01_config");
    let store = KeyMap::default();
    let status = |asked: HttpRequest<'_>| {
        SERVICE.answer(&asked, &store, &mut proofs()).map_or_else(|refused| refused.status, |_| 200)
    };
    assert_eq!(status(recorded.asked()), 200);
    assert_eq!(status(HttpRequest { user: None, ..recorded.asked() }), 400);
    assert_eq!(status(HttpRequest { agent: None, ..recorded.asked() }), 400);
    assert_eq!(status(HttpRequest { user: Some(""), ..recorded.asked() }), 400);
    assert_eq!(status(HttpRequest { user: Some(&"x".repeat(1000)), ..recorded.asked() }), 400);
    assert_eq!(status(HttpRequest { path: "/", ..recorded.asked() }), 404);
}

#[test]
fn bodies_that_are_too_long_or_no_messages() {
    let store = KeyMap::default();
    for step in ["01_config", "02_key", "03_queries"] {
        assert_eq!(status(step, vec![0; 64 << 20], &store), 413, "{step}");
        assert_eq!(status(step, vec![0xFF; 100], &store), 400, "{step}");
        // A length that extends past the end, and a group that never ends.
        assert_eq!(status(step, vec![0x0A, 0xFF, 0xFF, 0xFF, 0x7F], &store), 400, "{step}");
        assert_eq!(status(step, vec![0x0B; 1000], &store), 400, "{step}");
    }
    // Many empty parts, and many in one part.
    let empty = [0x12, 0x04, 0x12, 0x02, 0x0A, 0];
    assert_eq!(status("03_queries", [&[0x0A, empty.len() as u8][..], &empty].concat(), &store), 400);
    assert_eq!(status("03_queries", [0x0A, 0].repeat(100_000), &store), 400);
    assert_eq!(status("02_key", [0x0A, 0].repeat(100_000), &store), 400);
    assert_eq!(status("01_config", [0x0A, 1, b'x'].repeat(1000), &store), 404);
    assert_eq!(status("03_queries", vec![], &store), 200);
}

#[test]
fn lookups_of_others_configurations_and_shards() {
    let store = keyed();
    assert_eq!(status("03_queries", lookup(|_| ()), &store), 200);
    assert_eq!(status("03_queries", lookup(|_| ()), &KeyMap::default()), 400, "no keys");
    assert_eq!(
        status("03_queries", lookup(|request| request.configuration_hash = vec![1; 32].into()), &store),
        410
    );
    assert_eq!(
        status("03_queries", lookup(|request| request.configuration_hash = Bytes::new()), &store),
        410
    );
    assert_eq!(status("03_queries", lookup(|request| request.shard_index = 3), &store), 400);
    assert_eq!(status("03_queries", lookup(|request| request.shard_index = u32::MAX), &store), 400);
    assert_eq!(status("03_queries", lookup(|request| request.query = None), &store), 400);
    let metadata = |change: fn(&mut sotto_apple::proto::EvaluationKeyMetadata)| {
        lookup(|request| change(request.evaluation_key_metadata.as_mut().unwrap()))
    };
    assert_eq!(status("03_queries", metadata(|metadata| metadata.timestamp += 1), &store), 400);
    assert_eq!(
        status("03_queries", metadata(|metadata| metadata.identifier = vec![1; 32].into()), &store),
        400
    );
    let mut message = Requests::decode(Recorded::new(SESSION, "03_queries").body).unwrap();
    message.requests[0].usecase = "another".into();
    assert_eq!(status("03_queries", message.encode_to_vec(), &store), 400);
    // Keys belong to one user only.
    let recorded = Recorded::new(SESSION, "03_queries");
    let other = HttpRequest { user: Some("another"), ..recorded.asked() };
    let refused: Refusal = SERVICE.answer(&other, &store, &mut proofs()).unwrap_err();
    assert_eq!((refused.status, refused.why.contains("send it again")), (400, true));
}

#[test]
fn queries_of_other_sizes() {
    let store = keyed();
    let query = |change: &dyn Fn(&mut Vec<SerializedCiphertext>, &mut u64)| {
        let body = lookup(|request| {
            let query = request.query.as_mut().unwrap();
            change(&mut query.ciphertexts, &mut query.num_pir_calls);
        });
        status("03_queries", body, &store)
    };
    assert_eq!(query(&|_, _| ()), 200);
    assert_eq!(query(&|_, calls| *calls = 1), 400);
    assert_eq!(query(&|_, calls| *calls = u64::MAX), 400);
    assert_eq!(query(&|ciphertexts, _| ciphertexts.clear()), 400);
    assert_eq!(query(&|ciphertexts, _| ciphertexts.push(Default::default())), 400);
    assert_eq!(query(&|ciphertexts, _| ciphertexts.push(ciphertexts[0].clone())), 400);
    assert_eq!(query(&|ciphertexts, _| ciphertexts[0].form = None), 400);
    for bytes in damaged(&ciphertext(&lookup(|_| ()))) {
        let form = |ciphertexts: &mut Vec<SerializedCiphertext>| {
            ciphertexts[0] = SerializedCiphertext { form: Some(bytes.clone()) };
        };
        assert_eq!(query(&|ciphertexts, _| form(ciphertexts)), 400);
    }
}

fn ciphertext(body: &[u8]) -> SerializedCiphertext {
    let message = Requests::decode(body).unwrap();
    message.requests[0].pir_request.as_ref().unwrap().query.as_ref().unwrap().ciphertexts[0].clone()
}

/// Too few bytes, too many, words that are not reduced, and a seed of another length.
fn damaged(c: &SerializedCiphertext) -> Vec<CiphertextForm> {
    let Some(CiphertextForm::Seeded(c)) = &c.form else { panic!("no seed") };
    let with = |poly0: Vec<u8>, seed: Vec<u8>| {
        let mut c = c.clone();
        (c.poly0, c.seed) = (poly0.into(), seed.into());
        CiphertextForm::Seeded(c)
    };
    let (poly, seed) = (c.poly0.to_vec(), c.seed.to_vec());
    let mut large = poly.clone();
    large[..4].fill(0xFF);
    vec![
        with(poly[1..].to_vec(), seed.clone()),
        with([&poly[..], &[0]].concat(), seed.clone()),
        with(large, seed.clone()),
        with(vec![], seed.clone()),
        with(poly.clone(), seed[1..].to_vec()),
        with(poly, [&seed[..], &[0]].concat()),
        CiphertextForm::Full(Default::default()),
    ]
}

#[test]
fn keys_that_are_none() {
    let store = KeyMap::default();
    let sent = EvaluationKeys::decode(Recorded::new(SESSION, "02_key").body).unwrap();
    let key = |change: &dyn Fn(&mut SerializedEvaluationKey)| {
        let mut message = sent.clone();
        change(message.keys[0].evaluation_key.as_mut().unwrap());
        status("02_key", message.encode_to_vec(), &store)
    };
    let elements = sent.keys[0].evaluation_key.as_ref().unwrap().galois_key.as_ref().unwrap();
    let first = *elements.key_switch_keys.keys().next().unwrap();
    assert_eq!(key(&|key| key.relin_key = None), 400);
    assert_eq!(key(&|key| key.galois_key = None), 400);
    assert_eq!(key(&|key| drop(key.galois_key.as_mut().unwrap().key_switch_keys.remove(&first))), 400);
    let rows = |key: &mut SerializedEvaluationKey, change: &dyn Fn(&mut Vec<SerializedCiphertext>)| {
        let key = key.galois_key.as_mut().unwrap().key_switch_keys.get_mut(&first).unwrap();
        change(&mut key.key_switch_key.as_mut().unwrap().ciphertexts);
    };
    assert_eq!(key(&|key| rows(key, &|rows| drop(rows.pop()))), 400);
    assert_eq!(key(&|key| rows(key, &|rows| rows.push(rows[0].clone()))), 413);
    assert_eq!(key(&|key| rows(key, &|rows| rows.push(Default::default()))), 400);
    let row = elements.key_switch_keys[&first].key_switch_key.as_ref().unwrap().ciphertexts[0].clone();
    for form in damaged(&row) {
        assert_eq!(key(&|key| rows(key, &|rows| rows[0].form = Some(form.clone()))), 400);
    }
    let mut message = sent.clone();
    message.keys[0].metadata.as_mut().unwrap().identifier = vec![1; 32].into();
    assert_eq!(status("02_key", message.encode_to_vec(), &store), 400);
    message.keys[0].metadata = None;
    assert_eq!(status("02_key", message.encode_to_vec(), &store), 400);
    // None of the keys was stored.
    assert_eq!(status("03_queries", lookup(|_| ()), &store), 400);
    assert_eq!(key(&|_| ()), 200);
    assert_eq!(status("03_queries", lookup(|_| ()), &store), 200);
    assert_eq!(CODEC.kit().degree(), 4096);
}

/// A service with the recorded tables of one case.
fn service(name: &str, case: &str, compression: Compression) -> Service {
    let set = find(SET).unwrap();
    let config = PirConfig::decode(&*read(&format!("{case}/pir_config.pb"))).unwrap();
    let shards = (0..config.shard_configs.len()).map(|s| shard(case, &config, s)).collect();
    let mut service = Service::new();
    let codec = UseCase::codec(&set, WeakParams::Reject).unwrap();
    service.serve(name, UseCase::new(set, codec, shards, compression).unwrap(), 0);
    assert_eq!(CODEC.kit().degree(), set.degree);
    service
}

/// A recorded request: its headers, and its body.
struct Recorded {
    headers: String,
    body: Bytes,
}

impl Recorded {
    fn new(session: &str, step: &str) -> Self {
        let headers = String::from_utf8(read(&format!("e/{session}/{step}.request.headers.txt"))).unwrap();
        Recorded { headers, body: read(&format!("e/{session}/{step}.request.pb")).into() }
    }

    fn asked(&self) -> HttpRequest<'_> {
        let header =
            |name: &str| self.headers.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        HttpRequest {
            path: self.headers.split_whitespace().nth(1).unwrap(),
            user: header("User-Identifier"),
            agent: header("User-Agent"),
            body: self.body.clone(),
        }
    }
}

fn replay(session: &str, service: &Service) {
    let store = KeyMap::default();
    for step in ["01_config", "02_key", "03_queries"] {
        let answer = service.answer(&Recorded::new(session, step).asked(), &store, &mut proofs()).unwrap();
        assert!(answer == read(&format!("e/{session}/{step}.response.pb")), "{session} {step}");
    }
}

#[test]
fn three_shards() {
    replay(
        "c2_ios18.2",
        &service("sotto.c2_three_shards_fixed", "c/c2_three_shards_fixed", Compression::Hybrid),
    );
}

#[test]
#[ignore = "needs every recording"]
fn one_shard() {
    replay("c1_ios18.2", &service("sotto.c1_one_shard", "c/c1_one_shard", Compression::None));
}
