//! The client: ask, read the answer.
//!
//! Nothing branches or allocates by the index asked for. Where an address depends on it, `choose`, `hints` and README.md
//! say so.

use crate::Piano;
use crate::choose::Search;
use crate::hints::{Hint, Hints, KNOWN, number};
use crate::journal::Event;
use crate::message::{Answer, Query};
use crate::params::Params;
use crate::places::Places;
use crate::prf::{NAME, Place, Prf};
use crate::request::{Real, Room, build, equal, pick};
use crate::seen::{NEVER, Seen};
use borsh::{BorshDeserialize, BorshSerialize};
use sotto_core::{Budget, CryptoRng, Error, Misuse, One, Record, RecordIndex, Result};
use std::collections::VecDeque;
use zeroize::{Zeroize, Zeroizing};

/// A client with hints.
pub struct Client {
    pub(crate) params: Params,
    pub(crate) key: Zeroizing<[u8; 16]>,
    pub(crate) prf: Prf,
    places: Places,
    pub(crate) hints: Hints,
    pub(crate) seen: Seen,
    /// The number of the next query.
    pub(crate) next: u64,
    /// Queries whose answers have not come, by ascending number.
    pub(crate) asked: VecDeque<Asked>,
    /// What was learnt last.
    pub(crate) last: Option<Learnt>,
    /// What the journal has not given yet.
    pub(crate) events: Vec<Event>,
    /// What of it is in words already.
    pub(crate) written: Vec<Zeroizing<Vec<u8>>>,
    /// Tells its queries from other clients'.
    name: u64,
    search: Search,
    room: Room,
}

/// A query whose answer has not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Zeroize, BorshSerialize, BorshDeserialize)]
pub(crate) struct Asked {
    pub(crate) number: u64,
    /// The row's place.
    pub(crate) place: u32,
    /// The hint that was spent on it, and the backup that took its place. Both none if no hint contained the row, the
    /// partition had no backup, or the row was asked for before.
    pub(crate) chosen: u32,
    pub(crate) promoted: u32,
    /// The query that asked for the same row before, or [`NEVER`].
    pub(crate) before: u32,
}

/// What the last answer taught.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct Learnt {
    pub(crate) number: u64,
    /// The hint that learnt the row; none if none did.
    pub(crate) promoted: u32,
    /// The query under which the row is kept.
    pub(crate) kept: u32,
}

/// The name of a query. What is secret about it stays in its client, since it has to survive a crash.
pub struct Pending {
    name: u64,
    pub(crate) number: u64,
}

impl sotto_core::Client<Piano> for Client {
    type Pending = Pending;

    fn keys(&self) {}

    fn query(&mut self, index: RecordIndex, rng: &mut dyn CryptoRng) -> Result<(One<Query>, Pending)> {
        let (index, len) = (index.0, self.params.rows());
        if index >= len {
            return Err(Misuse::IndexPastEnd { index, len }.into());
        }
        if self.left() == 0 {
            return Err(Error::Exhausted(Budget::Left(0)));
        }
        let row = self.places.of(index);
        let mut coins = Zeroizing::new([0; 16]);
        rng.fill_bytes(coins.as_mut());

        let before = self.seen.find(row, self.next);
        let none = self.hints.none();
        let mut chosen = self.search.choose(&self.prf, &self.hints, row, u128::from_le_bytes(*coins));
        let mut promoted = self.hints.next_backup(row.partition);
        let found = equal(before, NEVER) & (1 ^ equal(chosen, none)) & (1 ^ equal(promoted, none));
        (chosen, promoted) = (pick(found, chosen, none), pick(found, promoted, none));

        let empty = Hint::default();
        let hint = (chosen, self.hints.of.get(chosen as usize).unwrap_or(&empty));
        // Below 2^26: an id of this query's own.
        let unused = none + self.next as u32;
        let instead = Place { partition: row.partition, offset: self.prf.replacement(promoted) };
        let real = Real::choose(found, hint, unused, instead);
        let query = build(&self.params, &self.prf, &real, &mut self.room);

        self.events.push(Event::Asked { number: self.next, chosen, row, before });
        let number = self.spend(chosen, promoted, row, before);
        (chosen, promoted).zeroize();
        Ok((One(query), self.pending(number)))
    }

    fn recover(&mut self, pending: Pending, One(Answer(answer)): One<Answer>) -> Result<Record> {
        let at = self.find(pending.number).filter(|_| pending.name == self.name);
        let asked = at.and_then(|at| self.asked.remove(at)).ok_or(Misuse::Foreign("query"))?;
        let again = 1 ^ equal(asked.before, NEVER);
        let keep = (again as u8).wrapping_neg();
        let (parity, entry) = (self.hints.parity(asked.chosen), self.hints.replacement(asked.promoted));
        let mut row = Zeroizing::new(Vec::with_capacity(answer.len()));
        let new = answer.iter().zip(parity.iter().zip(entry)).map(|(sum, (hint, entry))| sum ^ hint ^ entry);
        row.extend(new.zip(self.seen.row(asked.before)).map(|(new, seen)| (new & !keep) | (seen & keep)));

        let new = u32::from(self.hints.is(asked.chosen, KNOWN));
        let known = pick(again, u32::from(self.seen.is_known(asked.before)), new) == 1;
        self.settle(&asked, known.then_some(row.as_slice()));
        self.events.push(Event::Settled { number: asked.number });
        if known { Ok(Record(row)) } else { Err(Error::Unreadable) }
    }

    fn budget(&self) -> Budget {
        Budget::Left(self.left())
    }
}

impl Client {
    /// A client that has asked nothing.
    pub(crate) fn new(params: Params, key: Zeroizing<[u8; 16]>, hints: Hints, seen: Seen) -> Self {
        let (prf, places) = (Prf::new(&params, &key), Places::new(&params));
        let name = prf.block(NAME, 0) as u64;
        let (asked, events) = (VecDeque::new(), Vec::new());
        let (search, room) = (Search::new(&params), Room::new());
        Client {
            params,
            key,
            prf,
            places,
            hints,
            seen,
            next: 0,
            asked,
            last: None,
            events,
            written: Vec::new(),
            name,
            search,
            room,
        }
    }

    fn left(&self) -> u64 {
        (self.params.queries() as u64).saturating_sub(self.next)
    }

    pub(crate) fn pending(&self, number: u64) -> Pending {
        Pending { name: self.name, number }
    }

    /// Where a query is among those whose answers have not come.
    pub(crate) fn find(&self, number: u64) -> Option<usize> {
        self.asked.binary_search_by_key(&number, |asked| asked.number).ok()
    }

    /// Spends a hint and promotes a backup, and gives the query its number.
    pub(crate) fn spend(&mut self, chosen: u32, promoted: u32, row: Place, before: u32) -> u64 {
        self.hints.promote(&self.prf, chosen, promoted, row);
        let asked = Asked { number: self.next, place: number(row), chosen, promoted, before };
        self.asked.push_back(asked);
        self.next += 1;
        asked.number
    }

    /// Ends a query that is not among those asked any more: the hint that took the place of the one spent learns the row,
    /// if there is one, the one spent is forgotten, and the row is kept.
    pub(crate) fn settle(&mut self, asked: &Asked, row: Option<&[u8]>) {
        self.hints.settle(asked.promoted, row);
        self.hints.forget(asked.chosen);
        // Below 2^24. A row that was asked for before is kept already: there is no query NEVER.
        let number = asked.number as u32;
        let again = 1 ^ equal(asked.before, NEVER);
        self.seen.put(pick(again, NEVER, number), asked.place, row);
        let kept = pick(again, asked.before, number);
        self.last = Some(Learnt { number: asked.number, promoted: asked.promoted, kept });
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.asked.iter_mut().for_each(Zeroize::zeroize);
        self.events.iter_mut().for_each(Zeroize::zeroize);
    }
}
