//! Messages over HTTP: configurations, keys, requests.

use super::he::{EvaluationKeyConfig, SerializedEvaluationKey};
use super::pir::{EncryptedIndices, PirConfig, PirResponse};
use bytes::Bytes;
use prost::{Message, Oneof};
use std::collections::BTreeMap;

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
