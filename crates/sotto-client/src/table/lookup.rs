//! Lookups: split into requests, repeated when the epoch changes, and made with or without a state
//! on disk.
//!
//! Lookups are split into requests in two ways. Lookups make rounds, of as many as fit into one
//! request, and each round is of one epoch. If a single lookup has more rows than a request allows,
//! its round consists of several requests. The number of requests, and of queries in each, follows
//! from the table and the number of lookups. **None of them is omitted because of another's
//! result**: a failure that the server does not see is reported when all requests were made.

use super::{Driver, EvaluationStats, LookupStats, ServerStats, Table};
use crate::lookup::{Lookup, LookupResult, ResolvedLookups};
use crate::session::query_request::query_prefix;
use crate::session::{QueryRequest, QueryTargets, Session};
use crate::state::durable_state::CommittedRequest;
use crate::transport::{Request, Response};
use crate::{ClientError, Result};
use sotto_catalog::Catalog;
use sotto_core::Epoch;
use sotto_wire::Timing;
use std::time::Duration;
use web_time::Instant;

/// Number of bytes of a query in [`LookupStats::query_prefix`].
const PREFIX_BYTES: usize = 2048;

/// The unit of a lookup.
#[derive(Clone, Copy)]
enum TargetKind {
    /// One row.
    Row,
    /// One row of each bucket, by its index within the bucket.
    Buckets,
}

impl TargetKind {
    /// The number of rows of a lookup.
    fn each(self, session: &Session) -> usize {
        match self {
            TargetKind::Row => 1,
            TargetKind::Buckets => session.buckets(),
        }
    }
}

/// A request that was made, and the secret that reads its answers: in memory alone, or on disk as
/// well.
enum PendingRequest {
    InMemory(QueryRequest),
    Durable(CommittedRequest, Vec<Request>),
}

impl PendingRequest {
    fn requests(&self) -> &[Request] {
        match self {
            PendingRequest::InMemory(query) => query.requests(),
            PendingRequest::Durable(_, requests) => requests,
        }
    }

    /// The number of queries for each server.
    fn queries(&self) -> usize {
        match self {
            PendingRequest::InMemory(query) => usize::from(query.queries()),
            PendingRequest::Durable(committed, _) => committed.logged().numbers.len(),
        }
    }
}

impl Driver {
    /// Makes a request. One that must be durable is on disk before anyone can send it.
    fn make(
        &mut self,
        session: &mut Session,
        kind: TargetKind,
        targets: &QueryTargets,
    ) -> Result<PendingRequest> {
        if !session.is_durable() {
            let rng = self.rng.draw()?;
            let each = kind.each(session);
            return Ok(PendingRequest::InMemory(session.query_by(each, targets, rng)?));
        }
        let committed = self.commit(session, &targets.rows)?;
        let requests = session.requests(committed.logged())?;
        Ok(PendingRequest::Durable(committed, requests))
    }

    /// Sends a request to all servers. If it is not durable, a server that has dropped this
    /// client's keys receives them again, and then its queries.
    fn send(&mut self, session: &mut Session, pending: &mut PendingRequest) -> Result<Vec<Response>> {
        let mut responses = self.servers.call_all(pending.requests())?;
        let PendingRequest::InMemory(query) = pending else { return Ok(responses) };
        for (server, response) in (0..).zip(&mut responses) {
            if !session.is_session_expired(response) {
                continue;
            }
            self.register(session, server)?;
            session.replace_session(server, query)?;
            if let Some(request) = query.requests().get(usize::from(server)) {
                self.stats.query_requests.add(request.body.len() as u64, response.body.len() as u64);
                *response = self.servers.call(server, request)?;
            }
        }
        Ok(responses)
    }
}

/// Stores the first failure that a server does not see, so that it is reported once all requests
/// were made; any other failure is returned at once.
pub(crate) fn withhold<T>(outcome: Result<T>, failed: &mut Option<ClientError>) -> Result<Option<T>> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_hidden_from_server() => {
            failed.get_or_insert(error);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

impl Table {
    /// The number of lookups that fit into one request; 1 if a single lookup takes several
    /// requests.
    ///
    /// # Errors
    /// An error in the catalog.
    pub fn max_lookups(&self) -> Result<usize> {
        let rows_of_each = self.catalog().keyword()?.map_or(1, |keyword| keyword.params().probes as usize);
        Ok((self.session.max_rows() / rows_of_each.max(1)).max(1))
    }

    /// Makes lookups, in rounds.
    pub(super) fn run_lookups(&mut self, lookups: &[Lookup<'_>]) -> Result<Vec<Result<LookupResult>>> {
        self.reset_last();
        let (mut results, mut failed) = (Vec::with_capacity(lookups.len()), None);
        let mut left = lookups;
        loop {
            // A later epoch may allow fewer lookups per request, or more.
            let (round, later) = left.split_at(self.max_lookups()?.min(left.len()));
            results.extend(withhold(self.round(round), &mut failed)?.into_iter().flatten());
            left = later;
            if left.is_empty() {
                return failed.map_or(Ok(results), Err);
            }
        }
    }

    /// Makes the lookups of one round, and repeats them in another request if the epoch changes.
    fn round(&mut self, lookups: &[Lookup<'_>]) -> Result<Vec<Result<LookupResult>>> {
        self.lookup(TargetKind::Row, |catalog| {
            let resolved = ResolvedLookups::of(catalog, lookups)?;
            Ok((resolved.targets(), resolved))
        })
        .map(|(rows, resolved)| resolved.read(rows))
    }

    /// Fetches whole rows, for a layer that knows their contents: as
    /// [`Session::query_each_bucket`], one or several rows of each bucket.
    pub(crate) fn rows(&mut self, rows: &[u64]) -> Result<Vec<Vec<u8>>> {
        Ok(self.lookup(TargetKind::Buckets, |_| Ok((QueryTargets::rows(rows), ())))?.0)
    }

    /// Resets [`Table::last_lookup`] before the next call.
    pub(crate) fn reset_last(&mut self) {
        self.last = None;
    }

    /// Fetches rows, and returns them with what `plan` made from the catalog they are of. `plan` is
    /// called again for each catalog. Its errors depend on the catalog alone: see
    /// [`crate::lookup`].
    fn lookup<P>(
        &mut self,
        kind: TargetKind,
        plan: impl Fn(&Catalog) -> Result<(QueryTargets, P)>,
    ) -> Result<(Vec<Vec<u8>>, P)> {
        self.recheck_catalog()?;
        match self.lookup_once(kind, &plan) {
            // The client was discarded by an earlier epoch, which could neither be followed nor
            // prepared.
            Err(ClientError::EpochChanged { .. } | ClientError::ClientDiscarded { .. }) => {
                self.driver.advance_to_newest(&self.config, &mut self.session)?;
                self.remember_table();
                self.lookup_once(kind, &plan)
            }
            fetched => fetched,
        }
    }

    fn lookup_once<P>(
        &mut self,
        kind: TargetKind,
        plan: &impl Fn(&Catalog) -> Result<(QueryTargets, P)>,
    ) -> Result<(Vec<Vec<u8>>, P)> {
        loop {
            let epoch = self.session.epoch();
            let (targets, planned) = plan(self.session.catalog())?;
            let each = kind.each(&self.session).max(1);
            let requests = targets.requests(self.session.max_rows(), each);
            let first = requests.first().map_or(0, |request| request.rows.len() / each);
            self.prepare(first)?;
            // A new client in place of this one may be of a later epoch, where the lookups have
            // other rows. It is not replaced again before it was used.
            if self.session.epoch() == epoch {
                return Ok((self.request_all(kind, epoch, &requests)?, planned));
            }
        }
    }

    /// Fetches the rows of all requests, the first of which is prepared. The result of one does not
    /// decide whether the next is made.
    fn request_all(
        &mut self,
        kind: TargetKind,
        epoch: Epoch,
        requests: &[QueryTargets],
    ) -> Result<Vec<Vec<u8>>> {
        let (mut rows, mut failed) = (Vec::new(), None);
        for (i, request) in requests.iter().enumerate() {
            if i > 0 {
                self.prepare(request.rows.len() / kind.each(&self.session).max(1))?;
            }
            let newest = self.session.epoch();
            if newest != epoch {
                return Err(ClientError::EpochChanged { asked: epoch, newest: Some(newest) });
            }
            rows.extend(withhold(self.request_rows(kind, request), &mut failed)?.into_iter().flatten());
        }
        failed.map_or(Ok(rows), Err)
    }

    /// Prepares a request of `lookups` lookups: ensures hints for them, and keys that have not
    /// reached their limits.
    fn prepare(&mut self, lookups: usize) -> Result<()> {
        self.session.ensure_usable()?;
        if self.session.uses_budget() {
            self.make_ready(lookups)?;
        }
        self.change_keys(lookups.saturating_mul(self.session.packing().records_per_row()) as u64)
    }

    /// Makes one request, and the evaluations that open its rows if they are masked.
    fn request_rows(&mut self, kind: TargetKind, targets: &QueryTargets) -> Result<Vec<Vec<u8>>> {
        let fetched = self.fetch(kind, targets);
        match self.session.catalog().symmetric_layer()? {
            None => fetched,
            Some(_) => self.unmask(&targets.rows, fetched),
        }
    }

    /// Fetches rows as they are in the table: those of a symmetric table are masked.
    fn fetch(&mut self, kind: TargetKind, targets: &QueryTargets) -> Result<Vec<Vec<u8>>> {
        let (start, rows) = (Instant::now(), targets.rows.as_slice());
        let mut pending = self.driver.make(&mut self.session, kind, targets)?;
        self.driver.keys.count(pending.queries() as u64);
        let sent = Instant::now();
        let responses = self.driver.send(&mut self.session, &mut pending)?;
        let returned = Instant::now();
        let mut stats = self.measure(pending.requests(), pending.queries(), &responses, rows.len());
        // An error for the rows is returned once the request is settled.
        let values = match pending {
            PendingRequest::InMemory(query) => self.session.recover(query, &responses),
            PendingRequest::Durable(committed, _) => {
                let recovered = self.driver.settle(&mut self.session, &committed, &responses, Some(rows))?;
                self.driver.compact(&mut self.session)?;
                recovered.rows
            }
        };
        stats.query = sent - start;
        stats.round_trip = returned - sent;
        stats.recover = returned.elapsed();
        self.finish(stats, values)
    }

    /// Opens the fetched rows of a symmetric table: requests one evaluation for each, whatever was
    /// fetched.
    pub(super) fn unmask(&mut self, rows: &[u64], fetched: Result<Vec<Vec<u8>>>) -> Result<Vec<Vec<u8>>> {
        if fetched.as_ref().is_err_and(|error| !error.is_hidden_from_server()) {
            return fetched;
        }
        let start = Instant::now();
        let evaluation = self.session.evaluation(rows, fetched, self.driver.rng.draw()?)?;
        let response = self.driver.servers.call(evaluation.server(), evaluation.request())?;
        let (up, down) = (evaluation.request().body.len() as u64, response.body.len() as u64);
        self.driver.stats.evaluations.add(up, down);
        let count = u64::from(evaluation.count());
        let opened = self.session.open(evaluation, &response)?;
        if let Some(last) = &mut self.last {
            let evaluations = last.evaluations.get_or_insert_default();
            evaluations.add(&EvaluationStats { count, up, down, time: start.elapsed() });
        }
        Ok(opened)
    }

    /// Counts a finished lookup, and returns its rows.
    fn finish(&mut self, stats: LookupStats, values: Result<Vec<Vec<u8>>>) -> Result<Vec<Vec<u8>>> {
        for share in &stats.servers {
            self.driver.stats.query_requests.add(share.up, share.down);
        }
        self.start_preparation_if_low();
        match &mut self.last {
            Some(last) => last.add(stats),
            None => self.last = Some(stats),
        }
        let values = values?;
        self.driver.stats.rows += values.len() as u64;
        Ok(values)
    }

    fn measure(
        &self,
        requests: &[Request],
        queries: usize,
        responses: &[Response],
        rows: usize,
    ) -> LookupStats {
        let share = |(request, response): (&Request, &Response)| ServerStats {
            up: request.body.len() as u64,
            down: response.body.len() as u64,
            timing: response.server_timing.as_deref().and_then(Timing::parse),
        };
        let servers: Vec<ServerStats> = requests.iter().zip(responses).map(share).collect();
        LookupStats {
            epoch: self.session.epoch(),
            requests: u64::from(!requests.is_empty()),
            rows,
            queries: if requests.is_empty() { 0 } else { queries as u64 },
            up: servers.iter().map(|share| share.up).sum(),
            down: servers.iter().map(|share| share.down).sum(),
            servers,
            query: Duration::ZERO,
            round_trip: Duration::ZERO,
            recover: Duration::ZERO,
            evaluations: None,
            query_prefix: query_prefix(requests, PREFIX_BYTES).to_vec(),
        }
    }
}
