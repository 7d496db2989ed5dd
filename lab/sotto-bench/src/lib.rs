//! Benchmarks as data: definitions, a runner that checks every answer, tables, JSON and plots.
//!
//! | module | contents |
//! |---|---|
//! | [`definition`] | TOML files that define measurements, and the built-in ones |
//! | [`machine`] | the facts of this machine, and its memory bandwidth |
//! | [`calibrate`](mod@calibrate) | the speed of each scheme here, predictions for other tables, and how good they are |
//! | [`regression`] | ratios that must not fall, and judging them |
//! | `content` | generated rows, also for checking answers |
//! | `plan` | preparing one case: parameters, layout of rows, memory that it needs |
//! | `runner` | encoding, querying, answering, interleaved memory reads, checking; and trees of hashes |
//! | [`report`] | the results, beside published figures, as tables, JSON and SVG |
//!
//! Measured, published and modeled figures never share a column.
//!
//! ```no_run
//! use sotto_bench::{Options, load, run};
//! let report = run(&load("quick")?, &Options::default(), &|progress| eprintln!("{progress}"))?;
//! println!("{}", report.table());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod calibrate;
mod content;
pub mod definition;
mod error;
pub mod machine;
mod options;
mod plan;
pub mod regression;
pub mod report;
mod runner;
mod timing;

pub use definition::{Case, Definition, DefinitionError, load, shipped};
pub use error::BenchError;
pub use options::{Options, Progress};
pub use report::Report;
pub use runner::run;
