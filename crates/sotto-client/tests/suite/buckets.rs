//! Tables of several buckets under a layer: one query returns a row of each. The test scheme does not
//! hide the requested rows, so that tests can read them in the query.

use crate::batch::{keys, publish_by, rows, value};
use crate::common::resolve;
use sotto_client::stack::BatchStack;
use sotto_client::transport::InProcessTransport;
use sotto_client::transport::{Method, Request, Response, Transport};
use sotto_client::{ClientError, Lookup, Stack, Table};
use sotto_core::{Image, Section};
use sotto_db::ingest::{FileOptions, SourceLayout};
use sotto_db::progress::silent;
use sotto_db::update::{ChangeFile, UpdateOptions, read_stack_update};
use sotto_db::{ImageFile, RowProofs, StackDir, TableDir};
use sotto_layers::batch_code::code::CodeSizes;
use sotto_testkit::CLEAR_BATCH;
use sotto_testkit::rng::seeded;
use sotto_testkit::transcript::{TranscriptRecorder, tells_nothing};
use sotto_wire::{FrameHeader, Problem, answer, query};
use std::fs;
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// Serves a stack's folder in memory: the documents that the stack names, and nothing else.
#[derive(Clone)]
struct Shelf {
    folder: Arc<TempDir>,
    received: Arc<Mutex<Vec<Request>>>,
    /// Position of the byte to damage, from the end of the first table's answer.
    spoilt: Arc<Mutex<Option<usize>>>,
}

impl Shelf {
    fn new(verified: RowProofs, lines: u64, layout: SourceLayout, sizes: impl Fn(u64) -> CodeSizes) -> Self {
        let folder = Arc::new(TempDir::new().unwrap());
        publish_by(&CLEAR_BATCH, verified, folder.path(), 1, lines, layout, sizes);
        Shelf { folder, received: Arc::default(), spoilt: Arc::default() }
    }

    fn dir(&self) -> StackDir {
        StackDir::find(&self.folder.path().join("stack")).unwrap()
    }

    fn image(&self, table: &str) -> Arc<ImageFile> {
        let dir = self.dir();
        let shards = dir.read().unwrap().1.shards;
        let shard = shards.iter().find(|shard| shard.table.as_str() == table).unwrap();
        TableDir::open(&dir.table(&shard.table)).unwrap().open_epoch(shard.epoch).unwrap()
    }

    fn honest(&self, request: &Request) -> Response {
        let path = request.path.strip_prefix("/v1/").unwrap();
        let (kind, rest) = path.split_once('/').unwrap();
        let name = rest.split(['/', '?']).next().unwrap();
        let body = match (request.method, kind) {
            (Method::Get, "stacks") => self.dir().read().unwrap().0.to_bytes(),
            (Method::Get, "tables") => self.image(name).signed_catalog().to_bytes(),
            (Method::Get, _) => {
                let shards = self.dir().read().unwrap().1.shards;
                let found = shards.iter().find_map(|shard| {
                    let image = self.image(shard.table.as_str());
                    let mut entries = image.catalog().artifacts.iter();
                    let entry = entries.find(|entry| entry.digest.to_string() == name)?;
                    image.section(Section::Public(entry.artifact)).map(<[u8]>::to_vec)
                });
                let (bytes, range) = (found.unwrap(), request.range.clone().unwrap_or(0..u64::MAX));
                bytes[range.start as usize..bytes.len().min(range.end as usize)].to_vec()
            }
            (Method::Post, _) => {
                let image = self.image(name);
                let params = image.catalog().params.to_string();
                let server = (CLEAR_BATCH.server.open)(params.as_bytes(), image.clone()).unwrap();
                let session = server.admit(&[]).unwrap();
                let head = query::QueryHead::parse(&request.body).unwrap();
                let digest = sotto_core::ParamsDigest(image.catalog().params_digest.0);
                let pin = FrameHeader { server: 0, epoch: image.catalog().epoch, digest };
                if let Err(error) = pin.check(&head.pin) {
                    let problem = Problem::new(error.code(), "refused").with_epoch(pin.epoch);
                    return Response::new(error.code().status(), problem.to_bytes());
                }
                let queries = head.queries(&request.body, server.query_bytes()).unwrap();
                let requests: Vec<_> = queries.into_iter().map(|query| (&session, query)).collect();
                let answers: Vec<_> = server.answer_many(&requests).into_iter().map(Result::unwrap).collect();
                let mut body = answer::encode(&head.pin, &answers).unwrap();
                if let Some(at) = self.spoilt.lock().unwrap().filter(|_| name.ends_with("-0")) {
                    let at = body.len() - 1 - at;
                    body[at] ^= 1;
                }
                body
            }
        };
        Response::new(if request.range.is_some() { 206 } else { 200 }, body)
    }

    fn transport(&self) -> impl Transport + use<> {
        let shelf = self.clone();
        InProcessTransport::new(move |request: &Request| {
            shelf.received.lock().unwrap().push(request.clone());
            Ok(shelf.honest(request))
        })
    }

    fn open(&self) -> BatchStack {
        let shelf = self.clone();
        let make = move || Ok(vec![Box::new(shelf.transport()) as Box<dyn Transport>]);
        let stack = Stack::over("many", make).resolve(resolve);
        BatchStack::new(stack.open().unwrap()).unwrap()
    }

    /// The query requests since the last call: the table, and the positions in buckets that its
    /// queries are for.
    fn asked(&self) -> Vec<(String, Vec<u64>)> {
        let received = std::mem::take(&mut *self.received.lock().unwrap());
        let requests = received.into_iter().filter(|request| request.method == Method::Post).map(|request| {
            let words = request.body[query::HEAD_BYTES..].as_chunks::<8>().0;
            let table = request.path.split('/').nth(3).unwrap().to_owned();
            (table, words.iter().map(|word| u64::from_le_bytes(*word)).collect())
        });
        let mut requests: Vec<_> = requests.collect();
        requests.sort();
        requests
    }
}

/// A code without spare lookups, and one with them.
fn buckets_only(rows: u64) -> CodeSizes {
    CodeSizes::fit(rows, 12).unwrap()
}

fn with_spare(rows: u64) -> CodeSizes {
    CodeSizes { rows, items: 20, copies: 3, buckets: 10, spare: 6 }
}

#[test]
fn a_round_is_one_query() {
    for verified in [RowProofs::No, RowProofs::Yes] {
        let shelf = Shelf::new(verified, 400, rows(), buckets_only);
        let mut batch = shelf.open();
        assert_eq!(batch.stack().tables().len(), 1);
        assert_eq!(batch.stack().tables()[0].session().buckets(), 18);
        shelf.asked();
        let every: Vec<u64> = (0..12).map(|i| i * 33).collect();
        for expected in [&every[..], &[], &[399], &[7, 7, 399, 7]] {
            let values: Vec<_> = expected.iter().map(|i| value(*i)).collect();
            assert_eq!(batch.get_many(expected).unwrap(), values);
            let asked = shelf.asked();
            assert_eq!(asked.len(), 1, "one request");
            assert_eq!(asked[0].1.len(), 18, "of one query, with a place in each bucket");
            assert_eq!(batch.stack().tables()[0].last_lookup().unwrap().queries, 1);
        }
    }
}

#[test]
fn idle_places_are_random() {
    let shelf = Shelf::new(RowProofs::No, 4000, rows(), buckets_only);
    let mut batch = shelf.open();
    let places = |batch: &mut BatchStack| {
        batch.get_many(&[]).unwrap();
        shelf.asked().pop().unwrap().1
    };
    let (one, other) = (places(&mut batch), places(&mut batch));
    assert_ne!(one, other);
    assert!(one.iter().collect::<std::collections::BTreeSet<_>>().len() > 9, "{one:?}");
}

#[test]
fn the_whole_table_comes_after_its_buckets() {
    let shelf = Shelf::new(RowProofs::IfCheap, 3000, rows(), with_spare);
    let mut batch = shelf.open();
    let expected: Vec<u64> = (0..20).map(|i| i * 149).collect();
    for _ in 0..5 {
        let values: Vec<_> = expected.iter().map(|i| value(*i)).collect();
        shelf.asked();
        assert_eq!(batch.get_many(&expected).unwrap(), values);
        let asked = shelf.asked();
        let shape: Vec<_> = asked.iter().map(|(table, words)| (table.as_str(), words.len())).collect();
        assert_eq!(shape, [("many-0", 30), ("many-1", 6)]);
    }
}

#[test]
fn keys_are_found_in_buckets() {
    let shelf = Shelf::new(RowProofs::No, 300, keys(), buckets_only);
    let mut batch = shelf.open();
    let found = batch.find_many(&["key 0", "none", "key 299", "key 8"]).unwrap();
    assert_eq!(found, [Some(value(0)), None, Some(value(299)), Some(value(8))]);
    assert_eq!(shelf.asked().len(), 1);
}

#[test]
fn silence_tells_nothing_of_a_batch() {
    let lookups: [&[Lookup<'_>]; 8] = [
        &[],
        &[Lookup::Row(0)],
        &[Lookup::Row(399), Lookup::Row(7), Lookup::Bit(12)],
        &[Lookup::Row(0); 12],
        &[Lookup::Row(400)],
        &[Lookup::Row(u64::MAX), Lookup::Row(1)],
        &[Lookup::Key("12")],
        &[Lookup::Key("nothing")],
    ];
    tells_nothing("buckets", &lookups, |lookups, transcript: &TranscriptRecorder| {
        let shelf = Shelf::new(RowProofs::No, 400, rows(), buckets_only);
        let mut batch = shelf.open();
        shelf.received.lock().unwrap().clear();
        let granted = batch.get_all(lookups);
        for request in shelf.received.lock().unwrap().drain(..) {
            transcript.note("server", format!("{:?} {}", request.method, request.path), request.body.len());
        }
        granted
    });
}

#[test]
fn a_wrong_row_of_any_bucket_is_noticed() {
    let shelf = Shelf::new(RowProofs::Yes, 400, rows(), buckets_only);
    let mut batch = shelf.open();
    let answer = batch.stack().tables()[0].report().costs.answer_bytes as usize;
    for bucket in 0..18 {
        *shelf.spoilt.lock().unwrap() = Some(bucket * (answer / 18));
        let error = batch.get_many(&[3]).unwrap_err();
        assert!(matches!(error.root(), ClientError::RowProofInvalid { .. }), "bucket {bucket}: {error}");
    }
    *shelf.spoilt.lock().unwrap() = None;
    assert_eq!(batch.get_many(&[3]).unwrap(), [value(3)]);
}

#[test]
fn a_stack_of_buckets_moves_on() {
    let shelf = Shelf::new(RowProofs::Yes, 400, rows(), buckets_only);
    let mut batch = shelf.open();
    assert_eq!(batch.get_many(&[7, 8]).unwrap(), [value(7), value(8)]);
    let dir = shelf.dir();
    let key = dir.root().unwrap().signing_key(None, &mut seeded("key")).unwrap();
    let file = shelf.folder.path().join("changes.csv");
    fs::write(&file, "row,value\n7,another one\n399,the last one\n").unwrap();
    let header = FileOptions { header: Some(true), ..FileOptions::default() };
    let changes = ChangeFile { file: header, ..ChangeFile::default() };
    let options = UpdateOptions { changes, threads: Some(1), ..UpdateOptions::new(&key) };
    read_stack_update(resolve, &dir, Some(&file), &options, &silent).unwrap().apply(&silent).unwrap();
    let now = [b"another one".to_vec(), value(8), b"the last one".to_vec()];
    for mut batch in [batch, shelf.open()] {
        assert_eq!(batch.get_many(&[7, 8, 399]).unwrap(), now);
    }
}

#[test]
fn rows_of_such_a_table_are_looked_up_for_themselves_too() {
    let shelf = Shelf::new(RowProofs::Yes, 400, rows(), buckets_only);
    let batch = shelf.open();
    let session = batch.stack().tables()[0].session();
    let (buckets, each) = (session.buckets() as u64, session.bucket_rows());
    let together = session.packing().rows_per_record();
    let mut single = Table::over(shelf.transport(), "many-0").resolve(resolve).open().unwrap();
    shelf.asked();
    let mut seen = Vec::new();
    for row in [0, each - 1, each, 5 * each + 3, buckets * each - 1] {
        seen.extend(single.get_many(&[row]));
        let (_, places) = shelf.asked().pop().unwrap();
        assert_eq!(places.len() as u64, buckets);
        assert_eq!(places[(row / each) as usize], row % each / together);
    }
    assert_eq!(seen.len(), 5);
    let past = single.get(buckets * each).unwrap_err();
    assert_eq!((past.code(), shelf.asked().len()), ("misuse", 1));
    // A batch needs equally many rows of every bucket.
    let mut rows = vec![0; buckets as usize];
    rows[3] = each;
    let mut session = session_with(&shelf);
    let rng = &mut seeded("rows of buckets");
    assert!(
        session.query_each_bucket(&rows[1..], rng).is_err() && session.query_each_bucket(&[], rng).is_err()
    );
    let ask = session.query_each_bucket(&rows, rng).unwrap();
    let responses: Vec<_> = ask.requests().iter().map(|request| shelf.honest(request)).collect();
    let error = session.recover(ask, &responses).unwrap_err();
    assert_eq!(error.code(), "misuse", "a row past its bucket is asked for, and then refused: {error}");
}

/// A session of the first table.
fn session_with(shelf: &Shelf) -> sotto_client::Session {
    use sotto_client::session::{RequestIo, SetupConfig};
    let mut config = SetupConfig::new("many-0".parse().unwrap());
    config.resolve = resolve;
    let rng = &mut seeded("session");
    let mut io = RequestIo::new(rng, |_, request| Ok(shelf.honest(request)));
    sotto_client::Session::establish(config, &mut io).unwrap()
}
