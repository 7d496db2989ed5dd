//! The results of a run: figures with their units in their names.
//!
//! There are three tiers, never in one column: [`MeasuredCase`] by us in this run,
//! [`PublishedRow`] read in papers, [`ModeledCase`] computed from parameters.

mod figures;
mod format;
mod grid;
mod machine;
mod published;
mod table;
#[cfg(test)]
mod tests;
mod tree_table;
mod trees;

pub(crate) use figures::break_even;
pub use figures::{
    Baseline, Batch, BreakEven, ClientSetup, EncodeStage, FetchMethod, HintServerCost, MeasuredCase,
    ModeledCase, OfflineCost, SeriesReport, SkippedCase, Step, StepReport, TableFacts, TablePlacement,
    Traffic, UpdateCost,
};
pub(crate) use format::{bytes, digits, shape, time, wrapped};
pub(crate) use grid::{blank, paragraph};
pub use published::{PublishedRow, PublishedTree};
pub use trees::{Tree, TreeFigures, TreeMeasured, TreeSkipped};

use crate::error::BenchError;
use crate::machine::MachineFacts;
use serde::Serialize;
use std::io::Write;
use std::process::{Command, Stdio};

/// All results of a run.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Name and version of this format.
    pub format: &'static str,
    /// The meanings of the suffixes of field names.
    pub units: &'static [(&'static str, &'static str)],
    /// Names and purposes of the definitions that were run.
    pub definitions: Vec<DefinitionInfo>,
    /// The machine and the date of the run.
    pub machine: MachineFacts,
    /// Cases that were measured in this run.
    pub measured: Vec<MeasuredCase>,
    /// Figures from papers, for shapes of this run.
    pub published: Vec<PublishedRow>,
    /// Figures computed from parameters, for every case, run or not.
    pub modeled: Vec<ModeledCase>,
    /// Cases that did not run, with the reasons.
    pub skipped: Vec<SkippedCase>,
    /// Proofs in trees of hashes.
    pub trees: Trees,
}

/// All results about trees.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Trees {
    /// Lines that were measured in this run.
    pub measured: Vec<TreeMeasured>,
    /// Published lines, of trees and kinds of figures of this run.
    pub published: Vec<PublishedTree>,
    /// Lines that did not run, with the reasons.
    pub skipped: Vec<TreeSkipped>,
}

/// Suffixes of field names, and their units.
pub(crate) const UNITS: &[(&str, &str)] = &[
    ("_s", "seconds"),
    ("_ms", "milliseconds"),
    ("_ns", "nanoseconds"),
    ("_bytes", "bytes"),
    ("_bits", "bits"),
    ("_mbit_per_s", "10^6 bits per second"),
    ("_gb_per_s", "10^9 bytes per second"),
    ("_ratio", "quotient, 1.0 is equal"),
    ("_log2", "base-2 logarithm of a probability"),
    ("_ops", "8-bit multiply-adds"),
    ("_count", "pieces"),
];

/// Name and purpose of a definition.
#[derive(Debug, Clone, Serialize)]
pub struct DefinitionInfo {
    /// Name of the definition.
    pub name: String,
    /// Purpose of the definition.
    pub about: String,
}

impl Report {
    /// Adds the results of another run on the same machine.
    pub fn append(&mut self, other: Report) {
        self.definitions.extend(other.definitions);
        self.measured.extend(other.measured);
        self.modeled.extend(other.modeled);
        self.skipped.extend(other.skipped);
        self.trees.append(other.trees);
        for row in other.published {
            if !self.published.contains(&row) {
                self.published.push(row);
            }
        }
        PublishedRow::sort(&mut self.published);
    }

    /// JSON, indented; units are in the field names and explained in `units`.
    pub fn json(&self) -> String {
        // These types hold nothing that has no JSON; should that change, an empty object is noticed at once.
        serde_json::to_string_pretty(self).unwrap_or_else(|_| "{}".to_owned())
    }

    /// The measured figures as an SVG image, drawn by `plot.py` from the JSON.
    ///
    /// # Errors
    /// [`BenchError::Drawing`] if Python is not there, or fails.
    pub fn svg(&self) -> Result<String, BenchError> {
        let failed = |why: String| BenchError::Drawing { why };
        let mut python = Command::new("python3");
        python.args(["-c", include_str!("../plot.py"), "-"]);
        python.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut python = python.spawn().map_err(|why| failed(format!("python3: {why}")))?;
        if let Some(mut input) = python.stdin.take() {
            input.write_all(self.json().as_bytes())?;
        }
        let output = python.wait_with_output()?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(failed(said.lines().last().unwrap_or_default().to_owned()))
    }
}

impl Trees {
    fn append(&mut self, other: Trees) {
        self.measured.extend(other.measured);
        self.skipped.extend(other.skipped);
        for row in other.published {
            if !self.published.contains(&row) {
                self.published.push(row);
            }
        }
    }
}
