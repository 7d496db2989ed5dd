//! The results of a run: figures with their units in their names.
//!
//! There are three tiers, never in one column: [`MeasuredCase`] by us in this run,
//! [`PublishedRow`] read in papers, [`ModeledCase`] computed from parameters.

mod figures;
mod grid;
mod published;
mod table;
mod trees;

pub(crate) use figures::break_even;
pub use figures::{
    Baseline, Batch, BreakEven, ClientSetup, EncodeStage, FetchMethod, HintServerCost, MeasuredCase,
    ModeledCase, OfflineCost, SeriesReport, SkippedCase, Step, StepReport, TableFacts, TablePlacement,
    Traffic, UpdateCost,
};
pub(crate) use grid::{NamedRow, Sheet, blank, bytes, digits, paragraph, shape, wrapped};
pub use published::{PublishedRow, PublishedTree};
pub use trees::{Tree, TreeFigures, TreeMeasured, TreeSkipped};

use crate::error::BenchError;
use crate::machine::{MachineFacts, MachineReport};
use serde::Serialize;
use std::io::Write;
use std::process::{Command, Stdio};

/// All results of a run.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
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
#[derive(Debug, Clone, Default, Serialize, schemars::JsonSchema)]
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
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
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
        let failed = |why: String| BenchError::Drawing(why);
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

const READS: Sheet = Sheet {
    title: "",
    columns: "read = what | buffer = buffer_bytes | pages = pages | threads = threads_count | \
              GB/s = read_gb_per_s | best GB/s = best_gb_per_s",
    note: "Median and best of plain sequential reads; GB are 10^9 bytes.",
};

const SCANS: Sheet = Sheet {
    title: "",
    columns: "scan = what | queries = queries_count | buffer = buffer_bytes | GB/s = scan_gb_per_s | \
              of read = of_read_ratio as percent | aggregate GB/s = scan_gb_per_s * queries_count",
    note: "\
The kernels that answer queries, on one thread: byte matrix times query words. of read: over a plain
read of the same bytes, in turns.",
};

impl MachineReport {
    /// A table for people.
    pub fn table(&self) -> String {
        let mut shapes = blank(4, ["kernel", "shape", "default", "ms of each shape"]);
        for kernel in &self.shapes.kernels {
            let tried = kernel.tried.iter().map(|trial| format!("{} {}", trial.shape, digits(trial.best_ms)));
            let tried = tried.collect::<Vec<_>>().join(", ");
            shapes.add_row([kernel.kernel.clone(), kernel.shape.clone(), kernel.default.clone(), tried]);
        }
        let (reads, scans) = (READS.plain(1, &self.reads), SCANS.plain(1, &self.scans));
        format!(
            "{}\n\n{reads}\n\n{}\n\n{scans}\n\n{}\n\n{shapes}\n\n\
             How each kernel goes through memory: all shapes give the same bytes. default: {}. `SOTTO_SHAPES`\n\
             pins others: {}. Measured in {} ms.\n",
            self.machine.line(),
            READS.note,
            SCANS.note,
            self.shapes.default_of(),
            self.shapes.pin(),
            digits(self.shapes.took_ms),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Definition, Options};
    use serde_json::Value;
    use sotto_testkit::cleartext::{CLEAR, CLEAR_TWO};

    fn report() -> Report {
        let text = "name = \"t\"\nabout = \"Test.\"\n\
            [[case]]\nscheme = \"clear\"\nrows = \"2^20\"\nrow_bytes = 8\nbatch = [1, 2, 4, 8]\nlookups = 3\n\
            [[case]]\nscheme = \"clear-two\"\nrows = 300\nrow_bytes = 2000\nlookups = 3\nseries = 3\nthreads = 2\n\
            break_even = true\n\
            [[case]]\ncompare = \"C1\"\nscheme = \"clear\"\nrows = \"2^20\"\nrow_bytes = 256\nfull = true\n\
            [[case]]\nscheme = \"clear\"\nrows = \"2^33\"\nrow_bits = 1\nfull = true\n";
        let definition = Definition::parse("t.toml", text).unwrap();
        let options = Options { quick: true, commit: Some("<abc> & co".into()), ..Options::default() };
        let mut report =
            crate::runner::run_with(&definition, &[&CLEAR, &CLEAR_TWO], &options, &|_| ()).unwrap();
        let step = |name: &str, server_ms| Step { name: name.into(), server_ms };
        report.measured[0].steps = vec![StepReport {
            order: "an order".into(),
            threads_count: 2,
            repeated_count: 3,
            server_ms: 4.0,
            steps: vec![step("first", 1.0), step("second", 3.0)],
        }];
        report
    }

    #[test]
    fn tables_fit_a_terminal_and_keep_the_tiers_apart() {
        let text = report().table();
        let widest = text.lines().max_by_key(|line| line.chars().count()).unwrap();
        assert!(widest.chars().count() <= 110, "{} columns: {widest}", widest.chars().count());
        let at = |heading: &str| text.find(heading).unwrap_or_else(|| panic!("no {heading} in {text}"));
        assert!(
            at("MEASURED: queries and answers") < at("MODELED")
                && at("MODELED") < at("PUBLISHED")
                && at("PUBLISHED") < at("NOT RUN")
        );
        assert!(text.find("Spiral").unwrap() > at("PUBLISHED"));
        for baseline in ["download the table", "plaintext query"] {
            assert!(text.contains(baseline), "{baseline}");
        }
    }

    /// Every number in the JSON has its unit in its name, and the unit is explained.
    #[test]
    fn json_numbers_have_units() {
        let json: Value = serde_json::from_str(&report().json()).unwrap();
        assert_eq!(json["format"], "sotto-bench/1");
        let units: Vec<&str> =
            json["units"].as_array().unwrap().iter().map(|u| u[0].as_str().unwrap()).collect();
        assert_eq!(units.len(), UNITS.len());
        let mut numbers = 0;
        check(&json, "", &units, &mut numbers);
        assert!(numbers > 100, "{numbers}");
    }

    fn check(value: &Value, name: &str, units: &[&str], numbers: &mut usize) {
        match value {
            Value::Number(_) => {
                *numbers += 1;
                assert!(units.iter().any(|unit| name.ends_with(unit)), "{name} has no unit");
            }
            Value::Array(items) => items.iter().for_each(|item| check(item, name, units, numbers)),
            // A scheme's own literal has the scheme's own names.
            Value::Object(fields) => {
                fields
                    .iter()
                    .filter(|(name, _)| *name != "params")
                    .for_each(|(name, v)| check(v, name, units, numbers));
            }
            _ => {}
        }
    }

    /// Where there is no Python, nothing is drawn.
    #[test]
    fn the_drawing_is_well_formed_and_escaped() {
        let report = report();
        let svg = match report.svg() {
            Ok(svg) => svg,
            Err(error) => return assert!(error.to_string().contains("python3: "), "{error}"),
        };
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
        assert!(svg.contains("&lt;abc&gt; &amp; co") && !svg.contains("<abc>"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        // Own figures only.
        assert!(
            svg.contains("clear, an order, 2 threads") && svg.contains("faster than downloading the table")
        );
        assert!(svg.contains("clear, 2^20 x 8 B") && !svg.contains("Spiral"));
        assert_eq!(svg.matches('"').count() % 2, 0);
        let mut empty = report;
        empty.measured.clear();
        assert!(empty.svg().unwrap().contains("Nothing was measured"));
    }

    #[test]
    fn runs_can_be_joined() {
        let (mut one, two) = (report(), report());
        let published = one.published.len();
        one.append(two);
        assert_eq!((one.definitions.len(), one.measured.len(), one.skipped.len()), (2, 4, 4));
        assert_eq!(one.published.len(), published, "a published row is shown once");
    }
}
