//! Fair queuing: requesters take turns, and in each turn a requester has a few queries answered, or
//! one step made of a stream or of a request for lookups (deficit round-robin, Shreedhar and
//! Varghese 1995). So every request waits for one turn of each other requester, however much those
//! request, and in however many requests. A requester that is alone has every turn, and then its
//! requests are ordered by age.

use super::queue::QueuedQuery;
use super::step_job::InterleavedJob;
use crate::TableEpoch;
use crate::client::Requester;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

/// The contents of one pass: for each query request, the number of its queries.
type PassContents = Vec<(QueuedQuery, usize)>;

/// All waiting work, by requester.
pub(super) struct FairQueue {
    lines: HashMap<Requester, ClientQueue>,
    /// Requesters with a queue, by their place in the order: the first has its turn.
    turns: BTreeMap<u64, Requester>,
    /// Next place at the end of the order.
    end: u64,
    /// Number of queries in one turn: a quarter of a pass, so that no request waits for more than a
    /// quarter of a pass per requester before it, and small requests are not split.
    turn: usize,
    asks: usize,
    queries: usize,
    jobs: usize,
}

/// The waiting work of one requester. An empty queue keeps its place until the next check, since
/// unfinished work may be put back.
struct ClientQueue {
    asks: VecDeque<QueuedQuery>,
    /// Streams, and requests in steps. Each makes a step, and goes to the end.
    jobs: VecDeque<InterleavedJob>,
    /// Whether the next turn is for a job, if there are query requests too.
    is_jobs_turn: bool,
    place: u64,
    /// Number of queries that may still be answered in this turn.
    credit: usize,
}

/// The next work of the worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lead {
    /// A pass over a table.
    Pass,
    /// A step of a job: its requester, and its position in that requester's queue.
    Job(Requester, usize),
}

/// A requester's share of a pass.
struct PassShare {
    requester: Requester,
    /// Number of queries that the pass could still take, and that it takes.
    wants: usize,
    takes: usize,
}

impl FairQueue {
    /// A queue for passes of `max_queries` queries.
    pub(super) fn new(max_queries: usize) -> Self {
        let turn = max_queries.div_ceil(4).max(1);
        FairQueue {
            lines: HashMap::new(),
            turns: BTreeMap::new(),
            end: 0,
            turn,
            asks: 0,
            queries: 0,
            jobs: 0,
        }
    }

    /// The number of waiting query requests.
    pub(super) fn asks(&self) -> usize {
        self.asks
    }

    /// The number of queries in them that are not answered yet.
    pub(super) fn queries(&self) -> usize {
        self.queries
    }

    /// The number of waiting streams and requests in steps.
    pub(super) fn jobs(&self) -> usize {
        self.jobs
    }

    /// The number of queries that are answered before those of a new request of this requester: its
    /// own, and of each other requester those in its turns until then.
    pub(super) fn before(&self, requester: Requester) -> usize {
        let queries = |line: &ClientQueue| line.asks.iter().map(QueuedQuery::left).sum::<usize>();
        let own = self.lines.get(&requester).map_or(0, queries);
        let others = self.lines.iter().filter(|(of, _)| **of != requester);
        own + others.map(|(_, line)| queries(line).min(own + self.turn)).sum::<usize>()
    }

    /// The queue of a requester; a new one is behind all others.
    fn line(&mut self, requester: Requester) -> &mut ClientQueue {
        self.lines.entry(requester).or_insert_with(|| {
            self.turns.insert(self.end, requester);
            self.end += 1;
            let (asks, jobs) = Default::default();
            ClientQueue { asks, jobs, is_jobs_turn: false, place: self.end - 1, credit: 0 }
        })
    }

    /// Adds a query request at the end of its requester's queue.
    pub(super) fn push(&mut self, one: QueuedQuery) {
        self.asks += 1;
        self.queries += one.left();
        self.line(one.ask.peer.into()).asks.push_back(one);
    }

    /// Adds a job at the end of its requester's queue.
    pub(super) fn push_job(&mut self, job: InterleavedJob) {
        self.jobs += 1;
        self.line(job.requester()).jobs.push_back(job);
    }

    /// The next work: a pass, or the first job that `is_ready` of the first requester that has
    /// either.
    pub(super) fn lead(&self, mut is_ready: impl FnMut(&InterleavedJob) -> bool) -> Option<Lead> {
        self.turns.values().find_map(|requester| {
            let line = self.lines.get(requester)?;
            let pass = (!line.asks.is_empty()).then_some(Lead::Pass);
            if pass.is_some() && !line.is_jobs_turn {
                return pass;
            }
            line.jobs.iter().position(&mut is_ready).map(|at| Lead::Job(*requester, at)).or(pass)
        })
    }

    /// Takes out a job that [`FairQueue::lead`] has returned, which ends its requester's turn.
    pub(super) fn take_job(&mut self, requester: Requester, at: usize) -> Option<InterleavedJob> {
        let line = self.lines.get_mut(&requester)?;
        let job = line.jobs.remove(at)?;
        line.is_jobs_turn = false;
        self.jobs -= 1;
        self.turn_over(requester);
        Some(job)
    }

    /// The number of waiting requests in steps.
    pub(super) fn stepped(&self) -> usize {
        self.lines.values().map(|line| line.jobs.iter().filter(|job| job.steps_left() > 0).count()).sum()
    }

    /// Makes space for a request of `steps` steps: takes out one of the requester that has the most
    /// waiting, the youngest, and one that has not begun if there is any. If that is the requester
    /// itself, or would be, its own largest is taken out, if it has more steps left than the new
    /// one, since there may be many users behind one address.
    pub(super) fn give_way_job(&mut self, requester: Requester, steps: usize) -> Option<InterleavedJob> {
        let left = |line: &ClientQueue| line.jobs.iter().map(InterleavedJob::steps_left).sum::<usize>();
        let own = self.lines.get(&requester).map_or(0, left);
        let (&most, line) = self.lines.iter().max_by_key(|(_, line)| left(line))?;
        // With as many as the new request would have, the new one would be evicted in turn.
        let (from, at) = if left(line) > own + steps {
            let youngest = |may_go: &dyn Fn(&InterleavedJob) -> bool| line.jobs.iter().rposition(may_go);
            let is_new = youngest(&|job| job.steps_left() > 0 && !job.has_begun());
            (most, is_new.or_else(|| youngest(&|job| job.steps_left() > 0))?)
        } else {
            let jobs = self.lines.get(&requester)?.jobs.iter().map(InterleavedJob::steps_left).enumerate();
            let (at, _) = jobs.max_by_key(|(_, left)| *left).filter(|(_, left)| *left > steps)?;
            (requester, at)
        };
        self.jobs -= 1;
        self.lines.get_mut(&from)?.jobs.remove(at)
    }

    /// Iterates over all jobs.
    pub(super) fn each_job(&self) -> impl Iterator<Item = &InterleavedJob> {
        self.lines.values().flat_map(|line| &line.jobs)
    }

    /// Removes every job that matches, and passes it on.
    pub(super) fn weed_jobs(
        &mut self,
        mut goes: impl FnMut(&InterleavedJob) -> bool,
        mut gone: impl FnMut(InterleavedJob),
    ) {
        for line in self.lines.values_mut() {
            for job in std::mem::take(&mut line.jobs) {
                if goes(&job) {
                    self.jobs -= 1;
                    gone(job);
                } else {
                    line.jobs.push_back(job);
                }
            }
        }
    }

    /// Makes space for a query request, if another requester has more waiting: takes out the
    /// youngest request, not begun by any pass, of the requester that has the most. A requester
    /// that has the most itself gets no space.
    pub(super) fn evict_youngest(&mut self, requester: Requester) -> Option<QueuedQuery> {
        let own = self.lines.get(&requester).map_or(0, |line| line.asks.len());
        let longest = self.lines.values_mut().max_by_key(|line| line.asks.len())?;
        // With as many as the new request would have, the new one would be evicted in turn.
        if longest.asks.len() <= own + 1 {
            return None;
        }
        let youngest = longest.asks.iter().rposition(|one| one.started.is_none())?;
        let one = longest.asks.remove(youngest)?;
        self.asks -= 1;
        self.queries -= one.left();
        Some(one)
    }

    /// Removes every query request that matches, and passes it on; removes empty queues too. The
    /// requests of one requester are visited one after the other.
    pub(super) fn remove_where(
        &mut self,
        mut goes: impl FnMut(&QueuedQuery) -> bool,
        mut gone: impl FnMut(QueuedQuery),
    ) {
        for line in self.lines.values_mut() {
            let mut at = 0;
            while let Some(one) = line.asks.get(at) {
                if !goes(one) {
                    at += 1;
                    continue;
                }
                self.asks -= 1;
                self.queries -= one.left();
                line.asks.remove(at).into_iter().for_each(&mut gone);
            }
        }
        self.lines.retain(|_, line| {
            let stays = !line.asks.is_empty() || !line.jobs.is_empty();
            if !stays {
                self.turns.remove(&line.place);
            }
            stays
        });
    }

    /// Takes the contents of a pass of at most `room` queries: all for the epoch of the first
    /// request of the requester whose turn it is. Requesters that wait for another epoch, or for
    /// their jobs, keep their places.
    pub(super) fn take(&mut self, room: usize) -> Option<(Arc<TableEpoch>, PassContents)> {
        let has_asks =
            |requester: &Requester| self.lines.get(requester).is_some_and(|line| !line.asks.is_empty());
        let (&first, &leader) = self.turns.iter().find(|(_, requester)| has_asks(requester))?;
        let live = self.lines.get(&leader)?.asks.front()?.ask.live.clone();
        let lots = self.share(room, &live);
        // The first requester has had its turn, so that one that waits for another epoch comes
        // first once.
        if self.turns.contains_key(&first) {
            self.turn_over(leader);
        }
        let parts = lots.iter().flat_map(|lot| self.cut(lot, &live)).collect();
        Some((live, parts))
    }

    /// Divides a pass among requesters, turn by turn; a requester whose turn is over goes to the
    /// end. The rest of a turn that the end of the pass cut short is continued in the next.
    fn share(&mut self, mut room: usize, live: &Arc<TableEpoch>) -> Vec<PassShare> {
        let (mut lots, mut from): (Vec<PassShare>, u64) = (Vec::new(), 0);
        while room > 0
            && let Some((&place, &requester)) = self.turns.range(from..).next()
        {
            from = place + 1;
            let Some(line) = self.lines.get_mut(&requester) else { continue };
            let known = lots.iter().position(|lot| lot.requester == requester).unwrap_or_else(|| {
                lots.push(PassShare { requester, wants: line.wants(live, room), takes: 0 });
                lots.len() - 1
            });
            let Some(lot) = lots.get_mut(known) else { continue };
            if lot.wants == 0 {
                // With several epochs, most requesters have nothing for this one: they are not
                // visited again.
                if lot.takes == 0 {
                    lots.pop();
                }
                continue;
            }
            if line.credit == 0 {
                line.credit = self.turn;
            }
            let takes = lot.wants.min(line.credit).min(room);
            lot.wants -= takes;
            lot.takes += takes;
            line.credit -= takes;
            line.is_jobs_turn = true;
            room -= takes;
            if line.credit == 0 {
                self.turn_over(requester);
            }
        }
        lots
    }

    /// Ends the turn of a requester, which goes to the end.
    fn turn_over(&mut self, requester: Requester) {
        if let Some(line) = self.lines.get_mut(&requester) {
            self.turns.remove(&line.place);
            self.turns.insert(self.end, requester);
            (line.place, line.credit) = (self.end, 0);
            self.end += 1;
        }
    }

    /// Takes a requester's share out of its queue.
    fn cut(&mut self, lot: &PassShare, live: &Arc<TableEpoch>) -> PassContents {
        let (mut parts, mut due) = (Vec::new(), lot.takes);
        let Some(line) = self.lines.get_mut(&lot.requester) else { return parts };
        let mut at = 0;
        while due > 0
            && let Some(one) = line.asks.get(at)
        {
            if !Arc::ptr_eq(&one.ask.live, live) {
                at += 1;
                continue;
            }
            let Some(one) = line.asks.remove(at) else { break };
            let take = one.left().min(due);
            due -= take;
            self.asks -= 1;
            self.queries -= one.left();
            parts.push((one, take));
        }
        parts
    }
}

impl ClientQueue {
    /// The number of a requester's queries for an epoch, up to `room`.
    fn wants(&self, live: &Arc<TableEpoch>, room: usize) -> usize {
        let mut wants = 0;
        for one in self.asks.iter().filter(|one| Arc::ptr_eq(&one.ask.live, live)) {
            wants += one.left();
            if wants >= room {
                return room;
            }
        }
        wants
    }
}
