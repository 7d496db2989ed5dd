use super::super::jobs::{StepJob, StepOutcome, StepWork};
use super::*;
use crate::ScanConfig;
use crate::client::Peer;
use crate::limits::counts::CountStore;
use crate::limits::slots::Slots;
use crate::table_epoch::tests::clear_table;
use sotto_wire::{SessionId, query};

const HOUR: Duration = Duration::from_secs(3600);

fn limits(max_queries: usize) -> SchedulerLimits {
    SchedulerLimits {
        max_queue: 10,
        max_stepped: 4,
        max_queries,
        max_wait: HOUR,
        deadline: HOUR,
        stall: HOUR,
    }
}

fn queue(max_queries: usize) -> Arc<Queue> {
    of(limits(max_queries), &ScanConfig::default())
}

fn of(limits: SchedulerLimits, scans: &ScanConfig) -> Arc<Queue> {
    let metrics = Arc::<ServerMetrics>::default();
    let budget = TimeBudget::new(scans, &CountStore::in_memory(0), metrics.clone());
    Arc::new(Queue::new(limits, Arc::new(budget), metrics))
}

fn query_job(live: &Arc<TableEpoch>, count: u64) -> QueryJob {
    ask_of(1, live, count)
}

/// A query request of the client with this number.
fn ask_of(client: u8, live: &Arc<TableEpoch>, count: u64) -> QueryJob {
    let queries: Vec<_> = (0..count).map(|i| (i % 4).to_le_bytes()).collect();
    let frame = query::encode(live.pin(), &SessionId::NONE, &queries).unwrap();
    let head = query::QueryHead::parse(&frame).unwrap();
    let (session, peer) = (live.default_session().unwrap().clone(), Peer([192, 0, 2, client].into()));
    let memory = Slots::memory(1 << 20, Default::default());
    let (frame_memory, answer_memory) = (memory.none(peer), memory.none(peer));
    QueryJob { live: live.clone(), session, head, frame, peer, _frame_memory: frame_memory, answer_memory }
}

fn pass(queue: &Queue, done: FinishedWork) -> PlannedPass {
    match queue.next(done) {
        Some(NextWork::Pass(pass)) => pass,
        _ => panic!("there is an ask and no stream"),
    }
}

/// The code that a request was refused with, if it was.
fn code(reply: &mut oneshot::Receiver<Reply>) -> Option<ProblemCode> {
    reply.try_recv().ok()?.err().map(|refusal| refusal.summary().0)
}

/// Clients with queries in a pass, and how many of each.
fn shares(pass: &PlannedPass) -> Vec<(u8, usize)> {
    let mut shares = std::collections::BTreeMap::new();
    for (one, take) in &pass.parts {
        let std::net::IpAddr::V4(address) = one.job.peer.0 else { panic!("the tests' clients have IPv4") };
        *shares.entry(address.octets()[3]).or_insert(0) += take;
    }
    shares.into_iter().collect()
}

/// Ends a pass: puts back requests that are not completely answered.
fn end(queue: &Queue, pass: PlannedPass) {
    for (mut one, take) in pass.parts {
        one.answers.extend(std::iter::repeat_n(Vec::new(), take));
        if one.left() > 0 {
            queue.put_back(one);
        }
    }
}

fn sizes(pass: &PlannedPass) -> Vec<usize> {
    pass.parts.iter().map(|(_, take)| *take).collect()
}

#[test]
fn an_idle_worker_takes_what_there_is() {
    let (queue, live) = (queue(8), clear_table(1));
    let _reply = queue.push(query_job(&live, 3), Instant::now()).unwrap();
    assert_eq!(sizes(&pass(&queue, FinishedWork::Nothing)), [3]);
}

#[test]
fn a_worker_fresh_from_a_pass_waits_for_company() {
    let (queue, live) = (queue(5), clear_table(1));
    let _first = queue.push(query_job(&live, 3), Instant::now()).unwrap();
    let worker = std::thread::spawn({
        let queue = queue.clone();
        // After a pass of hours the worker waits for hours: only a full pass ends the wait.
        move || sizes(&pass(&queue, FinishedWork::Pass(2 * HOUR)))
    });
    let _second = queue.push(query_job(&live, 1), Instant::now()).unwrap();
    let _third = queue.push(query_job(&live, 4), Instant::now()).unwrap();
    assert_eq!(worker.join().unwrap(), [3, 1, 1]);
}

#[test]
fn who_cannot_be_reached_in_time_is_told_at_once() {
    let limits = SchedulerLimits { max_queue: 100, ..limits(4) };
    let (queue, live) = (of(limits, &ScanConfig::default()), clear_table(1));
    let push = |client, count| queue.push(ask_of(client, &live, count), Instant::now());
    // The duration of a pass is not known yet.
    let mut held: Vec<_> = (0..5).map(|_| push(1, 2).unwrap()).collect();
    // Now a pass takes 40 minutes, and six queries wait: two passes of four precede a request
    // behind two more.
    end(&queue, pass(&queue, FinishedWork::Pass(HOUR * 2 / 3)));
    held.push(push(1, 2).unwrap());
    assert_eq!(push(1, 1).err(), Some(ProblemCode::Busy));
    // Another network has its turn before these.
    held.push(push(2, 1).unwrap());
    // Shorter passes change the expectation.
    for _ in 0..20 {
        held.push(push(3, 1).unwrap());
        end(&queue, pass(&queue, FinishedWork::Pass(Duration::from_millis(1))));
    }
    held.push(push(1, 8).unwrap());
    held.push(push(1, 1).unwrap());
}

#[test]
fn closing_ends_the_wait_and_then_the_work() {
    let (queue, live) = (queue(5), clear_table(1));
    let _reply = queue.push(query_job(&live, 1), Instant::now()).unwrap();
    queue.close();
    assert_eq!(queue.push(query_job(&live, 1), Instant::now()).err(), Some(ProblemCode::ShuttingDown));
    assert_eq!(sizes(&pass(&queue, FinishedWork::Pass(2 * HOUR))), [1]);
    assert!(queue.next(FinishedWork::Nothing).is_none());
}

#[test]
fn a_pass_is_about_one_epoch_and_the_oldest_ask_goes_first() {
    let (queue, old, new) = (queue(8), clear_table(1), clear_table(2));
    let pushed = [&old, &new, &old, &new].map(|live| queue.push(query_job(live, 1), Instant::now()).unwrap());
    for live in [&old, &new] {
        let pass = pass(&queue, FinishedWork::Nothing);
        assert!(Arc::ptr_eq(&pass.live, live));
        assert_eq!(sizes(&pass), [1, 1]);
    }
    drop(pushed);
}

#[test]
fn late_and_abandoned_asks_cost_no_place_in_a_pass() {
    let limits = SchedulerLimits { deadline: Duration::ZERO, ..limits(8) };
    let (queue, live) = (of(limits, &ScanConfig::default()), clear_table(1));
    let now = Instant::now();
    let mut late = queue.push(query_job(&live, 4), now).unwrap();
    drop(queue.push(query_job(&live, 2), now + HOUR).unwrap());
    let mut good = queue.push(query_job(&live, 1), now + HOUR).unwrap();
    assert_eq!(sizes(&pass(&queue, FinishedWork::Nothing)), [1]);
    assert_eq!(code(&mut late), Some(ProblemCode::Deadline));
    assert!(good.try_recv().is_err(), "it is in the pass, and not answered yet");
}

#[test]
fn an_abandoned_query_holds_its_memory_as_long_as_its_bytes() {
    let (queue, live, memory) = (queue(8), clear_table(1), Slots::memory(800, Default::default()));
    let peer = Peer([192, 0, 2, 1].into());
    let take = |bytes| memory.take(peer, bytes);
    let both = QueryJob {
        _frame_memory: take(300).ok().unwrap(),
        answer_memory: take(400).ok().unwrap(),
        ..query_job(&live, 1)
    };
    drop(queue.push(both, Instant::now()).unwrap());
    assert!(take(1).is_err(), "its frame is still in the queue, and its answer may be made");
    let good = queue.push(query_job(&live, 1), Instant::now()).unwrap();
    assert_eq!(sizes(&pass(&queue, FinishedWork::Nothing)), [1]);
    assert!(take(700).is_ok());
    drop(good);
}

#[test]
fn a_full_queue_takes_no_more() {
    let (queue, live) = (queue(8), clear_table(1));
    let held: Vec<_> = (0..10).map(|_| queue.push(query_job(&live, 1), Instant::now()).unwrap()).collect();
    assert_eq!(queue.push(query_job(&live, 1), Instant::now()).err(), Some(ProblemCode::Busy));
    assert_eq!(sizes(&pass(&queue, FinishedWork::Nothing)), [1; 8]);
    assert!(queue.push(query_job(&live, 1), Instant::now()).is_ok());
    drop(held);
}

fn wide(max_queue: usize) -> Arc<Queue> {
    of(SchedulerLimits { max_queue, ..limits(8) }, &ScanConfig::default())
}

#[test]
fn a_thousand_large_asks_of_one_do_not_keep_anothers_one_waiting() {
    let (queue, live) = (wide(2000), clear_table(1));
    let push = |client, count| queue.push(ask_of(client, &live, count), Instant::now()).unwrap();
    let _many: Vec<_> = (0..1000).map(|_| push(1, 64)).collect();
    end(&queue, pass(&queue, FinishedWork::Nothing));
    let mut one = vec![push(2, 1)];
    let next = pass(&queue, FinishedWork::Nothing);
    assert_eq!(shares(&next), [(1, 7), (2, 1)], "in the very next pass, which is full");
    end(&queue, next);
    // A client that sends its next request at once is in every pass; and of four more, each has its
    // two in the next.
    for _ in 0..20 {
        one.push(push(2, 1));
        let next = pass(&queue, FinishedWork::Nothing);
        assert_eq!(shares(&next), [(1, 7), (2, 1)]);
        end(&queue, next);
    }
    one.extend((3..6).map(|client| push(client, 2)));
    let next = pass(&queue, FinishedWork::Nothing);
    assert_eq!(shares(&next), [(1, 2), (3, 2), (4, 2), (5, 2)]);
}

#[test]
fn all_who_have_much_waiting_get_as_much() {
    for sizes in [[64, 1, 7], [8, 8, 8], [3, 64, 2]] {
        let (queue, live) = (wide(1000), clear_table(1));
        let push = |client: u8, count| queue.push(ask_of(client, &live, count), Instant::now()).unwrap();
        let held: Vec<_> = (1..4)
            .zip(sizes)
            .flat_map(|(client, size)| std::iter::repeat_n((client, size), 200 / size as usize + 1))
            .map(|(client, size)| push(client, size))
            .collect();
        let mut had = [0; 4];
        for _ in 0..60 {
            let next = pass(&queue, FinishedWork::Nothing);
            assert_eq!(next.parts.iter().map(|(_, take)| take).sum::<usize>(), 8, "every pass is full");
            shares(&next).iter().for_each(|(client, take)| had[usize::from(*client)] += take);
            end(&queue, next);
        }
        let (least, most) = (had[1..].iter().min().unwrap(), had[1..].iter().max().unwrap());
        assert!(most - least <= 8, "{had:?} of asks of {sizes:?}");
        drop(held);
    }
}

#[test]
fn who_waits_for_another_epoch_has_its_turn_too() {
    let (queue, old, new) = (wide(1000), clear_table(1), clear_table(2));
    let push = |client: u8, live| queue.push(ask_of(client, live, 1), Instant::now()).unwrap();
    let _many: Vec<_> = (0..100).map(|_| push(1, &old)).collect();
    let _one = push(2, &new);
    end(&queue, pass(&queue, FinishedWork::Nothing));
    let next = pass(&queue, FinishedWork::Nothing);
    assert!(Arc::ptr_eq(&next.live, &new) && shares(&next) == [(2, 1)]);
}

#[test]
fn a_lone_client_has_every_pass_and_its_asks_go_by_age() {
    let (queue, live) = (wide(100), clear_table(1));
    let push = |count| queue.push(ask_of(1, &live, count), Instant::now()).unwrap();
    let _held = [push(3), push(20), push(1), push(9)];
    let mut passes = Vec::new();
    while queue.state().waiting.requests() > 0 {
        let next = pass(&queue, FinishedWork::Nothing);
        passes.push(sizes(&next));
        end(&queue, next);
    }
    assert_eq!(passes, [vec![3, 5], vec![1, 7], vec![8], vec![2, 6], vec![1]]);
    assert_eq!(queue.state().waiting.queries(), 0);
}

#[test]
fn in_a_full_queue_whoever_has_most_gives_way() {
    let (queue, live) = (wide(6), clear_table(1));
    let push = |client| queue.push(ask_of(client, &live, 1), Instant::now());
    let mut many: Vec<_> = (0..6).map(|_| push(1).unwrap()).collect();
    assert_eq!(push(1).err(), Some(ProblemCode::Busy), "its own are the most");
    let mut others: Vec<_> = (0..3).map(|_| push(2).unwrap()).collect();
    let out: Vec<_> = many.iter_mut().map(|reply| code(reply) == Some(ProblemCode::Busy)).collect();
    assert_eq!(out, [false, false, false, true, true, true], "the youngest go");
    assert_eq!(push(2).err(), Some(ProblemCode::Busy), "it would have more than the other");
    others.push(push(3).unwrap());
    assert_eq!(queue.metrics.queue_evictions.get(), 4);
    let next = pass(&queue, FinishedWork::Nothing);
    assert_eq!(next.parts.len(), 6);
    // A request that a pass has begun stays.
    let _large = queue.push(ask_of(1, &live, 20), Instant::now()).unwrap();
    end(&queue, pass(&queue, FinishedWork::Nothing));
    let _held: Vec<_> = (0..5).map(|_| push(1).unwrap()).collect();
    let _new: Vec<_> = (0..3).map(|_| push(2).unwrap()).collect();
    assert_eq!(queue.state().waiting.queries(), 12 + 2 + 3);
}

#[test]
fn asks_that_wait_are_refused_once_their_client_has_had_its_time() {
    let scans = ScanConfig { percent_per_client: 10, burst_seconds_per_client: 1, ..ScanConfig::default() };
    let (queue, live) = (of(limits(8), &scans), clear_table(1));
    let push = |client, count| queue.push(ask_of(client, &live, count), Instant::now()).unwrap();
    let _begun = push(1, 12);
    let first = pass(&queue, FinishedWork::Nothing);
    let mut waiting = [push(1, 1), push(2, 1)];
    queue.budget.charge(first.parts[0].0.job.peer, Duration::from_secs(3), Instant::now());
    end(&queue, first);
    assert_eq!(shares(&pass(&queue, FinishedWork::Nothing)), [(1, 4), (2, 1)], "what has begun is finished");
    assert_eq!([code(&mut waiting[0]), code(&mut waiting[1])], [Some(ProblemCode::Busy), None]);
}

#[test]
fn a_lull_is_when_nothing_is_done_and_no_ask_is_there() {
    let (queue, live) = (queue(8), clear_table(1));
    let busy = |queue: &Queue| {
        let state = queue.state();
        state.busy || state.waiting.requests() > 0
    };
    // There is nothing to wait for.
    queue.wait_until_idle(HOUR);
    let _first = queue.push(query_job(&live, 1), Instant::now()).unwrap();
    assert!(busy(&queue));
    queue.wait_until_idle(Duration::ZERO);
    let made = pass(&queue, FinishedWork::Nothing);
    assert!(busy(&queue), "the pass is under way");
    let waiting = std::thread::spawn({
        let queue = queue.clone();
        move || queue.wait_until_idle(HOUR)
    });
    end(&queue, made);
    queue.close();
    assert!(queue.next(FinishedWork::Pass(Duration::ZERO)).is_none());
    waiting.join().unwrap();
    assert!(!busy(&queue));
}

/// A request of several steps, and its result.
struct Task {
    requester: Requester,
    left: usize,
    refused: Arc<Mutex<Vec<(Requester, ProblemCode)>>>,
}

impl StepWork for Task {
    fn peer(&self) -> Peer {
        Peer([192, 0, 2, 1].into())
    }
    fn requester(&self) -> Requester {
        self.requester
    }
    fn left(&self) -> usize {
        self.left
    }
    fn is_wanted(&self) -> bool {
        true
    }
    fn step(&mut self) -> StepOutcome {
        self.left -= 1;
        if self.left > 0 { StepOutcome::Continues } else { StepOutcome::Done }
    }
    fn refuse(self: Box<Self>, code: ProblemCode) {
        self.refused.lock().unwrap().push((self.requester, code));
    }
}

/// A queue of passes of two queries, with tasks: each of a requester, with its number of steps.
struct Tasks {
    queue: Arc<Queue>,
    refused: Arc<Mutex<Vec<(Requester, ProblemCode)>>>,
}

impl Tasks {
    fn new(max_stepped: usize) -> Self {
        let queue = of(SchedulerLimits { max_stepped, ..limits(2) }, &ScanConfig::default());
        Tasks { queue, refused: Arc::default() }
    }

    fn push(&self, requester: Requester, left: usize) -> Result<(), ProblemCode> {
        let steps = Box::new(Task { requester, left, refused: self.refused.clone() });
        self.queue.push_job(InterleavedJob::Steps(StepJob { steps, since: Instant::now(), has_begun: false }))
    }

    /// The next work, which is put back: the requester of a step, or `None` for a pass.
    fn next(&self, done: FinishedWork) -> Option<Requester> {
        match self.queue.next(done) {
            Some(NextWork::Unit(InterleavedJob::Steps(mut job))) => {
                let requester = job.steps.requester();
                job.has_begun = true;
                if job.steps.step() == StepOutcome::Continues {
                    self.queue.put_job_back(InterleavedJob::Steps(job));
                }
                Some(requester)
            }
            Some(NextWork::Pass(pass)) => {
                end(&self.queue, pass);
                None
            }
            _ => panic!("there is something to do, and no stream"),
        }
    }

    fn order(&self, count: usize) -> Vec<Requester> {
        (0..count).map(|_| self.next(FinishedWork::Unit).expect("no pass")).collect()
    }
}

fn network(client: u8) -> Requester {
    Requester::Network([192, 0, 2, client].into())
}

#[test]
fn lookups_take_turns_by_requester_whatever_its_requests() {
    let tasks = Tasks::new(100);
    // One requester with many requests of many lookups, and two with one of two.
    (0..20).for_each(|_| tasks.push(network(1), 64).unwrap());
    tasks.push(network(2), 2).unwrap();
    tasks.push(Requester::Token(7), 2).unwrap();
    let (one, two, token) = (network(1), network(2), Requester::Token(7));
    assert_eq!(tasks.order(7), [one, two, token, one, two, token, one]);
    // A later request waits for one turn.
    tasks.push(network(2), 1).unwrap();
    assert_eq!(tasks.order(3), [one, two, one]);
    assert!(tasks.refused.lock().unwrap().is_empty());
}

#[test]
fn lookups_and_asks_of_one_requester_are_one_line() {
    let (tasks, live) = (Tasks::new(100), clear_table(1));
    let push = |client| tasks.queue.push(ask_of(client, &live, 1), Instant::now()).unwrap();
    // A flood of both from one network; each other network has its turn after one of these.
    let mut held: Vec<_> = (0..6).map(|_| push(1)).collect();
    (0..6).for_each(|_| tasks.push(network(1), 8).unwrap());
    tasks.push(network(2), 3).unwrap();
    let pass = || FinishedWork::Pass(Duration::ZERO);
    assert_eq!(tasks.next(FinishedWork::Nothing), None, "what it asked for first");
    assert_eq!([tasks.next(pass()), tasks.next(FinishedWork::Unit)], [Some(network(2)), Some(network(1))]);
    held.push(push(3));
    assert_eq!(
        [tasks.next(FinishedWork::Unit), tasks.next(FinishedWork::Unit)],
        [Some(network(2)), None],
        "the asks of both"
    );
    assert_eq!(tasks.next(pass()), Some(network(2)));
}

#[test]
fn where_as_much_waits_as_may_whoever_has_the_most_lookups_waiting_gives_way() {
    let tasks = Tasks::new(4);
    (0..4).for_each(|_| tasks.push(network(1), 64).unwrap());
    assert_eq!(tasks.push(network(1), 64), Err(ProblemCode::Busy), "its own are the most");
    assert_eq!(
        tasks.push(Requester::Token(1), 300),
        Err(ProblemCode::Busy),
        "it would have more than the other"
    );
    tasks.push(network(2), 1).unwrap();
    tasks.push(Requester::Token(2), 64).unwrap();
    let refused = [(network(1), ProblemCode::Busy); 2];
    assert_eq!(*tasks.refused.lock().unwrap(), refused);
    assert_eq!(tasks.order(3), [network(1), network(2), Requester::Token(2)]);
    // Of one requester, which may be many users behind one address, the largest request is evicted
    // for smaller ones.
    tasks.push(network(1), 60).unwrap();
    tasks.push(network(1), 10).unwrap();
    assert_eq!(tasks.refused.lock().unwrap().len(), 3);
    // A request that has begun is evicted too, if there is no other: nobody is kept out by it.
    let tasks = Tasks::new(1);
    tasks.push(network(1), 9).unwrap();
    assert_eq!(tasks.order(1), [network(1)]);
    tasks.push(network(2), 1).unwrap();
    assert_eq!(tasks.order(1), [network(2)]);
    assert_eq!(tasks.queue.metrics.queue_evictions.get(), 1);
}

#[test]
fn a_request_in_steps_that_waits_too_long_is_told_so() {
    let limits = SchedulerLimits { deadline: Duration::ZERO, ..limits(2) };
    let tasks = Tasks { queue: of(limits, &ScanConfig::default()), refused: Arc::default() };
    tasks.push(network(1), 1).unwrap();
    tasks.queue.close();
    assert!(tasks.queue.next(FinishedWork::Nothing).is_none());
    assert_eq!(*tasks.refused.lock().unwrap(), [(network(1), ProblemCode::Deadline)]);
}
