//! `sotto doctor`: what is wrong with a machine, a table, a server or a client's folders, and what to do about it.
//!
//! | module | checks |
//! |---|---|
//! | `machine` | instructions, huge pages, memory, open files, clock |
//! | `files` | a table's folder, an image, a key |
//! | `server` | a server at an address, and any proxy in front of it |
//! | `probe` | one plain request, for what clients ignore: TLS, HTTP/2, headers |
//! | `client` | the files of a client |

mod client;
mod files;
mod machine;
mod probe;
mod server;

use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::screen::{Screen, grid};
use serde::Serialize;
use serde_json::json;
use std::path::{Path, PathBuf};

const EXAMPLE: &str = "\
Without a target it checks this machine. A target is the folder of a table, an image, a signing key, or \
the address of a server; give the servers of one table one after the other, in the order of their roles. \
--client checks what `sotto get` stores.

Each finding says what was found and how to fix it. The exit code is 9 if there is a problem, and 0 if not.

Example:
  sotto doctor
  sotto doctor tables/people tables/people/signing.key
  sotto doctor https://lookup.example
  sotto doctor https://one.example https://other.example
  sotto doctor --client --json";

/// Arguments of `sotto doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Doctor {
    /// Directories of tables, images, signing keys, or addresses of servers
    #[arg(value_name = "DIR|IMAGE|KEY|URL")]
    targets: Vec<String>,
    /// Compare every byte of images with its digest
    #[arg(long)]
    verify: bool,
    /// Check what this user's clients store
    #[arg(long)]
    client: bool,
    /// Folder of hints, keys and known epochs [default: sotto/ in the user's cache folder]
    #[arg(long, value_name = "DIR", requires = "client")]
    cache: Option<PathBuf>,
    /// Folder of hints that queries spend [default: sotto/state/ in the user's data folder]
    #[arg(long, value_name = "DIR", requires = "client")]
    state: Option<PathBuf>,
    /// PEM file of the root certificates to trust for https, in place of the web's
    #[arg(long, value_name = "FILE")]
    trust_root: Option<PathBuf>,
}

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum Severity {
    /// The check found nothing wrong.
    #[serde(rename = "good")]
    Ok,
    /// The finding is worth knowing; everything works.
    Note,
    /// The finding costs speed, privacy or answers until it is repaired.
    #[serde(rename = "mend")]
    Problem,
}

/// The result of one check.
#[derive(Debug, Serialize)]
struct Finding {
    level: Severity,
    about: String,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

/// All findings, in the order of the checks.
#[derive(Debug, Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn good(&mut self, about: impl Into<String>, found: impl Into<String>) {
        self.add(Severity::Ok, about.into(), found.into(), None);
    }

    fn note(&mut self, about: impl Into<String>, found: impl Into<String>, remedy: impl Into<String>) {
        self.add(Severity::Note, about.into(), found.into(), Some(remedy.into()));
    }

    fn problem(&mut self, about: impl Into<String>, found: impl Into<String>, remedy: impl Into<String>) {
        self.add(Severity::Problem, about.into(), found.into(), Some(remedy.into()));
    }

    /// Adds a failure of a command as a finding.
    fn failure(&mut self, about: impl Into<String>, failure: Failure) {
        let remedy = failure.fix.unwrap_or_else(|| "see `sotto help`".into());
        self.add(Severity::Problem, about.into(), failure.message, Some(remedy));
    }

    fn add(&mut self, level: Severity, about: String, found: String, remedy: Option<String>) {
        self.0.push(Finding { level, about, found, remedy });
    }
}

impl Doctor {
    pub(crate) fn run(self, screen: Screen) -> Result<()> {
        let mut findings = Findings::default();
        let bars = screen.bars();
        if self.targets.is_empty() && !self.client {
            machine::check(&mut findings);
        }
        let is_address =
            |target: &&String| ["http://", "https://"].iter().any(|start| target.starts_with(start));
        for target in self.targets.iter().filter(|target| !is_address(target)) {
            files::check(Path::new(target), self.verify, &bars, &mut findings)?;
        }
        let urls: Vec<String> = self.targets.iter().filter(is_address).cloned().collect();
        if !urls.is_empty() {
            server::check(&urls, self.trust_root.as_deref(), &bars, &mut findings)?;
        }
        if self.client {
            client::check(self.cache.as_deref(), self.state.as_deref(), &mut findings)?;
        }
        bars.finish();
        let Findings(all) = findings;
        screen.say(text(&all))?;
        screen.report(&json!({ "findings": all }))?;
        let count = all.iter().filter(|finding| finding.level == Severity::Problem).count();
        match count {
            0 => Ok(()),
            1 => Err(Failure::new(Exit::Findings, "1 problem found").fix("see the findings above")),
            n => {
                Err(Failure::new(Exit::Findings, format!("{n} problems found")).fix("see the findings above"))
            }
        }
    }
}

fn text(all: &[Finding]) -> String {
    let word = |level| match level {
        Severity::Ok => "good",
        Severity::Note => "note",
        Severity::Problem => "PROBLEM",
    };
    let lines = all.iter().map(|finding| {
        let remedy = finding.remedy.as_ref().map(|remedy| format!(". Fix: {remedy}")).unwrap_or_default();
        (word(finding.level), format!("{}: {}{remedy}", finding.about, finding.found))
    });
    grid::facts(lines)
}
