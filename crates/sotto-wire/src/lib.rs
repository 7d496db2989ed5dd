//! The wire protocol: routes, frames, size limits, refusals. Client and server share this crate, so
//! that they cannot disagree. `spec/wire.md` specifies every byte.
//!
//! ```
//! use sotto_core::{Epoch, ParamsDigest};
//! use sotto_wire::query::{self, QueryHead};
//! use sotto_wire::{FrameError, FrameHeader, SessionId};
//!
//! // Two queries of 16 bytes for the first server, about the third epoch.
//! let pin = FrameHeader { server: 0, epoch: Epoch(3), digest: ParamsDigest([1; 32]) };
//! let body = query::encode(&pin, &SessionId::NONE, &[[7; 16], [8; 16]])?;
//!
//! let head = QueryHead::parse(&body)?;
//! assert_eq!((head.pin, head.count), (pin, 2));
//! assert_eq!(head.queries(&body, 16)?, [[7; 16], [8; 16]]);
//!
//! // The server has moved on: the client is told so.
//! let newer = FrameHeader { epoch: Epoch(4), ..pin };
//! assert!(matches!(newer.check(&head.pin), Err(FrameError::Epoch { .. })));
//! # Ok::<(), FrameError>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`routes`] | paths and header names |
//! | [`frame`] | the fixed head of every frame: server, epoch, parameters |
//! | [`query`] | query requests |
//! | [`answer`] | answers |
//! | [`stream`] | one query, and the units of its record, one after the other |
//! | [`keys`] | a client's evaluation keys, and the session id that a server returns for them |
//! | [`hints`] | hint requests and hint responses |
//! | [`evaluate`] | evaluations of a symmetric table's function: blinded elements, and the server's response |
//! | [`sizes`] | the largest size of a body, known before its first byte |
//! | [`problem`] | refusals: a stable code, whose fault, what to do |
//! | [`timing`] | the server's time, as a header |
//!
//! No length is read from the wire. A frame's count and the parameters fix its size; a frame of any
//! other size is refused.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod answer;
pub mod evaluate;
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
pub use problem::{Problem, ProblemCode};
pub use sizes::MessageSizes;
pub use timing::Timing;
