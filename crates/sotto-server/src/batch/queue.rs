//! The asks that wait, and which of them go into the next pass.

use super::{Ask, Limits, Reply};
use crate::LiveTable;
use crate::metrics::Metrics;
use sotto_wire::Code;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// An ask on its way through one or more passes.
pub(super) struct Waiting {
    pub(super) ask: Ask,
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

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
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

    pub(super) fn push(&self, ask: Ask, now: Instant) -> Result<oneshot::Receiver<Reply>, Code> {
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

    pub(super) fn close(&self) {
        self.state().closed = true;
        self.changed.notify_one();
    }

    /// The next pass; waits for one. `None` once the queue is closed and empty.
    ///
    /// `last_pass` is how long the pass took that has just ended.
    pub(super) fn next(&self, last_pass: Duration) -> Option<Pass> {
        let mut state = self.state();
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
                return Some(pass);
            }
            self.metrics.queue_depth.set(0);
            if state.closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
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
