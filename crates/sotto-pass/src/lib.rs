//! Privacy Pass: tokens that say that a request may be made, and not whose it is.
//!
//! An issuer signs tokens blindly for users that it knows; whoever redeems a token learns that some user of a tier was given it.
//! The tokens are those that anyone can verify, of blind RSA with 2048 bits (RFC 9578 section 6, RFC 9474); a tier of users has a
//! key of its own, and keys are renewed.
//!
//! | module | what lives there |
//! |---|---|
//! | [`message`] | challenges, requests and tokens as bytes |
//! | [`key`] | one key of the issuer, and what it is known by |
//! | [`ring`] | all its keys: which one signs, which ones still count, when another is made |
//! | [`users`] | who may have tokens, and of which tier: a file |
//! | [`ledger`] | what must not be forgotten: keys, spent tokens, how many each user was given |
//! | [`pass`](mod@pass) | the issuer's requests and the check of a token, as functions |
//! | [`client`] | what a client sends, and how it comes by a token |
//!
//! No socket and no clock is here: times come in as seconds since 1970, and what lasts is in the caller's [`ledger::Ledger`].
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
