//! The places of one proof's rows, as the client finds them, on one thread.

use super::nodes::Nodes;
use super::{Run, stack};
use crate::definition::ProofMethod;
use crate::error::BenchError;
use crate::median::{Samples, ms};
use crate::options::Progress;
use crate::report::TreeMeasured;
use sotto_core::{CryptoRng, Layer, Result};
use sotto_tree::{ColorSlot, Coloring};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Proofs timed together: one alone is too short for the clock.
const TOGETHER: u32 = 50;

pub(super) fn measure(run: &Run<'_>, method: ProofMethod) -> Result<TreeMeasured, BenchError> {
    let name = run.tree_info().name;
    (run.watcher)(Progress { case: &name, step: method.name(), done: 0, total: 0 });
    let mut rng = sotto_prg::system_rng().map_err(|e| BenchError::Entropy(e.to_string()))?;
    let mut measured = run.blank(method, method.name().to_owned());
    measured.threads_count = 1;
    let failed = |why| run.failed("indexing a proof", why);
    match method {
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
