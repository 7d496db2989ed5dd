//! S3PIR with two servers (the paper, algorithms 1 to 3): one makes hints, the other answers
//! queries.
//!
//! Sets, queries and answers are those of the one-server scheme. Hints come from another source: a
//! client sends its key to the second server, which sums the parities of a block of ids at a time,
//! so that no table is ever streamed and backup pairs come when they are needed. That server knows
//! every set and sees no query; the first sees queries and no set. Together they would know every
//! requested row: README.md says what each learns.
//!
//! A fresh client has no hints. It can make queries as soon as it has received all of them and some
//! pairs, and as many as it has pairs in stock: that is its budget, and it grows with every hint
//! response until the key's pairs are used up. Blocks are requested one after the other, those of
//! hints first. A block of pairs is due as soon as fewer pairs are left than a block has, or than go
//! into one request, so that queries go on while it is made. That depends only on the number of
//! queries. Parities are stored as they come: a wrong one makes a wrong row, or an unreadable one,
//! and changes no message.

pub mod params;

use crate::S3pir;
use crate::hints::{BackupPairs, main, pair, used};
#[cfg(feature = "server")]
use crate::offline::fold;
use crate::offline::halves::{cuts, extras};
use crate::prf::VOID;
use crate::query::Query;
use params::{blocks_of, ids_of};
use sotto_core::{
    Assumption, Budget, Caps, CryptoRng, Hiding, HintScheme, Misuse, OneServer, Record, RecordIndex, Result,
    Scheme, SchemeEntry, SchemeId, SchemeMetadata, Stateful,
};
#[cfg(feature = "server")]
use sotto_core::{HintServer, Image, RecordChange, RecordSource, Section, Sink, UpdateImage};
use sotto_hints::codec::{StateReader, put, reserve};
use sotto_hints::message::{Answer, HintRequest, HintResponse};
use sotto_hints::one_server::prepare::longer;
use sotto_hints::one_server::{Hint, Hints, PartitionPlace, Pending, Prf};
use std::io::{Read, Write};
use std::ops::Range;
#[cfg(feature = "server")]
use std::sync::Arc;
use zeroize::Zeroizing;

pub use params::Params;

/// The S3PIR scheme with two servers.
pub struct S3pirTwo;

impl Scheme for S3pirTwo {
    const ID: SchemeId = SchemeId("s3pir-two/1");
    const METADATA: SchemeMetadata = SchemeMetadata {
        title: "S3PIR (CCS 2024), two servers",
        paper: "https://eprint.iacr.org/2023/1072",
        hiding: &[Hiding::Preparation, Hiding::Splitting],
        assumptions: &[Assumption::Aes],
        client_keeps: "hints that one server made, each spent by a query",
        ..SchemeMetadata::new(env!("CARGO_PKG_NAME"))
    };
    type Params = Params;
    type Fan<T> = OneServer<T>;
    type Keys = ();
    type Query = Query;
    type Answer = Answer;
    type Prepare = Prepare;
    type Client = Client;
    #[cfg(feature = "server")]
    type Server = Server;
    const CAPS: Caps<Self> = Caps::NONE.update_image().hint_server();
}

/// The registry entry of the scheme with two servers.
pub static TWO: SchemeEntry = SchemeEntry::of::<S3pirTwo>();

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
        one.hints.ids_received = 0;
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
        let due = due_block(&client.one);
        client.is_requested = due.is_some();
        Ok(due.map(|block| HintRequest { key: client.one.key.clone(), block }))
    }

    fn apply_hint_response(client: &mut Client, response: HintResponse) -> Result<()> {
        if !std::mem::take(&mut client.is_requested) {
            return Err(Misuse::Rule("a hint response must be applied once, after its request").into());
        }
        take_block(&mut client.one, &response.0);
        Ok(())
    }
}

impl Stateful for S3pirTwo {
    fn save(params: &Params, client: &Client, out: &mut dyn Write) -> Result<()> {
        // At most 2^25 ids.
        put(&(params.blocks_of(client.one.hints.ids_received) as u32), out)?;
        client.one.save(out)
    }

    fn load(params: &Params, from: &mut dyn Read) -> Result<Client> {
        let from = &mut StateReader::state(from);
        let blocks = from.get::<u32>()? as usize;
        let one = crate::Client::load(params.one(), from, |next, promoted, from| {
            let ids_received = params.ids_of(blocks.min(params.blocks()));
            let (came, used) = (ids_received.saturating_sub(params.one().hints()), promoted as usize);
            let fits = (used..=used + params.max_stock()).contains(&came) && next <= promoted.into();
            if blocks > params.blocks() || !fits {
                return Err(from.malformed("the pairs do not match the hint responses"));
            }
            Ok((ids_received, pairs(params, used)))
        })?;
        Ok(Client { one, is_requested: false })
    }

    fn journal(client: &mut Client) -> Zeroizing<Vec<u8>> {
        S3pir::journal(&mut client.one)
    }

    fn replay(client: &mut Client, entry: &[u8]) -> Result<()> {
        client.one.replay(entry, replay_block)
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

/// One plus the number of the block that came last.
fn blocks(client: &crate::Client) -> u64 {
    blocks_of(client.params.hints(), client.hints.backup_stock.block, client.hints.ids_received) as u64
}

/// The ids of a block that came, or of the next one.
fn ids(client: &crate::Client, block: u64) -> Range<usize> {
    let ids = |blocks| ids_of(client.params.hints(), client.hints.backup_stock.block, blocks);
    // There are fewer blocks than 2^25 ids.
    ids(block as usize)..ids(block as usize + 1)
}

/// The block to request next, if one is due.
fn due_block(client: &crate::Client) -> Option<u32> {
    let hints = &client.hints;
    // Then there is space for one more block.
    let low = hints.ids_received.saturating_sub(used(hints)) + hints.backup_stock.block / 2
        < hints.backup_stock.capacity;
    // There are fewer blocks than ids.
    (low && hints.ids_received < client.params.ids()).then_some(blocks(client) as u32)
}

/// Stores the parities of the next block.
fn take_block(client: &mut crate::Client, response: &[u8]) {
    let block = blocks(client);
    fill_block(client, ids(client, block), response);
    client.log_hint_response(block, response);
}

fn fill_block(client: &mut crate::Client, ids: Range<usize>, response: &[u8]) {
    let (prf, hints) = (&client.prf, &mut client.hints);
    // There are at most 2^25 ids.
    let first = ids.start as u32;
    let mut found = Zeroizing::new(vec![VOID; ids.len()]);
    cuts(prf, first, &mut found);
    let mut rows = response.chunks_exact(client.params.row_bytes());
    if ids.start < hints.first_backup() {
        let mut places = Zeroizing::new(vec![PartitionPlace::default(); ids.len()]);
        extras(prf, first, &found, &mut places);
        for (((id, cut), extra), row) in (first..).zip(found.iter()).zip(places.iter()).zip(rows) {
            if *cut != VOID {
                hints.begin(prf, id, main(*cut, *extra));
                hints.parity_mut(id).copy_from_slice(row);
            }
        }
    } else {
        let halves: Vec<&[u8]> = rows.by_ref().take(ids.len()).collect();
        for (((id, cut), half), other) in (first..).zip(found.iter()).zip(halves).zip(rows) {
            hints.begin(prf, id, pair(*cut));
            hints.backup_stock.left += u64::from(*cut != VOID);
            hints.parity_mut(id).copy_from_slice(half);
            hints.second_mut(id).copy_from_slice(other);
        }
    }
    hints.ids_received = ids.end;
}

/// Replays [`take_block`] from the journal.
fn replay_block(client: &mut crate::Client, block: u64, from: &mut StateReader<'_>) -> Result<()> {
    let mut response = Zeroizing::new(vec![0; client.hints.backup_stock.block * client.params.row_bytes()]);
    from.exact(&mut response)?;
    let next = blocks(client);
    if block < next {
        return Ok(());
    }
    if block != next || due_block(client).is_none() {
        return Err(from.malformed("a hint response is out of order"));
    }
    fill_block(client, ids(client, block), &response);
    Ok(())
}

/// An open table: one server answers queries, the other makes hints, and nobody streams it.
#[cfg(feature = "server")]
pub struct Server {
    params: Params,
    one: sotto_hints::one_server::Server<crate::HalfSets>,
}

#[cfg(feature = "server")]
impl sotto_core::Server<S3pirTwo> for Server {
    type Session = ();

    fn encode(params: &Params, rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        params.one().encode(Section::Resident, rows, out)
    }

    fn open(params: &Params, image: Arc<dyn Image>) -> Result<Self> {
        let one = sotto_hints::one_server::Server::open_at(Section::Resident, params.one(), image)?;
        Ok(Server { params: params.clone(), one })
    }

    fn records(params: &Params, image: Arc<dyn Image>) -> Result<Box<dyn RecordSource>> {
        params.one().records(Section::Resident, image)
    }

    fn admit(&self, (): ()) -> Result<()> {
        Ok(())
    }

    fn answer_many(&self, queries: Vec<(&(), Query)>) -> Vec<Result<Answer>> {
        queries.into_iter().map(|((), query)| self.one.gather(query)).collect()
    }
}

#[cfg(feature = "server")]
impl HintServer for S3pirTwo {
    /// Runs the pass of a client that streams the table, for the ids of one block.
    fn answer_hint_request(server: &Server, request: HintRequest) -> Result<HintResponse> {
        let (params, one) = (&server.params, server.params.one());
        let ids =
            [request.block as usize, request.block as usize + 1].map(|blocks| params.ids_of(blocks) as u32);
        // Below 2^24.
        let (ids, none) = (ids[0]..ids[1], 0..0);
        let (hints, pairs) = if (ids.start as usize) < one.hints() { (ids, none) } else { (none, ids) };
        let prf = Prf::new(one, &request.key);
        let mut pass = fold(&prf, one.row_bytes(), hints, pairs)?;
        pass.absorb(&prf, server.one.rows()?);
        let (hints, pairs) = pass.finish(&prf).finish();
        let mut response = Zeroizing::new(Vec::with_capacity(params.response_bytes()));
        for parities in [&hints.parities, &pairs.halves, &pairs.others] {
            response.extend_from_slice(parities);
        }
        Ok(HintResponse(response))
    }
}

#[cfg(feature = "server")]
impl UpdateImage for S3pirTwo {
    fn update_image(params: &Params, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
        params.one().update_image(Section::Resident, changes, out)
    }
}
