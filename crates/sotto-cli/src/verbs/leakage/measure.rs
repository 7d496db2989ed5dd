//! Makes different lookups, and compares what an observer sees of them.
//!
//! As many clients as there are lookups make all of them, each in another order (a Latin square):
//! at each position of the order every lookup occurs once. What is seen there has to be the same
//! whichever lookup it is. So effects of the position alone, such as hints that are made again
//! after a number of lookups, are not mistaken for a leak, and effects of the lookup are not
//! missed.

use super::recording::{Exchange, RecordingTransport, Transcript, TranscriptRecorder};
use super::target::LeakageTarget;
use crate::exit::Exit;
use crate::exit_mapping;
use crate::failure::{Failure, Result};
use crate::screen::bars::{ProgressLine, StageUnit};
use serde::Serialize;
use sotto_catalog::Catalog;
use sotto_client::stack::BatchStack;
use sotto_client::{ClientError, Lookup, LookupResult, Stack, Table};
use sotto_prg::system_rng;

/// The lookup of a trial.
#[derive(Debug, Clone, Serialize)]
pub(super) enum LookupKind {
    Row(u64),
    Bit(u64),
    Key(String),
}

impl LookupKind {
    fn wish(&self) -> Lookup<'_> {
        match self {
            LookupKind::Row(row) => Lookup::Row(*row),
            LookupKind::Bit(bit) => Lookup::Bit(*bit),
            LookupKind::Key(key) => Lookup::Key(key),
        }
    }
}

/// One lookup that every client made.
#[derive(Debug, Serialize)]
pub(super) struct LookupTrial {
    pub(super) what: String,
    pub(super) wanted: LookupKind,
    pub(super) outcome: &'static str,
}

/// Two lookups that look different to an observer.
#[derive(Debug, Serialize)]
pub(super) struct Difference {
    pub(super) one: String,
    pub(super) other: String,
    /// Whether the client's requests differ, and not only the responses.
    pub(super) sent: bool,
    pub(super) one_seen: Transcript,
    pub(super) other_seen: Transcript,
}

/// The measurements.
#[derive(Debug, Serialize)]
pub(super) struct LeakageReport {
    pub(super) tried: Vec<LookupTrial>,
    pub(super) clients: usize,
    /// What is seen of a new client before its first lookup.
    pub(super) opening: Transcript,
    /// What is seen of its first lookup.
    pub(super) lookup: Transcript,
    /// What is seen of one request with two lookups; `None` if that was refused.
    pub(super) two: Option<Transcript>,
    pub(super) apart: Vec<Difference>,
    #[serde(skip)]
    pub(super) catalogs: Vec<Catalog>,
    /// Whether rounds hide the number of lookups.
    #[serde(skip)]
    pub(super) hides_count: bool,
}

/// An open table, or a stack with a batch code.
enum TableOrStack {
    Table(Box<Table>),
    Batch(Box<BatchStack>),
}

impl TableOrStack {
    fn open(place: &LeakageTarget, notes: &TranscriptRecorder) -> Result<Self> {
        let (urls, settings, watch) = (place.urls.clone(), place.settings.clone(), notes.clone());
        if !place.stack {
            let transports =
                RecordingTransport::all(&urls, &settings, false, &watch).map_err(exit_mapping::client)?;
            let table = Table::over_all(transports, &place.name).state_in_memory().open();
            return table.map(|table| TableOrStack::Table(Box::new(table))).map_err(exit_mapping::client);
        }
        let stack = Stack::over(&place.name, move || RecordingTransport::all(&urls, &settings, true, &watch))
            .configure(|builder| builder.state_in_memory())
            .open()
            .map_err(exit_mapping::client)?;
        BatchStack::new(stack).map(|batch| TableOrStack::Batch(Box::new(batch))).map_err(exit_mapping::client)
    }

    fn catalogs(&self) -> Vec<Catalog> {
        match self {
            TableOrStack::Table(table) => vec![table.catalog().clone()],
            TableOrStack::Batch(batch) => {
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
            TableOrStack::Batch(batch) => match batch.layers() {
                sotto_catalog::BatchAccess::Rows { code, .. } => Some(code.sizes().rows),
                _ => None,
            },
        }
    }

    fn get(&mut self, wanted: &[&LookupKind]) -> Result<Vec<&'static str>> {
        let wishes: Vec<Lookup<'_>> = wanted.iter().map(|wanted| wanted.wish()).collect();
        let granted = match self {
            TableOrStack::Table(table) => table.get_each(&wishes),
            TableOrStack::Batch(batch) => batch.get_each(&wishes),
        };
        match granted.map_err(exit_mapping::client) {
            Ok(all) => Ok(all.iter().map(outcome).collect()),
            // The row does not exist, which is known before the query and reported after it.
            Err(failure) if failure.exit == Exit::Missing => Ok(vec![REFUSED; wanted.len()]),
            Err(failure) => Err(failure),
        }
    }
}

const REFUSED: &str = "refused by the client, after its request";

fn outcome(granted: &std::result::Result<LookupResult, ClientError>) -> &'static str {
    match granted {
        Ok(LookupResult { value: Some(_), .. }) => "found",
        Ok(LookupResult { value: None, .. }) => "not in the table",
        Err(_) => REFUSED,
    }
}

/// Makes lookups, the given keys among them.
pub(super) fn measure(place: &LeakageTarget, keys: &[String], bars: &ProgressLine) -> Result<LeakageReport> {
    let notes = TranscriptRecorder::default();
    let mut first = Some(TableOrStack::open(place, &notes)?);
    let opening = notes.take();
    let (catalogs, wanted) = match &first {
        Some(asked) => (asked.catalogs(), wanted(asked.rows(), keys)?),
        None => return Err(Failure::internal("no open client")),
    };
    let count = wanted.len();
    let mut outcomes = vec!["not made"; count];
    let mut seen: Vec<Vec<(usize, Transcript)>> = vec![Vec::new(); count];
    let (mut two, mut hides_count) = (None, false);
    for run in 0..count {
        let mut asked = match first.take() {
            Some(asked) => asked,
            None => TableOrStack::open(place, &notes)?,
        };
        notes.take();
        for (at, seen) in seen.iter_mut().enumerate() {
            bars.at(
                "making lookups",
                (run * count + at) as u64,
                (count * count) as u64,
                StageUnit::Count("lookups"),
            );
            let which = (at + run) % count;
            let Some((_, wish)) = wanted.get(which) else { continue };
            let came = asked.get(&[wish])?;
            if let (Some(slot), Some(came)) = (outcomes.get_mut(which), came.first()) {
                *slot = came;
            }
            seen.push((which, unhindered(notes.take())));
        }
        if let (true, [(_, one), (_, other), ..]) = (run + 1 == count, wanted.as_slice()) {
            two = asked.get(&[one, other]).is_ok().then(|| unhindered(notes.take()));
            hides_count = matches!(asked, TableOrStack::Batch(_));
        }
    }
    let name = |which: usize| wanted.get(which).map_or_else(String::new, |(what, _)| what.clone());
    let apart = seen.iter().filter_map(|place| differ(place, name)).collect();
    let lookup =
        seen.first().and_then(|place| place.first()).map(|(_, seen)| seen.clone()).unwrap_or_default();
    let tried = wanted.into_iter().zip(outcomes);
    let tried = tried.map(|((what, wanted), outcome)| LookupTrial { what, wanted, outcome }).collect();
    Ok(LeakageReport { tried, clients: count, opening, lookup, two, apart, catalogs, hides_count })
}

/// What is seen without the requests that a busy server refused, which are sent again unchanged.
fn unhindered(mut seen: Transcript) -> Transcript {
    seen.values_mut().for_each(|line| line.retain(|exchange| !matches!(exchange.status, 429 | 503)));
    seen
}

/// The first two lookups at one position that differ.
fn differ(place: &[(usize, Transcript)], name: impl Fn(usize) -> String) -> Option<Difference> {
    let (first, usual) = place.first()?;
    let (other, seen) = place.iter().find(|(_, seen)| seen != usual)?;
    let sent = |seen: &Transcript| -> Vec<(String, Vec<(String, u64)>)> {
        let of = |exchange: &Exchange| (exchange.request.clone(), exchange.up_bytes);
        seen.iter().map(|(line, all)| (line.clone(), all.iter().map(of).collect())).collect()
    };
    Some(Difference {
        one: name(*first),
        other: name(*other),
        sent: sent(usual) != sent(seen),
        one_seen: usual.clone(),
        other_seen: seen.clone(),
    })
}

/// The lookups: in a table by row the first, the last, one in between, and a missing one; in a
/// table by key the given keys, and a missing one.
fn wanted(rows: Option<u64>, keys: &[String]) -> Result<Vec<(String, LookupKind)>> {
    let mut rng = system_rng().map_err(|_| exit_mapping::client(ClientError::NoEntropy))?;
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
