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
A directory shows its newest image (--epoch selects another). A server shows its tables and stacks, one \
per line. A stack shows its layer, the cost of a request, and its tables in brief; --table shows one table \
in full. Security, failure probability and sizes are not read from the file but computed from the \
parameters in it. --verify reads every byte (of a server: every static file) and compares it with its digest.

--state shows the stored state of clients whose queries spend hints: the epoch, and how many queries are \
left.

Example:
  sotto inspect tables/ip-country --verify
  sotto inspect tables/demo --table demo-0
  sotto inspect tables/ip-country/epoch-00000001.sotto --json
  sotto inspect https://lookup.example";

/// Arguments of `sotto inspect`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Inspect {
    /// Directory of a table or stack, image file, or address of a server
    #[arg(value_name = "DIR|IMAGE|URL", required_unless_present = "state", default_value = "")]
    target: String,
    /// Folder of client states, as given to `sotto get --state`
    #[arg(long, value_name = "DIR", conflicts_with_all = ["target", "verify", "epoch", "table"])]
    state: Option<PathBuf>,
    /// Compare every byte with its digest
    #[arg(long)]
    verify: bool,
    /// Epoch of a directory [default: the newest]
    #[arg(long, value_name = "N")]
    epoch: Option<u64>,
    /// Table of a server or stack [default: all]
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
