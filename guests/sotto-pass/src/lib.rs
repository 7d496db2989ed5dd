//! Privacy Pass: tokens that prove that a request is allowed, without revealing whose request it
//! is.
//!
//! ```
//! use sotto_pass::client::{Client, header};
//! use sotto_pass::ledger::MemoryLedger;
//! use sotto_pass::message::challenge;
//! use sotto_pass::{Issuer, IssuerKeys, RotationSchedule, UserTiers};
//!
//! // An issuer that knows one user, and gives out three tokens for each key.
//! let (now, ledger, rng) = (1000, MemoryLedger::default(), &mut sotto_prg::system_rng()?);
//! let users = UserTiers::parse("free ann")?;
//! let schedule = RotationSchedule { every: 100, after: 50, before: 10 };
//! let ring = IssuerKeys::open(schedule, &ledger)?.turned(users.tiers(), now, &ledger, rng)?;
//! let issuer = Issuer { ring, users, max_issued: 3, issue_uri: "/issue".into(), issuer: None };
//!
//! // Ann gets a token, which the issuer signs without seeing it.
//! let ann = Some("Bearer ann");
//! let key = issuer.key_for(ann, now).unwrap();
//! let client = Client::new(key, &issuer.directory(now), &challenge("issuer.example"), now)?;
//! let (request, pending) = client.request(rng)?;
//! let response = issuer.issue(ann, &request, now, &ledger, rng).unwrap();
//! let token = header(&client.finish(pending, &response)?);
//!
//! // It says the tier of its user and nothing else, and counts once.
//! assert_eq!(issuer.redeem(Some(&token), now, &ledger).unwrap(), "free");
//! assert!(issuer.redeem(Some(&token), now, &ledger).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An issuer signs tokens blindly for users that it knows; whoever redeems a token learns only that
//! some user of a tier was given it. Tokens are publicly verifiable, with blind RSA of 2048 bits
//! (RFC 9578 section 6, RFC 9474). Each tier of users has a key of its own, and keys are rotated.
//!
//! | module | contents |
//! |---|---|
//! | [`message`] | challenges, requests and tokens as bytes |
//! | [`key`] | keys of an issuer, and their ids |
//! | [`issuer_keys`] | keys over time: which one signs, which ones are still accepted, when another is made |
//! | [`users`] | the file of users who may have tokens, and their tiers |
//! | [`ledger`] | durable data: keys, spent tokens, how many tokens each user was given |
//! | [`issuer`](mod@issuer) | requests to the issuer, and the verification of tokens, as functions |
//! | [`client`] | requests tokens, and spends them |
//!
//! This crate has no sockets and no clock: times are arguments in seconds since 1970, and durable
//! data is in the caller's [`ledger::Ledger`].
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod client;
pub mod issuer;
pub mod issuer_keys;
pub mod key;
pub mod ledger;
pub mod message;
pub mod users;

pub use issuer::{Issuer, Refusal};
pub use issuer_keys::{IssuerKeys, RotationSchedule};
pub use ledger::{Ledger, LedgerError};
pub use users::UserTiers;
