//! `sotto merkle generate`: a synthetic log of any length, signed with a key of its own.

use super::log_args;
use crate::failure::{Failure, Result};
use crate::screen::{Screen, units};
use serde_json::json;
use sotto_tlog::{LogLayout, generate};
use std::path::PathBuf;

const EXAMPLE: &str = "\
The log's signing key is written beside the folder as DIR.key, and its public key as DIR.pub. --grow \
extends a log that this command generated to the given number of entries, with a new checkpoint.

Example:
  sotto merkle generate logs/demo --entries 1048576 --origin example.com/demo
  sotto merkle generate logs/demo --entries 1050000 --grow";

/// Arguments of `sotto merkle generate`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct Generate {
    /// Folder of the log
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Number of entries of the log afterwards
    #[arg(long, value_name = "N")]
    entries: u64,
    /// Layout of the log's files: tlog-tiles, static-ct or sumdb
    #[arg(long, value_name = "LAYOUT", default_value = "tlog-tiles")]
    layout: LogLayout,
    /// Origin line of the log
    #[arg(long, value_name = "NAME", default_value = "example.com/synthetic")]
    origin: String,
    /// Extend a log that was generated before
    #[arg(long)]
    grow: bool,
}

impl Generate {
    pub(super) fn run(self, screen: Screen) -> Result<()> {
        if self.grow {
            generate::grow(&self.folder, self.layout, self.entries).map_err(log_args::failed)?;
        } else {
            if let Some(above) = self.folder.parent() {
                std::fs::create_dir_all(above).map_err(|e| Failure::file("making", above, &e))?;
            }
            let mut rng = sotto_prg::system_rng().map_err(|e| Failure::internal(e.to_string()))?;
            generate::create(&self.folder, self.layout, &self.origin, self.entries, &mut rng)
                .map_err(log_args::failed)?;
        }
        let (folder, entries) = (self.folder.display(), units::count(self.entries));
        screen.say(format!("{folder}: a log of {entries} entries, with its public key in {folder}.pub"))?;
        screen.report(&json!({ "folder": self.folder, "entries": self.entries }))
    }
}
