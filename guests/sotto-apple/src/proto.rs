//! Protobuf messages, field by field: proto3, written by hand from the field numbers.
//!
//! They name bytes and check nothing. Code that decodes a message limits its size before, and
//! checks its contents afterwards.
#![allow(missing_docs, reason = "fields are what their protocol calls them")]

use bytes::Bytes;
use prost::{Message, Oneof};
use std::collections::BTreeMap;

#[derive(Clone, PartialEq, Message)]
pub struct EncryptionParameters {
    #[prost(uint64, tag = "1")]
    pub polynomial_degree: u64,
    #[prost(uint64, tag = "2")]
    pub plaintext_modulus: u64,
    #[prost(uint64, repeated, tag = "3")]
    pub coefficient_moduli: Vec<u64>,
    #[prost(int32, tag = "4")]
    pub error_std_dev: i32,
    #[prost(int32, tag = "5")]
    pub security_level: i32,
    #[prost(int32, tag = "6")]
    pub he_scheme: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct EvaluationKeyConfig {
    #[prost(message, optional, tag = "1")]
    pub encryption_parameters: Option<EncryptionParameters>,
    #[prost(uint32, repeated, tag = "2")]
    pub galois_elements: Vec<u32>,
    #[prost(bool, tag = "3")]
    pub has_relin_key: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct SerializedCiphertext {
    #[prost(oneof = "CiphertextForm", tags = "1, 2")]
    pub form: Option<CiphertextForm>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum CiphertextForm {
    #[prost(message, tag = "1")]
    Seeded(SeededCiphertext),
    #[prost(message, tag = "2")]
    Full(FullCiphertext),
}

#[derive(Clone, PartialEq, Message)]
pub struct SeededCiphertext {
    #[prost(bytes = "bytes", tag = "1")]
    pub poly0: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub seed: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub struct FullCiphertext {
    #[prost(bytes = "bytes", tag = "1")]
    pub polys: Bytes,
    #[prost(uint32, repeated, tag = "2")]
    pub skip_lsbs: Vec<u32>,
    #[prost(uint64, tag = "3")]
    pub correction_factor: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct SerializedCiphertextVec {
    #[prost(message, repeated, tag = "1")]
    pub ciphertexts: Vec<SerializedCiphertext>,
}

#[derive(Clone, PartialEq, Message)]
pub struct SerializedKeySwitchKey {
    #[prost(message, optional, tag = "1")]
    pub key_switch_key: Option<SerializedCiphertextVec>,
}

#[derive(Clone, PartialEq, Message)]
pub struct SerializedGaloisKey {
    #[prost(btree_map = "uint64, message", tag = "1")]
    pub key_switch_keys: BTreeMap<u64, SerializedKeySwitchKey>,
}

#[derive(Clone, PartialEq, Message)]
pub struct SerializedRelinKey {
    #[prost(message, optional, tag = "1")]
    pub relin_key: Option<SerializedKeySwitchKey>,
}

#[derive(Clone, PartialEq, Message)]
pub struct SerializedEvaluationKey {
    #[prost(message, optional, tag = "1")]
    pub galois_key: Option<SerializedGaloisKey>,
    #[prost(message, optional, tag = "2")]
    pub relin_key: Option<SerializedRelinKey>,
}

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

#[derive(Clone, PartialEq, Message)]
pub struct ConfigRequest {
    #[prost(string, repeated, tag = "1")]
    pub usecases: Vec<String>,
    #[prost(bytes = "bytes", repeated, tag = "2")]
    pub existing_config_ids: Vec<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Config {
    #[prost(oneof = "ConfigForm", tags = "1, 4")]
    pub config: Option<ConfigForm>,
    #[prost(bytes = "bytes", tag = "3")]
    pub config_id: Bytes,
}

#[derive(Clone, PartialEq, Oneof)]
#[expect(clippy::large_enum_variant, reason = "there are as many as use cases")]
pub enum ConfigForm {
    #[prost(message, tag = "1")]
    PirConfig(PirConfig),
    #[prost(bool, tag = "4")]
    ReuseExistingConfig(bool),
}

#[derive(Clone, PartialEq, Message)]
pub struct ConfigResponse {
    #[prost(btree_map = "string, message", tag = "1")]
    pub configs: BTreeMap<String, Config>,
    #[prost(message, repeated, tag = "2")]
    pub key_info: Vec<KeyStatus>,
}

#[derive(Clone, PartialEq, Message)]
pub struct KeyStatus {
    #[prost(uint64, tag = "1")]
    pub timestamp: u64,
    #[prost(message, optional, tag = "2")]
    pub key_config: Option<EvaluationKeyConfig>,
}

#[derive(Clone, PartialEq, Message)]
pub struct EvaluationKeyMetadata {
    #[prost(uint64, tag = "1")]
    pub timestamp: u64,
    #[prost(bytes = "bytes", tag = "2")]
    pub identifier: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub struct EvaluationKey {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<EvaluationKeyMetadata>,
    #[prost(message, optional, tag = "2")]
    pub evaluation_key: Option<SerializedEvaluationKey>,
}

#[derive(Clone, PartialEq, Message)]
pub struct EvaluationKeys {
    #[prost(message, repeated, tag = "1")]
    pub keys: Vec<EvaluationKey>,
}

#[derive(Clone, PartialEq, Message)]
pub struct PirRequest {
    #[prost(uint32, tag = "1")]
    pub shard_index: u32,
    #[prost(message, optional, tag = "2")]
    pub query: Option<EncryptedIndices>,
    #[prost(message, optional, tag = "3")]
    pub evaluation_key_metadata: Option<EvaluationKeyMetadata>,
    #[prost(bytes = "bytes", tag = "4")]
    pub configuration_hash: Bytes,
    #[prost(string, optional, tag = "5")]
    pub shard_id: Option<String>,
    #[prost(message, optional, tag = "6")]
    pub evaluation_key: Option<EvaluationKey>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Request {
    #[prost(string, tag = "1")]
    pub usecase: String,
    #[prost(message, optional, tag = "2")]
    pub pir_request: Option<PirRequest>,
    #[prost(message, optional, tag = "4")]
    pub oprf_request: Option<OprfRequest>,
}

#[derive(Clone, PartialEq, Message)]
pub struct OprfRequest {
    #[prost(bytes = "bytes", tag = "1")]
    pub query_element: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub config_id: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub struct Requests {
    #[prost(message, repeated, tag = "1")]
    pub requests: Vec<Request>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Response {
    #[prost(message, optional, tag = "1")]
    pub pir_response: Option<PirResponse>,
    #[prost(message, optional, tag = "3")]
    pub oprf_response: Option<OprfResponse>,
}

#[derive(Clone, PartialEq, Message)]
pub struct OprfResponse {
    #[prost(bytes = "bytes", tag = "1")]
    pub evaluated_element: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub proof: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub struct Responses {
    #[prost(message, repeated, tag = "1")]
    pub responses: Vec<Response>,
}

/// Report of a device about addresses that its filter has blocked.
#[derive(Clone, PartialEq, Message)]
pub struct UrlFilterReport {
    #[prost(string, repeated, tag = "1")]
    pub urls: Vec<String>,
}
