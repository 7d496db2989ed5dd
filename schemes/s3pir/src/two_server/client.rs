//! The client: a key, and hints that are requested with it.
//!
//! A fresh client has no hints. It can make queries as soon as it has received all of them and some
//! pairs, and as many as it has pairs in stock: that is its budget, and it grows with every hint
//! response until the key's pairs are used up.

use super::{Params, S3pirTwo, blocks};
use crate::S3pir;
use crate::backups::BackupPairs;
use crate::message::Query;
use sotto_core::{Budget, CryptoRng, HintScheme, Misuse, OneServer, Record, RecordIndex, Result, Stateful};
use sotto_hints::codec::{StateReader, put, reserve};
use sotto_hints::message::{Answer, HintRequest, HintResponse};
use sotto_hints::one_server::prepare::longer;
use sotto_hints::one_server::{Hint, Hints, Pending, Prf};
use std::io::{Read, Write};
use zeroize::Zeroizing;

/// A client before it has hints: a key.
pub struct Prepare {
    params: Params,
    key: Zeroizing<[u8; 16]>,
}

/// A client that requests its hints from a server.
pub struct Client {
    pub(crate) one: crate::Client,
    /// Whether a hint response is outstanding.
    is_requested: bool,
}

impl sotto_core::Prepare<S3pirTwo> for Prepare {
    fn begin(params: &Params, rng: &mut dyn CryptoRng) -> Result<Self> {
        let mut key = Zeroizing::new([0; 16]);
        rng.fill_bytes(key.as_mut());
        Ok(Prepare { params: params.clone(), key })
    }

    fn finish(self) -> Result<Client> {
        let one = self.params.one();
        let zeros = |rows: usize| longer(Zeroizing::default(), (rows + 1).saturating_mul(one.row_bytes()));
        let rows = [zeros(one.ids())?, zeros(self.params.max_stock())?];
        let mut of = Zeroizing::new(Vec::new());
        reserve(&mut of, one.ids() + 1)?;
        of.resize(one.ids() + 1, Hint::default());
        let hints = Hints::new(one, &Prf::new(one, &self.key), of, rows, pairs(&self.params, 0));
        let mut one = crate::Client::new(one.clone(), self.key, hints, ());
        one.hints.stocked = 0;
        Ok(Client { one, is_requested: false })
    }
}

/// The pairs of a client that requests them, of which `next` are promoted or skipped.
fn pairs(params: &Params, next: usize) -> BackupPairs {
    BackupPairs { capacity: params.max_stock(), block: params.block(), ..BackupPairs::of(params.one(), next) }
}

impl sotto_core::Client<S3pirTwo> for Client {
    type Pending = Pending;

    fn keys(&self) {}

    fn query(&mut self, index: RecordIndex, rng: &mut dyn CryptoRng) -> Result<(OneServer<Query>, Pending)> {
        self.one.query(index, rng)
    }

    fn recover(&mut self, pending: Pending, answer: OneServer<Answer>) -> Result<Record> {
        self.one.recover(pending, answer)
    }

    /// The number of queries that can be made before the next hint response.
    fn budget(&self) -> Budget {
        self.one.budget()
    }
}

impl HintScheme for S3pirTwo {
    const HINT_SERVER: usize = 1;
    type HintRequest = HintRequest;
    type HintResponse = HintResponse;

    fn next_hint_request(client: &mut Client) -> Result<Option<HintRequest>> {
        let due = blocks::due(&client.one);
        client.is_requested = due.is_some();
        Ok(due.map(|block| HintRequest { key: client.one.key.clone(), block }))
    }

    fn apply_hint_response(client: &mut Client, response: HintResponse) -> Result<()> {
        if !std::mem::take(&mut client.is_requested) {
            return Err(Misuse::Rule("a hint response must be applied once, after its request").into());
        }
        blocks::take(&mut client.one, &response.0);
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
        let from = &mut StateReader::state(from);
        let blocks = from.get::<u32>()? as usize;
        let one = crate::Client::load(params.one(), from, |next, promoted, from| {
            let stocked = params.ids_of(blocks.min(params.blocks()));
            let (came, used) = (stocked.saturating_sub(params.one().hints()), promoted as usize);
            let fits = (used..=used + params.max_stock()).contains(&came) && next <= promoted.into();
            if blocks > params.blocks() || !fits {
                return Err(from.malformed("the pairs do not match the hint responses"));
            }
            Ok((stocked, pairs(params, used)))
        })?;
        Ok(Client { one, is_requested: false })
    }

    fn journal(client: &mut Client) -> Zeroizing<Vec<u8>> {
        S3pir::journal(&mut client.one)
    }

    fn replay(client: &mut Client, entry: &[u8]) -> Result<()> {
        S3pir::replay(&mut client.one, entry)
    }

    fn query_number(pending: &Pending) -> u64 {
        S3pir::query_number(pending)
    }

    fn reopen_query(client: &mut Client, number: u64) -> Result<Pending> {
        S3pir::reopen_query(&mut client.one, number)
    }

    fn reject(client: &mut Client, number: u64) {
        S3pir::reject(&mut client.one, number);
    }

    fn apply_delta(client: &mut Client, delta: &[u8]) -> Result<()> {
        S3pir::apply_delta(&mut client.one, delta)
    }

    fn checkpoint(_: &Params, prepare: &Prepare, out: &mut dyn Write) -> Result<()> {
        Ok(out.write_all(prepare.key.as_ref())?)
    }

    fn resume(params: &Params, from: &mut dyn Read) -> Result<Prepare> {
        Ok(Prepare { params: params.clone(), key: Zeroizing::new(StateReader::state(from).get()?) })
    }

    fn absorbed_bytes(_: &Prepare) -> u64 {
        0
    }
}
