//! The contract of a scheme: what client and servers agree on, and the client's half. A scheme
//! fetches one *record* by index and knows nothing of keys, trees, sockets, files, clocks or
//! threads.

use crate::{
    Artifact, ArtifactNeed, Budget, Caps, CryptoRng, Misuse, Params, PendingOf, PerServer, Record,
    RecordIndex, Result, SchemeId, SchemeMetadata, Wire,
};

/// A PIR scheme: what a client and its servers agree on. Implemented by an empty struct.
pub trait Scheme: Sized + Send + Sync + 'static {
    /// The scheme's name on the wire, which never changes.
    const ID: SchemeId;
    /// Publication, protection and state of the scheme.
    const METADATA: SchemeMetadata;
    /// Checked, immutable, public parameters.
    type Params: Params;
    /// One value per server that is sent queries: [`crate::OneServer`], [`crate::TwoServers`], or
    /// [`crate::NoServers`].
    type Fan<T>: PerServer<T>;
    /// The keys that a client registers once per session; `()` if there are none.
    type Keys: Wire<Self::Params>;
    /// The query that one server receives.
    type Query: Wire<Self::Params>;
    /// The answer that one server sends back.
    type Answer: Wire<Self::Params>;
    /// The preparation of a client.
    type Prepare: Prepare<Self>;
    /// A client that can query. An unprepared client has another type.
    type Client: Client<Self>;
    /// The server's half.
    #[cfg(feature = "server")]
    type Server: crate::Server<Self>;
    /// The capabilities beyond looking a record up: `Caps::NONE`, with a call for each further
    /// trait that the scheme implements.
    const CAPS: Caps<Self>;
}

/// The preparation of a client, after which it can query.
pub trait Prepare<S: Scheme>: Sized + Send + 'static {
    /// Starts a preparation, and samples everything that outlives one query.
    ///
    /// # Errors
    /// Errors of sampling only.
    fn begin(params: &S::Params, rng: &mut dyn CryptoRng) -> Result<Self>;

    /// The artifacts to absorb, in this order. Empty for schemes without any.
    fn needs(&self) -> Vec<ArtifactNeed> {
        Vec::new()
    }

    /// Absorbs the next bytes of an artifact; chunks may have any size, and come in order.
    ///
    /// # Errors
    /// [`Misuse::UnexpectedArtifact`] for an artifact that is not needed or too long;
    /// [`crate::Error::Peer`] for bytes that cannot be that artifact.
    fn absorb(&mut self, from: Artifact, _chunk: &[u8]) -> Result<()> {
        Err(Misuse::UnexpectedArtifact(from.name()).into())
    }

    /// Ends preparation.
    ///
    /// # Errors
    /// [`Misuse::NotPrepared`] if an artifact is incomplete.
    fn finish(self) -> Result<S::Client>;
}

/// A prepared client: a state machine without I/O.
pub trait Client<S: Scheme>: Sized + Send + 'static {
    /// The secret of one query. Not `Clone`; wiped on drop; consumed by `recover`.
    type Pending: Send + 'static;

    /// The keys that are registered once per session.
    fn keys(&self) -> S::Keys;

    /// Makes the query for one record. Time, memory access and message sizes do not depend on
    /// `index`.
    ///
    /// # Errors
    /// [`Misuse::IndexPastEnd`], or [`crate::Error::Exhausted`].
    fn query(
        &mut self,
        index: RecordIndex,
        rng: &mut dyn CryptoRng,
    ) -> Result<(S::Fan<S::Query>, Self::Pending)>;

    /// Recovers the record from the answers to the query that `pending` belongs to.
    ///
    /// # Errors
    /// At most [`crate::Error::Unreadable`]: decoding has validated the answers.
    fn recover(&mut self, pending: Self::Pending, answers: S::Fan<S::Answer>) -> Result<Record>;

    /// The number of queries that the client can still make.
    fn budget(&self) -> Budget {
        Budget::Unlimited
    }
}

/// The equal units that a record of a [`StreamScheme`] consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnitLayout {
    /// Number of units in a record, at least 1.
    pub count: u64,
    /// Bytes of the record in each unit; `count * bytes` is the record's size.
    pub bytes: u64,
    /// Bytes of the answer for each unit.
    pub answer_bytes: u64,
}

/// A scheme whose records consist of equal units, each with an answer of its own: one query fetches
/// a record of many megabytes unit by unit, and neither side ever holds it whole.
pub trait StreamScheme: Scheme {
    /// The answer of a server for one unit.
    type UnitAnswer: Wire<Self::Params>;

    /// Number of units in a record, at least 1.
    fn units(params: &Self::Params) -> u64;

    /// Bytes of a record in each unit; [`StreamScheme::units`] of them are exactly a record.
    fn unit_bytes(params: &Self::Params) -> usize;

    /// Recovers one unit of the record. Each unit can be recovered any number of times and in any
    /// order, as long as `pending` lives.
    ///
    /// # Errors
    /// At most [`crate::Error::Unreadable`].
    fn recover_unit(
        client: &mut Self::Client,
        pending: &<Self::Client as Client<Self>>::Pending,
        unit: u64,
        answer: Self::UnitAnswer,
    ) -> Result<Record>;
}

/// A scheme whose table consists of equal buckets, such that one query asks for one record of each.
///
/// [`Client::query`] makes the same query, for arbitrary records of the other buckets: the query
/// and its answer have the same sizes. [`crate::ParamsReport::failure_log2`] bounds the failure of
/// a whole answer.
pub trait BatchScheme: Scheme {
    /// Number of buckets, at least 1. Bucket `b` has the records `b * R..(b + 1) * R`, for
    /// `R = records / buckets`.
    fn buckets(params: &Self::Params) -> u64;

    /// Makes the query for one record of each bucket: `places[b]` is the record's number within
    /// bucket `b`. Time, memory access and sizes do not depend on the places.
    ///
    /// # Errors
    /// The errors of [`check_bucket_places`], or [`crate::Error::Exhausted`].
    #[allow(clippy::type_complexity, reason = "what Client::query gives")]
    fn query_buckets(
        client: &mut Self::Client,
        places: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(Self::Fan<Self::Query>, PendingOf<Self>)>;

    /// Recovers the records of all buckets, in the order of the buckets.
    ///
    /// # Errors
    /// At most [`crate::Error::Unreadable`]: decoding has validated the answers.
    fn recover_buckets(
        client: &mut Self::Client,
        pending: PendingOf<Self>,
        answers: Self::Fan<Self::Answer>,
    ) -> Result<Vec<Record>>;
}

/// Checks that `places` name one record of each of `buckets` buckets of `records` records, for
/// [`BatchScheme::query_buckets`].
///
/// # Errors
/// [`Misuse::Rule`] for another number of places; [`Misuse::IndexPastEnd`] with the largest place,
/// if it is past the end of its bucket.
pub fn check_bucket_places(places: &[u64], buckets: u64, records: u64) -> Result<()> {
    if places.len() as u64 != buckets {
        return Err(Misuse::Rule("a batch query must have one place in each bucket").into());
    }
    // All places are read before the one branch.
    let index = places.iter().copied().fold(0, u64::max);
    if index >= records { Err(Misuse::IndexPastEnd { index, len: records }.into()) } else { Ok(()) }
}

/// The numbers that a record consists of where records are added up ([`SumScheme`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SumElement {
    /// Each byte is a number modulo 2^8.
    Byte,
    /// Two bytes are a number modulo 2^16: the first, which is signed, plus 256 times the second. A
    /// last byte without a second one is a number modulo 2^8.
    Pair,
}

impl SumElement {
    /// Bytes of one number.
    pub fn bytes(self) -> usize {
        match self {
            SumElement::Byte => 1,
            SumElement::Pair => 2,
        }
    }

    /// Decodes a number from [`Self::bytes`] bytes, or from fewer at the end of a record.
    pub fn number(self, bytes: &[u8]) -> u16 {
        let byte = |i: usize| bytes.get(i).copied().unwrap_or(0);
        match self {
            SumElement::Byte => byte(0).into(),
            SumElement::Pair => (byte(0) as i8 as u16).wrapping_add(u16::from(byte(1)) << 8),
        }
    }

    /// Encodes a number; the bytes past [`Self::bytes`] are zero.
    pub fn bytes_of(self, number: u16) -> [u8; 2] {
        let first = number as u8;
        match self {
            SumElement::Byte => [first, 0],
            SumElement::Pair => [first, (number.wrapping_sub(first as i8 as u16) >> 8) as u8],
        }
    }
}

/// A scheme with queries for the sum of several records, number by number.
///
/// [`Client::query`] makes the same query, for the sum of one record: the query and its answer have
/// the same sizes, and [`Client::recover`] reads the answer. [`crate::ParamsReport::failure_log2`]
/// bounds the failure of any sum.
pub trait SumScheme: Scheme {
    /// The elements of a record that are added up.
    const UNIT: SumElement;

    /// Makes the query for the sum of the records `first + i`, for each set bit `i` of `ones`, the
    /// lowest first. Records past the last one count as zeros. Time, memory access and sizes depend
    /// neither on `first` nor on `ones`.
    ///
    /// # Errors
    /// The errors of [`Client::query`] for `first`; [`Misuse::Rule`] for parameters that were selected
    /// without [`TableShape::sums`](crate::TableShape::sums) and allow none, whatever is asked for.
    #[allow(clippy::type_complexity, reason = "what Client::query gives")]
    fn query_sum(
        client: &mut Self::Client,
        first: RecordIndex,
        ones: u128,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Self::Fan<Self::Query>, PendingOf<Self>)>;
}

/// Updates an artifact that a client stores to the next epoch without fetching it whole.
///
/// Patching is a pure function of public bytes; the caller then checks the result against the next
/// epoch's digest.
pub trait PatchArtifact: Scheme {
    /// Applies `delta` to `held` in place.
    ///
    /// # Errors
    /// [`crate::Error::Peer`] if `delta` or `held` does not match these parameters. `held` may then
    /// be half patched and must be thrown away.
    fn patch(params: &Self::Params, artifact: Artifact, held: &mut [u8], delta: &[u8]) -> Result<()>;
}
