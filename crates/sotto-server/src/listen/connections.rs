//! Open connections: a maximum in total, and one per network. When it is reached, idle connections
//! are closed: those of the network that has the most first, so that nobody keeps a new client out
//! by holding connections open. An IPv6 network counts with all that its provider assigned to the
//! same customer.

use crate::client::{Network, Peer};
use crate::locked;
use prometheus_client::metrics::gauge::Gauge;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;
use tokio::sync::Notify;

/// All open connections of a port.
pub(super) struct Connections {
    max: usize,
    /// Maximum number per network; larger networks have a multiple of it.
    per_network: usize,
    /// Relays, which may have any number.
    relays: Vec<Peer>,
    table: Mutex<ConnectionTable>,
    gauge: Option<Gauge>,
}

#[derive(Default)]
struct ConnectionTable {
    customers: HashMap<Network, BTreeMap<u64, (Peer, Arc<ConnectionState>)>>,
    connections: usize,
    next: u64,
}

/// State of one connection.
#[derive(Default)]
pub(super) struct ConnectionState {
    activity: Mutex<Activity>,
    evicted: Notify,
}

#[derive(Clone, Copy)]
struct Activity {
    /// Number of requests in progress.
    busy: usize,
    /// Time when the last request ended, or the connection began.
    since: Instant,
}

impl Default for Activity {
    fn default() -> Self {
        Activity { busy: 0, since: Instant::now() }
    }
}

/// A connection among [`Connections`], removed when it is dropped.
pub(super) struct ConnectionGuard {
    connections: Arc<Connections>,
    customer: Network,
    number: u64,
    pub(super) state: Arc<ConnectionState>,
}

/// A request in progress, until it is dropped.
pub(super) struct RequestGuard(Arc<ConnectionState>);

impl Connections {
    /// Allows `max` connections in total, and `per_network` of one network that is not a relay's;
    /// 0 for any number.
    pub(super) fn new(max: usize, per_network: usize, relays: &[Peer], gauge: Option<Gauge>) -> Arc<Self> {
        let per_network = if per_network == 0 { usize::MAX } else { per_network };
        Arc::new(Connections { max, per_network, relays: relays.to_vec(), table: Mutex::default(), gauge })
    }

    /// Adds a new connection. Returns `None` if a limit is reached, and no other connection can be
    /// closed.
    pub(super) fn enter(self: &Arc<Self>, peer: Peer) -> Option<ConnectionGuard> {
        let customer = peer.customer();
        let mut table = locked(&self.table);
        if !self.relays.iter().any(|relay| relay.network() == peer.network()) {
            for network in peer.networks() {
                let limit = self.per_network.saturating_mul(network.clients());
                if table.count(customer, network) >= limit && !table.evict_from(customer, network, false) {
                    return None;
                }
            }
        }
        let held = table.count(customer, customer);
        if table.connections >= self.max && !table.evict_one(held, &self.relays) {
            return None;
        }
        table.next += 1;
        table.connections += 1;
        let (number, state) = (table.next, Arc::new(ConnectionState::default()));
        table.customers.entry(customer).or_default().insert(number, (peer, state.clone()));
        if let Some(gauge) = &self.gauge {
            gauge.inc();
        }
        Some(ConnectionGuard { connections: self.clone(), customer, number, state })
    }

    /// Closes one idle connection, for when the system has no capacity for another.
    pub(super) fn close_one_idle(&self) {
        locked(&self.table).evict_one(usize::MAX, &self.relays);
    }
}

impl ConnectionTable {
    /// Number of a customer's connections within one of its networks.
    fn count(&self, customer: Network, network: Network) -> usize {
        let Some(states) = self.customers.get(&customer) else { return 0 };
        match network == customer {
            true => states.len(),
            false => states.values().filter(|(peer, _)| peer.is_in(network)).count(),
        }
    }

    /// Closes one connection: an idle one of the customer that has the most among those with an
    /// idle one. If none is idle, the oldest of the largest customer that is not a relay, if that
    /// still has more than the new client, including its `own` connections. Returns whether
    /// one was closed.
    fn evict_one(&mut self, own: usize, relays: &[Peer]) -> bool {
        let mut sizes: Vec<_> =
            self.customers.iter().map(|(customer, states)| (states.len(), *customer)).collect();
        sizes.sort_unstable_by(|one, other| other.cmp(one));
        let idle = sizes.iter().any(|(_, customer)| self.evict_from(*customer, *customer, false));
        idle || sizes
            .iter()
            .find(|(_, customer)| !relays.iter().any(|relay| relay.is_in(*customer)))
            .is_some_and(|(held, customer)| {
                *held > own.saturating_add(1) && self.evict_from(*customer, *customer, true)
            })
    }

    /// Closes the connection of a customer's network that has been idle the longest; with `busy`
    /// the oldest, idle or not. Returns whether one was closed.
    fn evict_from(&mut self, customer: Network, network: Network, busy: bool) -> bool {
        let Some(states) = self.customers.get_mut(&customer) else { return false };
        let own = || states.iter().filter(|(_, (peer, _))| peer.is_in(network));
        let idle = own().filter(|(_, (_, state))| state.activity().busy == 0);
        let longest = idle.min_by_key(|(_, (_, state))| state.activity().since).map(|(number, _)| *number);
        let picked = if busy { own().next().map(|(number, _)| *number) } else { longest };
        let Some((_, state)) = picked.and_then(|number| states.remove(&number)) else { return false };
        if states.is_empty() {
            self.customers.remove(&customer);
        }
        self.connections -= 1;
        state.evicted.notify_one();
        true
    }
}

impl ConnectionState {
    /// Marks a request as in progress.
    pub(super) fn busy(self: &Arc<Self>) -> RequestGuard {
        self.activity().busy += 1;
        RequestGuard(self.clone())
    }

    /// Whether any request is in progress.
    pub(super) fn is_busy(&self) -> bool {
        self.activity().busy > 0
    }

    /// Waits until this connection has to end.
    pub(super) async fn wait_for_eviction(&self) {
        self.evicted.notified().await;
    }

    fn activity(&self) -> MutexGuard<'_, Activity> {
        locked(&self.activity)
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        let mut activity = self.0.activity();
        activity.busy -= 1;
        activity.since = Instant::now();
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        let mut table = locked(&self.connections.table);
        if let Some(states) = table.customers.get_mut(&self.customer) {
            let was_open = states.remove(&self.number).is_some();
            if states.is_empty() {
                table.customers.remove(&self.customer);
            }
            // An evicted connection was removed already.
            table.connections -= usize::from(was_open);
        }
        drop(table);
        if let Some(gauge) = &self.connections.gauge {
            gauge.dec();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(address: &str) -> Peer {
        Peer(address.parse().unwrap())
    }

    fn left(many: &[Option<ConnectionGuard>]) -> usize {
        let is_open = |one: &ConnectionGuard| {
            locked(&one.connections.table).customers.get(&one.customer)?.get(&one.number).map(drop)
        };
        many.iter().flatten().filter(|one| is_open(one).is_some()).count()
    }

    #[test]
    fn the_idle_of_the_largest_give_way() {
        let connections = Connections::new(4, 3, &[], None);
        let mut many: Vec<_> = (0..3).map(|_| connections.enter(peer("192.0.2.1"))).collect();
        let work = many[0].as_ref().unwrap().state.busy();
        let stranger = connections.enter(peer("192.0.2.2")).unwrap();
        assert_eq!(left(&many), 3, "nothing was full");
        let second = connections.enter(peer("2001:db8::1")).unwrap();
        assert_eq!((left(&many), left(&[Some(stranger), Some(second)])), (2, 2));
        // A network at its maximum loses its own idle connection.
        many.push(connections.enter(peer("192.0.2.1")));
        many.push(connections.enter(peer("192.0.2.1")));
        assert_eq!(left(&many), 3);
        many.push(connections.enter(peer("192.0.2.1")));
        assert_eq!((left(&many), left(&many[..1])), (3, 1));
        drop((work, many));
        assert_eq!(locked(&connections.table).connections, 0);
        assert!(locked(&connections.table).customers.is_empty());
    }

    #[test]
    fn a_customer_of_many_ipv6_networks_keeps_no_stranger_out() {
        let connections = Connections::new(13, 3, &[], None);
        let enter = |address: String| connections.enter(peer(&address));
        // Each connection is from a network of its own, and busy.
        let small: Vec<_> = (0..20).filter_map(|i| enter(format!("2001:db8:0:{i:x}::1"))).collect();
        let mut work: Vec<_> = small.iter().map(|one| one.state.busy()).collect();
        assert_eq!(small.len(), 20, "idle ones gave way to its own");
        let small: Vec<_> = small.into_iter().map(Some).collect();
        assert_eq!(left(&small), 6);
        for i in 1..20 {
            if let Some(one) = enter(format!("2001:db8:0:{i:x}00::1")) {
                work.push(one.state.busy());
                std::mem::forget(one);
            }
        }
        assert_eq!(locked(&connections.table).connections, 12);
        assert!(enter("2001:db8:1::1".into()).is_some() && enter("192.0.2.1".into()).is_some());
    }

    #[test]
    fn a_relay_has_as_many_as_there_are_and_its_work_is_not_cut_off() {
        let connections = Connections::new(3, 1, &[peer("192.0.2.9")], None);
        let relay: Vec<_> = (0..3).map(|_| connections.enter(peer("192.0.2.9"))).collect();
        assert_eq!(left(&relay), 3);
        let work: Vec<_> = relay.iter().flatten().map(|one| one.state.busy()).collect();
        assert!(connections.enter(peer("192.0.2.1")).is_none(), "a stranger waits until it is idle");
        drop(work);
        let stranger = connections.enter(peer("192.0.2.1"));
        assert!(stranger.is_some() && left(&relay) == 2);
        assert!(
            connections.enter(peer("192.0.2.1")).is_some() && left(&[stranger]) == 0,
            "one of a stranger's"
        );
    }

    #[test]
    fn where_nobody_is_idle_only_a_larger_network_evicted() {
        let connections = Connections::new(3, 0, &[], None);
        let many: Vec<_> = (0..3).map(|_| connections.enter(peer("192.0.2.1"))).collect();
        let work: Vec<_> = many.iter().flatten().map(|one| one.state.busy()).collect();
        assert!(connections.enter(peer("192.0.2.1")).is_none(), "its own are at work");
        let stranger = connections.enter(peer("192.0.2.2")).unwrap();
        assert_eq!(left(&many), 2, "the oldest of the largest");
        let _ask = stranger.state.busy();
        assert!(connections.enter(peer("192.0.2.2")).is_none(), "that would be as many as the others");
        drop(work);
        assert!(connections.enter(peer("192.0.2.2")).is_some() && left(&many) == 1);
    }
}
