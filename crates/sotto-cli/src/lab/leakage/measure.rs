//! Makes different lookups, and compares what an observer sees of them: which requests, in which
//! order, and the sizes of requests and responses, but not their contents.
//!
//! As many clients as there are lookups make all of them, each in another order (a Latin square):
//! at each position of the order every lookup occurs once. What is seen there has to be the same
//! whichever lookup it is. So effects of the position alone, such as hints that are made again
//! after a number of lookups, are not mistaken for a leak, and effects of the lookup are not
//! missed.

use crate::connect_args::TableOrStack;
use crate::failure::{Exit, Failure, Result};
use crate::lab::leakage::LeakageTarget;
use crate::screen::progress::{ProgressLine, StageUnit};
use schemars::JsonSchema;
use serde::Serialize;
use sotto_catalog::Catalog;
use sotto_client::stack::BatchStack;
use sotto_client::transport::http::{HttpSettings, HttpTransport};
use sotto_client::transport::{Method, Request, Response, Transport, TransportError};
use sotto_client::{ClientError, Lookup, LookupResult, Stack, Table};
use sotto_prg::system_rng;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The lookup of a trial.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) enum LookupKind {
    Row(u64),
    Bit(u64),
    Key(String),
}

impl LookupKind {
    fn as_lookup(&self) -> Lookup<'_> {
        match self {
            LookupKind::Row(row) => Lookup::Row(*row),
            LookupKind::Bit(bit) => Lookup::Bit(*bit),
            LookupKind::Key(key) => Lookup::Key(key),
        }
    }
}

/// One lookup that every client made.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LookupTrial {
    /// Description of the lookup.
    pub(crate) what: String,
    pub(crate) lookup: LookupKind,
    /// What came of it.
    pub(crate) outcome: &'static str,
}

/// Two lookups that look different to an observer.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Difference {
    pub(crate) one: String,
    pub(crate) other: String,
    /// Whether the client's requests differ, and not only the responses.
    pub(crate) sent: bool,
    pub(crate) one_seen: Transcript,
    pub(crate) other_seen: Transcript,
}

/// The measurements.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LeakageReport {
    /// Lookups that every client made.
    pub(crate) tried: Vec<LookupTrial>,
    /// Number of clients.
    pub(crate) clients: usize,
    /// What is seen of a new client before its first lookup.
    pub(crate) opening: Transcript,
    /// What is seen of its first lookup.
    pub(crate) lookup: Transcript,
    /// What is seen of one request with two lookups; `None` if that was refused.
    pub(crate) two: Option<Transcript>,
    /// Lookups that an observer can tell apart; none should be here.
    pub(crate) apart: Vec<Difference>,
    #[serde(skip)]
    pub(crate) catalogs: Vec<Catalog>,
    /// Whether rounds hide the number of lookups.
    #[serde(skip)]
    pub(crate) hides_count: bool,
}

impl TableOrStack {
    fn open(target: &LeakageTarget, notes: &TranscriptRecorder) -> Result<Self> {
        let (urls, settings, watch) = (target.urls.clone(), target.settings.clone(), notes.clone());
        if !target.stack {
            let transports = RecordingTransport::all(&urls, &settings, false, &watch)?;
            let table = Table::over_all(transports, &target.name).state_in_memory().open();
            return table.map(|table| TableOrStack::Table(Box::new(table))).map_err(Failure::from);
        }
        let stack =
            Stack::over(&target.name, move || RecordingTransport::all(&urls, &settings, true, &watch))
                .state_in_memory()
                .open()?;
        BatchStack::new(stack).map(|batch| TableOrStack::Stack(Box::new(batch))).map_err(Failure::from)
    }

    fn catalogs(&self) -> Vec<Catalog> {
        match self {
            TableOrStack::Table(table) => vec![table.catalog().clone()],
            TableOrStack::Stack(batch) => {
                batch.stack().tables().iter().map(|table| table.catalog().clone()).collect()
            }
        }
    }

    fn rows(&self) -> Option<u64> {
        match self {
            TableOrStack::Table(table) => match table.catalog().keyword() {
                Ok(None) => Some(table.catalog().rows),
                _ => None,
            },
            TableOrStack::Stack(batch) => match batch.layers() {
                sotto_catalog::BatchAccess::Rows { code, .. } => Some(code.sizes().rows),
                _ => None,
            },
        }
    }

    fn get(&mut self, kinds: &[&LookupKind]) -> Result<Vec<&'static str>> {
        let lookups: Vec<Lookup<'_>> = kinds.iter().map(|kind| kind.as_lookup()).collect();
        let results = match self {
            TableOrStack::Table(table) => table.get_each(&lookups),
            TableOrStack::Stack(batch) => batch.get_each(&lookups),
        };
        match results.map_err(Failure::from) {
            Ok(all) => Ok(all.iter().map(outcome).collect()),
            // The row does not exist, which is known before the query and reported after it.
            Err(failure) if failure.exit == Exit::Missing => Ok(vec![REFUSED; kinds.len()]),
            Err(failure) => Err(failure),
        }
    }
}

const REFUSED: &str = "refused by the client, after its request";

fn outcome(result: &std::result::Result<LookupResult, ClientError>) -> &'static str {
    match result {
        Ok(LookupResult { value: Some(_), .. }) => "found",
        Ok(LookupResult { value: None, .. }) => "not in the table",
        Err(_) => REFUSED,
    }
}

/// Makes lookups, the given keys among them.
pub(crate) fn measure(target: &LeakageTarget, keys: &[String], bars: &ProgressLine) -> Result<LeakageReport> {
    let notes = TranscriptRecorder::default();
    let mut first = Some(TableOrStack::open(target, &notes)?);
    let opening = notes.take();
    let (catalogs, lookups) = match &first {
        Some(client) => (client.catalogs(), lookups(client.rows(), keys)?),
        None => return Err(Failure::internal("no open client")),
    };
    let count = lookups.len();
    let mut outcomes = vec!["not made"; count];
    let mut positions: Vec<Vec<(usize, Transcript)>> = vec![Vec::new(); count];
    let (mut two, mut hides_count) = (None, false);
    for run in 0..count {
        let mut client = match first.take() {
            Some(client) => client,
            None => TableOrStack::open(target, &notes)?,
        };
        notes.take();
        for (at, transcripts) in positions.iter_mut().enumerate() {
            bars.at(
                "making lookups",
                (run * count + at) as u64,
                (count * count) as u64,
                StageUnit::Count("lookups"),
            );
            let which = (at + run) % count;
            let Some((_, lookup)) = lookups.get(which) else { continue };
            let outcome = client.get(&[lookup])?;
            if let (Some(slot), Some(outcome)) = (outcomes.get_mut(which), outcome.first()) {
                *slot = outcome;
            }
            transcripts.push((which, without_retries(notes.take())));
        }
        if let (true, [(_, one), (_, other), ..]) = (run + 1 == count, lookups.as_slice()) {
            two = client.get(&[one, other]).is_ok().then(|| without_retries(notes.take()));
            hides_count = matches!(client, TableOrStack::Stack(_));
        }
    }
    let name = |which: usize| lookups.get(which).map_or_else(String::new, |(what, _)| what.clone());
    let apart = positions.iter().filter_map(|transcripts| differ(transcripts, name)).collect();
    let lookup = positions.first().and_then(|transcripts| transcripts.first());
    let lookup = lookup.map(|(_, transcript)| transcript.clone()).unwrap_or_default();
    let tried = lookups.into_iter().zip(outcomes);
    let tried = tried.map(|((what, lookup), outcome)| LookupTrial { what, lookup, outcome }).collect();
    Ok(LeakageReport { tried, clients: count, opening, lookup, two, apart, catalogs, hides_count })
}

/// What is seen without the requests that a busy server refused, which are sent again unchanged.
fn without_retries(mut transcript: Transcript) -> Transcript {
    let is_final = |exchange: &Exchange| !matches!(exchange.status, 429 | 503);
    transcript.values_mut().for_each(|exchanges| exchanges.retain(is_final));
    transcript
}

/// The first two lookups at one position that differ.
fn differ(transcripts: &[(usize, Transcript)], name: impl Fn(usize) -> String) -> Option<Difference> {
    let (first, usual) = transcripts.first()?;
    let (other, different) = transcripts.iter().find(|(_, transcript)| transcript != usual)?;
    let sent = |transcript: &Transcript| -> Vec<(String, Vec<(String, u64)>)> {
        let of = |exchange: &Exchange| (exchange.request.clone(), exchange.up_bytes);
        transcript
            .iter()
            .map(|(connection, all)| (connection.clone(), all.iter().map(of).collect()))
            .collect()
    };
    Some(Difference {
        one: name(*first),
        other: name(*other),
        sent: sent(usual) != sent(different),
        one_seen: usual.clone(),
        other_seen: different.clone(),
    })
}

/// The lookups: in a table by row the first, the last, one in between, and a missing one; in a
/// table by key the given keys, and a missing one.
fn lookups(rows: Option<u64>, keys: &[String]) -> Result<Vec<(String, LookupKind)>> {
    let mut rng = system_rng()?;
    let rng: &mut dyn sotto_core::CryptoRng = &mut rng;
    let chance = rng.next_u64();
    let mut all: Vec<(String, LookupKind)> = match rows {
        Some(rows) => {
            let between = chance % rows.max(1);
            vec![
                ("the first row".into(), LookupKind::Row(0)),
                ("the last row".into(), LookupKind::Row(rows.saturating_sub(1))),
                (format!("row {between}, chosen at random"), LookupKind::Row(between)),
                ("a row past the end".into(), LookupKind::Row(rows)),
                ("a bit of the last row".into(), LookupKind::Bit(rows.saturating_sub(1).saturating_mul(8))),
            ]
        }
        None => vec![
            ("a random key".into(), LookupKind::Key(format!("{chance:016x}"))),
            ("an empty key".into(), LookupKind::Key(String::new())),
        ],
    };
    all.extend(keys.iter().map(|key| (format!("the key {key}"), LookupKind::Key(key.clone()))));
    Ok(all)
}

/// One request and its response, without their contents.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub(crate) struct Exchange {
    pub(crate) request: String,
    pub(crate) up_bytes: u64,
    pub(crate) status: u16,
    pub(crate) down_bytes: u64,
}

/// The exchanges on each connection, in order. The tables of a stack are queried at the same time,
/// so each has a connection of its own.
pub(crate) type Transcript = BTreeMap<String, Vec<Exchange>>;

/// A recorder of exchanges, shared by connections.
#[derive(Debug, Clone, Default)]
pub(crate) struct TranscriptRecorder(Arc<Mutex<Transcript>>);

impl TranscriptRecorder {
    /// The exchanges since the last call.
    pub(crate) fn take(&self) -> Transcript {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A recorded connection to a server.
pub(crate) struct RecordingTransport {
    http: HttpTransport,
    server: usize,
    apart: bool,
    notes: TranscriptRecorder,
}

impl RecordingTransport {
    /// Recorded connections to servers, in the order of their roles. With `apart`, each resource
    /// has an entry of its own.
    pub(crate) fn all(
        urls: &[String],
        settings: &HttpSettings,
        apart: bool,
        notes: &TranscriptRecorder,
    ) -> Result<Vec<Box<dyn Transport>>, ClientError> {
        let each = urls.iter().enumerate().map(|(server, url)| {
            let http = HttpTransport::new(url, settings)?;
            Ok(Box::new(RecordingTransport { http, server, apart, notes: notes.clone() })
                as Box<dyn Transport>)
        });
        each.collect()
    }

    fn note(&self, request: &Request, status: u16, down_bytes: u64) {
        let method = match request.method {
            Method::Get => "GET",
            Method::Post => "POST",
        };
        let range = request.range.as_ref().map(|range| format!(" bytes {}-{}", range.start, range.end));
        let text = format!("{method} {}{}", request.path, range.unwrap_or_default());
        let path = request.path.split('?').next().unwrap_or_default();
        let line = if self.apart {
            format!("server {} {path}", self.server)
        } else {
            format!("server {}", self.server)
        };
        let up_bytes = request.body.len() as u64;
        let exchange = Exchange { request: text, up_bytes, status, down_bytes };
        let mut transcript = self.notes.0.lock().unwrap_or_else(PoisonError::into_inner);
        transcript.entry(line).or_default().push(exchange);
    }
}

impl Transport for RecordingTransport {
    fn call(&mut self, request: &Request) -> Result<Response, TransportError> {
        let response = self.http.call(request)?;
        self.note(request, response.status, response.body.len() as u64);
        Ok(response)
    }

    fn call_in_pieces(
        &mut self,
        request: &Request,
        take: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Response, TransportError> {
        let mut down = 0;
        let response = self.http.call_in_pieces(request, &mut |piece| {
            down += piece.len() as u64;
            take(piece)
        })?;
        self.note(request, response.status, down + response.body.len() as u64);
        Ok(response)
    }

    fn origin(&self) -> String {
        self.http.origin()
    }

    fn retries(&self) -> u64 {
        self.http.retries()
    }
}
