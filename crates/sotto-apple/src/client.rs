//! The client's half of lookups by key or by number, as functions from bytes to bytes: what is sent, and what is read of answers.
//!
//! ```text
//! config_request -> /config -> Client::learn    key_request -> /key    ask -> /queries -> open
//! ```
//!
//! A symmetric table takes evaluations before: see `client/symmetric.rs`.
//!
//! A server tells its tables' shapes, so they are looked at before anything is made of them. A request says which shard a key is
//! in, and that is all it says of the key: how much, the caller decides ([`ConfigPolicy`]), and nothing unless it says otherwise.
//! Until the request has left, nothing else depends on the key.

mod key_seed;
mod shards;
mod symmetric;
mod table_info;

pub use key_seed::KeySeed;
pub use shards::{ConfigPolicy, NoShardFunction, ShardError, ShardFunction, ShardHistory};
pub use symmetric::{BlindedKeys, RowKeys};

use crate::keyword::hash;
use crate::keyword::table::{asked, found};
use crate::proto::{
    ConfigRequest, EvaluationKey, EvaluationKeyMetadata, EvaluationKeys, PirRequest, Request, Requests,
    Responses,
};
use crate::sets::WeakParams;
use crate::symmetric::RowKey;
use bytes::Bytes;
use prost::Message;
use rand_core::CryptoRng;
use sotto_catalog::RowForm;
use sotto_core::{Error, Misuse, PeerMisbehaved, Result};
use sotto_lattice::bgv::SecretKey;
use table_info::{TableInfo, wrong};

/// Why a configuration is refused. Nothing was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A configuration of no table, one that contradicts itself, or one whose parameters are refused.
    #[error(transparent)]
    Core(#[from] Error),
    /// Lookups would tell more of a key than the caller accepts.
    #[error(transparent)]
    Shards(#[from] ShardError),
}

/// A client of one use case, with a secret of its own.
#[derive(Debug)]
pub struct Client {
    use_case: String,
    told: TableInfo,
    /// When the keys were made, as the caller has it: it names them.
    timestamp: u64,
    secret: SecretKey,
}

/// What a client remembers of a request.
#[derive(Debug)]
pub struct PendingRequest {
    wishes: Vec<PendingLookup>,
}

/// A key or a row: its shard, the entries that were asked for, and what tells the row among them.
#[derive(Debug)]
struct PendingLookup {
    at: usize,
    entries: Vec<usize>,
    /// Of a key.
    hash: Option<u64>,
    /// False for the number of a row that there is not.
    is_there: bool,
    /// Of a symmetric table.
    opening: Option<RowKey>,
}

/// The body of a request for the configuration of a use case.
pub fn config_request(use_case: &str) -> Vec<u8> {
    // One identifier without bytes is what phones send that know none.
    ConfigRequest { usecases: vec![use_case.into()], existing_config_ids: vec![Bytes::new()] }.encode_to_vec()
}

impl Client {
    /// A client of what `/config` answered, with a new secret, whose lookups tell nothing of their keys.
    ///
    /// # Errors
    /// As [`Client::of_config`].
    pub fn learn(
        use_case: &str,
        answer: Bytes,
        weak: WeakParams,
        timestamp: u64,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self, ConfigError> {
        let mut policy = ConfigPolicy { weak, ..ConfigPolicy::default() };
        let keys = KeySeed::draw(timestamp, rng);
        Client::of_config(use_case, answer, &mut policy, &mut ShardHistory::default(), &keys)
    }

    /// A client of what `/config` answered, with the secret of this seed. The history has to be written down before anything is
    /// asked, and to come back with the next configuration of this server.
    ///
    /// # Errors
    /// [`ConfigError::Shards`] if its lookups would tell more of a key than `policy` accepts;
    /// [`Params`](sotto_core::Error::Params) if the set is unknown, weak, or fails too often; [`Peer`](sotto_core::Error::Peer)
    /// if this is no configuration of a table, or contradicts itself.
    pub fn of_config(
        use_case: &str,
        answer: Bytes,
        policy: &mut ConfigPolicy,
        history: &mut ShardHistory,
        keys: &KeySeed,
    ) -> Result<Self, ConfigError> {
        let told = TableInfo::read(use_case, answer, policy.weak)?;
        let function = told.shard_function.as_ref().unwrap_or(&ShardFunction::ONE_SHARD);
        history.admit(use_case, function, policy)?;
        let secret = keys.secret(&told.codec, &told.key_id);
        Ok(Client { use_case: use_case.into(), told, timestamp: keys.made(), secret })
    }

    /// Whether the server said that it has its keys.
    pub fn has_sent_keys(&self) -> bool {
        self.told.there == self.timestamp
    }

    /// Whether rows are asked for by number, and how many there are.
    pub fn rows(&self) -> Option<u64> {
        let [shape] = self.told.shapes.as_slice() else { return None };
        self.told.shard_function.is_none().then_some(shape.entries() as u64)
    }

    /// Whether rows by number say how long they are; else all have one length.
    pub fn says_lengths(&self) -> bool {
        self.told.form != RowForm::Whole
    }

    /// Shards of the table: which one a key is in, a request says.
    pub fn shards(&self) -> usize {
        self.told.shapes.len()
    }

    /// A lookup tells the server of its key that it is one in so many; 1 where it tells nothing.
    pub fn parts_told(&self) -> u64 {
        self.told.shard_function.as_ref().map_or(1, ShardFunction::parts)
    }

    /// What is asked for a key or a row's name with this hash.
    fn wish(&self, hash: u64, is_there: bool, opening: Option<RowKey>) -> Result<PendingLookup> {
        let at = self.told.shard_function.as_ref().map_or(0, |function| function.shard(hash));
        let shape = self.told.shapes.get(at).ok_or(wrong("has no shards"))?;
        Ok(PendingLookup { at, entries: asked(shape, hash), hash: Some(hash), is_there, opening })
    }

    fn metadata(&self) -> Option<EvaluationKeyMetadata> {
        let identifier = Bytes::copy_from_slice(&self.told.key_id);
        Some(EvaluationKeyMetadata { timestamp: self.timestamp, identifier })
    }

    /// The body of a request that hands over the keys.
    pub fn key_request(&self, rng: &mut dyn CryptoRng) -> Vec<u8> {
        let evaluation_key = Some(self.told.codec.make_keys(&self.secret, &self.told.elements, rng));
        let key = EvaluationKey { metadata: self.metadata(), evaluation_key };
        EvaluationKeys { keys: vec![key] }.encode_to_vec()
    }

    /// The body of a request for the values of these keys.
    ///
    /// # Errors
    /// [`Misuse`] of a table whose rows are asked for by number. None that depends on a key.
    pub fn ask(&self, keys: &[&[u8]], rng: &mut dyn CryptoRng) -> Result<(Vec<u8>, PendingRequest)> {
        if self.rows().is_some() {
            return Err(Misuse::Rule("this table is asked by the number of a row").into());
        }
        if self.is_symmetric() {
            return Err(Misuse::Rule("this table is symmetric: ask for what opens the rows first").into());
        }
        let wish = |key: &&[u8]| self.wish(hash(key), true, None);
        self.request(keys.iter().map(wish).collect::<Result<_>>()?, rng)
    }

    /// The body of a request for these rows by number. One that the table has not is asked for all the same, as another.
    ///
    /// # Errors
    /// [`Misuse`] of a table that is asked by key.
    pub fn ask_rows(&self, rows: &[u64], rng: &mut dyn CryptoRng) -> Result<(Vec<u8>, PendingRequest)> {
        let Some(count) = self.rows() else {
            return Err(Misuse::Rule("this table is asked by key").into());
        };
        let wish = |row: &u64| {
            let is_there = *row < count;
            let entry = if is_there { *row as usize } else { 0 };
            PendingLookup { at: 0, entries: vec![entry], hash: None, is_there, opening: None }
        };
        self.request(rows.iter().map(wish).collect(), rng)
    }

    fn request(
        &self,
        wishes: Vec<PendingLookup>,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Vec<u8>, PendingRequest)> {
        let mut requests = Vec::with_capacity(wishes.len());
        for wish in &wishes {
            let shape = self.told.shapes.get(wish.at).ok_or(wrong("has no shards"))?;
            let pir_request = PirRequest {
                shard_index: wish.at as u32,
                query: Some(self.told.codec.ask(&self.secret, shape, &wish.entries, rng)?),
                evaluation_key_metadata: self.metadata(),
                configuration_hash: self.told.config_id.clone(),
                ..Default::default()
            };
            let pir_request = Some(pir_request);
            requests.push(Request { usecase: self.use_case.clone(), pir_request, ..Default::default() });
        }
        Ok((Requests { requests }.encode_to_vec(), PendingRequest { wishes }))
    }

    /// The values of the keys or rows that were asked for; `None` for those that the table has not.
    ///
    /// # Errors
    /// [`Peer`](sotto_core::Error::Peer) if this is no answer to the request; `Unreadable` if a bucket is damaged, or a row that
    /// was sealed does not open.
    pub fn open(&self, pending: PendingRequest, answer: Bytes) -> Result<Vec<Option<Vec<u8>>>> {
        let answer = Responses::decode(answer).map_err(|why| wrong(why.to_string()))?;
        let (got, want) = (answer.responses.len() as u64, pending.wishes.len() as u64);
        if got != want {
            return Err(PeerMisbehaved::Count { what: "responses", got, want }.into());
        }
        let mut out = Vec::with_capacity(pending.wishes.len());
        for (wish, response) in pending.wishes.iter().zip(&answer.responses) {
            let (Some(shape), Some(response)) = (self.told.shapes.get(wish.at), &response.pir_response)
            else {
                return Err(wrong("lacks a response").into());
            };
            let mut entries = self.told.codec.open(&self.secret, shape, &wish.entries, response)?;
            out.push(match wish.hash {
                Some(hash) => {
                    let value = found(hash, &entries)?.filter(|_| wish.is_there);
                    match (value, &wish.opening) {
                        (Some(sealed), Some(opening)) => {
                            let mut value = opening.open(&sealed).map_err(|_| Error::Unreadable)?;
                            Some(std::mem::take(&mut *value))
                        }
                        (value, _) => value,
                    }
                }
                None => {
                    let row = entries.pop().map(|mut row| std::mem::take(&mut *row)).unwrap_or_default();
                    Some(self.told.form.value(row)?).filter(|_| wish.is_there)
                }
            });
        }
        Ok(out)
    }
}
