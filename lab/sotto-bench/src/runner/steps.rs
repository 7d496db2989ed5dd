//! Lookups step by step. The server reports when a step is done, and the clock is here. One scheme
//! has steps and orders of them that are worth comparing: BGV-PIR.

use super::client::BenchClient;
use super::encode::StepTimer;
use crate::error::BenchError;
use crate::machine::Reader;
use crate::options::{Progress, Watcher};
use crate::plan::PreparedCase;
use crate::report::{Step, StepReport};
use crate::timing::{Samples, ms};
use bgvpir::BgvPir;
use bgvpir::layout::ProductOrder;
use bgvpir::message::{Answer, Keys, Query};
use bgvpir::params::Params;
use bgvpir::server::{Server, Session};
use sotto_core::{AnySession, CryptoRng, Image, Misuse, Params as _, Scheme, Server as _, Wire};
use std::sync::Arc;
use std::time::Duration;

/// The scheme's own server, with the session of the client.
struct OrderedServer {
    params: Params,
    server: Server,
    session: Session,
}

impl OrderedServer {
    fn open(params: &[u8], image: Arc<dyn Image>, keys: &[u8]) -> sotto_core::Result<Self> {
        let literal = serde_json::from_slice(params)
            .map_err(|_| Misuse::Rule("selected parameters are a literal of the scheme"))?;
        let params = Params::check(literal)?;
        let server = Server::open(&params, image)?;
        let session = server.admit(Keys::take(&params, keys)?)?;
        Ok(OrderedServer { params, server, session })
    }

    fn answer(
        &self,
        order: ProductOrder,
        query: &[u8],
        done: &mut dyn FnMut(&'static str),
    ) -> sotto_core::Result<Vec<u8>> {
        let query = Query::take(&self.params, query)?;
        let mut out = Vec::with_capacity(Answer::size(&self.params));
        self.server.answer_in(order, &self.session, &query, done)?.put(&self.params, &mut out);
        Ok(out)
    }
}

/// The repeated timing of one order on one number of threads.
struct StepLine {
    order: ProductOrder,
    threads: usize,
    pool: Reader,
    whole: Samples,
    steps: Vec<(&'static str, Samples)>,
}

/// Times lookups in every order and on every number of threads of the definition, in turns.
pub(super) fn measure(
    plan: &PreparedCase<'_>,
    image: Arc<dyn Image>,
    client: &mut BenchClient<'_>,
    watcher: Watcher<'_>,
    rng: &mut dyn CryptoRng,
) -> Result<Vec<StepReport>, BenchError> {
    let Some(requested) = &plan.case.steps else { return Ok(Vec::new()) };
    let refuse = |why: String| BenchError::Params { case: plan.label.clone(), why };
    if plan.entry.id != BgvPir::ID {
        return Err(refuse(format!("{} does not report its steps", plan.entry.id)));
    }
    let named = |order: &String| {
        let known = ProductOrder::NAMES.join(", ");
        let unknown = || refuse(format!("{} has no order {order}, only {known}", plan.entry.id));
        ProductOrder::named(order).ok_or_else(unknown)
    };
    let mut orders = requested.orders.iter().map(named).collect::<Result<Vec<_>, _>>()?;
    if orders.is_empty() {
        orders = ProductOrder::NAMES.into_iter().filter_map(ProductOrder::named).collect();
    }
    let server =
        OrderedServer::open(&plan.params, image, &client.client().keys()).map_err(plan.failed("opening"))?;
    let mut lines = Vec::new();
    for &threads in &requested.threads {
        for &order in &orders {
            let pool = Reader::new(threads)?;
            lines.push(StepLine { order, threads, pool, whole: Samples::default(), steps: Vec::new() });
        }
    }
    // The first round meets cold caches: checked, not timed.
    for done in 0..=plan.lookups {
        let (at, total) = (done as u64, plan.lookups as u64);
        watcher(Progress { case: &plan.label, step: "step by step", done: at, total });
        for line in &mut lines {
            let row = rng.next_u64() % plan.packing.rows();
            let mut all = StepTimer::start();
            let mut answer = |_: &AnySession, query: &[u8]| {
                let (answer, timer) = line.pool.install(|| {
                    let mut timer = StepTimer::start();
                    (server.answer(line.order, query, &mut |step| timer.done(step)), timer)
                });
                all.add(&timer);
                answer
            };
            client.fetch_answered(row, &mut answer, rng)?;
            if done > 0 {
                line.push(&all.steps);
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
            order: self.order.name().to_owned(),
            threads_count: self.threads,
            repeated_count: self.whole.len(),
            server_ms: ms(self.whole.median()),
            steps: self.steps.iter().map(step).collect(),
        }
    }
}
