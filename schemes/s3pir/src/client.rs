//! The client: ask, read the answer.
//!
//! Nothing branches or allocates by the index asked for. Where an address depends on it, `choose` and
//! `request` say so.

use crate::S3pir;
use crate::choose::Search;
use crate::hints::{Hint, Hints, KNOWN};
use crate::journal::Event;
use crate::message::{Answer, Query};
use crate::params::Params;
use crate::prf::{NAME, Place, Prf};
use crate::request::{Real, Room, build};
use borsh::{BorshDeserialize, BorshSerialize};
use sotto_core::{Budget, CryptoRng, Error, Misuse, One, Record, RecordIndex, Result};
use std::collections::VecDeque;
use zeroize::{Zeroize, Zeroizing};

/// A client with hints.
pub struct Client {
    pub(crate) params: Params,
    pub(crate) key: Zeroizing<[u8; 16]>,
    pub(crate) prf: Prf,
    pub(crate) hints: Hints,
    /// The number of the next query.
    pub(crate) next: u64,
    /// Queries whose answers have not come, by ascending number.
    pub(crate) asked: VecDeque<Asked>,
    /// The query that was read last, and the hint that learnt its row.
    pub(crate) last: Option<(u64, u32)>,
    /// What the journal has not given yet.
    pub(crate) events: Vec<Event>,
    /// Tells its queries from other clients'.
    name: u64,
    search: Search,
    room: Room,
}

/// A query whose answer has not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Zeroize, BorshSerialize, BorshDeserialize)]
pub(crate) struct Asked {
    pub(crate) number: u64,
    /// The hint that was spent on it; none if no hint contained the row.
    pub(crate) chosen: u32,
    /// The hint that took its place, and waits for the row.
    pub(crate) promoted: u32,
    /// Which set of the request is not the real one.
    pub(crate) coin: u8,
}

/// The name of a query. What is secret about it stays in its client, since it has to survive a crash.
pub struct Pending {
    name: u64,
    pub(crate) number: u64,
}

impl sotto_core::Client<S3pir> for Client {
    type Pending = Pending;

    fn keys(&self) {}

    fn query(&mut self, index: RecordIndex, rng: &mut dyn CryptoRng) -> Result<(One<Query>, Pending)> {
        let row = self.place(index)?;
        let pair = self.hints.next_pair().ok_or(Error::Exhausted(Budget::Left(0)))?;
        let mut coins = Zeroizing::new([0; 17]);
        rng.fill_bytes(coins.as_mut());
        let [coin, uniform @ ..] = *coins;
        let coin = coin & 1;

        let mut chosen = self.search.choose(&self.prf, &self.hints, row, u128::from_le_bytes(uniform));
        let found = u32::from(chosen != self.hints.none());
        let empty = Hint::default();
        let hint = |id: u32| (id, self.hints.of.get(id as usize).unwrap_or(&empty));
        let real = Real::choose(found, hint(chosen), hint(pair), row.partition);
        let query = build(&self.params, &self.prf, &real, coin, &mut self.room)?;

        self.events.push(Event::Asked { number: self.next, chosen, row, coin });
        let number = self.spend(chosen, pair, row, coin);
        chosen.zeroize();
        Ok((One(query), self.pending(number)))
    }

    fn recover(&mut self, pending: Pending, One(Answer(parities)): One<Answer>) -> Result<Record> {
        let at = self.find(pending.number).filter(|_| pending.name == self.name);
        let asked = at.and_then(|at| self.asked.remove(at)).ok_or(Misuse::Foreign("query"))?;
        let (zero, one) = parities.split_at(parities.len() / 2);
        let real = asked.coin.wrapping_sub(1);
        let mut row = Zeroizing::new(Vec::with_capacity(zero.len()));
        row.extend(zero.iter().zip(one).map(|(zero, one)| (zero & !real) | (one & real)));
        row.iter_mut().zip(self.hints.parity(asked.chosen)).for_each(|(byte, parity)| *byte ^= parity);

        let known = self.hints.is(asked.chosen, KNOWN);
        self.settle(&asked, known.then_some(row.as_slice()));
        self.events.push(Event::Settled { number: asked.number, promoted: asked.promoted });
        if known { Ok(Record(row)) } else { Err(Error::Unreadable) }
    }

    fn budget(&self) -> Budget {
        Budget::Left(self.hints.left)
    }
}

impl Client {
    /// A client that has asked nothing.
    pub(crate) fn new(params: Params, key: Zeroizing<[u8; 16]>, hints: Hints) -> Self {
        let prf = Prf::new(&params, &key);
        let name = prf.block(NAME, 0) as u64;
        let (asked, events) = (VecDeque::new(), Vec::new());
        let (search, room) = (Search::new(&params), Room::new());
        Client { params, key, prf, hints, next: 0, asked, last: None, events, name, search, room }
    }

    fn place(&self, index: RecordIndex) -> Result<Place> {
        let (index, len, w) = (index.0, self.params.rows(), self.params.partition_rows() as u64);
        if index >= len {
            return Err(Misuse::IndexPastEnd { index, len }.into());
        }
        // w is a power of two, so this is no division by something that depends on the index.
        Ok(Place { partition: (index >> w.ilog2()) as u16, offset: (index & (w - 1)) as u16 })
    }

    pub(crate) fn pending(&self, number: u64) -> Pending {
        Pending { name: self.name, number }
    }

    /// Where a query is among those whose answers have not come.
    pub(crate) fn find(&self, number: u64) -> Option<usize> {
        self.asked.binary_search_by_key(&number, |asked| asked.number).ok()
    }

    /// Spends a hint and promotes a pair, and gives the query its number.
    pub(crate) fn spend(&mut self, chosen: u32, pair: u32, row: Place, coin: u8) -> u64 {
        let number = self.next;
        self.hints.promote(&self.prf, chosen, pair, row);
        self.asked.push_back(Asked { number, chosen, promoted: pair, coin });
        self.next += 1;
        number
    }

    /// Ends a query that is not among those asked any more: the hint that took the place of the one spent learns the row,
    /// if there is one, and the one spent is forgotten.
    pub(crate) fn settle(&mut self, asked: &Asked, row: Option<&[u8]>) {
        if let Some(row) = row {
            self.hints.settle(asked.promoted, row);
        }
        self.hints.forget(asked.chosen);
        self.last = Some((asked.number, asked.promoted));
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.asked.iter_mut().for_each(Zeroize::zeroize);
        self.events.iter_mut().for_each(Zeroize::zeroize);
    }
}
