//! `sotto merkle plan`: the cost of each layout of a log, before anything is built.
//!
//! | module | contents |
//! |---|---|
//! | [`layout`] | the layouts, and the tables of each |
//! | [`price`] | the cost of a layout with a scheme |
//! | [`choose`] | the choice of the cheapest layout |

pub(super) mod choose;
pub(super) mod layout;
pub(super) mod price;

use super::log_args;
use crate::failure::{Failure, Result};
use crate::screen::{Screen, grid, units};
use crate::verbs::encode::{SchemeArg, scheme};
use choose::{Candidate, LayoutRanking as Plans, PlanRequest};
use price::CostGoal;
use serde_json::{Value, json};
use sotto_core::work;
use sotto_tlog::LogLayout;
use std::path::PathBuf;

const EXAMPLE: &str = "\
Nothing is measured: sizes are exact, and times are each scheme's count of its work, at the rate of one \
core that the last line names. The times of a design with several tables are the sum over its tables, \
although a server may answer them in parallel.

Goals:
  time         server, client and bytes on a link of 100 Mbit/s, added up
  server-time  the servers' work
  total-bytes  bytes up and down
What a client fetches before its first proof is divided by --lookups, the expected number of proofs.

With tiles a proof includes the entry's own hash; by color and with a batch code the client needs to have \
the entry. Layers are public as long as they have at most a quarter of the leaves' hashes.

Schemes of two servers, and schemes whose clients have a state on disk, are considered only if --scheme \
names them.

Example:
  sotto merkle plan logs/demo --log-key logs/demo.pub
  sotto merkle plan --leaves 268435456 --lookups 1000 --goal total-bytes";

/// Arguments of `sotto merkle plan`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct Plan {
    /// Folder of the log, of which only the checkpoint is read
    #[arg(value_name = "LOG", required_unless_present = "leaves")]
    log: Option<PathBuf>,
    /// Number of entries to plan for, in place of a log
    #[arg(long, value_name = "N", conflicts_with = "log")]
    leaves: Option<u64>,
    /// Public key of the log, or a file that holds it
    #[arg(long, value_name = "KEY", requires = "log")]
    log_key: Option<String>,
    /// Origin line of the log [default: the key's name; Go's checksum databases need none]
    #[arg(long, value_name = "NAME", requires = "log")]
    origin: Option<String>,
    /// Layout of the log's files: tlog-tiles, static-ct or sumdb [default: detected]
    #[arg(long, value_name = "LAYOUT", requires = "log")]
    layout: Option<LogLayout>,
    /// File of the log's checkpoint, if it is not in the folder
    #[arg(long, value_name = "FILE", requires = "log")]
    checkpoint: Option<PathBuf>,
    /// Consider this scheme only; `sotto schemes` lists them
    #[arg(long, value_parser = scheme)]
    scheme: Option<SchemeArg>,
    #[command(flatten)]
    weights: CostArgs,
}

/// What the choice goes by: the same for `sotto merkle build`.
#[derive(Debug, clap::Args)]
pub(super) struct CostArgs {
    /// Expected proofs of one client per epoch
    #[arg(long, value_name = "N", default_value = "100")]
    pub(super) lookups: u64,
    /// Cost to minimize: time, server-time or total-bytes
    #[arg(long, value_name = "GOAL", default_value = "time", value_parser = CostGoal::parse)]
    pub(super) goal: CostGoal,
}

impl Plan {
    pub(super) fn run(self, screen: Screen) -> Result<()> {
        let CostArgs { lookups, goal } = self.weights;
        let request = PlanRequest { leaves: self.leaves()?, lookups, goal, scheme: self.scheme };
        let plan = choose::choose(&request, layout::families(request.leaves)?)?;
        screen.say(format!("a log of {} leaves\n", units::count(request.leaves)))?;
        screen.say(table(&plan))?;
        for (layout, scheme, why) in &plan.refused {
            screen.say(format!("excluded: {layout} with {scheme} ({why})"))?;
        }
        screen.say(format!("\n{}", plan.summary(&request)))?;
        let all = request.leaves.saturating_mul(32);
        screen.say(format!(
            "baseline: all leaf hashes are {}; a client that downloads them once ({} for each of {} \
             proofs) needs no private lookups",
            units::bytes(all),
            units::bytes(all / lookups.max(1)),
            units::count(lookups)
        ))?;
        screen.say(format!(
            "times: one core with {} byte products, or {} bytes read from memory, per nanosecond; a link \
             of 100 Mbit/s",
            work::OPS_PER_NANOSECOND,
            work::OPS_PER_NANOSECOND / work::READ_BYTE
        ))?;
        screen.report(&report(&request, &plan))
    }

    fn leaves(&self) -> Result<u64> {
        let Some(folder) = &self.log else {
            return self.leaves.ok_or_else(|| Failure::usage("neither a log nor --leaves is given"));
        };
        let Some(key) = &self.log_key else {
            return Err(Failure::usage("a checkpoint needs the key that verifies it")
                .fix("give --log-key, or --leaves in place of the log"));
        };
        let (origin, checkpoint) = (self.origin.as_deref(), self.checkpoint.as_deref());
        let (_, _, checkpoint) = log_args::head(folder, key, origin, self.layout, checkpoint)?;
        Ok(checkpoint.size)
    }
}

fn table(plan: &Plans) -> String {
    let columns = [
        ("design", false),
        ("scheme", false),
        ("lookups", true),
        ("private", true),
        ("public", true),
        ("hint", true),
        ("keys", true),
        ("up", true),
        ("down", true),
        ("server", true),
        ("client", true),
        ("total", true),
    ];
    let row = |candidate: &Candidate| {
        let Candidate { layout, price } = candidate;
        vec![
            layout.title(),
            price.scheme.id.to_string(),
            layout.lookups().to_string(),
            units::bytes(layout.private_bytes()),
            units::bytes(price.public_bytes),
            units::bytes(price.artifact_bytes),
            units::bytes(price.keys_bytes),
            units::bytes(price.up),
            units::bytes(price.down),
            units::time(price.server()),
            units::time(price.client()),
            units::time(price.time()),
        ]
    };
    grid::grid(&columns, plan.candidates.iter().map(row))
}

fn report(request: &PlanRequest, plan: &Plans) -> Value {
    json!({
        "leaves": request.leaves,
        "lookups": request.lookups,
        "goal": request.goal.name(),
        "ops_per_nanosecond": work::OPS_PER_NANOSECOND,
        "chosen": plan.best().map(candidate),
        "considered": plan.candidates.iter().map(candidate).collect::<Vec<_>>(),
        "refused": plan.refused.iter().map(|(design, scheme, why)| {
            json!({ "design": design, "scheme": scheme, "why": why })
        }).collect::<Vec<_>>(),
    })
}

fn candidate(candidate: &Candidate) -> Value {
    let Candidate { layout, price } = candidate;
    json!({
        "design": layout.title(),
        "scheme": price.scheme.id.to_string(),
        "lookups": layout.lookups(),
        "private_bytes": layout.private_bytes(),
        "public_bytes": price.public_bytes,
        "artifact_bytes": price.artifact_bytes,
        "keys_bytes": price.keys_bytes,
        "bytes_up": price.up,
        "bytes_down": price.down,
        "server_ops": price.server_ops,
        "client_ops": price.client_ops,
        "server_seconds": price.server().as_secs_f64(),
        "client_seconds": price.client().as_secs_f64(),
        "seconds": price.time().as_secs_f64(),
        "resident_bytes": price.resident_bytes,
        "failure_log2": finite(price.failure_log2),
    })
}

/// JSON has no infinity: a bound of nothing at all is null.
fn finite(log2: f64) -> Option<f64> {
    Some(log2).filter(|log2| log2.is_finite())
}
