//! Writing the places of all nodes of a tree, which the papers' programs compute first, on one
//! thread.

use super::{Run, stack};
use crate::definition::ProofMethod;
use crate::error::BenchError;
use crate::median::{Samples, ms};
use crate::options::Progress;
use crate::report::TreeMeasured;
use sotto_core::Result;
use sotto_layers::batch_code::placement::Placement;
use sotto_tree::Coloring;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Rows that are found at a time.
const ROWS: usize = 1 << 16;

pub(super) fn measure(run: &Run<'_>, method: ProofMethod) -> Result<TreeMeasured, BenchError> {
    let (mut made, mut written) = (Samples::default(), Samples::default());
    let name = run.tree_info().name;
    let repeats = run.repeats();
    let mut nodes = 0;
    for done in 0..=repeats {
        let step = method.name();
        (run.watcher)(Progress { case: &name, step, done: done as u64, total: repeats as u64 + 1 });
        let (first, all, count) = match method {
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
    let mut measured = run.blank(method, method.name().to_owned());
    measured.threads_count = 1;
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
