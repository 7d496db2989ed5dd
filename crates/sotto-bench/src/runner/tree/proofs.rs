//! Whole proofs: the tables of a tree encoded with a scheme, a row of each fetched privately, and the proof verified.

use super::Run;
use super::groups::{Group, Groups};
use super::nodes::Nodes;
use super::stack::{self, Stack};
use crate::content::RowBytes;
use crate::definition::Case;
use crate::error::BenchError;
use crate::machine::Reader;
use crate::median::{Samples, ms};
use crate::options::Progress;
use crate::plan::{self, CasePlan, PreparedCase};
use crate::report::TreeMeasured;
use crate::runner::client::BenchClient;
use crate::runner::offline;
use crate::runner::resident::ResidentServer;
use sotto_core::{CryptoRng, ExpectOrDefault};
use sotto_db::CopyBudget;
use std::time::{Duration, Instant};

/// A client of the tables of a group.
struct GroupClient<'g, 'a> {
    group: &'g Group<'g>,
    asking: BenchClient<'a>,
}

/// A table in memory.
struct MemoryTable<'a>(&'a [u8]);

impl RowBytes for MemoryTable<'_> {
    fn fill(&self, at: u64, out: &mut [u8]) {
        let from = self.0.get(at as usize..).unwrap_or_default();
        let (inside, beyond) = out.split_at_mut(from.len().min(out.len()));
        inside.copy_from_slice(from.get(..inside.len()).unwrap_or_default());
        beyond.fill(0);
    }

    fn spent(&self) -> Duration {
        Duration::ZERO
    }
}

/// Measures a scheme on a stack; or returns the line and the reason why it did not run.
pub(super) fn measure(
    run: &Run<'_>,
    nodes: &Nodes,
    stack: &Stack,
    line: Case,
) -> Result<Result<TreeMeasured, (String, String)>, BenchError> {
    let way = stack.way();
    let title = format!("{}, {}", line.title(), way.name());
    let groups = match Groups::of(run, stack, &line)? {
        Ok(groups) => groups,
        Err(why) => return Ok(Err((title, format!("no parameters: {why}")))),
    };
    let mut plans = Vec::with_capacity(groups.0.len());
    for Group { case, .. } in &groups.0 {
        match PreparedCase::of(case, run.schemes, run.options)? {
            CasePlan::NoFit(why) => return Ok(Err((title, format!("no parameters: {why}")))),
            CasePlan::Plan(plan) => plans.push(plan),
        }
    }
    if let Some(reason) = run.too_large(plan::needed_memory(plans.iter().map(|plan| &**plan))) {
        return Ok(Err((title, reason)));
    }

    let folder = match &run.options.scratch {
        Some(parent) => tempfile::Builder::new().prefix("sotto-bench-").tempdir_in(parent)?,
        None => tempfile::Builder::new().prefix("sotto-bench-").tempdir()?,
    };
    let name = format!("{} {title}", run.named().name);
    let total = plans.len() as u64;
    let mut encoded = Vec::with_capacity(plans.len());
    for ((i, plan), group) in plans.iter().enumerate().zip(&groups.0) {
        (run.watcher)(Progress { case: &name, step: "encoding", done: i as u64, total });
        let folder = folder.path().join(i.to_string());
        std::fs::create_dir(&folder)?;
        encoded.push(offline::encode(plan, &MemoryTable(&group.rows), &folder, &|_| ())?);
    }
    let threads = plans.first().map_or(1, |plan| plan.threads);
    let reader = Reader::new(threads)?;
    let room = CopyBudget::new(None);
    let servers = plans
        .iter()
        .zip(&encoded)
        .map(|(plan, encoded)| ResidentServer::open(plan, &encoded.image, &room, &reader))
        .collect::<Result<Vec<_>, _>>()?;
    let truths: Vec<_> = groups.0.iter().map(|group| truth(&group.rows)).collect();
    let mut seats = Vec::with_capacity(plans.len());
    for (i, (((plan, encoded), server), truth)) in
        plans.iter().zip(&encoded).zip(&servers).zip(&truths).enumerate()
    {
        (run.watcher)(Progress { case: &name, step: "preparing clients", done: i as u64, total });
        seats.push(BenchClient::begin(plan, server.server.as_ref(), encoded.image.as_ref(), &reader, truth)?);
    }
    let mut seats: Vec<GroupClient<'_, '_>> =
        groups.0.iter().zip(seats).map(|(group, asking)| GroupClient { group, asking }).collect();

    let mut rng = sotto_prg::system_rng().map_err(|e| BenchError::Entropy(e.to_string()))?;
    let mut times = Times::default();
    for done in 0..=run.repeats() {
        (run.watcher)(Progress {
            case: &name,
            step: "proofs",
            done: done as u64,
            total: run.repeats() as u64 + 1,
        });
        let one = proof(run, nodes, stack, &name, &mut seats, &mut rng)?;
        // The first lookup meets cold caches and unmapped pages: it is checked like any other, but
        // not timed.
        if done > 0 {
            times.push(&one);
        }
    }

    let mut found = run.found(way, title);
    let first = plans.first();
    found.scheme = first.map(|plan| plan.entry.id.to_string());
    found.set = line.set.clone();
    found.params = first.map(|plan| plan.literal());
    found.threads_count = threads;
    found.tables_count = total;
    found.lookups_count = stack.visits().len() as u64;
    found.written_rows_count = groups.0.iter().map(|group| group.case.rows).sum();
    found.checked_answers_count = seats.iter().map(|seat| seat.asking.tally.checked).sum();
    found.checked_proofs_count = run.repeats() as u64 + 1;
    let visits = stack.visits();
    let sum = |of: &dyn Fn(u64, &BenchClient<'_>) -> u64| {
        Some(seats.iter().map(|seat| of(seat.group.queries(&visits), &seat.asking)).sum::<u64>())
    };
    let once: u64 = plans.iter().map(|plan| plan.report.costs.artifact_bytes).sum();
    let figures = &mut found.figures;
    figures.query_ms = Some(ms(times.query.median()));
    figures.extract_ms = Some(ms(times.extract.median()));
    figures.max_server_ms = Some(ms(times.slowest.median()));
    figures.total_server_ms = Some(ms(times.servers.median()));
    figures.once_bytes = sum(&|_, seat| seat.keys_bytes).map(|keys| keys + once);
    figures.up_bytes = sum(&|queries, seat| seat.tally.up * queries);
    figures.down_bytes = sum(&|queries, seat| seat.tally.down * queries);
    Ok(Ok(found))
}

/// The expected row of a table.
fn truth(table: &[u8]) -> impl Fn(u64) -> Vec<u8> + use<'_> {
    let width = sotto_layers::color_proof::ROW_BYTES;
    move |row| {
        table.chunks_exact(width).nth(row as usize).expect_or_default("a row is one of the table").to_vec()
    }
}

/// Times of one proof.
#[derive(Default)]
struct One {
    query: Duration,
    extract: Duration,
    slowest: Duration,
    servers: Duration,
}

#[derive(Default)]
struct Times {
    query: Samples,
    extract: Samples,
    slowest: Samples,
    servers: Samples,
}

impl Times {
    fn push(&mut self, one: &One) {
        self.query.push(one.query);
        self.extract.push(one.extract);
        self.slowest.push(one.slowest);
        self.servers.push(one.servers);
    }
}

/// Fetches the proof of a random leaf: planned, fetched table by table, assembled, and compared
/// with the tree.
fn proof(
    run: &Run<'_>,
    nodes: &Nodes,
    stack: &Stack,
    name: &str,
    seats: &mut [GroupClient<'_, '_>],
    rng: &mut dyn CryptoRng,
) -> Result<One, BenchError> {
    let leaf = rng.next_u64() % nodes.shape().leaves();
    let start = Instant::now();
    let (rows, plan) = stack.plan(nodes, leaf, rng).map_err(|why| run.failed("indexing a proof", why))?;
    let mut one = One { query: start.elapsed(), ..One::default() };
    let visits = stack.visits();
    let mut answers: Vec<Vec<u8>> = vec![Vec::new(); visits.len()];
    for GroupClient { group, asking } in seats {
        let own = visits.iter().zip(&rows).enumerate();
        let own: Vec<(usize, u64)> =
            own.filter_map(|(at, (visit, row))| Some((at, group.row(*visit, *row)?))).collect();
        let wanted: Vec<u64> = own.iter().map(|(_, row)| *row).collect();
        let fetched = match group.case.buckets {
            1 => asking.fetch(&wanted, rng)?,
            _ => asking.fetch_batch(&wanted, rng)?,
        };
        one.query += fetched.query;
        one.extract += fetched.recover;
        one.slowest = one.slowest.max(fetched.server);
        one.servers += fetched.server;
        for ((at, _), row) in own.into_iter().zip(fetched.rows) {
            if let Some(place) = answers.get_mut(at) {
                *place = row;
            }
        }
    }
    let start = Instant::now();
    let hashes = stack.assemble(plan, answers).map_err(|why| run.failed("assembling a proof", why))?;
    one.extract += start.elapsed();
    if stack::is_right(nodes, leaf, &hashes) {
        return Ok(one);
    }
    let why = "its proof does not verify against the tree's root".to_owned();
    Err(BenchError::WrongAnswer { case: name.to_owned(), row: leaf, why })
}
