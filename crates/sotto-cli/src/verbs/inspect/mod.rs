//! `sotto inspect`: what is in a table directory, an image file, or behind an address.
//!
//! | module | what it looks at |
//! |---|---|
//! | [`local`] | a directory or an image file |
//! | [`remote`] | a server |

mod local;
mod remote;

use crate::failure::Result;
use crate::screen::Screen;

const EXAMPLE: &str = "\
A directory shows its newest image (--epoch picks another). An address shows every table of the server. \
Security, failure bound and sizes are not read from the file: they are computed anew from the parameters in \
it. --verify reads every byte (of a server: every static file) and compares it with its digest.

Example:
  sotto inspect tables/ip-country --verify
  sotto inspect tables/ip-country/epoch-00000001.sotto --json
  sotto inspect https://lookup.example";

/// Arguments of `sotto inspect`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Inspect {
    /// A table directory, an image file, or a server's address
    #[arg(value_name = "DIR|IMAGE|URL")]
    target: String,
    /// Compare every byte with its digest
    #[arg(long)]
    verify: bool,
    /// Which epoch of a directory [default: the newest]
    #[arg(long, value_name = "N")]
    epoch: Option<u64>,
    /// Which table of a server [default: all]
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
}

impl Inspect {
    pub(crate) fn run(self, screen: Screen) -> Result<()> {
        match self.target.starts_with("http://") || self.target.starts_with("https://") {
            true => remote::inspect(&self, screen),
            false => local::inspect(&self, screen),
        }
    }
}
