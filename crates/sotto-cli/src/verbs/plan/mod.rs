//! `sotto plan`: ranks every scheme and layout that fits a workload, with the cost of each, and
//! says why others do not fit.
//!
//! | module | contents |
//! |---|---|
//! | [`workload_args`] | the workload, from the command line and from a file |
//! | `number` | numbers as people write them |
//! | `tables` | the plan as tables |

mod number;
mod tables;
mod workload_args;

use super::calibration;
use super::encode::{SchemeArg, scheme};
use crate::exit_mapping;
use crate::failure::{Failure, Result};
use crate::screen::Screen;
use sotto_plan::{Plan as Planned, SearchScope};
use std::path::PathBuf;
use workload_args::WorkloadArgs;

const EXAMPLE: &str = "\
Bytes are exact, for the parameters that `sotto encode` would choose. Times are predicted from what `sotto \
bench machine` measured on this machine, or, without measurements, from each scheme's own count of its \
work; the plan says which. `sotto bench plan` shows the accuracy of predictions.

At peak, requests that arrive during a pass share the next pass, of at most 8 queries, as `sotto serve` \
does it (gated batch service): the wait is half a pass on average, and one pass at worst. Machines are \
added if one would be busy for more than 70 % of the time. Dollars cover core-seconds and bytes sent, at \
--dollars-per-hour and --dollars-per-gb; downloads that happen once are spread over 30 days of a client's \
lookups, and encoding over all lookups of an epoch.

--machines N cuts the table over N machines. These figures are modeled, not measured, and stand in columns \
of their own.

Example:
  sotto plan --rows 2^20 --row-bytes 256
  sotto plan --rows 1e6 --row-bytes 16 --keyed --lookups 5 --updates-per-day 24 --rank-by bytes
  sotto plan words.csv --value meaning --trust two-servers --out plan.json
  sotto encode words.csv --value meaning --out tables/planned --plan plan.json";

/// Arguments of `sotto plan`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Plan {
    #[command(flatten)]
    workload_args: WorkloadArgs,
    /// Consider this scheme only; `sotto schemes` lists them
    #[arg(long, value_parser = scheme)]
    scheme: Option<SchemeArg>,
    /// Show all layouts and named parameter sets, in place of the best of each scheme
    #[arg(long)]
    all: bool,
    /// File to write the plan to, for `sotto encode --plan`
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Plan {
    pub(crate) fn run(self, screen: Screen) -> Result<()> {
        let workload = self.workload_args.workload(screen)?;
        let (calibration, times) = calibration::recall();
        let scope = SearchScope { only: self.scheme.map(SchemeArg::entry), all: self.all };
        let plan = sotto_plan::plan(&workload, scope, calibration.as_ref())
            .map_err(|error| exit_mapping::plan(&error))?;
        screen.say(tables::text(&plan, &times))?;
        screen.report(&plan)?;
        if let Some(path) = &self.out {
            write(path, &plan)?;
            screen.say(format!("\nnext: sotto encode ... --plan {}", path.display()))?;
        }
        Ok(())
    }
}

fn write(path: &std::path::Path, plan: &Planned) -> Result<()> {
    let text = serde_json::to_string_pretty(plan)
        .map_err(|error| Failure::internal(format!("cannot serialize a plan: {error}")))?;
    std::fs::write(path, text).map_err(|error| Failure::file("writing", path, &error))
}
