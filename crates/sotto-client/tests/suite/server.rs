//! The client against the real server, over HTTP, with the schemes of the registry.
use crate::common::{NAME, Server, server_of, value};
use sotto_catalog::SignedCatalog;
use sotto_client::{Fault, Table};
use sotto_core::Epoch;
use sotto_server::table_epoch::TableEpochParts;
use sotto_server::{EpochSource, RunningServer, ServerConfig, SourceError, TableEpoch};
use std::sync::Arc;

/// The epochs of a test so far, each in its own folder.
struct Shelf(Server);

impl EpochSource for Shelf {
    fn name(&self) -> String {
        "shelf".to_owned()
    }

    fn epochs(&self) -> Result<Vec<Epoch>, SourceError> {
        Ok(vec![self.0.with(|world| world.catalog.epoch)])
    }

    fn open(&self, _: Epoch) -> Result<TableEpoch, SourceError> {
        let parts = self.0.with(|world| {
            let terms = world.catalog.terms(world.scheme)?;
            let image = Arc::new(world.image.clone());
            let params = world.catalog.params.to_string();
            Ok::<_, SourceError>(TableEpochParts {
                scheme: world.scheme,
                signed: SignedCatalog::sign(&world.catalog, &world.key)?,
                catalog: world.catalog.clone(),
                report: terms.report,
                packing: terms.packing,
                server: (world.scheme.server.open)(params.as_bytes(), image.clone())?,
                image,
            })
        })?;
        TableEpoch::new(parts, self.0.with(|world| world.role))
    }
}

fn start(server: &Server) -> (RunningServer, String) {
    start_as(server, &ServerConfig::on_free_ports())
}

fn start_as(server: &Server, config: &ServerConfig) -> (RunningServer, String) {
    let shelf: Box<dyn EpochSource> = Box::new(Shelf(server.clone()));
    let running = sotto_server::Server::start_with(config, vec![shelf]).unwrap();
    let url = format!("http://{}", running.public);
    (running, url)
}

#[test]
fn a_table_is_opened_asked_updated_and_asked_again() {
    let server = server_of("simplepir/1", 20_000, 8);
    let (running, url) = start(&server);
    let dir = tempfile::tempdir().unwrap();
    let pin = server.with(|world| world.pin());
    let mut table = Table::connect(&url, NAME).pin(pin).cache_dir(dir.path()).open().unwrap();
    assert_eq!(table.get(19_999).unwrap(), value(19_999, 8));
    let last = table.last_lookup().unwrap();
    let timing = last.timing().unwrap();
    assert!(timing.pass <= last.round_trip, "the server's part is a part");
    assert_eq!(table.get_many(&[3, 3, 0]).unwrap(), [value(3, 8), value(3, 8), value(0, 8)]);

    server.with(|world| world.update(&[3]));
    running.reload();
    // Until the server has reloaded, the first epoch still answers.
    while !table.refresh().unwrap() {
        std::thread::yield_now();
    }
    assert_eq!(table.get(3).unwrap(), [0xEE; 8]);
    assert_eq!(table.get(4).unwrap(), value(4, 8));
    let hint = server.with(|world| world.hint().len()) as u64;
    assert_eq!(table.stats().patched_bytes, hint);

    // A second client starts from the cache of the first.
    let again = Table::connect(&url, NAME).cache_dir(dir.path()).open().unwrap();
    assert_eq!((again.stats().cached_bytes, again.stats().artifacts.down), (hint, 0));
    running.shutdown();
}

/// A server at a fixed address, so that a client finds the next one there.
fn at_one_address(state: Option<&std::path::Path>) -> ServerConfig {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = free.local_addr().unwrap();
    ServerConfig { listen, state: state.map(Into::into), ..ServerConfig::on_free_ports() }
}

#[test]
fn a_client_does_not_notice_that_its_server_was_restarted() {
    let dir = tempfile::tempdir().unwrap();
    for (state, uploads) in [(None, 2), (Some(dir.path()), 1)] {
        let server = server_of("clear-stream/1", 3_000, 8);
        let config = at_one_address(state);
        let (running, url) = start_as(&server, &config);
        let mut table = Table::connect(&url, NAME).resolve(crate::common::resolve).open().unwrap();
        assert_eq!(table.get(1).unwrap(), value(1, 8));
        running.shutdown();
        let (running, _) = start_as(&server, &config);
        assert_eq!(table.get(2).unwrap(), value(2, 8));
        assert_eq!(table.stats().keys.requests, uploads, "with state in {state:?}");

        // The next epoch takes the same keys, and so does the session that outlived the restart.
        server.with(|world| world.update(&[3]));
        running.reload();
        while !table.refresh().unwrap() {
            std::thread::yield_now();
        }
        assert_eq!(table.get(3).unwrap(), [0xEE; 8]);
        assert_eq!(table.stats().keys.requests, uploads);
        running.shutdown();
    }
}

/// Each scheme whose clients register keys, with the keys that an earlier process has registered.
#[test]
fn keys_of_an_earlier_call_read_the_answers() {
    for scheme in ["fspiral/1", "spiral/1", "bgvpir/1"] {
        let server = server_of(scheme, 300, 8);
        let (running, url) = start(&server);
        let dir = tempfile::tempdir().unwrap();
        let get = |row, uploads| {
            let mut table = Table::connect(&url, NAME).cache_dir(dir.path()).open().unwrap();
            assert_eq!(table.get(row).unwrap(), value(row, 8), "{scheme}");
            assert_eq!(table.stats().keys.requests, uploads, "{scheme}");
        };
        get(7, 1);
        get(299, 0);
        running.shutdown();
    }
}

#[test]
fn a_row_of_megabytes_is_streamed_over_http() {
    let server = server_of("clear-stream/1", 3, 5_000_001);
    let (_running, url) = start(&server);
    let mut table = Table::connect(&url, NAME).resolve(crate::common::resolve).open().unwrap();
    for row in [2, 1] {
        let mut out = Vec::new();
        let stats = table.stream(row, &mut out).unwrap();
        assert!(out == value(row, 5_000_001));
        assert_eq!((stats.requests, stats.row_bytes), (1, 5_000_001));
    }
    assert_eq!(table.get(1).unwrap().len(), 5_000_001);
}

/// Two servers of one table over HTTP, each with its role and a copy of its own.
fn pair(scheme: &str) -> [(Server, RunningServer, String); 2] {
    [0, 1].map(|role| {
        let server = server_of(scheme, 300, 8);
        server.with(|world| world.role = role);
        let (running, url) = start(&server);
        (server, running, url)
    })
}

#[test]
fn two_servers_are_asked_through_several_epochs() {
    let [first, second] = pair("clear-two/1");
    let mut table =
        Table::connect_all(&[&first.2, &second.2], NAME).resolve(crate::common::resolve).open().unwrap();
    assert_eq!(table.get_many(&[299, 0, 7]).unwrap(), [value(299, 8), value(0, 8), value(7, 8)]);
    let last = table.last_lookup().unwrap();
    assert!(last.servers.iter().all(|share| share.timing.is_some()));
    for epoch in 2..5 {
        // One server after the other moves on. A client in between uses the epoch that both have.
        for (i, (server, running, _)) in [&first, &second].into_iter().enumerate() {
            server.with(|world| world.update(&[epoch]));
            assert!(running.reload());
            assert_eq!(table.get(299).unwrap(), value(299, 8), "epoch {epoch}, server {i}");
            let urls = [first.2.as_str(), second.2.as_str()];
            let fresh = Table::connect_all(&urls, NAME).resolve(crate::common::resolve).open().unwrap();
            assert_eq!(fresh.catalog().epoch.0, epoch - 1 + i as u64);
        }
        assert!(table.refresh().unwrap() || table.catalog().epoch.0 == epoch);
        assert_eq!(table.get(epoch).unwrap(), [0xEE; 8]);
    }
    let swapped = Table::connect_all(&[&second.2, &first.2], NAME).resolve(crate::common::resolve).open();
    assert_eq!(swapped.unwrap().get(1).unwrap_err().code(), "wrong-server");
    second.1.shutdown();
    let error = table.get(1).unwrap_err();
    assert_eq!(error.code(), "no-connection");
    assert!(error.to_string().starts_with("server 1: "), "{error}");
}

#[test]
fn hints_are_taken_along_while_one_server_is_ahead_of_the_other() {
    let both = pair("clear-helped/1");
    let urls = both.each_ref().map(|(_, _, url)| url.as_str());
    let go_on = |(server, running, _): &(Server, RunningServer, String)| {
        let epoch = server.with(|world| {
            let next = world.catalog.epoch.0 + 1;
            world.update(&[next * 4]);
            next
        });
        assert!(running.reload());
        epoch
    };
    let open = || Table::connect_all(&urls, NAME).resolve(crate::common::resolve).state_in_memory().open();
    let mut table = open().unwrap();
    assert_eq!(table.get(299).unwrap(), value(299, 8));
    let mut asked = 1;
    for round in 0..4 {
        // The one that answers is ahead, and then the one that makes hints.
        for i in [round % 2, 1 - round % 2] {
            let epoch = go_on(&both[i]);
            for row in [299, 4 * epoch - 4] {
                let right = if row == 299 || row < 8 { value(row, 8) } else { vec![0xEE; 8] };
                assert_eq!(table.get(row).unwrap(), right, "epoch {epoch}, server {i}");
                asked += 1;
            }
        }
        table.refresh().unwrap();
        assert_eq!(table.catalog().epoch.0, round as u64 + 2);
    }
    assert_eq!(table.stats().hint_requests.requests, asked / 3 + 1, "no epoch cost a hint");

    // Two epochs ahead, one server has dropped the epoch that the other one still serves.
    for (ahead, behind) in [(0, 1), (1, 0)] {
        go_on(&both[ahead]);
        go_on(&both[ahead]);
        for error in [table.refresh().unwrap_err(), open().map(drop).unwrap_err()] {
            assert_eq!((error.code(), error.fault()), ("no-common-epoch", Fault::Network), "{error}");
            assert!(error.to_string().starts_with(&format!("server {ahead} ")), "{error}");
        }
        go_on(&both[behind]);
        assert_eq!(table.get(298).unwrap(), value(298, 8), "as soon as there is one in common");
        go_on(&both[behind]);
        table.refresh().unwrap();
        assert_eq!(table.get(299).unwrap(), value(299, 8));
    }
}
