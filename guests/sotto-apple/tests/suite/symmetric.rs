//! Symmetric tables: rows that open with one evaluation, in files, over an update, and for clients
//! that follow the protocol or do not. There is no recording of Apple's: known answers come from
//! RFC 9497, and from another program.

use crate::common::{Served, client, how, key, post, serve, value, write};
use bytes::Bytes;
use prost::Message;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use sotto_apple::client::{Client, config_request};
use sotto_apple::image::row_intake::KeyChange;
use sotto_apple::image::{
    ImageError, KeywordRows, OpenUseCase, PreviousEpoch, RowIntake, UseCaseDescription, UseCaseOptions, open,
    oprf,
};
use sotto_apple::keyword::{bucket, hash};
use sotto_apple::proto::{ConfigForm, ConfigResponse, PirConfig, Requests, Responses};
use sotto_apple::sets::WeakParams;
use sotto_apple::symmetric::{RowKey, sealed};
use sotto_core::Error;
use sotto_db::image::header::FilePart;
use sotto_db::progress::silent;
use sotto_db::{DbError, TableDir};
use sotto_oprf::OprfError;
use sotto_oprf::p384::{SecretKey, blind};
use std::path::Path;
use zeroize::Zeroizing;

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

/// Secret key of the standard's test vectors.
fn standard() -> SecretKey {
    let digits = concat!(
        "051646b9e6e7a71ae27c1e1d0b87b4381db6d3595eeeb1adb41579adbf992f42",
        "78f9016eafc944edaa2b43183581779d"
    );
    let text = SecretKey::generate(&mut rng(1)).unwrap().to_file();
    let header = text.lines().next().unwrap();
    SecretKey::from_file(&format!("{header}\nsotto-oprf-p384-sk:{digits}\n")).unwrap()
}

fn hex(digits: &str) -> Vec<u8> {
    (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap()).collect()
}

/// RFC 9497's outputs of A.4.2, divided and used as in Apple's library, with AES-192-GCM and
/// SHA-256 of another program.
#[test]
fn sealed_rows_are_what_another_program_makes() {
    let key = standard();
    let cases = [
        (
            &[0u8][..],
            &b"a value"[..],
            "c92abe60cc0e904b7e18c4c09fffd15a2b44f02e2d62e3",
            121_209_426_151_413_606,
        ),
        (&[0x5a; 17], b"", "d5ce9031269070311ebd29f17d92f852", 4_051_492_826_682_295_045),
    ];
    for (of, value, bytes, hash) in cases {
        assert_eq!(sealed(&key, of, value).unwrap(), (hash, hex(bytes)));
        let opening = RowKey::of(key.at(of).unwrap());
        assert_eq!(opening.open(&hex(bytes)).unwrap().to_vec(), value);
        for at in [0, bytes.len() / 2 - 1] {
            let mut changed = hex(bytes);
            changed[at] ^= 1;
            assert_eq!(opening.open(&changed).unwrap_err(), OprfError::Closed);
        }
        assert_eq!(opening.open(&hex(bytes)[..15]).unwrap_err(), OprfError::Closed);
    }
}

/// A table of `count` rows in two shards, in a folder with its key.
fn table(dir: &Path, count: usize) -> SecretKey {
    let lock = TableDir::create(dir).unwrap().lock().unwrap();
    let key_of = oprf::read_or_make(&lock, &mut rng(2)).unwrap();
    drop(lock);
    write(dir, rows(Some(&key_of), count), &how(2)).unwrap();
    key_of
}

fn rows(sealing: Option<&SecretKey>, count: usize) -> KeywordRows {
    let mut intake = RowIntake::new(sealing, None);
    (0..count).for_each(|i| intake.push(key(i).as_bytes(), &value(i)).unwrap());
    intake.finish().unwrap()
}

fn opened(dir: &Path) -> OpenUseCase {
    let opened = open(dir, WeakParams::Reject).unwrap();
    let key = oprf::read(&TableDir::open(dir).unwrap()).unwrap();
    OpenUseCase { use_case: opened.use_case.evaluated_by(key).unwrap(), ..opened }
}

fn look_up(
    served: &Served,
    client: &Client,
    keys: &[&str],
    seed: u8,
) -> sotto_core::Result<Vec<Option<Vec<u8>>>> {
    let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes()).collect();
    let (body, blindings) = client.ask_openings(&keys, &mut rng(seed)).unwrap();
    let openings = client.openings(blindings, post(served, "/queries", body).unwrap())?;
    let (body, pending) = client.ask_opened(openings, &mut rng(seed + 1)).unwrap();
    client.open(pending, post(served, "/queries", body).unwrap())
}

#[test]
fn keys_that_are_there_and_keys_that_are_not() {
    let dir = tempfile::tempdir().unwrap();
    table(dir.path(), 40);
    let served = serve(opened(dir.path()));
    let client = client(&served, &mut rng(3));
    assert!(client.is_symmetric() && client.shards() == 2);
    let long = "x".repeat(70_000);
    let found = look_up(&served, &client, &[&key(0), &key(39), &key(40), "", &long], 4).unwrap();
    assert_eq!(found, [Some(value(0)), Some(value(39)), None, None, None]);
    // The table's rows can be requested only with keys that open them.
    assert!(matches!(client.query(&[b"x"], &mut rng(5)), Err(Error::Misuse(_))));
    // Two requests for one key are as different as any two requests.
    let asked = |seed| client.ask_openings(&[b"x"], &mut rng(seed)).unwrap().0;
    let (one, other) = (asked(6), asked(7));
    assert!(one.len() == other.len() && one != other);
}

/// A client that has every bucket, and the names of all rows, opens only what was evaluated for it.
#[test]
fn without_an_evaluation_no_row_opens() {
    let dir = tempfile::tempdir().unwrap();
    let key_of = table(dir.path(), 20);
    let file = opened(dir.path());
    let bytes = file.image.file().bytes_of(FilePart::Entries).unwrap();
    let entry_bytes = file.description.shards[0].entry_bytes as usize;
    let all: Vec<(u64, &[u8])> =
        bytes.chunks_exact(entry_bytes).flat_map(|entry| bucket::read(entry).unwrap()).collect();
    assert_eq!(all.len(), 20);
    assert!(all.iter().all(|(of, _)| (0..20).all(|i| *of != hash(key(i).as_bytes()))), "no key's own hash");
    let mine = RowKey::of(key_of.at(key(7).as_bytes()).unwrap());
    let open: Vec<_> = all.iter().filter(|(_, sealed)| mine.open(sealed).is_ok()).collect();
    assert_eq!(open.len(), 1);
    assert_eq!((open[0].0, open[0].1.len()), (mine.hash(), value(7).len() + 16));
    // Another key's function opens nothing of the same row.
    let other = SecretKey::generate(&mut rng(8)).unwrap();
    let other = RowKey::of(other.at(key(7).as_bytes()).unwrap());
    assert!(all.iter().all(|(_, sealed)| other.open(sealed).is_err()));
}

#[test]
fn what_is_evaluated_and_what_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    table(dir.path(), 10);
    let plain = tempfile::tempdir().unwrap();
    write(plain.path(), rows(None, 10), &how(1)).unwrap();
    let mut served = serve(opened(dir.path()));
    served.0.serve("plain", open(plain.path(), WeakParams::Reject).unwrap().use_case, 0);
    let client = client(&served, &mut rng(3));
    let (body, _) = client.ask_openings(&[b"x"], &mut rng(4)).unwrap();
    let status = |change: &dyn Fn(&mut sotto_apple::proto::Request)| {
        let mut requests = Requests::decode(&*body).unwrap();
        change(&mut requests.requests[0]);
        post(&served, "/queries", requests.encode_to_vec()).map_or_else(|refused| refused.status, |_| 200)
    };
    let element = |bytes: Vec<u8>| {
        move |it: &mut sotto_apple::proto::Request| {
            it.oprf_request.as_mut().unwrap().query_element = bytes.clone().into();
        }
    };
    assert_eq!(status(&|_| ()), 200);
    // Apple's library sends no configuration id.
    assert_eq!(status(&|it| it.oprf_request.as_mut().unwrap().config_id = Bytes::new()), 200);
    assert_eq!(status(&|it| it.oprf_request.as_mut().unwrap().config_id = vec![1; 32].into()), 410);
    // The identity, another encoding of a point, no point at all, and other lengths.
    let good = Requests::decode(&*body).unwrap().requests[0].oprf_request.clone().unwrap().query_element;
    let mut off = vec![0; 49];
    (off[0], off[48]) = (2, 1);
    for bytes in [vec![0; 49], [&[5], &good[1..]].concat(), off, vec![0], vec![], good[1..].to_vec()] {
        assert_eq!(status(&element(bytes.clone())), 400, "{bytes:?}");
    }
    assert_eq!(status(&|it| it.usecase = "plain".into()), 410, "that configuration is another's");
    let of_plain = |it: &mut sotto_apple::proto::Request| {
        it.usecase = "plain".into();
        it.oprf_request.as_mut().unwrap().config_id = Bytes::new();
    };
    assert_eq!(status(&of_plain), 400);
    assert_eq!(status(&|it| it.usecase = "nobody".into()), 400);
    assert_eq!(status(&|it| it.pir_request = Some(Default::default())), 400, "both at once");
    assert_eq!(status(&|it| it.oprf_request = None), 400);
    // A table without its key evaluates nothing.
    served.0.serve("users", open(dir.path(), WeakParams::Reject).unwrap().use_case, 0);
    assert_eq!(post(&served, "/queries", body.clone()).unwrap_err().status, 500);
}

#[test]
fn answers_that_are_not_the_key_s_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    table(dir.path(), 10);
    let served = serve(opened(dir.path()));
    let client = client(&served, &mut rng(3));
    let (body, blindings) = client.ask_openings(&[b"x"], &mut rng(4)).unwrap();
    let right = post(&served, "/queries", body).unwrap();
    let fresh = || client.ask_openings(&[b"x"], &mut rng(5)).unwrap().1;
    let refused = |answer: Bytes| match client.openings(fresh(), answer).unwrap_err() {
        Error::Peer(why) => why.to_string(),
        other => panic!("{other}"),
    };
    assert!(refused(right.clone()).contains("without a valid proof"), "an answer that is replayed");
    let changed = |change: &dyn Fn(&mut Responses)| {
        let mut answer = Responses::decode(right.clone()).unwrap();
        change(&mut answer);
        refused(answer.encode_to_vec().into())
    };
    assert!(changed(&|it| it.responses.clear()).contains("evaluations"));
    assert!(changed(&|it| it.responses[0].oprf_response = None).contains("lacks"));
    let evaluation = |change: &dyn Fn(&mut sotto_apple::proto::OprfResponse)| {
        changed(&|it| change(it.responses[0].oprf_response.as_mut().unwrap()))
    };
    assert!(evaluation(&|it| it.evaluated_element = vec![0; 49].into()).contains("not an element"));
    assert!(evaluation(&|it| it.proof = Bytes::new()).contains("without a valid proof"));
    assert!(client.openings(blindings, right).is_ok());
    // The configuration's description of the function.
    let response = post(&served, "/config", config_request("users")).unwrap();
    let learn = |change: &dyn Fn(&mut PirConfig)| {
        let mut response = ConfigResponse::decode(response.clone()).unwrap();
        let Some(ConfigForm::PirConfig(pir)) = &mut response.configs.get_mut("users").unwrap().config else {
            panic!("no table")
        };
        change(pir);
        let learned = crate::common::learn("users", response.encode_to_vec().into(), 64, &mut rng(6));
        learned.map(|client| client.is_symmetric())
    };
    let symmetric = |pir: &mut PirConfig| {
        pir.keyword_pir_params.as_mut().unwrap().symmetric_pir_client_config.clone().unwrap()
    };
    let with = |type_: i32, key: &'static [u8]| {
        learn(&|pir| {
            let mut changed = symmetric(pir);
            changed.config_type = type_;
            if !key.is_empty() {
                changed.server_public_key = key.into();
            }
            pir.keyword_pir_params.as_mut().unwrap().symmetric_pir_client_config = Some(changed);
        })
    };
    assert!(with(1, b"").unwrap());
    assert!(with(0, b"").is_err() && with(2, b"").is_err() && with(1, &[0; 49]).is_err());
    assert!(with(1, &[2; 48]).is_err());
    let none = learn(&|pir| pir.keyword_pir_params.as_mut().unwrap().symmetric_pir_client_config = None);
    assert!(!none.unwrap());
}

fn change<'a>(
    lock: &'a sotto_db::WriteLock,
    changes: &[(usize, Option<&[u8]>)],
) -> Result<sotto_apple::image::UseCaseUpdate<'a>, ImageError> {
    let change = |(i, value): &(usize, Option<&[u8]>)| -> KeyChange {
        (key(*i).into_bytes(), value.map(<[u8]>::to_vec))
    };
    PreviousEpoch::open(lock, WeakParams::Reject)?.change_keys(changes.iter().map(change).collect())
}

#[test]
fn rows_change_and_the_rest_stays() {
    let dir = tempfile::tempdir().unwrap();
    let sealing = table(dir.path(), 60);
    let before = open(dir.path(), WeakParams::Reject).unwrap();
    let lock = TableDir::open(dir.path()).unwrap().lock().unwrap();
    let update = change(&lock, &[(3, Some(b"new")), (4, None), (5, Some(&value(5)))]).unwrap();
    assert_eq!((update.tally().set, update.tally().removed, update.is_anew()), (2, 1, false));
    let (written, made) = update.apply(&silent).unwrap();
    assert!(made < 8 && written.description.shards[0].entries == before.description.shards[0].entries);
    let after = opened(dir.path());
    assert_eq!(after.use_case.config_id(), before.use_case.config_id(), "clients notice nothing");
    let served = serve(after);
    let asking = client(&served, &mut rng(3));
    let found = look_up(&served, &asking, &[&key(3), &key(4), &key(5)], 4).unwrap();
    assert_eq!(found, [Some(b"new".to_vec()), None, Some(value(5))]);
    assert!(change(&lock, &[(3, Some(b"new"))]).unwrap().is_nothing(), "the same value is the same bytes");
    // The table is re-encoded from sealed rows, which requires no evaluation of them.
    let many: Vec<(usize, Option<&[u8]>)> = (100..160).map(|i| (i, Some(&b"another"[..]))).collect();
    let update = change(&lock, &many).unwrap();
    assert!(update.is_anew());
    let (written, _) = update.apply(&silent).unwrap();
    assert_eq!(written.description.oprf, Some(sealing.public()));
    let served = serve(opened(dir.path()));
    let asking = client(&served, &mut rng(3));
    let found = look_up(&served, &asking, &[&key(3), &key(159), &key(99)], 8).unwrap();
    assert_eq!(found, [Some(b"new".to_vec()), Some(b"another".to_vec()), None]);
    // Without the key nothing changes, nor with another key; and no new key is made in its place.
    let path = lock.dir().oprf_key_path();
    std::fs::remove_file(&path).unwrap();
    let refused = change(&lock, &[(3, None)]).err().unwrap();
    assert!(
        matches!(&refused, ImageError::Db(DbError::NoOprfKey { .. }))
            && refused.to_string().contains("restore the file")
    );
    assert!(matches!(oprf::read_or_make(&lock, &mut rng(5)), Err(ImageError::Db(DbError::NoOprfKey { .. }))));
    lock.keep_oprf_text(&SecretKey::generate(&mut rng(6)).unwrap().to_file()).unwrap();
    assert!(matches!(change(&lock, &[(3, None)]).err().unwrap(), ImageError::Db(DbError::OprfKey { .. })));
    let other = oprf::read(lock.dir()).unwrap();
    let opened = open(dir.path(), WeakParams::Reject).unwrap();
    assert!(matches!(opened.use_case.evaluated_by(other), Err(OprfError::KeyText(_))));
}

#[test]
fn descriptions_of_symmetric_tables() {
    let dir = tempfile::tempdir().unwrap();
    let key = table(dir.path(), 5);
    let described = open(dir.path(), WeakParams::Reject).unwrap().description;
    assert_eq!(
        (described.oprf, described.value_bytes),
        (Some(key.public()), 28),
        "the longest, before it was sealed"
    );
    let text = serde_json::to_string(&described).unwrap();
    assert_eq!(UseCaseDescription::parse(text.as_bytes()).as_ref(), Ok(&described));
    let digits: String = key.public().bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(text.contains(&digits));
    for wrong in [
        text.replace(&digits, &digits[2..]),
        text.replace(&digits, &digits.to_uppercase()),
        text.replace(&digits, &"0".repeat(98)),
        text.replace(&format!("\"{digits}\""), "null"),
        text.replace(r#"{"keyword":{"form":"text","bucket_bytes":512,"fixed":false}}"#, r#""index""#),
    ] {
        assert!(wrong != text && UseCaseDescription::parse(wrong.as_bytes()).is_err(), "{wrong}");
    }
    // Buckets that are too small for a tag are refused.
    let small = write(dir.path(), rows(Some(&key), 3), &UseCaseOptions { bucket_bytes: 26, ..how(1) });
    assert!(matches!(small, Err(ImageError::TooLong { bytes: 41, .. })), "{small:?}");
}

/// A server cannot undo blinding: an element that another client blinded opens nothing of this
/// client's.
#[test]
fn an_evaluation_is_of_whoever_blinded() {
    let (key, mut rng) = (SecretKey::generate(&mut rng(1)).unwrap(), rng(2));
    let mine = blind(Zeroizing::new(b"x".to_vec()), &mut rng).unwrap();
    let theirs = blind(Zeroizing::new(b"y".to_vec()), &mut rng).unwrap();
    let answer = key.evaluate(theirs.element(), &mut rng).unwrap();
    assert!(mine.finish(&answer.element, &answer.proof, &key.public()).is_err());
    let output = theirs.finish(&answer.element, &answer.proof, &key.public()).unwrap();
    assert_eq!(RowKey::of(output).hash(), RowKey::of(key.at(b"y").unwrap()).hash());
}
