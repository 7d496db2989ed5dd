//! One client that queries one server; every answer is compared with the truth.

use super::steps::StepTimer;
use crate::error::BenchError;
use crate::machine::{Clock, Reader};
use crate::median::{Samples, ms};
use crate::plan::PreparedCase;
use crate::report::HintServerCost;
use sotto_core::{
    AnyClient, AnyJoin, AnyPending, AnyServer, AnySession, Budget, CryptoRng, Error, ExpectOrDefault, Image,
    Misuse, Section,
};
use std::time::{Duration, Instant};

/// Bytes given to `absorb` at once, as a client reads them from the network.
const CHUNK: usize = 1 << 20;

/// An open table, with a prepared client.
pub(super) struct BenchClient<'a> {
    plan: &'a PreparedCase<'a>,
    server: &'a dyn AnyServer,
    reader: &'a Reader,
    clock: Clock,
    /// The expected bytes of a row.
    truth: &'a dyn Fn(u64) -> Vec<u8>,
    client: Box<dyn AnyClient>,
    session: AnySession,
    pub(super) keys_bytes: u64,
    /// Time of preparing the client, including artifacts and keys.
    pub(super) prepared: Duration,
    /// Time of making and encoding the keys, which `prepared` includes.
    pub(super) keygen: Duration,
    /// Time in which the server admitted the keys.
    pub(super) admitted: Duration,
    /// Costs of the hints that a server made for the client, where one does.
    pub(super) supplied: Option<HintServerCost>,
    pub(super) tally: ClientTotals,
}

/// Times of the client over all passes, and bytes of the last lookup.
#[derive(Default)]
pub(super) struct ClientTotals {
    pub(super) query: Samples,
    pub(super) recover: Samples,
    pub(super) checked: u64,
    /// Bytes of the last lookup's queries.
    pub(super) up: u64,
    /// Bytes of the last lookup's answers.
    pub(super) down: u64,
}

/// Rows that were recovered right, and their times.
#[derive(Default)]
pub(super) struct TimedRows {
    /// The rows in the order of the request.
    pub(super) rows: Vec<Vec<u8>>,
    /// Time in which the client made the queries.
    pub(super) query: Duration,
    /// The server's pass.
    pub(super) server: Duration,
    /// Time in which the client read the answers.
    pub(super) recover: Duration,
}

/// One open lookup: the row, the queries per record and server, and the pending secrets.
struct OpenLookup {
    row: u64,
    tickets: Vec<AnyPending>,
    queries: Vec<Vec<Vec<u8>>>,
}

impl<'a> BenchClient<'a> {
    /// Prepares a client with the image's artifacts and registers its keys.
    pub(super) fn begin(
        plan: &'a PreparedCase<'a>,
        server: &'a dyn AnyServer,
        image: &dyn Image,
        reader: &'a Reader,
        truth: &'a dyn Fn(u64) -> Vec<u8>,
    ) -> Result<Self, BenchError> {
        let fail = |step, why| BenchError::Scheme { case: plan.label.clone(), step, why };
        let start = Instant::now();
        let (mut client, absorbing) =
            reader.install(|| prepare(plan, image)).map_err(|why| fail("preparing a client", why))?;
        let keys = client.keys();
        let prepared = start.elapsed();
        let supplied = upkeep(server, client.as_mut(), reader).map_err(|why| fail("making hints", why))?;
        let prepared = prepared + supplied.as_ref().map_or(Duration::ZERO, |(_, own)| *own);
        let start = Instant::now();
        let session = server.admit(&keys).map_err(|why| fail("admitting keys", why))?;
        let admitted = start.elapsed();
        let keys_bytes = (keys.len() * plan.entry.query_servers) as u64;
        Ok(BenchClient {
            plan,
            server,
            reader,
            clock: Clock::default(),
            truth,
            client,
            session,
            keys_bytes,
            prepared,
            keygen: if keys.is_empty() { Duration::ZERO } else { prepared.saturating_sub(absorbing) },
            admitted: if keys.is_empty() { Duration::ZERO } else { admitted },
            supplied: supplied.map(|(supplied, _)| supplied),
            tally: ClientTotals::default(),
        })
    }

    /// The client, timed by another clock.
    pub(super) fn by(self, clock: Clock) -> Self {
        BenchClient { clock, ..self }
    }

    /// The client itself, for optional abilities.
    pub(super) fn client(&mut self) -> &mut dyn AnyClient {
        self.client.as_mut()
    }

    /// Switches to another epoch of the table. A session is a function of parameters and keys, so
    /// it stays.
    pub(super) fn turn_to(&mut self, server: &'a dyn AnyServer) {
        self.server = server;
    }

    /// Queries `rows`, answers them in one pass, and checks them. Returns the server's time.
    pub(super) fn pass(&mut self, rows: &[u64], rng: &mut dyn CryptoRng) -> Result<Duration, BenchError> {
        Ok(self.fetch(rows, rng)?.server)
    }

    /// Queries `rows`, answers them in one pass, and returns them with their times.
    pub(super) fn fetch(&mut self, rows: &[u64], rng: &mut dyn CryptoRng) -> Result<TimedRows, BenchError> {
        let label = self.plan.label.clone();
        let fail = |step, why| BenchError::Scheme { case: label.clone(), step, why };
        let mut fetched = TimedRows::default();
        let mut asked = Vec::with_capacity(rows.len());
        for row in rows {
            let (ask, took) = self.ask(*row, rng).map_err(|why| fail("making a query", why))?;
            fetched.query += took;
            asked.push(ask);
        }
        // Servers work at the same time, on machines of their own; here the slower one counts.
        let mut answers: Vec<Vec<Vec<Vec<u8>>>> =
            asked.iter().map(|ask| vec![Vec::new(); ask.tickets.len()]).collect();
        for server in 0..self.plan.entry.query_servers {
            let asks: Vec<(&AnySession, &[u8])> = asked
                .iter()
                .flat_map(|ask| &ask.queries)
                .filter_map(|fan| fan.get(server))
                .map(|query| (&self.session, query.as_slice()))
                .collect();
            let (served, elapsed) = self.reader.install(|| {
                let start = self.clock.start();
                let served = self.server.answer_many(&asks);
                (served, start.elapsed())
            });
            fetched.server = fetched.server.max(elapsed);
            for (place, answer) in answers.iter_mut().flatten().zip(served) {
                place.push(answer.map_err(|why| fail("answering", why))?);
            }
        }
        for (ask, answers) in asked.into_iter().zip(answers) {
            let (row, took) = self.check(ask, &answers)?;
            fetched.recover += took;
            fetched.rows.push(row);
        }
        Ok(fetched)
    }

    /// Fetches rows of different buckets, one of each and in their order, by one query, and checks
    /// them.
    pub(super) fn fetch_batch(
        &mut self,
        rows: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<TimedRows, BenchError> {
        let label = self.plan.label.clone();
        let fail = |step, why| BenchError::Scheme { case: label.clone(), step, why };
        let of_bucket = self.plan.report.records / rows.len().max(1) as u64;
        let place = |(bucket, row): (u64, &u64)| {
            let record = self.plan.packing.records_of(*row).first().map_or(0, |record| record.0);
            record.saturating_sub(bucket * of_bucket)
        };
        let places: Vec<u64> = (0..).zip(rows).map(place).collect();
        let none = || fail("making a query", Misuse::Rule("the scheme has batch queries").into());
        let start = Instant::now();
        let batch = self.client.batch().ok_or_else(none)?;
        let (queries, ticket) =
            batch.query_buckets(&places, rng).map_err(|why| fail("making a query", why))?;
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
        self.tally.up = queries.iter().map(|query| query.len() as u64).sum();
        self.tally.down = answers.iter().map(|answer| answer.len() as u64).sum();
        let start = Instant::now();
        let batch = self.client.batch().ok_or_else(none)?;
        let records =
            batch.recover_buckets(ticket, &answers).map_err(|why| fail("recovering a record", why))?;
        let mut found = Vec::with_capacity(rows.len());
        for (row, record) in rows.iter().zip(records) {
            let wrong = |why: String| BenchError::WrongAnswer { case: label.clone(), row: *row, why };
            let got = self.plan.packing.extract(*row, &[record]).map_err(|why| wrong(why.to_string()))?;
            if got != (self.truth)(*row) {
                return Err(wrong("its bytes differ".to_owned()));
            }
            self.tally.checked += 1;
            found.push(got);
        }
        let recover = start.elapsed();
        self.tally.query.push(query);
        self.tally.recover.push(recover);
        Ok(TimedRows { rows: found, query, server, recover })
    }

    /// The orders of steps that the server supports, if it reports its steps.
    pub(super) fn orders(&self) -> Option<&'static [&'static str]> {
        Some(self.server.steps()?.orders())
    }

    /// Fetches one row in one of the orders, in a pool of its own, and checks it. Returns the
    /// server's steps.
    pub(super) fn by_steps(
        &mut self,
        row: u64,
        order: &str,
        pool: &Reader,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<(&'static str, Duration)>, BenchError> {
        let label = self.plan.label.clone();
        let fail = |step, why| BenchError::Scheme { case: label.clone(), step, why };
        let (ask, _) = self.ask(row, rng).map_err(|why| fail("making a query", why))?;
        let mut all = StepTimer::start();
        let mut answers = Vec::with_capacity(ask.queries.len());
        for fan in &ask.queries {
            let mut answer = |query: &Vec<u8>| {
                let steps = self.server.steps().ok_or(Misuse::Rule("the server reports its steps"))?;
                let (answer, laps) = pool.install(|| {
                    let mut laps = StepTimer::start();
                    let answer = steps.answer(&self.session, query, order, &mut |step| laps.done(step));
                    (answer, laps)
                });
                all.add(&laps);
                answer
            };
            let fan: Result<Vec<_>, Error> = fan.iter().map(&mut answer).collect();
            answers.push(fan.map_err(|why| fail("answering", why))?);
        }
        self.check(ask, &answers)?;
        Ok(all.steps)
    }

    fn ask(&mut self, row: u64, rng: &mut dyn CryptoRng) -> Result<(OpenLookup, Duration), Error> {
        let records = self.plan.packing.records_of(row);
        let (mut tickets, mut queries) = (Vec::new(), Vec::new());
        let start = self.clock.start();
        for record in records {
            if self.client.budget() == Budget::Left(0) {
                upkeep(self.server, self.client.as_mut(), self.reader)?;
            }
            let (fan, ticket) = self.client.query(record, rng)?;
            queries.push(fan);
            tickets.push(ticket);
        }
        let took = start.elapsed();
        self.tally.query.push(took);
        self.tally.up = queries.iter().flatten().map(|q| q.len() as u64).sum();
        Ok((OpenLookup { row, tickets, queries }, took))
    }

    /// Fetches a row from the parts of the table, joins their partial answers, and checks it.
    /// Returns the time of one part's partial answers, and that of joining, for one server.
    pub(super) fn by_parts(
        &mut self,
        row: u64,
        parts: &[Box<dyn AnyServer>],
        join: &dyn AnyJoin,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Duration, Duration), BenchError> {
        let label = self.plan.label.clone();
        let fail = |step, why| BenchError::Scheme { case: label.clone(), step, why };
        let (ask, _) = self.ask(row, rng).map_err(|why| fail("making a query", why))?;
        let (mut partial, mut joining) = (Duration::ZERO, Duration::ZERO);
        let mut answers = Vec::with_capacity(ask.queries.len());
        for fan in &ask.queries {
            let mut answer = |query: &Vec<u8>| {
                let session = &self.session;
                let mut partials = Vec::with_capacity(parts.len());
                let start = self.clock.start();
                for part in parts {
                    let asks = [(session, query.as_slice())];
                    for partial in self.reader.install(|| part.answer_many(&asks)) {
                        partials.push(partial?);
                    }
                }
                partial += start.elapsed() / parts.len().max(1) as u32;
                let start = self.clock.start();
                let answer = self.reader.install(|| join.join(session, query, &partials))?;
                joining += start.elapsed();
                Ok(answer)
            };
            let fan = fan.iter().map(&mut answer).collect::<sotto_core::Result<Vec<_>>>();
            answers.push(fan.map_err(|why| fail("answering in parts", why))?);
        }
        self.check(ask, &answers)?;
        let servers = self.plan.entry.query_servers.max(1) as u32;
        Ok((partial / servers, joining / servers))
    }

    /// Reads an answer and compares it. Returns the row, and the time of reading it.
    fn check(
        &mut self,
        ask: OpenLookup,
        answers: &[Vec<Vec<u8>>],
    ) -> Result<(Vec<u8>, Duration), BenchError> {
        let wrong =
            |why: String| BenchError::WrongAnswer { case: self.plan.label.clone(), row: ask.row, why };
        self.tally.down = answers.iter().flatten().map(|a| a.len() as u64).sum();
        let start = self.clock.start();
        let mut records = Vec::with_capacity(ask.tickets.len());
        for (ticket, answers) in ask.tickets.into_iter().zip(answers) {
            records.push(self.client.recover(ticket, answers).map_err(|why| wrong(why.to_string()))?);
        }
        let got = self.plan.packing.extract(ask.row, &records).map_err(|why| wrong(why.to_string()))?;
        let took = start.elapsed();
        self.tally.recover.push(took);
        let want = (self.truth)(ask.row);
        let differ = got.iter().zip(&want).filter(|(a, b)| a != b).count();
        if got.len() != want.len() || differ > 0 {
            return Err(wrong(format!("{differ} of {} bytes differ", want.len())));
        }
        self.tally.checked += 1;
        Ok((got, took))
    }
}

/// Has the server make hints until no more are due. Returns the server's costs, and the time that
/// the client spent on them.
fn upkeep(
    server: &dyn AnyServer,
    client: &mut dyn AnyClient,
    reader: &Reader,
) -> sotto_core::Result<Option<(HintServerCost, Duration)>> {
    let (Some(supplier), Some(upkeep)) = (server.supplier(), client.upkeep()) else { return Ok(None) };
    let mut supplied = HintServerCost { server_ms: 0.0, up_bytes: 0, down_bytes: 0, orders_count: 0 };
    let mut own = Duration::ZERO;
    loop {
        let start = Instant::now();
        let order = upkeep.order()?;
        own += start.elapsed();
        let Some(order) = order else { return Ok(Some((supplied, own))) };
        let start = Instant::now();
        let supply = reader.install(|| supplier.supply(&order))?;
        supplied.server_ms += ms(start.elapsed());
        supplied.up_bytes += order.len() as u64;
        supplied.down_bytes += supply.len() as u64;
        supplied.orders_count += 1;
        let start = Instant::now();
        upkeep.stock(&supply)?;
        own += start.elapsed();
    }
}

/// A client, and the time in which it absorbed its artifacts.
fn prepare(plan: &PreparedCase<'_>, image: &dyn Image) -> sotto_core::Result<(Box<dyn AnyClient>, Duration)> {
    let mut rng = sotto_prg::system_rng().map_err(|_| Misuse::Rule("a client needs randomness"))?;
    let mut prepare = (plan.entry.prepare)(&plan.params, &mut rng)?;
    let start = Instant::now();
    for need in prepare.needs() {
        for chunk in image
            .section(Section::Public(need.artifact))
            .expect_or_default("what a client needs was encoded")
            .chunks(CHUNK)
        {
            prepare.absorb(need.artifact, chunk)?;
        }
    }
    let absorbing = start.elapsed();
    Ok((prepare.finish()?, absorbing))
}
