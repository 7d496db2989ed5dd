//! Schemes **without privacy**, for tests of the layers above the schemes. **Never put one into the
//! registry.**
//!
//! A query of [`CLEAR`] *is* the record index. It runs every path of the contract (artifacts,
//! patches, revisions, keys, sessions) in microseconds, so that the logic of tables, images,
//! servers and sessions is tested apart from cryptography.
//!
//! All are one scheme, and a `SchemeKind` defines the special features of each:
//!
//! | scheme | servers | keys | artifact | what it tests |
//! |---|---|---|---|---|
//! | [`CLEAR`] | 1 | none | a checksum per record | hints, deltas, revisions |
//! | [`CLEAR_KEYED`] | 1 | 48 bytes | a checksum per record | keys and sessions: another session's key reads another record |
//! | [`CLEAR_STREAM`] | 1 | 48 bytes | none | keys that outlive epochs; records in units |
//! | [`CLEAR_BATCH`] | 1 | none | none | a record of each bucket by one query |
//! | [`CLEAR_HELPED`] | 1, and 1 that makes hints | none | none | hint requests, budgets that are refilled, hints that follow deltas |
//! | [`CLEAR_ROWS`] | 1 | none | the records | streams without a cache, checkpoints, states that follow deltas |
//! | [`CLEAR_STATE`] | 1 | none | the records | slots that are used up; journals, deltas, checkpoints |
//! | [`CLEAR_TWO`] | 2 | none | none | several servers; it *is* private, but larger than any practical scheme |
//!
//! | module | contents |
//! |---|---|
//! | `params` | records, units and slots, chosen and checked |
//! | `message` | the messages, and sums of records |
//! | `client` | the client: prepare, query, recover; a record of each bucket |
//! | `state` | the client's saved state |
//! | `hint_server` | hints that the second server makes |
//! | `server` | the unencoded table, and changes of it |

mod client;
pub mod hint_server;
mod message;
mod params;
mod server;
pub mod state;

use client::ClientState;
use message::{Answer, Keys, Query};
use params::ClearParams;
use server::Table;
use sotto_core::{
    Artifact, Caps, OneServer, PerServer, Scheme, SchemeEntry, SchemeId, SchemeMetadata, Section, TwoServers,
};
use std::marker::PhantomData;

/// A scheme with one server that learns the index. **No privacy at all.**
pub static CLEAR: SchemeEntry = SchemeEntry::of::<Clear<Plain>>();

/// A scheme with one server that learns the index masked with a registered key. **No privacy at
/// all.**
pub static CLEAR_KEYED: SchemeEntry = SchemeEntry::of::<Clear<Keyed>>();

/// A scheme with one server that learns the index masked with a registered key, and records of
/// several units. **No privacy at all.**
pub static CLEAR_STREAM: SchemeEntry = SchemeEntry::of::<Clear<Units>>();

/// A scheme with one server that learns a place in each bucket, and answers all of them at once.
/// **No privacy at all.**
pub static CLEAR_BATCH: SchemeEntry = SchemeEntry::of::<Clear<Buckets>>();

/// A scheme with two servers: one learns the index, the other makes hints for three lookups at a
/// time. **No privacy at all.**
pub static CLEAR_HELPED: SchemeEntry = SchemeEntry::of::<Clear<HintServerKind>>();

/// A scheme with one server that learns the index; the records are an artifact, streamed once. **No
/// privacy at all.**
pub static CLEAR_ROWS: SchemeEntry = SchemeEntry::of::<Clear<Rows>>();

/// A scheme with one server that learns the index, slots that are used up, a journal, and deltas.
/// **No privacy at all.**
pub static CLEAR_STATE: SchemeEntry = SchemeEntry::of::<Clear<Slots>>();

/// A scheme with two servers, each of which is sent a random share of the query. Private if they do
/// not collude.
pub static CLEAR_TWO: SchemeEntry = SchemeEntry::of::<Clear<Shares>>();

/// The special features of one scheme in the clear.
trait SchemeKind: Send + Sync + 'static {
    const ID: &'static str;
    const TITLE: &'static str;
    /// The servers that are sent queries. Two get shares; one learns the index.
    type Fan<T>: PerServer<T>;
    /// The artifact that clients absorb: a checksum of each record, or the records.
    const ARTIFACT: Option<Artifact> = None;
    /// Whether clients register a mask, which is added to the index.
    const KEYED: bool = false;
    /// Whether records consist of units.
    const UNITS: bool = false;
    /// Whether one query asks for a record of each bucket.
    const BUCKETS: bool = false;
    /// Whether each query uses up a slot; the parameters state the number of slots.
    const SLOTS: bool = false;
    /// Whether each query uses up a third of a hint, which a server makes on request.
    const HELPED: bool = false;
    /// Whether clients have a durable state.
    const STATE: bool = Self::SLOTS || Self::HELPED;

    /// Whether two servers get shares, see `Fan`.
    const SHARES: bool = <Self::Fan<()> as PerServer<()>>::SERVERS == 2;
    /// The section of the records.
    const RECORDS: Section = match Self::ARTIFACT {
        Some(Artifact::Rows) => Section::Public(Artifact::Rows),
        _ => Section::Resident,
    };
    /// The artifact with the delta of the changed records.
    const DELTA: Option<Artifact> = match Self::ARTIFACT {
        Some(Artifact::Hint) => Some(Artifact::HintDelta),
        _ if Self::STATE => Some(Artifact::RowsDelta),
        _ => None,
    };
}

/// The scheme in the clear of one kind.
struct Clear<K>(PhantomData<fn() -> K>);

impl<K: SchemeKind> Scheme for Clear<K> {
    const ID: SchemeId = SchemeId(K::ID);
    const METADATA: SchemeMetadata =
        SchemeMetadata { title: K::TITLE, ..SchemeMetadata::new(env!("CARGO_PKG_NAME")) };
    type Params = ClearParams<K>;
    type Fan<T> = K::Fan<T>;
    type Keys = Keys<K>;
    type Query = Query;
    type Answer = Answer;
    type Prepare = ClientState<K>;
    type Client = ClientState<K>;
    type Server = Table<K>;
    const CAPS: Caps<Self> = {
        let caps = Caps::NONE.update_image();
        let caps = if matches!(K::ARTIFACT, Some(Artifact::Hint)) { caps.patch() } else { caps };
        let caps = if K::UNITS { caps.stream() } else { caps };
        let caps = if K::BUCKETS { caps.batch() } else { caps };
        let caps = if K::STATE { caps.state() } else { caps };
        if K::HELPED { caps.hint_server() } else { caps }
    };
}

struct Plain;

impl SchemeKind for Plain {
    const ID: &'static str = "clear/1";
    const TITLE: &'static str = "No privacy: the index in the clear, for tests only";
    type Fan<T> = OneServer<T>;
    const ARTIFACT: Option<Artifact> = Some(Artifact::Hint);
}

struct Keyed;

impl SchemeKind for Keyed {
    const ID: &'static str = "clear-keyed/1";
    const TITLE: &'static str = Plain::TITLE;
    type Fan<T> = OneServer<T>;
    const ARTIFACT: Option<Artifact> = Some(Artifact::Hint);
    const KEYED: bool = true;
}

/// The kind with units. Keys without an artifact are what schemes with large keys have: such a
/// client is good for every epoch of one parameter digest.
struct Units;

impl SchemeKind for Units {
    const ID: &'static str = "clear-stream/1";
    const TITLE: &'static str = "No privacy: the index in the clear and records in units, for tests only";
    type Fan<T> = OneServer<T>;
    const KEYED: bool = true;
    const UNITS: bool = true;
}

struct Buckets;

impl SchemeKind for Buckets {
    const ID: &'static str = "clear-batch/1";
    const TITLE: &'static str = "No privacy: a place in each bucket in the clear, for tests only";
    type Fan<T> = OneServer<T>;
    const BUCKETS: bool = true;
}

struct HintServerKind;

impl SchemeKind for HintServerKind {
    const ID: &'static str = "clear-helped/1";
    const TITLE: &'static str =
        "No privacy: the index in the clear, hints from a second server, for tests only";
    type Fan<T> = OneServer<T>;
    const HELPED: bool = true;
}

struct Rows;

impl SchemeKind for Rows {
    const ID: &'static str = "clear-rows/1";
    const TITLE: &'static str = "No privacy: the index in the clear, the records streamed, for tests only";
    type Fan<T> = OneServer<T>;
    const ARTIFACT: Option<Artifact> = Some(Artifact::Rows);
    const STATE: bool = true;
}

/// The kind with slots, which queries use up as they would the hints of a private scheme.
struct Slots;

impl SchemeKind for Slots {
    const ID: &'static str = "clear-state/1";
    const TITLE: &'static str =
        "No privacy: the index in the clear, and slots that are used up, for tests only";
    type Fan<T> = OneServer<T>;
    const ARTIFACT: Option<Artifact> = Some(Artifact::Rows);
    const SLOTS: bool = true;
}

/// The kind with two servers that do not collude, each sent one share of a one-hot vector over the
/// records and answering with the sum of the records that it selects (Chor, Goldreich, Kushilevitz,
/// Sudan, FOCS 1995, section 3). Private, but a query has a bit for every record.
struct Shares;

impl SchemeKind for Shares {
    const ID: &'static str = "clear-two/1";
    const TITLE: &'static str = "Two servers, XOR shares of a one-hot vector, for tests only";
    type Fan<T> = TwoServers<T>;
}
