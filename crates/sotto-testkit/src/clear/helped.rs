//! Two servers: the first is told the index, the second makes hints. A hint is good for nothing but to be used up, so what
//! is tested with it is how hints are ordered, stocked, written down and spent.
//!
//! ```text
//! client, and each entry of its journal:   u64 hints in stock | u64 supplies taken | u64 queries made
//! order:                                   u64 number, from 0
//! supply:                                  u64 number of its order | u64 sum of the table's bytes
//! ```

use super::params::{ClearParams, Flavour, Literal, resident, same_shape};
use sotto_core::wire::exact;
use sotto_core::{
    Budget, Client, Costs, CryptoRng, Error, Image, Misuse, One, PeerMisbehaved, Prepare, Record,
    RecordIndex, Result, Rows, Scheme, SchemeEntry, SchemeId, Section, Security, Serve, Server, Sink,
    Stateful, Supplier, Upkeep, Wire,
};
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use zeroize::Zeroizing;

/// Two servers: one is told the index, the other makes hints for three lookups at a time. **No privacy at all.**
pub static CLEAR_HELPED: SchemeEntry = SchemeEntry::new::<Helped>().with_upkeep::<Helped>();

/// Lookups that one supply lasts for.
const LASTS: u64 = 3;

struct Helped;

type P = ClearParams<Helped>;

impl Flavour for Helped {
    fn costs(literal: &Literal) -> Costs {
        let table = literal.records * literal.record_bytes;
        Costs {
            query_bytes: 8,
            answer_bytes: literal.record_bytes,
            server_ops: 1,
            resident_bytes: table,
            client_bytes: 24,
            ..Costs::default()
        }
    }

    fn security() -> Security {
        let model = "none at all: a test double claims what the gate asks for".into();
        Security { bits: f64::INFINITY, model }
    }
}

impl Scheme for Helped {
    const ID: SchemeId = SchemeId("clear-helped/1");
    const TITLE: &'static str =
        "No privacy: the index in the clear, hints from a second server, for tests only";
    type Params = P;
    type Fan<T> = One<T>;
    type Keys = ();
    type Query = Query;
    type Answer = Answer;
    type Prepare = Stock;
    type Client = Stock;
}

/// Words of eight bytes.
fn words<const N: usize>(what: &'static str, bytes: &[u8]) -> Result<[u64; N]> {
    exact(what, bytes, 8 * N)?;
    let mut words = [0; N];
    words.iter_mut().zip(bytes.as_chunks().0).for_each(|(word, bytes)| *word = u64::from_le_bytes(*bytes));
    Ok(words)
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
        match words("query", bytes)? {
            [index] if index < params.records() => Ok(Query(index)),
            _ => Err(PeerMisbehaved::NotCanonical("query").into()),
        }
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

/// The number of an order.
struct Order(u64);

impl Wire<P> for Order {
    fn size(_: &P) -> usize {
        8
    }
    fn put(&self, _: &P, out: &mut Vec<u8>) {
        out.extend(self.0.to_le_bytes());
    }
    fn take(_: &P, bytes: &[u8]) -> Result<Self> {
        match words("order", bytes)? {
            [u64::MAX] => Err(PeerMisbehaved::NotCanonical("order").into()),
            [number] => Ok(Order(number)),
        }
    }
}

/// The number of its order, and the sum of the table's bytes.
struct Supply([u64; 2]);

impl Wire<P> for Supply {
    fn size(_: &P) -> usize {
        16
    }
    fn put(&self, _: &P, out: &mut Vec<u8>) {
        self.0.iter().for_each(|word| out.extend(word.to_le_bytes()));
    }
    fn take(_: &P, bytes: &[u8]) -> Result<Self> {
        Ok(Supply(words("supply", bytes)?))
    }
}

/// A client.
struct Stock {
    params: P,
    left: u64,
    supplies: u64,
    asked: u64,
    changed: bool,
}

impl Stock {
    fn state(&self) -> Vec<u8> {
        [self.left, self.supplies, self.asked].into_iter().flat_map(u64::to_le_bytes).collect()
    }

    fn set(&mut self, state: &[u8]) -> Result<()> {
        let [left, supplies, asked] = words("state", state)?;
        if left.checked_add(asked) != supplies.checked_mul(LASTS) {
            return Err(PeerMisbehaved::NotCanonical("state").into());
        }
        (self.left, self.supplies, self.asked, self.changed) = (left, supplies, asked, false);
        Ok(())
    }
}

impl Prepare<Helped> for Stock {
    fn begin(params: &P, _: &mut dyn CryptoRng) -> Result<Self> {
        Ok(Stock { params: params.clone(), left: 0, supplies: 0, asked: 0, changed: false })
    }
    fn finish(self) -> Result<Stock> {
        Ok(self)
    }
}

/// A query, by its number.
struct Asked(u64);

impl Client<Helped> for Stock {
    type Pending = Asked;

    fn keys(&self) {}

    fn query(&mut self, index: RecordIndex, _: &mut dyn CryptoRng) -> Result<(One<Query>, Asked)> {
        let len = self.params.records();
        if index.0 >= len {
            return Err(Misuse::IndexPastEnd { index: index.0, len }.into());
        }
        self.left = self.left.checked_sub(1).ok_or(Error::Exhausted(Budget::Left(0)))?;
        self.asked += 1;
        self.changed = true;
        Ok((One(Query(index.0)), Asked(self.asked)))
    }

    fn recover(&mut self, _: Asked, One(answer): One<Answer>) -> Result<Record> {
        Ok(Record::new(answer.0))
    }

    fn budget(&self) -> Budget {
        Budget::Left(self.left)
    }
}

impl Stateful for Helped {
    fn save(_: &P, client: &Stock, out: &mut dyn Write) -> Result<()> {
        Ok(out.write_all(&client.state())?)
    }

    fn load(params: &P, from: &mut dyn Read) -> Result<Stock> {
        let mut state = [0; 24];
        from.read_exact(&mut state).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => PeerMisbehaved::NotCanonical("state").into(),
            _ => Error::from(error),
        })?;
        let mut client = Stock { params: params.clone(), left: 0, supplies: 0, asked: 0, changed: false };
        client.set(&state)?;
        Ok(client)
    }

    fn journal(client: &mut Stock) -> Zeroizing<Vec<u8>> {
        let changed = std::mem::take(&mut client.changed);
        Zeroizing::new(if changed { client.state() } else { Vec::new() })
    }

    fn replay(client: &mut Stock, entry: &[u8]) -> Result<()> {
        client.set(entry)
    }

    fn number(pending: &Asked) -> u64 {
        pending.0
    }

    fn reopen(client: &mut Stock, number: u64) -> Result<Asked> {
        let made = (1..=client.asked).contains(&number);
        made.then_some(Asked(number)).ok_or(Misuse::Foreign("number").into())
    }

    fn reject(_: &mut Stock, _: u64) {}

    fn follow(_: &mut Stock, _: &[u8]) -> Result<()> {
        Ok(())
    }

    fn checkpoint(_: &P, prepare: &Stock, out: &mut dyn Write) -> Result<()> {
        Ok(out.write_all(&prepare.state())?)
    }

    fn resume(params: &P, from: &mut dyn Read) -> Result<Stock> {
        Self::load(params, from)
    }

    fn kept(_: &Stock) -> u64 {
        0
    }
}

impl Upkeep for Helped {
    const HELPER: usize = 1;
    type Order = Order;
    type Supply = Supply;

    fn order(client: &mut Stock) -> Result<Option<Order>> {
        Ok((client.left < LASTS).then_some(Order(client.supplies)))
    }

    fn stock(client: &mut Stock, Supply([number, _]): Supply) -> Result<()> {
        if number != client.supplies {
            return Err(PeerMisbehaved::NotCanonical("supply").into());
        }
        client.supplies += 1;
        client.left += LASTS;
        client.changed = true;
        Ok(())
    }
}

impl Serve for Helped {
    type Server = Table;
}

/// A server: the table as it is.
struct Table {
    params: P,
    image: Arc<dyn Image>,
}

impl Server<Helped> for Table {
    type Session = ();

    fn encode(params: &P, rows: &dyn Rows, out: &dyn Sink) -> Result<()> {
        same_shape(params, rows)?;
        out.reserve(Section::Resident, params.table_bytes())?;
        let mut record = vec![0; params.record_bytes()];
        for index in 0..params.records() {
            rows.read(index, &mut record)?;
            out.write_at(Section::Resident, index * record.len() as u64, &record)?;
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

    fn answer(&self, (): &(), query: Query) -> Result<Answer> {
        let table = resident(&self.params, self.image.as_ref())?;
        let record = table.chunks_exact(self.params.record_bytes()).nth(query.0 as usize);
        Ok(Answer(record.unwrap_or_default().to_vec()))
    }
}

impl Supplier for Helped {
    fn supply(server: &Table, Order(number): Order) -> Result<Supply> {
        let table = resident(&server.params, server.image.as_ref())?;
        Ok(Supply([number, table.iter().map(|byte| u64::from(*byte)).sum()]))
    }
}
