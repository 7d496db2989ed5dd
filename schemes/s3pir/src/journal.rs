//! The journal: what a client has to write down before a request leaves, and after an answer came.
//!
//! A record holds what cannot be derived from the state it follows. The pair that is promoted, for one, is the next.
//! What a hint learns is written as its parity, which says no more than the state does. `spec/s3pir.md` draws the bytes.

use crate::client::Client;
use crate::hints::{KNOWN, place};
use crate::prf::Place;
use sotto_core::Result;
use sotto_hints::bytes::{Source, put};
use zeroize::{Zeroize, Zeroizing};

/// Something that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// A query was made.
    Asked { number: u64, chosen: u32, row: Place, coin: u8 },
    /// Its answer came.
    Settled { number: u64, promoted: u32 },
    /// Its row was not the publisher's.
    Rejected { number: u64 },
    /// A block of ids was supplied.
    Supplied { block: u64 },
}

const ASKED: u8 = 1;
const SETTLED: u8 = 2;
const REJECTED: u8 = 3;
const SUPPLIED: u8 = 4;

/// What is written for no hint.
pub(crate) const NONE: u32 = u32::MAX;

impl Zeroize for Event {
    fn zeroize(&mut self) {
        *self = Event::Rejected { number: 0 };
        std::hint::black_box(self);
    }
}

impl Client {
    /// The records of what has happened since the last call.
    pub(crate) fn take_journal(&mut self) -> Zeroizing<Vec<u8>> {
        let mut events = std::mem::take(&mut self.events);
        let supplied = 9 + self.supply_bytes();
        let longest = |event: &Event| match event {
            Event::Supplied { .. } => supplied,
            _ => 18 + self.params.row_bytes(),
        };
        let mut out = Zeroizing::new(Vec::with_capacity(events.iter().map(longest).sum()));
        for event in &events {
            // A list takes whatever is written.
            let _ = match *event {
                Event::Asked { number, chosen, row, coin } => {
                    let chosen = if chosen == self.hints.none() { NONE } else { chosen };
                    put(&(ASKED, number, chosen, row.offset, row.partition, coin), &mut *out)
                }
                Event::Settled { number, promoted } => {
                    // The parity as it is now. If the hint was spent and forgotten since, that is in a later record.
                    let known = self.hints.is(promoted, KNOWN);
                    let put = put(&(SETTLED, number, known), &mut *out);
                    let parity = self.hints.parity(promoted).iter();
                    out.extend(parity.map(|byte| byte & u8::from(known).wrapping_neg()));
                    put
                }
                Event::Rejected { number } => put(&(REJECTED, number), &mut *out),
                Event::Supplied { block } => {
                    let put = put(&(SUPPLIED, block), &mut *out);
                    self.put_supply(block, &mut out);
                    put
                }
            };
        }
        events.iter_mut().for_each(Zeroize::zeroize);
        out
    }

    /// Repeats the records of an entry. What the state has seen already is passed over, so that a journal may begin
    /// before the state was saved.
    pub(crate) fn replay_journal(&mut self, mut entry: &[u8]) -> Result<()> {
        while let [kind, rest @ ..] = entry {
            let mut rest = rest;
            let from = &mut Source::journal(&mut rest);
            let number = from.get()?;
            match *kind {
                ASKED => self.replay_asked(number, from)?,
                SETTLED => self.replay_settled(number, from)?,
                REJECTED => self.withdraw(number),
                SUPPLIED if self.hints.block > 0 => self.replay_supplied(number, from)?,
                _ => return Err(from.malformed("a record of an unknown kind")),
            }
            entry = rest;
        }
        Ok(())
    }

    fn replay_asked(&mut self, number: u64, from: &mut Source<'_>) -> Result<()> {
        let chosen: u32 = from.get()?;
        let row = place(from.get()?);
        let coin: u8 = from.get()?;
        if number < self.next {
            return Ok(());
        }
        let index = u64::from(row.partition) * self.params.partition_rows() as u64 + u64::from(row.offset);
        let inside = row.offset <= self.prf.mask() && index < self.params.rows();
        if number != self.next || !inside || coin > 1 {
            return Err(from.malformed("a query that cannot be the next"));
        }
        let chosen = if chosen == NONE { self.hints.none() } else { chosen };
        if chosen != self.hints.none() && !self.hints.contain(&self.prf, chosen, row) {
            return Err(from.malformed("a query that spends a hint without its row"));
        }
        let pair = self.hints.next_pair().ok_or_else(|| from.malformed("a query beyond the budget"))?;
        self.spend(chosen, pair, row, coin);
        Ok(())
    }

    fn replay_settled(&mut self, number: u64, from: &mut Source<'_>) -> Result<()> {
        let known: bool = from.get()?;
        let mut parity = Zeroizing::new(vec![0; self.params.row_bytes()]);
        from.exact(&mut parity)?;
        if number >= self.next {
            return Err(from.malformed("an answer to a query that was not made"));
        }
        let Some(asked) = self.find(number).and_then(|at| self.asked.remove(at)) else { return Ok(()) };
        self.settle(&asked, None);
        if known {
            self.hints.set_parity(asked.promoted, &parity);
        }
        Ok(())
    }

    /// Takes back what the last answer taught, if it was to this query.
    pub(crate) fn withdraw(&mut self, number: u64) {
        if let Some((_, promoted)) = self.last.filter(|(last, _)| *last == number) {
            self.hints.withdraw(promoted);
        }
    }
}
