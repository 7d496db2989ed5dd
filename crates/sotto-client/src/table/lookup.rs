//! Lookups: another epoch in between; and one request, whether its client keeps a state on disk or none.

use super::{Line, LookupStats, Share, Table};
use crate::session::ask::seen;
use crate::session::{Ask, Session};
use crate::state::keeper::Recorded;
use crate::transport::{Request, Response};
use crate::{ClientError, Result};
use sotto_catalog::{Catalog, CatalogError, RowForm};
use sotto_wire::Timing;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// How much of a query [`LookupStats::seen`] shows.
const SEEN_BYTES: usize = 16;

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
    fn make(&mut self, session: &mut Session, rows: &[u64]) -> Result<Made> {
        if !session.is_durable() {
            return Ok(Made::Fleeting(session.ask(rows, &mut self.rng)?));
        }
        let recorded = self.commit(session, rows)?;
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
    /// The values in rows, as they were encoded. How they lie there follows from the catalog that the rows were found with.
    pub(super) fn values(
        &mut self,
        rows: impl Fn(&Catalog) -> Result<Vec<u64>, CatalogError>,
    ) -> Result<Vec<Vec<u8>>> {
        let form = Cell::new(RowForm::Whole);
        let fetched = self.lookup(|catalog| {
            form.set(catalog.row_form()?);
            rows(catalog)
        })?;
        Ok(fetched.into_iter().map(|row| form.get().value(row)).collect::<sotto_core::Result<_>>()?)
    }

    /// Whole rows, for a layer that knows what lies in them.
    pub(crate) fn rows(&mut self, rows: &[u64]) -> Result<Vec<Vec<u8>>> {
        self.lookup(|_| Ok(rows.to_vec()))
    }

    pub(super) fn lookup(
        &mut self,
        rows: impl Fn(&Catalog) -> Result<Vec<u64>, CatalogError>,
    ) -> Result<Vec<Vec<u8>>> {
        let wanted = rows(self.session.catalog())?;
        match self.ask(&wanted) {
            // Discarded by an epoch before this one, which could not be followed nor begun anew.
            Err(ClientError::EpochChanged { .. } | ClientError::Discarded { .. }) => {
                self.line.renew_settled(&self.config, &mut self.session)?;
                self.keep_in_mind();
                match self.still_there(&rows) {
                    Ok(rows) => self.ask(&rows),
                    Err(gone) => {
                        // Whoever says that the epoch is over chooses when this happens, and perhaps what the
                        // next one holds. Whether a second ask comes must not depend on the row.
                        let _ = self.ask(&vec![0; wanted.len()]);
                        Err(gone)
                    }
                }
            }
            outcome => outcome,
        }
    }

    /// The rows wanted, if the table has them all.
    pub(super) fn still_there(
        &self,
        rows: impl Fn(&Catalog) -> Result<Vec<u64>, CatalogError>,
    ) -> Result<Vec<u64>> {
        let rows = rows(self.session.catalog())?;
        rows.iter().try_for_each(|&row| self.session.packing().records_of(row).map(drop))?;
        Ok(rows)
    }

    /// One request; then the evaluations that open its rows, where they are masked.
    fn ask(&mut self, rows: &[u64]) -> Result<Vec<Vec<u8>>> {
        let fetched = self.fetch(rows);
        match self.session.catalog().masked()? {
            None => fetched,
            Some(_) => self.unmask(rows, fetched),
        }
    }

    /// Rows as they are in the table: those of a symmetric one are masked.
    fn fetch(&mut self, rows: &[u64]) -> Result<Vec<Vec<u8>>> {
        self.session.sound()?;
        if self.session.spends() {
            self.make_ready(rows.len())?;
        }
        let start = Instant::now();
        let mut made = self.line.make(&mut self.session, rows)?;
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
        if self.session.spends() {
            self.look_ahead();
        }
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
