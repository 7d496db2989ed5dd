//! `sotto audit`: what a client can show to others of a publisher or a server.
//!
//! | module | what it does |
//! |---|---|
//! | [`evidence`] | what is kept of publishers that showed different people different things |

mod evidence;

use crate::failure::Result;
use crate::screen::Screen;
use clap::Subcommand;

const EXAMPLE: &str = "\
A client refuses two catalogs of one epoch under one key, and two logs of one publisher, and keeps both with their signatures. \
`sotto audit evidence` writes them where they can be sent to others, each pair with a sentence that says what it proves.

Example:
  sotto audit evidence --out evidence";

/// Arguments of `sotto audit`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Audit {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Write out what proves that a publisher showed different people different things
    Evidence(evidence::Evidence),
}

impl Audit {
    pub(crate) fn run(self, screen: Screen) -> Result<()> {
        match self.verb {
            Verb::Evidence(verb) => verb.run(screen),
        }
    }
}
