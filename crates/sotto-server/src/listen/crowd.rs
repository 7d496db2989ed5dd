//! Who is connected: so many in all, and so many of one network. Where there is no room, connections that ask nothing give way:
//! those of the network that holds the most first, so that nobody keeps a stranger out by holding connections open.

use crate::admission::Peer;
use crate::metrics::Metrics;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::Notify;

/// Everybody who is connected to a door.
pub(super) struct Crowd {
    most: usize,
    per_network: usize,
    /// Networks of relays, which may have any number.
    relays: Vec<IpAddr>,
    there: Mutex<There>,
    metrics: Option<Arc<Metrics>>,
}

#[derive(Default)]
struct There {
    networks: HashMap<IpAddr, BTreeMap<u64, Arc<Seat>>>,
    connections: usize,
    next: u64,
}

/// What is known of one connection.
#[derive(Default)]
pub(super) struct Seat {
    state: Mutex<State>,
    gives_way: Notify,
}

#[derive(Clone, Copy)]
struct State {
    /// Requests that are under way.
    busy: usize,
    /// When that was last more than none, or the connection began.
    since: Instant,
}

impl Default for State {
    fn default() -> Self {
        State { busy: 0, since: Instant::now() }
    }
}

/// A connection in the crowd, counted out when it is dropped.
pub(super) struct Connected {
    crowd: Arc<Crowd>,
    network: IpAddr,
    number: u64,
    pub(super) seat: Arc<Seat>,
}

/// A request under way, until it is dropped.
pub(super) struct Busy(Arc<Seat>);

impl Crowd {
    /// `most` in all, and `per_network` of one network that is no relay's; 0 for any number.
    pub(super) fn new(
        (most, per_network): (usize, usize),
        relays: &[Peer],
        metrics: Option<Arc<Metrics>>,
    ) -> Arc<Self> {
        let per_network = if per_network == 0 { usize::MAX } else { per_network };
        let relays = relays.iter().map(|relay| relay.network()).collect();
        Arc::new(Crowd { most, per_network, relays, there: Mutex::default(), metrics })
    }

    /// Takes a newcomer in. `None` if there is no room, and nobody of whom it could be had.
    pub(super) fn enter(self: &Arc<Self>, peer: Peer) -> Option<Connected> {
        let network = peer.network();
        let mut there = self.there();
        let own = |there: &There| there.networks.get(&network).map_or(0, BTreeMap::len);
        let most = if self.relays.contains(&network) { usize::MAX } else { self.per_network };
        if own(&there) >= most && !there.let_go(network, false) {
            return None;
        }
        let held = own(&there);
        if there.connections >= self.most && !there.make_room(held, &self.relays) {
            return None;
        }
        there.next += 1;
        there.connections += 1;
        let (number, seat) = (there.next, Arc::new(Seat::default()));
        there.networks.entry(network).or_default().insert(number, seat.clone());
        if let Some(metrics) = &self.metrics {
            metrics.connections.inc();
        }
        Some(Connected { crowd: self.clone(), network, number, seat })
    }

    /// Lets one idle connection go, where the system has no room for another.
    pub(super) fn thin_out(&self) {
        self.there().make_room(usize::MAX, &self.relays);
    }

    fn there(&self) -> MutexGuard<'_, There> {
        self.there.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl There {
    /// Lets one connection go: an idle one of the network that has the most of all that have an idle one. If nobody is idle, the
    /// oldest of the largest network that is no relay's, if that still has more than the newcomer's with its `own`.
    fn make_room(&mut self, own: usize, relays: &[IpAddr]) -> bool {
        let mut sizes: Vec<_> =
            self.networks.iter().map(|(network, seats)| (seats.len(), *network)).collect();
        sizes.sort_unstable_by(|one, other| other.cmp(one));
        let idle = sizes.iter().any(|(_, network)| self.let_go(*network, false));
        idle || sizes
            .iter()
            .find(|(_, network)| !relays.contains(network))
            .is_some_and(|(most, network)| *most > own.saturating_add(1) && self.let_go(*network, true))
    }

    /// Lets the connection of a network go that has been idle the longest; with `busy` the oldest, whatever it does.
    fn let_go(&mut self, network: IpAddr, busy: bool) -> bool {
        let Some(seats) = self.networks.get_mut(&network) else { return false };
        let idle = seats.iter().filter(|(_, seat)| seat.state().busy == 0);
        let longest = idle.min_by_key(|(_, seat)| seat.state().since).map(|(number, _)| *number);
        let picked = if busy { seats.keys().next().copied() } else { longest };
        let Some(seat) = picked.and_then(|number| seats.remove(&number)) else { return false };
        if seats.is_empty() {
            self.networks.remove(&network);
        }
        self.connections -= 1;
        seat.gives_way.notify_one();
        true
    }
}

impl Seat {
    /// Notes that a request is under way.
    pub(super) fn busy(self: &Arc<Self>) -> Busy {
        self.state().busy += 1;
        Busy(self.clone())
    }

    /// Whether any request is under way.
    pub(super) fn is_busy(&self) -> bool {
        self.state().busy > 0
    }

    /// Waits until this connection has to end.
    pub(super) async fn gives_way(&self) {
        self.gives_way.notified().await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.busy -= 1;
        state.since = Instant::now();
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        let mut there = self.crowd.there();
        if let Some(seats) = there.networks.get_mut(&self.network) {
            let was_there = seats.remove(&self.number).is_some();
            if seats.is_empty() {
                there.networks.remove(&self.network);
            }
            // One that was let go is counted out already.
            there.connections -= usize::from(was_there);
        }
        drop(there);
        if let Some(metrics) = &self.crowd.metrics {
            metrics.connections.dec();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(address: &str) -> Peer {
        Peer(address.parse().unwrap())
    }

    fn left(many: &[Option<Connected>]) -> usize {
        let there =
            |one: &Connected| one.crowd.there().networks.get(&one.network)?.get(&one.number).map(drop);
        many.iter().flatten().filter(|one| there(one).is_some()).count()
    }

    #[test]
    fn the_idle_of_the_largest_give_way() {
        let crowd = Crowd::new((4, 3), &[], None);
        let mut many: Vec<_> = (0..3).map(|_| crowd.enter(peer("192.0.2.1"))).collect();
        let work = many[0].as_ref().unwrap().seat.busy();
        let stranger = crowd.enter(peer("192.0.2.2")).unwrap();
        assert_eq!(left(&many), 3, "there was room");
        let second = crowd.enter(peer("2001:db8::1")).unwrap();
        assert_eq!((left(&many), left(&[Some(stranger), Some(second)])), (2, 2));
        // Of one network its own gives way, and it is the one that asks nothing.
        many.push(crowd.enter(peer("192.0.2.1")));
        many.push(crowd.enter(peer("192.0.2.1")));
        assert_eq!(left(&many), 3);
        many.push(crowd.enter(peer("192.0.2.1")));
        assert_eq!((left(&many), left(&many[..1])), (3, 1));
        drop((work, many));
        assert_eq!(crowd.there().connections, 0);
        assert!(crowd.there().networks.is_empty());
    }

    #[test]
    fn a_relay_has_as_many_as_there_are_and_its_work_is_not_cut_off() {
        let crowd = Crowd::new((3, 1), &[peer("192.0.2.9")], None);
        let relay: Vec<_> = (0..3).map(|_| crowd.enter(peer("192.0.2.9"))).collect();
        assert_eq!(left(&relay), 3);
        let work: Vec<_> = relay.iter().flatten().map(|one| one.seat.busy()).collect();
        assert!(crowd.enter(peer("192.0.2.1")).is_none(), "a stranger waits until it is idle");
        drop(work);
        let stranger = crowd.enter(peer("192.0.2.1"));
        assert!(stranger.is_some() && left(&relay) == 2);
        assert!(crowd.enter(peer("192.0.2.1")).is_some() && left(&[stranger]) == 0, "one of a stranger's");
    }

    #[test]
    fn where_nobody_is_idle_only_a_larger_network_gives_way() {
        let crowd = Crowd::new((3, 0), &[], None);
        let many: Vec<_> = (0..3).map(|_| crowd.enter(peer("192.0.2.1"))).collect();
        let work: Vec<_> = many.iter().flatten().map(|one| one.seat.busy()).collect();
        assert!(crowd.enter(peer("192.0.2.1")).is_none(), "its own are at work");
        let stranger = crowd.enter(peer("192.0.2.2")).unwrap();
        assert_eq!(left(&many), 2, "the oldest of the largest");
        let _ask = stranger.seat.busy();
        assert!(crowd.enter(peer("192.0.2.2")).is_none(), "that would be as many as the others");
        drop(work);
        assert!(crowd.enter(peer("192.0.2.2")).is_some() && left(&many) == 1);
    }
}
