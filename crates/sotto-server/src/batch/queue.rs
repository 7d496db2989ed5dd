//! The asks that wait, and which of them go into the next pass; and the streams between the passes.

use super::flow::{Flow, Ready};
use super::{CheckedAsk, Limits, Reply};
use crate::LiveTable;
use crate::metrics::Metrics;
use sotto_wire::Code;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// An ask on its way through one or more passes.
pub(super) struct Waiting {
    pub(super) ask: CheckedAsk,
    pub(super) answers: Vec<Vec<u8>>,
    pub(super) arrived: Instant,
    pub(super) started: Option<Instant>,
    pub(super) reply: oneshot::Sender<Reply>,
}

impl Waiting {
    /// Queries not yet answered.
    pub(super) fn left(&self) -> usize {
        usize::from(self.ask.head.count).saturating_sub(self.answers.len())
    }
}

/// What one pass answers: for each ask, how many of its queries.
pub(super) struct Pass {
    pub(super) live: Arc<LiveTable>,
    pub(super) parts: Vec<(Waiting, usize)>,
}

/// What the worker does next.
pub(super) enum Work {
    Pass(Pass),
    /// The next step of a stream, which then goes to the end of its queue.
    Unit(Box<Flow>),
}

/// What the worker has just done.
#[derive(Debug, Clone, Copy)]
pub(super) enum Done {
    /// A pass, which took so long.
    Pass(Duration),
    /// A step of a stream.
    Unit,
    /// Nothing yet.
    Nothing,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    flows: VecDeque<Box<Flow>>,
    closed: bool,
}

impl State {
    fn queries(&self) -> usize {
        self.waiting.iter().map(Waiting::left).sum()
    }
}

pub(super) struct Queue {
    limits: Limits,
    state: Mutex<State>,
    changed: Condvar,
    metrics: Arc<Metrics>,
}

impl Queue {
    pub(super) fn new(limits: Limits, metrics: Arc<Metrics>) -> Self {
        Queue { limits, state: Mutex::default(), changed: Condvar::new(), metrics }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, ask: CheckedAsk, now: Instant) -> Result<oneshot::Receiver<Reply>, Code> {
        let (reply, receiver) = oneshot::channel();
        let mut state = self.state();
        if state.closed {
            return Err(Code::ShuttingDown);
        }
        if state.waiting.len() >= self.limits.max_queue {
            return Err(Code::Busy);
        }
        let answers = Vec::with_capacity(usize::from(ask.head.count));
        state.waiting.push_back(Waiting { ask, answers, arrived: now, started: None, reply });
        self.metrics.queue_depth.set(state.waiting.len() as i64);
        self.changed.notify_one();
        Ok(receiver)
    }

    /// Puts an ask back whose queries did not all fit into a pass.
    pub(super) fn put_back(&self, waiting: Waiting) {
        self.state().waiting.push_back(waiting);
    }

    pub(super) fn push_flow(&self, flow: Flow) -> Result<(), Code> {
        let mut state = self.state();
        if state.closed {
            return Err(Code::ShuttingDown);
        }
        state.flows.push_back(Box::new(flow));
        self.changed.notify_one();
        Ok(())
    }

    /// How long an ask, or the query of a stream, may wait.
    pub(super) fn deadline(&self) -> Duration {
        self.limits.deadline
    }

    /// Puts a stream back that goes on.
    pub(super) fn put_flow_back(&self, flow: Box<Flow>) {
        self.state().flows.push_back(flow);
    }

    /// Makes the worker look at the streams again: a client has read, or is gone.
    pub(super) fn nudge(&self) {
        // Taken and given back, so that a worker which is about to sleep sleeps before it is woken.
        drop(self.state());
        self.changed.notify_one();
    }

    pub(super) fn close(&self) {
        self.state().closed = true;
        self.changed.notify_one();
    }

    /// What to do next; waits for it. `None` once the queue is closed and empty.
    ///
    /// Passes and streams take turns, as long as there are both.
    pub(super) fn next(&self, done: Done) -> Option<Work> {
        let mut state = self.state();
        if matches!(done, Done::Pass(_))
            && let (Some(flow), _) = self.take_flow(&mut state.flows, Instant::now())
        {
            return Some(Work::Unit(flow));
        }
        let last_pass = match done {
            Done::Pass(took) => took,
            Done::Unit | Done::Nothing => Duration::ZERO,
        };
        // Waiting longer than a fraction of a pass could not pay for itself on a small table.
        let patience = self.limits.max_wait.min(last_pass / 2);
        let ended = Instant::now();
        while !state.waiting.is_empty() && !state.closed && state.queries() < self.limits.max_queries {
            let Some(rest) = patience.checked_sub(ended.elapsed()).filter(|rest| !rest.is_zero()) else {
                break;
            };
            let waited = self.changed.wait_timeout(state, rest);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        loop {
            if let Some(pass) = self.take(&mut state.waiting, Instant::now()) {
                self.metrics.queue_depth.set(state.waiting.len() as i64);
                return Some(Work::Pass(pass));
            }
            self.metrics.queue_depth.set(0);
            let (flow, wait) = self.take_flow(&mut state.flows, Instant::now());
            if let Some(flow) = flow {
                return Some(Work::Unit(flow));
            }
            if state.closed && state.flows.is_empty() {
                return None;
            }
            state = match wait {
                Some(wait) => {
                    let waited = self.changed.wait_timeout(state, wait);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// Takes the stream whose turn it is, and drops those that end here. If none can go on, says how long to wait
    /// for one of them at most.
    fn take_flow(
        &self,
        flows: &mut VecDeque<Box<Flow>>,
        now: Instant,
    ) -> (Option<Box<Flow>>, Option<Duration>) {
        let mut wait = None;
        for _ in 0..flows.len() {
            let Some(flow) = flows.pop_front() else { break };
            match flow.ready(now, self.limits.stall) {
                Ready::Yes => return (Some(flow), None),
                Ready::Never => {
                    self.metrics.gone.inc();
                }
                Ready::Later => {
                    let left = (flow.since + self.limits.stall).saturating_duration_since(now);
                    // A little later than the limit, when the wait is over it.
                    let left = left + Duration::from_millis(1);
                    wait = Some(wait.map_or(left, |wait: Duration| wait.min(left)));
                    flows.push_back(flow);
                }
            }
        }
        (None, wait)
    }

    /// Takes what goes into one pass: the oldest ask, and others about the same epoch. Drops asks whose
    /// client is gone, and those that waited too long, before any work is done for them.
    fn take(&self, waiting: &mut VecDeque<Waiting>, now: Instant) -> Option<Pass> {
        let mut pass: Option<Pass> = None;
        let mut room = self.limits.max_queries;
        let mut rest = VecDeque::with_capacity(waiting.len());
        while let Some(mut one) = waiting.pop_front() {
            if one.reply.is_closed() {
                self.metrics.gone.inc();
                continue;
            }
            if one.started.is_none() && now.saturating_duration_since(one.arrived) > self.limits.deadline {
                // A send fails only if the client is gone, which is no loss.
                let _ = one.reply.send(Err(Code::Deadline));
                continue;
            }
            let pass = pass.get_or_insert_with(|| Pass { live: one.ask.live.clone(), parts: Vec::new() });
            if room == 0 || !Arc::ptr_eq(&pass.live, &one.ask.live) {
                rest.push_back(one);
                continue;
            }
            let queries = one.left().min(room);
            room -= queries;
            one.started.get_or_insert(now);
            pass.parts.push((one, queries));
        }
        *waiting = rest;
        pass
    }
}

#[cfg(test)]
mod tests;
