//! `sotto log cosign`: a witness reads a log, and signs that it extends what it saw before and
//! contains no contradiction.
//!
//! What the witness has seen is on disk before a cosignature is written: whatever happens, it never
//! cosigns two logs, nor a log with two catalogs of one epoch.

use super::key;
use super::log_location::LogLocation;
use super::memory::{Memory, SeenCheckpoint, replace};
use crate::exit_mapping;
use crate::failure::{Failure, Result};
use crate::screen::Screen;
use serde_json::json;
use sotto_catalog::PublicKey;
use sotto_tlog::SignedNote;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// Arguments of `sotto log cosign`.
#[derive(Debug, clap::Args)]
pub(super) struct Cosign {
    /// Folder of the log, or address of a server that serves it
    #[arg(value_name = "LOG")]
    log: String,
    /// Public key of the log's publisher
    #[arg(long, value_name = "sotto-pk:...")]
    publisher: PublicKey,
    /// File of the witness's signing key (`sotto log key` creates one)
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Folder of the checkpoint cosigned last; never restore it from a backup
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    /// File for the cosigned checkpoint, which the publisher attaches (`sotto log attach`)
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// PEM file of the root certificates to trust for https, in place of the web's
    #[arg(long, value_name = "FILE")]
    trust_root: Option<PathBuf>,
}

impl Cosign {
    pub(super) fn run(self, screen: Screen) -> Result<()> {
        let cosigner = key::read(&self.key)?.ok_or_else(|| {
            Failure::missing(format!("no such key: {}", self.key.display()))
                .fix("create one: sotto log key --key FILE --name NAME")
        })?;
        let location = LogLocation::of(&self.log, self.publisher, self.trust_root.as_deref())?;
        let memory = Memory::lock(&self.state, &self.publisher)?;
        let SeenCheckpoint { served, before, checkpoint } =
            memory.read_log(&location, "do not cosign this log")?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let note = SignedNote::parse(&served).map_err(|e| exit_mapping::log(&e))?;
        let origin = checkpoint.origin;
        let theirs = note.signatures.into_iter().filter(|line| line.name == origin);
        let line = cosigner.cosign(&note.text, now);
        let cosigned = SignedNote { text: note.text, signatures: theirs.chain([line]).collect() };
        replace(&self.out, cosigned.to_string().as_bytes())?;

        let (size, out) = (checkpoint.size, self.out.display());
        screen.say(format!(
            "cosigned {size} entries, {} of them new; send {out} to the publisher",
            size - before
        ))?;
        screen.report(&json!({
            "entries": size,
            "before": before,
            "time": now,
            "witness": cosigner.public().to_string(),
            "note": cosigned.to_string(),
        }))
    }
}
