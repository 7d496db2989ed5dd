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
A publisher's log has a line for each signed catalog and stack, with its digest. It is a C2SP tlog-tiles \
log under the publisher's own key, so a client that pinned the publisher needs no other key for it. `sotto \
encode --catalog-log DIR` creates the log, later epochs are added by themselves, and `sotto serve` serves it.

A witness is run by somebody else, on another machine. From time to time it checks that the log extends \
what it saw last, reads the new entries, and cosigns the log with the time; it does not if the log has two \
catalogs of one epoch. Clients that name the witness (`sotto get --witness KEY`) refuse a catalog that is \
not in the log, a log without a recent cosignature, a log that does not extend the one they saw before, \
and a log whose entries contradict each other where they read it. Anybody can read all of it: `sotto log \
watch` ends with exit code 5 at two entries that contradict each other.

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
    /// Show the catalogs in a log, and who cosigned it
    Show(show::Show),
    /// Add the catalogs of a table or stack to its log, if they are missing
    Add(add::Add),
    /// Create a witness's key, or show its public half
    Key(key::Key),
    /// As a witness: check that a log extends what was seen before, and cosign it
    Cosign(cosign::Cosign),
    /// Watch a log, and end with an error if it forks or contradicts itself
    Watch(watch::Watch),
    /// As a publisher: add cosignatures of witnesses to the log
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
