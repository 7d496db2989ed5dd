//! Plans which scheme and layout suit a workload, and what each would cost.
//!
//! ```
//! use sotto_plan::{SearchScope, TableData, Workload, plan};
//!
//! // A table of 10,000 rows of 32 bytes, with the usual clients, link and machine.
//! let workload = Workload::usual(TableData::Row { rows: 10_000, row_bytes: 32, room: 0 });
//!
//! // One scheme here; all of them by default.
//! let only = sotto_registry::find("simplepir/1");
//! let scope = SearchScope { only, all: false, refuses: None, unproven: false };
//! let plan = plan(&workload, scope, None)?;
//! let best = plan.offers.first().ok_or("no scheme fits")?;
//! assert_eq!((best.choice.scheme.as_str(), best.servers), ("simplepir/1", 1));
//! assert!(!plan.baselines.is_empty(), "downloading the table, for example");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`workload`] | the table, its clients, the link, machines and prices, trust |
//! | `tables` | the tables that a request queries: arrangement of keys, buckets of a batch code |
//! | `price` | costs of a request: bytes exactly as the scheme reports them, times by a calibration |
//! | [`calibration`] | the time of a unit of each scheme's work on a machine |
//! | [`queueing`] | latency under load |
//! | [`machines`] | a table on several machines, modeled |
//! | [`leakage`] | descriptions of what servers learn |
//! | [`baseline`] | baselines: no scheme, and no privacy |
//! | [`candidate`] | a scheme that fits, with all its costs |
//! | [`ranking`] | the best candidate of every scheme, best first; and why other schemes are excluded |
//! | [`frontier`] | what bytes, server time and encoding can be traded for one another |
//! | [`choice`] | the choices of a plan that an encoder needs |
//! | [`default_scheme`] | the scheme of a table for which none was named |
//!
//! Bytes are exactly those of encoding, since the same code makes the choices. Times are predicted,
//! and say from what.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod baseline;
pub mod calibration;
pub mod candidate;
pub mod choice;
pub mod default_scheme;
mod error;
pub mod frontier;
mod interpolation;
pub mod leakage;
pub mod machines;
mod price;
pub mod queueing;
pub mod ranking;
mod tables;
pub mod workload;

pub use baseline::Baseline;
pub use calibration::{Calibration, CalibrationSample, LookupWork, SchemeRate};
pub use candidate::{Candidate, SplitEstimate};
pub use choice::{KeyChoice, PlanChoice};
pub use default_scheme::{SchemeChoice, SchemePrice, SchemeRequest};
pub use error::PlanError;
pub use frontier::{Frontier, FrontierPoint};
pub use ranking::{Exclusion, Plan, SearchScope, plan, refusal_unless_named};
pub use workload::{Machine, NetworkLink, RankBy, ServerTrust, TableData, Workload};
