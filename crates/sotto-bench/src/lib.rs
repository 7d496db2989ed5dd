//! Benchmarks as data: definitions, a runner that checks every answer, tables, JSON and plots.
//!
//! | module | what lives there |
//! |---|---|
//! | [`definition`] | TOML files that say what to measure, and those that ship with the toolkit |
//! | [`machine`] | what this machine is, and how fast it reads memory |
//! | [`calibrate`](mod@calibrate) | how fast each scheme is here, and how well that predicts other tables |
//! | [`guard`] | ratios that should stay what they are, and whether they have |
//! | `content` | generated rows, and the same rows again to check answers against |
//! | `plan` | one case made ready: parameters, layout of rows, memory it needs |
//! | `runner` | encoding, asking, answering, reading memory in between, checking; and trees of hashes |
//! | `published` | other people's figures for the same shapes, with their sources |
//! | [`report`] | what came out, as tables, JSON and SVG |
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
mod median;
mod options;
mod plan;
mod published;
pub mod regression;
pub mod report;
mod runner;

pub use definition::{Case, Definition, DefinitionError, load, shipped};
pub use error::BenchError;
pub use options::{Options, Progress};
pub use report::Report;
pub use runner::run;
