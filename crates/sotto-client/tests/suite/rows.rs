//! Streamed rows, preparations that continue after an interruption, and states that follow deltas.
use crate::common::{CHUNK, NAME, Server, boxed, resolve, server_of, value};
use crate::watched::Breaking;
use sotto_client::session::{
    KnownSigner, RequestPurpose, RowsDownload, SavedPreparation, SetupIo, StateVersion,
};
use sotto_client::transport::{Request, Response, TransportError};
use sotto_client::{ClientError, Session, SessionSetup, Table};
use sotto_core::{Artifact, CryptoRng, Epoch, ParamsDigest};
use sotto_prg::ChaCha20Rng;
use sotto_testkit::rng::seeded;

/// Record size of which no chunk is a multiple.
const WIDTH: u64 = 1000;
const ROWS: u64 = 40_000;
const BYTES: u64 = ROWS * WIDTH;

fn table() -> Server {
    server_of("clear-rows/1", ROWS, WIDTH)
}

fn small() -> Server {
    server_of("clear-rows/1", 300, WIDTH)
}

fn call(server: &Server, request: &Request) -> Response {
    server.with(|world| world.call(request)).unwrap()
}

/// Carries requests to a server; `before` is called before each request for a range, and may break
/// the connection.
struct ServerIo<F> {
    server: Server,
    rng: ChaCha20Rng,
    before: F,
}

fn io_of(server: &Server) -> ServerIo<impl FnMut() -> Result<(), TransportError>> {
    ServerIo { server: server.clone(), rng: seeded("line"), before: || Ok(()) }
}

impl<F: FnMut() -> Result<(), TransportError>> SetupIo for ServerIo<F> {
    fn call(&mut self, _: u8, _: RequestPurpose, request: &Request) -> Result<Response, ClientError> {
        if request.range.is_some() {
            (self.before)()?;
        }
        Ok(call(&self.server, request))
    }

    fn rng(&mut self) -> Result<&mut dyn CryptoRng, ClientError> {
        Ok(&mut self.rng)
    }
}

/// Carries out all steps of a setup.
fn settle(server: &Server, mut setup: SessionSetup) -> Session {
    setup.complete(&mut io_of(server)).unwrap();
    setup.finish().unwrap()
}

fn look(server: &Server, session: &mut Session, row: u64) -> Vec<u8> {
    let ask = session.query(&[row], &mut seeded("ask")).unwrap();
    let responses: Vec<_> = ask.requests().iter().map(|request| call(server, request)).collect();
    session.recover(ask, &responses).unwrap().remove(0)
}

/// The ranges of artifacts that were requested from a server.
fn ranges(server: &Server) -> Vec<(u64, u64)> {
    let of = |request: Request| request.range.map(|range| (range.start, range.end));
    server.received().into_iter().filter_map(of).collect()
}

#[test]
fn rows_are_streamed_part_by_part_and_not_kept() {
    let (server, dir) = (table(), tempfile::tempdir().unwrap());
    let mut table = server.table().state_in_memory().cache_dir(dir.path()).open().unwrap();
    let parts = ranges(&server);
    assert_eq!(parts.len(), 3, "{parts:?}");
    assert!(parts.windows(2).all(|pair| pair[0].1 == pair[1].0) && parts[2].1 == BYTES);
    assert_eq!(table.stats().artifacts.down, BYTES);
    for row in [0, 17, ROWS - 1] {
        assert_eq!(table.get(row).unwrap(), value(row, WIDTH as usize));
    }
    let kept = walk(dir.path());
    assert!(kept < 100_000, "{kept} bytes in the cache");
}

/// Bytes of all files in a folder.
fn walk(dir: &std::path::Path) -> u64 {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    entries.map(|e| if e.path().is_dir() { walk(&e.path()) } else { e.metadata().unwrap().len() }).sum()
}

/// Fetches rows, and checks that each part was known ahead.
struct PartObserver(Server, ChaCha20Rng, u32);

impl SetupIo for PartObserver {
    fn call(&mut self, _: u8, _: RequestPurpose, request: &Request) -> Result<Response, ClientError> {
        Ok(call(&self.0, request))
    }

    fn rng(&mut self) -> Result<&mut dyn CryptoRng, ClientError> {
        Ok(&mut self.1)
    }

    fn rows(&mut self, rows: &mut RowsDownload<'_>) -> Result<(), ClientError> {
        while let Some(fetch) = rows.next() {
            let ahead = rows.upcoming();
            rows.take(&call(&self.0, &fetch.request))?;
            assert_eq!(rows.next(), ahead);
            self.2 += 1;
        }
        Ok(())
    }
}

#[test]
fn the_part_after_the_one_wanted_is_known_ahead() {
    let server = table();
    let mut io = PartObserver(server.clone(), seeded("ahead"), 0);
    Session::establish(server.config(), &mut io).unwrap();
    assert_eq!(io.2, 3);
}

fn cut(server: &Server, after: &[usize]) -> Result<Table, ClientError> {
    let line = Breaking::new(server, after, 50_000);
    Table::over(line, NAME).resolve(resolve).state_in_memory().open()
}

#[test]
fn a_broken_connection_goes_on_from_the_last_whole_chunk() {
    let server = table();
    let mut table = cut(&server, &[CHUNK * 3 + 5, 0, CHUNK, 7]).unwrap();
    let parts = ranges(&server);
    let starts: Vec<_> = parts.iter().map(|(start, _)| *start as usize).collect();
    assert_eq!(starts[..5], [0, CHUNK * 3, CHUNK * 3, CHUNK * 4, CHUNK * 4]);
    assert_eq!(table.get(39_000).unwrap(), value(39_000, WIDTH as usize));
}

#[test]
fn a_stream_that_brings_nothing_is_given_up() {
    let error = cut(&table(), &[0, CHUNK - 1]).unwrap_err();
    assert_eq!(error.code(), "connection-lost");
}

#[test]
fn a_wrong_chunk_is_refused_however_it_comes() {
    let server = table();
    server.tamper(|request, mut response| {
        if request.range.as_ref().is_some_and(|range| range.start == 0) {
            response.body[CHUNK * 2] ^= 1;
        }
        Ok(response)
    });
    let whole = server.table().state_in_memory().open().unwrap_err();
    assert_eq!(whole.code(), "peer-misbehaved");
    let broken = cut(&server, &[CHUNK * 3 + 1]).unwrap_err();
    assert_eq!(broken.code(), "peer-misbehaved");
    cut(&server, &[CHUNK * 2]).unwrap();
}

#[test]
fn a_part_that_ends_early_is_asked_for_again_and_a_longer_one_refused() {
    let server = table();
    let mut first = true;
    server.tamper(move |request, mut response| {
        if request.range.is_some() && std::mem::take(&mut first) {
            response.body.truncate(CHUNK + 3);
        }
        Ok(response)
    });
    let mut table = server.table().state_in_memory().open().unwrap();
    assert_eq!(ranges(&server)[1].0 as usize, CHUNK);
    assert_eq!(table.get(9).unwrap(), value(9, WIDTH as usize));
    server.tamper(|request, mut response| {
        response.body.extend(request.range.is_some().then_some(0));
        Ok(response)
    });
    assert_eq!(server.table().state_in_memory().open().unwrap_err().code(), "response-too-large");
}

#[test]
fn an_epoch_that_ends_while_its_rows_come_is_left_for_the_next() {
    let server = table();
    let (world, mut parts) = (server.clone(), 0);
    let before = move || {
        parts += 1;
        if parts == 2 {
            world.with(|world| {
                world.artifacts.clear();
                world.update(&[3]);
            });
        }
        Ok(())
    };
    let mut io = ServerIo { server: server.clone(), rng: seeded("first"), before };
    let ended = Session::establish(server.config(), &mut io).map(drop);
    assert!(
        matches!(ended, Err(ClientError::EpochChanged { asked: Epoch(1), newest: Some(Epoch(2)) })),
        "{ended:?}"
    );

    // The table as a whole opens the next epoch by itself.
    let server = table();
    let handle = server.clone();
    let mut parts = 0;
    server.tamper(move |request, response| {
        parts += u32::from(request.range.is_some());
        let is_second = request.range.is_some() && parts == 2;
        Ok(if is_second { Response::new(404, br#"{"code":"no-such-artifact"}"#.to_vec()) } else { response })
    });
    let mut table = handle.table().state_in_memory().open().unwrap();
    assert_eq!(table.get(3).unwrap(), value(3, WIDTH as usize));
}

/// Absorbs `parts` parts, and returns the preparation to continue.
fn begun(server: &Server, parts: usize) -> SavedPreparation {
    let (mut opening, mut left) = (SessionSetup::new(server.config()), parts);
    let before = move || {
        left = left.checked_sub(1).ok_or_else(|| TransportError::Lost("enough parts".to_owned()))?;
        Ok(())
    };
    let mut io = ServerIo { server: server.clone(), rng: seeded("parts"), before };
    opening.complete(&mut io).unwrap_err();
    let mut saved = Vec::new();
    let catalog = opening.catalog().unwrap().clone();
    opening.checkpoint().unwrap().save(&mut saved).unwrap();
    let scheme = resolve(&catalog.scheme).unwrap();
    let params = catalog.params.to_string();
    let prepare = (scheme.state.unwrap().resume)(params.as_bytes(), &mut saved.as_slice()).unwrap();
    let rows = catalog.artifacts.iter().find(|entry| entry.artifact == Artifact::Rows).unwrap().digest;
    SavedPreparation { epoch: catalog.epoch, params: ParamsDigest(catalog.params_digest.0), rows, prepare }
}

#[test]
fn a_server_that_has_another_epoch_each_time_is_given_up() {
    let server = server_of("piano/1", 3000, 32);
    let again = server.clone();
    let builder =
        server.table().state_in_memory().preparation_transports(move || vec![boxed(again.transport())]);
    let mut table = builder.open().unwrap();
    server.received();
    server.tamper(|request, honest| {
        let gone = Response::new(404, br#"{"code":"no-such-artifact"}"#.to_vec());
        Ok(if request.range.is_some() { gone } else { honest })
    });
    let (done, outcome) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(table.renew().map_err(|error| error.code())));
    let outcome = outcome.recv_timeout(std::time::Duration::from_secs(30)).expect("an end");
    assert_eq!(outcome, Err("epoch-changed"));
    assert!(server.received().len() < 12);
}

#[test]
fn a_preparation_goes_on_from_the_chunk_it_had_come_to() {
    let server = table();
    for parts in [0, 1, 2] {
        let resuming = begun(&server, parts);
        let kept = resuming.prepare.checkpoint().unwrap().absorbed_bytes();
        let end = (parts as u64) << 24;
        assert!(kept <= end && kept + WIDTH > end, "whole records of what came");
        server.received();
        let mut session = settle(&server, SessionSetup::resuming(server.config(), resuming));
        assert_eq!(ranges(&server)[0].0, kept / CHUNK as u64 * CHUNK as u64);
        for row in [0, kept / WIDTH, ROWS - 1] {
            assert_eq!(look(&server, &mut session, row), value(row, WIDTH as usize));
        }
    }
}

#[test]
fn a_preparation_goes_on_at_its_own_epoch_as_long_as_that_is_served() {
    let server = table();
    let resuming = begun(&server, 1);
    server.with(|world| {
        world.earlier.push((Epoch(1), world.signed()));
        world.update(&[5]);
    });
    let key = server.with(|world| world.pin());
    let mut config = server.config();
    let known = KnownSigner { retired: Vec::new(), key, epoch: Epoch(2), catalog: None };
    config.remembered = Some(known);
    let session = settle(&server, SessionSetup::resuming(config, resuming));
    assert_eq!(session.epoch(), Epoch(1));

    let resuming = begun(&small(), 0);
    let mut opening = SessionSetup::resuming(small().config(), resuming);
    let other = server_of("clear-rows/1", 300, WIDTH - 8);
    other.with(|world| world.catalog.epoch = Epoch(1));
    let changed = opening.fetch_catalog(&mut io_of(&other));
    assert!(matches!(changed, Err(ClientError::EpochChanged { .. })), "other rows: {changed:?}");

    let mut opening =
        SessionSetup::resuming(server.config(), SavedPreparation { epoch: Epoch(7), ..begun(&server, 1) });
    let gone = opening.fetch_catalog(&mut io_of(&server));
    assert!(
        matches!(gone, Err(ClientError::EpochChanged { asked: Epoch(7), newest: Some(Epoch(2)) })),
        "{gone:?}"
    );
}

/// Moves on by `epochs` epochs, whose catalogs stay available.
fn epochs(server: &Server, changes: &[&[u64]]) {
    for rows in changes {
        server.with(|world| {
            world.earlier.push((world.catalog.epoch, world.signed()));
            world.update(rows);
        });
    }
}

fn new() -> Vec<u8> {
    vec![0xEE; WIDTH as usize]
}

#[test]
fn a_state_follows_deltas_epoch_by_epoch() {
    let server = small();
    let mut table = server.table().state_in_memory().open().unwrap();
    let before = table.stats();
    epochs(&server, &[&[1], &[2, 3], &[1, 299]]);
    assert!(table.refresh().unwrap());
    assert_eq!(table.catalog().epoch, Epoch(4));
    let after = table.stats();
    assert_eq!(after.patched_bytes, 5 * (8 + WIDTH));
    assert_eq!(after.artifacts.down - before.artifacts.down, 5 * (8 + WIDTH), "no row was streamed again");
    for row in [1, 2, 3, 299] {
        assert_eq!(table.get(row).unwrap(), new(), "row {row}");
    }
    assert_eq!(table.get(4).unwrap(), value(4, WIDTH as usize));
    // A lookup that finds that the epoch has ended does the same.
    epochs(&server, &[&[4]]);
    assert_eq!(table.get(4).unwrap(), new());
    assert_eq!(table.stats().artifacts.down - after.artifacts.down, 8 + WIDTH);
}

/// Damages the delta chain, and checks that the rows are streamed again and are correct.
#[track_caller]
fn streams_again(changes: &[&[u64]], spoil: impl FnOnce(&Server)) {
    let server = small();
    let mut table = server.table().state_in_memory().open().unwrap();
    epochs(&server, changes);
    spoil(&server);
    let before = table.stats().artifacts.down;
    assert!(table.refresh().unwrap());
    assert!(table.stats().artifacts.down - before >= 300 * WIDTH);
    assert_eq!(table.get(1).unwrap(), new());
    assert_eq!(table.get(4).unwrap(), value(4, WIDTH as usize));
}

#[test]
fn rows_are_streamed_again_where_no_way_leads() {
    let most: Vec<u64> = (0..300).filter(|row| *row != 4).collect();
    streams_again(&[&[1], &[2]], |server| server.with(|world| world.earlier.clear()));
    streams_again(&[&[1], &most], |_| {});
    streams_again(&[&[1], &[2]], |server| {
        server.with(|world| world.replace(Artifact::RowsDelta, vec![0; 8 + WIDTH as usize]));
    });
    streams_again(&[&[1]], |server| {
        server.with(|world| {
            let delta = world.catalog.artifacts.iter_mut().find(|e| e.artifact == Artifact::RowsDelta);
            delta.unwrap().from_digest = Some(blake3::hash(b"other rows").into());
        });
    });
    streams_again(&[&[1]], |server| {
        server.with(|world| world.catalog.artifacts.retain(|entry| entry.artifact == Artifact::Rows));
    });
}

/// The publisher has signed a delta that cannot be applied.
#[test]
fn a_client_that_could_not_follow_is_discarded() {
    let server = small();
    let mut session = settle(&server, SessionSetup::new(server.config()));
    let mut table = server.table().state_in_memory().open().unwrap();
    let made = session.query(&[1], &mut seeded("before")).unwrap();
    let responses: Vec<_> = made.requests().iter().map(|request| call(&server, request)).collect();
    epochs(&server, &[&[1]]);
    server.with(|world| world.spoil_delta());

    let (mut io, mut opening) = (io_of(&server), SessionSetup::new(server.config()));
    opening.fetch_catalog(&mut io).unwrap();
    let mut chain = opening.delta_chain(session.state_version().unwrap(), &mut io).unwrap();
    let failed = session.apply_delta_step(chain.next_step(&mut io).unwrap().unwrap());
    assert!(matches!(failed, Err(ClientError::Core(sotto_core::Error::Peer(_)))), "{failed:?}");
    assert!(session.is_discarded() && session.state_version().is_none());
    let refused = session.query(&[4], &mut seeded("after")).unwrap_err();
    assert!(matches!(refused, ClientError::ClientDiscarded(Epoch(1))), "{refused:?}");
    assert_eq!(
        session.recover(made, &responses).unwrap_err().code(),
        "client-discarded",
        "half of it is of another epoch"
    );
    let again = SessionSetup::after_session(server.config(), &session);
    assert_eq!(look(&server, &mut settle(&server, again), 1), new());

    // A table makes another client by itself, as soon as it can.
    server.tamper(|request, response| match request.range {
        Some(ref range) if range.end > 10 * WIDTH => Err(TransportError::Lost("no rows today".to_owned())),
        _ => Ok(response),
    });
    assert_eq!(table.refresh().unwrap_err().code(), "connection-lost");
    assert!(table.session().is_discarded());
    assert_eq!(table.get(1).unwrap_err().code(), "connection-lost");
    server.with(|world| world.tamper = None);
    assert_eq!(table.get(1).unwrap(), new());
    assert_eq!(table.get(4).unwrap(), value(4, WIDTH as usize));
}

#[test]
fn what_leads_nowhere_is_typed() {
    let server = small();
    let mut session = settle(&server, SessionSetup::new(server.config()));
    let version = session.state_version().unwrap();
    epochs(&server, &[&[1], &[2], &[3]]);
    let (mut io, mut opening) = (io_of(&server), SessionSetup::new(server.config()));
    opening.fetch_catalog(&mut io).unwrap();
    assert_eq!(opening.delta_chain(version, &mut io).map(|chain| chain.bytes()).unwrap(), 3 * (8 + WIDTH));
    server.received();
    server.with(|world| world.earlier.clear());
    let gone = opening.delta_chain(version, &mut io).map(drop);
    assert!(matches!(gone, Err(ClientError::NoDeltaChain { from: Epoch(1), to: Epoch(4), .. })), "{gone:?}");
    let received = server.received();
    assert!(received.len() == 1 && received[0].path.ends_with("?epoch=2"), "{received:?}");
    let other = StateVersion { params: ParamsDigest([7; 32]), ..version };
    let other = opening.delta_chain(other, &mut io).map(drop);
    assert!(matches!(other, Err(ClientError::NoDeltaChain { .. })));
    let mut nowhere = opening.delta_chain(StateVersion { epoch: Epoch(4), ..version }, &mut io).unwrap();
    assert!(nowhere.next_step(&mut io).unwrap().is_none());
}
