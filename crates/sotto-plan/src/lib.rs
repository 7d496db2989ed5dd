//! Planning: which scheme and layout a workload calls for, and what each would cost.
//!
//! | module | what lives there |
//! |---|---|
//! | [`workload`] | the table, those who ask, the link, machines and prices, who is trusted |
//! | `tables` | the tables that a request asks: how keys lie in rows, which buckets a batch code has |
//! | `price` | what a request costs: bytes by the scheme's exact account, times by a calibration |
//! | [`calibration`] | what a machine takes for a unit of each scheme's work |
//! | [`load`] | what requests wait for under load |
//! | [`machines`] | a table over several machines, modeled |
//! | [`leaks`] | what servers learn, in words |
//! | [`baseline`] | what stands beside: no scheme, and no privacy |
//! | [`offer`] | a scheme that fits, with all that it would cost |
//! | [`choose`] | every scheme at its best, the best first; and why the others do not fit |
//! | [`choice`] | what a plan chose, for whoever encodes |
//!
//! Bytes are those of what encoding would choose, since the same code chooses. Times are predicted, and say by what.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod baseline;
pub mod calibration;
pub mod candidate;
pub mod choice;
mod error;
pub mod leakage;
pub mod machines;
mod price;
pub mod queueing;
pub mod ranking;
mod tables;
pub mod workload;

pub use baseline::Baseline;
pub use calibration::{Calibration, CalibrationSample, SchemeRate};
pub use candidate::{Candidate, SplitEstimate};
pub use choice::{KeyChoice, PlanChoice};
pub use error::PlanError;
pub use ranking::{Exclusion, Plan, SearchScope, plan};
pub use workload::{Machine, NetworkLink, RankBy, ServerTrust, TableData, Workload};
