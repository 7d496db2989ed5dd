//! Lookups of Apple's protocol: the shard and the buckets of a secret key, a row by its number, and what opens a sealed row.

use super::Case;
use crate::secret::{SecretRng, hidden, hide, pick, show, source, timed};
use bytes::Bytes;
use sotto_apple::client::{Client, ConfigPolicy, KeySeed, ShardHistory, config_request};
use sotto_apple::codec::Codec;
use sotto_apple::keys::KeyMap;
use sotto_apple::keyword::cuckoo::{CuckooOptions, KeywordRow};
use sotto_apple::keyword::table::Shard;
use sotto_apple::keyword::{hash, shard};
use sotto_apple::service::{HttpRequest, Service, UseCase};
use sotto_apple::sets::{SETS, WeakParams};
use sotto_apple::symmetric::{NAME_BYTES, RowKey};
use sotto_bfv::mulpir::{Compression, EntryShape, ValueTable};
use sotto_oprf::p384::SecretKey;
use sotto_testkit::rng::seeded;
use std::sync::Arc;
use zeroize::Zeroizing;

const KEYS: u64 = 100;
const NAME: &str = "callers";

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new("apple/keyword", 2, || keyword(1)),
        Case::new("apple/shards", 2, || keyword(3)),
        Case::new("apple/row", 2, row),
        Case::new("apple/symmetric", 1, symmetric),
    ]
}

fn key(i: u64) -> Vec<u8> {
    format!("+1555{i:07}").into_bytes()
}

fn value(i: u64) -> Vec<u8> {
    key(i)[5..].to_vec()
}

fn codec() -> Arc<Codec> {
    UseCase::codec(&SETS[1], WeakParams::Reject).expect("a good set")
}

fn use_case(codec: &Arc<Codec>, shards: Vec<Shard>) -> UseCase {
    UseCase::new(SETS[1], codec.clone(), shards, Compression::None).expect("few errors")
}

fn built(codec: &Codec, rows: &[KeywordRow<'_>]) -> Shard {
    let options = CuckooOptions { bucket_bytes: 400, buckets: Some(16) };
    Shard::build(codec, rows, options).expect("room for all rows")
}

/// A server of one use case, which reads what it is sent as everybody could, and a client of it with a secret seed.
struct Exchange {
    service: Service,
    store: KeyMap,
    client: Client,
}

impl Exchange {
    fn new(use_case: UseCase) -> Self {
        let max_shards = use_case.shards().len() as u64;
        let (mut service, store) = (Service::new(), KeyMap::default());
        service.serve(NAME, use_case, 0);
        let response = post(&service, &store, "/config", config_request(NAME));
        let mut policy = ConfigPolicy { max_shards, ..ConfigPolicy::default() };
        let seed = KeySeed::new(Zeroizing::new(hidden([7; 32])), 1);
        let client = Client::of_config(NAME, response, &mut policy, &mut ShardHistory::default(), &seed);
        let client = client.expect("a configuration");
        post(&service, &store, "/key", client.key_request(&mut SecretRng(seeded("keys"))));
        Exchange { service, store, client }
    }

    fn queries(&self, body: Vec<u8>) -> Bytes {
        post(&self.service, &self.store, "/queries", body)
    }
}

fn post(service: &Service, store: &KeyMap, path: &str, mut body: Vec<u8>) -> Bytes {
    show(body.as_mut_slice());
    let request = HttpRequest { path, user: Some("a"), agent: Some("x iOS/18.2"), body: body.into() };
    service.answer(&request, store, &mut seeded("service")).expect("an answer").into()
}

/// The single value of an answer: its reader learns whether there is one, and its length.
fn only(mut values: Vec<Option<Vec<u8>>>) -> Option<Vec<u8>> {
    show(values.as_mut_slice());
    let mut value = values.pop().expect("one value");
    if let Some(value) = &mut value {
        show(value.as_mut_slice());
    }
    value
}

/// A table in `shards` shards; a key that is present, and one that is missing.
fn keyword(shards: usize) -> impl FnMut(usize) {
    let (codec, keys) = (codec(), (0..KEYS).map(key).collect::<Vec<_>>());
    let shard = |s| {
        let mine = keys.iter().filter(|key| shard(hash(key), shards) == s);
        built(&codec, &mine.map(|key| KeywordRow { key, value: &key[5..] }).collect::<Vec<_>>())
    };
    let exchange = Exchange::new(use_case(&codec, (0..shards).map(shard).collect()));
    move |round| {
        let number = pick([17, KEYS][round], KEYS);
        let mut secret = key(number);
        hide(secret.as_mut_slice());
        let rng = &mut SecretRng(source("client"));
        let (body, pending) = timed(|| exchange.client.query(&[&secret], rng)).expect("a table of keys");
        let answer = exchange.queries(body);
        let got = only(timed(|| exchange.client.open(pending, answer)).expect("an honest answer"));
        assert!(got == (number < KEYS).then(|| value(number)));
    }
}

/// Rows with their lengths before them, by number: one that is there, and one that is not.
fn row() -> impl FnMut(usize) {
    const ROW: usize = 16;
    let codec = codec();
    let plaintext = codec.kit().plaintext_bytes();
    let plaintexts = (KEYS as usize).div_ceil(plaintext / ROW);
    let shape = EntryShape::new(KEYS as usize, ROW, plaintext, EntryShape::quickest(plaintexts), 1);
    let shape = shape.expect("dimensions with room for all rows");
    let entry = |i: usize, out: &mut [u8]| {
        let value = value(i as u64);
        out[0] = value.len() as u8;
        out[1..=value.len()].copy_from_slice(&value);
    };
    let table = ValueTable::encode(codec.kit(), &shape, entry).expect("memory");
    let shard = Shard::of_tables(shape, vec![table]).expect("one table");
    let exchange = Exchange::new(use_case(&codec, vec![shard]).with_lengths());
    move |round| {
        let number = pick([17, KEYS][round], KEYS);
        let rng = &mut SecretRng(source("client"));
        let (body, pending) =
            timed(|| exchange.client.query_rows(&[hidden(number)], rng)).expect("a table of rows");
        let answer = exchange.queries(body);
        let got = only(timed(|| exchange.client.open(pending, answer)).expect("an honest answer"));
        assert!(got == (number < KEYS).then(|| value(number)));
    }
}

/// A sealed row, which an evaluation opens.
fn symmetric() -> impl FnMut(usize) {
    const ROWS: u64 = 20;
    let server = SecretKey::generate(&mut seeded("server")).expect("a key");
    let sealed = |i| {
        let output = server.at(&key(i)).expect("a short key");
        let name = output.bytes()[..NAME_BYTES].to_vec();
        (name, RowKey::of(output).seal(&value(i)).expect("a short value"))
    };
    let sealed: Vec<_> = (0..ROWS).map(sealed).collect();
    let rows: Vec<KeywordRow<'_>> = sealed.iter().map(|(key, value)| KeywordRow { key, value }).collect();
    let codec = codec();
    let use_case = use_case(&codec, vec![built(&codec, &rows)]).symmetric(server.public());
    let exchange = Exchange::new(use_case.evaluated_by(server).expect("the rows' own key"));
    move |_| {
        let number = pick(17, ROWS);
        let mut secret = key(number);
        hide(secret.as_mut_slice());
        let rng = &mut SecretRng(source("client"));
        let (body, blindings) =
            timed(|| exchange.client.ask_openings(&[&secret], rng)).expect("a symmetric table");
        let answer = exchange.queries(body);
        let openings =
            timed(|| exchange.client.openings(blindings, answer)).expect("an evaluation that is proved");
        let (body, pending) = timed(|| exchange.client.ask_opened(openings, rng)).expect("a symmetric table");
        let answer = exchange.queries(body);
        let got = only(timed(|| exchange.client.open(pending, answer)).expect("an honest answer"));
        assert!(got == Some(value(number)));
    }
}
