//! A row of many megabytes, written while it arrives.

use super::{Driver, Progress, Stage, StreamStats, Table};
use crate::session::{Session, StreamRequest};
use crate::transport::TransportError;
use crate::{ClientError, Result};
use sotto_catalog::{Catalog, CatalogError};
use std::io::{self, Write};
use web_time::Instant;

/// Sum of the weights of failures, without a complete unit in between, after which a stream is
/// given up: a broken connection weighs 1, and keys that the server has dropped weigh 2. So both
/// are tolerated of a server that was restarted, and one that drops keys as soon as they are
/// registered receives them once more.
const PATIENCE: u32 = 4;

impl Table {
    /// Looks up a row by its index, and writes its value to `out` as it arrives; neither end holds
    /// the whole row. For tables whose scheme answers records in units.
    ///
    /// After a broken connection the stream continues where it was interrupted, with the same
    /// query; keys that the server has dropped are registered again. If the table moves on to
    /// another epoch before any unit arrived, it is opened again and queried once more, as by
    /// [`Table::get`]; later that is an error, since rows of two epochs do not mix. After an error
    /// `out` contains the first part of the row.
    ///
    /// # Errors
    /// [`ClientError::CannotStream`]; [`ClientError::Output`] if `out` fails; otherwise as for
    /// [`Table::get`].
    pub fn stream(&mut self, row: u64, out: &mut dyn Write) -> Result<StreamStats> {
        self.stream_row(|_| Ok(row), out)
    }

    /// Looks up what a person typed, and writes its value to `out` as it arrives: [`Table::stream`]
    /// for what [`Table::get_key`] accepts.
    ///
    /// # Errors
    /// As for [`Table::stream`], and [`CatalogError::NoSuchRow`].
    pub fn stream_key(&mut self, key: &str, out: &mut dyn Write) -> Result<StreamStats> {
        self.stream_row(|catalog| catalog.parse_row(key), out)
    }

    fn stream_row(
        &mut self,
        row: impl Fn(&Catalog) -> Result<u64, CatalogError>,
        out: &mut dyn Write,
    ) -> Result<StreamStats> {
        let mut stats = StreamStats::default();
        self.recheck_catalog()?;
        self.change_keys(1)?;
        match self.stream_one(row(self.session.catalog()), out, &mut stats) {
            Err(ClientError::EpochChanged { .. }) if stats.units == 0 => {
                self.driver.advance_to_newest(&self.config, &mut self.session)?;
                self.remember_table();
                self.change_keys(1)?;
                self.stream_one(row(self.session.catalog()), out, &mut stats)?;
            }
            outcome => outcome?,
        }
        self.start_preparation_if_low();
        Ok(stats)
    }

    /// Streams one row. If there is no such row, row 0 is streamed and dropped: see
    /// [`crate::lookup`].
    fn stream_one(
        &mut self,
        row: Result<u64, CatalogError>,
        out: &mut dyn Write,
        stats: &mut StreamStats,
    ) -> Result<()> {
        match row {
            Ok(row) => self.driver.stream(&mut self.session, row, out, stats),
            Err(gone) => {
                self.driver.stream(&mut self.session, 0, &mut io::sink(), stats)?;
                Err(gone.into())
            }
        }
    }
}

impl Driver {
    fn stream(
        &mut self,
        session: &mut Session,
        row: u64,
        out: &mut dyn Write,
        stats: &mut StreamStats,
    ) -> Result<()> {
        let start = Instant::now();
        let mut streaming = session.stream(row, self.rng.draw()?)?;
        self.keys.count(1);
        let mut out = session.catalog().row_form()?.writer(out);
        stats.epoch = session.epoch().0;
        stats.row_bytes = streaming.row_bytes();
        stats.query += start.elapsed();
        let mut wrong = 0;
        while !streaming.is_done() {
            let before = streaming.received();
            let again = self.stream_once(session, &mut streaming, &mut out, stats);
            stats.units = streaming.received();
            stats.time = start.elapsed();
            let error = again?;
            wrong = match (streaming.received() > before, &error) {
                (true, _) => 0,
                (false, ClientError::Refused(_)) => wrong + 2,
                (false, _) => wrong + 1,
            };
            if wrong >= PATIENCE {
                return Err(error);
            }
            session.resume(&mut streaming)?;
        }
        out.flush().map_err(ClientError::Output)?;
        out.finish()?;
        self.stats.rows += 1;
        Ok(())
    }

    /// Makes one request. Returns the failure if not all units arrived and another request may
    /// bring the rest.
    fn stream_once(
        &mut self,
        session: &mut Session,
        streaming: &mut StreamRequest,
        out: &mut dyn Write,
        stats: &mut StreamStats,
    ) -> Result<ClientError> {
        let request = streaming.request().clone();
        let (mut failed, mut down) = (None, 0);
        let progress = &self.progress;
        let response = self.servers.first().call_in_pieces(&request, &mut |bytes| {
            down += bytes.len() as u64;
            let before = streaming.received();
            let taken =
                session.take(streaming, bytes, &mut |row| out.write_all(row).map_err(ClientError::Output));
            if streaming.received() > before {
                let (done, total) = (streaming.done_bytes(), streaming.row_bytes());
                progress.notify(Progress { stage: Stage::Row, done, total });
            }
            failed = taken.err();
            failed.is_none()
        });
        let up = request.body.len() as u64;
        self.stats.streams.add(up, down);
        stats.requests += 1;
        stats.up += up;
        stats.down += down;
        if let Some(error) = failed {
            return Err(error);
        }
        match response {
            Ok(response) if session.is_session_expired(&response) => {
                self.register(session, 0)?;
                session.check_stream(&response).map_or_else(Ok, |()| Ok(ended_early()))
            }
            Ok(response) => session.check_stream(&response).map(|()| ended_early()),
            // The time limit applies to one request, and a long row may take several.
            Err(error) if error.is_loss() || matches!(error, TransportError::Timeout(_)) => Ok(error.into()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The error for a response that ends early, which a complete stream ignores.
fn ended_early() -> ClientError {
    TransportError::Lost("the response ended within the row".to_owned()).into()
}
