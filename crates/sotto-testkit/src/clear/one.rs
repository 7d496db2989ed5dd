//! One server, which is told the index: at once, or masked with a key it was given beforehand.

use super::hint::{self, SUM};
use super::params::{ClearParams, Flavour, Literal};
use sotto_core::wire::exact;
use sotto_core::{
    Artifact, ArtifactNeed, Caps, Change, Client, Costs, CryptoRng, Error, Image, Misuse, One, Patch,
    PeerMisbehaved, Prepare, Record, RecordIndex, Result, Revise, Rows, Scheme, SchemeEntry, SchemeId,
    Section, Security, Server, Sink, Wire,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// One server, told the index. **No privacy at all.**
pub static CLEAR: SchemeEntry = SchemeEntry::of::<Clear<false>>();

/// One server, told the index masked with a registered key. **No privacy at all.**
pub static CLEAR_KEYED: SchemeEntry = SchemeEntry::of::<Clear<true>>();

/// The scheme; `KEYED` or not.
struct Clear<const KEYED: bool>;

type P<const KEYED: bool> = ClearParams<Clear<KEYED>>;

/// Eight bytes of mask, and forty that prove that keys were not damaged on the way.
pub(super) const KEY_BYTES: usize = 48;

impl<const KEYED: bool> Flavour for Clear<KEYED> {
    fn costs(literal: &Literal) -> Costs {
        let artifact_bytes = literal.records * SUM as u64;
        Costs {
            artifact_bytes,
            keys_bytes: if KEYED { KEY_BYTES as u64 } else { 0 },
            query_bytes: 8,
            answer_bytes: literal.record_bytes,
            server_ops: 1,
            client_ops: 1,
            resident_bytes: literal.records * literal.record_bytes + artifact_bytes,
            ..Costs::default()
        }
    }

    /// A stand-in claims what it stands in for: servers and clients gate what they are told here, and
    /// the tests of what lies behind that gate are what this scheme is for.
    fn security() -> Security {
        Security {
            bits: f64::INFINITY,
            model: "none at all: a test double claims what the gate asks for".into(),
        }
    }
}

impl<const KEYED: bool> Scheme for Clear<KEYED> {
    const ID: SchemeId = SchemeId(if KEYED { "clear-keyed/1" } else { "clear/1" });
    const TITLE: &'static str = "No privacy: the index in the clear, for tests only";
    type Params = P<KEYED>;
    type Fan<T> = One<T>;
    type Keys = Keys;
    type Query = Query;
    type Answer = Answer;
    type Prepare = Preparing<KEYED>;
    type Client = Ready<KEYED>;
    type Server = Table<KEYED>;
    const CAPS: Caps<Self> = Caps::NONE.patch().revise();
}

/// The mask of a session; zero without keys.
pub(super) struct Keys(pub(super) u64);

impl Keys {
    pub(super) fn put_proven(&self, out: &mut Vec<u8>) {
        out.extend(self.0.to_le_bytes());
        out.extend(proof(self.0));
    }

    pub(super) fn take_proven(bytes: &[u8]) -> Result<Self> {
        exact("keys", bytes, KEY_BYTES)?;
        let mask = bytes.first_chunk().map(|mask| u64::from_le_bytes(*mask)).unwrap_or_default();
        if bytes.get(8..) != Some(&proof(mask)) {
            return Err(PeerMisbehaved::NotCanonical("keys").into());
        }
        Ok(Keys(mask))
    }
}

impl<const KEYED: bool> Wire<P<KEYED>> for Keys {
    fn size(_: &P<KEYED>) -> usize {
        if KEYED { KEY_BYTES } else { 0 }
    }

    fn put(&self, _: &P<KEYED>, out: &mut Vec<u8>) {
        if KEYED {
            self.put_proven(out);
        }
    }

    fn take(_: &P<KEYED>, bytes: &[u8]) -> Result<Self> {
        if !KEYED {
            exact("keys", bytes, 0)?;
            return Ok(Keys(0));
        }
        Keys::take_proven(bytes)
    }
}

fn proof(mask: u64) -> [u8; KEY_BYTES - 8] {
    let mut proof = [0; KEY_BYTES - 8];
    blake3::Hasher::new().update(&mask.to_le_bytes()).finalize_xof().fill(&mut proof);
    proof
}

/// The index plus the mask, modulo the number of records.
struct Query(u64);

impl<const KEYED: bool> Wire<P<KEYED>> for Query {
    fn size(_: &P<KEYED>) -> usize {
        8
    }

    fn put(&self, _: &P<KEYED>, out: &mut Vec<u8>) {
        out.extend(self.0.to_le_bytes());
    }

    fn take(params: &P<KEYED>, bytes: &[u8]) -> Result<Self> {
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

impl<const KEYED: bool> Wire<P<KEYED>> for Answer {
    fn size(params: &P<KEYED>) -> usize {
        params.record_bytes()
    }

    fn put(&self, _: &P<KEYED>, out: &mut Vec<u8>) {
        out.extend(&self.0);
    }

    fn take(params: &P<KEYED>, bytes: &[u8]) -> Result<Self> {
        exact("answer", bytes, params.record_bytes())?;
        Ok(Answer(bytes.to_vec()))
    }
}

/// A client that waits for its hint.
struct Preparing<const KEYED: bool> {
    params: P<KEYED>,
    mask: u64,
    hint: Vec<u8>,
}

impl<const KEYED: bool> Preparing<KEYED> {
    fn hint_bytes(&self) -> u64 {
        self.params.records() * SUM as u64
    }
}

impl<const KEYED: bool> Prepare<Clear<KEYED>> for Preparing<KEYED> {
    fn begin(params: &P<KEYED>, rng: &mut dyn CryptoRng) -> Result<Self> {
        let mask = if KEYED { rng.next_u64() } else { 0 };
        Ok(Preparing { params: params.clone(), mask, hint: Vec::new() })
    }

    fn needs(&self) -> Vec<ArtifactNeed> {
        vec![ArtifactNeed { artifact: Artifact::Hint, bytes: self.hint_bytes() }]
    }

    fn absorb(&mut self, from: Artifact, chunk: &[u8]) -> Result<()> {
        let len = (self.hint.len() + chunk.len()) as u64;
        if from != Artifact::Hint || len > self.hint_bytes() {
            return Err(Misuse::UnexpectedArtifact(from.name()).into());
        }
        self.hint.extend(chunk);
        Ok(())
    }

    fn finish(self) -> Result<Ready<KEYED>> {
        let (got, need) = (self.hint.len() as u64, self.hint_bytes());
        if got != need {
            return Err(Misuse::NotPrepared { artifact: Artifact::Hint.name(), got, need }.into());
        }
        Ok(Ready(self))
    }
}

/// A client.
struct Ready<const KEYED: bool>(Preparing<KEYED>);

impl<const KEYED: bool> Client<Clear<KEYED>> for Ready<KEYED> {
    type Pending = RecordIndex;

    fn keys(&self) -> Keys {
        Keys(self.0.mask)
    }

    fn query(&mut self, index: RecordIndex, _: &mut dyn CryptoRng) -> Result<(One<Query>, RecordIndex)> {
        let len = self.0.params.records();
        if index.0 >= len {
            return Err(Misuse::IndexPastEnd { index: index.0, len }.into());
        }
        Ok((One(Query((index.0 + self.0.mask % len) % len)), index))
    }

    fn recover(&mut self, pending: RecordIndex, One(answer): One<Answer>) -> Result<Record> {
        let (sums, _) = self.0.hint.as_chunks::<SUM>();
        if sums.get(pending.0 as usize) != Some(&hint::sum(&answer.0)) {
            return Err(Error::Unreadable);
        }
        Ok(Record::new(answer.0))
    }
}

impl<const KEYED: bool> Patch for Clear<KEYED> {
    fn patch(params: &P<KEYED>, artifact: Artifact, held: &mut [u8], delta: &[u8]) -> Result<()> {
        if artifact != Artifact::Hint {
            return Err(Misuse::UnexpectedArtifact(artifact.name()).into());
        }
        exact("hint", held, params.records() as usize * SUM)?;
        hint::patch(held, delta)
    }
}

/// A server: the table as it is.
struct Table<const KEYED: bool> {
    params: P<KEYED>,
    image: Arc<dyn Image>,
}

const HINT: Section = Section::Public(Artifact::Hint);
const DELTA: Section = Section::Public(Artifact::HintDelta);

impl<const KEYED: bool> Server<Clear<KEYED>> for Table<KEYED> {
    type Session = Keys;

    fn encode(params: &P<KEYED>, rows: &dyn Rows, out: &dyn Sink) -> Result<()> {
        super::params::same_shape(params, rows)?;
        out.reserve(Section::Resident, params.table_bytes())?;
        out.reserve(HINT, params.records() * SUM as u64)?;
        let mut record = vec![0; params.record_bytes()];
        for index in 0..params.records() {
            rows.read(index, &mut record)?;
            out.write_at(Section::Resident, index * record.len() as u64, &record)?;
            out.write_at(HINT, index * SUM as u64, &hint::sum(&record))?;
            out.progress("copying records", index + 1, params.records());
        }
        Ok(())
    }

    fn open(params: &P<KEYED>, image: Arc<dyn Image>) -> Result<Self> {
        super::params::resident(params, image.as_ref())?;
        Ok(Table { params: params.clone(), image })
    }

    fn admit(&self, keys: Keys) -> Result<Keys> {
        Ok(keys)
    }

    fn answer_many(&self, asks: Vec<(&Keys, Query)>) -> Vec<Result<Answer>> {
        asks.into_iter().map(|(session, query)| self.one(session, query)).collect()
    }
}

impl<const KEYED: bool> Table<KEYED> {
    fn one(&self, session: &Keys, query: Query) -> Result<Answer> {
        let (records, bytes) = (self.params.records(), self.params.record_bytes());
        let index = (query.0 + records - session.0 % records) % records;
        let table = super::params::resident(&self.params, self.image.as_ref())?;
        let record = table.chunks_exact(bytes).nth(index as usize).unwrap_or_default();
        Ok(Answer(record.to_vec()))
    }
}

impl<const KEYED: bool> Revise for Clear<KEYED> {
    fn revise(params: &P<KEYED>, changes: &[Change], out: &dyn Sink) -> Result<()> {
        let bytes = params.record_bytes() as u64;
        for change in changes {
            let end = change.offset.saturating_add(change.bytes.len() as u64);
            if change.record >= params.records() || end > bytes {
                return Err(Misuse::IndexPastEnd { index: change.record, len: params.records() }.into());
            }
            out.write_at(Section::Resident, change.record * bytes + change.offset, &change.bytes)?;
        }
        let changed: BTreeSet<u64> = changes.iter().map(|change| change.record).collect();
        let mut delta = Vec::new();
        let mut record = vec![0; params.record_bytes()];
        for index in changed {
            out.read_at(Section::Resident, index * bytes, &mut record)?;
            let sum = hint::sum(&record);
            out.write_at(HINT, index * SUM as u64, &sum)?;
            delta.extend(hint::entry(index, sum));
        }
        out.reserve(DELTA, delta.len() as u64)?;
        out.write_at(DELTA, 0, &delta)
    }
}
