//! Oblivious HTTP (RFC 9458): a client encrypts a whole request for a gateway, and a relay passes it on. The relay learns who
//! asks and not what; the gateway learns what is asked and not who asks.
//!
//! | module | what lives there |
//! |---|---|
//! | [`binary`] | requests and responses as bytes (RFC 9292) |
//! | [`config`] | what a gateway says of its keys |
//! | [`suite`] | what a message is sealed with |
//! | [`gateway`] | its half: opens requests, seals responses |
//! | [`ring`] | its keys over time, and as a file |
//! | [`client`] | the other half |
//! | [`seen`] | which requests came before, in bounded memory |
//!
//! No socket and no clock is here. Keys come in as bytes, and randomness as a generator.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod bhttp;
pub mod client;
pub mod config;
pub mod gateway;
pub mod gateway_keys;
pub mod replay_filter;
pub mod suite;

/// The media type of what a client sends.
pub const REQUEST_TYPE: &str = "message/ohttp-req";
/// The media type of what it gets.
pub const RESPONSE_TYPE: &str = "message/ohttp-res";
/// The media type of a gateway's keys.
pub const KEYS_TYPE: &str = "application/ohttp-keys";
/// Where a gateway is, if nothing else says so (RFC 9540).
pub const WELL_KNOWN: &str = "/.well-known/ohttp-gateway";
/// The type of the problem that a gateway has with a key that it does not know (RFC 9458, section 5.3).
pub const KEY_PROBLEM: &str = "https://iana.org/assignments/http-problem-types#ohttp-key";
