//! Hints of a hint server through crashes: a lost response is requested again with the same bytes,
//! and no hint is used twice.

use super::common::{server_of, table_of};
use super::sim::{Fault, Sim};
use super::{Server, is_accident, state_paths};
use crate::table::{Table, TableEvent};
use crate::transport::{Request, Response, TransportError};
use crate::{ClientError, Result};
use rand_core::Rng;
use sotto_core::Section;
use sotto_testkit::cleartext::hint_server::used;
use sotto_testkit::rng;
use sotto_wire::{hints, query};
use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};

const ROWS: u64 = 20;
/// Bytes of a query of the test scheme, and number of lookups for each hint response.
const QUERY: usize = 16;
const LASTS: u64 = 3;

/// Two servers, a disk, and a disk for rollback counters.
struct Scene {
    servers: [Server; 2],
    disk: Sim,
    counters: Sim,
    events: Arc<Mutex<Vec<TableEvent>>>,
}

impl Scene {
    fn new() -> Self {
        Scene::of("clear-helped/1", ROWS)
    }

    fn of(scheme: &str, rows: u64) -> Self {
        let servers = [(); 2].map(|()| server_of(scheme, rows, 32));
        servers[1].with(|world| world.role = 1);
        Scene { servers, disk: Sim::new(), counters: Sim::new(), events: Arc::default() }
    }

    fn open(&self) -> Result<Table> {
        let events = Arc::clone(&self.events);
        let table = table_of(&[&self.servers[0], &self.servers[1]]);
        let table = table.state_paths(state_paths(&self.disk, &self.counters));
        table.events(move |event| events.lock().unwrap().push(event)).open()
    }

    fn row(&self, row: u64) -> Vec<u8> {
        self.servers[0].with(|world| {
            use sotto_core::Image;
            world.image.section(Section::Resident).unwrap()[row as usize * 32..][..32].to_vec()
        })
    }

    /// Moves both servers to the next epoch.
    fn go_on(&self, row: u64, byte: u8) {
        for server in &self.servers {
            server.with(|world| {
                world.earlier.push((world.catalog.epoch, world.signed()));
                world.change(&[row], byte);
            });
        }
    }

    fn crash(&self, label: &str) {
        self.disk.crash(&format!("{label} disk"));
        self.counters.crash(&format!("{label} counters"));
        self.servers.iter().for_each(|server| server.with(|world| world.tamper = None));
    }

    /// The payloads that one server was sent to a route, without the heads of their frames, which name an epoch.
    fn received(&self, server: usize, route: &str, head: usize) -> Vec<Vec<u8>> {
        let log = self.servers[server].with(|world| world.log.clone());
        let posts = log.into_iter().filter(|request| request.path.ends_with(route));
        posts.map(|request| request.body[head..].to_vec()).collect()
    }

    /// Checks all requests that the servers have ever received. Returns the number of used slots and
    /// of distinct hint requests.
    fn check(&self) -> (usize, usize) {
        assert!(self.received(0, "/hints", 0).is_empty() && self.received(1, "/ask", 0).is_empty());
        let mut seen: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
        for body in self.received(0, "/ask", query::HEAD_BYTES) {
            for query in body.chunks(QUERY) {
                let before = seen.entry(used(query).unwrap()).or_insert_with(|| query.to_vec());
                assert!(before == query, "a slot is in two requests");
            }
        }
        let mut clients: BTreeMap<u64, u64> = BTreeMap::new();
        for body in self.received(1, "/hints", hints::HEAD_BYTES) {
            let number = u64::from_le_bytes(body[..].try_into().unwrap());
            let next = clients.entry(number >> 32).or_default();
            // The last request again, or the one after it.
            let which = number & u64::from(u32::MAX);
            assert!(which + 1 == *next || which == *next, "order {which} comes after order {next}");
            *next = which + 1;
        }
        for slot in seen.keys() {
            let ordered = clients.get(&(slot >> 32)).copied().unwrap_or_default();
            assert!(slot & u64::from(u32::MAX) < LASTS * ordered, "more was asked than was supplied");
        }
        (seen.len(), clients.values().sum::<u64>() as usize)
    }
}

/// Breaks the network at a request to this route: before it arrives, or after it was answered.
fn cut(
    route: &'static str,
    after: usize,
) -> impl FnMut(&Request, Response) -> Result<Response, TransportError> + Send {
    let mut count = 0;
    move |request, response| {
        count += usize::from(request.path.ends_with(route));
        match count > after {
            true => Err(TransportError::Lost("the plug was pulled".to_owned())),
            false => Ok(response),
        }
    }
}

/// Opens the table and looks rows up until something fails. Every returned row has to be correct.
fn live(scene: &Scene, random: &mut impl Rng) -> Result<(), ClientError> {
    let mut table = scene.open()?;
    for _ in 0..random.next_u32() % 6 + 1 {
        if random.next_u32().is_multiple_of(3) {
            table.refill_hints()?;
        }
        let expected: Vec<u64> =
            (0..random.next_u32() % LASTS as u32 + 1).map(|_| u64::from(random.next_u32()) % ROWS).collect();
        let right: Vec<_> = expected.iter().map(|&row| scene.row(row)).collect();
        assert_eq!(table.get_many(&expected)?, right);
    }
    Ok(())
}

/// Runs processes one after the other, each of which fails at a random step of its disk, its
/// rollback counter or its network, while the table moves on. Returns the numbers of used slots, of
/// distinct hint requests, and of repeated ones.
fn lives(seed: u64) -> [usize; 3] {
    let random = &mut rng::seeded(&format!("orders {seed}"));
    let scene = Scene::new();
    for life in 0..8 {
        match random.next_u32() % 4 {
            0 => scene.disk.fuse(u64::from(random.next_u32() % 220), Fault::Death),
            1 => scene.counters.fuse(u64::from(random.next_u32() % 12), Fault::Death),
            2 => scene.servers[0].tamper(cut("/ask", random.next_u32() as usize % 4)),
            _ => scene.servers[1].tamper(cut("/hints", random.next_u32() as usize % 4)),
        }
        if let Err(error) = live(&scene, random) {
            assert!(is_accident(error.root()), "seed {seed}, life {life}: {error:?}");
        }
        if random.next_u32().is_multiple_of(3) {
            scene.go_on(u64::from(random.next_u32()) % ROWS, life);
        }
        scene.crash(&format!("orders, seed {seed} life {life}"));
    }
    live(&scene, random).unwrap_or_else(|error| panic!("seed {seed}: nothing is broken, and yet {error:?}"));
    let events = scene.events.lock().unwrap();
    assert!(
        !events.iter().any(|event| matches!(event, TableEvent::StateReset(_))),
        "seed {seed}: {events:?}"
    );
    let (slots, requests) = scene.check();
    [slots, requests, scene.received(1, "/hints", 0).len() - requests]
}

#[test]
fn no_supply_is_used_twice_and_a_lost_one_is_ordered_again() {
    let mut all = [0; 3];
    for seed in 0..150 {
        all.iter_mut().zip(lives(seed)).for_each(|(all, one)| *all += one);
    }
    let [slots, requests, again] = all;
    assert!(slots > 2_000 && requests > 700 && again > 100, "{all:?}");
}

/// A process that ends before a hint response is on disk requests it again with the same bytes. Once
/// it is on disk it lasts.
#[test]
fn a_supply_is_ordered_until_it_is_on_disk() {
    let scene = Scene::new();
    for _ in 0..3 {
        let mut table = scene.open().unwrap();
        scene.disk.fuse(0, Fault::Death);
        assert_eq!(table.refill_hints().unwrap_err().code(), "state-io");
        drop(table);
        scene.crash("with a supply");
    }
    assert!(scene.open().unwrap().refill_hints().unwrap());
    scene.crash("before a query");
    let requests = scene.received(1, "/hints", 0);
    assert!(requests.len() == 4 && requests.iter().all(|request| *request == requests[0]));
    for row in [7, 8, 9] {
        assert_eq!(scene.open().unwrap().get(row).unwrap(), scene.row(row));
        scene.crash("after a query");
    }
    assert_eq!(scene.received(1, "/hints", 0).len(), 4);
    assert_eq!(scene.check(), (3, 1));
}

/// Unused hints, an unsettled request and a lost hint request, over two epochs.
#[test]
fn what_is_in_stock_is_taken_along_and_what_was_lost_is_of_the_next_epoch() {
    let scene = Scene::new();
    let mut table = scene.open().unwrap();
    table.get(1).unwrap();
    scene.servers[1].tamper(cut("/hints", 0));
    table.refill_hints().unwrap_err();
    scene.servers[0].tamper(cut("/ask", 0));
    table.get(2).unwrap_err();
    drop(table);
    scene.crash("over two epochs");
    scene.go_on(2, 0xAA);
    scene.go_on(3, 0xBB);
    let mut table = scene.open().unwrap();
    for row in 0..6 {
        assert_eq!(table.get(row).unwrap(), scene.row(row));
    }
    let events = std::mem::take(&mut *scene.events.lock().unwrap());
    assert!(matches!(events[..], [TableEvent::StateAdvanced { .. }, TableEvent::Resent(1)]), "{events:?}");
    assert_eq!(scene.check(), (8, 3));
}

/// Every scheme with a hint server, with hints in the journal and in a snapshot, over a crash and an
/// epoch.
#[test]
fn schemes_with_a_helper_go_on_after_crashes_and_epochs() {
    for scheme in ["s3pir-two/1", "checklist/1"] {
        let scene = Scene::of(scheme, 300);
        for life in 0..6 {
            let mut table = scene.open().unwrap();
            if life % 2 == 0 {
                // In memory alone, then advanced to the next epoch.
                table.refill_hints().unwrap();
                scene.go_on(life, 0x50 + life as u8);
            }
            for row in [life, 299 - life, life] {
                assert_eq!(table.get(row).unwrap(), scene.row(row), "{scheme}, life {life}");
            }
            drop(table);
            scene.crash(&format!("{scheme} {life}"));
        }
        let events = std::mem::take(&mut *scene.events.lock().unwrap());
        let followed =
            events.iter().filter(|event| matches!(event, TableEvent::StateAdvanced { .. })).count();
        let resent = events.iter().filter(|event| matches!(event, TableEvent::Resent(1))).count();
        assert!(followed == 3 && followed + resent == events.len(), "{scheme}: {events:?}");
        // Repeated at most once, because an epoch ended.
        let mut requests = scene.received(1, "/hints", hints::HEAD_BYTES);
        requests.dedup();
        let distinct: HashSet<&Vec<u8>> = requests.iter().collect();
        assert_eq!(distinct.len(), requests.len(), "{scheme}: a supply was there and was ordered again");
        assert!(scene.received(0, "/hints", 0).is_empty());
    }
}
