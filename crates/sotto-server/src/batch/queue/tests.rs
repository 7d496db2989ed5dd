use super::*;
use crate::live::tests::clear_table;
use sotto_wire::{SessionId, ask};
use tokio::sync::Semaphore;

const HOUR: Duration = Duration::from_secs(3600);

fn queue(max_queries: usize) -> Arc<Queue> {
    let limits = Limits { max_queue: 10, max_queries, max_wait: HOUR, deadline: HOUR, stall: HOUR };
    Arc::new(Queue::new(limits, Arc::new(Metrics::new())))
}

fn ask(live: &Arc<LiveTable>, count: u64) -> CheckedAsk {
    let queries: Vec<_> = (0..count).map(|i| (i % 4).to_le_bytes()).collect();
    let frame = ask::encode(live.pin(), &SessionId::NONE, &queries).unwrap();
    let head = ask::Head::parse(&frame).unwrap();
    let room = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
    CheckedAsk { live: live.clone(), session: live.keyless().unwrap().clone(), head, frame, _room: room }
}

fn pass(queue: &Queue, done: Done) -> Pass {
    match queue.next(done) {
        Some(Work::Pass(pass)) => pass,
        _ => panic!("there is an ask and no stream"),
    }
}

fn sizes(pass: &Pass) -> Vec<usize> {
    pass.parts.iter().map(|(_, take)| *take).collect()
}

#[test]
fn an_idle_worker_takes_what_there_is() {
    let (queue, live) = (queue(8), clear_table(1));
    let _reply = queue.push(ask(&live, 3), Instant::now()).unwrap();
    assert_eq!(sizes(&pass(&queue, Done::Nothing)), [3]);
}

#[test]
fn a_worker_fresh_from_a_pass_waits_for_company() {
    let (queue, live) = (queue(5), clear_table(1));
    let _first = queue.push(ask(&live, 3), Instant::now()).unwrap();
    let worker = std::thread::spawn({
        let queue = queue.clone();
        // After a pass of hours it has patience for hours: only a full pass ends the wait.
        move || sizes(&pass(&queue, Done::Pass(2 * HOUR)))
    });
    let _second = queue.push(ask(&live, 1), Instant::now()).unwrap();
    let _third = queue.push(ask(&live, 4), Instant::now()).unwrap();
    assert_eq!(worker.join().unwrap(), [3, 1, 1]);
}

#[test]
fn closing_ends_the_wait_and_then_the_work() {
    let (queue, live) = (queue(5), clear_table(1));
    let _reply = queue.push(ask(&live, 1), Instant::now()).unwrap();
    queue.close();
    assert_eq!(queue.push(ask(&live, 1), Instant::now()).err(), Some(Code::ShuttingDown));
    assert_eq!(sizes(&pass(&queue, Done::Pass(2 * HOUR))), [1]);
    assert!(queue.next(Done::Nothing).is_none());
}

#[test]
fn a_pass_is_about_one_epoch_and_the_oldest_ask_goes_first() {
    let (queue, old, new) = (queue(8), clear_table(1), clear_table(2));
    let pushed = [&old, &new, &old, &new].map(|live| queue.push(ask(live, 1), Instant::now()).unwrap());
    for live in [&old, &new] {
        let pass = pass(&queue, Done::Nothing);
        assert!(Arc::ptr_eq(&pass.live, live));
        assert_eq!(sizes(&pass), [1, 1]);
    }
    drop(pushed);
}

#[test]
fn late_and_abandoned_asks_cost_no_place_in_a_pass() {
    let limits =
        Limits { max_queue: 10, max_queries: 8, max_wait: HOUR, deadline: Duration::ZERO, stall: HOUR };
    let (queue, live) = (Queue::new(limits, Arc::new(Metrics::new())), clear_table(1));
    let now = Instant::now();
    let mut late = queue.push(ask(&live, 4), now).unwrap();
    drop(queue.push(ask(&live, 2), now + HOUR).unwrap());
    let mut good = queue.push(ask(&live, 1), now + HOUR).unwrap();
    assert_eq!(sizes(&pass(&queue, Done::Nothing)), [1]);
    assert_eq!(late.try_recv().unwrap().err(), Some(Code::Deadline));
    assert!(good.try_recv().is_err(), "it is in the pass, and not answered yet");
}

#[test]
fn an_abandoned_ask_holds_its_room_as_long_as_its_bytes() {
    let (queue, live, bodies) = (queue(8), clear_table(1), Arc::new(Semaphore::new(1)));
    let room = bodies.clone().try_acquire_owned().unwrap();
    drop(queue.push(CheckedAsk { _room: room, ..ask(&live, 1) }, Instant::now()).unwrap());
    assert_eq!(bodies.available_permits(), 0, "its frame is still in the queue");
    let good = queue.push(ask(&live, 1), Instant::now()).unwrap();
    assert_eq!(sizes(&pass(&queue, Done::Nothing)), [1]);
    assert_eq!(bodies.available_permits(), 1);
    drop(good);
}

#[test]
fn a_full_queue_takes_no_more() {
    let (queue, live) = (queue(8), clear_table(1));
    let held: Vec<_> = (0..10).map(|_| queue.push(ask(&live, 1), Instant::now()).unwrap()).collect();
    assert_eq!(queue.push(ask(&live, 1), Instant::now()).err(), Some(Code::Busy));
    assert_eq!(sizes(&pass(&queue, Done::Nothing)), [1; 8]);
    assert!(queue.push(ask(&live, 1), Instant::now()).is_ok());
    drop(held);
}
