//! Fetching rows: in passes, as a batch query, step by step, and from the parts of a table.

use super::BenchClient;
use crate::error::BenchError;
use crate::machine::Reader;
use crate::runner::step_timer::StepTimer;
use sotto_core::{AnyJoin, AnyServer, AnySession, CryptoRng, Error, Misuse};
use std::time::{Duration, Instant};

/// Rows that were recovered right, and their times.
#[derive(Default)]
pub(in crate::runner) struct TimedRows {
    /// The rows in the order of the request.
    pub(in crate::runner) rows: Vec<Vec<u8>>,
    /// Time in which the client made the queries.
    pub(in crate::runner) query: Duration,
    /// The server's pass.
    pub(in crate::runner) server: Duration,
    /// Time in which the client read the answers.
    pub(in crate::runner) recover: Duration,
}

impl BenchClient<'_> {
    /// Queries `rows`, answers them in one pass, and checks them. Returns the server's time.
    pub(in crate::runner) fn pass(
        &mut self,
        rows: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<Duration, BenchError> {
        Ok(self.fetch(rows, rng)?.server)
    }

    /// Queries `rows`, answers them in one pass, and returns them with their times.
    pub(in crate::runner) fn fetch(
        &mut self,
        rows: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<TimedRows, BenchError> {
        let label = self.plan.label.clone();
        let fail = |step, why| BenchError::Scheme { case: label.clone(), step, why };
        let mut fetched = TimedRows::default();
        let mut lookups = Vec::with_capacity(rows.len());
        for row in rows {
            let (lookup, took) = self.query(*row, rng).map_err(|why| fail("making a query", why))?;
            fetched.query += took;
            lookups.push(lookup);
        }
        // Servers work at the same time, on machines of their own; here the slower one counts.
        let mut answers: Vec<Vec<Vec<Vec<u8>>>> =
            lookups.iter().map(|lookup| vec![Vec::new(); lookup.pending.len()]).collect();
        for server in 0..self.plan.entry.query_servers {
            let queries: Vec<(&AnySession, &[u8])> = lookups
                .iter()
                .flat_map(|lookup| &lookup.queries)
                .filter_map(|to_servers| to_servers.get(server))
                .map(|query| (&self.session, query.as_slice()))
                .collect();
            let (served, elapsed) = self.reader.install(|| {
                let start = self.clock.start();
                let served = self.server.answer_many(&queries);
                (served, start.elapsed())
            });
            fetched.server = fetched.server.max(elapsed);
            for (place, answer) in answers.iter_mut().flatten().zip(served) {
                place.push(answer.map_err(|why| fail("answering", why))?);
            }
        }
        for (lookup, answers) in lookups.into_iter().zip(answers) {
            let (row, took) = self.check(lookup, &answers)?;
            fetched.recover += took;
            fetched.rows.push(row);
        }
        Ok(fetched)
    }

    /// Fetches rows of different buckets, one of each and in their order, by one query, and checks
    /// them.
    pub(in crate::runner) fn fetch_batch(
        &mut self,
        rows: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<TimedRows, BenchError> {
        let label = self.plan.label.clone();
        let fail = |step, why| BenchError::Scheme { case: label.clone(), step, why };
        let bucket_records = self.plan.report.records / rows.len().max(1) as u64;
        let in_bucket = |(bucket, row): (u64, &u64)| {
            let record = self.plan.packing.records_of(*row).first().map_or(0, |record| record.0);
            record.saturating_sub(bucket * bucket_records)
        };
        let in_buckets: Vec<u64> = (0..).zip(rows).map(in_bucket).collect();
        let no_batches = || fail("making a query", Misuse::Rule("the scheme has batch queries").into());
        let start = Instant::now();
        let batch = self.client.batch().ok_or_else(no_batches)?;
        let (queries, pending) =
            batch.query_buckets(&in_buckets, rng).map_err(|why| fail("making a query", why))?;
        let query = start.elapsed();
        let mut server = Duration::ZERO;
        let mut answers = Vec::with_capacity(queries.len());
        for query in &queries {
            let (served, elapsed) = self.reader.install(|| {
                let start = Instant::now();
                (self.server.answer_many(&[(&self.session, query.as_slice())]), start.elapsed())
            });
            server = server.max(elapsed);
            for answer in served {
                answers.push(answer.map_err(|why| fail("answering", why))?);
            }
        }
        self.totals.up = queries.iter().map(|query| query.len() as u64).sum();
        self.totals.down = answers.iter().map(|answer| answer.len() as u64).sum();
        let start = Instant::now();
        let batch = self.client.batch().ok_or_else(no_batches)?;
        let records =
            batch.recover_buckets(pending, &answers).map_err(|why| fail("recovering a record", why))?;
        let mut fetched = Vec::with_capacity(rows.len());
        for (row, record) in rows.iter().zip(records) {
            let wrong = |why: String| BenchError::WrongAnswer { case: label.clone(), row: *row, why };
            let got = self.plan.packing.extract(*row, &[record]).map_err(|why| wrong(why.to_string()))?;
            if got != (self.truth)(*row) {
                return Err(wrong("its bytes differ".to_owned()));
            }
            self.totals.checked += 1;
            fetched.push(got);
        }
        let recover = start.elapsed();
        self.totals.query.push(query);
        self.totals.recover.push(recover);
        Ok(TimedRows { rows: fetched, query, server, recover })
    }

    /// The orders of steps that the server supports, if it reports its steps.
    pub(in crate::runner) fn orders(&self) -> Option<&'static [&'static str]> {
        Some(self.server.steps()?.orders())
    }

    /// Fetches one row in one of the orders, in a pool of its own, and checks it. Returns the
    /// server's steps.
    pub(in crate::runner) fn fetch_by_steps(
        &mut self,
        row: u64,
        order: &str,
        pool: &Reader,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<(&'static str, Duration)>, BenchError> {
        let label = self.plan.label.clone();
        let fail = |step, why| BenchError::Scheme { case: label.clone(), step, why };
        let (lookup, _) = self.query(row, rng).map_err(|why| fail("making a query", why))?;
        let mut all = StepTimer::start();
        let mut answers = Vec::with_capacity(lookup.queries.len());
        for to_servers in &lookup.queries {
            let mut answer = |query: &Vec<u8>| {
                let steps = self.server.steps().ok_or(Misuse::Rule("the server reports its steps"))?;
                let (answer, timer) = pool.install(|| {
                    let mut timer = StepTimer::start();
                    let answer = steps.answer(&self.session, query, order, &mut |step| timer.done(step));
                    (answer, timer)
                });
                all.add(&timer);
                answer
            };
            let answered: Result<Vec<_>, Error> = to_servers.iter().map(&mut answer).collect();
            answers.push(answered.map_err(|why| fail("answering", why))?);
        }
        self.check(lookup, &answers)?;
        Ok(all.steps)
    }

    /// Fetches a row from the parts of the table, joins their partial answers, and checks it.
    /// Returns the time of one part's partial answers, and that of joining, for one server.
    pub(in crate::runner) fn fetch_by_parts(
        &mut self,
        row: u64,
        parts: &[Box<dyn AnyServer>],
        join: &dyn AnyJoin,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Duration, Duration), BenchError> {
        let label = self.plan.label.clone();
        let fail = |step, why| BenchError::Scheme { case: label.clone(), step, why };
        let (lookup, _) = self.query(row, rng).map_err(|why| fail("making a query", why))?;
        let (mut partial, mut joining) = (Duration::ZERO, Duration::ZERO);
        let mut answers = Vec::with_capacity(lookup.queries.len());
        for to_servers in &lookup.queries {
            let mut answer = |query: &Vec<u8>| {
                let session = &self.session;
                let mut partials = Vec::with_capacity(parts.len());
                let start = self.clock.start();
                for part in parts {
                    let queries = [(session, query.as_slice())];
                    for partial in self.reader.install(|| part.answer_many(&queries)) {
                        partials.push(partial?);
                    }
                }
                partial += start.elapsed() / parts.len().max(1) as u32;
                let start = self.clock.start();
                let answer = self.reader.install(|| join.join(session, query, &partials))?;
                joining += start.elapsed();
                Ok(answer)
            };
            let answered = to_servers.iter().map(&mut answer).collect::<sotto_core::Result<Vec<_>>>();
            answers.push(answered.map_err(|why| fail("answering in parts", why))?);
        }
        self.check(lookup, &answers)?;
        let servers = self.plan.entry.query_servers.max(1) as u32;
        Ok((partial / servers, joining / servers))
    }
}
