//! The traits by which a scheme of the family describes itself, and its checked parameters.

#[cfg(feature = "server")]
use crate::groups::MaskLayout;
use crate::limits;
use crate::message::{Answer, Format, Keys, Query};
#[cfg(feature = "server")]
use crate::message::{Partial, PartialFormat};
#[cfg(feature = "server")]
use crate::pieces::{PartSection, Piece};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sotto_core::{
    AbortLeakage, Artifact, ArtifactNeed, Caps, Costs, CryptoRng, Misuse, NamedSet, ParamsDigest,
    ParamsReport, PeerMisbehaved, Result, SchemeId, SchemeMetadata, Security, SumElement, TableShape, Wire,
    wire,
};
#[cfg(feature = "server")]
use sotto_core::{PartIndex, RecordChange, RecordSource, Section, Sink};
use std::fmt::Debug;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

/// The scheme of a method `M`.
pub struct MatrixScheme<M>(PhantomData<fn() -> M>);

/// A scheme of the family: its name, and its own halves of parameters, client and server.
pub trait Method: Sized + Send + Sync + 'static {
    /// The scheme's id.
    const ID: SchemeId;
    /// Publication, protection and state of the scheme.
    const METADATA: SchemeMetadata;
    /// The capabilities of the scheme: at least updates and parts, which come with the frame.
    const CAPS: Caps<MatrixScheme<Self>>;
    /// The parameters that are written into a catalog.
    type Literal: MatrixLiteral;
    /// The keys that a client registers; `()` if there are none.
    type Keys: RegisteredKeys<Self>;
    /// The preparation of a client; `()` if nothing is downloaded.
    type Prepare: Preparation<Self>;
    /// The client's half.
    type Client: MatrixClient<Self>;
    /// The server's half: an open table, or a part of one.
    #[cfg(feature = "server")]
    type Server: MatrixServer<Self>;
}

/// The parameters of a scheme as a catalog states them, with all sizes and costs that follow.
pub trait MatrixLiteral:
    Clone + Debug + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// The sets that a table may name; none by default.
    fn sets() -> Vec<NamedSet> {
        Vec::new()
    }

    /// Chooses the literal for a table.
    ///
    /// # Errors
    /// [`sotto_core::ParamsError::NoFit`] for an empty table, or one larger than the limits allow.
    fn select(shape: &TableShape) -> Result<Self>;

    /// Checks every number, and returns the security. The failure bound is checked afterwards.
    ///
    /// # Errors
    /// [`sotto_core::Error::Params`] with the field that is refused.
    fn check(&self) -> Result<Security>;

    /// Number of records, and bytes in each.
    fn shape(&self) -> [u64; 2];

    /// Number of records.
    fn records(&self) -> u64 {
        let [records, _] = self.shape();
        records
    }

    /// Bytes in a record.
    fn record_bytes(&self) -> u64 {
        let [_, bytes] = self.shape();
        bytes
    }

    /// Number of equal buckets, of each of which a [`BatchClient`] queries a record; 1 by default.
    fn buckets(&self) -> u64 {
        1
    }

    /// Number of records of each bucket.
    fn bucket_records(&self) -> u64 {
        self.records() / self.buckets().max(1)
    }

    /// The fields of the keys that a client registers; none by default.
    fn keys(&self) -> Format {
        Format::default()
    }

    /// The fields of a query.
    fn query(&self) -> Format;

    /// The fields of an answer.
    fn answer(&self) -> Format;

    /// The [masks](crate::masks::MaskDownload) of packed ciphertexts that clients fetch once an epoch;
    /// none by default.
    fn masks(&self) -> Format {
        Format::default()
    }

    /// Bytes of a query.
    fn query_bytes(&self) -> u64 {
        self.query().bytes()
    }

    /// Bytes of an answer.
    fn answer_bytes(&self) -> u64 {
        self.answer().bytes()
    }

    /// Bytes of this many queries of a client in an epoch, with their answers, and of the masks.
    fn epoch_bytes(&self, queries: u64) -> u64 {
        let each = self.query_bytes() + self.answer_bytes();
        each.saturating_mul(queries).saturating_add(self.masks().bytes())
    }

    /// Bound on log2 of the probability that a byte of a record comes out wrong.
    fn failure_log2(&self) -> f64;

    /// What a refusal of an answer reveals, where that is more than for other parameters of the scheme.
    fn abort_leakage(&self) -> Option<AbortLeakage> {
        None
    }

    /// The costs of a lookup besides its messages.
    fn work(&self) -> Costs;

    /// The costs of a lookup.
    fn costs(&self) -> Costs {
        let (work, masks) = (self.work(), self.masks().bytes());
        Costs {
            artifact_bytes: work.artifact_bytes + masks,
            resident_bytes: work.resident_bytes + masks,
            keys_bytes: self.keys().bytes(),
            query_bytes: self.query_bytes(),
            answer_bytes: self.answer_bytes(),
            ..work
        }
    }

    /// Facts worth showing to a person: (name, value).
    fn details(&self) -> Vec<(&'static str, String)>;
}

/// Checked parameters of a method `M`, which are those of its literal. Cheap to clone.
pub struct Params<M: Method> {
    inner: Arc<Inner<M::Literal>>,
}

#[derive(Debug)]
struct Inner<L> {
    literal: L,
    security: Security,
    failure_log2: f64,
}

impl<M: Method> Clone for Params<M> {
    fn clone(&self) -> Self {
        Params { inner: self.inner.clone() }
    }
}

impl<M: Method> Debug for Params<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.inner.fmt(f)
    }
}

impl<M: Method> Deref for Params<M> {
    type Target = M::Literal;

    fn deref(&self) -> &M::Literal {
        &self.inner.literal
    }
}

impl<M: Method> sotto_core::Params for Params<M> {
    type Literal = M::Literal;

    fn sets() -> Vec<NamedSet> {
        M::Literal::sets()
    }

    fn select(shape: &TableShape) -> Result<M::Literal> {
        M::Literal::select(shape)
    }

    fn check(literal: M::Literal) -> Result<Self> {
        let security = literal.check()?;
        let failure_log2 = literal.failure_log2();
        limits::reliable(failure_log2)?;
        Ok(Params { inner: Arc::new(Inner { literal, security, failure_log2 }) })
    }

    fn literal(&self) -> &M::Literal {
        &self.inner.literal
    }

    fn report(&self) -> ParamsReport {
        ParamsReport {
            digest: ParamsDigest([0; 32]),
            records: self.records(),
            record_bytes: self.record_bytes(),
            costs: self.costs(),
            security: self.inner.security.clone(),
            failure_log2: self.inner.failure_log2,
            abort_leakage: self.abort_leakage(),
            details: sotto_core::report_details(|| self.details()),
        }
    }
}

/// Implements a message whose fields the literal states.
macro_rules! message {
    ($name:ident, $called:literal, $format:ident) => {
        impl<M: Method> Wire<Params<M>> for $name {
            fn size(params: &Params<M>) -> usize {
                params.$format().bytes() as usize
            }

            fn put(&self, params: &Params<M>, out: &mut Vec<u8>) {
                params.$format().put(&self.0, out);
            }

            fn take(params: &Params<M>, mut bytes: &[u8]) -> Result<Self> {
                wire::exact($called, bytes, <Self as Wire<Params<M>>>::size(params))?;
                let message = params.$format().take(&mut bytes);
                Ok($name(message.ok_or(PeerMisbehaved::NotCanonical($called))?))
            }
        }
    };
}

message!(Keys, "keys", keys);
message!(Query, "query", query);
message!(Answer, "answer", answer);

/// The keys that a client registers once per session.
pub trait RegisteredKeys<M: Method>: Wire<Params<M>> {
    /// The keys of a client.
    fn of(client: &M::Client) -> Self;

    /// Keys that were validated and expanded once.
    #[cfg(feature = "server")]
    type Session: Send + Sync + 'static;

    /// Admits the keys.
    ///
    /// # Errors
    /// [`sotto_core::Error::Peer`] for keys that are well-formed but unusable.
    #[cfg(feature = "server")]
    fn admit(self, params: &Params<M>) -> Result<Self::Session>;

    /// Bytes of memory that a session takes.
    #[cfg(feature = "server")]
    fn session_bytes(params: &Params<M>) -> usize {
        Self::size(params)
    }
}

impl<M: Method> RegisteredKeys<M> for () {
    fn of(_: &M::Client) {}

    #[cfg(feature = "server")]
    type Session = ();

    #[cfg(feature = "server")]
    fn admit(self, _: &Params<M>) -> Result<()> {
        Ok(())
    }
}

/// What a client samples and downloads before its first query.
pub trait Preparation<M: Method>: Sized + Send + 'static {
    /// Starts a preparation, and samples what outlives a query.
    ///
    /// # Errors
    /// Errors of sampling only.
    fn begin(params: &Params<M>, rng: &mut dyn CryptoRng) -> Result<Self>;

    /// The artifacts to absorb; none by default.
    fn needs(&self, _: &Params<M>) -> Vec<ArtifactNeed> {
        Vec::new()
    }

    /// Absorbs the next bytes of an artifact.
    ///
    /// # Errors
    /// [`Misuse::UnexpectedArtifact`] for an artifact that is not needed or too long;
    /// [`sotto_core::Error::Peer`] for bytes that cannot be that artifact.
    fn absorb(&mut self, _: &Params<M>, from: Artifact, _chunk: &[u8]) -> Result<()> {
        Err(Misuse::UnexpectedArtifact(from.name()).into())
    }
}

impl<M: Method> Preparation<M> for () {
    fn begin(_: &Params<M>, _: &mut dyn CryptoRng) -> Result<()> {
        Ok(())
    }
}

/// The client's half of a scheme. Nothing in it depends on the record or on a secret: no branch, no
/// index, no allocation. The frame refuses a record past the end, and answers of another shape.
pub trait MatrixClient<M: Method>: Sized + Send + 'static {
    /// The secrets of one query, which are wiped when dropped.
    type Pending: Send + 'static;

    /// A client with what its preparation made.
    ///
    /// # Errors
    /// [`Misuse::NotPrepared`] if an artifact is incomplete.
    fn new(params: &Params<M>, prepared: M::Prepare) -> Result<Self>;

    /// Makes the query for a record.
    ///
    /// # Errors
    /// None that depends on the record.
    fn query(
        &self,
        params: &Params<M>,
        record: u64,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Query, Self::Pending)>;

    /// Recovers the bytes of the record from the fields of an answer, or more bytes.
    ///
    /// # Errors
    /// At most [`sotto_core::Error::Unreadable`].
    fn recover(&self, params: &Params<M>, pending: Self::Pending, answer: Vec<Vec<u64>>) -> Result<Vec<u8>>;
}

/// A client whose queries may have several ones, for the sum of their records.
pub trait SumClient<M: Method>: MatrixClient<M> {
    /// The elements of a record that are added up.
    const UNIT: SumElement;

    /// Makes the query for the sum of the records `first + i`, for each set bit `i` of `ones`.
    ///
    /// # Errors
    /// The errors of [`MatrixClient::query`].
    fn query_sum(
        &self,
        params: &Params<M>,
        first: u64,
        ones: u128,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Query, Self::Pending)>;
}

/// A client whose queries may be for a record of each bucket of the table.
pub trait BatchClient<M: Method>: MatrixClient<M> {
    /// Makes the query for one record of each bucket, given by their places within the buckets. The
    /// frame refuses other places.
    ///
    /// # Errors
    /// The errors of [`MatrixClient::query`].
    fn query_buckets(
        &self,
        params: &Params<M>,
        places: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(Query, Self::Pending)>;

    /// Recovers the bytes of the records of all buckets, or more bytes of each.
    ///
    /// # Errors
    /// The errors of [`MatrixClient::recover`].
    fn recover_buckets(
        &self,
        params: &Params<M>,
        pending: Self::Pending,
        answer: Vec<Vec<u64>>,
    ) -> Result<Vec<Vec<u8>>>;
}

/// A scheme whose clients update their hint to the next epoch with a delta.
pub trait PatchMethod: Method {
    /// Bytes of the hint that clients hold.
    fn hint_bytes(literal: &Self::Literal) -> u64;

    /// Applies a delta to a hint in place.
    ///
    /// # Errors
    /// [`sotto_core::Error::Peer`] for bytes that do not match these parameters.
    fn patch(params: &Params<Self>, hint: &mut [u8], delta: &[u8]) -> Result<()>;
}

/// The session of a method's clients.
#[cfg(feature = "server")]
pub type SessionOf<M> = <<M as Method>::Keys as RegisteredKeys<M>>::Session;

/// The server's half of a scheme: an open table, or a part of one, and what its image consists of.
///
/// A table is written section by section, after the frame has reserved them and compared the shape
/// of the records. A query is [expanded](Self::expand) by itself, [passes](Self::pass) over the data
/// are for a few queries at once, and [`finish`](Self::finish) does what takes the results of all
/// parts.
#[cfg(feature = "server")]
pub trait MatrixServer<M: Method>: Sized + Send + Sync + 'static {
    /// Queries in one pass of a processor without tiles of bytes.
    const BATCH: usize;
    /// Queries in one pass of an accelerator, of which the processor does the rest of the work, or of a
    /// processor with tiles of bytes.
    const ACCELERATED_BATCH: usize = 32;
    /// The section that answers are computed from, and that parts divide.
    const SECTION: Section = Section::Resident;
    /// A query in the form that passes take.
    type Expanded: Send;
    /// The precomputed values that [`finish`](Self::finish) needs; `()` if there are none.
    type Joiner: Send + Sync + 'static;

    /// The pieces of [`SECTION`](Self::SECTION), in order, with what a part has of each.
    fn pieces(params: &Params<M>, cut: PartIndex) -> Vec<Piece>;

    /// The sections that clients download, and their bytes: by default the masks, if there are any.
    fn artifacts(params: &Params<M>) -> Vec<(Section, u64)> {
        let bytes = params.masks().bytes();
        (bytes > 0).then_some((MaskLayout::SECTION, bytes)).into_iter().collect()
    }

    /// Writes the sections.
    ///
    /// # Errors
    /// Storage errors.
    fn write(params: &Params<M>, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()>;

    /// Applies changes, which lie within the records, to the sections, and writes the delta
    /// artifacts that clients need.
    ///
    /// # Errors
    /// Storage errors.
    fn update_image(params: &Params<M>, changes: &[RecordChange], out: &dyn Sink) -> Result<()>;

    /// The records of an open table as they were encoded.
    fn records(params: &Params<M>, held: PartSection) -> Box<dyn RecordSource>;

    /// Maximum number of parts.
    fn max_parts(params: &Params<M>) -> u32;

    /// The format of a part's result.
    fn partial(params: &Params<M>, cut: PartIndex) -> PartialFormat;

    /// Opens a part. A whole table is its only part.
    ///
    /// # Errors
    /// None for checked parameters.
    fn open(params: &Params<M>, cut: PartIndex, held: PartSection) -> Result<Self>;

    /// Makes the values that [`finish`](Self::finish) needs.
    ///
    /// # Errors
    /// None for checked parameters.
    fn joiner(params: &Params<M>) -> Result<Self::Joiner>;

    /// Prepares a query for the passes.
    ///
    /// # Errors
    /// None that depends on what the query asks for.
    fn expand(&self, params: &Params<M>, session: &SessionOf<M>, query: &Query) -> Result<Self::Expanded>;

    /// Passes over the data, for a few queries at once.
    fn pass(&self, params: &Params<M>, queries: &[Self::Expanded]) -> Vec<Partial>;

    /// The fields of an answer from the results of all parts: by default words and then ciphertexts.
    ///
    /// # Errors
    /// None that depends on what the query asks for.
    fn finish(
        _params: &Params<M>,
        _joiner: &Self::Joiner,
        _session: &SessionOf<M>,
        _query: &Query,
        mut partial: Partial,
    ) -> Result<Vec<Vec<u64>>> {
        partial.words.append(&mut partial.ciphers);
        Ok(partial.words)
    }
}
