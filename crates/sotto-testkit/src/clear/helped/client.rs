//! The client: how many hints it has in stock, and the sum of the table, which is all there is to any of them. Each
//! entry of its journal is the whole of it.

use super::message::{Answer, Order, Query, Supply, name, words};
use super::{Helped, LASTS, P, STATE_BYTES, mask, sum};
use sotto_core::{
    Budget, Client, CryptoRng, Error, Misuse, One, PeerMisbehaved, Prepare, Record, RecordIndex, Result,
    Stateful, Upkeep,
};
use std::io::{ErrorKind, Read, Write};
use zeroize::Zeroizing;

/// A client, from its preparation on.
pub(super) struct Stock {
    params: P,
    /// Drawn afresh for each, 31 bits.
    client: u64,
    left: u64,
    supplies: u64,
    asked: u64,
    sum: u64,
    changed: bool,
}

impl Stock {
    fn new(params: &P, client: u64) -> Self {
        let params = params.clone();
        Stock { params, client, left: 0, supplies: 0, asked: 0, sum: 0, changed: false }
    }

    fn state(&self) -> Vec<u8> {
        let Stock { client, left, supplies, asked, sum, .. } = *self;
        [client, left, supplies, asked, sum].into_iter().flat_map(u64::to_le_bytes).collect()
    }

    fn set(&mut self, state: &[u8]) -> Result<()> {
        let [client, left, supplies, asked, sum] = words("state", state)?;
        if left.checked_add(asked) != supplies.checked_mul(LASTS) {
            return Err(PeerMisbehaved::NotCanonical("state").into());
        }
        (self.client, self.left, self.supplies, self.asked, self.sum) = (client, left, supplies, asked, sum);
        self.changed = false;
        Ok(())
    }
}

impl Prepare<Helped> for Stock {
    fn begin(params: &P, rng: &mut dyn CryptoRng) -> Result<Self> {
        Ok(Stock::new(params, u64::from(rng.next_u32() >> 1)))
    }
    fn finish(self) -> Result<Stock> {
        Ok(self)
    }
}

/// A query, by its number.
pub(super) struct Asked(u64);

impl Client<Helped> for Stock {
    type Pending = Asked;

    fn keys(&self) {}

    fn query(&mut self, index: RecordIndex, _: &mut dyn CryptoRng) -> Result<(One<Query>, Asked)> {
        let len = self.params.records();
        if index.0 >= len {
            return Err(Misuse::IndexPastEnd { index: index.0, len }.into());
        }
        self.left = self.left.checked_sub(1).ok_or(Error::Exhausted(Budget::Left(0)))?;
        let slot = name(self.client, self.asked);
        self.asked += 1;
        self.changed = true;
        Ok((One(Query { index: index.0, slot }), Asked(self.asked)))
    }

    fn recover(&mut self, _: Asked, One(Answer(mut record)): One<Answer>) -> Result<Record> {
        mask(&mut record, self.sum);
        Ok(Record::new(record))
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
        let mut state = [0; STATE_BYTES];
        from.read_exact(&mut state).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => PeerMisbehaved::NotCanonical("state").into(),
            _ => Error::from(error),
        })?;
        let mut client = Stock::new(params, 0);
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

    fn follow(client: &mut Stock, delta: &[u8]) -> Result<()> {
        let each = 8 + client.params.record_bytes();
        let changes = delta.chunks(each);
        for change in changes {
            let (index, change) = change.split_first_chunk().unwrap_or((&[0xFF; 8], &[]));
            if u64::from_le_bytes(*index) >= client.params.records() || change.len() + 8 != each {
                return Err(PeerMisbehaved::NotCanonical("rows-delta").into());
            }
            // A client without hints does not know the table's sum, nor need it.
            if client.supplies > 0 {
                client.sum ^= sum(change);
            }
        }
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
        Ok((client.left < LASTS).then_some(Order(name(client.client, client.supplies))))
    }

    fn stock(client: &mut Stock, Supply([number, sum]): Supply) -> Result<()> {
        let ordered = number == name(client.client, client.supplies);
        // Hints of other rows than those at hand are of another epoch.
        if !ordered || (client.supplies > 0 && sum != client.sum) {
            return Err(PeerMisbehaved::NotCanonical("supply").into());
        }
        client.sum = sum;
        client.supplies += 1;
        client.left += LASTS;
        client.changed = true;
        Ok(())
    }
}
