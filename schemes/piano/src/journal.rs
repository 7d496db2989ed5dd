//! The journal: what a client has to write down before a request leaves, and after an answer came.
//!
//! A record holds what cannot be derived from the state it follows. The backup that is promoted, for one, is the next of the
//! row's partition. `spec/piano.md` draws the bytes.

use crate::client::Client;
use crate::hints::{NO_HINT, place};
use crate::prf::Place;
use crate::seen::NEVER;
use sotto_core::{PeerMisbehaved, Result};
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
        let mut events = std::mem::take(&mut self.events);
        let longest = 21 + self.params.row_bytes();
        let mut out = Zeroizing::new(Vec::with_capacity(events.len() * longest));
        for event in &events {
            match *event {
                Event::Asked { number, chosen, row, before } => {
                    let chosen = if chosen == self.hints.none() { NO_HINT } else { chosen };
                    out.push(ASKED);
                    out.extend(number.to_le_bytes());
                    out.extend(chosen.to_le_bytes());
                    out.extend(row.offset.to_le_bytes());
                    out.extend(row.partition.to_le_bytes());
                    out.extend(before.to_le_bytes());
                }
                Event::Settled { number } => {
                    // The row as it is now: if it was rejected since, it is not known any more. One that was asked for
                    // before is kept under that query, and this one has zeros.
                    // Below 2^24.
                    let number32 = number as u32;
                    out.push(SETTLED);
                    out.extend(number.to_le_bytes());
                    out.push(u8::from(self.seen.is_known(number32)));
                    out.extend_from_slice(self.seen.row(number32));
                }
                Event::Rejected { number } => {
                    out.push(REJECTED);
                    out.extend(number.to_le_bytes());
                }
            }
        }
        events.iter_mut().for_each(Zeroize::zeroize);
        out
    }

    /// Repeats the records of an entry. What the state has seen already is passed over, so that a journal may begin
    /// before the state was saved.
    pub(crate) fn replay_journal(&mut self, mut entry: &[u8]) -> Result<()> {
        while let [kind, rest @ ..] = entry {
            let mut rest = rest;
            let number = u64::from_le_bytes(take(&mut rest)?);
            match *kind {
                ASKED => self.replay_asked(number, &mut rest)?,
                SETTLED => self.replay_settled(number, &mut rest)?,
                REJECTED => self.withdraw(number),
                _ => return Err(malformed("a record of an unknown kind")),
            }
            entry = rest;
        }
        Ok(())
    }

    fn replay_asked(&mut self, number: u64, rest: &mut &[u8]) -> Result<()> {
        let chosen = u32::from_le_bytes(take(rest)?);
        let row = place(u32::from_le_bytes(take(rest)?));
        let before = u32::from_le_bytes(take(rest)?);
        if number < self.next {
            return Ok(());
        }
        let inside = row.offset <= self.prf.mask() && usize::from(row.partition) < self.params.partitions();
        if number != self.next || number >= self.params.queries() as u64 || !inside {
            return Err(malformed("a query that cannot be the next"));
        }
        let none = self.hints.none();
        let (mut spent, mut promoted) = (none, none);
        if before != NEVER {
            if chosen != NO_HINT || u64::from(before) >= number {
                return Err(malformed("a query that repeats none"));
            }
        } else if chosen != NO_HINT {
            (spent, promoted) = (chosen, self.hints.next_backup(row.partition));
            if !self.hints.contain(&self.prf, chosen, row) {
                return Err(malformed("a query that spends a hint without its row"));
            }
            if promoted == none {
                return Err(malformed("a query without a backup"));
            }
        }
        self.spend(spent, promoted, row, before);
        Ok(())
    }

    fn replay_settled(&mut self, number: u64, rest: &mut &[u8]) -> Result<()> {
        let [known] = take(rest)?;
        let (row, after) = rest
            .split_at_checked(self.params.row_bytes())
            .filter(|_| known <= 1)
            .ok_or_else(|| malformed("a settled query that is cut short"))?;
        *rest = after;
        if number >= self.next {
            return Err(malformed("an answer to a query that was not made"));
        }
        let Some(asked) = self.find(number).and_then(|at| self.asked.remove(at)) else { return Ok(()) };
        self.settle(&asked, (known == 1).then_some(row));
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

fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N]> {
    let (head, rest) = bytes.split_first_chunk().ok_or_else(|| malformed("a record that is cut short"))?;
    *bytes = rest;
    Ok(*head)
}

fn malformed(why: &str) -> sotto_core::Error {
    PeerMisbehaved::Malformed { what: "journal", why: why.into() }.into()
}
