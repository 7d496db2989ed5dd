//! The client: a key, and hints that are ordered under it.
//!
//! A fresh client has no hints. It can ask as soon as it has ordered all of them and some pairs, and as often as
//! there are pairs in stock: that is its budget, and it grows with every supply until the key's pairs are used up.

use super::S3pirTwo;
use super::message::{Order, Supply};
use super::params::Params;
use crate::S3pir;
use crate::client::Pending;
use crate::hints::{Hint, Hints};
use crate::message::{Answer, Query};
use crate::prf::Prf;
use crate::state::Head;
use sotto_core::{Budget, CryptoRng, Misuse, One, Record, RecordIndex, Result, Stateful, Upkeep};
use sotto_hints::bytes::{Source, put, reserve};
use std::io::{Read, Write};
use zeroize::Zeroizing;

/// A client before it has hints: a key.
pub struct Prepare {
    params: Params,
    key: Zeroizing<[u8; 16]>,
}

/// A client that orders its hints.
pub struct Client {
    pub(crate) one: crate::client::Client,
    /// Whether a supply is waited for.
    ordered: bool,
}

impl sotto_core::Prepare<S3pirTwo> for Prepare {
    fn begin(params: &Params, rng: &mut dyn CryptoRng) -> Result<Self> {
        let mut key = Zeroizing::new([0; 16]);
        rng.fill_bytes(key.as_mut());
        Ok(Prepare { params: params.clone(), key })
    }

    fn finish(self) -> Result<Client> {
        let one = self.params.one();
        let room = one.ids() + self.params.room();
        let (mut of, mut parities) = (Zeroizing::new(Vec::new()), Zeroizing::new(Vec::new()));
        reserve(&mut of, one.ids() + 1)?;
        of.resize(one.ids(), Hint::default());
        reserve(&mut parities, room.saturating_mul(one.row_bytes()))?;
        parities.resize(room * one.row_bytes(), 0);
        let hints = Hints::new(one, &Prf::new(one, &self.key), of, parities, 0);
        let one = crate::client::Client::new(one.clone(), self.key, hints);
        Ok(Client::of(&self.params, one, 0))
    }
}

impl sotto_core::Client<S3pirTwo> for Client {
    type Pending = Pending;

    fn keys(&self) {}

    fn query(&mut self, index: RecordIndex, rng: &mut dyn CryptoRng) -> Result<(One<Query>, Pending)> {
        self.one.query(index, rng)
    }

    fn recover(&mut self, pending: Pending, answer: One<Answer>) -> Result<Record> {
        self.one.recover(pending, answer)
    }

    /// How many queries can be made before the next supply.
    fn budget(&self) -> Budget {
        self.one.budget()
    }
}

impl Client {
    fn of(params: &Params, mut one: crate::client::Client, stocked: usize) -> Self {
        one.hints.in_blocks(params.block(), params.room(), stocked);
        Client { one, ordered: false }
    }
}

impl Upkeep for S3pirTwo {
    const HELPER: usize = 1;
    type Order = Order;
    type Supply = Supply;

    fn order(client: &mut Client) -> Result<Option<Order>> {
        let due = client.one.due();
        client.ordered = due.is_some();
        Ok(due.map(|block| Order { key: client.one.key.clone(), block }))
    }

    fn stock(client: &mut Client, supply: Supply) -> Result<()> {
        if !std::mem::take(&mut client.ordered) {
            return Err(Misuse::Rule("a supply is taken once, after it was ordered").into());
        }
        client.one.stock(&supply.0);
        Ok(())
    }
}

impl Stateful for S3pirTwo {
    fn save(params: &Params, client: &Client, out: &mut dyn Write) -> Result<()> {
        // At most 2^25 ids.
        put(&(params.blocks_of(client.one.hints.stocked) as u32), out)?;
        client.one.save(out)
    }

    fn load(params: &Params, from: &mut dyn Read) -> Result<Client> {
        let from = &mut Source::state(from);
        let blocks = from.get::<u32>()? as usize;
        let head = Head::read(params.one(), from)?;
        let stocked = params.ids_of(blocks.min(params.blocks()));
        let pairs = stocked.saturating_sub(params.one().hints());
        let fits =
            blocks <= params.blocks() && (head.promoted..=head.promoted + params.room()).contains(&pairs);
        if !fits {
            return Err(from.malformed("more pairs than were supplied, or fewer"));
        }
        let one = crate::client::Client::load(params.one(), head, stocked, params.room(), from)?;
        Ok(Client::of(params, one, stocked))
    }

    fn journal(client: &mut Client) -> Zeroizing<Vec<u8>> {
        client.one.take_journal()
    }

    fn replay(client: &mut Client, entry: &[u8]) -> Result<()> {
        client.one.replay_journal(entry)
    }

    fn number(pending: &Pending) -> u64 {
        S3pir::number(pending)
    }

    fn reopen(client: &mut Client, number: u64) -> Result<Pending> {
        S3pir::reopen(&mut client.one, number)
    }

    fn reject(client: &mut Client, number: u64) {
        S3pir::reject(&mut client.one, number);
    }

    fn follow(client: &mut Client, delta: &[u8]) -> Result<()> {
        S3pir::follow(&mut client.one, delta)
    }

    fn checkpoint(_: &Params, prepare: &Prepare, out: &mut dyn Write) -> Result<()> {
        Ok(out.write_all(prepare.key.as_ref())?)
    }

    fn resume(params: &Params, from: &mut dyn Read) -> Result<Prepare> {
        Ok(Prepare { params: params.clone(), key: Zeroizing::new(Source::state(from).get()?) })
    }

    fn kept(_: &Prepare) -> u64 {
        0
    }
}
