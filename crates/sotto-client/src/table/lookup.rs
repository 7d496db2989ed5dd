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

/// A request that was made: what reads its answers is in memory alone, or on disk as well.
enum Asked {
    Fleeting(Ask),
    Durable(Recorded, Vec<Request>),
}

impl Asked {
    fn requests(&self) -> &[Request] {
        match self {
            Asked::Fleeting(ask) => ask.requests(),
            Asked::Durable(_, requests) => requests,
        }
    }

    /// How many queries each server is sent.
    fn queries(&self) -> usize {
        match self {
            Asked::Fleeting(ask) => usize::from(ask.queries()),
            Asked::Durable(recorded, _) => recorded.record().numbers.len(),
        }
    }
}

impl Line {
    fn make(&mut self, session: &mut Session, rows: &[u64]) -> Result<Asked> {
        if !session.is_kept() {
            return Ok(Asked::Fleeting(session.ask(rows, &mut self.rng)?));
        }
        let recorded = self.commit(session, rows)?;
        let requests = session.requests(recorded.record())?;
        Ok(Asked::Durable(recorded, requests))
    }

    fn send(&mut self, session: &mut Session, asked: &mut Asked) -> Result<Vec<Response>> {
        match asked {
            Asked::Fleeting(ask) => self.ask(session, ask),
            Asked::Durable(_, requests) => self.servers.call_all(requests),
        }
    }

    /// The rows, or why they cannot be had; an error of its own if nothing is settled.
    fn read(
        &mut self,
        session: &mut Session,
        asked: Asked,
        responses: &[Response],
        rows: &[u64],
    ) -> Result<Result<Vec<Vec<u8>>>> {
        match asked {
            Asked::Fleeting(ask) => Ok(session.recover(ask, responses)),
            Asked::Durable(recorded, _) => {
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

    /// One request, whatever is kept of it; then the evaluations that open its rows, where they are masked.
    fn ask(&mut self, rows: &[u64]) -> Result<Vec<Vec<u8>>> {
        let fetched = self.fetch(rows);
        self.unmask(rows, fetched)
    }

    /// Rows as they are in the table: those of a symmetric one are masked.
    fn fetch(&mut self, rows: &[u64]) -> Result<Vec<Vec<u8>>> {
        self.session.sound()?;
        // What a broken connection left half done: the client is of an epoch before its session's, or a request is not settled.
        self.line.keep_up(&mut self.session)?;
        self.resend()?;
        self.take_up()?;
        self.line.provide(&mut self.session, rows.len())?;
        self.afford(rows.len())?;
        let start = Instant::now();
        let mut asked = self.line.make(&mut self.session, rows)?;
        let made = Instant::now();
        let responses = self.line.send(&mut self.session, &mut asked)?;
        let returned = Instant::now();
        let mut stats = self.measured(asked.requests(), asked.queries(), &responses, rows.len());
        let values = self.line.read(&mut self.session, asked, &responses, rows)?;
        stats.query = made - start;
        stats.round_trip = returned - made;
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
