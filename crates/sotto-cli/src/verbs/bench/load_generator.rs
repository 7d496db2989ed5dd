//! Requests whose answers are known, and threads that keep a server busy with them.
//!
//! As in [`super::throughput`], the bytes of a few queries are sent again and again: making queries
//! takes a client's time. Every answer is compared with the first to its query, and every refusal
//! has to say when to come back.

use super::local_server::{http, open, post};
use crate::exit_mapping;
use crate::failure::{Failure, Result};
use sotto_catalog::TableName;
use sotto_client::ClientError;
use sotto_client::transport::{Request, Transport};
use std::time::{Duration, Instant};

/// Number of queries in a pass, as is a server's default, and length of the queue: two passes.
pub(super) const PASS: usize = 8;
pub(super) const QUEUE: usize = 2 * PASS;

/// Number of clients that keep the server busy: a running pass, and a full queue.
pub(super) const BUSY: usize = PASS + QUEUE;

/// The reply to one request.
pub(super) struct Reply {
    pub(super) ms: f64,
    pub(super) admitted: bool,
}

/// The replies within one span of time.
#[derive(Default)]
pub(super) struct ReplyTimes {
    pub(super) admitted: Vec<f64>,
    pub(super) refused: Vec<f64>,
    pub(super) took: Duration,
}

impl ReplyTimes {
    fn of(all: Vec<Reply>, took: Duration) -> Self {
        let mut replies = ReplyTimes { took, ..ReplyTimes::default() };
        for reply in all {
            if reply.admitted { &mut replies.admitted } else { &mut replies.refused }.push(reply.ms);
        }
        replies.admitted.sort_by(f64::total_cmp);
        replies.refused.sort_by(f64::total_cmp);
        replies
    }

    pub(super) fn per_second(&self) -> f64 {
        self.admitted.len() as f64 / self.took.as_secs_f64()
    }
}

/// The 99th percentile of times.
pub(super) fn p99(ms: &[f64]) -> f64 {
    ms.get((ms.len() * 99 / 100).min(ms.len().saturating_sub(1))).copied().unwrap_or(0.0)
}

/// The address of a server, and requests to it whose answers are known.
pub(super) struct LoadGenerator {
    url: String,
    requests: Vec<(Request, Vec<u8>)>,
}

impl LoadGenerator {
    /// Makes requests for some rows, and the answers that belong to them, which are verified.
    pub(super) fn new(url: &str, table: &TableName, rows: u64) -> Result<Self> {
        let mut session = open(&[url], table)?;
        let mut rng = sotto_prg::system_rng().map_err(|_| exit_mapping::client(ClientError::NoEntropy))?;
        let mut requests = Vec::new();
        for at in 0..PASS as u64 {
            let row = at.wrapping_mul(0x9E37_79B9) % rows;
            let mut read = Vec::new();
            // Two queries for a row, under secrets of their own, recover the same bytes.
            for _ in 0..2 {
                let query = session.query(&[row], &mut rng).map_err(exit_mapping::client)?;
                let [request] = query.requests() else {
                    return Err(Failure::internal("expected one request to one server"));
                };
                let request = request.clone();
                let answer = post(&mut http(url)?, &request)?;
                read.push(
                    session.recover(query, std::slice::from_ref(&answer)).map_err(exit_mapping::client)?,
                );
                if read.len() == 1 {
                    requests.push((request, answer.body));
                }
            }
            if read.first() != read.last() {
                return Err(Failure::internal("two queries for one row read different rows"));
            }
        }
        Ok(LoadGenerator { url: url.to_owned(), requests })
    }

    /// Sends a request and checks the reply.
    pub(super) fn send(&self, http: &mut impl Transport, number: usize) -> Result<Reply> {
        let Some((request, due)) = self.requests.get(number % self.requests.len().max(1)) else {
            return Err(Failure::internal("there are no requests"));
        };
        let began = Instant::now();
        let response = http.call(request).map_err(|error| exit_mapping::client(error.into()))?;
        let ms = began.elapsed().as_secs_f64() * 1e3;
        match response.status {
            200 if response.body == *due => Ok(Reply { ms, admitted: true }),
            200 => Err(Failure::internal("an answer differs from the first answer to the same query")),
            429 | 503 if response.retry_after.is_some() => Ok(Reply { ms, admitted: false }),
            status => {
                Err(Failure::internal(format!("the server refuses a query to its own table: {status}")))
            }
        }
    }

    /// Runs `clients` clients, each of which sends its next request when it has been answered.
    pub(super) fn closed(&self, clients: usize, span: Duration) -> Result<ReplyTimes> {
        self.senders(clients, |number, _, since| (since < span).then_some((number, Duration::ZERO)))
    }

    /// Runs threads that send the requests that `next` returns, until it returns none.
    pub(super) fn senders(
        &self,
        threads: usize,
        next: impl Fn(usize, usize, Duration) -> Option<(usize, Duration)> + Sync,
    ) -> Result<ReplyTimes> {
        let began = Instant::now();
        let send = |thread: usize| -> Result<Vec<Reply>> {
            let mut http = http(&self.url)?;
            let mut replies = Vec::new();
            while let Some((number, at)) = next(thread, replies.len(), began.elapsed()) {
                std::thread::sleep(at.saturating_sub(began.elapsed()));
                replies.push(self.send(&mut http, number)?);
            }
            Ok(replies)
        };
        let all = std::thread::scope(|scope| {
            let send = &send;
            let threads: Vec<_> = (0..threads).map(|thread| scope.spawn(move || send(thread))).collect();
            let mut all = Vec::new();
            for thread in threads {
                all.extend(thread.join().map_err(|_| Failure::internal("a client thread panicked"))??);
            }
            Ok::<_, Failure>(all)
        })?;
        Ok(ReplyTimes::of(all, began.elapsed()))
    }
}
