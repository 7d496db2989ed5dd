//! Whole proofs: the tables of a tree encoded with a scheme, a row of each fetched privately, and the proof verified.

use super::Run;
use super::groups::{self, Group, GroupPlan};
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
    client: BenchClient<'a>,
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

/// The outcome of measuring a scheme on a stack.
pub(super) enum ProofRun {
    /// Every proof was right.
    Measured(Box<TreeMeasured>),
    /// Nothing was run.
    Skipped { title: String, reason: String },
}

/// Measures a scheme on a stack.
pub(super) fn measure(
    run: &Run<'_>,
    nodes: &Nodes,
    stack: &Stack,
    line: Case,
) -> Result<ProofRun, BenchError> {
    let method = stack.method();
    let title = format!("{}, {}", line.title(), method.name());
    let groups = match groups::plan(run, stack, &line)? {
        GroupPlan::Groups(groups) => groups,
        GroupPlan::NoFit(why) => return Ok(no_parameters(title, &why)),
    };
    let mut plans = Vec::with_capacity(groups.len());
    for Group { case, .. } in &groups {
        match PreparedCase::of(case, run.schemes, run.options)? {
            CasePlan::NoFit(why) => return Ok(no_parameters(title, &why)),
            CasePlan::Plan(plan) => plans.push(plan),
        }
    }
    if let Some(reason) = run.too_large(plan::needed_memory(plans.iter().map(|plan| &**plan))) {
        return Ok(ProofRun::Skipped { title, reason });
    }

    let folder = match &run.options.scratch {
        Some(parent) => tempfile::Builder::new().prefix("sotto-bench-").tempdir_in(parent)?,
        None => tempfile::Builder::new().prefix("sotto-bench-").tempdir()?,
    };
    let name = format!("{} {title}", run.tree_info().name);
    let total = plans.len() as u64;
    let mut encoded = Vec::with_capacity(plans.len());
    for ((i, plan), group) in plans.iter().enumerate().zip(&groups) {
        (run.watcher)(Progress { case: &name, step: "encoding", done: i as u64, total });
        let folder = folder.path().join(i.to_string());
        std::fs::create_dir(&folder)?;
        encoded.push(offline::encode(plan, &MemoryTable(&group.rows), &folder, &|_| ())?);
    }
    let threads = plans.first().map_or(1, |plan| plan.threads);
    let reader = Reader::new(threads)?;
    let copies = CopyBudget::new(None);
    let servers = plans
        .iter()
        .zip(&encoded)
        .map(|(plan, encoded)| ResidentServer::open(plan, &encoded.image, &copies, &reader))
        .collect::<Result<Vec<_>, _>>()?;
    let truths: Vec<_> = groups.iter().map(|group| truth(&group.rows)).collect();
    let mut clients = Vec::with_capacity(plans.len());
    for (i, (((plan, encoded), server), truth)) in
        plans.iter().zip(&encoded).zip(&servers).zip(&truths).enumerate()
    {
        (run.watcher)(Progress { case: &name, step: "preparing clients", done: i as u64, total });
        clients.push(BenchClient::begin(
            plan,
            server.server.as_ref(),
            encoded.image.as_ref(),
            &reader,
            truth,
        )?);
    }
    let mut clients: Vec<GroupClient<'_, '_>> =
        groups.iter().zip(clients).map(|(group, client)| GroupClient { group, client }).collect();

    let mut rng = sotto_prg::system_rng().map_err(|e| BenchError::Entropy(e.to_string()))?;
    let mut times = Times::default();
    for done in 0..=run.repeats() {
        (run.watcher)(Progress {
            case: &name,
            step: "proofs",
            done: done as u64,
            total: run.repeats() as u64 + 1,
        });
        let one = proof(run, nodes, stack, &name, &mut clients, &mut rng)?;
        // The first lookup meets cold caches and unmapped pages: it is checked like any other, but
        // not timed.
        if done > 0 {
            times.push(&one);
        }
    }

    let mut measured = run.blank(method, title);
    let first = plans.first();
    measured.scheme = first.map(|plan| plan.entry.id.to_string());
    measured.set = line.set.clone();
    measured.params = first.map(|plan| plan.literal());
    measured.threads_count = threads;
    measured.tables_count = total;
    measured.lookups_count = stack.visits().len() as u64;
    measured.written_rows_count = groups.iter().map(|group| group.case.rows).sum();
    measured.checked_answers_count = clients.iter().map(|member| member.client.totals.checked).sum();
    measured.checked_proofs_count = run.repeats() as u64 + 1;
    let visits = stack.visits();
    let sum = |of: &dyn Fn(u64, &BenchClient<'_>) -> u64| {
        let each = clients.iter().map(|member| of(member.group.queries(&visits), &member.client));
        Some(each.sum::<u64>())
    };
    let once: u64 = plans.iter().map(|plan| plan.report.costs.artifact_bytes).sum();
    let figures = &mut measured.figures;
    figures.query_ms = Some(ms(times.query.median()));
    figures.extract_ms = Some(ms(times.extract.median()));
    figures.max_server_ms = Some(ms(times.slowest.median()));
    figures.total_server_ms = Some(ms(times.servers.median()));
    figures.once_bytes = sum(&|_, client| client.keys_bytes).map(|keys| keys + once);
    figures.up_bytes = sum(&|queries, client| client.totals.up * queries);
    figures.down_bytes = sum(&|queries, client| client.totals.down * queries);
    Ok(ProofRun::Measured(Box::new(measured)))
}

fn no_parameters(title: String, why: &str) -> ProofRun {
    ProofRun::Skipped { title, reason: format!("no parameters: {why}") }
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
struct ProofTime {
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
    fn push(&mut self, one: &ProofTime) {
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
    clients: &mut [GroupClient<'_, '_>],
    rng: &mut dyn CryptoRng,
) -> Result<ProofTime, BenchError> {
    let leaf = rng.next_u64() % nodes.shape().leaves();
    let start = Instant::now();
    let (rows, plan) = stack.plan(nodes, leaf, rng).map_err(|why| run.failed("indexing a proof", why))?;
    let mut one = ProofTime { query: start.elapsed(), ..ProofTime::default() };
    let visits = stack.visits();
    let mut answers: Vec<Vec<u8>> = vec![Vec::new(); visits.len()];
    for GroupClient { group, client } in clients {
        let visited = visits.iter().zip(&rows).enumerate();
        let visited: Vec<(usize, u64)> =
            visited.filter_map(|(at, (visit, row))| Some((at, group.row(*visit, *row)?))).collect();
        let rows: Vec<u64> = visited.iter().map(|(_, row)| *row).collect();
        let fetched = match group.case.buckets {
            1 => client.fetch(&rows, rng)?,
            _ => client.fetch_batch(&rows, rng)?,
        };
        one.query += fetched.query;
        one.extract += fetched.recover;
        one.slowest = one.slowest.max(fetched.server);
        one.servers += fetched.server;
        for ((at, _), row) in visited.into_iter().zip(fetched.rows) {
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
