//! `sotto ray`: tables in parts over many machines. The work is done by the Python package
//! `sotto-ray`, since Ray is a Python package too.

use crate::failure::{Exit, Failure, Result};
use crate::screen::Report;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::process::Command;

const EXAMPLE: &str = "\
The arguments are those of `sotto-ray`, which must be installed: pip install sotto-ray. It serves a table \
in parts (`sotto encode --parts`), each part by a Ray actor that holds it in memory.

Example:
  sotto ray encode people.parquet --key phone --value name --parts 4 --out tables/people --signing-key private/signing.key
  sotto ray up cluster.yaml
  sotto ray status cluster.yaml
  sotto ray down cluster.yaml";

const PROGRAM: &str = "sotto-ray";

/// Arguments of `sotto ray`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Ray {
    /// Command of `sotto-ray` and its arguments: environment, encode, up, status or down
    #[arg(value_name = "ARGS", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

impl Ray {
    pub(crate) fn run(self) -> Result<Report> {
        let status = Command::new(PROGRAM).args(&self.args).status().map_err(|error| match error.kind() {
            ErrorKind::NotFound => Failure::missing(format!("{PROGRAM} is not installed"))
                .fix("install it: pip install sotto-ray"),
            _ => Failure::internal(format!("cannot start {PROGRAM}: {error}")),
        })?;
        match status.code() {
            Some(0) => Ok(Report::default()),
            // The package has printed the reason.
            Some(2) => {
                Err(Failure::usage(format!("{PROGRAM} rejects its arguments")).fix("see its messages above"))
            }
            _ => Err(Failure::new(Exit::Refused, format!("{PROGRAM} fails with {status}"))
                .fix("see its messages above")),
        }
    }
}
