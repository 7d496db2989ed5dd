//! The client and its preparation: a sum of each record or of the whole table, and its open
//! queries; and a record of each bucket by one query, which has a place in each.

use super::message::{Answer, Keys, Query, UnitAnswer, add, fold, places, shares, slot_name, sum, unseal};
use super::params::{ClearParams, SUM};
use super::{Clear, SchemeKind};
use sotto_core::wire::exact;
use sotto_core::{
    Artifact, ArtifactNeed, BatchScheme, Budget, Client, CryptoRng, Error, Misuse, PatchArtifact,
    PeerMisbehaved, PerServer, Prepare, Record, RecordIndex, Result, StreamScheme, check_bucket_places,
};
use std::collections::BTreeMap;
use std::marker::PhantomData;
use zeroize::Zeroizing;

/// The entry for a query of the record with this index.
pub(super) const ASKED: u8 = 1;
/// The entry for an answer that was read, with the record's sum.
pub(super) const LEARNT: u8 = 2;
/// The entry for an answer that taught nothing, was unreadable, or was not the publisher's.
pub(super) const SETTLED: u8 = 3;
/// The entry for a hint response, with the table's sum.
pub(super) const STOCKED: u8 = 4;

/// The state of a client.
pub(super) struct ClientState<K: SchemeKind> {
    pub(super) params: ClearParams<K>,
    /// A fresh random key of each client: the mask of its session, and its name in queries.
    pub(super) key: u64,
    /// Sums of the records that came, or of the whole table after a hint response.
    pub(super) sums: Vec<u64>,
    /// The first bytes of a record whose last bytes are still to come.
    pub(super) part: Vec<u8>,
    /// The number of the next query.
    pub(super) next: u64,
    pub(super) supplies: u64,
    /// Queries by number. An answered query that taught nothing is removed.
    pub(super) known: BTreeMap<u64, OpenClearQuery>,
    pub(super) journal: Zeroizing<Vec<u8>>,
}

/// A query: the index of its record, and whether it is answered.
#[derive(Clone, Copy)]
pub(super) struct OpenClearQuery {
    pub(super) index: u64,
    pub(super) is_learnt: bool,
}

impl<K: SchemeKind> ClientState<K> {
    pub(super) fn new(params: &ClearParams<K>, key: u64) -> Self {
        let (params, journal) = (params.clone(), Zeroizing::default());
        let (sums, part, known) = (Vec::new(), Vec::new(), BTreeMap::new());
        ClientState { params, key, sums, part, next: 0, supplies: 0, known, journal }
    }

    fn mask(&self) -> u64 {
        if K::KEYED { self.key } else { 0 }
    }

    /// Bytes of the artifact whose sums the client has.
    pub(super) fn kept(&self) -> u64 {
        (self.sums.len() * self.params.artifact_each()) as u64
    }

    /// The query to one server.
    fn query_to(&self, number: u64, index: u64, rng: &mut dyn CryptoRng) -> Query {
        let len = self.params.records();
        match () {
            () if K::SLOTS => Query::of(&[self.key, number, index, rng.next_u64()]),
            () if K::HELPED => Query::of(&[index, slot_name(self.key, number)]),
            () if K::BUCKETS => Query::of(&places(&self.params, index)),
            () => Query::of(&[(index + self.mask() % len) % len]),
        }
    }

    /// Applies an entry of the journal and writes it down.
    pub(super) fn enter(&mut self, what: u8, number: u64, about: u64) -> Result<()> {
        let can_ask =
            number == self.next && about < self.params.records() && self.budget() != Budget::Left(0);
        match (what, self.known.get_mut(&number)) {
            (ASKED, None) if can_ask => {
                self.next += 1;
                self.known.insert(number, OpenClearQuery { index: about, is_learnt: false });
            }
            (LEARNT, Some(query)) if self.sums.get(query.index as usize) == Some(&about) => {
                query.is_learnt = true;
            }
            (SETTLED, Some(_)) => drop(self.known.remove(&number)),
            // Hints of other rows belong to another epoch.
            (STOCKED, _)
                if K::HELPED && number == self.supplies && self.sums.iter().all(|sum| *sum == about) =>
            {
                self.supplies += 1;
                self.sums = vec![about];
            }
            _ => return Err(malformed("an entry cannot follow")),
        }
        self.journal.push(what);
        self.journal.extend(number.to_le_bytes());
        self.journal.extend(about.to_le_bytes());
        Ok(())
    }

    /// Reads a record from its answers.
    pub(super) fn read(&self, index: u64, answers: &[Answer]) -> Result<Vec<u8>> {
        let mut record = vec![0; self.params.record_bytes()];
        for Answer { bytes, .. } in answers {
            let bytes = bytes.get(self.params.answer_at(index)..).unwrap_or_default();
            let units = (0..).zip(bytes.chunks_exact(self.params.unit_answer_bytes()));
            for ((unit, answer), to) in units.zip(record.chunks_exact_mut(self.params.unit_bytes())) {
                add(to, unseal::<K>(unit, answer)?.iter().copied());
            }
        }
        let held = self.sums.get(if K::HELPED { 0 } else { index as usize });
        if let Some(held) = held.filter(|_| K::HELPED) {
            add(&mut record, held.to_le_bytes());
        } else if K::ARTIFACT.is_some() && held != Some(&sum::<K>(&record)) {
            return Err(Error::Unreadable);
        }
        Ok(record)
    }
}

impl<K: SchemeKind> Prepare<Clear<K>> for ClientState<K> {
    fn begin(params: &ClearParams<K>, rng: &mut dyn CryptoRng) -> Result<Self> {
        Ok(ClientState::new(params, rng.next_u64()))
    }

    fn needs(&self) -> Vec<ArtifactNeed> {
        let bytes = self.params.artifact_bytes();
        K::ARTIFACT.map(|artifact| ArtifactNeed { artifact, bytes }).into_iter().collect()
    }

    fn absorb(&mut self, from: Artifact, chunk: &[u8]) -> Result<()> {
        let taken = self.kept() + self.part.len() as u64;
        if K::ARTIFACT != Some(from) || taken + chunk.len() as u64 > self.params.artifact_bytes() {
            return Err(Misuse::UnexpectedArtifact(from.name()).into());
        }
        self.part.extend(chunk);
        let each = self.params.artifact_each();
        let whole = self.part.len() / each * each;
        // A checksum folds to itself.
        self.sums.extend(self.part.drain(..whole).as_slice().chunks_exact(each).map(fold));
        Ok(())
    }

    fn finish(self) -> Result<Self> {
        let (got, need) = (self.kept() + self.part.len() as u64, self.params.artifact_bytes());
        match K::ARTIFACT.filter(|_| got != need) {
            Some(artifact) => Err(Misuse::NotPrepared { artifact: artifact.name(), got, need }.into()),
            None => Ok(self),
        }
    }
}

pub(super) fn malformed(why: &str) -> Error {
    PeerMisbehaved::Malformed { what: "client state", why: why.into() }.into()
}

/// The secret of a query that waits for its answer.
pub(super) struct Pending<K> {
    pub(super) number: u64,
    pub(super) index: u64,
    kind: PhantomData<fn() -> K>,
}

impl<K> Pending<K> {
    pub(super) fn new(number: u64, index: u64) -> Self {
        Pending { number, index, kind: PhantomData }
    }
}

impl<K: SchemeKind> Client<Clear<K>> for ClientState<K> {
    type Pending = Pending<K>;

    fn keys(&self) -> Keys<K> {
        Keys::new(self.mask())
    }

    fn query(
        &mut self,
        RecordIndex(index): RecordIndex,
        rng: &mut dyn CryptoRng,
    ) -> Result<(K::Fan<Query>, Pending<K>)> {
        let len = self.params.records();
        if index >= len {
            return Err(Misuse::IndexPastEnd { index, len }.into());
        }
        if let none @ Budget::Left(0) = self.budget() {
            return Err(Error::Exhausted(none));
        }
        let number = self.next;
        if K::STATE {
            self.enter(ASKED, number, index)?;
        }
        let queries = match K::SHARES {
            true => shares(&self.params, index, rng),
            false => vec![self.query_to(number, index, rng)],
        };
        let queries =
            <K::Fan<Query>>::from_vec(queries).ok_or(Misuse::Rule("there is a query for each server"))?;
        Ok((queries, Pending::new(number, index)))
    }

    fn recover(&mut self, pending: Pending<K>, answers: K::Fan<Answer>) -> Result<Record> {
        let Pending { number, mut index, .. } = pending;
        if K::STATE {
            index = self.known.get(&number).ok_or(Misuse::ForeignValue("pending query"))?.index;
        }
        let read = self.read(index, &answers.into_vec());
        match &read {
            _ if !K::STATE => {}
            Ok(record) if K::SLOTS => self.enter(LEARNT, number, fold(record))?,
            _ => self.enter(SETTLED, number, 0)?,
        }
        read.map(Record::new)
    }

    fn budget(&self) -> Budget {
        let most = self.params.most_queries(self.supplies);
        most.map_or(Budget::Unlimited, |most| Budget::Left(most.saturating_sub(self.next)))
    }
}

impl<K: SchemeKind> StreamScheme for Clear<K> {
    type UnitAnswer = UnitAnswer;

    fn units(params: &ClearParams<K>) -> u64 {
        params.units()
    }

    fn unit_bytes(params: &ClearParams<K>) -> usize {
        params.unit_bytes()
    }

    fn recover_unit(_: &mut ClientState<K>, _: &Pending<K>, unit: u64, answer: UnitAnswer) -> Result<Record> {
        Ok(Record::new(unseal::<K>(unit, &answer.bytes)?.to_vec()))
    }
}

/// A delta of hints has the index (u64, little-endian) and the new checksum of each changed record.
impl<K: SchemeKind> PatchArtifact for Clear<K> {
    fn patch(params: &ClearParams<K>, artifact: Artifact, held: &mut [u8], delta: &[u8]) -> Result<()> {
        if artifact != Artifact::Hint {
            return Err(Misuse::UnexpectedArtifact(artifact.name()).into());
        }
        exact("hint", held, params.records() as usize * SUM)?;
        let (entries, rest) = delta.as_chunks::<{ 8 + SUM }>();
        exact("hint delta", delta, delta.len() - rest.len())?;
        let (sums, _) = held.as_chunks_mut::<SUM>();
        for [a, b, c, d, e, f, g, h, new @ ..] in entries {
            let record = u64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h]);
            let old = usize::try_from(record).ok().and_then(|record| sums.get_mut(record));
            *old.ok_or(PeerMisbehaved::NotCanonical("record index in a hint delta"))? = *new;
        }
        Ok(())
    }
}

impl<K: SchemeKind> BatchScheme for Clear<K> {
    fn buckets(params: &ClearParams<K>) -> u64 {
        params.buckets()
    }

    fn query_buckets(
        client: &mut ClientState<K>,
        places: &[u64],
        _: &mut dyn CryptoRng,
    ) -> Result<(K::Fan<Query>, Pending<K>)> {
        check_bucket_places(places, client.params.buckets(), client.params.bucket_records())?;
        let rule = Misuse::Rule("there is a query for each server");
        let queries = <K::Fan<Query>>::from_vec(vec![Query::of(places)]).ok_or(rule)?;
        Ok((queries, Pending::new(client.next, 0)))
    }

    fn recover_buckets(
        client: &mut ClientState<K>,
        _: Pending<K>,
        answers: K::Fan<Answer>,
    ) -> Result<Vec<Record>> {
        let (answers, each) = (answers.into_vec(), client.params.bucket_records());
        let read = |bucket| client.read(bucket * each, &answers).map(Record::new);
        (0..client.params.buckets()).map(read).collect()
    }
}
