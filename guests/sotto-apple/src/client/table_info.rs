//! A server's description of a use case, which is checked before anything is computed from it.

use super::shards::ShardFunction;
use crate::codec::Codec;
use crate::config::{ConfigDigest, id};
use crate::keyword::TABLES;
use crate::length_prefix;
use crate::proto::{
    ConfigForm, ConfigResponse, EncryptionParameters, KeyStatus, PirConfig, PirShardConfig, Sharding,
    SymmetricPirClientConfig,
};
use crate::sets::{SETS, WeakParams};
use crate::symmetric::CONFIG_TYPE;
use bytes::Bytes;
use prost::Message;
use sotto_bfv::mulpir::{Compression, EntryShape};
use sotto_catalog::RowForm;
use sotto_core::{ParamsError, PeerMisbehaved, Result};
use sotto_oprf::p384::PublicKey;

/// Largest number of shards of a table.
const MAX_SHARDS: u64 = 1 << 16;

/// Largest number of selectors of a query, which are a few ciphertexts.
const MAX_OUTPUTS: usize = 1 << 16;

/// Description of the table, and of the keys that it needs.
#[derive(Debug)]
pub(super) struct TableInfo {
    pub(super) codec: Codec,
    pub(super) shapes: Vec<EntryShape>,
    /// Function from keys to shards; `None` where rows are requested by number.
    pub(super) shard_function: Option<ShardFunction>,
    /// Form of rows by number in entries.
    pub(super) form: RowForm,
    /// Public key under which evaluations are proved, for a symmetric table.
    pub(super) oprf: Option<PublicKey>,
    pub(super) config_id: Bytes,
    pub(super) key_id: ConfigDigest,
    pub(super) elements: Vec<usize>,
    /// Time of creation of the keys that the server has, or 0.
    pub(super) there: u64,
}

impl TableInfo {
    pub(super) fn read(use_case: &str, answer: Bytes, weak: WeakParams) -> Result<Self> {
        let response = ConfigResponse::decode(answer).map_err(|why| wrong(why.to_string()))?;
        let config = response.configs.get(use_case).ok_or(wrong("lacks the use case"))?;
        let Some(ConfigForm::PirConfig(pir)) = &config.config else {
            return Err(wrong("has no table").into());
        };
        let set = set(pir.encryption_parameters.as_ref())?;
        let codec = Codec::new(set.kit(weak)?.0)?;
        // Entries that a query requests: in a keyword table as many as keys have hash functions.
        let batch = match &pir.keyword_pir_params {
            Some(keyword) if (1..=TABLES as u64).contains(&keyword.num_hash_functions) => {
                keyword.num_hash_functions as usize
            }
            Some(_) => return Err(wrong("has a number of hash functions other than one or two").into()),
            None => 1,
        };
        let is_keyed = pir.keyword_pir_params.is_some();
        let symmetric =
            pir.keyword_pir_params.as_ref().and_then(|it| it.symmetric_pir_client_config.as_ref());
        let oprf = symmetric.map(oprf).transpose()?;
        if pir.batch_size != batch as u64 {
            return Err(wrong("requests another number of entries in one query").into());
        }
        let has_lengths = pir.encoding_entry_size.unwrap_or(false);
        if has_lengths && is_keyed {
            return Err(wrong("has row lengths in a keyword table, whose buckets hold them already").into());
        }
        let shapes = shapes(&codec, pir, batch, has_lengths)?;
        if !is_keyed && shapes.len() > 1 {
            return Err(wrong("has an index table in several shards").into());
        }
        let shard_function = pir.keyword_pir_params.as_ref().map(|keyword| {
            let function = keyword.sharding_function.as_ref().and_then(|sharding| sharding.function.as_ref());
            shard_function(function, shapes.len() as u64, oprf.as_ref())
        });
        let shard_function = shard_function.transpose()?;
        shapes.iter().try_for_each(|shape| codec.check(shape, Compression::None))?;
        let key_id = *pir.evaluation_key_config_hash.as_array().ok_or(wrong("does not name its keys"))?;
        let of = |status: &KeyStatus| status.key_config.as_ref().is_some_and(|keys| id(keys) == key_id);
        let status =
            response.key_info.iter().find(|status| of(status)).ok_or(wrong("does not say which keys"))?;
        let keys = status.key_config.as_ref().ok_or(wrong("does not say which keys"))?;
        let elements: Vec<usize> = keys.galois_elements.iter().map(|element| *element as usize).collect();
        let most = codec.kit().degree();
        if elements.len() > 64 || elements.iter().any(|element| element % 2 == 0 || *element >= 2 * most) {
            return Err(wrong("requests unknown keys").into());
        }
        let config_id = config.config_id.clone();
        let longest = shapes.first().and_then(|shape| length_prefix::longest(shape.entry_bytes() as u64));
        let form = longest.filter(|_| has_lengths).map_or(RowForm::Whole, length_prefix::form);
        let there = status.timestamp;
        Ok(TableInfo { codec, shapes, shard_function, form, oprf, config_id, key_id, elements, there })
    }
}

pub(super) fn wrong(why: impl Into<String>) -> PeerMisbehaved {
    PeerMisbehaved::Malformed { what: "the server's answer", why: why.into() }
}

fn set(parameters: Option<&EncryptionParameters>) -> Result<crate::sets::ParamsSet, ParamsError> {
    let found = SETS.into_iter().find(|set| Some(&set.message()) == parameters);
    found.ok_or_else(|| ParamsError::Field {
        field: "encryption parameters",
        why: format!("must be those of {}", SETS.map(|set| set.name).join(", ")),
    })
}

/// Public key of a symmetric table's function, of the only kind that is supported.
fn oprf(config: &SymmetricPirClientConfig) -> Result<PublicKey> {
    if config.config_type != CONFIG_TYPE {
        return Err(wrong("is symmetric in a way that this build does not know: upgrade sotto").into());
    }
    let key = PublicKey::from_bytes(&config.server_public_key);
    Ok(key.map_err(|_| wrong("has a public key that is not an element of the group"))?)
}

/// Function from keys to shards. If the configuration does not name one, it is that of the
/// library's first release.
fn shard_function(
    sharding: Option<&Sharding>,
    count: u64,
    oprf: Option<&PublicKey>,
) -> Result<ShardFunction> {
    let modulus = match sharding {
        None | Some(Sharding::Sha256(_)) => count,
        Some(Sharding::DoubleMod(mods)) if mods.other_shard_count > 0 => mods.other_shard_count.into(),
        Some(Sharding::DoubleMod(_)) => {
            return Err(wrong("has shards like those of a table without shards").into());
        }
    };
    Ok(ShardFunction::new(oprf, modulus, count))
}

/// Shapes of the shards.
fn shapes(codec: &Codec, config: &PirConfig, batch: usize, has_lengths: bool) -> Result<Vec<EntryShape>> {
    let repeated = config.pir_shard_configs.as_ref().and_then(|all| all.repeated_shard_config.as_ref());
    let (all, times) = match repeated {
        Some(repeated) => (repeated.shard_config.as_slice(), repeated.shard_count),
        None => (config.shard_configs.as_slice(), 1),
    };
    let count = (all.len() as u64).saturating_mul(times);
    if !(1..=MAX_SHARDS).contains(&count) {
        return Err(wrong("has no shards, or too many").into());
    }
    let shapes =
        all.iter().map(|shard| shape(codec, shard, batch, has_lengths)).collect::<Result<Vec<_>>>()?;
    Ok((0..times).flat_map(|_| shapes.iter().copied()).collect())
}

fn shape(codec: &Codec, shard: &PirShardConfig, batch: usize, has_lengths: bool) -> Result<EntryShape> {
    let number = |x: u64| usize::try_from(x).map_err(|_| wrong("has numbers that are too large"));
    let dimensions: &[u64; 2] = shard.dimensions.as_array().ok_or(wrong("has other than two dimensions"))?;
    let dimensions = [number(dimensions[0])?, number(dimensions[1])?];
    let bytes = match has_lengths {
        true => {
            length_prefix::entry_bytes(shard.entry_size).ok_or(wrong("has numbers that are too large"))?
        }
        false => shard.entry_size,
    };
    let (entries, bytes) = (number(shard.num_entries)?, number(bytes)?);
    let shape = EntryShape::new(entries, bytes, codec.kit().plaintext_bytes(), dimensions, batch)?;
    if shape.outputs() > MAX_OUTPUTS || entries < batch {
        return Err(wrong("has tables of an unsupported shape").into());
    }
    Ok(shape)
}
