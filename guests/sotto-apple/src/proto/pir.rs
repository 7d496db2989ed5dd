//! Queries, responses, and the parameters of tables.

use super::he::{EncryptionParameters, EvaluationKeyConfig, SerializedCiphertext, SerializedCiphertextVec};
use bytes::Bytes;
use prost::{Message, Oneof};

#[derive(Clone, PartialEq, Message)]
pub struct EncryptedIndices {
    #[prost(message, repeated, tag = "1")]
    pub ciphertexts: Vec<SerializedCiphertext>,
    #[prost(uint64, tag = "2")]
    pub num_pir_calls: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct PirResponse {
    #[prost(message, repeated, tag = "1")]
    pub replies: Vec<SerializedCiphertextVec>,
}

#[derive(Clone, PartialEq, Message)]
pub struct KeywordPirParameters {
    #[prost(uint64, tag = "1")]
    pub num_hash_functions: u64,
    #[prost(message, optional, tag = "3")]
    pub symmetric_pir_client_config: Option<SymmetricPirClientConfig>,
    #[prost(message, optional, tag = "4")]
    pub sharding_function: Option<ShardingFunction>,
}

#[derive(Clone, PartialEq, Message)]
pub struct SymmetricPirClientConfig {
    #[prost(bytes = "bytes", tag = "1")]
    pub server_public_key: Bytes,
    #[prost(int32, tag = "2")]
    pub config_type: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct ShardingFunction {
    #[prost(oneof = "Sharding", tags = "1, 2")]
    pub function: Option<Sharding>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum Sharding {
    #[prost(message, tag = "1")]
    Sha256(Empty),
    #[prost(message, tag = "2")]
    DoubleMod(DoubleMod),
}

#[derive(Clone, PartialEq, Message)]
pub struct Empty {}

#[derive(Clone, PartialEq, Message)]
pub struct DoubleMod {
    #[prost(uint32, tag = "1")]
    pub other_shard_count: u32,
}

#[derive(Clone, PartialEq, Message)]
pub struct PirParameters {
    #[prost(message, optional, tag = "1")]
    pub encryption_parameters: Option<EncryptionParameters>,
    #[prost(uint64, tag = "2")]
    pub num_entries: u64,
    #[prost(uint64, tag = "3")]
    pub entry_size: u64,
    #[prost(uint64, repeated, tag = "4")]
    pub dimensions: Vec<u64>,
    #[prost(message, optional, tag = "5")]
    pub keyword_pir_params: Option<KeywordPirParameters>,
    #[prost(int32, tag = "6")]
    pub algorithm: i32,
    #[prost(uint64, tag = "7")]
    pub batch_size: u64,
    #[prost(message, optional, tag = "8")]
    pub evaluation_key_config: Option<EvaluationKeyConfig>,
    #[prost(int32, tag = "9")]
    pub key_compression_strategy: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct PirShardConfig {
    #[prost(uint64, tag = "1")]
    pub num_entries: u64,
    #[prost(uint64, tag = "2")]
    pub entry_size: u64,
    #[prost(uint64, repeated, tag = "3")]
    pub dimensions: Vec<u64>,
    #[prost(string, optional, tag = "4")]
    pub shard_id: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct RepeatedShardConfig {
    #[prost(message, optional, tag = "1")]
    pub shard_config: Option<PirShardConfig>,
    #[prost(uint64, tag = "2")]
    pub shard_count: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct PirShardConfigs {
    #[prost(message, optional, tag = "1")]
    pub repeated_shard_config: Option<RepeatedShardConfig>,
}

#[derive(Clone, PartialEq, Message)]
pub struct PirConfig {
    #[prost(message, optional, tag = "1")]
    pub encryption_parameters: Option<EncryptionParameters>,
    #[prost(message, repeated, tag = "2")]
    pub shard_configs: Vec<PirShardConfig>,
    #[prost(message, optional, tag = "3")]
    pub keyword_pir_params: Option<KeywordPirParameters>,
    #[prost(int32, tag = "4")]
    pub algorithm: i32,
    #[prost(uint64, tag = "5")]
    pub batch_size: u64,
    #[prost(bytes = "bytes", tag = "6")]
    pub evaluation_key_config_hash: Bytes,
    #[prost(message, optional, tag = "10")]
    pub pir_shard_configs: Option<PirShardConfigs>,
    #[prost(bool, optional, tag = "11")]
    pub encoding_entry_size: Option<bool>,
}
