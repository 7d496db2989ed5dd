//! Lookups: another epoch in between; and one request, whether its client keeps a state on disk or none.

use super::{Line, LookupStats, Share, Table};
use crate::session::ask::seen;
use crate::session::{Ask, Asked, Session};
use crate::state::keeper::Recorded;
use crate::transport::{Request, Response};
use crate::wish::{Granted, Wish, Wishes};
use crate::{ClientError, Result};
use sotto_catalog::Catalog;
use sotto_wire::Timing;
use std::time::Duration;
use web_time::Instant;

/// How much of a query [`LookupStats::seen`] shows.
const SEEN_BYTES: usize = 2048;

/// What a lookup is of.
#[derive(Clone, Copy)]
enum Of {
    /// One row.
    Row,
    /// One row of each bucket, by its number within the bucket.
    Buckets,
}

impl Of {
    /// How many rows that is.
    fn each(self, session: &Session) -> usize {
        match self {
            Of::Row => 1,
            Of::Buckets => session.buckets(),
        }
    }
}

/// A request that was made, and what reads its answers: in memory alone, or on disk as well.
enum Made {
    Fleeting(Ask),
    Durable(Recorded, Vec<Request>),
}

impl Made {
    fn requests(&self) -> &[Request] {
        match self {
            Made::Fleeting(ask) => ask.requests(),
            Made::Durable(_, requests) => requests,
        }
    }

    /// How many queries each server is sent.
    fn queries(&self) -> usize {
        match self {
            Made::Fleeting(ask) => usize::from(ask.queries()),
            Made::Durable(recorded, _) => recorded.record().numbers.len(),
        }
    }
}

impl Line {
    /// Makes a request. One that must be durable is on disk before anybody can send it.
    fn make(&mut self, session: &mut Session, of: Of, asked: &Asked) -> Result<Made> {
        if !session.is_durable() {
            let rng = self.rng.draw()?;
            let each = of.each(session);
            return Ok(Made::Fleeting(session.ask_by(each, asked, rng)?));
        }
        let recorded = self.commit(session, &asked.rows)?;
        let requests = session.requests(recorded.record())?;
        Ok(Made::Durable(recorded, requests))
    }

    /// Sends a request to all servers. Where it is fleeting, one that has dropped this client's keys gets them, and then its
    /// queries, again.
    fn send(&mut self, session: &mut Session, made: &mut Made) -> Result<Vec<Response>> {
        let mut responses = self.servers.call_all(made.requests())?;
        let Made::Fleeting(ask) = made else { return Ok(responses) };
        for (server, response) in (0..).zip(&mut responses) {
            if !session.is_forgotten(response) {
                continue;
            }
            self.register(session, server)?;
            session.readdress(server, ask)?;
            if let Some(request) = ask.requests().get(usize::from(server)) {
                self.stats.asks.add(request.body.len() as u64, response.body.len() as u64);
                *response = self.servers.call(server, request)?;
            }
        }
        Ok(responses)
    }

    /// The rows, or why they cannot be had; an error of its own if nothing is settled.
    fn read(
        &mut self,
        session: &mut Session,
        made: Made,
        responses: &[Response],
        rows: &[u64],
    ) -> Result<Result<Vec<Vec<u8>>>> {
        match made {
            Made::Fleeting(ask) => Ok(session.recover(ask, responses)),
            Made::Durable(recorded, _) => {
                let reading = self.settle(session, &recorded, responses, Some(rows))?;
                self.tidy(session)?;
                Ok(reading.rows)
            }
        }
    }
}

impl Table {
    /// What comes of wishes, in one request; after another epoch in between, in another request.
    pub(super) fn grant(&mut self, wishes: &[Wish<'_>]) -> Result<Vec<Result<Granted>>> {
        self.lookup(Of::Row, |catalog| {
            let wishes = Wishes::of(catalog, wishes)?;
            Ok((wishes.asked(), wishes))
        })
        .map(|(rows, wishes)| wishes.read(rows))
    }

    /// Whole rows, for a layer that knows what lies in them: as [`Session::ask_each`], one or several of each bucket.
    pub(crate) fn rows(&mut self, rows: &[u64]) -> Result<Vec<Vec<u8>>> {
        Ok(self.lookup(Of::Buckets, |_| Ok((Asked::rows(rows), ())))?.0)
    }

    /// Rows, and what was planned with the catalog they are of. `plan` is asked anew for each catalog. Its errors depend on the
    /// catalog and on nothing else: see [`crate::wish`].
    fn lookup<P>(
        &mut self,
        of: Of,
        plan: impl Fn(&Catalog) -> Result<(Asked, P)>,
    ) -> Result<(Vec<Vec<u8>>, P)> {
        self.stay_good()?;
        match self.planned(of, &plan) {
            // Discarded by an epoch before this one, which could not be followed nor begun anew.
            Err(ClientError::EpochChanged { .. } | ClientError::Discarded { .. }) => {
                self.line.renew_settled(&self.config, &mut self.session)?;
                self.keep_in_mind();
                self.planned(of, &plan)
            }
            fetched => fetched,
        }
    }

    fn planned<P>(
        &mut self,
        of: Of,
        plan: &impl Fn(&Catalog) -> Result<(Asked, P)>,
    ) -> Result<(Vec<Vec<u8>>, P)> {
        loop {
            let epoch = self.session.epoch();
            let (asked, planned) = plan(self.session.catalog())?;
            self.prepare(asked.rows.len() / of.each(&self.session).max(1))?;
            // A client that took this one's place may be of a later epoch, where what is wanted lies elsewhere. It does not give
            // way again before it was used.
            if self.session.epoch() == epoch {
                return Ok((self.ask(of, &asked)?, planned));
            }
        }
    }

    /// What comes before a request of so many lookups: hints for them, and keys that have not come to their end.
    fn prepare(&mut self, lookups: usize) -> Result<()> {
        self.session.sound()?;
        if self.session.spends() {
            self.make_ready(lookups)?;
        }
        self.change_keys(lookups.saturating_mul(self.session.packing().lookups()) as u64)
    }

    /// One request; then the evaluations that open its rows, where they are masked.
    fn ask(&mut self, of: Of, asked: &Asked) -> Result<Vec<Vec<u8>>> {
        let fetched = self.fetch(of, asked);
        match self.session.catalog().masked()? {
            None => fetched,
            Some(_) => self.unmask(&asked.rows, fetched),
        }
    }

    /// Rows as they are in the table: those of a symmetric one are masked.
    fn fetch(&mut self, of: Of, asked: &Asked) -> Result<Vec<Vec<u8>>> {
        let (start, rows) = (Instant::now(), asked.rows.as_slice());
        let mut made = self.line.make(&mut self.session, of, asked)?;
        self.line.keys.count(made.queries() as u64);
        let sent = Instant::now();
        let responses = self.line.send(&mut self.session, &mut made)?;
        let returned = Instant::now();
        let mut stats = self.measured(made.requests(), made.queries(), &responses, rows.len());
        let values = self.line.read(&mut self.session, made, &responses, rows)?;
        stats.query = sent - start;
        stats.round_trip = returned - sent;
        stats.recover = returned.elapsed();
        self.finish(stats, values)
    }

    /// Counts a lookup that is done, and hands its rows out.
    fn finish(&mut self, stats: LookupStats, values: Result<Vec<Vec<u8>>>) -> Result<Vec<Vec<u8>>> {
        for share in &stats.servers {
            self.line.stats.asks.add(share.up, share.down);
        }
        self.look_ahead();
        let values = values?;
        self.line.stats.rows += values.len() as u64;
        self.last = Some(stats);
        Ok(values)
    }

    fn measured(
        &self,
        requests: &[Request],
        queries: usize,
        responses: &[Response],
        rows: usize,
    ) -> LookupStats {
        let share = |(request, response): (&Request, &Response)| Share {
            up: request.body.len() as u64,
            down: response.body.len() as u64,
            timing: response.server_timing.as_deref().and_then(Timing::parse),
        };
        let servers: Vec<Share> = requests.iter().zip(responses).map(share).collect();
        LookupStats {
            epoch: self.session.epoch(),
            rows,
            queries: u16::try_from(queries).unwrap_or(u16::MAX),
            up: servers.iter().map(|share| share.up).sum(),
            down: servers.iter().map(|share| share.down).sum(),
            servers,
            query: Duration::ZERO,
            round_trip: Duration::ZERO,
            recover: Duration::ZERO,
            evaluations: None,
            seen: seen(requests, SEEN_BYTES).to_vec(),
        }
    }
}
