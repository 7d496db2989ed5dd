//! The client: an eight-byte sum of every record, slots that are used one after the other, and what each query
//! learnt. Its journal says which slot a query took and what its answer told, as a private scheme's would.

use super::message::{Answer, Query};
use super::{P, Slots};
use sotto_core::{
    Artifact, ArtifactNeed, Budget, Client, CryptoRng, Error, Misuse, One, PeerMisbehaved, Prepare, Record,
    RecordIndex, Result, Stateful,
};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use zeroize::Zeroizing;

/// Bytes of one entry of the journal: what happened, to which slot, and one number about it.
const ENTRY: usize = 17;
/// The slot was used, for the record with this index.
const ASKED: u8 = 1;
/// Its answer was read, and the record's sum is this.
const LEARNT: u8 = 2;
/// Its answer was no answer, or not the publisher's.
const REJECTED: u8 = 3;

/// The exclusive or of a record's words, so that the sum of a change is the change of the sum.
fn sum(record: &[u8]) -> u64 {
    let words = record.chunks(8).map(|word| {
        let mut padded = [0; 8];
        padded.iter_mut().zip(word).for_each(|(to, from)| *to = *from);
        u64::from_le_bytes(padded)
    });
    words.fold(0, |sum, word| sum ^ word)
}

/// The largest state there is.
pub(super) fn most_bytes(params: &P) -> u64 {
    32 + 8 * params.0.records + 24 * params.0.slots
}

/// A client that reads the rows.
pub(super) struct Making {
    params: P,
    key: u64,
    sums: Vec<u64>,
    /// The first bytes of a record whose last are still to come.
    part: Vec<u8>,
}

impl Prepare<Slots> for Making {
    fn begin(params: &P, rng: &mut dyn CryptoRng) -> Result<Self> {
        Ok(Making { params: params.clone(), key: rng.next_u64(), sums: Vec::new(), part: Vec::new() })
    }

    fn needs(&self) -> Vec<ArtifactNeed> {
        vec![ArtifactNeed { artifact: Artifact::Rows, bytes: self.params.table_bytes() }]
    }

    fn absorb(&mut self, from: Artifact, chunk: &[u8]) -> Result<()> {
        let taken = Slots::kept(self) + self.part.len() as u64;
        if from != Artifact::Rows || taken + chunk.len() as u64 > self.params.table_bytes() {
            return Err(Misuse::UnexpectedArtifact(from.name()).into());
        }
        self.part.extend(chunk);
        let whole = self.part.len() / self.params.record_bytes() * self.params.record_bytes();
        let rest = self.part.split_off(whole);
        self.sums.extend(self.part.chunks(self.params.record_bytes()).map(sum));
        self.part = rest;
        Ok(())
    }

    fn finish(self) -> Result<Held> {
        let (got, need) = (Slots::kept(&self), self.params.table_bytes());
        if got != need {
            return Err(Misuse::NotPrepared { artifact: Artifact::Rows.name(), got, need }.into());
        }
        let Making { params, key, sums, .. } = self;
        Ok(Held { params, key, sums, next: 0, known: BTreeMap::new(), journal: Zeroizing::default() })
    }
}

/// What is known of a slot that was used: which record it asked for, and that record's sum once it came.
#[derive(Clone, Copy)]
struct Used {
    index: u64,
    sum: Option<u64>,
}

/// A client.
pub(super) struct Held {
    params: P,
    key: u64,
    sums: Vec<u64>,
    next: u64,
    /// Slots whose answers were rejected are not in here.
    known: BTreeMap<u64, Used>,
    journal: Zeroizing<Vec<u8>>,
}

impl Held {
    fn note(&mut self, what: u8, slot: u64, number: u64) {
        self.journal.push(what);
        self.journal.extend(slot.to_le_bytes());
        self.journal.extend(number.to_le_bytes());
    }

    fn settle(&mut self, slot: u64, sum: Option<u64>) {
        match (sum, self.known.get_mut(&slot)) {
            (Some(sum), Some(used)) => used.sum = Some(sum),
            _ => drop(self.known.remove(&slot)),
        }
    }
}

impl Client<Slots> for Held {
    /// The slot.
    type Pending = u64;

    fn keys(&self) {}

    fn query(&mut self, index: RecordIndex, rng: &mut dyn CryptoRng) -> Result<(One<Query>, u64)> {
        let (records, slots) = (self.params.0.records, self.params.0.slots);
        if index.0 >= records {
            return Err(Misuse::IndexPastEnd { index: index.0, len: records }.into());
        }
        let slot = self.next;
        if slot >= slots {
            return Err(Error::Exhausted(self.budget()));
        }
        self.next += 1;
        self.known.insert(slot, Used { index: index.0, sum: None });
        self.note(ASKED, slot, index.0);
        Ok((One(Query { key: self.key, slot, index: index.0, coin: rng.next_u64() }), slot))
    }

    fn recover(&mut self, slot: u64, One(answer): One<Answer>) -> Result<Record> {
        let used = self.known.get(&slot).copied().ok_or(Misuse::Foreign("ticket"))?;
        let right = self.sums.get(used.index as usize).is_some_and(|held| *held == sum(&answer.0));
        if !right {
            self.settle(slot, None);
            self.note(REJECTED, slot, 0);
            return Err(Error::Unreadable);
        }
        self.settle(slot, Some(sum(&answer.0)));
        self.note(LEARNT, slot, sum(&answer.0));
        Ok(Record::new(answer.0))
    }

    fn budget(&self) -> Budget {
        Budget::Left(self.params.0.slots - self.next)
    }
}

/// A number of eight bytes.
fn number(from: &mut dyn Read) -> Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes).map_err(short)?;
    Ok(u64::from_le_bytes(bytes))
}

/// An end that comes too early is the fault of what was written, not of the disk.
fn short(error: std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => malformed("it is cut short"),
        _ => error.into(),
    }
}

fn malformed(why: &str) -> Error {
    PeerMisbehaved::Malformed { what: "client state", why: why.into() }.into()
}

impl Stateful for Slots {
    fn save(_: &P, client: &Held, out: &mut dyn Write) -> Result<()> {
        let head = [client.key, client.next, client.known.len() as u64];
        for number in head.iter().chain(&client.sums) {
            out.write_all(&number.to_le_bytes())?;
        }
        for (slot, used) in &client.known {
            // A slot without an answer has a sum that is not the record's: the sum's complement.
            let held = client.sums.get(used.index as usize).copied().unwrap_or_default();
            for number in [*slot, used.index, used.sum.unwrap_or(!held)] {
                out.write_all(&number.to_le_bytes())?;
            }
        }
        Ok(())
    }

    fn load(params: &P, from: &mut dyn Read) -> Result<Held> {
        let (key, next, count) = (number(from)?, number(from)?, number(from)?);
        if next > params.0.slots || count > next {
            return Err(malformed("more slots were used than there are"));
        }
        let mut sums = Vec::new();
        for _ in 0..params.0.records {
            sums.push(number(from)?);
        }
        let mut known = BTreeMap::new();
        for _ in 0..count {
            let (slot, index, sum) = (number(from)?, number(from)?, number(from)?);
            let held =
                sums.get(index as usize).copied().ok_or_else(|| malformed("there is no such record"))?;
            let later = known.last_key_value().is_none_or(|(last, _)| *last < slot);
            if slot >= next || !later {
                return Err(malformed("slots are in order and were used"));
            }
            let sum = match sum {
                sum if sum == held => Some(sum),
                sum if sum == !held => None,
                _ => return Err(malformed("what was learnt is not what the rows say")),
            };
            known.insert(slot, Used { index, sum });
        }
        Ok(Held { params: params.clone(), key, sums, next, known, journal: Zeroizing::default() })
    }

    fn journal(client: &mut Held) -> Zeroizing<Vec<u8>> {
        std::mem::take(&mut client.journal)
    }

    fn replay(client: &mut Held, entry: &[u8]) -> Result<()> {
        let (entries, rest) = entry.as_chunks::<ENTRY>();
        if !rest.is_empty() {
            return Err(malformed("an entry is cut short"));
        }
        for [what, fields @ ..] in entries {
            let (words, _) = fields.as_chunks::<8>();
            let [slot, about] = words else { return Err(malformed("an entry is cut short")) };
            let (slot, about) = (u64::from_le_bytes(*slot), u64::from_le_bytes(*about));
            match *what {
                ASKED
                    if slot == client.next
                        && slot < client.params.0.slots
                        && about < client.params.0.records =>
                {
                    client.next += 1;
                    client.known.insert(slot, Used { index: about, sum: None });
                }
                LEARNT if client.known.contains_key(&slot) => client.settle(slot, Some(about)),
                REJECTED if client.known.contains_key(&slot) => client.settle(slot, None),
                _ => return Err(malformed("an entry cannot follow")),
            }
        }
        Ok(())
    }

    fn number(pending: &u64) -> u64 {
        *pending
    }

    fn reopen(client: &mut Held, number: u64) -> Result<u64> {
        match client.known.get(&number) {
            Some(Used { sum: None, .. }) => Ok(number),
            _ => Err(Misuse::Foreign("query number").into()),
        }
    }

    fn reject(client: &mut Held, number: u64) {
        if client.known.contains_key(&number) {
            client.settle(number, None);
            client.note(REJECTED, number, 0);
        }
    }

    fn follow(client: &mut Held, delta: &[u8]) -> Result<()> {
        let each = 8 + client.params.record_bytes();
        if !delta.len().is_multiple_of(each) {
            return Err(
                PeerMisbehaved::Malformed { what: "rows-delta", why: "it is cut short".into() }.into()
            );
        }
        for entry in delta.chunks_exact(each) {
            let (index, change) = entry.split_at(8);
            let index = index.first_chunk().map_or(u64::MAX, |index| u64::from_le_bytes(*index));
            let held = usize::try_from(index).ok().and_then(|index| client.sums.get_mut(index));
            *held.ok_or(PeerMisbehaved::NotCanonical("rows-delta"))? ^= sum(change);
            for used in client.known.values_mut().filter(|used| used.index == index) {
                used.sum = used.sum.map(|held| held ^ sum(change));
            }
        }
        Ok(())
    }

    fn checkpoint(_: &P, prepare: &Making, out: &mut dyn Write) -> Result<()> {
        for number in [prepare.key, prepare.sums.len() as u64].iter().chain(&prepare.sums) {
            out.write_all(&number.to_le_bytes())?;
        }
        Ok(())
    }

    fn resume(params: &P, from: &mut dyn Read) -> Result<Making> {
        let (key, count) = (number(from)?, number(from)?);
        if count > params.0.records {
            return Err(malformed("there are not so many records"));
        }
        let mut sums = Vec::new();
        for _ in 0..count {
            sums.push(number(from)?);
        }
        Ok(Making { params: params.clone(), key, sums, part: Vec::new() })
    }

    fn kept(prepare: &Making) -> u64 {
        (prepare.sums.len() * prepare.params.record_bytes()) as u64
    }
}
