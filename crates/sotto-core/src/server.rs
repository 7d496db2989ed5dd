//! The server's half: a pure function of (image, session, query), and the seams where bytes come from
//! and go to. Threads are given, not taken: an implementation may use rayon's *current* pool, which the
//! caller installs, and starts no thread of its own.

use crate::{
    Artifact, Error, HintScheme, Misuse, Params, PeerMisbehaved, Result, Scheme, StreamScheme, Wire,
};
use std::ops::Range;
use std::sync::Arc;

/// Encodes tables, and answers.
pub trait Server<S: Scheme>: Sized + Send + Sync + 'static {
    /// Keys, validated and expanded once.
    ///
    /// A function of the parameters and the keys alone, not of the image: a server keeps it over every epoch of
    /// one parameter digest, so that clients do not upload their keys again for each.
    type Session: Send + Sync + 'static;

    /// Bytes of memory a session takes: what a server counts against its limit. Keys that are expanded take
    /// more than they did on the wire.
    fn session_bytes(params: &S::Params) -> usize {
        S::Keys::size(params)
    }

    /// Writes every section of the image of `rows` to `out`.
    ///
    /// # Errors
    /// [`crate::Error::Misuse`] if `rows` is not the shape of `params`; storage errors of either side.
    fn encode(params: &S::Params, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()>;

    /// Opens an image. Does not read it whole.
    ///
    /// # Errors
    /// [`crate::Error::Peer`] if a section is missing or of the wrong size.
    fn open(params: &S::Params, image: Arc<dyn Image>) -> Result<Self>;

    /// The records of an image, as they were encoded. Those of a damaged image are other bytes.
    ///
    /// # Errors
    /// As [`Self::open`].
    fn records(params: &S::Params, image: Arc<dyn Image>) -> Result<Box<dyn RecordSource>>;

    /// Admits a client's keys.
    ///
    /// # Errors
    /// [`crate::Error::Peer`] for keys that are well-formed but unusable.
    fn admit(&self, keys: S::Keys) -> Result<Self::Session>;

    /// Answers many clients' queries, in order; schemes that can share one pass over the data do. The work does not depend
    /// on what a query asks for, and no answer or error on the queries beside it.
    fn answer_many(&self, asks: Vec<(&Self::Session, S::Query)>) -> Vec<Result<S::Answer>>;

    /// Answers one query: the batch of one.
    ///
    /// # Errors
    /// None that depends on what the query asks for.
    fn answer(&self, session: &Self::Session, query: S::Query) -> Result<S::Answer> {
        self.answer_many(vec![(session, query)]).pop().unwrap_or(Err(FEWER.into()))
    }
}

/// What a batch must not be.
const FEWER: Misuse = Misuse::Rule("a batch has an answer for each of its queries");

/// Takes what went well of a first step on to the next steps together, and puts results and errors in order.
pub fn together<A, B>(first: Vec<Result<A>>, next: impl FnOnce(Vec<A>) -> Vec<Result<B>>) -> Vec<Result<B>> {
    let mut good = Vec::with_capacity(first.len());
    let bad: Vec<Option<Error>> = first
        .into_iter()
        .map(|first| match first {
            Ok(first) => {
                good.push(first);
                None
            }
            Err(error) => Some(error),
        })
        .collect();
    let mut done = next(good).into_iter();
    bad.into_iter().map(|bad| bad.map_or_else(|| done.next().unwrap_or(Err(FEWER.into())), Err)).collect()
}

/// A scheme whose image can be moved to the next epoch by re-encoding only what changed.
pub trait UpdateImage: Scheme {
    /// Applies `changes` to `out`, whose sections hold a copy of the old image, and writes the delta
    /// artifacts clients need.
    ///
    /// # Errors
    /// [`crate::Misuse::IndexPastEnd`] for a change outside the records; storage errors.
    fn revise(params: &Self::Params, changes: &[RecordChange], out: &dyn Sink) -> Result<()>;
}

/// A scheme that combines each table with a public mask of the table's own, which its literal names: its noise bound holds for
/// rows that were written by whoever did not know the mask, and for a share of rows written since.
pub trait WhiteningScheme: UpdateImage {
    /// The literal with another seed of the mask. [`Params::select`] does not know the rows, so its literals have one that is the
    /// same for all tables, and that no table is published with.
    fn with_whitening_seed(literal: LiteralOf<Self>, seed: [u8; 32]) -> LiteralOf<Self>;

    /// Where a record counts when it is written.
    fn write_slot(params: &Self::Params, record: u64) -> WriteSlot;

    /// Most places of a column that may have been written since the mask was drawn: what the failure bound has room for.
    fn max_writes(params: &Self::Params) -> u64;
}

/// The literal of a scheme's parameters.
pub type LiteralOf<S> = <<S as Scheme>::Params as Params>::Literal;

/// What a write counts as, of a [`WhiteningScheme`] scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct WriteSlot {
    /// The column: what the noise of one query sums over.
    pub column: u64,
    /// Which summand of the column.
    pub summand: u64,
}

/// The server's half of a [`StreamScheme`] scheme.
pub trait StreamServer: StreamScheme {
    /// A query, expanded once for all units.
    type Prepared: Send + Sync + 'static;

    /// Does what all units have in common.
    ///
    /// # Errors
    /// As [`Server::answer`].
    fn prepare(
        server: &Self::Server,
        session: &<Self::Server as Server<Self>>::Session,
        query: Self::Query,
    ) -> Result<Self::Prepared>;

    /// Answers about one unit of the record asked for; `unit` is below [`StreamScheme::units`]. The work does not
    /// depend on the query's content.
    ///
    /// # Errors
    /// As [`Server::answer`].
    fn unit(server: &Self::Server, prepared: &Self::Prepared, unit: u64) -> Result<Self::UnitAnswer>;
}

/// The server's half of an [`HintScheme`] scheme.
pub trait HintServer: HintScheme {
    /// Makes hints to order. May take seconds: not for the worker that answers queries.
    ///
    /// # Errors
    /// As [`Server::answer`].
    fn answer_hint_request(server: &Self::Server, order: Self::HintRequest) -> Result<Self::HintResponse>;
}

/// A scheme whose server can say which step of an answer it is at, and take its steps in several orders. What that takes is
/// for whoever holds a clock: nothing here does.
pub trait StepServer: Scheme {
    /// The names of the orders; the first is the one of [`Server::answer`].
    const ORDERS: &'static [&'static str];

    /// Answers one query in one of the orders, and calls `done` with the name of each step after it. The answer brings the
    /// same record whatever the order.
    ///
    /// # Errors
    /// As [`Server::answer`]; [`crate::Misuse::Rule`] if there is no such order.
    fn answer_by_steps(
        server: &Self::Server,
        session: &<Self::Server as Server<Self>>::Session,
        query: Self::Query,
        order: &str,
        done: &mut dyn FnMut(&'static str),
    ) -> Result<Self::Answer>;
}

/// New bytes inside one record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordChange {
    /// Which record.
    pub record: u64,
    /// First byte changed.
    pub offset: u64,
    /// The new bytes.
    pub bytes: Vec<u8>,
}

/// The records of a table, readable in any order and by several threads.
pub trait RecordSource: Sync {
    /// How many records.
    fn records(&self) -> u64;
    /// Bytes in each.
    fn record_bytes(&self) -> usize;
    /// Reads whole records from `first` on into `out`, whose length is a multiple of `record_bytes`.
    ///
    /// # Errors
    /// [`crate::Misuse::IndexPastEnd`]; storage errors.
    fn read(&self, first: u64, out: &mut [u8]) -> Result<()>;

    /// Reads bytes of one record from `offset` on into `out`. Where records are large, implement it: this
    /// reads the whole record first.
    ///
    /// # Errors
    /// [`crate::Misuse::IndexPastEnd`]; storage errors.
    fn read_part(&self, record: u64, offset: u64, out: &mut [u8]) -> Result<()> {
        let mut whole = vec![0; self.record_bytes()];
        self.read(record, &mut whole)?;
        let end = offset.saturating_add(out.len() as u64);
        let part = usize::try_from(offset).ok().zip(usize::try_from(end).ok());
        let part = part.and_then(|(start, end)| whole.get(start..end));
        let past = || Misuse::IndexPastEnd { index: end, len: self.record_bytes() as u64 };
        out.copy_from_slice(part.ok_or_else(past)?);
        Ok(())
    }

    /// Reads as many bytes of each of some records as `out` has for each, from an offset of its own on. Where what is read of one
    /// record lies beside what is read of another, implement it: this reads one after the other.
    ///
    /// # Errors
    /// As [`RecordSource::read_part`]; [`Misuse::Rule`] if `out` is not so many equal parts.
    fn read_parts(&self, parts: &[(u64, u64)], out: &mut [u8]) -> Result<()> {
        let each = bytes_per_part(parts.len(), out.len())?;
        let parts = parts.iter().zip(out.chunks_exact_mut(each));
        parts.into_iter().try_for_each(|((record, offset), out)| self.read_part(*record, *offset, out))
    }
}

/// How many bytes there are for each of some parts; at least one.
///
/// # Errors
/// [`Misuse::Rule`] if that is no number.
pub fn bytes_per_part(parts: usize, bytes: usize) -> Result<usize> {
    match bytes.checked_div(parts) {
        Some(each) if each > 0 && bytes.is_multiple_of(parts) => Ok(each),
        // Nothing of nothing: any number will do.
        None if bytes == 0 => Ok(1),
        _ => Err(Misuse::Rule("as many bytes are read of each part, and at least one").into()),
    }
}

/// A part of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Section {
    /// What the server keeps mapped and scans.
    Resident,
    /// A static file for clients.
    Public(Artifact),
}

/// Where an encoder writes. Methods take `&self` so that threads may write disjoint ranges at once.
pub trait Sink: Sync {
    /// Creates a section of `bytes` zero bytes, or keeps it if it has just that size.
    ///
    /// # Errors
    /// Storage errors, a full disk among them.
    fn reserve(&self, section: Section, bytes: u64) -> Result<()>;
    /// Writes into a reserved section.
    ///
    /// # Errors
    /// Storage errors; [`crate::Error::Misuse`] outside the section.
    fn write_at(&self, section: Section, offset: u64, bytes: &[u8]) -> Result<()>;
    /// Reads back what was written.
    ///
    /// # Errors
    /// As [`Sink::write_at`].
    fn read_at(&self, section: Section, offset: u64, out: &mut [u8]) -> Result<()>;
    /// Whether any of these bytes of a section is wanted: an encoder may leave out what is not, and what only serves to make it.
    /// Whoever wants a part of a table makes it in the time of a part then.
    fn wants(&self, _section: Section, _bytes: Range<u64>) -> bool {
        true
    }
    /// Tells a watching person how far a stage is. Cheap to call.
    fn progress(&self, _stage: &'static str, _done: u64, _total: u64) {}
}

/// An encoded table, usually mapped from a file; sections start 64-byte aligned. Immutable: what it has, it has as long as
/// it lives.
pub trait Image: Send + Sync {
    /// A section's bytes, or `None` if the image has no such section.
    fn section(&self, section: Section) -> Option<&[u8]>;
}

/// A section of an open image, which is there and as long as the parameters say.
pub struct ImageSection {
    image: Arc<dyn Image>,
    section: Section,
    bytes: usize,
}

impl ImageSection {
    /// Looks the section up.
    ///
    /// # Errors
    /// [`PeerMisbehaved::Length`] if it has another length than `want`, or is not there. `what` is what the scheme calls it.
    pub fn open(image: Arc<dyn Image>, section: Section, what: &'static str, want: u64) -> Result<Self> {
        let bytes = image.section(section).map_or(0, <[u8]>::len);
        if bytes as u64 != want {
            return Err(PeerMisbehaved::Length { what, got: bytes as u64, want }.into());
        }
        Ok(ImageSection { image, section, bytes })
    }

    /// Its bytes, as many as were found when it was opened.
    ///
    /// # Panics
    /// If the image is not [`Image`]: it had the section, and has it no longer. That is no client's fault, and so no error
    /// that a client is sent: servers log a panic and refuse what waited for it.
    pub fn bytes(&self) -> &[u8] {
        let bytes = self.image.section(self.section).unwrap_or_default();
        assert!(bytes.len() == self.bytes, "an image keeps the sections it was opened with");
        bytes
    }
}

/// Records that are read out of a section one by one. `read` is given the section, a record, where in it to begin, and what to
/// fill; `None` if the section does not have it.
pub struct SectionRecords<F> {
    /// The section.
    pub held: ImageSection,
    /// How many records there are.
    pub records: u64,
    /// Bytes in each.
    pub record_bytes: usize,
    /// What reads a part of one, which lies within it.
    pub read: F,
}

impl<F: Fn(&[u8], u64, usize, &mut [u8]) -> Option<()> + Send + Sync> RecordSource for SectionRecords<F> {
    fn records(&self) -> u64 {
        self.records
    }

    fn record_bytes(&self) -> usize {
        self.record_bytes
    }

    fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
        if !out.len().is_multiple_of(self.record_bytes) {
            return Err(Misuse::Rule("only whole records are read").into());
        }
        let records = (first..).zip(out.chunks_exact_mut(self.record_bytes));
        records.into_iter().try_for_each(|(record, out)| self.read_part(record, 0, out))
    }

    fn read_part(&self, record: u64, offset: u64, out: &mut [u8]) -> Result<()> {
        if record >= self.records {
            return Err(Misuse::IndexPastEnd { index: record, len: self.records }.into());
        }
        let end = offset.saturating_add(out.len() as u64);
        let within = usize::try_from(offset).ok().filter(|_| end <= self.record_bytes as u64);
        let offset = within.ok_or(Misuse::IndexPastEnd { index: end, len: self.record_bytes as u64 })?;
        let read = (self.read)(self.held.bytes(), record, offset, out);
        Ok(read.ok_or(Misuse::Rule("an image has every record of its parameters"))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Three bytes, until they are taken away.
    #[derive(Default)]
    struct Fading(AtomicBool);

    impl Image for Fading {
        fn section(&self, section: Section) -> Option<&[u8]> {
            let there = section == Section::Resident && !self.0.load(Ordering::Relaxed);
            there.then_some(&[1, 2, 3])
        }
    }

    #[test]
    fn a_section_is_held_if_it_is_as_long_as_it_must_be() {
        let image = Arc::new(Fading::default());
        assert_eq!(
            ImageSection::open(image.clone(), Section::Resident, "table", 3).unwrap().bytes(),
            [1, 2, 3]
        );
        for (section, want) in
            [(Section::Resident, 2), (Section::Resident, 4), (Section::Public(Artifact::Hint), 1)]
        {
            let refused = ImageSection::open(image.clone(), section, "table", want);
            assert!(matches!(refused.err(), Some(Error::Peer(PeerMisbehaved::Length { .. }))), "{section:?}");
        }
    }

    /// No error that a client would be sent as its own fault.
    #[test]
    #[should_panic(expected = "keeps the sections")]
    fn a_section_that_is_lost_is_no_clients_fault() {
        let image = Arc::new(Fading::default());
        let held = ImageSection::open(image.clone(), Section::Resident, "table", 3).unwrap();
        image.0.store(true, Ordering::Relaxed);
        held.bytes();
    }
}
