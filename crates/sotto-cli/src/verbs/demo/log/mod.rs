//! A demo with a real transparency log: whether there is a certificate for a name, and whether it
//! is in the log, without revealing the name to the server.
//!
//! | module | contents |
//! |---|---|
//! | [`sample`] | the log's entries, each verified against the hash that the log published |
//! | [`names`] | the domain names in a certificate |
//! | [`setup`] | a table of names, the tables of the proofs, a server for both |
//! | [`lookups`] | names looked up, and an entry proved |
//! | [`narration`] | what is printed |

mod lookups;
mod names;
mod narration;
mod sample;
mod setup;

use super::Demo;
use super::setup::next_to;
use crate::failure::{Failure, Result};
use crate::screen::Screen;
use lookups::{NameLookup, Proof};
use sample::Sample;
use serde_json::{Value, json};
use setup::LogServer;
use std::path::Path;

/// A name that is always looked up, and is in no certificate: it is reserved for documentation.
const NOT_THERE: &str = "example.com";

/// The results of this demo, for JSON.
pub(super) struct LogReport {
    sample: Sample,
    stage: LogServer,
    found: Vec<NameLookup>,
    proof: Proof,
}

impl Demo {
    /// Reads the log's sample, before any work is done.
    pub(super) fn sample(&self) -> Result<Sample> {
        Sample::read(&sample::find(self.log.as_deref())?)
    }

    /// Runs the demo of the log.
    pub(super) fn log(&self, sample: Sample, scratch: &Path, screen: Screen) -> Result<LogReport> {
        let why = "no certificate of the log has a domain name";
        let example = sample.example().ok_or_else(|| Failure::input(why))?;
        narration::data(screen, &sample)?;
        let folder = self.dir.as_deref().map(|dir| next_to(dir, setup::NAMES));
        let stage = LogServer::new(&sample, scratch, folder, self.threads.into(), screen)?;
        narration::staged(screen, &stage)?;

        let mut names = vec![example.to_owned(), NOT_THERE.to_owned()];
        names.extend(self.names.iter().filter(|name| !names.contains(name)).cloned().collect::<Vec<_>>());
        let found = stage.look_up(&sample, &names, screen)?;
        narration::found(screen, &found)?;
        let entry = found.first().and_then(|first| first.entry);
        let entry = entry.ok_or_else(|| Failure::internal("no entry for a name of the sample"))?;
        let proof = stage.prove(&sample, entry)?;
        narration::proved(screen, &proof)?;
        Ok(LogReport { sample, stage, found, proof })
    }
}

impl LogReport {
    pub(super) fn json(&self) -> Value {
        json!({
            "entries": self.sample.entries.len(),
            "names": self.sample.names.len(),
            "root": self.sample.root.to_string(),
            "server": self.stage.url(),
            "lookups": self.found.iter().map(NameLookup::json).collect::<Vec<_>>(),
            "proof": self.proof.json(),
        })
    }

    /// Fails if an answer is wrong, which is a fault of sotto.
    pub(super) fn check(&self) -> Result<()> {
        match self.found.iter().find(|found| !found.right()) {
            None => Ok(()),
            Some(wrong) => Err(Failure::internal(format!("the answer for {} is wrong", wrong.name))
                .fix("please report it, since a lookup fails with probability 2^-40 at most")),
        }
    }
}
