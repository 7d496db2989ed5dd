//! The journal: what a client has to write down before a request leaves, and after an answer came.
//!
//! A record holds what cannot be derived from the state it follows. The backup that is promoted, for one, is the next of the
//! row's partition. `spec/piano.md` draws the bytes.

use crate::client::Client;
use crate::hints::{NO_HINT, place};
use crate::prf::Place;
use crate::seen::NEVER;
use sotto_core::Result;
use sotto_hints::bytes::{Source, put};
use zeroize::{Zeroize, Zeroizing};

/// Something that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// A query was made.
    Asked { number: u64, chosen: u32, row: Place, before: u32 },
    /// Its answer came.
    Settled { number: u64 },
    /// Its row was not the publisher's.
    Rejected { number: u64 },
}

const ASKED: u8 = 1;
const SETTLED: u8 = 2;
const REJECTED: u8 = 3;

impl Zeroize for Event {
    fn zeroize(&mut self) {
        *self = Event::Rejected { number: 0 };
        std::hint::black_box(self);
    }
}

impl Client {
    /// The records of what has happened since the last call.
    pub(crate) fn take_journal(&mut self) -> Zeroizing<Vec<u8>> {
        self.write_down();
        let written = std::mem::take(&mut self.written);
        let mut out = Zeroizing::new(Vec::with_capacity(written.iter().map(|bytes| bytes.len()).sum()));
        written.iter().for_each(|bytes| out.extend_from_slice(bytes));
        out
    }

    /// Puts what has happened into words. What a later step takes back has to be said as it was before.
    pub(crate) fn write_down(&mut self) {
        let mut events = std::mem::take(&mut self.events);
        let longest = 21 + self.params.row_bytes();
        let mut out = Zeroizing::new(Vec::with_capacity(events.len() * longest));
        for event in &events {
            // A list takes whatever is written.
            let _ = match *event {
                Event::Asked { number, chosen, row, before } => {
                    let chosen = if chosen == self.hints.none() { NO_HINT } else { chosen };
                    put(&(ASKED, number, chosen, row.offset, row.partition, before), &mut *out)
                }
                Event::Settled { number } => {
                    // A row that was asked for before is kept under that query, and this one has zeros.
                    // Below 2^24.
                    let number32 = number as u32;
                    let put = put(&(SETTLED, number, self.seen.is_known(number32)), &mut *out);
                    out.extend_from_slice(self.seen.row(number32));
                    put
                }
                Event::Rejected { number } => put(&(REJECTED, number), &mut *out),
            };
        }
        events.iter_mut().for_each(Zeroize::zeroize);
        self.written.push(out);
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
                _ => return Err(from.malformed("a record of an unknown kind")),
            }
            entry = rest;
        }
        Ok(())
    }

    fn replay_asked(&mut self, number: u64, from: &mut Source<'_>) -> Result<()> {
        let chosen: u32 = from.get()?;
        let row = place(from.get()?);
        let before: u32 = from.get()?;
        if number < self.next {
            return Ok(());
        }
        let inside = row.offset <= self.prf.mask() && usize::from(row.partition) < self.params.partitions();
        if number != self.next || number >= self.params.queries() as u64 || !inside {
            return Err(from.malformed("a query that cannot be the next"));
        }
        let none = self.hints.none();
        let (mut spent, mut promoted) = (none, none);
        if before != NEVER {
            if chosen != NO_HINT || u64::from(before) >= number {
                return Err(from.malformed("a query that repeats none"));
            }
        } else if chosen != NO_HINT {
            (spent, promoted) = (chosen, self.hints.next_backup(row.partition));
            if !self.hints.contain(&self.prf, chosen, row) {
                return Err(from.malformed("a query that spends a hint without its row"));
            }
            if promoted == none {
                return Err(from.malformed("a query without a backup"));
            }
        }
        self.spend(spent, promoted, row, before);
        Ok(())
    }

    fn replay_settled(&mut self, number: u64, from: &mut Source<'_>) -> Result<()> {
        let known: bool = from.get()?;
        let mut row = Zeroizing::new(vec![0; self.params.row_bytes()]);
        from.exact(&mut row)?;
        if number >= self.next {
            return Err(from.malformed("an answer to a query that was not made"));
        }
        let Some(asked) = self.find(number).and_then(|at| self.asked.remove(at)) else { return Ok(()) };
        self.settle(&asked, known.then_some(row.as_slice()));
        Ok(())
    }

    /// Takes back what the last answer taught, if it was to this query.
    pub(crate) fn withdraw(&mut self, number: u64) {
        if let Some(learnt) = self.last.filter(|learnt| learnt.number == number) {
            self.hints.withdraw(learnt.promoted);
            self.seen.forget(learnt.kept);
        }
    }
}
