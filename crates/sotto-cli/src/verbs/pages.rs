//! `sotto completions` and `sotto man`: what a package installs beside the command.

use crate::failure::{Failure, Result};
use crate::screen::Report;
use clap::Command;
use clap_complete::Shell;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;

const COMPLETIONS_EXAMPLE: &str = "\
Example:
  sotto completions bash > ~/.local/share/bash-completion/completions/sotto
  sotto completions zsh > ~/.zfunc/_sotto";

const MAN_EXAMPLE: &str = "\
Example:
  sotto man --out ~/.local/share/man/man1 && man sotto-get";

/// Arguments of `sotto completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = COMPLETIONS_EXAMPLE)]
pub(crate) struct Completions {
    /// The shell that will read the script
    shell: Shell,
}

impl Completions {
    /// Prints the script of a shell that completes a command line.
    pub(crate) fn run(self, mut command: Command) -> Report {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "sotto", &mut script);
        let script = String::from_utf8_lossy(&script);
        Report::new(script.trim_end(), &CompletionsReport { shell: self.shell.to_string(), script: &script })
    }
}

/// Arguments of `sotto man`.
#[derive(Debug, clap::Args)]
#[command(after_help = MAN_EXAMPLE)]
pub(crate) struct Man {
    /// Directory of the pages, which is made if it is missing
    #[arg(long)]
    out: PathBuf,
}

impl Man {
    /// Writes the page of a command, and one of each verb.
    pub(crate) fn run(self, command: Command) -> Result<Report> {
        let failed = |error| Failure::file("writing pages to", &self.out, &error);
        std::fs::create_dir_all(&self.out).map_err(failed)?;
        // The verb `help` has a page for each verb, which would say nothing.
        clap_mangen::generate_to(command.disable_help_subcommand(true), &self.out).map_err(failed)?;
        let folder = self.out.display().to_string();
        Ok(Report::new(format!("wrote the manual's pages to {folder}"), &FolderReport { folder }))
    }
}

/// A shell's script.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CompletionsReport<'a> {
    /// Name of the shell.
    shell: String,
    script: &'a str,
}

/// A folder that was written to.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FolderReport {
    /// Path of the folder.
    pub(crate) folder: String,
}
