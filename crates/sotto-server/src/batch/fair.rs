//! Whose asks go next: networks take turns, and in its turn each has a few queries answered (deficit round-robin, Shreedhar and
//! Varghese 1995). So an ask waits for a turn of each other network, however many asks those have. A network that is alone has
//! every turn, and then its asks go by age.

use super::queue::Waiting;
use crate::LiveTable;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;

/// What goes into one pass: for each ask, how many of its queries.
type Parts = Vec<(Waiting, usize)>;

/// The asks that wait.
pub(super) struct Fair {
    lines: HashMap<IpAddr, Line>,
    /// Every network that has a line, by its place: the first has its turn.
    turns: BTreeMap<u64, IpAddr>,
    /// The place behind all others.
    end: u64,
    /// Queries in one turn. A quarter of a pass: so no ask waits for more than a quarter of a pass per network before it, and
    /// small asks are not cut.
    turn: usize,
    asks: usize,
    queries: usize,
}

/// The asks of one network. A line that runs empty keeps its place until the next pass: an ask that is in one may come back.
struct Line {
    asks: VecDeque<Waiting>,
    place: u64,
    /// Queries it may still have answered in this turn.
    credit: usize,
}

/// A line of which a pass takes something.
struct Lot {
    network: IpAddr,
    /// Queries that the pass could take yet, and those it takes.
    wants: usize,
    takes: usize,
}

impl Fair {
    /// For passes of so many queries.
    pub(super) fn new(max_queries: usize) -> Self {
        let turn = max_queries.div_ceil(4).max(1);
        Fair { lines: HashMap::new(), turns: BTreeMap::new(), end: 0, turn, asks: 0, queries: 0 }
    }

    /// How many wait.
    pub(super) fn asks(&self) -> usize {
        self.asks
    }

    /// How many queries of theirs are not answered yet.
    pub(super) fn queries(&self) -> usize {
        self.queries
    }

    /// Queries that are answered before those of a new ask of this network: its own, and of each other network what it gets in
    /// the turns until then.
    pub(super) fn before(&self, network: IpAddr) -> usize {
        let queries = |line: &Line| line.asks.iter().map(Waiting::left).sum::<usize>();
        let own = self.lines.get(&network).map_or(0, queries);
        let others = self.lines.iter().filter(|(of, _)| **of != network);
        own + others.map(|(_, line)| queries(line).min(own + self.turn)).sum::<usize>()
    }

    /// Puts an ask at the end of its network's line.
    pub(super) fn push(&mut self, one: Waiting) {
        let network = one.ask.peer.network();
        self.asks += 1;
        self.queries += one.left();
        let line = self.lines.entry(network).or_insert_with(|| {
            self.turns.insert(self.end, network);
            self.end += 1;
            Line { asks: VecDeque::new(), place: self.end - 1, credit: 0 }
        });
        line.asks.push_back(one);
    }

    /// Makes room for an ask of a network, where another has more waiting: takes out the youngest of the network that has the
    /// most, of those that no pass has begun. A network that has the most itself gets no room.
    pub(super) fn give_way(&mut self, network: IpAddr) -> Option<Waiting> {
        let own = self.lines.get(&network).map_or(0, |line| line.asks.len());
        let longest = self.lines.values_mut().max_by_key(|line| line.asks.len())?;
        // With as many as the newcomer would have, it would be pushed out in turn.
        if longest.asks.len() <= own + 1 {
            return None;
        }
        let youngest = longest.asks.iter().rposition(|one| one.started.is_none())?;
        let one = longest.asks.remove(youngest)?;
        self.asks -= 1;
        self.queries -= one.left();
        Some(one)
    }

    /// Takes out every ask that is to go, and hands it over. The asks of a network are looked at one after the other.
    pub(super) fn weed(&mut self, mut goes: impl FnMut(&Waiting) -> bool, mut gone: impl FnMut(Waiting)) {
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
            let stays = !line.asks.is_empty();
            if !stays {
                self.turns.remove(&line.place);
            }
            stays
        });
    }

    /// Takes what goes into one pass of at most `room` queries: all about the epoch of the first ask of the network whose turn
    /// it is. Networks that wait for another epoch keep their places.
    pub(super) fn take(&mut self, room: usize) -> Option<(Arc<LiveTable>, Parts)> {
        let (&first, leader) = self.turns.first_key_value()?;
        let leader = *leader;
        let live = self.lines.get(&leader)?.asks.front()?.ask.live.clone();
        let lots = self.share(room, &live);
        // Who was first has had its turn, so that who waits for another epoch comes first once.
        if self.turns.contains_key(&first) {
            self.turn_over(leader);
        }
        let parts = lots.iter().flat_map(|lot| self.cut(lot, &live)).collect();
        Some((live, parts))
    }

    /// Shares the room of a pass, turn by turn; a network whose turn is over goes to the end. What is left of a turn that the end
    /// of the pass cut short is had in the next.
    fn share(&mut self, mut room: usize, live: &Arc<LiveTable>) -> Vec<Lot> {
        let (mut lots, mut from): (Vec<Lot>, u64) = (Vec::new(), 0);
        while room > 0
            && let Some((&place, &network)) = self.turns.range(from..).next()
        {
            from = place + 1;
            let Some(line) = self.lines.get_mut(&network) else { continue };
            let known = lots.iter().position(|lot| lot.network == network).unwrap_or_else(|| {
                lots.push(Lot { network, wants: line.wants(live, room), takes: 0 });
                lots.len() - 1
            });
            let Some(lot) = lots.get_mut(known) else { continue };
            if lot.wants == 0 {
                // Most have nothing for this epoch, where there are several: they are not looked for again.
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
            room -= takes;
            if line.credit == 0 {
                self.turn_over(network);
            }
        }
        lots
    }

    /// Ends the turn of a network, which goes to the end.
    fn turn_over(&mut self, network: IpAddr) {
        if let Some(line) = self.lines.get_mut(&network) {
            self.turns.remove(&line.place);
            self.turns.insert(self.end, network);
            (line.place, line.credit) = (self.end, 0);
            self.end += 1;
        }
    }

    /// Takes a network's share out of its line.
    fn cut(&mut self, lot: &Lot, live: &Arc<LiveTable>) -> Parts {
        let (mut parts, mut due) = (Vec::new(), lot.takes);
        let Some(line) = self.lines.get_mut(&lot.network) else { return parts };
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

impl Line {
    /// Queries about an epoch, as far as there is room for them.
    fn wants(&self, live: &Arc<LiveTable>, room: usize) -> usize {
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
