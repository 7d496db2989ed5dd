//! Rows of a symmetric table, opened after they were fetched.

use super::stats::Evaluations;
use super::{LookupStats, Table};
use crate::{ClientError, Result};
use sotto_core::{Error, Misuse};
use web_time::Instant;

impl Table {
    /// Opens rows that were fetched of a table that masks them: by an evaluation for each, asked for whatever was fetched.
    pub(super) fn unmask(&mut self, rows: &[u64], fetched: Result<Vec<Vec<u8>>>) -> Result<Vec<Vec<u8>>> {
        if !went_out(&fetched) {
            return fetched;
        }
        let start = Instant::now();
        let evaluation = self.session.evaluation(rows, fetched, self.line.rng.draw()?)?;
        let response = self.line.servers.call(evaluation.server(), evaluation.request())?;
        let (up, down) = (evaluation.request().body.len() as u64, response.body.len() as u64);
        self.line.stats.evaluations.add(up, down);
        let count = evaluation.count();
        let opened = self.session.open(evaluation, &response)?;
        let evaluations = Some(Evaluations { count, up, down, time: start.elapsed() });
        self.last = self.last.take().map(|last| LookupStats { evaluations, ..last });
        Ok(opened)
    }
}

/// Whether a lookup was answered, though perhaps with nothing that can be read. Of any other failure the server knows, or nothing
/// was sent to it.
fn went_out(fetched: &Result<Vec<Vec<u8>>>) -> bool {
    match fetched.as_ref().map_err(ClientError::root) {
        Ok(_)
        | Err(ClientError::Core(
            Error::Unreadable | Error::Peer(_) | Error::Misuse(Misuse::IndexPastEnd { .. }),
        )) => true,
        Err(_) => false,
    }
}
