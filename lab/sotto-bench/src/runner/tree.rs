//! Trees of hashes: the places of their nodes, and proofs that are fetched privately and verified.
//!
//! | module | contents |
//! |---|---|
//! | `stack` | a tree's hashes, its tables, and the rows of a proof |
//! | `proofs` | whole proofs, by a scheme |

mod proofs;
mod stack;

use crate::definition::{Case, Measure, ProofMethod, TreeTask};
use crate::error::BenchError;
use crate::options::{Options, Progress, Watcher};
use crate::report::{self, Tree, TreeMeasured, TreeSkipped, Trees};
use crate::timing::{Samples, ms};
use proofs::ProofsOutcome;
use sotto_core::{CryptoRng, Layer, Result, SchemeEntry};
use sotto_layers::batch_code::permutation::Placement;
use sotto_pages::memory;
use sotto_prg::PublicSeed;
use sotto_tree::{ColorSlot, Coloring, PerfectTree};
use stack::{Nodes, Stack};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Seed of every generated tree and batch code.
const SEED: PublicSeed = PublicSeed(*b"sotto bench: hashes of all trees");

/// Memory for the program itself.
const MARGIN_BYTES: u64 = 512 << 20;

/// Runs the cases of a turn: the lines of one tree and method.
pub(super) fn run(
    lines: &[Case],
    schemes: &[&'static SchemeEntry],
    options: &Options,
    watcher: Watcher<'_>,
    trees: &mut Trees,
) -> Result<(), BenchError> {
    let Some((case, TreeTask { shape, measure, method })) =
        lines.first().and_then(|case| case.tree.map(|tree| (case, tree)))
    else {
        return Ok(());
    };
    let run = Run { case, shape, measure, method, schemes, options, watcher };
    if let Some(reason) = run.refusal() {
        trees.skipped.push(run.skipped(method.name(), reason));
        return Ok(());
    }
    match measure {
        Measure::Setup => trees.measured.push(measure_setup(&run)?),
        Measure::Index => trees.measured.push(measure_index(&run)?),
        // Proofs by every scheme, from the same tables.
        Measure::Proofs => {
            let nodes = Nodes::new(shape);
            let stack = Stack::new(&nodes, method).map_err(|why| run.failed("laying out a tree", why))?;
            for line in run.lines(lines) {
                match proofs::measure(&run, &nodes, &stack, line)? {
                    ProofsOutcome::Measured(measured) => trees.measured.push(*measured),
                    ProofsOutcome::Skipped(skipped) => trees.skipped.push(skipped),
                }
            }
        }
    }
    Ok(())
}

/// One tree, and one method of its proofs.
struct Run<'a> {
    /// The first line.
    case: &'a Case,
    shape: PerfectTree,
    measure: Measure,
    method: ProofMethod,
    schemes: &'a [&'static SchemeEntry],
    options: &'a Options,
    watcher: Watcher<'a>,
}

impl Run<'_> {
    /// The lines that are given, or one for each scheme with one server.
    fn lines(&self, given: &[Case]) -> Vec<Case> {
        if !self.case.scheme.is_empty() {
            return given.to_vec();
        }
        let alone = self.schemes.iter().filter(|entry| entry.servers == 1);
        alone.map(|entry| Case { scheme: entry.id.0.to_owned(), ..self.case.clone() }).collect()
    }

    /// The reason why a tree is not run here, if any. The memory of a scheme is part of its tables'
    /// plans.
    fn refusal(&self) -> Option<String> {
        if self.case.full && !self.options.full {
            return Some("takes minutes: give --full".to_owned());
        }
        let nodes = self.shape.nodes();
        let needed = match (self.measure, self.method) {
            (Measure::Setup, _) if nodes >= u32::MAX.into() => {
                return Some("not measured: node numbers have 32 bits".to_owned());
            }
            (Measure::Setup, ProofMethod::Colors) => nodes.saturating_mul(4),
            (Measure::Setup, ProofMethod::Buckets) | (Measure::Index, _) => 0,
            // The hashes, their tables, and a copy while a table is passed to an encoder.
            (Measure::Proofs, ProofMethod::Colors) => nodes.saturating_mul(3 * 32),
            (Measure::Proofs, ProofMethod::Buckets) => {
                let copies = stack::sizes(self.shape).map_or(1, |sizes| sizes.copies + 1);
                nodes.saturating_mul(32 * (2 + copies as u64))
            }
        };
        self.too_large(needed)
    }

    /// The refusal of a tree that does not fit the memory.
    fn too_large(&self, needed: u64) -> Option<String> {
        let needed = needed.saturating_add(MARGIN_BYTES);
        let available = memory::available().filter(|free| *free < needed)?;
        let (needs, has) = (report::bytes(needed), report::bytes(available));
        Some(format!("does not fit: needs {needs} of memory, {has} is available"))
    }

    fn repeats(&self) -> usize {
        if self.options.quick { self.case.lookups.min(3) } else { self.case.lookups }
    }

    fn tree_info(&self) -> Tree {
        Tree::of(self.shape)
    }

    /// Results without figures.
    fn blank(&self, title: String) -> TreeMeasured {
        TreeMeasured::new(self.tree_info(), self.method.name(), title, self.repeats())
    }

    fn skipped(&self, line: &str, reason: String) -> TreeSkipped {
        TreeSkipped { tree: self.tree_info(), line: line.to_owned(), reason }
    }

    fn failed(&self, step: &'static str, why: sotto_core::Error) -> BenchError {
        BenchError::Scheme { case: self.tree_info().name, step, why }
    }
}

/// Rows that are found at a time.
const ROWS: usize = 1 << 16;

/// Measures writing the places of all nodes, which the papers' programs compute first, on one thread.
fn measure_setup(run: &Run<'_>) -> Result<TreeMeasured, BenchError> {
    let (mut made, mut written) = (Samples::default(), Samples::default());
    let name = run.tree_info().name;
    let repeats = run.repeats();
    let mut nodes = 0;
    for done in 0..=repeats {
        let step = run.method.name();
        (run.watcher)(Progress { case: &name, step, done: done as u64, total: repeats as u64 + 1 });
        let (first, all, count) = match run.method {
            ProofMethod::Colors => colors(run),
            ProofMethod::Buckets => buckets(run),
        }
        .map_err(|why| run.failed("listing the places of nodes", why))?;
        nodes = count;
        // The first time meets memory that was never touched, and is not counted.
        if done > 0 || repeats == 1 {
            made.push(first);
            written.push(all);
        }
    }
    let mut measured = run.blank(run.method.name().to_owned());
    measured.written_rows_count = nodes;
    measured.figures.made_ms = Some(ms(made.median()));
    measured.figures.setup_ms = Some(ms(written.median()));
    Ok(measured)
}

/// Makes the coloring, and writes all numbers of all colors' nodes.
fn colors(run: &Run<'_>) -> Result<(Duration, Duration, u64)> {
    let start = Instant::now();
    let coloring = Coloring::new(black_box(run.shape));
    let made = start.elapsed();
    let classes = black_box(coloring.classes()?);
    let all = start.elapsed();
    Ok((made, all, classes.iter().map(|class| class.len() as u64).sum()))
}

/// Makes the code, and finds the row at every place of every bucket. The rows are not stored, since
/// nothing needs the list.
fn buckets(run: &Run<'_>) -> Result<(Duration, Duration, u64)> {
    let start = Instant::now();
    let code = stack::code(black_box(run.shape))?;
    let placement = Placement::new(&code);
    let made = start.elapsed();
    let mut rows = vec![0; ROWS.min(code.bucket_rows() as usize)];
    let mut count = 0;
    for bucket in 0..code.buckets() {
        let mut from = 0;
        while from < code.bucket_rows() {
            let take = rows.len().min((code.bucket_rows() - from) as usize);
            let (rows, _) = rows.split_at_mut(take);
            placement.rows(bucket, from, rows)?;
            black_box(&rows);
            from += take as u64;
        }
        count += code.bucket_rows();
    }
    Ok((made, start.elapsed(), count))
}

/// Proofs timed together: one alone is too short for the clock.
const TOGETHER: u32 = 50;

/// Measures finding the places of one proof's rows, as the client does, on one thread.
fn measure_index(run: &Run<'_>) -> Result<TreeMeasured, BenchError> {
    let name = run.tree_info().name;
    (run.watcher)(Progress { case: &name, step: run.method.name(), done: 0, total: 0 });
    let mut rng = sotto_prg::system_rng()?;
    let mut measured = run.blank(run.method.name().to_owned());
    let failed = |why| run.failed("indexing a proof", why);
    match run.method {
        ProofMethod::Colors => {
            let coloring = Coloring::new(run.shape);
            let binary = run.shape.arity() == 2;
            let mut places: Vec<ColorSlot> = Vec::new();
            let known = each(run, &mut rng, |leaf, _| {
                if binary {
                    coloring.copath_into(leaf, &mut places)
                } else {
                    coloring.path_into(leaf, &mut places)
                }?;
                black_box(&places);
                Ok(())
            });
            let secret = each(run, &mut rng, |leaf, _| {
                black_box(if binary { coloring.secret_copath(leaf) } else { coloring.secret_path(leaf) }?);
                Ok(())
            });
            measured.figures.known_index_ms = Some(ms(known.map_err(failed)?));
            measured.figures.index_ms = Some(ms(secret.map_err(failed)?));
        }
        ProofMethod::Buckets => {
            let code = stack::code(run.shape).map_err(failed)?;
            let secret = each(run, &mut rng, |leaf, rng| {
                black_box(code.plan(&Nodes::proof(run.shape, leaf), rng)?);
                Ok(())
            });
            measured.figures.index_ms = Some(ms(secret.map_err(failed)?));
        }
    }
    Ok(measured)
}

/// The median time of one proof's work, with fresh leaves for each.
fn each(
    run: &Run<'_>,
    rng: &mut dyn CryptoRng,
    mut work: impl FnMut(u64, &mut dyn CryptoRng) -> Result<()>,
) -> Result<Duration> {
    let mut samples = Samples::default();
    // There is one more round than is counted, for the caches.
    for round in 0..=run.repeats() {
        let leaves: Vec<u64> = (0..TOGETHER).map(|_| rng.next_u64() % run.shape.leaves()).collect();
        let start = Instant::now();
        leaves.iter().try_for_each(|leaf| work(*leaf, rng))?;
        let took = start.elapsed() / TOGETHER;
        if round > 0 {
            samples.push(took);
        }
    }
    Ok(samples.median())
}
