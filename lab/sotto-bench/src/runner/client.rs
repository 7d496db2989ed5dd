//! One client that queries one server: in passes, as a batch query, step by step, and from the parts
//! of a table. Every answer is compared with the truth.

use crate::error::BenchError;
use crate::machine::Reader;
use crate::plan::PreparedCase;
use crate::report::HintServerCost;
use crate::timing::{Clock, Samples, ms};
use sotto_core::{
    AnyClient, AnyPending, AnyServer, AnySession, Budget, CryptoRng, Error, ExpectOrDefault, Image, Misuse,
    Section,
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
    pub(super) hint_server: Option<HintServerCost>,
    pub(super) totals: ClientTotals,
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

/// One open lookup: the row, the secrets per record, and the queries per record and server.
struct OpenLookup {
    row: u64,
    pending: Vec<AnyPending>,
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
        let start = Instant::now();
        let (mut client, absorbing) =
            reader.install(|| prepare(plan, image)).map_err(plan.failed("preparing a client"))?;
        let keys = client.keys();
        let prepared = start.elapsed();
        let hints = refill_hints(server, client.as_mut(), reader).map_err(plan.failed("making hints"))?;
        let prepared = prepared + hints.as_ref().map_or(Duration::ZERO, |(_, client_time)| *client_time);
        let start = Instant::now();
        let session = server.admit(&keys).map_err(plan.failed("admitting keys"))?;
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
            hint_server: hints.map(|(cost, _)| cost),
            totals: ClientTotals::default(),
        })
    }

    /// The client, timed by another clock.
    pub(super) fn with_clock(self, clock: Clock) -> Self {
        BenchClient { clock, ..self }
    }

    /// The client, whose server works in the pool of another reader.
    pub(super) fn with_reader(self, reader: &'a Reader) -> Self {
        BenchClient { reader, ..self }
    }

    /// The client itself, for optional abilities.
    pub(super) fn client(&mut self) -> &mut dyn AnyClient {
        self.client.as_mut()
    }

    /// Switches to another epoch of the table. A session is a function of parameters and keys, so
    /// it stays.
    pub(super) fn switch_to(&mut self, server: &'a dyn AnyServer) {
        self.server = server;
    }

    /// Makes the queries of a lookup; returns it with the time that they took.
    fn query(&mut self, row: u64, rng: &mut dyn CryptoRng) -> Result<(OpenLookup, Duration), Error> {
        let records = self.plan.packing.records_of(row);
        let (mut pending, mut queries) = (Vec::new(), Vec::new());
        let start = self.clock.start();
        for record in records {
            if self.client.budget() == Budget::Left(0) {
                refill_hints(self.server, self.client.as_mut(), self.reader)?;
            }
            let (to_servers, secret) = self.client.query(record, rng)?;
            queries.push(to_servers);
            pending.push(secret);
        }
        let took = start.elapsed();
        self.totals.query.push(took);
        self.totals.up = queries.iter().flatten().map(|q| q.len() as u64).sum();
        Ok((OpenLookup { row, pending, queries }, took))
    }

    /// Reads an answer and compares it. Returns the row, and the time of reading it.
    fn check(
        &mut self,
        lookup: OpenLookup,
        answers: &[Vec<Vec<u8>>],
    ) -> Result<(Vec<u8>, Duration), BenchError> {
        let plan = self.plan;
        let wrong = |why: String| plan.wrong(lookup.row, why);
        self.totals.down = answers.iter().flatten().map(|a| a.len() as u64).sum();
        let start = self.clock.start();
        let mut records = Vec::with_capacity(lookup.pending.len());
        for (secret, answers) in lookup.pending.into_iter().zip(answers) {
            records.push(self.client.recover(secret, answers).map_err(|why| wrong(why.to_string()))?);
        }
        let got = self.plan.packing.extract(lookup.row, &records).map_err(|why| wrong(why.to_string()))?;
        let took = start.elapsed();
        self.totals.recover.push(took);
        self.compare(lookup.row, &got)?;
        Ok((got, took))
    }

    /// Compares a row with the truth.
    fn compare(&mut self, row: u64, got: &[u8]) -> Result<(), BenchError> {
        let expected = (self.truth)(row);
        let differ = got.iter().zip(&expected).filter(|(a, b)| a != b).count();
        if got.len() != expected.len() || differ > 0 {
            return Err(self.plan.wrong(row, format!("{differ} of {} bytes differ", expected.len())));
        }
        self.totals.checked += 1;
        Ok(())
    }

    /// A pass of one server over some queries, and its time.
    fn served<'q>(
        &self,
        queries: impl IntoIterator<Item = &'q Vec<u8>>,
    ) -> Result<(Vec<Vec<u8>>, Duration), BenchError> {
        let queries: Vec<(&AnySession, &[u8])> =
            queries.into_iter().map(|query| (&self.session, query.as_slice())).collect();
        let (clock, server) = (self.clock, self.server);
        let (served, elapsed) = self.reader.install(|| {
            let start = clock.start();
            (server.answer_many(&queries), start.elapsed())
        });
        let answers: Result<Vec<_>, Error> = served.into_iter().collect();
        Ok((answers.map_err(self.plan.failed("answering"))?, elapsed))
    }
}

/// Has the server make hints until no more are due. Returns the server's costs, and the time that
/// the client spent on them.
fn refill_hints(
    server: &dyn AnyServer,
    client: &mut dyn AnyClient,
    reader: &Reader,
) -> sotto_core::Result<Option<(HintServerCost, Duration)>> {
    let (Some(hint_server), Some(hint_client)) = (server.hint_server(), client.hint_client()) else {
        return Ok(None);
    };
    let mut cost = HintServerCost { server_ms: 0.0, up_bytes: 0, down_bytes: 0, requests_count: 0 };
    let mut client_time = Duration::ZERO;
    loop {
        let start = Instant::now();
        let request = hint_client.next_hint_request()?;
        client_time += start.elapsed();
        let Some(request) = request else { return Ok(Some((cost, client_time))) };
        let start = Instant::now();
        let response = reader.install(|| hint_server.answer_hint_request(&request))?;
        cost.server_ms += ms(start.elapsed());
        cost.up_bytes += request.len() as u64;
        cost.down_bytes += response.len() as u64;
        cost.requests_count += 1;
        let start = Instant::now();
        hint_client.apply_hint_response(&response)?;
        client_time += start.elapsed();
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

impl BenchClient<'_> {
    /// Queries `rows`, answers them in one pass, and checks them. Returns the server's time.
    pub(super) fn pass(&mut self, rows: &[u64], rng: &mut dyn CryptoRng) -> Result<Duration, BenchError> {
        Ok(self.fetch(rows, rng)?.server)
    }

    /// Queries `rows`, answers them in one pass, and returns them with their times.
    pub(super) fn fetch(&mut self, rows: &[u64], rng: &mut dyn CryptoRng) -> Result<TimedRows, BenchError> {
        let plan = self.plan;
        let mut fetched = TimedRows::default();
        let mut lookups = Vec::with_capacity(rows.len());
        for row in rows {
            let (lookup, took) = self.query(*row, rng).map_err(plan.failed("making a query"))?;
            fetched.query += took;
            lookups.push(lookup);
        }
        // Servers work at the same time, on machines of their own; here the slower one counts.
        let mut answers: Vec<Vec<Vec<Vec<u8>>>> =
            lookups.iter().map(|lookup| vec![Vec::new(); lookup.pending.len()]).collect();
        for server in 0..plan.entry.query_servers {
            let queries = lookups.iter().flat_map(|lookup| &lookup.queries);
            let (served, elapsed) = self.served(queries.filter_map(|to_servers| to_servers.get(server)))?;
            fetched.server = fetched.server.max(elapsed);
            answers.iter_mut().flatten().zip(served).for_each(|(place, answer)| place.push(answer));
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
    pub(super) fn fetch_batch(
        &mut self,
        rows: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<TimedRows, BenchError> {
        let plan = self.plan;
        let bucket_records = self.plan.report.records / rows.len().max(1) as u64;
        let in_bucket = |(bucket, row): (u64, &u64)| {
            let record = self.plan.packing.records_of(*row).first().map_or(0, |record| record.0);
            record.saturating_sub(bucket * bucket_records)
        };
        let in_buckets: Vec<u64> = (0..).zip(rows).map(in_bucket).collect();
        let no_batches =
            || plan.failed("making a query")(Misuse::Rule("the scheme has batch queries").into());
        let start = Instant::now();
        let batch = self.client.batch().ok_or_else(no_batches)?;
        let (queries, pending) =
            batch.query_buckets(&in_buckets, rng).map_err(plan.failed("making a query"))?;
        let query = start.elapsed();
        let mut server = Duration::ZERO;
        let mut answers = Vec::with_capacity(queries.len());
        for query in &queries {
            let (served, elapsed) = self.served([query])?;
            server = server.max(elapsed);
            answers.extend(served);
        }
        self.totals.up = queries.iter().map(|query| query.len() as u64).sum();
        self.totals.down = answers.iter().map(|answer| answer.len() as u64).sum();
        let start = Instant::now();
        let batch = self.client.batch().ok_or_else(no_batches)?;
        let records = batch.recover_buckets(pending, &answers).map_err(plan.failed("recovering a record"))?;
        let mut fetched = Vec::with_capacity(rows.len());
        for (row, record) in rows.iter().zip(records) {
            let got =
                plan.packing.extract(*row, &[record]).map_err(|why| plan.wrong(*row, why.to_string()))?;
            self.compare(*row, &got)?;
            fetched.push(got);
        }
        let recover = start.elapsed();
        self.totals.query.push(query);
        self.totals.recover.push(recover);
        Ok(TimedRows { rows: fetched, query, server, recover })
    }

    /// Fetches one row, whose queries `answer` answers, and checks it.
    pub(super) fn fetch_answered(
        &mut self,
        row: u64,
        answer: &mut dyn FnMut(&AnySession, &[u8]) -> Result<Vec<u8>, Error>,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), BenchError> {
        let plan = self.plan;
        let (lookup, _) = self.query(row, rng).map_err(plan.failed("making a query"))?;
        let mut of_server = |query: &Vec<u8>| answer(&self.session, query);
        let mut of_record = |to_servers: &Vec<Vec<u8>>| to_servers.iter().map(&mut of_server).collect();
        let answers: Result<Vec<Vec<Vec<u8>>>, Error> = lookup.queries.iter().map(&mut of_record).collect();
        self.check(lookup, &answers.map_err(plan.failed("answering"))?)?;
        Ok(())
    }
}
