//! Downloadable tables: what a client fetches once, and that a lookup sends nothing.

use crate::common::{NAME, Server, server_of, value};
use sotto_client::table::TableBuilder;
use sotto_client::{Lookup, Table};
use sotto_core::Artifact;

const ROWS: u64 = 3000;
const WIDTH: usize = 40;

fn server() -> Server {
    server_of("trivial/1", ROWS, WIDTH as u64)
}

fn client(server: &Server) -> TableBuilder {
    Table::over(server.transport(), NAME)
}

/// Forgets the requests so far, and returns their number and how many were for artifacts.
fn seen(server: &Server) -> (usize, usize) {
    let log = server.with(|world| std::mem::take(&mut world.log));
    (log.len(), log.iter().filter(|request| request.path.starts_with("/v1/artifacts/")).count())
}

#[test]
fn a_lookup_sends_nothing_whatever_it_is_for() {
    let server = server();
    let mut table = client(&server).require_row_proofs().open().unwrap();
    assert!(table.session().is_verified() && seen(&server).1 > 0);
    for row in [0, 1, ROWS / 2, ROWS - 1] {
        assert_eq!(table.get(row).unwrap(), value(row, WIDTH));
    }
    assert!(table.get(ROWS).is_err() && table.get_key("no row").is_err());
    assert!(!table.get_each(&[Lookup::Bit(7)]).unwrap().is_empty());
    // More than fit into a request of other schemes.
    let all: Vec<u64> = (0..200).collect();
    let values: Vec<_> = all.iter().map(|row| value(*row, WIDTH)).collect();
    assert_eq!(table.get_many(&all).unwrap(), values);
    let last = table.last_lookup().unwrap();
    assert_eq!((last.requests, last.queries, last.up, last.down, last.rows), (0, 0, 0, 0, 200));
    assert_eq!(seen(&server), (0, 0));
}

#[test]
fn a_download_that_is_not_the_signed_one_is_refused() {
    let server = server();
    let hint = server.with(|world| world.hint());
    let refused = || client(&server).open().map(|_| ()).unwrap_err().code();
    for at in [0, hint.len() / 2, hint.len() - 1] {
        let mut bad = hint.clone();
        bad[at] ^= 1;
        server.with(|world| world.replace(Artifact::Hint, bad));
        assert_eq!(refused(), "peer-misbehaved");
    }
    server.with(|world| world.replace(Artifact::Hint, hint[..hint.len() - 1].to_vec()));
    assert_eq!(refused(), "peer-misbehaved", "too short");
    server.with(|world| world.replace(Artifact::Hint, hint));
    assert!(client(&server).open().is_ok());
    server.tamper(|request, mut response| {
        response.body.extend(request.range.as_ref().map(|_| 0));
        Ok(response)
    });
    assert_eq!(refused(), "response-too-large");
}

#[test]
fn a_cache_spares_the_download_and_a_delta_leads_to_the_next_epoch() {
    let (server, cache) = (server(), tempfile::tempdir().unwrap());
    let client = || client(&server).cache_dir(cache.path()).open().unwrap();
    client();
    assert!(seen(&server).1 > 0);
    let mut table = client();
    assert_eq!(seen(&server), (1, 0), "the catalog");
    server.with(|world| world.update(&[7]));
    // An open table keeps its epoch until it is refreshed.
    assert_eq!(table.get(7).unwrap(), value(7, WIDTH));
    assert!(table.refresh().unwrap());
    assert_eq!((table.get(7).unwrap(), table.get(8).unwrap()), (vec![0xEE; WIDTH], value(8, WIDTH)));
    assert_eq!(table.stats().artifacts.down, 8 + table.report().record_bytes);
    assert_eq!(table.stats().patched_bytes, table.report().costs.artifact_bytes);
    assert_eq!(client().get(7).unwrap(), vec![0xEE; WIDTH]);
}
