//! `sotto merkle`: proofs from a transparency log, without revealing the entry to the server.
//!
//! | module | contents |
//! |---|---|
//! | [`generate`] | a synthetic log, for experiments |
//! | [`plan`] | the cost of each layout of a log |
//! | `design_choice` | the design and scheme of a build |
//! | [`mod@build`] | a log's tiles to a stack of tables that can be served |
//! | `rows` | which hash goes to which row |
//! | [`mod@prove`] | an inclusion proof, privately fetched and verified |
//! | `seen_checkpoint` | the largest checkpoint of a log seen, which later ones have to extend |
//! | [`verify`] | a proof, or all tiles of a log, against the log's key |
//! | `log_args` | the arguments for a log and its key |

mod build;
mod design_choice;
mod generate;
mod log_args;
mod plan;
mod prove;
mod rows;
mod seen_checkpoint;
mod verify;

use crate::failure::{Failure, Result};
use crate::screen::Screen;
use clap::{Args, Command, FromArgMatches, Subcommand};
use std::ffi::OsString;

pub(super) use prove::known as prove;

const EXAMPLE: &str = "\
A log is a folder with a checkpoint and tiles (c2sp.org/tlog-tiles), or a copy of one. `build` verifies \
all of it against the log's key and makes a stack, `sotto serve` serves the stack, and `prove` prints a \
proof that any verifier of c2sp.org/tlog-proof accepts, such as `verify`.

Example:
  sotto merkle generate logs/demo --entries 100000 --origin example.com/demo
  sotto merkle build logs/demo --log-key logs/demo.pub --out tables/demo
  sotto serve tables/demo &
  sotto merkle prove --server http://127.0.0.1:8080 --table demo --log-key logs/demo.pub --index 4711";

/// Arguments of `sotto merkle`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Merkle {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Generate a synthetic log, or extend one
    Generate(generate::Generate),
    /// Show what each layout of a log would cost
    Plan(plan::Plan),
    /// Encode a log's tiles as tables that can be served
    Build(Box<build::Build>),
    /// Fetch an inclusion proof privately, verify it, and print it
    Prove(Box<prove::Prove>),
    /// Check a proof, or all tiles of a log, against the log's key
    Verify(Box<verify::Verify>),
}

impl Merkle {
    pub(crate) fn run(self, screen: Screen) -> Result<()> {
        match self.verb {
            Verb::Generate(verb) => verb.run(screen),
            Verb::Plan(verb) => verb.run(screen),
            Verb::Build(verb) => verb.run(screen),
            Verb::Prove(verb) => verb.run(screen),
            Verb::Verify(verb) => verb.run(screen),
        }
    }
}

/// Runs `sotto merkle build` with these arguments for the demo, without output.
pub(super) fn build(
    args: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    screen: Screen,
) -> Result<()> {
    let wrong = |error: clap::Error| Failure::internal(error.to_string());
    let command = build::Build::augment_args(Command::new("build").no_binary_name(true));
    let matches = command.try_get_matches_from(args).map_err(wrong)?;
    build::Build::from_arg_matches(&matches).map_err(wrong)?.run(screen.quiet())
}
