//! The laboratory's verbs: they measure and demonstrate, and no other verb uses them. `sotto self-test`,
//! which replays recorded lookups, is here.
//!
//! | module | contents |
//! |---|---|
//! | [`mod@bench`] | measurements |
//! | [`demo`] | everything in one go, on real data |
//! | [`leakage`] | what a table reveals, and to whom |

pub(crate) mod bench;
pub(crate) mod demo;
pub(crate) mod leakage;

use crate::failure::{Failure, FileContext, Result};
use crate::screen::{Report, Screen};
use schemars::JsonSchema;
use serde::Serialize;
use sotto_binding::vector::replay;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Instant;

const EXAMPLE: &str = "\
Vectors are recorded lookups (spec/vectors). Each is replayed without a network: this build must make the \
same requests, and recover the same row.

Example:
  sotto self-test spec/vectors/*.json";

/// Arguments of `sotto self-test`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct SelfTest {
    /// Vectors: .json files, each with its .bin file beside it
    #[arg(value_name = "VECTOR", required = true)]
    files: Vec<PathBuf>,
}

impl SelfTest {
    pub(crate) fn run(self, screen: Screen) -> Result<Report> {
        for file in &self.files {
            let vector = read(file)?;
            let begun = Instant::now();
            let replayed = replay(&vector).map_err(|error| {
                let message = format!("{}: {error}", file.display());
                Failure { message, ..error.into() }
            })?;
            let (name, ms) = (file.display().to_string(), begun.elapsed().as_secs_f64() * 1e3);
            let (scheme, requests, row) = (&replayed.scheme, replayed.requests, &replayed.row);
            let text = format!("{name}: {scheme}, {requests} requests, as recorded ({ms:.0} ms)");
            let json = ReplayReport { vector: &name, scheme, row: *row, requests, milliseconds: ms };
            screen.print(Report::new(text, &json))?;
        }
        Ok(Report::default())
    }
}

/// A recorded lookup that was replayed; one object for each vector.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ReplayReport<'a> {
    /// File of the vector.
    vector: &'a str,
    /// Name of the scheme.
    scheme: &'a str,
    /// Number of the row; null if a key or several rows were looked up.
    row: Option<u64>,
    /// Number of recorded requests.
    requests: usize,
    milliseconds: f64,
}

/// Reads a vector's text, followed by the bytes of the file next to it, if there is one.
fn read(file: &Path) -> Result<Vec<u8>> {
    let mut vector = fs::read(file).doing("reading", file)?;
    let binary = file.with_extension("bin");
    match fs::read(&binary) {
        Ok(bytes) if binary != *file => vector.extend(bytes),
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(Failure::file("reading", &binary, &error));
        }
        _ => {}
    }
    Ok(vector)
}
