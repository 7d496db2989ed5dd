//! `sotto log`: the log that a publisher writes its catalogs into, and its witnesses.
//!
//! | module | contents |
//! |---|---|
//! | [`show`] | which catalogs are in a log, and who has cosigned it |
//! | [`add`] | adds published catalogs that are not in the log yet |
//! | [`key`] | a witness's key |
//! | [`cosign`] | a witness reads a log, and signs that it is consistent |
//! | [`watch`] | a monitor reads a log, again and again |
//! | `memory` | what a witness or a monitor has seen |
//! | [`mod@attach`] | adds cosignatures to the publisher's log |
//! | `log_location` | a log in a folder, or at an address |

mod add;
mod attach;
mod cosign;
mod key;
mod log_location;
mod memory;
mod show;
mod watch;

use crate::failure::Result;
use crate::screen::Screen;
use clap::Subcommand;

const EXAMPLE: &str = "\
A publisher's log holds a line for each catalog and each stack that it has signed, with the digest. It is a log of C2SP's \
format (tlog-tiles) under the publisher's own key, so a client that has pinned the publisher needs no other key for it. \
`sotto encode --catalog-log DIR` begins one, later epochs go into it by themselves, and `sotto serve` serves it.

A witness is somebody else, on another machine. From time to time it looks whether the log goes on from what it saw the last \
time, reads what is new, and signs that with the time: not if the log has two catalogs of one epoch. Clients that name it \
(`sotto get --witness KEY`) refuse a catalog that is not in the log, a log that nobody has looked at lately, a log that does not \
go on from the one they saw before, and one that contradicts itself in what they read of it. Anybody can read all of it: \
`sotto log watch` ends with an error, exit code 5, at two entries that contradict each other.

Tables of one publisher share a log if they share a signing key (--signing-key).

Example:
  sotto encode words.csv --value meaning --out tables/words --catalog-log logs/mine
  sotto log key --key witness.key --name witness.example/w1
  sotto log cosign logs/mine --publisher sotto-pk:... --key witness.key --state witness --out note.txt
  sotto log attach logs/mine note.txt --witness witness.example/w1+...
  sotto serve tables/words
  sotto get --server http://127.0.0.1:8080 --table words --row 7 --witness witness.example/w1+...";

/// Arguments of `sotto log`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Log {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show which catalogs are in a log, and who has cosigned it
    Show(show::Show),
    /// Write what is published into its log, if it is not there yet
    Add(add::Add),
    /// Make a witness's key, or show the public half of one
    Key(key::Key),
    /// As a witness: check that a log goes on, and cosign it
    Cosign(cosign::Cosign),
    /// Read a log whenever it grows, and end with an error if it forks or contradicts itself
    Watch(watch::Watch),
    /// As a publisher: add witnesses' cosignatures to the log
    Attach(attach::Attach),
}

impl Log {
    pub(crate) fn run(self, screen: Screen) -> Result<()> {
        match self.verb {
            Verb::Show(verb) => verb.run(screen),
            Verb::Add(verb) => verb.run(screen),
            Verb::Key(verb) => verb.run(screen),
            Verb::Cosign(verb) => verb.run(screen),
            Verb::Watch(verb) => verb.run(screen),
            Verb::Attach(verb) => verb.run(screen),
        }
    }
}
