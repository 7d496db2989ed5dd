//! What a client is told of a table: its configuration, and the keys that it needs.

use crate::codec::Codec;
use crate::keyword::TABLES;
use crate::keyword::table::Shard;
use crate::lengths;
use crate::proto::{
    EvaluationKeyConfig, KeywordPirParameters, PirConfig, PirShardConfig, PirShardConfigs,
    RepeatedShardConfig, Sharding, ShardingFunction, SymmetricPirClientConfig,
};
use crate::sets::Set;
use crate::symmetric::CONFIG_TYPE;
use prost::Message;
use sha2::{Digest, Sha256};
use sotto_bfv::mulpir::{Compression, Shape};
use sotto_oprf::p384::PublicKey;
use std::collections::BTreeSet;

/// MulPIR, as configurations number it.
const MULPIR: i32 = 1;

/// Which fields a configuration has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    /// Every shard is listed, and how keys find theirs is not said: the library's release 1.0.
    First,
    /// Every shard is listed: release 1.1, for clients before iOS 18.2.
    Listed,
    /// Equal shards are told once: release 1.1, from iOS 18.2 on.
    Repeated,
}

/// A digest that names a configuration, or what keys it needs.
pub type Id = [u8; 32];

/// The keys that queries of these shards need.
pub fn key_config(
    set: &Set,
    codec: &Codec,
    shards: &[Shard],
    compression: Compression,
) -> EvaluationKeyConfig {
    let elements = shards.iter().flat_map(|shard| shard.elements(codec, compression));
    let elements: BTreeSet<u32> = elements.map(|element| element as u32).collect();
    EvaluationKeyConfig {
        encryption_parameters: Some(set.message()),
        galois_elements: elements.into_iter().collect(),
        has_relin_key: true,
    }
}

/// What a configuration says of a table besides its shape.
#[derive(Debug, Clone, Copy, Default)]
pub struct Beside {
    /// Entries of an index table have their lengths before them.
    pub has_lengths: bool,
    /// A keyword table is symmetric, with a function whose key has this public half.
    pub oprf: Option<PublicKey>,
}

/// The configuration of a table with these shards: of a keyword table where a query asks for a bucket of each of two tables, and
/// else of an index table.
pub fn config(keys: &EvaluationKeyConfig, shapes: &[Shape], beside: &Beside, dialect: Dialect) -> PirConfig {
    let has_lengths = beside.has_lengths;
    // What comes before a value is not counted.
    let size = |bytes: u64| if has_lengths { lengths::longest(bytes).unwrap_or(bytes) } else { bytes };
    let of = |shape: &Shape| PirShardConfig {
        num_entries: shape.entries() as u64,
        entry_size: size(shape.entry_bytes() as u64),
        dimensions: shape.dimensions().map(|dimension| dimension as u64).to_vec(),
        shard_id: Some(String::new()),
    };
    let first = shapes.first().filter(|first| shapes.iter().all(|shape| shape == *first));
    let repeated = first.filter(|_| dialect == Dialect::Repeated && shapes.len() > 1);
    let batch = shapes.first().map_or(TABLES, Shape::batch);
    let sharding = ShardingFunction { function: Some(Sharding::Sha256(Default::default())) };
    PirConfig {
        encryption_parameters: keys.encryption_parameters.clone(),
        shard_configs: if repeated.is_some() { Vec::new() } else { shapes.iter().map(of).collect() },
        keyword_pir_params: (batch == TABLES).then_some(KeywordPirParameters {
            num_hash_functions: TABLES as u64,
            symmetric_pir_client_config: beside.oprf.map(|key| SymmetricPirClientConfig {
                server_public_key: key.bytes().to_vec().into(),
                config_type: CONFIG_TYPE,
            }),
            sharding_function: (dialect > Dialect::First).then_some(sharding),
        }),
        algorithm: MULPIR,
        batch_size: batch as u64,
        evaluation_key_config_hash: id(keys).to_vec().into(),
        pir_shard_configs: repeated.map(|shape| PirShardConfigs {
            repeated_shard_config: Some(RepeatedShardConfig {
                shard_config: Some(of(shape)),
                shard_count: shapes.len() as u64,
            }),
        }),
        // Older clients do not know the field, and tables without lengths are told as they always were.
        encoding_entry_size: has_lengths.then_some(true),
    }
}

/// The digest of a message: what a configuration and the keys it needs are known by.
pub fn id(message: &impl Message) -> Id {
    Sha256::digest(message.encode_to_vec()).into()
}

/// The dialect of a client, by its header `User-Agent`: `com.apple.ciphermld/1.0 iOS/18.2 ...`.
pub fn dialect(agent: &str) -> Dialect {
    let version = |word: &str| {
        let (system, version) = word.split_once('/')?;
        let mut numbers = version.split('.').map(|number| number.parse::<u32>().ok());
        let version = (numbers.next()??, numbers.next().flatten().unwrap_or(0));
        match system {
            "iOS" => Some(version >= (18, 2)),
            "macOS" => Some(version >= (15, 2)),
            _ => None,
        }
    };
    let repeats = agent.split_whitespace().find_map(version).unwrap_or(false);
    if repeats { Dialect::Repeated } else { Dialect::Listed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dialects_follow_the_system() {
        let of = |system| dialect(&format!("com.apple.ciphermld/1.0 {system} more"));
        for new in ["iOS/18.2", "iOS/18.2.1", "iOS/19", "iOS/26.0", "macOS/15.2"] {
            assert_eq!(of(new), Dialect::Repeated, "{new}");
        }
        for old in ["iOS/18.0", "iOS/18", "iOS/18.1.9", "macOS/15.1", "iOS/x", "", "tvOS/26.1"] {
            assert_eq!(of(old), Dialect::Listed, "{old}");
        }
    }
}
