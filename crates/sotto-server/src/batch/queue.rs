//! The asks that wait, and when the next pass begins; and the streams between the passes.

use super::fair::Fair;
use super::flow::Ready;
use super::turn::Turn;
use super::{CheckedAsk, Limits, Reply};
use crate::LiveTable;
use crate::budget::Budget;
use crate::metrics::Metrics;
use crate::refusal::Refusal;
use sotto_wire::Code;
use std::collections::VecDeque;
use std::net::IpAddr;
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
    /// The next step of a stream or of other work, which then goes to the end of its queue.
    Unit(Turn),
}

/// What the worker has just done.
#[derive(Debug, Clone, Copy)]
pub(super) enum Done {
    /// A pass, which took so long.
    Pass(Duration),
    /// A step of a stream or of other work.
    Unit,
    /// Nothing yet.
    Nothing,
}

struct State {
    waiting: Fair,
    turns: VecDeque<Turn>,
    closed: bool,
    /// Whether the worker does something.
    busy: bool,
    /// What a pass takes, by the last ones.
    pass: Duration,
}

pub(super) struct Queue {
    limits: Limits,
    state: Mutex<State>,
    changed: Condvar,
    /// Told when the worker has done something.
    rested: Condvar,
    budget: Arc<Budget>,
    metrics: Arc<Metrics>,
}

impl Queue {
    pub(super) fn new(limits: Limits, budget: Arc<Budget>, metrics: Arc<Metrics>) -> Self {
        let state = State {
            waiting: Fair::new(limits.max_queries),
            turns: VecDeque::new(),
            closed: false,
            busy: false,
            pass: Duration::ZERO,
        };
        Queue {
            limits,
            state: Mutex::new(state),
            changed: Condvar::new(),
            rested: Condvar::new(),
            budget,
            metrics,
        }
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
        // Who could not be reached before its deadline is told so at once, and not when it has waited for nothing.
        let passes = state.waiting.before(ask.peer.network()) / self.limits.max_queries;
        if state.pass.saturating_mul(u32::try_from(passes).unwrap_or(u32::MAX)) > self.limits.deadline {
            return Err(Code::Busy);
        }
        // One bound for all, so that whoever is alone may use all of it; and where it is reached, whoever has the most waiting
        // gives way, so that nobody is kept out by others' asks.
        if state.waiting.asks() >= self.limits.max_queue {
            let out = state.waiting.give_way(ask.peer.network()).ok_or(Code::Busy)?;
            self.metrics.pushed_out.inc();
            refuse(out, Code::Busy);
        }
        let answers = Vec::with_capacity(usize::from(ask.head.count));
        state.waiting.push(Waiting { ask, answers, arrived: now, started: None, reply });
        self.metrics.queue_depth.set(state.waiting.asks() as i64);
        self.changed.notify_one();
        Ok(receiver)
    }

    /// Puts an ask back whose queries did not all fit into a pass.
    pub(super) fn put_back(&self, waiting: Waiting) {
        self.state().waiting.push(waiting);
    }

    pub(super) fn push_turn(&self, turn: Turn) -> Result<(), Code> {
        let mut state = self.state();
        if state.closed {
            return Err(Code::ShuttingDown);
        }
        state.turns.push_back(turn);
        self.changed.notify_one();
        Ok(())
    }

    /// How long an ask, or the query of a stream, may wait.
    pub(super) fn deadline(&self) -> Duration {
        self.limits.deadline
    }

    /// Puts something back that goes on.
    pub(super) fn put_turn_back(&self, turn: Turn) {
        self.state().turns.push_back(turn);
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

    /// Waits until nothing is done and no ask is there, but no longer than `limit`.
    pub(super) fn lull(&self, limit: Duration) {
        let busy = |state: &mut State| state.busy || state.waiting.asks() > 0;
        drop(self.rested.wait_timeout_while(self.state(), limit, busy));
    }

    /// What to do next; waits for it. `None` once the queue is closed and empty.
    ///
    /// Passes and streams take turns, as long as there are both.
    pub(super) fn next(&self, done: Done) -> Option<Work> {
        let mut state = self.state();
        state.busy = false;
        self.rested.notify_all();
        if matches!(done, Done::Pass(_))
            && let (Some(turn), _) = self.take_turn(&mut state.turns, Instant::now())
        {
            state.busy = true;
            return Some(Work::Unit(turn));
        }
        let last_pass = match done {
            Done::Pass(took) => took,
            Done::Unit | Done::Nothing => Duration::ZERO,
        };
        state.pass = match done {
            Done::Pass(took) if state.pass.is_zero() => took,
            Done::Pass(took) => (state.pass * 3 + took) / 4,
            Done::Unit | Done::Nothing => state.pass,
        };
        // Waiting longer than a fraction of a pass could not pay for itself on a small table.
        let patience = self.limits.max_wait.min(last_pass / 2);
        let ended = Instant::now();
        while state.waiting.asks() > 0 && !state.closed && state.waiting.queries() < self.limits.max_queries {
            let Some(rest) = patience.checked_sub(ended.elapsed()).filter(|rest| !rest.is_zero()) else {
                break;
            };
            let waited = self.changed.wait_timeout(state, rest);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        loop {
            if let Some(pass) = self.take(&mut state.waiting, Instant::now()) {
                self.metrics.queue_depth.set(state.waiting.asks() as i64);
                state.busy = true;
                return Some(Work::Pass(pass));
            }
            self.metrics.queue_depth.set(0);
            let (turn, wait) = self.take_turn(&mut state.turns, Instant::now());
            if let Some(turn) = turn {
                state.busy = true;
                return Some(Work::Unit(turn));
            }
            if state.closed && state.turns.is_empty() {
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

    /// Takes the stream, or the work in steps, whose turn it is, and drops those that end here. If none can go on, says how long
    /// to wait for one of them at most.
    fn take_turn(&self, turns: &mut VecDeque<Turn>, now: Instant) -> (Option<Turn>, Option<Duration>) {
        let mut wait = None;
        for _ in 0..turns.len() {
            let Some(turn) = turns.pop_front() else { break };
            match turn.ready(now, self.limits.stall) {
                // One that has begun goes on at the pace of its client's budget.
                Ready::Yes => match turn.has_begun().then(|| self.budget.wait(turn.peer(), now)).flatten() {
                    None => return (Some(turn), None),
                    Some(left) => {
                        wait = Some(wait.map_or(left, |wait: Duration| wait.min(left)));
                        turns.push_back(turn);
                    }
                },
                Ready::Never => {
                    self.metrics.gone.inc();
                }
                Ready::Later => {
                    let left = (turn.since() + self.limits.stall).saturating_duration_since(now);
                    // A little later than the limit, when the wait is over it.
                    let left = left + Duration::from_millis(1);
                    wait = Some(wait.map_or(left, |wait: Duration| wait.min(left)));
                    turns.push_back(turn);
                }
            }
        }
        (None, wait)
    }

    /// Takes what goes into one pass. Drops asks whose client is gone, those that waited too long, and those of clients that
    /// have had the time there is for them, before any work is done for them.
    fn take(&self, waiting: &mut Fair, now: Instant) -> Option<Pass> {
        let late = |one: &Waiting| now.saturating_duration_since(one.arrived) > self.limits.deadline;
        // Asks of a network come one after the other, so each is looked up once.
        let mut known: Option<(IpAddr, bool)> = None;
        let mut over = |one: &Waiting| {
            let network = one.ask.peer.network();
            match known {
                Some((same, over)) if same == network => over,
                _ => known.insert((network, self.budget.wait(one.ask.peer, now).is_some())).1,
            }
        };
        // What has begun is finished.
        let goes = |one: &Waiting| one.reply.is_closed() || one.started.is_none() && (late(one) || over(one));
        waiting.weed(goes, |one| {
            if one.reply.is_closed() {
                self.metrics.gone.inc();
            } else if late(&one) {
                refuse(one, Code::Deadline);
            } else {
                // It may have time again by now.
                let refusal = self.budget.check(one.ask.peer, now).err();
                refuse(one, refusal.unwrap_or_else(|| Code::Busy.into()));
            }
        });
        let (live, mut parts) = waiting.take(self.limits.max_queries)?;
        parts.iter_mut().for_each(|(one, _)| {
            one.started.get_or_insert(now);
        });
        Some(Pass { live, parts })
    }
}

/// Refuses an ask that waited. A send fails only if the client is gone, which is no loss.
fn refuse(one: Waiting, refusal: impl Into<Refusal>) {
    let _ = one.reply.send(Err(refusal.into()));
}

#[cfg(test)]
mod tests;
