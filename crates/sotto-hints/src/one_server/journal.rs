//! The journal: the events that a client writes down before a request leaves and after an answer
//! came.
//!
//! A record has a byte for its kind, and then what cannot be derived from the state that it
//! follows. The promoted backup, for example, is always the next one. `spec/s3pir.md` and
//! `spec/piano.md` draw the bytes.

use super::family::{Client, FamilyState, JournalEvent};
use super::{Family, PartitionPlace, Plan};
use crate::codec::{StateReader, put};
use sotto_core::Result;
use zeroize::{Zeroize, Zeroizing};

const ASKED: u8 = 1;
const SETTLED: u8 = 2;
const REJECTED: u8 = 3;
const SUPPLIED: u8 = 4;

/// The number that is written for no hint.
pub(super) const NO_HINT: u32 = u32::MAX;

/// Upper bound for the bytes of a record, without a row or a block.
const MAX: usize = 64;

impl<F: Family> Client<F> {
    /// Records that a block came in a hint response.
    pub fn note_supply(&mut self, block: u64) {
        self.events.push(JournalEvent::Supplied { block });
    }

    pub(super) fn reject_query(&mut self, number: u64) {
        if F::FamilyState::ROWS {
            self.write_down();
        }
        self.withdraw(number);
        self.events.push(JournalEvent::Rejected { number });
    }

    /// Takes the records of what has happened since the last call.
    pub(super) fn take_journal(&mut self) -> Zeroizing<Vec<u8>> {
        self.write_down();
        let mut written = std::mem::take(&mut self.written);
        if let [only] = written.as_mut_slice() {
            return std::mem::take(only);
        }
        let mut out = Zeroizing::new(Vec::with_capacity(written.iter().map(|bytes| bytes.len()).sum()));
        written.iter().for_each(|bytes| out.extend_from_slice(bytes));
        out
    }

    /// Encodes the pending events with the current state. A later record covers what a later event
    /// reverts.
    fn write_down(&mut self) {
        let mut events = std::mem::take(&mut self.events);
        // Space for the longest record, so that a growing list leaves no copy of a secret behind.
        let longest = |event: &JournalEvent<F::QueryPlan>| match event {
            JournalEvent::Supplied { .. } => MAX + F::supply_bytes(self),
            _ => MAX + self.params.row_bytes(),
        };
        let mut out = Zeroizing::new(Vec::with_capacity(events.iter().map(longest).sum()));
        for event in &events {
            // Writing to a list does not fail.
            let _ = match *event {
                JournalEvent::Asked { number, row, mut plan } => {
                    let [chosen, _] = plan.ids().map(|id| *id);
                    let chosen = if chosen == self.hints.none() { NO_HINT } else { chosen };
                    put(&(ASKED, number, chosen, row.number(), plan.more()), &mut *out)
                }
                JournalEvent::Settled { number, promoted } => {
                    let (known, bytes) = F::learnt(self, number, promoted);
                    let put = put(&(SETTLED, number, known), &mut *out);
                    out.extend(bytes.iter().map(|byte| byte & u8::from(known).wrapping_neg()));
                    put
                }
                JournalEvent::Rejected { number } => put(&(REJECTED, number), &mut *out),
                JournalEvent::Supplied { block } => {
                    let put = put(&(SUPPLIED, block), &mut *out);
                    F::put_supply(self, block, &mut out);
                    put
                }
            };
        }
        events.iter_mut().for_each(Zeroize::zeroize);
        self.written.push(out);
    }

    /// Replays the records of an entry. Records that the state contains already are skipped, so a
    /// journal may begin before the state was saved.
    pub(super) fn replay_journal(&mut self, mut entry: &[u8]) -> Result<()> {
        while let [kind, rest @ ..] = entry {
            let mut rest = rest;
            let from = &mut StateReader::journal(&mut rest);
            let number = from.get()?;
            match *kind {
                ASKED => self.replay_asked(number, from)?,
                SETTLED => self.replay_settled(number, from)?,
                REJECTED => self.withdraw(number),
                SUPPLIED => F::replay_supply(self, number, from)?,
                _ => return Err(from.malformed("unknown kind of record")),
            }
            entry = rest;
        }
        Ok(())
    }

    fn replay_asked(&mut self, number: u64, from: &mut StateReader<'_>) -> Result<()> {
        let (chosen, row): (u32, u32) = from.get()?;
        let (row, more) = (PartitionPlace::of(row), from.get()?);
        if number < self.next {
            return Ok(());
        }
        let inside = self.params.has(row) && self.params.index(row) < self.params.places();
        if number != self.next || number >= self.params.queries() as u64 || !inside {
            return Err(from.malformed("the query is not the next one"));
        }
        let chosen = if chosen == NO_HINT { self.hints.none() } else { chosen };
        if chosen != self.hints.none() && !self.hints.contain(&self.prf, chosen, row) {
            return Err(from.malformed("the query spends a hint that lacks its row"));
        }
        let plan = F::again(self, chosen, row, more).map_err(|why| from.malformed(why))?;
        self.spend(plan, row);
        Ok(())
    }

    fn replay_settled(&mut self, number: u64, from: &mut StateReader<'_>) -> Result<()> {
        let known: bool = from.get()?;
        let mut bytes = Zeroizing::new(vec![0; self.params.row_bytes()]);
        from.exact(&mut bytes)?;
        if number >= self.next {
            return Err(from.malformed("the answer is to a query that was not made"));
        }
        let Some(asked) = self.find(number).and_then(|at| self.asked.remove(at)) else { return Ok(()) };
        F::learn_again(self, &asked, known.then_some(&bytes));
        Ok(())
    }
}
