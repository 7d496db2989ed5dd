//! The servers of a table: a transport to each, and requests to all of them at once.
//!
//! Every server receives its request at the same moment, whatever the others answer, and each
//! transport retries by itself, with the same bytes. So what one server sees of a lookup does not
//! depend on the other's answer.

use crate::parallel::run_all;
use crate::transport::{Request, Response, Transport, TransportError};
use crate::{ClientError, Result};
use sotto_core::{Error, Misuse};
use std::sync::{Arc, Mutex, PoisonError};

/// Makes transports to the servers of a table, in the order of their roles.
pub(crate) type MakeTransports = Arc<Mutex<dyn FnMut() -> Result<Vec<Box<dyn Transport>>> + Send>>;

/// Calls a function that makes transports.
pub(crate) fn make(transports: &MakeTransports) -> Result<Vec<Box<dyn Transport>>> {
    (transports.lock().unwrap_or_else(PoisonError::into_inner))()
}

/// A transport to each server, the first one apart, since there is always one.
pub(crate) struct Servers {
    first: Box<dyn Transport>,
    others: Vec<Box<dyn Transport>>,
}

type Outcome = Result<Response, TransportError>;

impl Servers {
    pub(super) fn new(first: Box<dyn Transport>, others: Vec<Box<dyn Transport>>) -> Self {
        Servers { first, others }
    }

    /// The number of servers; 255 for more than any scheme needs.
    pub(super) fn count(&self) -> u8 {
        u8::try_from(self.others.len()).unwrap_or(u8::MAX).saturating_add(1)
    }

    /// The transport to the first server, which public data is fetched from.
    pub(super) fn first(&mut self) -> &mut dyn Transport {
        self.first.as_mut()
    }

    /// Sends a request to one server.
    pub(super) fn call(&mut self, server: u8, request: &Request) -> Result<Response> {
        let servers = self.count();
        let outcome = match usize::from(server).checked_sub(1) {
            None => self.first.call(request),
            Some(other) => match self.others.get_mut(other) {
                Some(transport) => transport.call(request),
                None => {
                    return Err(
                        Error::from(Misuse::Rule("fewer transports than the scheme has servers")).into()
                    );
                }
            },
        };
        outcome.map_err(|error| ClientError::from(error).of_server(server, servers))
    }

    /// Sends each server its request, all at once, and returns the responses in the same order once
    /// the last one has arrived.
    ///
    /// # Errors
    /// The error of the first server that did not answer. The responses of the others are dropped
    /// unread.
    pub(super) fn call_all(&mut self, requests: &[Request]) -> Result<Vec<Response>> {
        let servers = self.count();
        let transports = std::iter::once(&mut self.first).chain(&mut self.others).zip(requests);
        let calls = transports.map(|(transport, request)| || transport.call(request));
        let outcomes: Vec<Outcome> = run_all(calls);
        let each = (0..).zip(outcomes).map(|(server, outcome)| {
            outcome.map_err(|error| ClientError::from(error).of_server(server, servers))
        });
        each.collect()
    }

    /// The name under which a cache stores the table: the first server.
    pub(super) fn origin(&self) -> String {
        self.first.origin()
    }

    /// The name under which a state is stored: all servers, in the order of their roles. A client
    /// that revealed to one server how its hints are made must not be the one that sends it
    /// queries, nor reveal them to another.
    pub(super) fn origins(&self) -> String {
        let others = self.others.iter().map(|other| other.origin());
        std::iter::once(self.first.origin()).chain(others).collect::<Vec<_>>().join(" ")
    }

    /// How many times requests were sent again so far, to any server.
    pub(super) fn retries(&self) -> u64 {
        self.others.iter().map(|other| other.retries()).sum::<u64>() + self.first.retries()
    }
}
