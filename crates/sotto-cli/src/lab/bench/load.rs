//! Servers on loopback for benchmarks, sessions with them that store nothing, requests whose answers
//! are known, and threads that keep a server busy with them; and a server's counters.
//!
//! A real client would spend this machine's time and memory bandwidth on its own half. So a client makes
//! a few queries, and their bytes are sent again and again; to the server they are queries like any
//! other. Every answer is compared with the first to its query, and every refusal has to say when to
//! come back. The first answers are decrypted: another query for the row, under another secret, must
//! read the same bytes, which answers that are wrong do not.

use crate::failure::{Failure, Result};
use sotto_catalog::TableName;
use sotto_client::Session;
use sotto_client::session::{RequestIo, SetupConfig};
use sotto_client::transport::http::{HttpSettings, HttpTransport};
use sotto_client::transport::{Request, Response, Transport};
use sotto_core::Misuse;
use sotto_db::{ImageFile, TableDir};
use sotto_server::{RunningServer, TableStatus};
use sotto_wire::SessionId;
use sotto_wire::query::replace_session;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Number of queries in a pass, as is a server's default, and length of the queue: two passes.
pub(crate) const PASS: usize = 8;
pub(crate) const QUEUE: usize = 2 * PASS;

/// Number of clients that keep the server busy: a running pass, and a full queue.
pub(crate) const BUSY: usize = PASS + QUEUE;

/// The reply to one request.
pub(crate) struct Reply {
    pub(crate) ms: f64,
    pub(crate) admitted: bool,
}

/// The replies within one span of time.
#[derive(Default)]
pub(crate) struct ReplyTimes {
    pub(crate) admitted: Vec<f64>,
    pub(crate) refused: Vec<f64>,
    pub(crate) took: Duration,
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

    pub(crate) fn per_second(&self) -> f64 {
        self.admitted.len() as f64 / self.took.as_secs_f64()
    }
}

/// The time below which this share of sorted times stays; 0 without times.
pub(crate) fn percentile(ms: &[f64], share: f64) -> f64 {
    let index = (ms.len() as f64 * share) as usize;
    ms.get(index.min(ms.len().saturating_sub(1))).copied().unwrap_or(0.0)
}

pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Requests to the first server of a table whose answers are known.
pub(crate) struct LoadGenerator {
    requests: Vec<(Request, Vec<u8>)>,
    /// Registers the keys that the requests are encrypted under, if the scheme has keys.
    registration: Option<Request>,
}

impl LoadGenerator {
    /// Makes requests for `count` rows, and the answers that belong to them, which are verified. `urls`
    /// are all servers of the table's scheme.
    pub(crate) fn new(urls: &[&str], table: &TableName, rows: u64, count: usize) -> Result<Self> {
        let mut session = open(urls, table)?;
        let mut rng = sotto_prg::system_rng()?;
        let mut requests = Vec::new();
        for at in 0..count as u64 {
            let row = at.wrapping_mul(0x9E37_79B9) % rows;
            let mut read = Vec::new();
            // Two queries for a row, under secrets of their own, recover the same bytes.
            for _ in 0..2 {
                let query = session.query(&[row], &mut rng)?;
                let sent = urls.iter().zip(query.requests());
                let answers = sent.map(|(url, request)| post(&mut http(url)?, request));
                let answers = answers.collect::<Result<Vec<_>>>()?;
                let (Some(request), Some(answer)) = (query.requests().first(), answers.first()) else {
                    return Err(Failure::usage("lookups in a downloadable table ask no server")
                        .fix("give a table of another scheme"));
                };
                if read.is_empty() {
                    requests.push((request.clone(), answer.body.clone()));
                }
                read.push(session.recover(query, &answers)?);
            }
            if read.first() != read.last() {
                return Err(Failure::internal("two queries for one row read different rows"));
            }
        }
        Ok(LoadGenerator { requests, registration: session.registration(0) })
    }

    /// The same requests for another server of the same table, which has to answer the same. It knows
    /// no session of the first one, so the keys are registered with it too.
    pub(crate) fn for_server(&self, url: &str) -> Result<Self> {
        let mut http = http(url)?;
        let mut load =
            LoadGenerator { requests: self.requests.clone(), registration: self.registration.clone() };
        if let Some(registration) = &load.registration {
            let id = <[u8; 16]>::try_from(post(&mut http, registration)?.body.as_slice());
            let id = SessionId(id.map_err(|_| Failure::internal("a session id has another length"))?);
            for (request, _) in &mut load.requests {
                replace_session(&mut request.body, &id);
            }
        }
        (0..load.requests.len()).try_for_each(|number| load.send(&mut http, number).map(drop))?;
        Ok(load)
    }

    /// Sends a request and checks the reply.
    pub(crate) fn send(&self, http: &mut impl Transport, number: usize) -> Result<Reply> {
        let Some((request, due)) = self.requests.get(number % self.requests.len().max(1)) else {
            return Err(Failure::internal("there are no requests"));
        };
        let began = Instant::now();
        let response = http.call(request)?;
        let ms = began.elapsed().as_secs_f64() * 1e3;
        match response.status {
            200 if response.body == *due => Ok(Reply { ms, admitted: true }),
            200 => Err(Failure::internal("an answer differs from the first answer to the same query")),
            429 | 503 if response.retry_after.is_some() => Ok(Reply { ms, admitted: false }),
            status => Err(refusal(status)),
        }
    }

    /// Runs `clients` clients, each of which sends its next request when it has been answered.
    pub(crate) fn closed(&self, url: &str, clients: usize, span: Duration) -> Result<ReplyTimes> {
        self.senders(url, clients, |number, _, since| (since < span).then_some((number, Duration::ZERO)))
    }

    /// Runs threads that send the requests that `next` returns, until it returns none.
    pub(crate) fn senders(
        &self,
        url: &str,
        threads: usize,
        next: impl Fn(usize, usize, Duration) -> Option<(usize, Duration)> + Sync,
    ) -> Result<ReplyTimes> {
        let began = Instant::now();
        let send = |thread: usize| -> Result<Vec<Reply>> {
            let mut http = http(url)?;
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

/// The address of a server.
pub(crate) fn url(server: &RunningServer) -> String {
    format!("http://{}", server.public)
}

pub(crate) fn http(url: &str) -> Result<HttpTransport> {
    HttpTransport::new(url, &HttpSettings::default()).map_err(Failure::from)
}

fn post(http: &mut HttpTransport, request: &Request) -> Result<Response> {
    let response = http.call(request)?;
    if !response.is_success() {
        return Err(refusal(response.status));
    }
    Ok(response)
}

fn refusal(status: u16) -> Failure {
    Failure::internal(format!("the server refuses a query to its own table: {status}"))
}

/// The newest image in a folder, of a scheme with one server.
pub(crate) fn image_of_one_server(dir: &Path) -> Result<Arc<ImageFile>> {
    let image = TableDir::open(dir).and_then(|dir| dir.open_latest())?;
    let (scheme, servers) = (&image.catalog().scheme, image.catalog().servers);
    if servers != 1 {
        let why = format!("scheme {scheme} has {servers} servers, expected 1");
        return Err(Failure::usage(why).fix("give a table of a scheme with one server"));
    }
    Ok(image)
}

/// Waits until a server has verified its tables: before that it answers no queries.
pub(crate) fn read_through(server: &RunningServer) -> Result<()> {
    loop {
        let standings = server.tables();
        for (name, standing) in &standings {
            if let TableStatus::Refused(why) = standing {
                return Err(Failure::internal(format!("the server refuses table {name}: {why}")));
            }
        }
        if !standings.iter().any(|(_, standing)| matches!(standing, TableStatus::Reading(..))) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Opens a session that stores nothing.
pub(crate) fn open(urls: &[&str], table: &TableName) -> Result<Session> {
    let mut https = urls.iter().map(|url| http(url)).collect::<Result<Vec<_>>>()?;
    let mut rng = sotto_prg::system_rng()?;
    let count = u8::try_from(urls.len()).unwrap_or(u8::MAX);
    // The queries of a benchmark are no secret, and its hints end with it.
    let config = SetupConfig { servers: count, in_memory: true, ..SetupConfig::new(table.clone()) };
    let mut refused = None;
    let mut io = RequestIo::new(&mut rng, |server, request| {
        let Some(http) = https.get_mut(usize::from(server)) else {
            return Err(sotto_core::Error::from(Misuse::Rule("a request without a server")).into());
        };
        let response = http.call(request)?;
        if !response.is_success() {
            refused = Some(response.status);
        }
        Ok(response)
    });
    let opened = Session::establish(config, &mut io);
    match (opened, refused) {
        (Err(_), Some(status)) => Err(refusal(status)),
        (opened, _) => Ok(opened?),
    }
}

/// Two of the server's counters, summed over tables.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Counters {
    queries: u64,
    passes: u64,
}

impl Counters {
    /// Reads `/metrics`. The server is on loopback, so a plain request is enough.
    pub(crate) fn read(admin: SocketAddr) -> Result<Self> {
        let fetch = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect(admin)?;
            stream.set_read_timeout(Some(Duration::from_secs(5)))?;
            stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
            let mut text = String::new();
            stream.take(1 << 20).read_to_string(&mut text)?;
            Ok(text)
        };
        let failed = |error| Failure::internal(format!("cannot read the server's metrics: {error}"));
        Ok(Counters::parse(&fetch().map_err(failed)?))
    }

    /// Average number of queries that shared one pass, from `before` to now.
    pub(crate) fn batch_since(&self, before: &Counters) -> f64 {
        let passes = self.passes.saturating_sub(before.passes).max(1);
        self.queries.saturating_sub(before.queries) as f64 / passes as f64
    }

    fn parse(text: &str) -> Self {
        let sum = |name: &str| {
            let samples = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('{'));
            samples.filter_map(|sample| sample.rsplit(' ').next()?.parse::<u64>().ok()).sum()
        };
        Counters { queries: sum("sotto_queries_total"), passes: sum("sotto_passes_total") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_summed_over_tables() {
        let text = "HTTP/1.1 200 OK\r\n\r\n# TYPE sotto_passes counter\nsotto_passes_total{table=\"a\"} 3\n\
                    sotto_passes_total{table=\"b\"} 4\nsotto_queries_total{table=\"a\"} 20\n\
                    sotto_query_requests_total{table=\"a\"} 9\n";
        assert_eq!(Counters::parse(text), Counters { queries: 20, passes: 7 });
        let before = Counters { queries: 10, passes: 2 };
        assert_eq!(Counters { queries: 20, passes: 7 }.batch_since(&before), 2.0);
        assert_eq!(before.batch_since(&before), 0.0);
    }
}
