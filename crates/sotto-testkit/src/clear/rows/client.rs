//! What is streamed, kept, written down and read back.
//!
//! ```text
//! client:       u64 next number | u64 pending | so many (u64 number, u64 index) | 8 bytes of each record
//! preparation:  u64 records | 8 bytes of each of them
//! journal:      u8 0 asked, 1 settled | u64 number | u64 index
//! ```

use super::{Answer, FOLD, P, Query, Streamed, fold};
use sotto_core::{
    Artifact, ArtifactNeed, Client, CryptoRng, Error, Misuse, One, PeerMisbehaved, Prepare, Record,
    RecordIndex, Result, Stateful,
};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use zeroize::Zeroizing;

const ASKED: u8 = 0;
const SETTLED: u8 = 1;
const ENTRY: usize = 17;

/// A client that waits for its records.
pub(super) struct Streaming {
    params: P,
    folds: Vec<u8>,
    /// The record whose end has not come yet.
    part: Vec<u8>,
}

impl Streaming {
    fn table_bytes(&self) -> u64 {
        self.params.table_bytes()
    }

    fn taken(&self) -> u64 {
        self.kept() + self.part.len() as u64
    }

    fn kept(&self) -> u64 {
        (self.folds.len() / FOLD * self.params.record_bytes()) as u64
    }
}

impl Prepare<Streamed> for Streaming {
    fn begin(params: &P, _: &mut dyn CryptoRng) -> Result<Self> {
        Ok(Streaming { params: params.clone(), folds: Vec::new(), part: Vec::new() })
    }

    fn needs(&self) -> Vec<ArtifactNeed> {
        vec![ArtifactNeed { artifact: Artifact::Rows, bytes: self.table_bytes() }]
    }

    fn absorb(&mut self, from: Artifact, chunk: &[u8]) -> Result<()> {
        if from != Artifact::Rows || self.taken() + chunk.len() as u64 > self.table_bytes() {
            return Err(Misuse::UnexpectedArtifact(from.name()).into());
        }
        self.part.extend(chunk);
        let width = self.params.record_bytes();
        let whole = self.part.len() / width * width;
        self.part.drain(..whole).as_slice().chunks_exact(width).for_each(|r| self.folds.extend(fold(r)));
        Ok(())
    }

    fn finish(self) -> Result<Kept> {
        let (got, need) = (self.taken(), self.table_bytes());
        if got != need {
            return Err(Misuse::NotPrepared { artifact: Artifact::Rows.name(), got, need }.into());
        }
        let Streaming { params, folds, .. } = self;
        Ok(Kept { params, folds, next: 1, pending: BTreeMap::new(), journal: Vec::new() })
    }
}

/// A client.
pub(super) struct Kept {
    params: P,
    folds: Vec<u8>,
    next: u64,
    /// What was asked and is not answered, by number.
    pending: BTreeMap<u64, u64>,
    journal: Vec<u8>,
}

/// A query, by its number.
pub(super) struct Asked(u64);

impl Kept {
    fn enter(&mut self, kind: u8, number: u64, index: u64) {
        match kind {
            ASKED => drop(self.pending.insert(number, index)),
            _ => drop(self.pending.remove(&number)),
        }
        self.next = self.next.max(number + 1);
        self.journal.push(kind);
        self.journal.extend(number.to_le_bytes());
        self.journal.extend(index.to_le_bytes());
    }

    fn fold_of(&mut self, index: u64) -> Option<&mut [u8; FOLD]> {
        self.folds.as_chunks_mut().0.get_mut(usize::try_from(index).ok()?)
    }
}

impl Client<Streamed> for Kept {
    type Pending = Asked;

    fn keys(&self) {}

    fn query(&mut self, index: RecordIndex, _: &mut dyn CryptoRng) -> Result<(One<Query>, Asked)> {
        let len = self.params.records();
        if index.0 >= len {
            return Err(Misuse::IndexPastEnd { index: index.0, len }.into());
        }
        let number = self.next;
        self.enter(ASKED, number, index.0);
        Ok((One(Query(index.0)), Asked(number)))
    }

    fn recover(&mut self, Asked(number): Asked, One(answer): One<Answer>) -> Result<Record> {
        let index = *self.pending.get(&number).ok_or(Misuse::Foreign("ticket"))?;
        self.enter(SETTLED, number, index);
        if self.fold_of(index) != Some(&mut fold(&answer.0)) {
            return Err(Error::Unreadable);
        }
        Ok(Record::new(answer.0))
    }
}

impl Stateful for Streamed {
    fn save(_: &P, client: &Kept, out: &mut dyn Write) -> Result<()> {
        out.write_all(&client.next.to_le_bytes())?;
        out.write_all(&(client.pending.len() as u64).to_le_bytes())?;
        for (number, index) in &client.pending {
            out.write_all(&number.to_le_bytes())?;
            out.write_all(&index.to_le_bytes())?;
        }
        Ok(out.write_all(&client.folds)?)
    }

    fn load(params: &P, from: &mut dyn Read) -> Result<Kept> {
        let (next, count) = (word(from)?, word(from)?);
        let mut pending = BTreeMap::new();
        for _ in 0..count {
            let (number, index) = (word(from)?, word(from)?);
            let last = pending.last_key_value().map_or(0, |(last, _)| *last);
            if number <= last || number >= next || index >= params.records() {
                return Err(malformed("a pending query that cannot be"));
            }
            pending.insert(number, index);
        }
        let folds = folds(from, params.records())?;
        Ok(Kept { params: params.clone(), folds, next, pending, journal: Vec::new() })
    }

    fn journal(client: &mut Kept) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(std::mem::take(&mut client.journal))
    }

    fn replay(client: &mut Kept, entry: &[u8]) -> Result<()> {
        let (entries, rest) = entry.as_chunks::<ENTRY>();
        if !rest.is_empty() {
            return Err(malformed("an entry cut short"));
        }
        for [kind, rest @ ..] in entries {
            let (words, _) = rest.as_chunks::<8>();
            let [number, index] = words else { return Err(malformed("an entry without its words")) };
            let (number, index) = (u64::from_le_bytes(*number), u64::from_le_bytes(*index));
            let follows = match *kind {
                ASKED => number == client.next && number < u64::MAX && index < client.params.records(),
                SETTLED => client.pending.get(&number) == Some(&index),
                _ => false,
            };
            if !follows {
                return Err(malformed("an entry that does not follow"));
            }
            client.enter(*kind, number, index);
        }
        client.journal.clear();
        Ok(())
    }

    fn number(pending: &Asked) -> u64 {
        pending.0
    }

    fn reopen(client: &mut Kept, number: u64) -> Result<Asked> {
        if !client.pending.contains_key(&number) {
            return Err(Misuse::Foreign("number").into());
        }
        Ok(Asked(number))
    }

    /// Answers leave nothing behind here.
    fn reject(_: &mut Kept, _: u64) {}

    fn follow(client: &mut Kept, delta: &[u8]) -> Result<()> {
        let width = client.params.record_bytes();
        let mut last = None;
        for entry in delta.chunks(8 + width) {
            let Some((index, change)) = entry.split_first_chunk().filter(|(_, c)| c.len() == width) else {
                return Err(malformed("a rows delta cut short"));
            };
            let index = u64::from_le_bytes(*index);
            if last.is_some_and(|last| index <= last) {
                return Err(malformed("a rows delta out of order"));
            }
            last = Some(index);
            let sum = client.fold_of(index).ok_or_else(|| malformed("a rows delta past the end"))?;
            sum.iter_mut().zip(fold(change)).for_each(|(sum, byte)| *sum ^= byte);
        }
        Ok(())
    }

    fn checkpoint(_: &P, prepare: &Streaming, out: &mut dyn Write) -> Result<()> {
        out.write_all(&((prepare.folds.len() / FOLD) as u64).to_le_bytes())?;
        Ok(out.write_all(&prepare.folds)?)
    }

    fn resume(params: &P, from: &mut dyn Read) -> Result<Streaming> {
        let records = word(from)?;
        if records > params.records() {
            return Err(malformed("more records than there are"));
        }
        Ok(Streaming { params: params.clone(), folds: folds(from, records)?, part: Vec::new() })
    }

    /// A record whose end had not come is fetched again.
    fn kept(prepare: &Streaming) -> u64 {
        prepare.kept()
    }
}

fn word(from: &mut dyn Read) -> Result<u64> {
    let mut word = [0; 8];
    from.read_exact(&mut word).map_err(ended)?;
    Ok(u64::from_le_bytes(word))
}

fn folds(from: &mut dyn Read, records: u64) -> Result<Vec<u8>> {
    let mut folds = vec![0; records as usize * FOLD];
    from.read_exact(&mut folds).map_err(ended)?;
    Ok(folds)
}

/// Bytes that end too early were not written whole; any other failure is the storage's.
fn ended(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => malformed("a state cut short"),
        _ => error.into(),
    }
}

fn malformed(why: &str) -> Error {
    PeerMisbehaved::Malformed { what: "state", why: why.into() }.into()
}
