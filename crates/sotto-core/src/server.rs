//! The server's half of a scheme: a pure function of (image, session, query), and the traits of the
//! sources and sinks of bytes. Implementations start no threads: they may use rayon's *current*
//! pool, which the caller installs.

use crate::{
    Artifact, Error, HintScheme, Misuse, Params, PeerMisbehaved, Result, Scheme, StreamScheme, TableMatrix,
    Wire,
};
use std::ops::Range;
use std::sync::Arc;

/// The server's half of a scheme: encodes tables, and answers queries.
pub trait Server<S: Scheme>: Sized + Send + Sync + 'static {
    /// A client's keys, validated and expanded once.
    ///
    /// A session is a function of the parameters and the keys alone, not of the image: a server
    /// keeps it for every epoch with the same parameter digest, so that clients do not upload their
    /// keys again for each.
    type Session: Send + Sync + 'static;

    /// Bytes of memory that a session takes, which a server counts against its limit. Expanded keys
    /// take more memory than bytes on the wire.
    fn session_bytes(params: &S::Params) -> usize {
        S::Keys::size(params)
    }

    /// Writes every section of the image of `rows` to `out`.
    ///
    /// # Errors
    /// [`crate::Error::Misuse`] if `rows` is not the shape of `params`; storage errors of either side.
    fn encode(params: &S::Params, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()>;

    /// Opens an image without reading all of it.
    ///
    /// # Errors
    /// [`crate::Error::Peer`] if a section is missing or of the wrong size.
    fn open(params: &S::Params, image: Arc<dyn Image>) -> Result<Self>;

    /// Reads the records of an image as they were encoded. A damaged image yields other bytes.
    ///
    /// # Errors
    /// The errors of [`Self::open`].
    fn records(params: &S::Params, image: Arc<dyn Image>) -> Result<Box<dyn RecordSource>>;

    /// Admits a client's keys.
    ///
    /// # Errors
    /// [`crate::Error::Peer`] for keys that are well-formed but unusable.
    fn admit(&self, keys: S::Keys) -> Result<Self::Session>;

    /// Answers queries of many clients, in order; schemes that can share one pass over the data do.
    /// The work does not depend on what a query asks for, and an answer or error does not depend on
    /// the other queries.
    fn answer_many(&self, queries: Vec<(&Self::Session, S::Query)>) -> Vec<Result<S::Answer>>;

    /// Answers one query, as a batch of one.
    ///
    /// # Errors
    /// None that depends on what the query asks for.
    fn answer(&self, session: &Self::Session, query: S::Query) -> Result<S::Answer> {
        self.answer_many(vec![(session, query)]).pop().unwrap_or(Err(FEWER.into()))
    }

    /// The matrices that passes read, each with the slot of an accelerator that is asked first; none by
    /// default.
    fn matrices(&self) -> Vec<TableMatrix<'_>> {
        Vec::new()
    }
}

/// The error for a batch with fewer answers than queries.
const FEWER: Misuse = Misuse::Rule("a batch must have an answer for each query");

/// Passes the successes of a first step to the next steps together, and returns results and errors
/// in their original order.
pub fn with_successes<A, B>(
    first: Vec<Result<A>>,
    next: impl FnOnce(Vec<A>) -> Vec<Result<B>>,
) -> Vec<Result<B>> {
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

/// A scheme whose image can be updated to the next epoch by re-encoding only what changed.
pub trait UpdateImage: Scheme {
    /// Applies `changes` to `out`, whose sections hold a copy of the old image, and writes the
    /// delta artifacts that clients need.
    ///
    /// # Errors
    /// [`crate::Misuse::IndexPastEnd`] for a change outside the records; storage errors.
    fn update_image(params: &Self::Params, changes: &[RecordChange], out: &dyn Sink) -> Result<()>;
}

/// A scheme that combines each table with a public random stream of the table's own, which its
/// literal names. The noise bound holds for rows that were written without knowledge of the stream,
/// and for a limited number of later writes.
pub trait WhiteningScheme: UpdateImage {
    /// Returns the literal with another seed of the stream. [`Params::select`] does not know the
    /// rows, so its literals have a seed that is the same for all tables, and that no table is
    /// published with.
    fn with_whitening_seed(literal: LiteralOf<Self>, seed: [u8; 32]) -> LiteralOf<Self>;

    /// The slot in which a write of the record is counted.
    fn write_slot(params: &Self::Params, record: u64) -> WriteSlot;

    /// Largest number of summands of a column that may have been written since the stream was
    /// drawn, as the failure bound assumes.
    fn max_writes(params: &Self::Params) -> u64;
}

/// The literal of a scheme's parameters.
pub type LiteralOf<S> = <<S as Scheme>::Params as Params>::Literal;

/// The slot that a write is counted in, for a [`WhiteningScheme`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct WriteSlot {
    /// The column, over which the noise of one query sums.
    pub column: u64,
    /// Number of the summand within the column.
    pub summand: u64,
}

/// The server's half of a [`StreamScheme`].
pub trait StreamServer: StreamScheme {
    /// A query, expanded once for all units.
    type Prepared: Send + Sync + 'static;

    /// Does the work that all units have in common.
    ///
    /// # Errors
    /// The errors of [`Server::answer`].
    fn prepare(
        server: &Self::Server,
        session: &<Self::Server as Server<Self>>::Session,
        query: Self::Query,
    ) -> Result<Self::Prepared>;

    /// Answers for one unit of the requested record; `unit` is below [`StreamScheme::units`]. The
    /// work does not depend on the query's content.
    ///
    /// # Errors
    /// The errors of [`Server::answer`].
    fn unit(server: &Self::Server, prepared: &Self::Prepared, unit: u64) -> Result<Self::UnitAnswer>;
}

/// The server's half of a [`HintScheme`].
pub trait HintServer: HintScheme {
    /// Makes the hints of a hint request. This may take seconds, so the worker that answers queries
    /// must not do it.
    ///
    /// # Errors
    /// The errors of [`Server::answer`].
    fn answer_hint_request(server: &Self::Server, request: Self::HintRequest) -> Result<Self::HintResponse>;
}

/// A change of one record: new bytes at an offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordChange {
    /// Number of the record.
    pub record: u64,
    /// Offset of the first changed byte within the record.
    pub offset: u64,
    /// The new bytes.
    pub bytes: Vec<u8>,
}

/// The records of a table, readable in any order and by several threads.
pub trait RecordSource: Sync {
    /// Number of records.
    fn records(&self) -> u64;
    /// Bytes in each record.
    fn record_bytes(&self) -> usize;
    /// Reads whole records from `first` on into `out`, whose length is a multiple of `record_bytes`.
    ///
    /// # Errors
    /// [`crate::Misuse::IndexPastEnd`]; storage errors.
    fn read(&self, first: u64, out: &mut [u8]) -> Result<()>;

    /// Reads bytes of one record from `offset` on into `out`. Sources of large records should
    /// implement it: the default reads the whole record first.
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

    /// Reads an equally long range of each of several records, given as (record, offset), into
    /// `out`. Sources that store ranges of different records next to each other should implement
    /// it: the default reads one range after the other.
    ///
    /// # Errors
    /// The errors of [`RecordSource::read_part`]; [`Misuse::Rule`] if `out` does not divide into as
    /// many equal parts.
    fn read_parts(&self, parts: &[(u64, u64)], out: &mut [u8]) -> Result<()> {
        let each = bytes_per_part(parts.len(), out.len())?;
        let parts = parts.iter().zip(out.chunks_exact_mut(each));
        parts.into_iter().try_for_each(|((record, offset), out)| self.read_part(*record, *offset, out))
    }
}

/// Gives the bytes of each of `parts` equal parts of `bytes` bytes; at least one.
///
/// # Errors
/// [`Misuse::Rule`] if the bytes do not divide evenly.
pub fn bytes_per_part(parts: usize, bytes: usize) -> Result<usize> {
    match bytes.checked_div(parts) {
        Some(each) if each > 0 && bytes.is_multiple_of(parts) => Ok(each),
        // No parts and no bytes: any number will do.
        None if bytes == 0 => Ok(1),
        _ => {
            Err(Misuse::Rule("the buffer must hold equally many bytes for each part, and at least one")
                .into())
        }
    }
}

/// A section of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Section {
    /// The section that the server keeps mapped and scans.
    Resident,
    /// A static file for clients.
    Public(Artifact),
}

/// The destination of an encoder's output. Methods take `&self` so that threads can write disjoint
/// ranges at once.
pub trait Sink: Sync {
    /// Creates a section of `bytes` zero bytes, or keeps it if it has exactly that size.
    ///
    /// # Errors
    /// Storage errors, a full disk among them.
    fn reserve(&self, section: Section, bytes: u64) -> Result<()>;
    /// Writes into a reserved section.
    ///
    /// # Errors
    /// Storage errors; [`crate::Error::Misuse`] outside the section.
    fn write_at(&self, section: Section, offset: u64, bytes: &[u8]) -> Result<()>;
    /// Reads back bytes that were written.
    ///
    /// # Errors
    /// The errors of [`Sink::write_at`].
    fn read_at(&self, section: Section, offset: u64, out: &mut [u8]) -> Result<()>;
    /// Whether any of these bytes of a section is needed. An encoder may skip bytes that are not,
    /// and the work that only they need, so that encoding one part of a table takes the time of one
    /// part.
    fn wants(&self, _section: Section, _bytes: Range<u64>) -> bool {
        true
    }
    /// Reports the progress of a stage to a person who watches. Cheap to call.
    fn progress(&self, _stage: &'static str, _done: u64, _total: u64) {}
}

/// An encoded table, usually mapped from a file; sections start 64-byte aligned. It is immutable:
/// its sections stay as long as it lives.
pub trait Image: Send + Sync {
    /// A section's bytes, or `None` if the image has no such section.
    fn section(&self, section: Section) -> Option<&[u8]>;
}

/// A section of an open image, which exists and has the length that the parameters fix.
#[derive(Clone)]
pub struct ImageSection {
    image: Arc<dyn Image>,
    section: Section,
    bytes: usize,
}

impl ImageSection {
    /// Opens a section. `what` is the scheme's name for it.
    ///
    /// # Errors
    /// [`PeerMisbehaved::Length`] if the section is missing, or its length is not `want`.
    pub fn open(image: Arc<dyn Image>, section: Section, what: &'static str, want: u64) -> Result<Self> {
        let bytes = image.section(section).map_or(0, <[u8]>::len);
        if bytes as u64 != want {
            return Err(PeerMisbehaved::Length { what, got: bytes as u64, want }.into());
        }
        Ok(ImageSection { image, section, bytes })
    }

    /// The bytes of the section, as many as it had when it was opened.
    ///
    /// # Panics
    /// If the image breaks the contract of [`Image`] and has lost the section. That is no client's
    /// fault, so it is not an error that a client receives: servers log a panic and refuse the
    /// queries that waited for the answer.
    pub fn bytes(&self) -> &[u8] {
        let bytes = self.image.section(self.section).unwrap_or_default();
        assert!(bytes.len() == self.bytes, "an image keeps the sections it was opened with");
        bytes
    }
}

/// Records that are read from a section one by one. `read` takes the section, a record, an offset
/// in it, and the buffer to fill; it returns `None` if the section does not have those bytes.
pub struct SectionRecords<F> {
    /// The section.
    pub held: ImageSection,
    /// Number of records.
    pub records: u64,
    /// Bytes in each record.
    pub record_bytes: usize,
    /// Reads a range that is within one record.
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
            return Err(Misuse::Rule("the buffer must hold whole records").into());
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
        Ok(read.ok_or(Misuse::Rule("the record must be within the image"))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Three bytes of a section that can be removed.
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

    /// The error must not be one that a client would receive as its own fault.
    #[test]
    #[should_panic(expected = "keeps the sections")]
    fn a_section_that_is_lost_is_no_clients_fault() {
        let image = Arc::new(Fading::default());
        let held = ImageSection::open(image.clone(), Section::Resident, "table", 3).unwrap();
        image.0.store(true, Ordering::Relaxed);
        held.bytes();
    }
}
