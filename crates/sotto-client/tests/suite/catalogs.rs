//! Catalogs that must be refused, and artifacts that do not match the catalog.
use crate::common::{Server, server, server_of, value};
use sotto_catalog::{SignedCatalog, SigningKey};
use sotto_client::table::TableEvent;
use sotto_client::transport::{Request, Response};
use sotto_client::{ClientError, Fault, Trust};
use sotto_core::{Artifact, Epoch, ParamsReport, SchemeEntry};
use sotto_testkit::{CLEAR, rng};
use sotto_wire::{Problem, ProblemCode};
use std::sync::LazyLock;

/// Opens the table with the publisher's key pinned.
fn open(server: &Server) -> Result<sotto_client::Table, ClientError> {
    server.table().pin(server.with(|world| world.pin())).open()
}

fn refused(server: &Server) -> &'static str {
    open(server).map(|_| ()).unwrap_err().code()
}

#[test]
fn trust_is_reported() {
    let server = server(10, 2);
    assert_eq!(open(&server).unwrap().trust(), Trust::Pinned);
    assert_eq!(server.table().open().unwrap().trust(), Trust::FirstUse);
}

#[test]
fn a_flipped_bit_anywhere_is_refused() {
    let server = server(10, 2);
    let signed = server.with(|world| world.signed());
    for at in 0..signed.len() {
        server.tamper(move |_, mut response: Response| {
            response.body[at] ^= 1;
            Ok(response)
        });
        let error = open(&server).map(|_| ()).unwrap_err();
        assert!(matches!(error, ClientError::Catalog(_)), "byte {at}: {error}");
        let received = server.received();
        let catalog = |request: &Request| request.path.ends_with(crate::common::NAME);
        assert!(
            received.len() == 2 && received.iter().all(catalog),
            "nothing else is fetched on such a catalog's word"
        );
    }
}

/// Damage in transit differs from time to time, and a second request succeeds.
#[test]
fn a_catalog_that_was_damaged_on_its_way_is_fetched_once_more() {
    let server = server(10, 2);
    let damaged = |times: usize| {
        let mut came = 0;
        server.tamper(move |request, mut response: Response| {
            if request.path.ends_with(crate::common::NAME) {
                came += 1;
                if came <= times {
                    response.body[10 * came] ^= 1;
                }
            }
            Ok(response)
        });
    };
    for pin in [None, Some(server.with(|world| world.pin()))] {
        let (sender, received) = std::sync::mpsc::channel();
        damaged(1);
        let builder = server.table().events(move |event| sender.send(event).unwrap());
        let mut table = pin.into_iter().fold(builder, |builder, pin| builder.pin(pin)).open().unwrap();
        assert_eq!(table.get(7).unwrap(), crate::common::value(7, 2));
        let said: Vec<_> = received.try_iter().map(|event: TableEvent| event.to_string()).collect();
        assert_eq!(said, ["the table's catalog was damaged and was fetched again"]);
    }
    damaged(2);
    let error = open(&server).map(drop).unwrap_err();
    assert_eq!((error.code(), error.fault()), ("catalog-damaged", Fault::Network), "{error}");
    assert!(error.fix().contains("network"), "{error:?}");
    server.received();
}

#[test]
fn a_truncated_catalog_is_refused() {
    let server = server(10, 2);
    for len in 0..server.with(|world| world.signed()).len() {
        server.tamper(move |_, mut response: Response| {
            response.body.truncate(len);
            Ok(response)
        });
        assert_eq!(refused(&server), "bad-catalog", "at {len}");
    }
}

#[test]
fn another_key_is_refused() {
    let server = server(10, 2);
    let pin = server.with(|world| world.pin());
    server.with(|world| world.key = SigningKey::generate(&mut rng::seeded("someone else")));
    let error = server.table().pin(pin).open().map(|_| ()).unwrap_err();
    assert_eq!((error.code(), error.fault()), ("wrong-key", Fault::Server));
}

#[test]
fn an_older_epoch_is_refused_while_the_table_is_open() {
    let server = server(10, 2);
    server.with(|world| world.update(&[1]));
    let mut table = open(&server).unwrap();
    server.with(|world| {
        world.catalog.epoch.0 = 1;
        world.catalog.artifacts.retain(|entry| entry.from_epoch.is_none());
    });
    assert_eq!(table.refresh().unwrap_err().code(), "rollback");
}

#[test]
fn two_catalogs_of_one_epoch_convict_their_publisher() {
    let (server, dir) = (server(3000, 32), tempfile::tempdir().unwrap());
    let open = || server.table().cache_dir(dir.path()).open();
    let mut table = open().unwrap();
    let first = server.with(|world| world.signed());
    server.with(|world| world.catalog.created += 1);
    let second = server.with(|world| world.signed());
    // The equivocation is detected while the table is open, in the next process, and with a pin; both
    // catalogs are stored.
    let pin = server.with(|world| world.pin());
    let errors = [
        table.refresh().unwrap_err(),
        open().map(drop).unwrap_err(),
        server.table().cache_dir(dir.path()).pin(pin).open().map(drop).unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.code(), "equivocation");
        let said = error.to_string();
        let paths: Vec<_> = said.split_whitespace().filter(|word| word.starts_with('/')).collect();
        let kept: Vec<_> = paths.iter().map(|path| std::fs::read(path).unwrap()).collect();
        assert_eq!(kept, [first.clone(), second.clone()], "{said}");
        for signed in &kept {
            SignedCatalog::parse(signed).unwrap().verify(Some(&pin)).unwrap();
        }
    }
    // Without a cache, a client that has the table open detects it too.
    let mut table = server.table().open().unwrap();
    server.with(|world| world.catalog.created += 1);
    assert!(matches!(table.refresh(), Err(ClientError::Equivocation { epoch: Epoch(1), kept: None })));
    // The next epoch is accepted.
    server.with(|world| world.update(&[]));
    assert_eq!(open().unwrap().get(7).unwrap(), value(7, 32));
}

#[test]
fn the_catalog_of_another_table_is_refused() {
    let server = server(10, 2);
    server.with(|world| world.catalog.table = "cubes".parse().unwrap());
    assert_eq!(refused(&server), "wrong-table");
}

#[test]
fn schemes_this_client_cannot_speak_are_named() {
    let server = server(10, 2);
    server.with(|world| world.catalog.scheme = "enigma/1".to_owned());
    assert_eq!(refused(&server), "unknown-scheme");
    assert_eq!(refused(&server_of("clear-two/1", 10, 2)), "server-count");
}

#[test]
fn parameters_other_than_the_digest_says_are_refused() {
    let server = server(10, 2);
    server.with(|world| world.catalog.params["records"] = 2.into());
    assert_eq!(refused(&server), "catalog-disagrees");
}

/// The test scheme, with another report.
fn weakened(report: fn(&[u8]) -> sotto_core::Result<ParamsReport>) -> SchemeEntry {
    SchemeEntry { report, ..CLEAR }
}

#[test]
fn weak_parameters_are_refused() {
    static WEAK: LazyLock<SchemeEntry> = LazyLock::new(|| {
        weakened(|params| {
            let mut report = (CLEAR.report)(params)?;
            report.security.bits = 127.9;
            Ok(report)
        })
    });
    let error = server(10, 2).table().resolve(|_| Some(&WEAK)).open().map(|_| ()).unwrap_err();
    assert_eq!(error.code(), "bad-params");
}

#[test]
fn parameters_that_fail_too_often_for_split_rows_are_refused() {
    static SHAKY: LazyLock<SchemeEntry> = LazyLock::new(|| {
        weakened(|params| {
            let mut report = (CLEAR.report)(params)?;
            report.failure_log2 = -41.0;
            Ok(report)
        })
    });
    // Two lookups per row: 2^-40 in all. Four: 2^-39.
    let open = |row_bytes| server(10, row_bytes).table().resolve(|_| Some(&SHAKY)).open().map(|_| ());
    assert!(open(2048).is_ok());
    assert_eq!(open(4096).unwrap_err().code(), "bad-params");
}

#[test]
fn rows_that_do_not_fit_their_records_are_refused() {
    let server = server(10, 2);
    server.with(|world| world.catalog.rows = 1000);
    assert_eq!(refused(&server), "catalog-disagrees");
}

#[test]
fn a_missing_artifact_is_named() {
    let server = server(10, 2);
    server.with(|world| world.catalog.artifacts.clear());
    assert_eq!(refused(&server), "catalog-disagrees");
}

#[test]
fn a_hint_with_another_digest_is_refused() {
    let server = server(10_000, 32);
    let hint = server.with(|world| world.hint());
    for at in [0, crate::common::CHUNK - 1, crate::common::CHUNK, hint.len() - 1] {
        let mut bad = hint.clone();
        bad[at] ^= 1;
        server.with(|world| world.replace(Artifact::Hint, bad));
        let error = open(&server).map(|_| ()).unwrap_err();
        assert_eq!((error.code(), error.fault()), ("peer-misbehaved", Fault::Server), "byte {at}");
    }
    server.with(|world| world.replace(Artifact::Hint, hint[1..].to_vec()));
    assert_eq!(refused(&server), "peer-misbehaved", "too short");
}

#[test]
fn chunks_that_are_right_and_together_wrong_are_refused() {
    let server = server(10_000, 32);
    server.with(|world| {
        let hint = world.hint();
        world.catalog.artifacts[0].digest.0[0] ^= 1;
        let digest = world.catalog.artifacts[0].digest.to_string();
        world.artifacts.insert(digest, hint);
    });
    assert_eq!(refused(&server), "peer-misbehaved");
}

#[test]
fn an_artifact_of_an_epoch_that_has_passed_is_a_changed_epoch() {
    let server = server(10, 2);
    server.with(|world| world.artifacts.clear());
    assert_eq!(refused(&server), "epoch-changed");
}

#[test]
fn an_epoch_that_ends_while_it_is_opened_is_followed_by_the_next() {
    let server = server(10, 2);
    let mut first = true;
    server.tamper(move |request, honest| {
        let gone = request.range.is_some() && std::mem::take(&mut first);
        Ok(if gone { Response::new(404, Vec::new()) } else { honest })
    });
    // A refusal of an intermediary says nothing about epochs.
    assert_eq!(refused(&server), "no-such-route");
    let mut first = true;
    server.tamper(move |request, honest| {
        let gone = request.range.is_some() && std::mem::take(&mut first);
        let problem = Problem::new(ProblemCode::NoSuchArtifact, "dropped");
        Ok(if gone { Response::new(404, problem.to_bytes()) } else { honest })
    });
    assert!(open(&server).is_ok());
}

#[test]
fn parameters_of_a_stranger_are_safe_to_print() {
    let server = server(10, 2);
    server.with(|world| world.catalog.params["\u{1b}[2Jmine\u{9b}"] = 1.into());
    let error = server.table().open().map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("mine") && !error.contains(char::is_control), "{error:?}");
}
