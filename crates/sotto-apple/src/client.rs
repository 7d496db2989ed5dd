//! The client's half of keyword lookups, as functions from bytes to bytes: what is sent, and what is read of answers.
//!
//! ```text
//! config_request -> /config -> Client::learn    key_request -> /key    ask -> /queries -> open
//! ```
//!
//! A server tells its tables' shapes, so they are looked at before anything is made of them. A request says which shard a key is
//! in, and that is all it says of the key. Until it has left, nothing depends on the key but that.

use crate::codec::Codec;
use crate::config::{Id, id};
use crate::keyword::table::{asked, found};
use crate::keyword::{TABLES, hash, shard};
use crate::proto::{
    ConfigForm, ConfigRequest, ConfigResponse, EncryptionParameters, EvaluationKey, EvaluationKeyMetadata,
    EvaluationKeys, PirConfig, PirRequest, PirShardConfig, Request, Requests, Responses, Sharding,
};
use crate::sets::{SETS, Weak};
use bytes::Bytes;
use prost::Message;
use rand_core::CryptoRng;
use sotto_bfv::mulpir::{Compression, Shape};
use sotto_core::{ParamsError, PeerMisbehaved, Result};
use sotto_lattice::bgv::Secret;

/// Shards of a table at most.
const MOST_SHARDS: u64 = 1 << 16;

/// Selectors of a query at most, which are some ciphertexts.
const MOST_OUTPUTS: usize = 1 << 16;

/// A client of one use case, with a secret of its own.
#[derive(Debug)]
pub struct Client {
    use_case: String,
    codec: Codec,
    shapes: Vec<Shape>,
    config_id: Bytes,
    key_id: Id,
    elements: Vec<usize>,
    /// When the keys were made, as the caller has it: it names them.
    timestamp: u64,
    secret: Secret,
}

/// What a client remembers of a request: of each key its hash, its shard, and the buckets that were asked for.
#[derive(Debug)]
pub struct Pending {
    lookups: Vec<(u64, usize, [usize; TABLES])>,
}

/// The body of a request for the configuration of a use case.
pub fn config_request(use_case: &str) -> Vec<u8> {
    // One identifier without bytes is what phones send that know none.
    ConfigRequest { usecases: vec![use_case.into()], existing_config_ids: vec![Bytes::new()] }.encode_to_vec()
}

impl Client {
    /// A client of what `/config` answered, with a new secret.
    ///
    /// # Errors
    /// [`Params`](sotto_core::Error::Params) if the set is unknown, weak, or fails too often; [`Peer`](sotto_core::Error::Peer)
    /// if this is no configuration of a keyword table, or contradicts itself.
    pub fn learn(
        use_case: &str,
        answer: Bytes,
        weak: Weak,
        timestamp: u64,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let told = ConfigResponse::decode(answer).map_err(|why| wrong(why.to_string()))?;
        let config = told.configs.get(use_case).ok_or(wrong("has not the use case"))?;
        let Some(ConfigForm::PirConfig(pir)) = &config.config else {
            return Err(wrong("has no table").into());
        };
        let set = set(pir.encryption_parameters.as_ref())?;
        let codec = Codec::new(set.kit(weak)?.0)?;
        let keyword = pir.keyword_pir_params.as_ref().ok_or(wrong("is not of a keyword table"))?;
        let function = keyword.sharding_function.as_ref().and_then(|sharding| sharding.function.as_ref());
        let sharded = matches!(function, None | Some(Sharding::Sha256(_)));
        if keyword.num_hash_functions != TABLES as u64 || pir.batch_size != TABLES as u64 || !sharded {
            return Err(wrong("has other hash functions than two, or shards by another").into());
        }
        let shapes = shapes(&codec, pir)?;
        shapes.iter().try_for_each(|shape| codec.check(shape, Compression::None))?;
        let key_id = *pir.evaluation_key_config_hash.as_array().ok_or(wrong("does not name its keys"))?;
        let keys = told.key_info.iter().filter_map(|status| status.key_config.as_ref());
        let keys =
            keys.into_iter().find(|keys| id(*keys) == key_id).ok_or(wrong("does not say which keys"))?;
        let elements: Vec<usize> = keys.galois_elements.iter().map(|element| *element as usize).collect();
        let most = codec.kit().degree();
        if elements.len() > 64 || elements.iter().any(|element| element % 2 == 0 || *element >= 2 * most) {
            return Err(wrong("asks for keys that there are not").into());
        }
        let secret = Secret::sample(codec.kit().ring(), rng);
        let (use_case, config_id) = (use_case.into(), config.config_id.clone());
        Ok(Client { use_case, codec, shapes, config_id, key_id, elements, timestamp, secret })
    }

    fn metadata(&self) -> Option<EvaluationKeyMetadata> {
        let identifier = Bytes::copy_from_slice(&self.key_id);
        Some(EvaluationKeyMetadata { timestamp: self.timestamp, identifier })
    }

    /// The body of a request that hands over the keys.
    pub fn key_request(&self, rng: &mut dyn CryptoRng) -> Vec<u8> {
        let evaluation_key = Some(self.codec.make_keys(&self.secret, &self.elements, rng));
        let key = EvaluationKey { metadata: self.metadata(), evaluation_key };
        EvaluationKeys { keys: vec![key] }.encode_to_vec()
    }

    /// The body of a request for the values of these keys.
    ///
    /// # Errors
    /// None that depends on a key.
    pub fn ask(&self, keys: &[&[u8]], rng: &mut dyn CryptoRng) -> Result<(Vec<u8>, Pending)> {
        let (mut requests, mut lookups) = (Vec::with_capacity(keys.len()), Vec::with_capacity(keys.len()));
        for key in keys {
            let hash = hash(key);
            let at = shard(hash, self.shapes.len());
            let shape = self.shapes.get(at).ok_or(wrong("has no shards"))?;
            let buckets = asked(shape, hash);
            let pir_request = PirRequest {
                shard_index: at as u32,
                query: Some(self.codec.ask(&self.secret, shape, &buckets, rng)?),
                evaluation_key_metadata: self.metadata(),
                configuration_hash: self.config_id.clone(),
                ..Default::default()
            };
            requests.push(Request { usecase: self.use_case.clone(), pir_request: Some(pir_request) });
            lookups.push((hash, at, buckets));
        }
        Ok((Requests { requests }.encode_to_vec(), Pending { lookups }))
    }

    /// The values of the keys that were asked for; `None` for those that the table has not.
    ///
    /// # Errors
    /// [`Peer`](sotto_core::Error::Peer) if this is no answer to the request; `Unreadable` if a bucket is damaged.
    pub fn open(&self, pending: Pending, answer: Bytes) -> Result<Vec<Option<Vec<u8>>>> {
        let answer = Responses::decode(answer).map_err(|why| wrong(why.to_string()))?;
        let (got, want) = (answer.responses.len() as u64, pending.lookups.len() as u64);
        if got != want {
            return Err(PeerMisbehaved::Count { what: "responses", got, want }.into());
        }
        let mut out = Vec::with_capacity(pending.lookups.len());
        for ((hash, at, buckets), response) in pending.lookups.iter().zip(&answer.responses) {
            let (Some(shape), Some(response)) = (self.shapes.get(*at), &response.pir_response) else {
                return Err(wrong("lacks a response").into());
            };
            out.push(found(*hash, &self.codec.open(&self.secret, shape, buckets, response)?)?);
        }
        Ok(out)
    }
}

fn wrong(why: impl Into<String>) -> PeerMisbehaved {
    PeerMisbehaved::Malformed { what: "the server's answer", why: why.into() }
}

fn set(parameters: Option<&EncryptionParameters>) -> Result<crate::sets::Set, ParamsError> {
    let found = SETS.into_iter().find(|set| Some(&set.message()) == parameters);
    found.ok_or_else(|| ParamsError::Field {
        field: "encryption parameters",
        why: format!("must be those of {}", SETS.map(|set| set.name).join(", ")),
    })
}

/// The shape of each shard.
fn shapes(codec: &Codec, config: &PirConfig) -> Result<Vec<Shape>> {
    let repeated = config.pir_shard_configs.as_ref().and_then(|all| all.repeated_shard_config.as_ref());
    let (all, times) = match repeated {
        Some(repeated) => (repeated.shard_config.as_slice(), repeated.shard_count),
        None => (config.shard_configs.as_slice(), 1),
    };
    let count = (all.len() as u64).saturating_mul(times);
    if !(1..=MOST_SHARDS).contains(&count) {
        return Err(wrong("has no shards, or too many").into());
    }
    let shapes = all.iter().map(|told| shape(codec, told)).collect::<Result<Vec<_>>>()?;
    Ok((0..times).flat_map(|_| shapes.iter().copied()).collect())
}

fn shape(codec: &Codec, told: &PirShardConfig) -> Result<Shape> {
    let number = |x: u64| usize::try_from(x).map_err(|_| wrong("has numbers that are too large"));
    let dimensions: &[u64; 2] = told.dimensions.as_array().ok_or(wrong("has not two dimensions"))?;
    let dimensions = [number(dimensions[0])?, number(dimensions[1])?];
    let (entries, bytes) = (number(told.num_entries)?, number(told.entry_size)?);
    let shape = Shape::new(entries, bytes, codec.kit().plaintext_bytes(), dimensions, TABLES)?;
    if shape.outputs() > MOST_OUTPUTS || entries < 2 {
        return Err(wrong("has tables of a shape that is not asked").into());
    }
    Ok(shape)
}
