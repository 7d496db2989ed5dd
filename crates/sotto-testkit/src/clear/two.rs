//! Two servers that do not collude, each sent one share of a one-hot vector over the records and
//! answering with the sum of the records it selects (Chor, Goldreich, Kushilevitz, Sudan, FOCS 1995,
//! section 3). Private, but a query is as long as the table has records.

use super::params::{ClearParams, Flavour, Literal, resident, same_shape};
use sotto_core::wire::exact;
use sotto_core::{
    Caps, Change, Client, Costs, CryptoRng, Image, Misuse, PeerMisbehaved, Prepare, Record, RecordIndex,
    Result, Revise, Rows, Scheme, SchemeEntry, SchemeId, Section, Security, Server, Sink, Two, Wire,
};
use std::sync::Arc;

/// Two servers, each sent a random half of the question. Private if they do not collude.
pub static CLEAR_TWO: SchemeEntry = SchemeEntry::of::<Shares>();

/// The scheme.
struct Shares;

type P = ClearParams<Shares>;

impl Flavour for Shares {
    fn costs(literal: &Literal) -> Costs {
        let table = literal.records * literal.record_bytes;
        Costs {
            artifact_bytes: 0,
            keys_bytes: 0,
            query_bytes: literal.records.div_ceil(8),
            answer_bytes: literal.record_bytes,
            server_ops: table,
            client_ops: 2 * literal.records.div_ceil(8),
            resident_bytes: table,
            ..Costs::default()
        }
    }

    fn security() -> Security {
        Security { bits: f64::INFINITY, model: "information-theoretic, if the servers do not collude".into() }
    }
}

impl Scheme for Shares {
    const ID: SchemeId = SchemeId("clear-two/1");
    const TITLE: &'static str = "Two servers, XOR shares of a one-hot vector, for tests only";
    type Params = P;
    type Fan<T> = Two<T>;
    type Keys = ();
    type Query = Query;
    type Answer = Answer;
    type Prepare = Shared;
    type Client = Shared;
    type Server = Table;
    const CAPS: Caps<Self> = Caps::NONE.revise();
}

/// One bit per record, lowest bit first.
struct Query(Vec<u8>);

/// The bits of the last byte that stand for no record.
fn padding(params: &P) -> u8 {
    match params.records() % 8 {
        0 => 0,
        used => 0xFF << used,
    }
}

impl Wire<P> for Query {
    fn size(params: &P) -> usize {
        params.records().div_ceil(8) as usize
    }

    fn put(&self, _: &P, out: &mut Vec<u8>) {
        out.extend(&self.0);
    }

    fn take(params: &P, bytes: &[u8]) -> Result<Self> {
        exact("query", bytes, Self::size(params))?;
        if bytes.last().is_some_and(|last| last & padding(params) != 0) {
            return Err(PeerMisbehaved::NotCanonical("query").into());
        }
        Ok(Query(bytes.to_vec()))
    }
}

/// The exclusive or of the records asked for.
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

/// A client, which needs nothing but the parameters.
struct Shared(P);

impl Prepare<Shares> for Shared {
    fn begin(params: &P, _: &mut dyn CryptoRng) -> Result<Self> {
        Ok(Shared(params.clone()))
    }

    fn finish(self) -> Result<Shared> {
        Ok(self)
    }
}

impl Client<Shares> for Shared {
    /// Nothing: the two answers together are the record.
    type Pending = ();

    fn keys(&self) {}

    fn query(&mut self, index: RecordIndex, rng: &mut dyn CryptoRng) -> Result<(Two<Query>, ())> {
        let params = &self.0;
        if index.0 >= params.records() {
            return Err(Misuse::IndexPastEnd { index: index.0, len: params.records() }.into());
        }
        let mut first = vec![0; Query::size(params)];
        rng.fill_bytes(&mut first);
        if let Some(last) = first.last_mut() {
            *last &= !padding(params);
        }
        let mut second = first.clone();
        if let Some(byte) = second.get_mut((index.0 / 8) as usize) {
            *byte ^= 1 << (index.0 % 8);
        }
        Ok((Two(Query(first), Query(second)), ()))
    }

    fn recover(&mut self, (): (), Two(first, second): Two<Answer>) -> Result<Record> {
        Ok(Record::new(first.0.iter().zip(&second.0).map(|(a, b)| a ^ b).collect()))
    }
}

/// A server: the table as it is.
struct Table {
    params: P,
    image: Arc<dyn Image>,
}

impl Server<Shares> for Table {
    type Session = ();

    fn encode(params: &P, rows: &dyn Rows, out: &dyn Sink) -> Result<()> {
        same_shape(params, rows)?;
        out.reserve(Section::Resident, params.table_bytes())?;
        let mut record = vec![0; params.record_bytes()];
        for index in 0..params.records() {
            rows.read(index, &mut record)?;
            out.write_at(Section::Resident, index * record.len() as u64, &record)?;
            out.progress("copying records", index + 1, params.records());
        }
        Ok(())
    }

    fn open(params: &P, image: Arc<dyn Image>) -> Result<Self> {
        resident(params, image.as_ref())?;
        Ok(Table { params: params.clone(), image })
    }

    fn admit(&self, (): ()) -> Result<()> {
        Ok(())
    }

    fn answer_many(&self, asks: Vec<(&(), Query)>) -> Vec<Result<Answer>> {
        asks.into_iter().map(|((), query)| self.one(query)).collect()
    }
}

impl Table {
    fn one(&self, query: Query) -> Result<Answer> {
        let mut sum = vec![0; self.params.record_bytes()];
        let table = resident(&self.params, self.image.as_ref())?;
        for (index, record) in table.chunks_exact(sum.len()).enumerate() {
            let bit = query.0.get(index / 8).map_or(0, |byte| byte >> (index % 8) & 1);
            let mask = 0u8.wrapping_sub(bit);
            sum.iter_mut().zip(record).for_each(|(sum, byte)| *sum ^= byte & mask);
        }
        Ok(Answer(sum))
    }
}

impl Revise for Shares {
    fn revise(params: &P, changes: &[Change], out: &dyn Sink) -> Result<()> {
        let bytes = params.record_bytes() as u64;
        for change in changes {
            let end = change.offset.saturating_add(change.bytes.len() as u64);
            if change.record >= params.records() || end > bytes {
                return Err(Misuse::IndexPastEnd { index: change.record, len: params.records() }.into());
            }
            out.write_at(Section::Resident, change.record * bytes + change.offset, &change.bytes)?;
        }
        Ok(())
    }
}
