//! Configurations of tables for clients, and the keys that they require.

use crate::codec::Codec;
use crate::keyword::TABLES;
use crate::keyword::table::Shard;
use crate::length_prefix;
use crate::proto::{
    EvaluationKeyConfig, KeywordPirParameters, PirConfig, PirShardConfig, PirShardConfigs,
    RepeatedShardConfig, Sharding, ShardingFunction, SymmetricPirClientConfig,
};
use crate::sets::ParamsSet;
use crate::symmetric::CONFIG_TYPE;
use prost::Message;
use sha2::{Digest, Sha256};
use sotto_bfv::mulpir::{Compression, EntryShape};
use sotto_oprf::p384::PublicKey;
use std::collections::BTreeSet;

/// Number of MulPIR in configurations.
const MULPIR: i32 = 1;

/// Dialect of a configuration, which says which fields it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigDialect {
    /// Every shard is listed: release 1.1, for clients before iOS 18.2.
    ShardList,
    /// Equal shards are described once: release 1.1, from iOS 18.2 on.
    RepeatedShard,
}

/// Digest that identifies a configuration, or the keys that it requires.
pub type ConfigDigest = [u8; 32];

/// Keys that queries of these shards require.
pub fn key_config(
    set: &ParamsSet,
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

/// Properties of a table in its configuration, apart from its shape.
#[derive(Debug, Clone, Copy, Default)]
pub struct ConfigExtras {
    /// Whether entries of an index table follow their lengths.
    pub has_lengths: bool,
    /// Public key of the function, if this is a symmetric keyword table.
    pub oprf: Option<PublicKey>,
}

/// Configuration of a table with these shards. It is a keyword table if a query requests a bucket
/// of each of two tables, and otherwise an index table.
pub fn config(
    keys: &EvaluationKeyConfig,
    shapes: &[EntryShape],
    beside: &ConfigExtras,
    dialect: ConfigDialect,
) -> PirConfig {
    let has_lengths = beside.has_lengths;
    // The length before a value is not counted.
    let size = |bytes: u64| if has_lengths { length_prefix::longest(bytes).unwrap_or(bytes) } else { bytes };
    let of = |shape: &EntryShape| PirShardConfig {
        num_entries: shape.entries() as u64,
        entry_size: size(shape.entry_bytes() as u64),
        dimensions: shape.dimensions().map(|dimension| dimension as u64).to_vec(),
        shard_id: Some(String::new()),
    };
    let first = shapes.first().filter(|first| shapes.iter().all(|shape| shape == *first));
    let repeated = first.filter(|_| dialect == ConfigDialect::RepeatedShard && shapes.len() > 1);
    let batch = shapes.first().map_or(TABLES, EntryShape::batch);
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
            sharding_function: Some(sharding),
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
        // Older clients do not know the field, so it is omitted for tables without lengths.
        encoding_entry_size: has_lengths.then_some(true),
    }
}

/// Digest of a message, which identifies a configuration or the keys that it requires.
pub fn id(message: &impl Message) -> ConfigDigest {
    Sha256::digest(message.encode_to_vec()).into()
}

/// Dialect of a client, by its `User-Agent` header: `com.apple.ciphermld/1.0 iOS/18.2 ...` on
/// phones, and `com.apple.ciphermld/1.2 (Macintosh; OS X 15.2; ...)` on Macs. An unknown system is
/// treated as a new one.
pub fn dialect(agent: &str) -> ConfigDialect {
    let is_new = |text: &str, least: (u32, u32)| {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let mut numbers =
            text.get(..end).unwrap_or_default().split('.').map(|number| number.parse::<u32>().ok());
        Some((numbers.next()??, numbers.next().flatten().unwrap_or(0)) >= least)
    };
    let after = |name: &str| agent.split_once(name).map(|(_, rest)| rest);
    let phone = after("iOS/").and_then(|version| is_new(version, (18, 2)));
    let mac = || after("Macintosh; OS X ").and_then(|version| is_new(version, (15, 2)));
    match phone.or_else(mac) {
        Some(false) => ConfigDialect::ShardList,
        Some(true) | None => ConfigDialect::RepeatedShard,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dialects_follow_the_system() {
        let phone = |system| dialect(&format!("com.apple.ciphermld/1.0 iOS/{system} more"));
        let mac =
            |system| dialect(&format!("com.apple.ciphermld/1.2 (Macintosh; OS X {system}; 24C101) more"));
        for new in ["18.2", "18.2.1", "18.10", "19", "26.0", "x"] {
            assert_eq!(phone(new), ConfigDialect::RepeatedShard, "iOS {new}");
        }
        for old in ["18.0", "18", "18.1.9", "17.6"] {
            assert_eq!(phone(old), ConfigDialect::ShardList, "iOS {old}");
        }
        for new in ["15.2", "15.2.1", "26.1", "x"] {
            assert_eq!(mac(new), ConfigDialect::RepeatedShard, "macOS {new}");
        }
        for old in ["15.0", "15", "15.1.1"] {
            assert_eq!(mac(old), ConfigDialect::ShardList, "macOS {old}");
        }
        for unknown in
            ["", "com.apple.ciphermld/1.0 tvOS/26.1", "com.apple.ciphermld/1.0 macOS/15.1", "curl/8"]
        {
            assert_eq!(dialect(unknown), ConfigDialect::RepeatedShard, "{unknown}");
        }
    }
}
