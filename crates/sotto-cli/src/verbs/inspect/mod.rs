//! `sotto inspect`: describes a table or a stack in a directory, in an image file, or at an
//! address.
//!
//! | module | inspects |
//! |---|---|
//! | `apple` | a table of Apple's lookups |
//! | [`local`] | a directory or an image file |
//! | [`remote`] | a server |
//! | `stack` | a stack: a layer, and the tables below it |
//! | `state` | the durable states of clients |

mod apple;
mod local;
mod remote;
mod stack;
mod state;

use crate::failure::Result;
use crate::screen::Screen;
use crate::verbs::is_url;
use std::path::PathBuf;

const EXAMPLE: &str = "\
A directory shows its newest image (--epoch picks another). An address shows the tables and stacks of the server, a line each. A \
stack shows its layer, what a request takes, and its tables in brief; --table shows one table whole. \
Security, failure bound and sizes are not read from the file: they are computed anew from the parameters in \
it. --verify reads every byte (of a server: every static file) and compares it with its digest.

--state shows what is kept of clients whose hints are used up by asking: how many queries are left, at which epoch.

Example:
  sotto inspect tables/ip-country --verify
  sotto inspect tables/demo --table demo-0
  sotto inspect tables/ip-country/epoch-00000001.sotto --json
  sotto inspect https://lookup.example";

/// Arguments of `sotto inspect`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Inspect {
    /// A directory of a table or a stack, an image file, or a server's address
    #[arg(value_name = "DIR|IMAGE|URL", required_unless_present = "state", default_value = "")]
    target: String,
    /// The states of clients in this folder, as `sotto get --state` keeps them
    #[arg(long, value_name = "DIR", conflicts_with_all = ["target", "verify", "epoch", "table"])]
    state: Option<PathBuf>,
    /// Compare every byte with its digest
    #[arg(long)]
    verify: bool,
    /// Which epoch of a directory [default: the newest]
    #[arg(long, value_name = "N")]
    epoch: Option<u64>,
    /// Which table of a server or a stack [default: all]
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
}

impl Inspect {
    pub(crate) fn run(self, screen: Screen) -> Result<()> {
        if let Some(dir) = &self.state {
            return state::inspect(dir, screen);
        }
        match is_url(&self.target) {
            true => remote::inspect(&self, screen),
            false => match apple::find(&self)? {
                Some(path) => apple::inspect(&path, self.verify, screen),
                None => local::inspect(&self, screen),
            },
        }
    }
}
