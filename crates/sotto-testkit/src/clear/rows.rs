//! One server, which is told the index; the client streams all records once and keeps eight bytes of each.
//!
//! | module | what lives there |
//! |---|---|
//! | `client` | what is streamed, kept, written down and read back |
//! | `server` | records that lie where clients fetch them, and what changed in them |

mod client;
mod server;

use super::params::{ClearParams, Flavour, Literal};
use client::{Kept, Streaming};
use server::Table;
use sotto_core::wire::exact;
use sotto_core::{
    Artifact, Caps, Costs, One, PeerMisbehaved, Result, Scheme, SchemeEntry, SchemeId, Section, Security,
    Wire,
};

/// One server, told the index; the records are an artifact, streamed once. **No privacy at all.**
pub static CLEAR_ROWS: SchemeEntry = SchemeEntry::of::<Streamed>();

/// The scheme.
struct Streamed;

type P = ClearParams<Streamed>;

/// Where the records lie, for server and clients alike.
const ROWS: Section = Section::Public(Artifact::Rows);
const DELTA: Section = Section::Public(Artifact::RowsDelta);

/// Bytes a client keeps of a record.
const FOLD: usize = 8;

impl Flavour for Streamed {
    fn costs(literal: &Literal) -> Costs {
        let table = literal.records * literal.record_bytes;
        Costs {
            artifact_bytes: table,
            query_bytes: 8,
            answer_bytes: literal.record_bytes,
            server_ops: 1,
            client_ops: 1,
            resident_bytes: table,
            client_bytes: literal.records * FOLD as u64,
            ..Costs::default()
        }
    }

    fn security() -> Security {
        Security {
            bits: f64::INFINITY,
            model: "none at all: a test double claims what the gate asks for".into(),
        }
    }
}

impl Scheme for Streamed {
    const ID: SchemeId = SchemeId("clear-rows/1");
    const TITLE: &'static str = "No privacy: the index in the clear, the records streamed, for tests only";
    type Params = P;
    type Fan<T> = One<T>;
    type Keys = ();
    type Query = Query;
    type Answer = Answer;
    type Prepare = Streaming;
    type Client = Kept;
    type Server = Table;
    const CAPS: Caps<Self> = Caps::NONE.revise().state();
}

/// The index.
struct Query(u64);

impl Wire<P> for Query {
    fn size(_: &P) -> usize {
        8
    }

    fn put(&self, _: &P, out: &mut Vec<u8>) {
        out.extend(self.0.to_le_bytes());
    }

    fn take(params: &P, bytes: &[u8]) -> Result<Self> {
        exact("query", bytes, 8)?;
        let index = bytes.first_chunk().map(|index| u64::from_le_bytes(*index)).unwrap_or_default();
        if index >= params.records() {
            return Err(PeerMisbehaved::NotCanonical("query").into());
        }
        Ok(Query(index))
    }
}

/// The record.
struct Answer(Vec<u8>);

impl Wire<P> for Answer {
    fn size(params: &P) -> usize {
        params.record_bytes()
    }

    fn put(&self, _: &P, out: &mut Vec<u8>) {
        out.extend(&self.0);
    }

    fn take(params: &P, bytes: &[u8]) -> Result<Self> {
        exact("answer", bytes, params.record_bytes())?;
        Ok(Answer(bytes.to_vec()))
    }
}

/// The exclusive or of a record's words: what changes in a record changes its fold by the fold of the change.
fn fold(record: &[u8]) -> [u8; FOLD] {
    let mut sum = [0; FOLD];
    for word in record.chunks(FOLD) {
        sum.iter_mut().zip(word).for_each(|(sum, byte)| *sum ^= byte);
    }
    sum
}
