//! Evaluations for clients of symmetric tables, by the server that has the key, up to a quota per
//! client.

use crate::harness::*;
use sotto_catalog::{SignedCatalog, SigningKey, SymmetricLayer};
use sotto_core::Epoch;
use sotto_oprf::{Element, Input, MaskVersion, SecretKey, blind};
use sotto_prg::system_rng;
use sotto_server::table_epoch::TableEpochParts;
use sotto_server::{EpochSource, RunningServer, Server, ServerConfig, SourceError, TableEpoch};
use sotto_testkit::{CLEAR_TWO, rng::seeded};
use sotto_wire::{FrameHeader, ProblemCode, evaluate, routes};

/// A table whose catalog says that it is masked.
struct Shelved {
    made: EncodedTable,
    key: String,
    given: Option<String>,
}

fn secret() -> String {
    SecretKey::generate(&mut system_rng().unwrap()).unwrap().to_file().to_string()
}

fn key(text: &str) -> SecretKey {
    SecretKey::from_file(text).unwrap()
}

impl Shelved {
    fn new(made: EncodedTable) -> Self {
        let key = secret();
        Shelved { made: EncodedTable { row_bytes: 64, ..made }, given: Some(key.clone()), key }
    }
}

impl EpochSource for Shelved {
    fn name(&self) -> String {
        "masked".into()
    }

    fn epochs(&self) -> Result<Vec<Epoch>, SourceError> {
        Ok(vec![Epoch(self.made.epoch)])
    }

    fn open(&self, _: Epoch) -> Result<TableEpoch, SourceError> {
        let mut parts = self.made.parts();
        parts.catalog.layers.push(SymmetricLayer::layer(&key(&self.key).public()));
        let publisher = SigningKey::generate(&mut seeded("publisher"));
        let parts = TableEpochParts { signed: SignedCatalog::sign(&parts.catalog, &publisher)?, ..parts };
        TableEpoch::with_key(parts, self.made.role, self.given.as_deref().map(key))
    }
}

struct Scene {
    running: RunningServer,
    pin: FrameHeader,
    key: SecretKey,
}

fn scene(config: &ServerConfig) -> Scene {
    let made = EncodedTable::clear(3, &Probe::new());
    let shelved = Shelved::new(made);
    let (pin, key) = (shelved.made.pin(), key(&shelved.key));
    let plain = TestSource::with(EncodedTable { name: "plain", ..EncodedTable::clear(3, &Probe::new()) });
    let running = Server::start_with(config, vec![Box::new(shelved), Box::new(plain)]).unwrap();
    Scene { running, pin, key }
}

fn blinded(count: u64) -> sotto_oprf::BlindedInputs {
    let inputs = (0..count).map(|row| Input::row("t", row, MaskVersion(1)).unwrap()).collect();
    blind(inputs, &mut system_rng().unwrap()).unwrap()
}

impl Scene {
    fn post(&self, body: &[u8]) -> Response {
        post(self.running.public, &routes::evaluate("t"), body)
    }

    fn evaluate(&self, elements: &[Element]) -> Response {
        self.post(&evaluate::encode(&self.pin, elements).unwrap())
    }
}

#[test]
fn evaluations_are_what_the_key_gives_and_proved() {
    let scene = scene(&config());
    for count in [1, 3, 64] {
        let request = blinded(count);
        let response = scene.evaluate(request.elements());
        assert_eq!(response.status, 200, "{}", response.text());
        assert_eq!(response.header("cache-control"), Some("no-store"));
        assert_eq!(response.body.len() as u64, evaluate::answer_bytes(count as u16));
        let (elements, proof) = evaluate::decode_answer(&response.body, &scene.pin, count as u16).unwrap();
        let outputs = request.finish(&elements, &proof, &scene.key.public()).unwrap();
        for (row, output) in (0..).zip(outputs) {
            let input = Input::row("t", row, MaskVersion(1)).unwrap();
            assert_eq!(output.bytes(), scene.key.at(&input).unwrap().bytes());
        }
    }
    let metrics = get(scene.running.admin, "/metrics").text();
    assert!(metrics.contains("sotto_evaluations_total{table=\"t\"} 68\n"), "{metrics}");
    assert!(metrics.contains("sotto_requests_total{route=\"evaluate\",outcome=\"ok\"} 3\n"), "{metrics}");
}

#[test]
fn what_is_no_request_is_refused() {
    let scene = scene(&config());
    let good = blinded(2).elements().to_vec();
    let mut unreduced = [0xff; 32];
    unreduced[31] = 0x7f;
    for wrong in [[0; 32], unreduced, [0xff; 32]] {
        assert_refused(&scene.evaluate(&[good[0], wrong]), ProblemCode::BadElement);
    }
    let frame = evaluate::encode(&scene.pin, &good).unwrap();
    for cut in [0, 47, 48, 80, frame.len() - 1] {
        assert_refused(&scene.post(&frame[..cut]), ProblemCode::Malformed);
    }
    assert_refused(&scene.post(&[&frame[..], &[0]].concat()), ProblemCode::Malformed);
    for count in [0u16, 1, 3, 65, u16::MAX] {
        let mut other = frame.clone();
        other[6..8].copy_from_slice(&count.to_le_bytes());
        assert_refused(&scene.post(&other), ProblemCode::Malformed);
    }
    assert_refused(&scene.post(&vec![0; 48 + 65 * 32]), ProblemCode::TooLarge);
    let pinned = |pin| scene.post(&evaluate::encode(&pin, &good).unwrap());
    assert_refused(&pinned(FrameHeader { server: 1, ..scene.pin }), ProblemCode::WrongServer);
    assert_refused(&pinned(FrameHeader { epoch: Epoch(2), ..scene.pin }), ProblemCode::StaleEpoch);
    assert_refused(&pinned(FrameHeader { epoch: Epoch(4), ..scene.pin }), ProblemCode::EpochAhead);
    let digest = sotto_core::ParamsDigest([7; 32]);
    assert_refused(&pinned(FrameHeader { digest, ..scene.pin }), ProblemCode::WrongParams);
    assert_refused(&get(scene.running.public, &routes::evaluate("t")), ProblemCode::WrongMethod);
    let plain = EncodedTable { name: "plain", ..EncodedTable::clear(3, &Probe::new()) }.pin();
    let of_plain = evaluate::encode(&plain, &good).unwrap();
    let response = post(scene.running.public, &routes::evaluate("plain"), &of_plain);
    assert_refused(&response, ProblemCode::NotSymmetric);
}

#[test]
fn a_client_has_so_many_in_an_hour_and_no_more() {
    let scene = scene(&ServerConfig { evaluations_per_client: 5, ..config() });
    let evaluate = |count| scene.evaluate(blinded(count).elements());
    assert_eq!(evaluate(3).status, 200);
    // Refused requests are not counted, except those with invalid elements, which take work.
    let refused = evaluate(3);
    assert_refused(&refused, ProblemCode::Busy);
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    // One more than the two that are left, which is a fifth of an hour's quota.
    assert!((710..=720).contains(&wait), "{wait} seconds");
    assert_refused(&scene.evaluate(&[[0; 32]]), ProblemCode::BadElement);
    assert_refused(&evaluate(2), ProblemCode::Busy);
    assert_eq!(evaluate(1).status, 200);
    assert_refused(&evaluate(1), ProblemCode::Busy);
}

#[test]
fn a_restart_gives_nobody_anything_back() {
    let state = tempfile::tempdir().unwrap();
    let config =
        || ServerConfig { evaluations_per_client: 20, state: Some(state.path().to_owned()), ..config() };
    let key = secret();
    let open = || {
        let made = EncodedTable { row_bytes: 64, ..EncodedTable::clear(3, &Probe::new()) };
        let (pin, given) = (made.pin(), Some(key.clone()));
        let shelved = Shelved { made, key: key.clone(), given };
        let running = Server::start_with(&config(), vec![Box::new(shelved)]).unwrap();
        Scene { running, pin, key: self::key(&key) }
    };
    let evaluate = |scene: &Scene, count| scene.evaluate(blinded(count).elements());
    let first = open();
    assert_eq!(evaluate(&first, 12).status, 200);
    first.running.shutdown();
    let second = open();
    assert_refused(&evaluate(&second, 9), ProblemCode::Busy);
    assert_eq!(evaluate(&second, 8).status, 200);
    drop(second);
    assert_refused(&evaluate(&open(), 1), ProblemCode::Busy);
}

#[test]
fn only_the_server_with_the_right_key_serves_a_symmetric_table() {
    let start = |shelved: Shelved| Server::start_with(&config(), vec![Box::new(shelved)]);
    let shelved = || Shelved::new(EncodedTable::clear(3, &Probe::new()));
    for given in [None, Some(secret())] {
        let refused = start(Shelved { given, ..shelved() }).err().unwrap().to_string();
        assert!(refused.contains("symmetric"), "{refused}");
    }
    // Server 1 of two does not need the key, and evaluates nothing.
    let second = EncodedTable { scheme: &CLEAR_TWO, role: 1, ..EncodedTable::clear(3, &Probe::new()) };
    let second = Shelved { given: None, ..Shelved::new(second) };
    let pin = second.made.pin();
    let running = start(second).unwrap();
    let frame = evaluate::encode(&pin, blinded(1).elements()).unwrap();
    assert_refused(&post(running.public, &routes::evaluate("t"), &frame), ProblemCode::WrongServer);
}
