//! Oblivious HTTP (RFC 9458): a client encrypts a whole request for a gateway, and a relay forwards
//! it. The relay learns who asks and not what; the gateway learns what is asked and not who asks.
//!
//! ```
//! use sotto_ohttp::client;
//! use sotto_ohttp::gateway::{self, GatewayKey};
//! use sotto_testkit::rng::seeded;
//!
//! // A client encrypts a request for the gateway's key.
//! let rng = &mut seeded("example");
//! let key = GatewayKey::generate(1, rng).ok_or("no key was drawn")?;
//! let (request, pending) = client::seal(&key.config(), b"a request", rng)?;
//!
//! // The gateway opens what a relay has passed on, and encrypts the response for that client.
//! let opened = gateway::open([&key].into_iter(), &request)?;
//! assert_eq!(opened.plain, b"a request");
//! let response = opened.reply.seal(b"a response", rng).ok_or("too long")?;
//! assert_eq!(pending.open(&response)?, b"a response");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`bhttp`] | requests and responses as bytes (RFC 9292) |
//! | [`config`] | key configurations that a gateway publishes |
//! | [`suite`] | the ciphersuites of HPKE |
//! | [`gateway`] | the gateway's side: opens requests, seals responses |
//! | [`gateway_keys`] | a gateway's keys over time, and as a file |
//! | [`client`] | the client's side: seals requests, opens responses |
//! | [`replay_filter`] | recent requests, in bounded memory, to refuse copies |
//!
//! This crate has no sockets and no clock. Keys are arguments as bytes, and randomness is a
//! generator.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod bhttp;
pub mod client;
pub mod config;
pub mod gateway;
pub mod gateway_keys;
pub mod replay_filter;
pub mod suite;

/// Media type of an encapsulated request.
pub const REQUEST_TYPE: &str = "message/ohttp-req";
/// Media type of an encapsulated response.
pub const RESPONSE_TYPE: &str = "message/ohttp-res";
/// Media type of a gateway's key configurations.
pub const KEYS_TYPE: &str = "application/ohttp-keys";
/// Path of a gateway, unless configured otherwise (RFC 9540).
pub const WELL_KNOWN: &str = "/.well-known/ohttp-gateway";
/// Type of the problem that a gateway reports for an unknown key (RFC 9458, section 5.3).
pub const KEY_PROBLEM: &str = "https://iana.org/assignments/http-problem-types#ohttp-key";
