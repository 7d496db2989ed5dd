//! Tests of states on a simulated disk: power loss, failing writes, copies, damage. In all of them
//! a server checks that no slot is ever in two different requests.

mod copies;
mod crash_points;
mod crashes;
mod gate;
mod hint_requests;
mod preparations;
mod sim;
mod state_file;

#[path = "../../tests/suite/common.rs"]
#[allow(dead_code, unreachable_pub, reason = "each test file uses a part of it")]
mod common;

use super::open::StatePaths;
use crate::table::state_guard::StatePathsFactory;
use crate::table::{Table, TableBuilder, TableEvent};
use crate::transport::{Request, Response, TransportError};
use crate::{ClientError, Result};
use common::{CHUNK, Server, server_with};
use sim::Sim;
use sotto_testkit::cleartext::state::used;
use sotto_wire::query;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Bytes of a query of the test scheme.
const QUERY: usize = 32;

/// A table, a disk, a place for rollback counters, and a log of events.
#[derive(Clone)]
struct Scene {
    server: Server,
    disk: Sim,
    counters: Sim,
    row_bytes: usize,
    events: Arc<Mutex<Vec<TableEvent>>>,
}

impl Scene {
    fn new(rows: u64, slots: u64) -> Self {
        Scene::of(rows, 8, slots)
    }

    fn of(rows: u64, row_bytes: usize, slots: u64) -> Self {
        Scene {
            server: server_with("clear-state/1", rows, row_bytes as u64, slots),
            disk: Sim::new(),
            counters: Sim::new(),
            row_bytes,
            events: Arc::default(),
        }
    }

    fn builder(&self) -> TableBuilder {
        let events = Arc::clone(&self.events);
        let table = self.server.table().state_paths(state_paths(&self.disk, &self.counters));
        table.events(move |event| events.lock().unwrap().push(event))
    }

    fn open(&self) -> Result<Table> {
        self.builder().open()
    }

    /// The events since the last call.
    fn events(&self) -> Vec<TableEvent> {
        std::mem::take(&mut self.events.lock().unwrap())
    }

    /// Simulates power loss.
    fn crash(&self, label: &str) {
        self.disk.crash(&format!("{label} disk"));
        self.counters.crash(&format!("{label} counters"));
        self.server.with(|world| world.tamper = None);
    }

    /// The current value of a row.
    fn row(&self, row: u64) -> Vec<u8> {
        self.server.with(|world| {
            let rows = world.image.artifact(sotto_core::Artifact::Rows).unwrap();
            rows[row as usize * self.row_bytes..][..self.row_bytes].to_vec()
        })
    }

    /// Checks all requests that the server has ever seen. Returns the number of used slots.
    fn no_slot_twice(&self) -> usize {
        let mut seen: HashMap<(u64, u64), Vec<u8>> = HashMap::new();
        for request in self.server.with(|world| world.log.clone()) {
            if !request.path.ends_with("/ask") {
                continue;
            }
            for query in request.body[query::HEAD_BYTES..].chunks(QUERY) {
                let slot = used(query).unwrap();
                let before = seen.entry(slot).or_insert_with(|| query.to_vec());
                assert!(before == query, "slot {slot:?} is in two requests");
            }
        }
        seen.len()
    }
}

/// A factory of paths that always names the same place.
fn state_paths(disk: &Sim, counters: &Sim) -> StatePathsFactory {
    let (disk, counters) = (disk.clone(), counters.clone());
    Arc::new(Mutex::new(move |_: &str| {
        Ok(StatePaths { disk: Arc::new(disk.clone()), counters: Box::new(counters.clone()) })
    }))
}

/// Whether an error is what a crashed process or a broken network leaves.
fn is_accident(error: &ClientError) -> bool {
    matches!(
        error,
        ClientError::State(_) | ClientError::Transport(_) | ClientError::Core(sotto_core::Error::Storage(_))
    )
}

/// Breaks the network at a query request: before it arrives, or after it was answered.
fn cut(
    after: usize,
    answered: bool,
) -> impl FnMut(&Request, Response) -> Result<Response, TransportError> + Send {
    let mut queries = 0;
    move |request, response| {
        queries += usize::from(request.path.ends_with("/ask"));
        // The server has seen the request either way; a lost one changes nothing.
        match queries > after && (answered || request.path.ends_with("/ask")) {
            true => Err(TransportError::Lost("the plug was pulled".to_owned())),
            false => Ok(response),
        }
    }
}

/// Delivers rows chunk by chunk, and nothing after `chunks` chunks.
fn drip(chunks: usize) -> impl FnMut(&Request, Response) -> Result<Response, TransportError> + Send {
    let mut came = 0;
    move |request, mut response| {
        if request.range.is_some() && response.is_success() {
            came += 1;
            response.body.truncate(CHUNK);
        }
        match came > chunks {
            true => Err(TransportError::Lost("the plug was pulled".to_owned())),
            false => Ok(response),
        }
    }
}
