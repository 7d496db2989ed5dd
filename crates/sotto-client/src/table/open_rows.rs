//! Rows of a symmetric table, opened after they were fetched.

use super::Table;
use super::stats::EvaluationStats;
use crate::Result;
use web_time::Instant;

impl Table {
    /// Opens the fetched rows of a symmetric table: requests one evaluation for each, whatever was
    /// fetched.
    pub(super) fn unmask(&mut self, rows: &[u64], fetched: Result<Vec<Vec<u8>>>) -> Result<Vec<Vec<u8>>> {
        if fetched.as_ref().is_err_and(|error| !error.is_hidden_from_server()) {
            return fetched;
        }
        let start = Instant::now();
        let evaluation = self.session.evaluation(rows, fetched, self.line.rng.draw()?)?;
        let response = self.line.servers.call(evaluation.server(), evaluation.request())?;
        let (up, down) = (evaluation.request().body.len() as u64, response.body.len() as u64);
        self.line.stats.evaluations.add(up, down);
        let count = u64::from(evaluation.count());
        let opened = self.session.open(evaluation, &response)?;
        if let Some(last) = &mut self.last {
            let evaluations = last.evaluations.get_or_insert_default();
            evaluations.add(&EvaluationStats { count, up, down, time: start.elapsed() });
        }
        Ok(opened)
    }
}
