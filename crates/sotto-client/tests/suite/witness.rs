//! Catalogs in their publisher's log, cosigned by witnesses, and not expired.

use crate::common::{NAME, Server, server, value};
use sotto_catalog::{Hex32, PublicKey, SigningKey};
use sotto_client::session::{RequestPurpose, SetupIo, Witnesses};
use sotto_client::transport::{Request, Response, Transport};
use sotto_client::{ClientError, Fault, SessionSetup, Table, WitnessKey};
use sotto_core::{CryptoRng, Epoch};
use sotto_prg::ChaCha20Rng;
use sotto_testkit::rng;
use sotto_tlog::appender::{Appender, attach};
use sotto_tlog::catalogs::{log_key, log_signer};
use sotto_tlog::{Checkpoint, Cosigner, LogEntry, LogLayout, LogWriter, Policy, SignedNote};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

const DAY: u64 = 24 * 3600;

fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

fn cosigner(number: u8) -> Cosigner {
    Cosigner::new(&format!("w{number}.example"), &[number; 32]).unwrap()
}

fn keys(numbers: &[u8]) -> Vec<WitnessKey> {
    numbers.iter().map(|number| cosigner(*number).public().clone()).collect()
}

/// Appends the current catalog to a log, after `others` other entries.
fn log(server: &Server, folder: &Path, others: u64) {
    server.with(|world| {
        let mut log = Appender::open(folder, &world.key).unwrap();
        for other in 0..others {
            let mut catalog = world.catalog.clone();
            catalog.table = format!("other-{other}").parse().unwrap();
            log.add(&LogEntry::catalog(&catalog, world.pin()).unwrap()).unwrap();
        }
        log.add(&LogEntry::catalog(&world.catalog, world.pin()).unwrap()).unwrap();
        log.publish().unwrap();
        world.published = Some(folder.to_owned());
    });
}

/// A log with arbitrary entries.
fn forge(folder: &Path, key: &SigningKey, entries: &[LogEntry]) {
    let mut writer = LogWriter::create(folder.to_owned(), LogLayout::Tiles).unwrap();
    for entry in entries {
        let text = entry.to_string();
        writer.append(&[&(text.len() as u16).to_be_bytes(), text.as_bytes()].concat()).unwrap();
    }
    writer.publish(&log_signer(key).unwrap()).unwrap();
}

/// Has witnesses cosign the current log at a time. They check nothing, so they can cosign two logs.
fn cosign(folder: &Path, numbers: &[u8], time: u64) {
    let mut note = SignedNote::parse(&std::fs::read(folder.join("checkpoint")).unwrap()).unwrap();
    note.signatures.truncate(1);
    for number in numbers {
        let line = cosigner(*number).cosign(&note.text, time).unwrap();
        note.signatures.push(line);
    }
    attach(folder, &[note.to_string().into_bytes()], &keys(numbers)).unwrap();
}

/// A table whose catalog is in a log that witness 1 has just cosigned.
fn witnessed() -> (Server, TempDir, PathBuf) {
    let (server, dir) = (server(3000, 32), tempfile::tempdir().unwrap());
    let folder = dir.path().join("log");
    log(&server, &folder, 0);
    cosign(&folder, &[1], now());
    (server, dir, folder)
}

fn open(server: &Server, cache: Option<&Path>) -> Result<Table, ClientError> {
    let mut builder = server.table().witness(cosigner(1).public().clone());
    if let Some(cache) = cache {
        builder = builder.cache_dir(cache);
    }
    builder.open()
}

fn code(server: &Server, cache: Option<&Path>) -> String {
    let error = open(server, cache).map(drop).unwrap_err();
    assert!(!error.fix().is_empty());
    error.code().to_owned()
}

/// The code of the error of opening a table at a time with these witnesses; `ok` if there is none.
fn at(server: &Server, time: u64, numbers: &[u8], needed: usize) -> String {
    let witnesses = Witnesses::of(Policy::threshold(&keys(numbers), needed));
    let mut config = server.config();
    config.witnesses = (!numbers.is_empty()).then_some(witnesses);
    let mut io = Clocked { transport: server.transport(), rng: rng::seeded("opening"), now: Some(time) };
    match SessionSetup::new(config).fetch_catalog(&mut io) {
        Ok(()) => "ok".to_owned(),
        Err(error) => error.code().to_owned(),
    }
}

/// Carries requests at a time.
struct Clocked<T> {
    transport: T,
    rng: ChaCha20Rng,
    now: Option<u64>,
}

impl<T: Transport> SetupIo for Clocked<T> {
    fn call(&mut self, _: u8, _: RequestPurpose, request: &Request) -> Result<Response, ClientError> {
        Ok(self.transport.call(request)?)
    }

    fn rng(&mut self) -> Result<&mut dyn CryptoRng, ClientError> {
        Ok(&mut self.rng)
    }

    fn now(&self) -> Option<u64> {
        self.now
    }
}

fn paths(received: &[Request]) -> Vec<String> {
    received.iter().map(|request| request.path.clone()).collect()
}

#[test]
fn a_catalog_that_everybody_sees_is_proved_once() {
    let (server, dir, _) = witnessed();
    let cache = dir.path().join("cache");
    let mut table = open(&server, Some(&cache)).unwrap();
    let proof = server
        .with(|world| format!("/v1/logs/{}/proofs/{}", world.pin().ed25519, world.catalog.digest().unwrap()));
    let received = paths(&server.received());
    assert_eq!(received[..2], [format!("/v1/tables/{NAME}"), proof.clone()]);
    assert_eq!(table.get(7).unwrap(), value(7, 32));
    // Nothing is requested again while the cosignatures are recent, except by another process.
    assert!(!table.refresh().unwrap());
    assert!(!paths(&server.received()).iter().any(|path| path.starts_with("/v1/logs/")));
    open(&server, Some(&cache)).unwrap();
    assert_eq!(paths(&server.received()).iter().filter(|path| path.starts_with("/v1/logs/")).count(), 1);
}

#[test]
fn what_is_fetched_does_not_depend_on_what_is_looked_up() {
    let [one, other] = [7, 2999].map(|row| {
        let (server, _dir, _) = witnessed();
        assert_eq!(open(&server, None).unwrap().get(row).unwrap(), value(row, 32));
        paths(&server.received())
    });
    assert!(one.iter().any(|path| path.contains("/proofs/")));
    assert_eq!(one, other);
}

#[test]
fn the_next_epoch_is_proved_too_and_the_log_goes_on() {
    let (server, dir, folder) = witnessed();
    let cache = dir.path().join("cache");
    let mut table = open(&server, Some(&cache)).unwrap();
    server.with(|world| world.update(&[7]));
    // The catalog is not in the log; then it is, without a witness; then with one.
    assert_eq!(table.refresh().unwrap_err().code(), "not-logged");
    log(&server, &folder, 700);
    assert_eq!(table.refresh().unwrap_err().code(), "not-witnessed");
    cosign(&folder, &[1], now());
    server.received();
    assert!(table.refresh().unwrap());
    assert_eq!(table.get(7).unwrap(), vec![0xEE; 32]);
    let tiles = paths(&server.received()).into_iter().filter(|path| path.contains("/tile/")).count();
    assert!((1..12).contains(&tiles), "{tiles} tiles");
    assert!(open(&server, Some(&cache)).is_ok());
}

#[test]
fn a_catalog_for_one_client_alone_is_refused() {
    let (server, dir, _) = witnessed();
    let cache = dir.path().join("cache");
    let everybodys = server.with(|world| world.catalog.clone());
    // The publisher itself signs another catalog for this client.
    server.with(|world| world.catalog.created += 1);
    assert_eq!(code(&server, Some(&cache)), "not-logged");
    let error = open(&server, None).unwrap_err();
    assert_eq!((error.fault(), error.code()), (Fault::Server, "not-logged"));
    assert!(error.to_string().contains("is not in its publisher's log"), "{error}");
    // Neither the proof of the public catalog nor one for another position helps.
    let (key, digest) = server.with(|world| (world.pin().ed25519.to_string(), everybodys.digest().unwrap()));
    let swapped = Request::get(format!("/v1/logs/{key}/proofs/{digest}"), 1 << 20);
    let other = server.with(|world| world.call(&swapped)).unwrap();
    server.tamper(move |request, honest| {
        Ok(if request.path.contains("/proofs/") { other.clone() } else { honest })
    });
    assert_eq!(code(&server, None), "bad-log-proof");
    // A client without witnesses is not protected, and requests nothing of a log.
    server.received();
    assert!(server.table().open().is_ok());
    assert!(!paths(&server.received()).iter().any(|path| path.contains("/logs/")));
}

#[test]
fn a_server_without_the_log_is_refused() {
    let (server, _dir, _) = witnessed();
    server.with(|world| world.published = None);
    assert_eq!(code(&server, None), "not-logged");
    // A proof under another publisher's key.
    let (other, key) = (tempfile::tempdir().unwrap(), SigningKey::generate(&mut rng::seeded("other")));
    let entry = server.with(|world| LogEntry::catalog(&world.catalog, world.pin()).unwrap());
    forge(other.path(), &key, std::slice::from_ref(&entry));
    cosign(other.path(), &[1], now());
    let published = sotto_tlog::publisher_log::PublisherLog::open(other.path()).unwrap();
    let proof = published.proof(&entry.digest).unwrap().unwrap().to_string().into_bytes();
    server.tamper(move |request, honest| {
        let body = proof.clone();
        Ok(if request.path.contains("/proofs/") {
            sotto_client::transport::Response::new(200, body)
        } else {
            honest
        })
    });
    assert_eq!(code(&server, None), "bad-log-proof");
}

#[test]
fn an_old_catalog_is_not_kept_alive() {
    let (server, dir, folder) = witnessed();
    let time = now();
    // Witnesses cosign a live log regularly, and an old copy has old cosignatures.
    assert_eq!(at(&server, time, &[1], 1), "ok");
    assert_eq!(at(&server, time + DAY - 10, &[1], 1), "ok");
    assert_eq!(at(&server, time + DAY + 10, &[1], 1), "stale-witnesses");
    // A cosignature from the future is refused, except within the clock skew.
    assert_eq!(at(&server, time - 200, &[1], 1), "ok");
    assert_eq!(at(&server, time - 600, &[1], 1), "not-witnessed");
    cosign(&folder, &[1], time + DAY);
    assert_eq!(at(&server, time + DAY + 10, &[1], 1), "ok");
    // A catalog expires whatever its witnesses are.
    server.with(|world| world.catalog.expires = Some(time + 50));
    log(&server, &dir.path().join("second"), 0);
    cosign(&dir.path().join("second"), &[1], time + 40);
    for numbers in [&[1][..], &[]] {
        let needed = numbers.len();
        assert_eq!(at(&server, time + 49, numbers, needed), "ok");
        assert_eq!(at(&server, time + 50, numbers, needed), "expired");
    }
    server.with(|world| world.catalog.expires = Some(time - 3600));
    let error = server.table().open().unwrap_err();
    assert_eq!((error.code(), error.fault()), ("expired", Fault::Server));
    assert!(error.to_string().contains("expired"), "{error}");
}

#[test]
fn a_table_that_is_open_ends_with_its_catalog() {
    let server = server(3000, 32);
    let end = now() + 3;
    server.with(|world| world.catalog.expires = Some(end));
    let mut table = server.table().open().unwrap();
    assert_eq!(table.get(7).unwrap(), value(7, 32));
    while now() < end {
        std::thread::sleep(Duration::from_millis(50));
    }
    server.received();
    assert_eq!(table.get(7).unwrap_err().code(), "expired");
    // It fetched the catalog and queried nothing. With a newer catalog it continues.
    assert!(server.received().iter().all(|request| request.body.is_empty()));
    server.with(|world| {
        world.update(&[]);
        world.catalog.expires = Some(end + DAY);
    });
    assert_eq!(table.get(7).unwrap(), value(7, 32));
}

#[test]
fn as_many_witnesses_are_needed_as_the_client_says() {
    let (server, dir, folder) = witnessed();
    let time = now();
    assert_eq!(at(&server, time, &[1, 2], 2), "not-witnessed");
    assert_eq!(at(&server, time, &[1, 2], 1), "ok");
    assert_eq!(at(&server, time, &[2], 1), "not-witnessed");
    // A witness that is named twice counts once.
    assert_eq!(at(&server, time, &[1, 1], 2), "number-of-witnesses");
    cosign(&folder, &[2], time - 2 * DAY);
    assert_eq!(at(&server, time, &[1, 2], 2), "stale-witnesses");
    cosign(&folder, &[2], time - 5);
    assert_eq!(at(&server, time, &[1, 2], 2), "ok");
    // A line with a witness's name and an invalid signature.
    server.tamper(|request, mut honest| {
        if request.path.contains("/proofs/") {
            let at = honest.body.len() - 10;
            honest.body[at] = if honest.body[at] == b'A' { b'B' } else { b'A' };
        }
        Ok(honest)
    });
    assert_eq!(at(&server, time, &[1, 2], 1), "bad-log-proof");
    let one = || server.table().witness(cosigner(1).public().clone());
    // Zero of one witness, and one of zero, would require nothing.
    for builder in [one().witnesses_needed(2), one().witnesses_needed(0), server.table().witnesses_needed(1)]
    {
        let error = builder.cache_dir(dir.path().join("cache")).open().unwrap_err();
        assert_eq!((error.code(), error.fault()), ("number-of-witnesses", Fault::Caller));
    }
}

#[test]
fn witnesses_without_a_clock_are_refused() {
    let (server, _dir, _) = witnessed();
    let mut config = server.config();
    config.witnesses = Some(Witnesses::all(&keys(&[1])));
    let mut io = Clocked { transport: server.transport(), rng: rng::seeded("opening"), now: None };
    let error = SessionSetup::new(config).fetch_catalog(&mut io).unwrap_err();
    assert_eq!(error.code(), "no-clock");
}

/// The checkpoints that an error names as stored.
fn kept(error: &ClientError) -> Vec<Vec<u8>> {
    let said = error.to_string();
    let words = said.split([' ', '(', ')']).filter(|word| word.starts_with('/'));
    words.map(|path| std::fs::read(path).unwrap()).collect()
}

fn opened(note: &[u8], publisher: PublicKey) -> Checkpoint {
    Checkpoint::open(note, &log_key(&publisher).unwrap()).unwrap()
}

#[test]
fn a_log_that_forks_between_two_visits_convicts_its_publisher() {
    let (server, dir, folder) = witnessed();
    let (cache, publisher) = (dir.path().join("cache"), server.with(|world| world.pin()));
    let mut open_since = open(&server, Some(&cache)).unwrap();
    // The publisher has another log under the same key, of the same length and longer, and the
    // witness cosigned it too.
    server.with(|world| world.update(&[7]));
    for (at, others) in [0, 300].into_iter().enumerate() {
        let forked = dir.path().join(format!("forked-{at}"));
        log(&server, &forked, others);
        cosign(&forked, &[1], now());
        let errors = [open(&server, Some(&cache)).unwrap_err(), open_since.refresh().unwrap_err()];
        for error in errors {
            assert_eq!((error.code(), error.fault()), ("log-fork", Fault::Server));
            let both = kept(&error);
            let sizes: Vec<_> = both.iter().map(|note| opened(note, publisher).size).collect();
            assert_eq!(sizes, [1, others + 1], "{error}");
        }
    }
    // Without a cache, a client that has the table open detects it too, and a new client cannot.
    let error = open_since.refresh().unwrap_err();
    assert_eq!(error.code(), "log-fork");
    assert!(open(&server, None).is_ok());
    // The log that was seen first continues, and is accepted.
    log(&server, &folder, 2);
    cosign(&folder, &[1], now());
    assert!(open(&server, Some(&cache)).is_ok());
}

#[test]
fn a_log_with_two_catalogs_of_one_epoch_is_refused() {
    let (server, dir, folder) = witnessed();
    let cache = dir.path().join("cache");
    let mut open_since = open(&server, Some(&cache)).unwrap();
    let entry =
        |server: &Server| server.with(|world| LogEntry::catalog(&world.catalog, world.pin()).unwrap());
    let after = |before: &LogEntry, entry: &LogEntry| LogEntry {
        previous: Some(Hex32::from(before.leaf())),
        ..entry.clone()
    };
    let first = entry(&server);
    let twin = LogEntry { digest: Hex32::from([7; 32]), ..first.clone() };
    server.with(|world| world.update(&[7]));
    let second = entry(&server);
    let chained = after(&first, &twin);
    // The public catalog of the next epoch, in a log with a conflicting entry of the previous epoch.
    // The witness that cosigned it checked nothing.
    for (at, entries) in [
        [first.clone(), twin.clone(), after(&first, &second)],
        [first.clone(), chained.clone(), after(&chained, &second)],
        [first.clone(), after(&first, &second), after(&second, &twin)],
        [
            first.clone(),
            after(&first, &second),
            after(&first, &LogEntry { epoch: Epoch(3), ..second.clone() }),
        ],
    ]
    .iter()
    .enumerate()
    {
        let both = dir.path().join(format!("both-{at}"));
        server.with(|world| {
            forge(&both, &world.key, entries);
            world.published = Some(both.clone());
        });
        cosign(&both, &[1], now());
        // A client with a cache, one with the table open, and a new one.
        let errors = [
            open(&server, Some(&cache)).map(drop),
            open_since.refresh().map(drop),
            open(&server, None).map(drop),
        ];
        for error in errors.map(Result::unwrap_err) {
            assert_eq!((error.code(), error.fault()), ("log-conflict", Fault::Server), "{at}: {error}");
        }
    }
    // A consistent log is accepted, and its entries are read once.
    log(&server, &folder, 0);
    cosign(&folder, &[1], now());
    server.received();
    assert!(open(&server, Some(&cache)).is_ok());
    let bundles =
        |server: &Server| paths(&server.received()).iter().filter(|path| path.contains("/entries/")).count();
    assert_eq!(bundles(&server), 1);
    assert!(open(&server, Some(&cache)).is_ok());
    assert_eq!(bundles(&server), 0);
    // No other entry than the catalog's is accepted, and a damaged response does not discard what was
    // read before.
    let kept = std::fs::read_dir(cache.join("logs")).unwrap().map(|entry| entry.unwrap().path());
    let kept = kept.into_iter().find(|path| path.extension().is_some_and(|e| e == "history")).unwrap();
    std::fs::write(kept, "damaged").unwrap();
    let error = open(&server, Some(&cache)).unwrap_err();
    assert_eq!((error.code(), error.fault()), ("log-memory", Fault::Machine));
}

#[test]
fn two_servers_of_a_publisher_are_held_to_one_log() {
    let (first, dir, folder) = witnessed();
    let cache = dir.path().join("cache");
    log(&first, &folder, 20);
    cosign(&folder, &[1], now());
    open(&first, Some(&cache)).unwrap();
    // A server that is behind shows a prefix of the same log, which is no fork; the longer log is
    // remembered.
    let behind = dir.path().join("behind");
    let second = server(3000, 32);
    log(&second, &behind, 0);
    cosign(&behind, &[1], now());
    assert_eq!(code(&second, Some(&cache)), "log-unfollowed");
    second.tamper({
        let first = first.clone();
        move |request, honest| match request.path.contains("/tile/") {
            true => first.with(|world| world.call(request)),
            false => Ok(honest),
        }
    });
    assert!(open(&second, Some(&cache)).is_ok());
    // A server with a log of its own is detected.
    let third = server(3000, 32);
    log(&third, &dir.path().join("third"), 40);
    cosign(&dir.path().join("third"), &[1], now());
    assert_eq!(code(&third, Some(&cache)), "log-fork");
}

#[test]
fn a_log_that_does_not_show_its_tiles_is_refused() {
    let (server, dir, folder) = witnessed();
    let cache = dir.path().join("cache");
    open(&server, Some(&cache)).unwrap();
    server.with(|world| world.update(&[7]));
    log(&server, &folder, 300);
    cosign(&folder, &[1], now());
    server.tamper(|request, honest| {
        let gone = sotto_client::transport::Response::new(404, Vec::new());
        Ok(if request.path.contains("/tile/") { gone } else { honest })
    });
    assert_eq!(code(&server, Some(&cache)), "log-unfollowed");
    server.tamper(|request, mut honest| {
        if request.path.contains("/tile/") {
            honest.body[0] ^= 1;
        }
        Ok(honest)
    });
    assert_eq!(code(&server, Some(&cache)), "log-unfollowed");
    server.with(|world| world.tamper = None);
    assert!(open(&server, Some(&cache)).is_ok());
    // The stored checkpoint is damaged.
    let kept = std::fs::read_dir(cache.join("logs")).unwrap().map(|entry| entry.unwrap().path());
    let kept = kept.into_iter().find(|path| path.extension().is_some_and(|e| e == "checkpoint")).unwrap();
    std::fs::write(kept, "damaged").unwrap();
    let error = open(&server, Some(&cache)).unwrap_err();
    assert_eq!((error.code(), error.fault()), ("log-memory", Fault::Machine));
}
