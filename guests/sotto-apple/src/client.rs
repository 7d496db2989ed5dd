//! Client of lookups by key or by number, as functions from bytes to bytes: makes requests, and
//! reads answers.
//!
//! ```text
//! config_request -> /config -> Client::learn    key_request -> /key    ask -> /queries -> open
//! ```
//!
//! A symmetric table requires evaluations before the lookup: see `client/symmetric.rs`.
//!
//! The server chooses the shapes of its tables, so they are checked before anything is computed
//! from them. A request names the shard of a key, and reveals nothing else about it. The caller
//! decides how much a shard may reveal ([`ConfigPolicy`]), which by default is nothing. Until the
//! request is sent, nothing else depends on the key.

pub use crate::client::shards::{ConfigPolicy, NoShardFunction, ShardError, ShardFunction, ShardHistory};
pub use crate::client::symmetric::{BlindedKeys, RowKeys};
use crate::client::table_info::{TableInfo, wrong};
use crate::codec::Codec;
use crate::config::ConfigDigest;
use crate::keyword::hash;
use crate::keyword::table::{found, requested_buckets};
use crate::proto::{
    ConfigRequest, EvaluationKey, EvaluationKeyMetadata, EvaluationKeys, PirRequest, Request, Requests,
    Responses,
};
use crate::sets::WeakParams;
use crate::symmetric::RowKey;
use bytes::Bytes;
use prost::Message;
use rand_core::{CryptoRng, SeedableRng};
use sotto_catalog::RowForm;
use sotto_core::{Error, Misuse, PeerMisbehaved, Result};
use sotto_lattice::bgv::SecretKey;
use sotto_prg::ChaCha20Rng;
use std::fmt;
use zeroize::Zeroizing;

mod shards;
mod symmetric;
mod table_info;

/// Why a configuration is refused. No query was sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The configuration is not of a table, contradicts itself, or has parameters that are refused.
    #[error(transparent)]
    Core(#[from] Error),
    /// Lookups would reveal more of a key than the caller accepts.
    #[error(transparent)]
    Shards(#[from] ShardError),
}

/// Client of one use case, with a secret key of its own.
#[derive(Debug)]
pub struct Client {
    use_case: String,
    info: TableInfo,
    /// Time at which the keys were made, as the caller's clock has it; it identifies them at the
    /// server.
    timestamp: u64,
    secret: SecretKey,
}

/// Secret of one request, which reads its answer.
#[derive(Debug)]
pub struct PendingRequest {
    lookups: Vec<PendingLookup>,
}

/// One lookup of a request: its shard, the entries that were requested, and what identifies the row
/// among them.
#[derive(Debug)]
struct PendingLookup {
    at: usize,
    entries: Vec<usize>,
    /// Hash of the key, for lookups by key.
    hash: Option<u64>,
    /// Whether the row exists; false for a number past the end.
    is_there: bool,
    /// Key that opens the row of a symmetric table.
    opening: Option<RowKey>,
}

/// Body of a request for the configuration of a use case.
pub fn config_request(use_case: &str) -> Vec<u8> {
    // Phones that know no configuration send one empty identifier.
    ConfigRequest { usecases: vec![use_case.into()], existing_config_ids: vec![Bytes::new()] }.encode_to_vec()
}

impl Client {
    /// Makes a client from the response of `/config`, with a new secret. Its lookups reveal nothing
    /// about their keys.
    ///
    /// # Errors
    /// The errors of [`Client::of_config`].
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

    /// Makes a client from the response of `/config`, with the secret of this seed. The history
    /// must be stored before any query is sent, and be passed with the next configuration of this
    /// server.
    ///
    /// # Errors
    /// [`ConfigError::Shards`] if its lookups would reveal more of a key than `policy` accepts;
    /// [`Params`](sotto_core::Error::Params) if the set is unknown, weak, or fails too often;
    /// [`Peer`](sotto_core::Error::Peer) if this is not a configuration of a table, or contradicts
    /// itself.
    pub fn of_config(
        use_case: &str,
        answer: Bytes,
        policy: &mut ConfigPolicy,
        history: &mut ShardHistory,
        keys: &KeySeed,
    ) -> Result<Self, ConfigError> {
        let info = TableInfo::read(use_case, answer, policy.weak)?;
        let function = info.shard_function.as_ref().unwrap_or(&ShardFunction::ONE_SHARD);
        history.admit(use_case, function, policy)?;
        let secret = keys.secret(&info.codec, &info.key_id);
        Ok(Client { use_case: use_case.into(), info, timestamp: keys.made(), secret })
    }

    /// Whether the server reported that it has the client's keys.
    pub fn has_sent_keys(&self) -> bool {
        self.info.there == self.timestamp
    }

    /// Number of rows, if rows are requested by number.
    pub fn rows(&self) -> Option<u64> {
        let [shape] = self.info.shapes.as_slice() else { return None };
        self.info.shard_function.is_none().then_some(shape.entries() as u64)
    }

    /// Whether rows by number contain their length; otherwise all have one length.
    pub fn has_lengths(&self) -> bool {
        self.info.form != RowForm::Whole
    }

    /// Number of shards of the table. A request names the shard of its key.
    pub fn shards(&self) -> usize {
        self.info.shapes.len()
    }

    /// Upper bound on what a lookup reveals of its key: that it is one in this many parts; 1 where
    /// it reveals nothing.
    pub fn parts_revealed(&self) -> u64 {
        self.info.shard_function.as_ref().map_or(1, ShardFunction::parts)
    }

    /// Lookup of the key, or of the row's name, with this hash.
    fn lookup(&self, hash: u64, is_there: bool, opening: Option<RowKey>) -> Result<PendingLookup> {
        let at = self.info.shard_function.as_ref().map_or(0, |function| function.shard(hash));
        let shape = self.info.shapes.get(at).ok_or(wrong("has no shards"))?;
        Ok(PendingLookup { at, entries: requested_buckets(shape, hash), hash: Some(hash), is_there, opening })
    }

    fn metadata(&self) -> Option<EvaluationKeyMetadata> {
        let identifier = Bytes::copy_from_slice(&self.info.key_id);
        Some(EvaluationKeyMetadata { timestamp: self.timestamp, identifier })
    }

    /// Body of a request that registers the client's keys.
    pub fn key_request(&self, rng: &mut dyn CryptoRng) -> Vec<u8> {
        let evaluation_key = Some(self.info.codec.make_keys(&self.secret, &self.info.elements, rng));
        let key = EvaluationKey { metadata: self.metadata(), evaluation_key };
        EvaluationKeys { keys: vec![key] }.encode_to_vec()
    }

    /// Body of a request for the values of these keys.
    ///
    /// # Errors
    /// [`Misuse`] for a table whose rows are requested by number. No error depends on a key.
    pub fn query(&self, keys: &[&[u8]], rng: &mut dyn CryptoRng) -> Result<(Vec<u8>, PendingRequest)> {
        if self.rows().is_some() {
            return Err(Misuse::Rule("this is an index table: look up row numbers").into());
        }
        if self.is_symmetric() {
            return Err(Misuse::Rule(
                "this table is symmetric: request the evaluation that opens the row first",
            )
            .into());
        }
        let lookup = |key: &&[u8]| self.lookup(hash(key), true, None);
        self.request(keys.iter().map(lookup).collect::<Result<_>>()?, rng)
    }

    /// Body of a request for these rows by number. A row that does not exist is replaced by another
    /// one.
    ///
    /// # Errors
    /// [`Misuse`] for a table that is queried by key.
    pub fn query_rows(&self, rows: &[u64], rng: &mut dyn CryptoRng) -> Result<(Vec<u8>, PendingRequest)> {
        let Some(count) = self.rows() else {
            return Err(Misuse::Rule("this is a keyword table").into());
        };
        let lookup = |row: &u64| {
            let is_there = *row < count;
            let entry = if is_there { *row as usize } else { 0 };
            PendingLookup { at: 0, entries: vec![entry], hash: None, is_there, opening: None }
        };
        self.request(rows.iter().map(lookup).collect(), rng)
    }

    fn request(
        &self,
        lookups: Vec<PendingLookup>,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Vec<u8>, PendingRequest)> {
        let mut requests = Vec::with_capacity(lookups.len());
        for lookup in &lookups {
            let shape = self.info.shapes.get(lookup.at).ok_or(wrong("has no shards"))?;
            let pir_request = PirRequest {
                shard_index: lookup.at as u32,
                query: Some(self.info.codec.query(&self.secret, shape, &lookup.entries, rng)?),
                evaluation_key_metadata: self.metadata(),
                configuration_hash: self.info.config_id.clone(),
                ..Default::default()
            };
            let pir_request = Some(pir_request);
            requests.push(Request { usecase: self.use_case.clone(), pir_request, ..Default::default() });
        }
        Ok((Requests { requests }.encode_to_vec(), PendingRequest { lookups }))
    }

    /// Recovers the values of the requested keys or rows; `None` for those that the table does not
    /// contain.
    ///
    /// # Errors
    /// [`Peer`](sotto_core::Error::Peer) if this is not an answer to the request; `Unreadable` if a
    /// bucket is damaged, or a sealed row does not open.
    pub fn open(&self, pending: PendingRequest, answer: Bytes) -> Result<Vec<Option<Vec<u8>>>> {
        let answer = Responses::decode(answer).map_err(|why| wrong(why.to_string()))?;
        let (got, want) = (answer.responses.len() as u64, pending.lookups.len() as u64);
        if got != want {
            return Err(PeerMisbehaved::Count { what: "responses", got, want }.into());
        }
        let mut out = Vec::with_capacity(pending.lookups.len());
        for (lookup, response) in pending.lookups.iter().zip(&answer.responses) {
            let (Some(shape), Some(response)) = (self.info.shapes.get(lookup.at), &response.pir_response)
            else {
                return Err(wrong("lacks a response").into());
            };
            let mut entries = self.info.codec.open(&self.secret, shape, &lookup.entries, response)?;
            out.push(match lookup.hash {
                Some(hash) => {
                    let value = found(hash, &entries)?.filter(|_| lookup.is_there);
                    match (value, &lookup.opening) {
                        (Some(sealed), Some(opening)) => {
                            let mut value = opening.open(&sealed).map_err(|_| Error::Unreadable)?;
                            Some(std::mem::take(&mut *value))
                        }
                        (value, _) => value,
                    }
                }
                None => {
                    let row = entries.pop().map(|mut row| std::mem::take(&mut *row)).unwrap_or_default();
                    Some(self.info.form.value(row)?).filter(|_| lookup.is_there)
                }
            });
        }
        Ok(out)
    }
}

/// Context of the hash that derives a generator from a seed.
const CONTEXT: &str = "sotto 2026 apple client keys v1";

/// Seed of a client's keys, and their time of creation. Secret; wiped on drop.
#[derive(Clone)]
pub struct KeySeed {
    seed: Zeroizing<[u8; 32]>,
    made: u64,
}

impl KeySeed {
    /// Draws a new seed. The server identifies keys by their time of creation, in seconds.
    pub fn draw(made: u64, rng: &mut dyn CryptoRng) -> Self {
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(seed.as_mut());
        KeySeed { seed, made }
    }

    /// Makes a seed from its bytes.
    pub fn new(seed: Zeroizing<[u8; 32]>, made: u64) -> Self {
        KeySeed { seed, made }
    }

    /// Bytes of the seed, to be stored. They are secret.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.seed
    }

    /// Time of creation of the keys, as the caller's clock has it.
    pub fn made(&self) -> u64 {
        self.made
    }

    /// Secret key of this seed. The purpose of the keys is part of the derivation, so that no two
    /// configurations share a secret.
    fn secret(&self, codec: &Codec, key_id: &ConfigDigest) -> SecretKey {
        let material = Zeroizing::new([*self.seed, *key_id].concat());
        let key = Zeroizing::new(blake3::derive_key(CONTEXT, &material));
        let mut rng = ChaCha20Rng::from_seed(*key);
        let secret = SecretKey::sample(codec.kit().ring(), &mut rng);
        // Overwrites the whole generator; the black box keeps the optimizer from removing that.
        rng = ChaCha20Rng::from_seed([0; 32]);
        std::hint::black_box(&rng);
        secret
    }
}

/// Prints nothing of the seed.
impl fmt::Debug for KeySeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeySeed(made at {})", self.made)
    }
}
