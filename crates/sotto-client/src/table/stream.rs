//! A row of many megabytes, written down while it comes.

use super::{Driver, Progress, Stage, StreamStats, Table};
use crate::session::{Session, StreamRequest};
use crate::transport::TransportError;
use crate::{ClientError, Result};
use sotto_catalog::{Catalog, CatalogError};
use std::io::{self, Write};
use web_time::Instant;

/// A stream is given up when this much went wrong without a single unit having come in between: a connection
/// that breaks counts 1, and keys that the server has dropped 2. So a server that was restarted is forgiven both,
/// and one that drops keys as soon as they are registered gets them once more.
const PATIENCE: u32 = 4;

impl Table {
    /// Looks up a row by its index, and writes its value to `out` as it comes; neither end holds it whole. For
    /// tables whose scheme answers records in units.
    ///
    /// A connection that breaks is taken up again where it broke off, with the same query; keys that the server has
    /// dropped are registered again. If the table moves on to another epoch before anything came, it is opened
    /// anew and asked once more, as by [`Table::get`]; later that is an error, since rows of two epochs do not mix.
    /// After an error `out` holds the first part of the row.
    ///
    /// # Errors
    /// [`ClientError::CannotStream`]; [`ClientError::Output`] if `out` fails; as [`Table::get`].
    pub fn stream(&mut self, row: u64, out: &mut dyn Write) -> Result<StreamStats> {
        self.stream_row(|_| Ok(row), out)
    }

    /// The same for what a person typed; see [`Table::get_key`].
    ///
    /// # Errors
    /// As [`Table::stream`], and [`CatalogError::NoSuchRow`].
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
                self.line.advance_to_newest(&self.config, &mut self.session)?;
                self.remember_table();
                self.change_keys(1)?;
                self.stream_one(row(self.session.catalog()), out, &mut stats)?;
            }
            outcome => outcome?,
        }
        self.start_preparation_if_low();
        Ok(stats)
    }

    /// One row; where there is none to stream, row 0 comes whole and goes nowhere: see [`crate::wish`].
    fn stream_one(
        &mut self,
        row: Result<u64, CatalogError>,
        out: &mut dyn Write,
        stats: &mut StreamStats,
    ) -> Result<()> {
        match row {
            Ok(row) => self.line.stream(&mut self.session, row, out, stats),
            Err(gone) => {
                self.line.stream(&mut self.session, 0, &mut io::sink(), stats)?;
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

    /// One request. Gives what went wrong if not all is there and another request may bring the rest.
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
                progress.tell(Progress { stage: Stage::Row, done, total });
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
            // The limit of time is for one request, and a long row may take several.
            Err(error) if error.is_loss() || matches!(error, TransportError::Timeout(_)) => Ok(error.into()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Whoever is done does not look at this.
fn ended_early() -> ClientError {
    TransportError::Lost("it ended before the whole row was there".to_owned()).into()
}
