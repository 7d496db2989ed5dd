//! Lookups step by step. The server reports when a step is done, and the clock is here.

use super::client::BenchClient;
use crate::error::BenchError;
use crate::machine::Reader;
use crate::median::{Samples, ms};
use crate::options::{Progress, Watcher};
use crate::plan::PreparedCase;
use crate::report::{Step, StepReport};
use sotto_core::CryptoRng;
use std::time::Duration;

/// The repeated timing of one order on one number of threads.
struct StepLine {
    order: String,
    threads: usize,
    pool: Reader,
    whole: Samples,
    steps: Vec<(&'static str, Samples)>,
}

/// Times lookups in every order and on every number of threads of the definition, in turns.
pub(super) fn measure(
    plan: &PreparedCase<'_>,
    client: &mut BenchClient<'_>,
    watcher: Watcher<'_>,
    rng: &mut dyn CryptoRng,
) -> Result<Vec<StepReport>, BenchError> {
    let Some(requested) = &plan.case.steps else { return Ok(Vec::new()) };
    let known = client.orders().unwrap_or_default();
    let refuse = |why: String| BenchError::Params { case: plan.label.clone(), why };
    if known.is_empty() {
        return Err(refuse(format!("{} does not report its steps", plan.entry.id)));
    }
    if let Some(order) = requested.orders.iter().find(|order| !known.contains(&order.as_str())) {
        return Err(refuse(format!("{} has no order {order}, only {}", plan.entry.id, known.join(", "))));
    }
    let orders: Vec<&str> = if requested.orders.is_empty() {
        known.to_vec()
    } else {
        requested.orders.iter().map(String::as_str).collect()
    };
    let mut lines = Vec::new();
    for threads in &requested.threads {
        for order in &orders {
            let (order, pool) = ((*order).to_owned(), Reader::new(*threads)?);
            lines.push(StepLine {
                order,
                threads: *threads,
                pool,
                whole: Samples::default(),
                steps: Vec::new(),
            });
        }
    }
    // The first round meets cold caches: checked, not timed.
    for done in 0..=plan.lookups {
        let (at, total) = (done as u64, plan.lookups as u64);
        watcher(Progress { case: &plan.label, step: "step by step", done: at, total });
        for line in &mut lines {
            let row = rng.next_u64() % plan.packing.rows();
            let steps = client.fetch_by_steps(row, &line.order, &line.pool, rng)?;
            if done > 0 {
                line.push(&steps);
            }
        }
    }
    Ok(lines.into_iter().map(StepLine::figures).collect())
}

impl StepLine {
    fn push(&mut self, steps: &[(&'static str, Duration)]) {
        self.whole.push(steps.iter().map(|(_, spent)| *spent).sum());
        for (step, spent) in steps {
            match self.steps.iter_mut().find(|(name, _)| name == step) {
                Some((_, samples)) => samples.push(*spent),
                None => {
                    let mut samples = Samples::default();
                    samples.push(*spent);
                    self.steps.push((step, samples));
                }
            }
        }
    }

    fn figures(self) -> StepReport {
        let step = |(name, samples): &(&str, Samples)| Step {
            name: (*name).to_owned(),
            server_ms: ms(samples.median()),
        };
        StepReport {
            order: self.order,
            threads_count: self.threads,
            repeated_count: self.whole.len(),
            server_ms: ms(self.whole.median()),
            steps: self.steps.iter().map(step).collect(),
        }
    }
}
