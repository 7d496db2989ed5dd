//! Whole proofs: the tables of a tree encoded with a scheme, a row of each fetched privately, and
//! the proof verified. A client queries each table by itself, or all that a proof visits once as the
//! buckets of one table, where a scheme queries those at once.

use crate::definition::Case;
use crate::error::BenchError;
use crate::machine::Reader;
use crate::options::Progress;
use crate::plan;
use crate::plan::{CasePlan, PreparedCase};
use crate::report::{TreeMeasured, TreeSkipped};
use crate::runner::client::BenchClient;
use crate::runner::encode;
use crate::runner::online::ResidentServer;
use crate::runner::tree::stack::{Nodes, Stack};
use crate::runner::tree::{Run, stack};
use crate::timing::{Samples, ms};
use sotto_core::{CryptoRng, ExpectOrDefault};
use sotto_db::CopyBudget;
use sotto_layers::color_proof::ROW_BYTES;
use std::borrow::Cow;
use std::ops::Range;
use std::time::{Duration, Instant};

/// A client of the tables of a group.
struct GroupClient<'g, 'a> {
    group: &'g Group<'g>,
    client: BenchClient<'a>,
}

/// Reads the bytes of a table in memory from a place on; zeroes past the end.
fn fill(table: &[u8], at: u64, out: &mut [u8]) {
    let from = table.get(at as usize..).unwrap_or_default();
    let (inside, beyond) = out.split_at_mut(from.len().min(out.len()));
    inside.copy_from_slice(from.get(..inside.len()).unwrap_or_default());
    beyond.fill(0);
}

/// What a scheme did on a stack.
pub(super) enum ProofsOutcome {
    /// Every proof was right.
    Measured(Box<TreeMeasured>),
    /// Nothing was run.
    Skipped(TreeSkipped),
}

/// Measures a scheme on a stack.
pub(super) fn measure(
    run: &Run<'_>,
    nodes: &Nodes,
    stack: &Stack,
    line: Case,
) -> Result<ProofsOutcome, BenchError> {
    let title = format!("{}, {}", line.title(), run.method.name());
    let skipped = |why| Ok(ProofsOutcome::Skipped(run.skipped(&title, why)));
    let no_parameters = |why| skipped(format!("no parameters: {why}"));
    let groups = match group(run, stack, &line)? {
        Grouping::Groups(groups) => groups,
        Grouping::NoFit(why) => return no_parameters(why),
    };
    let mut plans = Vec::with_capacity(groups.len());
    for Group { case, .. } in &groups {
        match PreparedCase::of(case, run.schemes, run.options)? {
            CasePlan::NoFit(why) => return no_parameters(why),
            CasePlan::Plan(plan) => plans.push(plan),
        }
    }
    if let Some(reason) = run.too_large(plan::needed_memory(plans.iter().map(|plan| &**plan))) {
        return skipped(reason);
    }

    let folder = run.options.folder()?;
    let name = format!("{} {title}", run.tree_info().name);
    let total = plans.len() as u64;
    let mut encoded = Vec::with_capacity(plans.len());
    for ((i, plan), group) in plans.iter().enumerate().zip(&groups) {
        (run.watcher)(Progress { case: &name, step: "encoding", done: i as u64, total });
        let folder = folder.path().join(i.to_string());
        std::fs::create_dir(&folder)?;
        encoded.push(encode::encode(plan, &|at, out| fill(&group.rows, at, out), &folder, &|_| ())?);
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

    let mut rng = sotto_prg::system_rng()?;
    let mut times = Vec::new();
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
            times.push(one);
        }
    }

    let mut measured = run.blank(title);
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
    let median = |of: fn(&ProofTime) -> Duration| {
        let mut samples = Samples::default();
        times.iter().for_each(|one| samples.push(of(one)));
        Some(ms(samples.median()))
    };
    figures.query_ms = median(|one| one.query);
    figures.extract_ms = median(|one| one.extract);
    figures.max_server_ms = median(|one| one.slowest);
    figures.total_server_ms = median(|one| one.servers);
    figures.once_bytes = sum(&|_, client| client.keys_bytes).map(|keys| keys + once);
    figures.up_bytes = sum(&|queries, client| client.totals.up * queries);
    figures.down_bytes = sum(&|queries, client| client.totals.down * queries);
    Ok(ProofsOutcome::Measured(Box::new(measured)))
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

/// Tables that are encoded as one.
struct Group<'a> {
    /// The numbers of the tables in the stack.
    tables: Range<usize>,
    /// Rows of the tables, one table after the other.
    rows: Cow<'a, [u8]>,
    case: Case,
}

/// Tables of a stack as a scheme encodes them.
enum Grouping<'a> {
    /// All tables, in groups.
    Groups(Vec<Group<'a>>),
    /// The scheme has no parameters for a group, for this reason.
    NoFit(String),
}

/// Groups the tables of a stack for a scheme.
fn group<'a>(run: &Run<'_>, stack: &'a Stack, line: &Case) -> Result<Grouping<'a>, BenchError> {
    let tables = stack.tables();
    let alone = |i: usize, table: &'a Vec<u8>| Group {
        tables: i..i + 1,
        rows: Cow::Borrowed(table),
        case: Case { rows: (table.len() / ROW_BYTES) as u64, ..line.clone() },
    };
    let visits = stack.visits();
    let once = |i: &usize| visits.iter().filter(|visit| *visit == i).count() == 1;
    let buckets = (0..tables.len()).take_while(once).count();
    let longest = tables.iter().take(buckets).map(|table| table.len() / ROW_BYTES).max().unwrap_or(0) as u64;
    let case = Case { rows: longest * buckets as u64, buckets: buckets as u64, ..line.clone() };
    if buckets < 2 || !crate::plan::queries_buckets(&case, run.schemes) {
        let groups = tables.iter().enumerate().map(|(i, table)| alone(i, table));
        return Ok(Grouping::Groups(groups.collect()));
    }
    let each = match PreparedCase::of(&case, run.schemes, run.options)? {
        CasePlan::NoFit(why) => return Ok(Grouping::NoFit(why)),
        // As many rows as fit the records of a bucket.
        CasePlan::Plan(plan) => plan.packing.capacity() / buckets as u64,
    };
    let mut rows = Vec::with_capacity(buckets * each as usize * ROW_BYTES);
    for (i, table) in tables.iter().take(buckets).enumerate() {
        rows.extend_from_slice(table);
        rows.resize((i + 1) * each as usize * ROW_BYTES, 0);
    }
    let case = Case { rows: each * buckets as u64, ..case };
    let first = Group { tables: 0..buckets, rows: Cow::Owned(rows), case };
    let others = tables.iter().enumerate().skip(buckets).map(|(i, table)| alone(i, table));
    Ok(Grouping::Groups(std::iter::once(first).chain(others).collect()))
}

impl Group<'_> {
    /// The row of a visit to a table, if it is in this group.
    fn row(&self, table: usize, row: u64) -> Option<u64> {
        let bucket = self.tables.clone().position(|own| own == table)?;
        Some(bucket as u64 * (self.case.rows / self.case.buckets) + row)
    }

    /// Number of queries of a proof.
    fn queries(&self, visits: &[usize]) -> u64 {
        let visits = visits.iter().filter(|visit| self.tables.contains(visit)).count() as u64;
        visits / self.case.buckets
    }
}
