//! Fair queuing: requesters take turns, and in each turn a requester has a few queries answered, or
//! one step made of a stream or of a request for lookups (deficit round-robin, Shreedhar and
//! Varghese 1995). So every request waits for one turn of each other requester, however much those
//! request, and in however many requests. A requester that is alone has every turn, and then its
//! requests are ordered by age.

use super::jobs::InterleavedJob;
use super::jobs::QueuedQuery;
use crate::TableEpoch;
use crate::client::Requester;
use crate::pass_times::FEWEST;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

/// The contents of one pass: for each query request, the number of its queries.
type PassContents = Vec<(QueuedQuery, usize)>;

/// All waiting work, by requester.
pub(super) struct FairQueue {
    queues: HashMap<Requester, ClientQueue>,
    /// Requesters with a queue, by their place in the order: the first has its turn.
    turns: BTreeMap<u64, Requester>,
    /// Next place at the end of the order.
    end: u64,
    /// Number of queries in one turn: a quarter of a pass, so that no request waits for more than a
    /// quarter of a pass per requester before it, and small requests are not split.
    turn: usize,
    requests: usize,
    queries: usize,
    jobs: usize,
}

/// The waiting work of one requester. An empty queue keeps its place until the next check, since
/// unfinished work may be put back.
struct ClientQueue {
    queries: VecDeque<QueuedQuery>,
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
    /// A queue for passes of at most `max_queries` queries.
    pub(super) fn new(max_queries: usize) -> Self {
        let turn = max_queries.min(FEWEST).div_ceil(4).max(1);
        FairQueue {
            queues: HashMap::new(),
            turns: BTreeMap::new(),
            end: 0,
            turn,
            requests: 0,
            queries: 0,
            jobs: 0,
        }
    }

    /// The number of waiting query requests.
    pub(super) fn requests(&self) -> usize {
        self.requests
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
        let queries = |queue: &ClientQueue| queue.queries.iter().map(QueuedQuery::left).sum::<usize>();
        let own = self.queues.get(&requester).map_or(0, queries);
        let others = self.queues.iter().filter(|(of, _)| **of != requester);
        own + others.map(|(_, queue)| queries(queue).min(own + self.turn)).sum::<usize>()
    }

    /// The queue of a requester; a new one is behind all others.
    fn queue(&mut self, requester: Requester) -> &mut ClientQueue {
        self.queues.entry(requester).or_insert_with(|| {
            self.turns.insert(self.end, requester);
            self.end += 1;
            let (queries, jobs) = Default::default();
            ClientQueue { queries, jobs, is_jobs_turn: false, place: self.end - 1, credit: 0 }
        })
    }

    /// Adds a query request at the end of its requester's queue.
    pub(super) fn push(&mut self, one: QueuedQuery) {
        self.requests += 1;
        self.queries += one.left();
        self.queue(one.job.peer.into()).queries.push_back(one);
    }

    /// Adds a job at the end of its requester's queue.
    pub(super) fn push_job(&mut self, job: InterleavedJob) {
        self.jobs += 1;
        self.queue(job.requester()).jobs.push_back(job);
    }

    /// The next work: a pass, or the first job that `is_ready` of the first requester that has
    /// either.
    pub(super) fn lead(&self, mut is_ready: impl FnMut(&InterleavedJob) -> bool) -> Option<Lead> {
        self.turns.values().find_map(|requester| {
            let queue = self.queues.get(requester)?;
            let pass = (!queue.queries.is_empty()).then_some(Lead::Pass);
            if pass.is_some() && !queue.is_jobs_turn {
                return pass;
            }
            queue.jobs.iter().position(&mut is_ready).map(|at| Lead::Job(*requester, at)).or(pass)
        })
    }

    /// Takes out a job that [`FairQueue::lead`] has returned, which ends its requester's turn.
    pub(super) fn take_job(&mut self, requester: Requester, at: usize) -> Option<InterleavedJob> {
        let queue = self.queues.get_mut(&requester)?;
        let job = queue.jobs.remove(at)?;
        queue.is_jobs_turn = false;
        self.jobs -= 1;
        self.turn_over(requester);
        Some(job)
    }

    /// The number of waiting requests in steps.
    pub(super) fn stepped(&self) -> usize {
        self.queues.values().map(|queue| queue.jobs.iter().filter(|job| job.steps_left() > 0).count()).sum()
    }

    /// Makes space for a request of `steps` steps: takes out one of the requester that has the most
    /// waiting, the youngest, and one that has not begun if there is any. If that is the requester
    /// itself, or would be, its own largest is taken out, if it has more steps left than the new
    /// one, since there may be many users behind one address.
    pub(super) fn evict_job(&mut self, requester: Requester, steps: usize) -> Option<InterleavedJob> {
        let left = |queue: &ClientQueue| queue.jobs.iter().map(InterleavedJob::steps_left).sum::<usize>();
        let own = self.queues.get(&requester).map_or(0, left);
        let (&largest, queue) = self.queues.iter().max_by_key(|(_, queue)| left(queue))?;
        // With as many as the new request would have, the new one would be evicted in turn.
        let (from, at) = if left(queue) > own + steps {
            let youngest = |may_go: &dyn Fn(&InterleavedJob) -> bool| queue.jobs.iter().rposition(may_go);
            let is_new = youngest(&|job| job.steps_left() > 0 && !job.has_begun());
            (largest, is_new.or_else(|| youngest(&|job| job.steps_left() > 0))?)
        } else {
            let jobs = self.queues.get(&requester)?.jobs.iter().map(InterleavedJob::steps_left).enumerate();
            let (at, _) = jobs.max_by_key(|(_, left)| *left).filter(|(_, left)| *left > steps)?;
            (requester, at)
        };
        self.jobs -= 1;
        self.queues.get_mut(&from)?.jobs.remove(at)
    }

    /// Iterates over all jobs.
    pub(super) fn each_job(&self) -> impl Iterator<Item = &InterleavedJob> {
        self.queues.values().flat_map(|queue| &queue.jobs)
    }

    /// Removes every job that matches, and passes it on.
    pub(super) fn remove_jobs_where(
        &mut self,
        mut goes: impl FnMut(&InterleavedJob) -> bool,
        mut removed: impl FnMut(InterleavedJob),
    ) {
        for queue in self.queues.values_mut() {
            for job in std::mem::take(&mut queue.jobs) {
                if goes(&job) {
                    self.jobs -= 1;
                    removed(job);
                } else {
                    queue.jobs.push_back(job);
                }
            }
        }
    }

    /// Makes space for a query request, if another requester has more waiting: takes out the
    /// youngest request, not begun by any pass, of the requester that has the most. A requester
    /// that has the most itself gets no space.
    pub(super) fn evict_youngest(&mut self, requester: Requester) -> Option<QueuedQuery> {
        let own = self.queues.get(&requester).map_or(0, |queue| queue.queries.len());
        let longest = self.queues.values_mut().max_by_key(|queue| queue.queries.len())?;
        // With as many as the new request would have, the new one would be evicted in turn.
        if longest.queries.len() <= own + 1 {
            return None;
        }
        let youngest = longest.queries.iter().rposition(|one| one.started.is_none())?;
        let one = longest.queries.remove(youngest)?;
        self.requests -= 1;
        self.queries -= one.left();
        Some(one)
    }

    /// Removes every query request that matches, and passes it on; removes empty queues too. The
    /// requests of one requester are visited one after the other.
    pub(super) fn remove_where(
        &mut self,
        mut goes: impl FnMut(&QueuedQuery) -> bool,
        mut removed: impl FnMut(QueuedQuery),
    ) {
        for queue in self.queues.values_mut() {
            let mut at = 0;
            while let Some(one) = queue.queries.get(at) {
                if !goes(one) {
                    at += 1;
                    continue;
                }
                self.requests -= 1;
                self.queries -= one.left();
                queue.queries.remove(at).into_iter().for_each(&mut removed);
            }
        }
        self.queues.retain(|_, queue| {
            let stays = !queue.queries.is_empty() || !queue.jobs.is_empty();
            if !stays {
                self.turns.remove(&queue.place);
            }
            stays
        });
    }

    /// The requester of the next pass with its place, and the epoch of its first request.
    fn leader(&self) -> Option<(u64, Requester, &Arc<TableEpoch>)> {
        self.turns.iter().find_map(|(place, requester)| {
            let first = self.queues.get(requester)?.queries.front()?;
            Some((*place, *requester, &first.job.live))
        })
    }

    /// The epoch of the next pass.
    pub(super) fn next_epoch(&self) -> Option<&TableEpoch> {
        self.leader().map(|(_, _, live)| &**live)
    }

    /// Takes the contents of a pass of at most `limit` queries: all for the epoch of the first
    /// request of the requester whose turn it is. Requesters that wait for another epoch, or for
    /// their jobs, keep their places.
    pub(super) fn take(&mut self, limit: usize) -> Option<(Arc<TableEpoch>, PassContents)> {
        let (first, leader, live) = self.leader()?;
        let live = live.clone();
        let shares = self.share(limit, &live);
        // The first requester has had its turn, so that one that waits for another epoch comes
        // first once.
        if self.turns.contains_key(&first) {
            self.turn_over(leader);
        }
        let parts = shares.iter().flat_map(|share| self.cut(share, &live)).collect();
        Some((live, parts))
    }

    /// Divides a pass among requesters, turn by turn; a requester whose turn is over goes to the
    /// end. The rest of a turn that the end of the pass cut short is continued in the next.
    fn share(&mut self, mut left: usize, live: &Arc<TableEpoch>) -> Vec<PassShare> {
        let (mut shares, mut from): (Vec<PassShare>, u64) = (Vec::new(), 0);
        while left > 0
            && let Some((&place, &requester)) = self.turns.range(from..).next()
        {
            from = place + 1;
            let Some(queue) = self.queues.get_mut(&requester) else { continue };
            let known = shares.iter().position(|share| share.requester == requester).unwrap_or_else(|| {
                shares.push(PassShare { requester, wants: queue.wants(live, left), takes: 0 });
                shares.len() - 1
            });
            let Some(share) = shares.get_mut(known) else { continue };
            if share.wants == 0 {
                // With several epochs, most requesters have nothing for this one: they are not
                // visited again.
                if share.takes == 0 {
                    shares.pop();
                }
                continue;
            }
            if queue.credit == 0 {
                queue.credit = self.turn;
            }
            let takes = share.wants.min(queue.credit).min(left);
            share.wants -= takes;
            share.takes += takes;
            queue.credit -= takes;
            queue.is_jobs_turn = true;
            left -= takes;
            if queue.credit == 0 {
                self.turn_over(requester);
            }
        }
        shares
    }

    /// Ends the turn of a requester, which goes to the end.
    fn turn_over(&mut self, requester: Requester) {
        if let Some(queue) = self.queues.get_mut(&requester) {
            self.turns.remove(&queue.place);
            self.turns.insert(self.end, requester);
            (queue.place, queue.credit) = (self.end, 0);
            self.end += 1;
        }
    }

    /// Takes a requester's share out of its queue.
    fn cut(&mut self, share: &PassShare, live: &Arc<TableEpoch>) -> PassContents {
        let (mut parts, mut due) = (Vec::new(), share.takes);
        let Some(queue) = self.queues.get_mut(&share.requester) else { return parts };
        let mut at = 0;
        while due > 0
            && let Some(one) = queue.queries.get(at)
        {
            if !Arc::ptr_eq(&one.job.live, live) {
                at += 1;
                continue;
            }
            let Some(one) = queue.queries.remove(at) else { break };
            let take = one.left().min(due);
            due -= take;
            self.requests -= 1;
            self.queries -= one.left();
            parts.push((one, take));
        }
        parts
    }
}

impl ClientQueue {
    /// The number of a requester's queries for an epoch, up to `limit`.
    fn wants(&self, live: &Arc<TableEpoch>, limit: usize) -> usize {
        let mut wants = 0;
        for one in self.queries.iter().filter(|one| Arc::ptr_eq(&one.job.live, live)) {
            wants += one.left();
            if wants >= limit {
                return limit;
            }
        }
        wants
    }
}
