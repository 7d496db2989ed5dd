//! What crosses the network: routes, frames, limits, refusals. Shared by both ends, so that they cannot
//! disagree. Every byte is drawn in `spec/wire.md`.
//!
//! | module | what lives there |
//! |---|---|
//! | [`routes`] | paths and header names |
//! | [`pin`] | the fixed head of every frame: server, epoch, parameters |
//! | [`query`] | queries, on their way to a server |
//! | [`answer`] | answers, on their way back |
//! | [`stream`] | one query, and the units of its record, one after the other |
//! | [`keys`] | a client's keys, and the session id they are exchanged for |
//! | [`order`] | hints that one of the servers makes: an order, and what it is answered with |
//! | [`evaluate`] | evaluations of a symmetric table's function: blinded elements, and what they are answered with |
//! | [`sizes`] | how large a body may be, known before its first byte |
//! | [`problem`] | refusals: a stable code, whose fault, what to do |
//! | [`timing`] | how long the server took, as a header |
//!
//! No length is read from the wire. A frame's count and the parameters fix its size; a frame of any other
//! size is refused.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod answer;
pub mod evaluate;
mod fields;
pub mod frame;
pub mod hints;
pub mod keys;
pub mod problem;
pub mod query;
pub mod routes;
pub mod sizes;
pub mod stream;
pub mod timing;

pub use frame::{FrameError, FrameHeader};
pub use keys::SessionId;
pub use problem::{Code, Problem};
pub use sizes::MessageSizes;
pub use timing::Timing;
