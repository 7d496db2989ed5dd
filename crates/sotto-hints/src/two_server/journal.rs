//! The journal: the events that a client writes down before a request leaves and after an answer or
//! a hint response came.
//!
//! A record has a byte for its kind, and then what cannot be derived from the state that it
//! follows. `spec/checklist.md` and `spec/lp-treepir.md` draw the bytes.

use super::client::{Client, JournalEvent};
use super::{Family, MessageLengths, Plan, Set};
use crate::codec::{StateReader, put};
use sotto_core::Result;
use zeroize::Zeroizing;

const ASKED: u8 = 1;
const SETTLED: u8 = 2;
const REJECTED: u8 = 3;
const STOCKED: u8 = 4;

/// Upper bound for the bytes of a record, without a parity or the parities of a block.
const MAX: usize = 64;

impl<F: Family> Client<F> {
    /// Encodes an event as a record of the journal.
    pub(super) fn note(&mut self, happened: JournalEvent<'_, F>) {
        let width = self.params.row_bytes();
        // Space for the longest record, so that a growing list leaves no copy of a secret behind.
        let room = match &happened {
            JournalEvent::Stocked { parities, .. } => parities.len(),
            _ => width,
        };
        let mut out = Zeroizing::new(Vec::with_capacity(MAX + room));
        // Writing to a list does not fail.
        let _ = match happened {
            JournalEvent::Asked { number, plan, fresh } => put(&(ASKED, number, plan, fresh), &mut *out),
            JournalEvent::Settled { number, parity } => {
                let put = put(&(SETTLED, number, parity.is_some()), &mut *out);
                let end = out.len() + width;
                out.extend_from_slice(parity.unwrap_or_default());
                out.resize(end, 0);
                put
            }
            JournalEvent::Rejected { number } => put(&(REJECTED, number), &mut *out),
            JournalEvent::Stocked { block, parities } => {
                let put = put(&(STOCKED, block), &mut *out);
                out.extend_from_slice(parities);
                put
            }
        };
        self.entries.push(out);
    }

    /// Takes the records since the last call.
    pub(super) fn take_journal(&mut self) -> Zeroizing<Vec<u8>> {
        let entries = std::mem::take(&mut self.entries);
        let mut out = Zeroizing::new(Vec::with_capacity(entries.iter().map(|entry| entry.len()).sum()));
        entries.iter().for_each(|entry| out.extend_from_slice(entry));
        out
    }

    /// Replays the records of an entry. Records that the state contains already are skipped, so a
    /// journal may begin before the state was saved.
    pub(super) fn replay_journal(&mut self, mut entry: &[u8]) -> Result<()> {
        while let [kind, rest @ ..] = entry {
            let mut rest = rest;
            let from = &mut StateReader::journal(&mut rest);
            match *kind {
                ASKED => self.replay_asked(from)?,
                SETTLED => self.replay_settled(from)?,
                REJECTED => self.withdraw(from.get()?),
                STOCKED => self.replay_stocked(from)?,
                _ => return Err(from.malformed("unknown kind of record")),
            }
            entry = rest;
        }
        Ok(())
    }

    fn replay_asked(&mut self, from: &mut StateReader<'_>) -> Result<()> {
        let (number, plan, fresh): (u64, F::QueryPlan, Set<F::Word>) = from.get()?;
        if number < self.next {
            return Ok(());
        }
        let possible = plan.is_possible(&self.params) && fresh.is_possible(&self.tools.trees);
        let within = self.blocks_received == self.params.blocks() && number <= self.params.queries();
        let next = number == self.next && possible && within;
        if !next || !F::is_fresh(&self.params, &plan, &fresh, &mut self.tools) {
            return Err(from.malformed("the query is not the next one"));
        }
        self.spend(plan, fresh);
        Ok(())
    }

    fn replay_settled(&mut self, from: &mut StateReader<'_>) -> Result<()> {
        let (number, known): (u64, bool) = from.get()?;
        let mut parity = Zeroizing::new(vec![0; self.params.row_bytes()]);
        from.exact(&mut parity)?;
        if number >= self.next {
            return Err(from.malformed("the answer is to a query that was not made"));
        }
        let Some(open) = self.find(number).and_then(|at| self.open.remove(at)) else { return Ok(()) };
        self.apply_answer(&open, known.then_some(&parity));
        Ok(())
    }

    fn replay_stocked(&mut self, from: &mut StateReader<'_>) -> Result<()> {
        let block: u32 = from.get()?;
        if block > self.blocks_received || block >= self.params.blocks() {
            return Err(from.malformed("the hint response is not the next one"));
        }
        let mut supply = Zeroizing::new(vec![0; self.params.supply_bytes()]);
        from.exact(&mut supply)?;
        if block == self.blocks_received {
            self.take_block(&supply);
        }
        Ok(())
    }
}
