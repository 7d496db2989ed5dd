//! Publishers and witnesses with two keys: nobody who demands ML-DSA-44 is satisfied with Ed25519.

use crate::common::{NAME, Server, server, value};
use sotto_catalog::{MlDsaSigningKey, SignedCatalog, SigningKey};
use sotto_client::transport::Response;
use sotto_client::{ClientError, Fault, Table};
use sotto_core::Epoch;
use sotto_testkit::rng;
use sotto_tlog::appender::{Appender, attach};
use sotto_tlog::{Cosigner, LogEntry, Policy, SignedNote};
use std::path::Path;
use std::time::SystemTime;

/// Adds an ML-DSA-44 half to the publisher's key, and signs the next epoch with both.
fn add_ml_dsa(server: &Server) {
    server.with(|world| {
        let key = SigningKey::from_file(&world.key.to_file()).unwrap();
        world.key = key.with_ml_dsa(&mut rng::seeded("ML-DSA"));
        world.update(&[]);
    });
}

/// Makes the server show this catalog.
fn show(server: &Server, signed: Vec<u8>) {
    server.tamper(move |request, honest: Response| {
        Ok(if request.path.ends_with(NAME) { Response::new(200, signed.clone()) } else { honest })
    });
}

/// The current catalog without its ML-DSA-44 signature: what someone can make who breaks Ed25519.
fn stripped(server: &Server) -> Vec<u8> {
    let mut signed = SignedCatalog::parse(&server.with(|world| world.signed())).unwrap();
    assert!(signed.ml_dsa.take().is_some());
    signed.to_bytes()
}

fn code(opened: Result<Table, ClientError>) -> &'static str {
    opened.map(drop).unwrap_err().code()
}

#[test]
fn whoever_demands_both_signatures_takes_nothing_less() {
    let (server, dir) = (server(3000, 32), tempfile::tempdir().unwrap());
    let cached = |cache: &str| server.table().cache_dir(dir.path().join(cache));
    let one = server.with(|world| world.pin());
    // Clients that remember the key and that pin it, from the time when it had one half.
    cached("remembered").open().unwrap();
    cached("pinned").pin(one).open().unwrap();
    add_ml_dsa(&server);
    let both = server.with(|world| world.pin());
    assert!(one != both && one.accepts(&both));
    for builder in
        [cached("remembered"), cached("pinned").pin(one), cached("new").pin(both), server.table().pin(both)]
    {
        let mut table = builder.open().unwrap();
        assert_eq!((table.catalog().epoch, table.get(7).unwrap()), (Epoch(2), value(7, 32)));
        assert_eq!(table.session().public_key(), both);
    }
    let mut open = server.table().open().unwrap();
    show(&server, stripped(&server));
    let error = server.table().pin(both).open().unwrap_err();
    assert_eq!((error.code(), error.fault()), ("no-ml-dsa-signature", Fault::Server));
    assert!(error.to_string().contains("has no ML-DSA-44 signature") && !error.fix().is_empty(), "{error}");
    // Neither is what was seen before forgotten: not in a cache, nor in an open table, whoever pins what.
    for refused in
        [cached("new").pin(both).open(), cached("remembered").open(), cached("pinned").pin(one).open()]
    {
        assert_eq!(code(refused), "no-ml-dsa-signature");
    }
    assert_eq!(open.refresh().unwrap_err().code(), "no-ml-dsa-signature");
    // A newcomer who knows Ed25519 alone cannot tell.
    assert!(server.table().pin(one).open().is_ok());
    // The other half of somebody else.
    let mut foreign = SignedCatalog::parse(&server.with(|world| world.signed())).unwrap();
    let other = SigningKey::generate(&mut rng::seeded("other")).with_ml_dsa(&mut rng::seeded("other"));
    foreign.ml_dsa = server.with(|world| SignedCatalog::sign(&world.catalog, &other).unwrap().ml_dsa);
    show(&server, foreign.to_bytes());
    assert_eq!(code(server.table().pin(both).open()), "wrong-key");
    assert_eq!(code(cached("remembered").open()), "wrong-key");
    // A broken one, which is damage or forgery, and is asked for once more.
    let mut broken = SignedCatalog::parse(&server.with(|world| world.signed())).unwrap();
    broken.ml_dsa.as_mut().unwrap().signature.0[99] ^= 1;
    show(&server, broken.to_bytes());
    for builder in [server.table(), server.table().pin(one), server.table().pin(both)] {
        assert_eq!(code(builder.open()), "bad-signature");
    }
    server.with(|world| world.tamper = None);
    assert!(cached("remembered").open().is_ok());
}

#[test]
fn a_change_of_keys_with_both_halves_is_followed() {
    let (server, dir) = (server(3000, 32), tempfile::tempdir().unwrap());
    add_ml_dsa(&server);
    let (first, one) = server.with(|world| (world.pin(), world.pin().without_ml_dsa()));
    let cached = || server.table().cache_dir(dir.path());
    cached().pin(first).open().unwrap();
    // To a key of one half: those who know both do not follow.
    let key = server.with(|world| SigningKey::from_file(&world.key.to_file()).unwrap());
    server.with(|world| world.rotate("plain"));
    for refused in [server.table().pin(first), server.table().pin(one), cached()] {
        assert_eq!(code(refused.open()), "wrong-key");
    }
    let second = server.with(|world| {
        world.key = key;
        world.successions.clear();
        world.update(&[]);
        world.rotate_to(
            SigningKey::generate(&mut rng::seeded("second")).with_ml_dsa(&mut rng::seeded("second")),
        );
        world.pin()
    });
    let mut table = cached().pin(first).open().unwrap();
    assert_eq!((table.session().public_key(), table.get(7).unwrap()), (second, value(7, 32)));
    assert!(server.table().pin(one).open().is_ok() && server.table().pin(second).open().is_ok());
}

const AGE: u64 = 60;

fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

/// The keys of a witness, of both kinds.
fn cosigners() -> [Cosigner; 2] {
    let second = MlDsaSigningKey::from_seed(&[2; 32]);
    [Cosigner::new("w1.example", &[1; 32]).unwrap(), Cosigner::ml_dsa_44("w1.example", second).unwrap()]
}

/// Writes the current catalog into a log under this key, and has some keys of the witness cosign it.
fn log(server: &Server, folder: &Path, key: &SigningKey, cosigners: &[&Cosigner]) {
    server.with(|world| {
        let _ = std::fs::remove_dir_all(folder);
        let mut log = Appender::open(folder, key).unwrap();
        log.add(&LogEntry::catalog(&world.catalog, world.pin()).unwrap()).unwrap();
        log.publish().unwrap();
        world.published = Some(folder.to_owned());
    });
    let mut note = SignedNote::parse(&std::fs::read(folder.join("checkpoint")).unwrap()).unwrap();
    let lines = cosigners.iter().map(|cosigner| cosigner.cosign(&note.text, now() - AGE).unwrap());
    note.signatures.extend(lines);
    let keys: Vec<_> = cosigners.iter().map(|cosigner| cosigner.public().clone()).collect();
    attach(folder, &[note.to_string().into_bytes()], &keys).unwrap();
}

#[test]
fn the_log_of_a_publisher_with_two_keys_is_signed_with_both() {
    let (server, dir) = (server(3000, 32), tempfile::tempdir().unwrap());
    let folder = dir.path().join("log");
    add_ml_dsa(&server);
    let (both, one) = server.with(|world| {
        let both = SigningKey::from_file(&world.key.to_file()).unwrap();
        let first = world.key.to_file().lines().take(2).collect::<Vec<_>>().join("\n");
        (both, SigningKey::from_file(&first).unwrap())
    });
    let [ed25519, ml_dsa] = cosigners();
    let witness = |builder: sotto_client::table::TableBuilder| builder.witness(ed25519.public().clone());
    log(&server, &folder, &both, &[&ed25519, &ml_dsa]);
    for pin in [one.public(), both.public()] {
        assert!(witness(server.table()).pin(pin).open().is_ok());
    }
    // The log under Ed25519 alone, which someone could make who breaks it.
    log(&server, &folder, &one, &[&ed25519, &ml_dsa]);
    for pin in [one.public(), both.public()] {
        let error = witness(server.table()).pin(pin).open().unwrap_err();
        assert_eq!(error.code(), "bad-log-proof", "{error}");
    }
}

#[test]
fn a_witness_counts_once_and_under_the_algorithms_that_are_demanded() {
    let (server, dir) = (server(3000, 32), tempfile::tempdir().unwrap());
    let folder = dir.path().join("log");
    let key = server.with(|world| SigningKey::from_file(&world.key.to_file()).unwrap());
    let [ed25519, ml_dsa] = cosigners();
    let other = Cosigner::new("w2.example", &[3; 32]).unwrap();
    let open = |keys: &[&Cosigner], needed: usize| {
        let builder = keys.iter().fold(server.table(), |builder, key| builder.witness(key.public().clone()));
        builder.witnesses_needed(needed).open().map(drop).map_err(|error| error.code())
    };
    log(&server, &folder, &key, &[&ed25519]);
    assert_eq!(open(&[&ed25519], 1), Ok(()));
    assert_eq!(open(&[&ml_dsa], 1), Err("not-witnessed"));
    assert_eq!(open(&[&ed25519, &ml_dsa], 1), Err("not-witnessed"), "who names both keys demands both");
    assert_eq!(open(&[&ed25519, &ml_dsa], 2), Err("number-of-witnesses"), "they are one witness");
    log(&server, &folder, &key, &[&ed25519, &ml_dsa]);
    assert_eq!(open(&[&ed25519, &ml_dsa], 1), Ok(()));
    assert_eq!(open(&[&ml_dsa], 1), Ok(()));
    assert_eq!(open(&[&ed25519, &ml_dsa, &other], 2), Err("not-witnessed"), "two keys are not two witnesses");

    // The same by a policy, which also says which logs there are.
    let lines = |keys: &[&Cosigner]| -> String {
        (1..).zip(keys).map(|(at, key)| format!("witness k{at} {}\n", key.public())).collect()
    };
    let with = |policy: String| {
        let policy = Policy::parse(policy.as_bytes()).unwrap();
        server.table().policy(policy).open().map(drop).map_err(|error| error.code())
    };
    let listed = sotto_tlog::catalogs::log_key(&key.public()).unwrap();
    let three = lines(&[&ed25519, &ml_dsa, &other]);
    assert_eq!(
        with(format!("log {listed}\n{three}group w1 all k1 k2\ngroup g any w1 k3\nquorum g\n")),
        Ok(())
    );
    assert_eq!(
        with(format!("{three}group w1 all k1 k2\ngroup g all w1 k3\nquorum g\n")),
        Err("not-witnessed")
    );
    assert_eq!(with(format!("{three}quorum none\n")), Err("number-of-witnesses"));
    let stranger =
        sotto_tlog::catalogs::log_key(&SigningKey::generate(&mut rng::seeded("x")).public()).unwrap();
    assert_eq!(with(format!("log {stranger}\n{three}quorum k2\n")), Err("log-not-listed"));
}
