//! The journal: what a client has to write down before a request leaves, and after an answer or a supply came.
//!
//! A record holds what cannot be derived from the state it follows. `spec/lp-treepir.md` draws the bytes.

use crate::client::Client;
use crate::set::{Place, Set};
use crate::tree::Root;
use sotto_core::{PeerMisbehaved, Result};
use zeroize::Zeroizing;

/// Something that happened.
pub(crate) enum Record<'a> {
    /// A query was made.
    Asked { number: u64, slot: u32, place: Place, fresh: Set },
    /// Its answers came, with the parity of the hint that it made.
    Settled { number: u64, parity: Option<&'a [u8]> },
    /// Its row was not the publisher's.
    Rejected { number: u64 },
    /// A block of hints came.
    Stocked { block: u32, parities: &'a [u8] },
}

const ASKED: u8 = 1;
const SETTLED: u8 = 2;
const REJECTED: u8 = 3;
const STOCKED: u8 = 4;

impl Client {
    /// Puts a record down for the journal.
    pub(crate) fn note(&mut self, record: Record<'_>) {
        let width = self.params.row_bytes();
        // Room for the longest, so that no secret is left behind where a list grew.
        let room = match &record {
            Record::Stocked { parities, .. } => 5 + parities.len(),
            _ => 53 + width,
        };
        let mut out = Zeroizing::new(Vec::with_capacity(room));
        match record {
            Record::Asked { number, slot, place, fresh } => {
                out.push(ASKED);
                out.extend(number.to_le_bytes());
                out.extend(slot.to_le_bytes());
                out.extend(place.partition.to_le_bytes());
                out.extend(place.offset.to_le_bytes());
                out.extend(fresh.root.salt);
                out.extend(fresh.root.seed);
                out.extend(fresh.shift.to_le_bytes());
            }
            Record::Settled { number, parity } => {
                out.push(SETTLED);
                out.extend(number.to_le_bytes());
                out.push(u8::from(parity.is_some()));
                out.extend(parity.unwrap_or_default());
                out.resize(10 + width, 0);
            }
            Record::Rejected { number } => {
                out.push(REJECTED);
                out.extend(number.to_le_bytes());
            }
            Record::Stocked { block, parities } => {
                out.push(STOCKED);
                out.extend(block.to_le_bytes());
                out.extend_from_slice(parities);
            }
        }
        self.entries.push(out);
    }

    /// The records since the last call.
    pub(crate) fn take_journal(&mut self) -> Zeroizing<Vec<u8>> {
        let entries = std::mem::take(&mut self.entries);
        let mut out = Zeroizing::new(Vec::with_capacity(entries.iter().map(|entry| entry.len()).sum()));
        entries.iter().for_each(|entry| out.extend_from_slice(entry));
        out
    }

    /// Repeats the records of an entry. What the state has seen already is passed over, so that a journal may begin
    /// before the state was saved.
    pub(crate) fn replay_journal(&mut self, mut entry: &[u8]) -> Result<()> {
        while let [kind, rest @ ..] = entry {
            let mut rest = rest;
            match *kind {
                ASKED => self.replay_asked(&mut rest)?,
                SETTLED => self.replay_settled(&mut rest)?,
                REJECTED => self.withdraw(u64::from_le_bytes(take(&mut rest)?)),
                STOCKED => self.replay_stocked(&mut rest)?,
                _ => return Err(malformed("a record of an unknown kind")),
            }
            entry = rest;
        }
        Ok(())
    }

    fn replay_asked(&mut self, rest: &mut &[u8]) -> Result<()> {
        let number = u64::from_le_bytes(take(rest)?);
        let slot = u32::from_le_bytes(take(rest)?);
        let place =
            Place { partition: u32::from_le_bytes(take(rest)?), offset: u16::from_le_bytes(take(rest)?) };
        let root = Root { salt: take(rest)?, seed: take(rest)? };
        let shift = u16::from_le_bytes(take(rest)?);
        if number < self.next {
            return Ok(());
        }
        let fresh = Set { root, shift };
        let possible = slot <= self.none() && place.is_of(&self.params) && shift <= self.params.mask();
        let within = self.stocked == self.params.blocks() && number <= self.params.queries();
        if number != self.next || !possible || !within || fresh.contains(place, &self.trees) == 0 {
            return Err(malformed("a query that cannot be the next"));
        }
        self.spend(slot, place, fresh);
        Ok(())
    }

    fn replay_settled(&mut self, rest: &mut &[u8]) -> Result<()> {
        let number = u64::from_le_bytes(take(rest)?);
        let [known] = take(rest)?;
        let parity = split(rest, self.params.row_bytes())?;
        if number >= self.next || known > 1 {
            return Err(malformed("an answer to a query that was not made"));
        }
        let Some(asked) = self.find(number).and_then(|at| self.asked.remove(at)) else { return Ok(()) };
        self.settle(&asked, (known == 1).then_some(parity));
        Ok(())
    }

    fn replay_stocked(&mut self, rest: &mut &[u8]) -> Result<()> {
        let block = u32::from_le_bytes(take(rest)?);
        let supply = split(rest, self.params.block_hints() * self.params.row_bytes())?;
        if block > self.stocked || block >= self.params.blocks() {
            return Err(malformed("a supply that cannot be the next"));
        }
        if block == self.stocked {
            self.take_block(supply);
        }
        Ok(())
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N]> {
    let (head, rest) = bytes.split_first_chunk().ok_or_else(|| malformed("a record that is cut short"))?;
    *bytes = rest;
    Ok(*head)
}

fn split<'a>(bytes: &mut &'a [u8], len: usize) -> Result<&'a [u8]> {
    let (head, rest) = bytes.split_at_checked(len).ok_or_else(|| malformed("a record that is cut short"))?;
    *bytes = rest;
    Ok(head)
}

fn malformed(why: &str) -> sotto_core::Error {
    PeerMisbehaved::Malformed { what: "journal", why: why.into() }.into()
}
