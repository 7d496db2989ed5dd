//! `sotto log watch`: a monitor reads every entry of a log, and ends with an error when two of them contradict each other.

use super::log_location::LogLocation;
use super::memory::{Memory, SeenCheckpoint};
use crate::exit::Exit;
use crate::failure::Result;
use crate::screen::Screen;
use crate::verbs::connect_args::duration;
use serde_json::json;
use sotto_catalog::PublicKey;
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `sotto log watch`.
#[derive(Debug, clap::Args)]
pub(super) struct Watch {
    /// Folder of the log, or address of a server that serves it
    #[arg(value_name = "LOG")]
    log: String,
    /// Public key of the log's publisher
    #[arg(long, value_name = "sotto-pk:...")]
    publisher: PublicKey,
    /// Folder of the checkpoint seen last; a witness's folder works too
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    /// Check once, and end
    #[arg(long)]
    once: bool,
    /// Time between checks
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration, conflicts_with = "once")]
    every: Duration,
    /// PEM file of the root certificates to trust for https, in place of the web's
    #[arg(long, value_name = "FILE")]
    trust_root: Option<PathBuf>,
}

impl Watch {
    pub(super) fn run(self, screen: Screen) -> Result<()> {
        let location = LogLocation::of(&self.log, self.publisher, self.trust_root.as_deref())?;
        loop {
            match self.check(&location, screen) {
                // A server that is unavailable for a while is no fork.
                Err(failure) if !self.once && matches!(failure.exit, Exit::Storage | Exit::Missing) => {
                    eprintln!("{}", failure.render(false));
                }
                Ok(()) if !self.once => {}
                ended => return ended,
            }
            std::thread::sleep(self.every.max(Duration::from_secs(1)));
        }
    }

    fn check(&self, location: &LogLocation, screen: Screen) -> Result<()> {
        let memory = Memory::lock(&self.state, &self.publisher)?;
        let SeenCheckpoint { checkpoint, before, .. } =
            memory.read_log(location, "do not trust this publisher")?;
        let size = checkpoint.size;
        screen.say(format!("{size} entries, {} of them new: one chain for each name", size - before))?;
        screen.report(&json!({ "entries": size, "before": before }))
    }
}
