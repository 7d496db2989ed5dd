//! Measuring one scheme on one table, for a calibration: the shortest of several times, of a single
//! lookup, of lookups that share a pass, with all threads, and of the table in parts. Every answer
//! is checked.

use super::client::BenchClient;
use super::offline;
use super::parts;
use super::resident::ResidentServer;
use crate::content::GeneratedRows;
use crate::definition::Case;
use crate::error::BenchError;
use crate::machine::{Clock, Reader};
use crate::median::{Samples, ns};
use crate::options::{Options, Watcher};
use crate::plan::{CasePlan, PreparedCase};
use sotto_core::{CryptoRng, SchemeEntry};
use sotto_db::CopyBudget;
use sotto_plan::CalibrationSample;
use std::time::{Duration, Instant};

/// Number of lookups that share a pass: the default of a server.
const TOGETHER: usize = 4;

/// Time for repetitions of a figure, of at least three; the shortest counts.
const TIME: Duration = Duration::from_millis(120);
const MIN_REPEATS: usize = 2;
const MAX_REPEATS: usize = 40;

/// Measures a case; `None` if the scheme has no parameters for it.
pub(crate) fn sample(
    case: &Case,
    schemes: &[&'static SchemeEntry],
    options: &Options,
    watcher: Watcher<'_>,
) -> Result<Option<CalibrationSample>, BenchError> {
    let CasePlan::Plan(plan) = PreparedCase::of(case, schemes, options)? else { return Ok(None) };
    let folder = match &options.scratch {
        Some(parent) => tempfile::Builder::new().prefix("sotto-bench-").tempdir_in(parent)?,
        None => tempfile::Builder::new().prefix("sotto-bench-").tempdir()?,
    };
    let mut rng = sotto_prg::system_rng().map_err(|e| BenchError::Entropy(e.to_string()))?;
    let source = GeneratedRows::new(case);
    let threads = options.threads.unwrap_or_else(crate::machine::cores).max(1);
    let start = Instant::now();
    let encoded =
        offline::encode(&PreparedCase { threads, ..(*plan).clone() }, &source, folder.path(), watcher)?;
    let encode = start.elapsed();
    let one = Reader::new(1)?;
    let held = ResidentServer::open(&plan, &encoded.image, &CopyBudget::new(None), &one)?;
    let truth = |row| source.row(row);
    let begin =
        |reader| BenchClient::begin(&plan, held.server.as_ref(), encoded.image.as_ref(), reader, &truth);
    let mut client = begin(&one)?.with_clock(Clock::Processor);
    let alone = shortest(&mut client, 1, &plan, &mut rng)?;
    let pass = shortest(&mut client, TOGETHER, &plan, &mut rng)?;
    let client_ns = ns(client.totals.query.min() + client.totals.recover.min());
    let parts = parts::sample(&plan, held.image.as_ref(), &mut client, &mut rng)?;
    let together = if threads == 1 {
        alone
    } else {
        let all = Reader::new(threads)?;
        shortest(&mut begin(&all)?, 1, &plan, &mut rng)?
    };
    let (costs, lookups) = (&plan.report.costs, plan.packing.records_per_row() as u64);
    Ok(Some(CalibrationSample {
        scheme: plan.entry.id.to_string(),
        rows: case.stored_rows(),
        row_bytes: case.stored_row_bytes(),
        server_ops: (costs.server_ops * lookups).max(1),
        client_ops: (costs.client_ops * lookups).max(1),
        server_ns: ns(alone),
        pass_ns: ns(pass),
        pass_lookups: TOGETHER as u32,
        threads_ns: ns(together),
        client_ns,
        encode_ns: ns(encode),
        parts,
    }))
}

/// The shortest pass of `lookups` lookups, after one that is not counted.
fn shortest(
    client: &mut BenchClient<'_>,
    together: usize,
    plan: &PreparedCase<'_>,
    rng: &mut dyn CryptoRng,
) -> Result<Duration, BenchError> {
    let mut times = Samples::default();
    let mut spent = Duration::ZERO;
    for turn in 0..=MAX_REPEATS {
        let rows: Vec<u64> = (0..together).map(|_| rng.next_u64() % plan.packing.rows()).collect();
        let took = client.pass(&rows, rng)?;
        if turn > 0 {
            times.push(took);
            spent += took;
        }
        if spent > TIME && times.len() >= MIN_REPEATS {
            break;
        }
    }
    Ok(times.min())
}
