//! Ciphertexts, keys and their parameters.

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
pub struct SerializedSecretKey {
    #[prost(bytes = "vec", tag = "1")]
    pub polys: Vec<u8>,
}
