//! What a client remembers of a table: the newest epoch, and the keys that led to it.

use crate::common::{NAME, Server, server};
use sotto_catalog::{SigningKey, Succession};
use sotto_client::transport::Response;
use sotto_client::{ClientError, Table};
use sotto_core::Epoch;
use sotto_testkit::rng;

/// Makes the server show this catalog instead of the newest one.
fn show(server: &Server, signed: Vec<u8>) {
    server.tamper(move |request, honest: Response| {
        Ok(if request.path.ends_with(NAME) { Response::new(200, signed.clone()) } else { honest })
    });
}

fn code(opened: Result<Table, ClientError>) -> &'static str {
    opened.map(drop).unwrap_err().code()
}

/// The attack: the table's key is rotated, and a server without any key shows what the old one signed.
#[test]
fn nothing_that_a_retired_key_signed_is_taken_again() {
    let (server, dir) = (server(3000, 32), tempfile::tempdir().unwrap());
    let cached = || server.table().cache_dir(dir.path());
    let (first, first_key) = server.with(|world| (world.signed(), world.pin()));
    assert_eq!(cached().pin(first_key).open().unwrap().catalog().epoch, Epoch(1));
    server.with(|world| world.rotate("second"));
    let second_key = server.with(|world| world.pin());
    let mut open = cached().pin(first_key).open().unwrap();
    assert_eq!(open.catalog().epoch, Epoch(2));
    server.with(|world| world.update(&[]));
    assert!(open.refresh().unwrap());
    let (third, mut in_memory) =
        (server.with(|world| world.signed()), server.table().pin(first_key).open().unwrap());

    show(&server, first);
    for tried in [
        open.refresh().map(drop).map_err(|error| error.code()),
        // Without a cache, a client that has the table open detects it too.
        in_memory.refresh().map(drop).map_err(|error| error.code()),
    ] {
        assert_eq!(tried, Err("retired-key"));
    }
    assert_eq!(code(cached().pin(first_key).open()), "retired-key", "whoever pins it");
    assert_eq!(code(cached().open()), "retired-key");
    assert_eq!(code(cached().pin(second_key).open()), "wrong-key");
    // The attack does not change what is remembered.
    show(&server, third);
    assert_eq!(cached().pin(first_key).open().unwrap().catalog().epoch, Epoch(3));
}

/// A thief of the old key names a key of its own, or signs on with the old one.
#[test]
fn a_stolen_key_leads_nobody_away_who_has_seen_its_end() {
    let (server, dir) = (server(3000, 32), tempfile::tempdir().unwrap());
    let cached = || server.table().cache_dir(dir.path());
    let (first_key, old) = server.with(|world| (world.pin(), world.catalog.clone()));
    server.with(|world| world.rotate("second"));
    cached().pin(first_key).open().unwrap();
    let stolen = || SigningKey::generate(&mut rng::seeded("publisher"));
    server.with(|world| {
        world.catalog.epoch = Epoch(7);
        (world.key, world.successions) = (stolen(), Vec::new());
    });
    assert_eq!(code(cached().pin(first_key).open()), "retired-key");
    server.with(|world| {
        world.catalog.epoch = Epoch(6);
        world.rotate("thief");
    });
    assert_eq!(code(cached().pin(first_key).open()), "other-signer");
    assert_eq!(code(cached().open()), "wrong-key");
    // The new key signs no epoch from before the succession either.
    server.with(|world| {
        let next = SigningKey::generate(&mut rng::seeded("second"));
        let change = Succession::sign(&world.catalog.table, &stolen(), &next, Epoch(2), 1, u64::MAX);
        (world.key, world.successions, world.catalog) = (next, vec![change.unwrap()], old.clone());
    });
    assert_eq!(code(server.table().pin(first_key).open()), "bad-catalog");
}

/// After the time in which clients accept a succession by themselves, the statement still links the
/// remembered key to the pinned one.
#[test]
fn whoever_pins_the_new_key_goes_on_from_what_was_seen_under_the_old_one() {
    let (server, dir) = (server(3000, 32), tempfile::tempdir().unwrap());
    let cached = || server.table().cache_dir(dir.path());
    let (first, first_key) = server.with(|world| (world.signed(), world.pin()));
    cached().open().unwrap();
    server.with(|world| {
        world.rotate("second");
        let old = SigningKey::generate(&mut rng::seeded("publisher"));
        world.successions =
            vec![Succession::sign(&world.catalog.table, &old, &world.key, Epoch(2), 1, 2).unwrap()];
    });
    let second_key = server.with(|world| world.pin());
    assert_eq!(code(cached().open()), "wrong-key", "the time to follow is over");
    cached().pin(second_key).open().unwrap();
    show(&server, first.clone());
    assert_eq!(code(cached().pin(first_key).open()), "retired-key");
    // A caller can remove what was seen from the cache.
    assert!(cached().forget().unwrap() && !cached().forget().unwrap());
    assert_eq!(cached().pin(first_key).open().unwrap().catalog().epoch, Epoch(1));
    // Or pin the digest of the catalog.
    server.with(|world| world.tamper = None);
    cached().pin(second_key).open().unwrap();
    let digest = blake3::hash(sotto_catalog::SignedCatalog::parse(&first).unwrap().text.as_bytes()).into();
    show(&server, first);
    assert_eq!(cached().snapshot(digest).open().unwrap().catalog().epoch, Epoch(1));
    server.with(|world| world.tamper = None);
    assert_eq!(cached().open().unwrap().catalog().epoch, Epoch(2), "and nothing is forgotten with it");
}
