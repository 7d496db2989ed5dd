//! The contract of a scheme: what both ends agree on, and the client's half. A scheme fetches one *record* by index and
//! knows nothing of keys, trees, sockets, files, clocks or threads.

use crate::{
    Artifact, ArtifactNeed, Budget, Caps, CryptoRng, Misuse, Params, PendingOf, PerServer, Record,
    RecordIndex, Result, SchemeId, Wire,
};

/// A PIR scheme: what a client and its servers agree on. Implemented by an empty struct.
pub trait Scheme: Sized + Send + Sync + 'static {
    /// Stable on the wire.
    const ID: SchemeId;
    /// One line for a person: the scheme's name and its paper.
    const TITLE: &'static str;
    /// Checked, immutable, public.
    type Params: Params;
    /// `OneServer<T>` or `TwoServers<T>`: one value per server, by type.
    type Fan<T>: PerServer<T>;
    /// Registered once per session; `()` if none.
    type Keys: Wire<Self::Params>;
    /// What one server is sent.
    type Query: Wire<Self::Params>;
    /// What one server sends back.
    type Answer: Wire<Self::Params>;
    /// How a client comes to be.
    type Prepare: Prepare<Self>;
    /// A client that can query. An unprepared one does not exist.
    type Client: Client<Self>;
    /// Its server.
    #[cfg(feature = "server")]
    type Server: crate::Server<Self>;
    /// What it can do beyond looking a record up: `Caps::NONE`, and a step for each trait it implements beyond these.
    const CAPS: Caps<Self>;
}

/// Becoming able to query.
pub trait Prepare<S: Scheme>: Sized + Send + 'static {
    /// Starts, sampling whatever lasts longer than one query.
    ///
    /// # Errors
    /// Only what sampling can give.
    fn begin(params: &S::Params, rng: &mut dyn CryptoRng) -> Result<Self>;

    /// The artifacts to absorb, in this order. Empty for schemes without any.
    fn needs(&self) -> Vec<ArtifactNeed> {
        Vec::new()
    }

    /// Takes the next bytes of an artifact; chunks of any size, in order.
    ///
    /// # Errors
    /// [`Misuse::UnexpectedArtifact`] for one not needed or too long; [`crate::Error::Peer`] for bytes
    /// that cannot be that artifact.
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

    /// What is registered once per session.
    fn keys(&self) -> S::Keys;

    /// Asks for one record. Time, memory access and message sizes do not depend on `index`.
    ///
    /// # Errors
    /// [`Misuse::IndexPastEnd`], or [`crate::Error::Exhausted`].
    fn query(
        &mut self,
        index: RecordIndex,
        rng: &mut dyn CryptoRng,
    ) -> Result<(S::Fan<S::Query>, Self::Pending)>;

    /// Reads the answers to the query `pending` belongs to.
    ///
    /// # Errors
    /// [`crate::Error::Unreadable`] at most: decoding has validated the answers.
    fn recover(&mut self, pending: Self::Pending, answers: S::Fan<S::Answer>) -> Result<Record>;

    /// How many more queries there are.
    fn budget(&self) -> Budget {
        Budget::Unlimited
    }
}

/// What a record of a [`StreamScheme`] scheme consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnitLayout {
    /// How many, at least 1.
    pub count: u64,
    /// Bytes of the record in each; `count * bytes` is the record's size.
    pub bytes: u64,
    /// Bytes of the answer about each.
    pub answer_bytes: u64,
}

/// A scheme whose record consists of equal units, each with an answer of its own: one query fetches a record
/// of many megabytes piece by piece, and neither end ever holds it whole.
pub trait StreamScheme: Scheme {
    /// What a server sends back about one unit.
    type UnitAnswer: Wire<Self::Params>;

    /// Units of a record, at least 1.
    fn units(params: &Self::Params) -> u64;

    /// Bytes of a record in each unit; [`StreamScheme::units`] of them are exactly a record.
    fn unit_bytes(params: &Self::Params) -> usize;

    /// Reads one unit. Each may be read once or several times, in any order, as long as `pending` lives.
    ///
    /// # Errors
    /// [`crate::Error::Unreadable`] at most.
    fn recover_unit(
        client: &mut Self::Client,
        pending: &<Self::Client as Client<Self>>::Pending,
        unit: u64,
        answer: Self::UnitAnswer,
    ) -> Result<Record>;
}

/// A scheme whose table consists of equal buckets, and one query asks for one record of each.
///
/// [`Client::query`] is the same query, for any records of the other buckets: what is sent and what comes back has the same
/// sizes. [`crate::ParamsReport::failure_log2`] bounds the failure of a whole answer.
pub trait BatchScheme: Scheme {
    /// How many buckets, at least 1. Bucket `b` has the records `b * R..(b + 1) * R`, for `R = records / buckets`.
    fn buckets(params: &Self::Params) -> u64;

    /// Asks for one record of each bucket: `places[b]` is its number within bucket `b`. Time, memory access and sizes do not
    /// depend on the places.
    ///
    /// # Errors
    /// Those of [`check_bucket_places`], or [`crate::Error::Exhausted`].
    #[allow(clippy::type_complexity, reason = "what Client::query gives")]
    fn query_buckets(
        client: &mut Self::Client,
        places: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(Self::Fan<Self::Query>, PendingOf<Self>)>;

    /// Reads the records of all buckets, in their order.
    ///
    /// # Errors
    /// [`crate::Error::Unreadable`] at most: decoding has validated the answers.
    fn recover_buckets(
        client: &mut Self::Client,
        pending: PendingOf<Self>,
        answers: Self::Fan<Self::Answer>,
    ) -> Result<Vec<Record>>;
}

/// Refuses places that are not one record of each of `buckets` buckets of `records` records: for [`BatchScheme::query_buckets`].
///
/// # Errors
/// [`Misuse::Rule`] for another number of places; [`Misuse::IndexPastEnd`] for the largest place, if it is past its bucket.
pub fn check_bucket_places(places: &[u64], buckets: u64, records: u64) -> Result<()> {
    if places.len() as u64 != buckets {
        return Err(Misuse::Rule("one place in each bucket is asked for").into());
    }
    // All of them are read before the one branch.
    let index = places.iter().copied().fold(0, u64::max);
    if index >= records { Err(Misuse::IndexPastEnd { index, len: records }.into()) } else { Ok(()) }
}

/// The numbers that a record consists of where records are added up ([`SumScheme`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SumElement {
    /// Each byte is a number modulo 2^8.
    Byte,
    /// Two bytes are a number modulo 2^16: the first, which is signed, and 256 times the second. A last byte without a second
    /// one is a number modulo 2^8.
    Pair,
}

impl SumElement {
    /// Bytes of a number.
    pub fn bytes(self) -> usize {
        match self {
            SumElement::Byte => 1,
            SumElement::Pair => 2,
        }
    }

    /// The number in these bytes, of which there are [`Self::bytes`], or fewer at the end of a record.
    pub fn number(self, bytes: &[u8]) -> u16 {
        let byte = |i: usize| bytes.get(i).copied().unwrap_or(0);
        match self {
            SumElement::Byte => byte(0).into(),
            SumElement::Pair => (byte(0) as i8 as u16).wrapping_add(u16::from(byte(1)) << 8),
        }
    }

    /// Its bytes; those past [`Self::bytes`] are zero.
    pub fn bytes_of(self, number: u16) -> [u8; 2] {
        let first = number as u8;
        match self {
            SumElement::Byte => [first, 0],
            SumElement::Pair => [first, (number.wrapping_sub(first as i8 as u16) >> 8) as u8],
        }
    }
}

/// A scheme of which one query may ask for the sum of several records, number by number.
///
/// [`Client::query`] is the same query, for the sum of one record: what is sent and what comes back has the same sizes, and
/// [`Client::recover`] reads it. [`crate::ParamsReport::failure_log2`] bounds the failure of any sum.
pub trait SumScheme: Scheme {
    /// What is added up.
    const UNIT: SumElement;

    /// Asks for the sum of the records `first + i`, for each bit `i` of `ones`, the lowest first. Those past the last record
    /// count as zeros. Time, memory access and sizes depend on neither.
    ///
    /// # Errors
    /// Those of [`Client::query`], for `first`.
    #[allow(clippy::type_complexity, reason = "what Client::query gives")]
    fn query_sum(
        client: &mut Self::Client,
        first: RecordIndex,
        ones: u128,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Self::Fan<Self::Query>, PendingOf<Self>)>;
}

/// Moves an artifact a client holds from one epoch to the next without fetching it whole.
///
/// A pure function of public bytes: the caller then checks the result against the next epoch's digest.
pub trait PatchArtifact: Scheme {
    /// Applies `delta` to `held` in place.
    ///
    /// # Errors
    /// [`crate::Error::Peer`] if `delta` or `held` is not what these parameters say. `held` may then be
    /// half patched and must be thrown away.
    fn patch(params: &Self::Params, artifact: Artifact, held: &mut [u8], delta: &[u8]) -> Result<()>;
}
