//! `sotto log key`: a witness's key, in a file that is created if it does not exist.

use crate::exit_mapping;
use crate::failure::{Failure, Result};
use crate::screen::Screen;
use crate::verbs::publish_args;
use serde_json::json;
use sotto_tlog::Cosigner;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Arguments of `sotto log key`.
#[derive(Debug, clap::Args)]
pub(super) struct Key {
    /// File of the witness's signing key; created if missing
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Name of the witness for a new key, like a URL without its scheme
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

impl Key {
    pub(super) fn run(self, screen: Screen) -> Result<()> {
        let cosigner = match read(&self.key)? {
            Some(cosigner) => cosigner,
            None => self.make()?,
        };
        screen.say(format!("witness key: {}", cosigner.public()))?;
        screen.report(&json!({ "file": self.key, "witness": cosigner.public().to_string() }))
    }

    fn make(&self) -> Result<Cosigner> {
        let Some(name) = &self.name else {
            return Err(Failure::missing(format!("no such key: {}", self.key.display()))
                .fix("give --name NAME to create it"));
        };
        let cosigner =
            Cosigner::generate(name, &mut publish_args::rng()?).map_err(|e| exit_mapping::log(&e))?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = options.open(&self.key).and_then(|mut file| {
            file.write_all(cosigner.to_file().as_bytes())?;
            file.sync_all()
        });
        written.map_err(|e| Failure::file("writing", &self.key, &e))?;
        Ok(cosigner)
    }
}

/// The key in a file, if there is one.
pub(super) fn read(path: &Path) -> Result<Option<Cosigner>> {
    match fs::read_to_string(path) {
        Ok(text) => Cosigner::from_file(&text).map(Some).map_err(|e| exit_mapping::log(&e)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::file("reading", path, &error)),
    }
}
