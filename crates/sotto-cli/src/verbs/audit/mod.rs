//! `sotto audit`: what anyone can verify of a publisher or a server, and show to others.
//!
//! | module | contents |
//! |---|---|
//! | [`evidence`] | stored evidence against publishers that showed different people different documents |
//! | [`rows`] | whether a table's rows are those that its catalog commits to |

mod evidence;
mod rows;

use crate::failure::Result;
use crate::screen::Screen;
use clap::Subcommand;

const EXAMPLE: &str = "\
A catalog commits to the rows of its table by the root of a Merkle tree. `sotto audit rows` reads all rows \
of a directory, or of a server whose rows are public, and computes the root again. A server does the same \
before it serves a table.

A client refuses two catalogs of one epoch under one key, and two forks of a publisher's log, and stores \
both with their signatures. `sotto audit evidence` exports them to files that others can verify, each pair \
with a sentence that says what it proves.

Example:
  sotto audit rows tables/words
  sotto audit rows https://lookup.example --table hints
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
    /// Compare all rows of a table with the root that its publisher signed
    Rows(rows::AuditRows),
    /// Export evidence of publishers that signed contradicting catalogs or logs
    Evidence(evidence::Evidence),
}

impl Audit {
    pub(crate) fn run(self, screen: Screen) -> Result<()> {
        match self.verb {
            Verb::Rows(verb) => verb.run(screen),
            Verb::Evidence(verb) => verb.run(screen),
        }
    }
}
