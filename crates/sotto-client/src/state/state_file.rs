//! The file of a state: its metadata and counters, the journal since the snapshot, and logged
//! requests.
//!
//! Every change is one record at the end of the file, so that values that belong together cannot
//! diverge: a crash leaves the whole record, or a beginning of it that is no record. From time to
//! time what still counts is written again, beside the records so far, and a header then names the
//! new first record.
//!
//! The checksum of a record is also over that of the record before it. So what a crash or an
//! earlier use of the place left behind the last record is not taken for a record.

use super::checksum::{add_checksum, check_checksum};
use super::metadata::{JournalMarks, StateFileError, StateTransaction};
use crate::files::StorageBackend;
use std::io;
use zeroize::Zeroizing;

/// Bytes from one header to the other: no device tears more than a page in one write.
const APART: u64 = 4096;

/// Offset of the first record in a new file.
const RECORDS: u64 = 2 * APART;

/// Bytes of a checksum before a value.
const CHECK: usize = 16;

/// Bytes of a header: a checksum, the header's number, and the offset of the first record.
const HEADER: usize = CHECK + 16;

/// Bytes before the contents of a record: their number, and a checksum.
const RECORD_HEAD: usize = 4 + CHECK;

/// Bytes of records that may be added before what still counts is written again, beyond those that
/// counted the last time.
const SLACK: u64 = 256 << 10;

/// One change, as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StateRecord<'a> {
    marks: JournalMarks,
    forget_journal: bool,
    forget_requests: bool,
    metadata: Option<&'a [u8]>,
    append: Option<(u64, &'a [u8])>,
    logged: Option<(u64, &'a [u8])>,
    settle: Option<u64>,
}

impl<'a> StateRecord<'a> {
    /// Encodes the record: flags, marks, and what the flags name.
    pub fn encode(&self) -> Zeroizing<Vec<u8>> {
        let values = [self.append, self.logged];
        let flags = [
            self.forget_journal,
            self.forget_requests,
            self.metadata.is_some(),
            self.append.is_some(),
            self.logged.is_some(),
            self.settle.is_some(),
        ];
        let bytes: usize = values.iter().flatten().map(|(_, value)| value.len()).sum();
        let mut out = Zeroizing::new(Vec::with_capacity(128 + bytes + self.metadata.map_or(0, <[u8]>::len)));
        out.push(flags.iter().zip(0..).map(|(flag, bit)| u8::from(*flag) << bit).sum());
        out.extend(self.marks.encode());
        let keyed = values.into_iter().flatten().map(|(key, value)| (value, Some(key)));
        for (value, key) in self.metadata.map(|value| (value, None)).into_iter().chain(keyed) {
            out.extend((value.len() as u32).to_le_bytes());
            out.extend(value);
            out.extend(key.iter().flat_map(|key: &u64| key.to_le_bytes()));
        }
        out.extend(self.settle.iter().flat_map(|key| key.to_le_bytes()));
        out
    }

    /// Decodes a record. Total; `None` for anything that no record encodes to.
    pub fn decode(mut bytes: &'a [u8]) -> Option<Self> {
        let from = &mut bytes;
        let [flags] = take(from)?;
        let flag = |bit: u32| flags >> bit & 1 == 1;
        let marks = JournalMarks::decode(&take::<{ JournalMarks::BYTES }>(from)?)?;
        let metadata = if flag(2) { Some(value(from)?) } else { None };
        let mut keyed = |bit| match flag(bit) {
            true => {
                let bytes = value(from)?;
                Some(Some((number(from)?, bytes)))
            }
            false => Some(None),
        };
        let (append, logged) = (keyed(3)?, keyed(4)?);
        let settle = if flag(5) { Some(number(from)?) } else { None };
        let (forget_journal, forget_requests) = (flag(0), flag(1));
        let record = StateRecord { marks, forget_journal, forget_requests, metadata, append, logged, settle };
        (from.is_empty() && flags < 1 << 6).then_some(record)
    }
}

fn take<const N: usize>(from: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = from.split_first_chunk()?;
    *from = rest;
    Some(*first)
}

fn number(from: &mut &[u8]) -> Option<u64> {
    take(from).map(u64::from_le_bytes)
}

fn value<'a>(from: &mut &'a [u8]) -> Option<&'a [u8]> {
    let bytes = u32::from_le_bytes(take(from)?);
    let (value, rest) = from.split_at_checked(usize::try_from(bytes).ok()?)?;
    *from = rest;
    Some(value)
}

/// Where a record is.
#[derive(Debug, Clone, Copy)]
struct RecordPlace {
    at: u64,
    /// Bytes of the record, with its checksum.
    bytes: u64,
    /// Key of the record's checksum: the checksum before it.
    chain: u64,
}

/// What the records say together.
#[derive(Debug, Default)]
struct Contents {
    metadata: Vec<u8>,
    marks: JournalMarks,
    /// Numbers of the journal's entries, and of the logged requests, and where they are.
    journal: Vec<(u64, RecordPlace)>,
    requests: Vec<(u64, RecordPlace)>,
}

impl Contents {
    fn apply(&mut self, record: &StateRecord<'_>, place: RecordPlace) {
        self.marks = record.marks;
        if record.forget_journal {
            self.journal.clear();
        }
        if record.forget_requests {
            self.requests.clear();
        }
        if let Some(metadata) = record.metadata {
            self.metadata = metadata.to_vec();
        }
        self.journal.extend(record.append.map(|(key, _)| (key, place)));
        self.requests.extend(record.logged.map(|(key, _)| (key, place)));
        self.requests.retain(|(key, _)| Some(*key) != record.settle);
    }
}

/// The open file of a state.
pub(crate) struct StateFile {
    file: Box<dyn StorageBackend>,
    /// Number of the header that counts; 0 for a new file.
    generation: u64,
    /// Offset of the first record, and of the end of the last.
    start: u64,
    end: u64,
    /// Key of the next record's checksum.
    chain: u64,
    /// Bytes of the records that counted when they were written again.
    counted: u64,
    contents: Contents,
}

impl StateFile {
    /// Opens the file, and drops what is behind the last record. An empty file is that of a new
    /// state.
    pub(crate) fn open(file: Box<dyn StorageBackend>) -> Result<Self, StateFileError> {
        let (length, contents) = (file.len()?, Contents::default());
        let (start, end) = (RECORDS, RECORDS);
        let mut opened = StateFile { file, generation: 0, start, end, chain: 0, counted: 0, contents };
        if length == 0 {
            return Ok(opened);
        }
        let headers = [opened.header(0, length)?, opened.header(1, length)?];
        let newest = headers.into_iter().flatten().max_by_key(|(generation, ..)| *generation);
        let newest = newest.ok_or_else(|| damaged("it is damaged, or of another program"))?;
        (opened.generation, opened.start, opened.chain) = newest;
        let mut place = RecordPlace { at: opened.start, bytes: 0, chain: opened.chain };
        while let Some((bytes, chain)) = opened.read(&mut place, length)? {
            let Some(record) = StateRecord::decode(&bytes) else { break };
            opened.contents.apply(&record, place);
            place = RecordPlace { at: place.at + place.bytes, bytes: 0, chain };
        }
        if opened.contents.metadata.is_empty() {
            return Err(damaged("the first record is damaged"));
        }
        (opened.end, opened.chain) = (place.at, place.chain);
        opened.counted = opened.end - opened.start;
        if opened.end < length {
            opened.file.set_len(opened.end)?;
        }
        Ok(opened)
    }

    /// The state's metadata as JSON, and its counters; `None` for a new file.
    pub(crate) fn head(&self) -> Option<(&[u8], JournalMarks)> {
        (self.generation > 0).then_some((self.contents.metadata.as_slice(), self.contents.marks))
    }

    /// Passes every entry of the journal to `take`, in order. Returns what is damaged, if anything
    /// is.
    pub(crate) fn journal(
        &self,
        take: &mut dyn FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<Option<String>, StateFileError> {
        let marks = &self.contents.marks;
        let mut next = marks.entries.0;
        for (key, place) in &self.contents.journal {
            let bytes = self.again(place)?;
            let entry = bytes.as_ref().and_then(|bytes| StateRecord::decode(bytes)?.append);
            let Some((_, entry)) = entry.filter(|_| *key == next) else {
                return Ok(Some(format!("entry {next} of the journal")));
            };
            if let Err(why) = take(entry) {
                return Ok(Some(format!("entry {next} of the journal: {why}")));
            }
            next += 1;
        }
        let is_whole = next == marks.entries.1;
        Ok((!is_whole).then(|| format!("entry {next} of the journal is missing")))
    }

    /// Logged requests, the oldest first; `None` if they are damaged.
    pub(crate) fn requests(&self) -> Result<Option<Vec<(u64, Vec<u8>)>>, StateFileError> {
        let requests = &self.contents.requests;
        if requests.len() as u64 != self.contents.marks.requests.1 {
            return Ok(None);
        }
        let mut found = Vec::with_capacity(requests.len());
        for (_, place) in requests {
            let bytes = self.again(place)?;
            let logged = bytes.as_ref().and_then(|bytes| StateRecord::decode(bytes)?.logged);
            let Some((key, request)) = logged else { return Ok(None) };
            found.push((key, request.to_vec()));
        }
        Ok(Some(found))
    }

    /// Makes a transaction durable, as a whole or not at all. After a failure the file is to be
    /// opened again.
    pub(crate) fn apply(&mut self, change: &StateTransaction<'_>) -> Result<(), StateFileError> {
        let json = change.metadata.map(serde_json::to_vec).transpose();
        let json = json.map_err(|error| damaged(&error.to_string()))?;
        let &StateTransaction { marks, forget_journal, forget_requests, append, logged, settle, .. } = change;
        let metadata = json.as_deref();
        let record = StateRecord { marks, forget_journal, forget_requests, metadata, append, logged, settle };
        let is_long = self.end - self.start > 2 * self.counted + SLACK;
        if self.generation == 0 || forget_journal || is_long {
            return self.write_again(&record);
        }
        let place = self.append(&record)?;
        self.contents.apply(&record, place);
        Ok(self.file.sync_data()?)
    }

    /// Writes what still counts after a change again: below the records so far if there is room,
    /// else behind them.
    fn write_again(&mut self, change: &StateRecord<'_>) -> Result<(), StateFileError> {
        let before = std::mem::take(&mut self.contents);
        let metadata = change.metadata.unwrap_or(&before.metadata);
        let base = StateRecord { marks: change.marks, metadata: Some(metadata), ..StateRecord::default() };
        let journal: &[_] = if change.forget_journal { &[] } else { &before.journal };
        let requests: &[_] = if change.forget_requests { &[] } else { &before.requests };
        // Each record becomes at most as long as it was, and the change at most three of them.
        let kept: u64 = journal.iter().chain(requests).map(|(_, place)| place.bytes).sum();
        let head = (RECORD_HEAD + base.encode().len()) as u64;
        let room = kept + change.encode().len() as u64 + 3 * head;
        let at = if room <= self.start.saturating_sub(RECORDS) { RECORDS } else { self.end };
        let generation = self.generation + 1;
        let header = add_checksum("header", generation % 2, &[generation, at].map(u64::to_le_bytes).concat());
        (self.start, self.end, self.chain) = (at, at, chain_of(&header));

        let add = |file: &mut Self, record: &StateRecord<'_>| {
            let place = file.append(record)?;
            file.contents.apply(record, place);
            Ok::<_, StateFileError>(())
        };
        let marks = change.marks;
        add(self, &base)?;
        for (_, place) in journal {
            let bytes = self.again(place)?.ok_or_else(|| damaged("the journal is damaged"))?;
            let append = StateRecord::decode(&bytes).and_then(|record| record.append);
            add(self, &StateRecord { marks, append, ..StateRecord::default() })?;
        }
        for (_, place) in requests.iter().filter(|(key, _)| Some(*key) != change.settle) {
            let bytes = self.again(place)?.ok_or_else(|| damaged("a logged request is damaged"))?;
            let logged = StateRecord::decode(&bytes).and_then(|record| record.logged);
            add(self, &StateRecord { marks, logged, ..StateRecord::default() })?;
        }
        let &StateRecord { append, logged, .. } = change;
        if append.is_some() || logged.is_some() {
            add(self, &StateRecord { marks, append, logged, ..StateRecord::default() })?;
        }
        self.file.sync_data()?;
        self.file.write(generation % 2 * APART, &header)?;
        self.file.sync_data()?;
        self.generation = generation;
        self.counted = self.end - self.start;
        Ok(self.file.set_len(self.end)?)
    }

    /// Writes a record at the end. It is not durable yet.
    fn append(&mut self, record: &StateRecord<'_>) -> Result<RecordPlace, StateFileError> {
        let sealed = Zeroizing::new(add_checksum("record", self.chain, &record.encode()));
        let length = (sealed.len() - CHECK) as u32;
        let bytes = Zeroizing::new([&length.to_le_bytes()[..], sealed.as_slice()].concat());
        self.file.write(self.end, &bytes)?;
        let place = RecordPlace { at: self.end, bytes: bytes.len() as u64, chain: self.chain };
        (self.end, self.chain) = (self.end + place.bytes, chain_of(&sealed));
        Ok(place)
    }

    /// The header in a slot, if there is a valid one: its number, the offset of the first record,
    /// and the key of that record's checksum.
    fn header(&self, slot: u64, length: u64) -> io::Result<Option<(u64, u64, u64)>> {
        let mut sealed = [0; HEADER];
        if length < slot * APART + HEADER as u64 {
            return Ok(None);
        }
        self.file.read(slot * APART, &mut sealed)?;
        let numbers = check_checksum("header", slot, &sealed).map(|numbers| numbers.as_chunks().0);
        Ok(match numbers {
            Some([generation, start]) => {
                Some((u64::from_le_bytes(*generation), u64::from_le_bytes(*start), chain_of(&sealed)))
            }
            _ => None,
        })
    }

    /// Reads the record at a place of which the length is not known, which is then set. Returns its
    /// contents, and the key of the next record's checksum; `None` if no record is there.
    fn read(&self, place: &mut RecordPlace, length: u64) -> io::Result<Option<(Zeroizing<Vec<u8>>, u64)>> {
        let mut head = [0; RECORD_HEAD];
        let Some(rest) = length.checked_sub(place.at).and_then(|rest| rest.checked_sub(head.len() as u64))
        else {
            return Ok(None);
        };
        self.file.read(place.at, &mut head)?;
        let bytes = head.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        if u64::from(bytes) > rest {
            return Ok(None);
        }
        place.bytes = RECORD_HEAD as u64 + u64::from(bytes);
        let mut sealed = Zeroizing::new(vec![0; CHECK + bytes as usize]);
        self.file.read(place.at + 4, &mut sealed)?;
        let chain = chain_of(&sealed);
        Ok(check_checksum("record", place.chain, &sealed)
            .map(|bytes| (Zeroizing::new(bytes.to_vec()), chain)))
    }

    /// Reads a record again; `None` if it was damaged meanwhile.
    fn again(&self, place: &RecordPlace) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
        let found = self.read(&mut { *place }, place.at + place.bytes)?;
        Ok(found.map(|(bytes, _)| bytes))
    }
}

/// Key of the checksum of what follows a value: the first bytes of the value's own checksum.
fn chain_of(sealed: &[u8]) -> u64 {
    sealed.first_chunk().copied().map_or(0, u64::from_le_bytes)
}

fn damaged(why: &str) -> StateFileError {
    StateFileError::Damaged(why.to_owned())
}
