//! Symmetric tables over a real server: what is sent, what a malicious client learns, and what wrong
//! answers of a malicious server cause.

use crate::watched::{self, Tamper, Wire};
use sotto_catalog::{SigningKey, SymmetricLayer};
use sotto_client::session::{RequestIo, Session, SetupConfig};
use sotto_client::transport::http::HttpTransport;
use sotto_client::transport::{Request, Response, Transport};
use sotto_client::{ClientError, Fault, Table};
use sotto_core::{Epoch, Error};
use sotto_db::mask::RowMasker;
use sotto_db::table::RawFile;
use sotto_db::{EncodeOptions, TableDir, encode_table};
use sotto_oprf::{Input, MaskVersion, OprfError, RowMask, SecretKey, blind};
use sotto_prg::system_rng;
use sotto_server::{RunningServer, Server, ServerConfig, TableConfig};
use sotto_wire::{FrameHeader, evaluate};
use std::fs::{self, File};
use tempfile::TempDir;

const ROWS: u64 = 200;
const WIDTH: usize = 8;

fn value(row: u64) -> Vec<u8> {
    row.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes().to_vec()
}

/// A table that is served, and what its clients sent.
struct World {
    _folder: TempDir,
    running: RunningServer,
    key: SecretKey,
    wire: Wire,
}

/// A table of epoch 1 whose rows name `written` as the epoch in which they were written.
fn world_of(written: u64) -> World {
    let folder = tempfile::tempdir().unwrap();
    let dir = TableDir::create(&folder.path().join("t")).unwrap();
    let rows = folder.path().join("rows");
    fs::write(&rows, (0..ROWS).flat_map(value).collect::<Vec<u8>>()).unwrap();
    let table = RawFile::new(File::open(&rows).unwrap(), &rows, ROWS, WIDTH).unwrap();
    let lock = dir.lock().unwrap();
    let key = lock.oprf_key(&mut system_rng().unwrap()).unwrap();
    let name = "t".parse().unwrap();
    let masker = RowMasker { table: &name, epoch: Epoch(written), key: &key };
    let masked = masker.table(&table, folder.path(), Some(1), &|_| ()).unwrap();
    let signing = SigningKey::generate(&mut system_rng().unwrap());
    let options = EncodeOptions {
        layers: vec![SymmetricLayer::layer(&key.public())],
        lookups_per_client: 1_000_000,
        threads: Some(1),
        ..EncodeOptions::new(name.clone(), &signing)
    };
    let scheme = sotto_registry::find("simplepir/1").unwrap();
    encode_table(scheme, &masked, &lock, &options, &|_| ()).unwrap();
    let config = ServerConfig {
        threads: 1,
        tables: vec![TableConfig::dir(dir.path())],
        ..ServerConfig::on_free_ports()
    };
    let running = Server::start(&config).unwrap();
    World { _folder: folder, running, key, wire: Wire::default() }
}

fn world() -> World {
    world_of(1)
}

impl World {
    fn http(&self) -> HttpTransport {
        watched::http(&self.running)
    }

    fn table(&self) -> Table {
        Table::over(self.wire.to(&watched::url(&self.running)), "t").open().unwrap()
    }

    /// A session, which a malicious client can use freely.
    fn session(&self) -> Session {
        let (mut http, mut rng) = (self.http(), system_rng().unwrap());
        let mut io = RequestIo::new(&mut rng, |_, request| Ok(http.call(request)?));
        Session::establish(SetupConfig::new("t".parse().unwrap()), &mut io).unwrap()
    }

    /// The frames sent since the last call: route and bytes of each.
    fn sent(&self) -> Vec<(String, Vec<u8>)> {
        let route = |path: &str| path.rsplit('/').next().unwrap().to_owned();
        self.wire.sent().into_iter().map(|request| (route(&request.path), request.body)).collect()
    }
}

fn shape(sent: &[(String, Vec<u8>)]) -> Vec<(String, usize)> {
    sent.iter().map(|(route, body)| (route.clone(), body.len())).collect()
}

fn is_evaluation(request: &Request) -> bool {
    request.path.ends_with("/evaluate")
}

#[test]
fn a_row_is_one_ask_and_one_evaluation_that_say_nothing_of_it() {
    let world = world();
    let mut table = world.table();
    assert!(world.sent().is_empty(), "opening tells nothing");
    let mut seen = Vec::new();
    for row in [0, 0, ROWS - 1] {
        assert_eq!(table.get(row).unwrap(), value(row));
        seen.push(world.sent());
    }
    let [first, again, last] = seen.as_slice() else { panic!("three lookups") };
    let routes: Vec<&str> = first.iter().map(|(route, _)| route.as_str()).collect();
    assert_eq!(routes, ["ask", "evaluate"]);
    assert_eq!((shape(first), shape(first)), (shape(again), shape(last)));
    let element = |sent: &[(String, Vec<u8>)]| sent[1].1[evaluate::HEAD_BYTES..].to_vec();
    assert!(element(first) != element(again) && element(first) != element(last), "blinded each time");
    assert_eq!(table.get_many(&[7, 7, 3]).unwrap(), [7, 7, 3].map(value));
    let taken = table.last_lookup().unwrap().evaluations.unwrap();
    assert_eq!((taken.count, taken.up), (3, evaluate::request_bytes(3)));
    assert_eq!(table.stats().evaluations.requests, 4);
}

/// A damaged answer gives another row, or none: the evaluation request is the same as always, and
/// nothing follows it.
#[test]
fn an_evaluation_is_asked_for_whatever_was_fetched() {
    let world = world();
    let mut table = world.table();
    table.get(5).unwrap();
    let usual = shape(&world.sent());
    world.wire.tamper_asks(|_, response| response.body.iter_mut().skip(48).for_each(|byte| *byte ^= 0x55));
    for _ in 0..3 {
        let error = table.get(5).unwrap_err();
        let expected = [OprfError::Closed, OprfError::Future];
        assert!(matches!(&error, ClientError::Oprf(why) if expected.contains(why)), "{error}");
        assert_eq!(error.fault(), Fault::Server);
        assert_eq!(shape(&world.sent()), usual);
    }
    world.wire.tamper(|_, _| ());
    assert_eq!(table.get(5).unwrap(), value(5));
    assert_eq!(shape(&world.sent()), usual, "nothing that comes later depends on it");

    // The same where a row cannot be read at all.
    let (session, mut rng) = (world.session(), system_rng().unwrap());
    let evaluation = session.evaluation(&[5], Err(Error::Unreadable.into()), &mut rng).unwrap();
    assert_eq!(evaluation.request().body.len(), usual[1].1);
    let response = world.http().call(evaluation.request()).unwrap();
    assert!(matches!(session.open(evaluation, &response), Err(ClientError::Core(Error::Unreadable))));
}

#[test]
fn rows_of_an_epoch_to_come_are_refused_after_the_evaluation() {
    let world = world_of(2);
    let mut table = world.table();
    let error = table.get(5).unwrap_err();
    assert_eq!((error.code(), shape(&world.sent()).len()), ("future-version", 2));
}

#[test]
fn evaluations_that_are_not_proved_open_nothing() {
    let world = world();
    let mut table = world.table();
    let mut refused = |tamper: Tamper, code: &str| {
        let mut tamper = tamper;
        world.wire.tamper(move |request, response| {
            if is_evaluation(request) {
                tamper(request, response);
            }
        });
        let error = table.get(5).unwrap_err();
        assert_eq!((error.code(), error.fault()), (code, Fault::Server), "{error}");
        assert_eq!(shape(&world.sent()).len(), 2, "and nothing is sent again");
    };
    // A valid proof under another key is refused: a server cannot recognize a client by a special key.
    let other = SecretKey::generate(&mut system_rng().unwrap()).unwrap();
    let by_another = move |request: &Request, response: &mut Response| {
        let head = evaluate::EvaluationHead::parse(&request.body).unwrap();
        let elements = head.elements(&request.body).unwrap();
        let made = other.evaluate(&elements, &mut system_rng().unwrap()).unwrap();
        response.body = evaluate::encode_response(&head.pin, &made.elements, &made.proof).unwrap();
    };
    refused(Box::new(by_another), "bad-evaluation");
    let (proof, element) = (48 + 32, 48);
    refused(Box::new(move |_, response| response.body[proof + 3] ^= 1), "bad-evaluation");
    refused(Box::new(move |_, response| response.body[element..][..32].fill(0)), "bad-evaluation");
    refused(Box::new(move |_, response| response.body[element..][..32].fill(0xFF)), "bad-evaluation");
    refused(Box::new(|_, response| response.body.truncate(143)), "bad-answer");
    refused(Box::new(|_, response| response.body[6] = 2), "bad-answer");
    let (mut session, mut http, mut rng) = (world.session(), world.http(), system_rng().unwrap());
    // The answer to an evaluation of the same row, from before.
    let ask = session.query(&[5], &mut rng).unwrap();
    let responses = [http.call(&ask.requests()[0]).unwrap()];
    let masked = session.recover(ask, &responses);
    let evaluation = session.evaluation(&[5], masked, &mut rng).unwrap();
    let response = http.call(evaluation.request()).unwrap();
    let before = response.body.clone();
    assert_eq!(session.open(evaluation, &response).unwrap(), [value(5)]);
    refused(Box::new(move |_, response| response.body = before.clone()), "bad-evaluation");
}

/// Even a client that fetches the whole table, or sums of its rows, has only masked rows. One
/// evaluation opens one row.
#[test]
fn a_client_with_the_whole_table_opens_what_was_evaluated_and_nothing_else() {
    let world = world();
    let (mut session, mut http, mut rng) = (world.session(), world.http(), system_rng().unwrap());
    assert!(session.packing().rows_per_record() > 1, "a record that comes back has other rows too");
    let all: Vec<u64> = (0..ROWS).collect();
    let mut stored = Vec::new();
    for rows in all.chunks(session.max_rows()) {
        let ask = session.query(rows, &mut rng).unwrap();
        let responses = [http.call(&ask.requests()[0]).unwrap()];
        stored.extend(session.recover(ask, &responses).unwrap());
    }
    assert_eq!(stored.len() as u64, ROWS);

    // One evaluation of row 5, used by the client on all rows.
    let pin = FrameHeader { server: 0, epoch: session.epoch(), digest: session.report().digest };
    let asked = blind(vec![Input::row("t", 5, MaskVersion(1)).unwrap()], &mut rng).unwrap();
    let frame = evaluate::encode(&pin, asked.elements()).unwrap();
    let request = Request::post("/v1/tables/t/evaluate".to_owned(), frame, evaluate::answer_bytes(1));
    let response = http.call(&request).unwrap();
    let (elements, proof) = evaluate::decode_answer(&response.body, &pin, 1).unwrap();
    let outputs = asked.finish(&elements, &proof, &world.key.public()).unwrap();
    let mask = RowMask::new(&outputs[0]);

    let mut opened = Vec::new();
    let mut attempt = |what: &[u8]| opened.extend(mask.open(what).ok().map(|item| item.to_vec()));
    let sum = |a: &[u8], b: &[u8]| a.iter().zip(b).map(|(a, b)| a.wrapping_add(*b)).collect::<Vec<u8>>();
    let differ = |a: &[u8], b: &[u8]| a.iter().zip(b).map(|(a, b)| a ^ b).collect::<Vec<u8>>();
    for row in &stored {
        attempt(row);
        attempt(&sum(row, &stored[5]));
        attempt(&differ(row, &stored[5]));
    }
    attempt(&stored.iter().fold(vec![0; stored[0].len()], |all, row| sum(&all, row)));
    assert_eq!(opened, [value(5)]);
    for (row, bytes) in all.iter().zip(&stored).filter(|(row, _)| **row != 5) {
        let ciphertext = &bytes[8..8 + WIDTH];
        assert!(ciphertext != value(*row), "row {row} does not stand there as it is");
    }
}

#[test]
fn what_a_symmetric_table_cannot_do_is_said() {
    let world = world();
    let mut table = world.table();
    let error = table.stream(3, &mut Vec::new()).unwrap_err();
    assert_eq!(error.code(), "cannot-stream");
    assert!(world.sent().is_empty());
    let shapes = |sent: Vec<(String, Vec<u8>)>| {
        sent.into_iter().map(|(path, body)| (path, body.len())).collect::<Vec<_>>()
    };
    table.get(ROWS - 1).unwrap();
    let usual = shapes(world.sent());
    assert_eq!(usual.len(), 2);
    assert_eq!(table.get(ROWS).unwrap_err().code(), "misuse");
    assert_eq!(shapes(world.sent()), usual, "an evaluation also for a row that there is not");
}
