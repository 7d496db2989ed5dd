//! `sotto merkle plan`: the cost of each layout of a log, before anything is built; and the choice of
//! the cheapest, each family's with the scheme that suits it best.

use crate::failure::{Exit, Failure, Result};
use crate::screen::{Report, grid, units};
use crate::source_args::{SchemeArg, scheme};
use crate::verbs::merkle::layout::{CostCache, CostGoal, Kind, Layout, ProofCost, families};
use crate::verbs::merkle::log;
use schemars::JsonSchema;
use serde::Serialize;
use sotto_core::{Artifact, SchemeEntry, TableShape, work};
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
pub(crate) struct Plan {
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
pub(crate) struct CostArgs {
    /// Expected proofs of one client per epoch
    #[arg(long, value_name = "N", default_value = "100")]
    pub(crate) lookups: u64,
    /// Cost to minimize: time, server-time or total-bytes
    #[arg(long, value_name = "GOAL", default_value = "time", value_parser = CostGoal::parse)]
    pub(crate) goal: CostGoal,
}

impl Plan {
    pub(crate) fn run(self) -> Result<Report> {
        let CostArgs { lookups, goal } = self.weights;
        let request = PlanRequest { leaves: self.leaves()?, lookups, goal, scheme: self.scheme };
        let plan = choose(&request, families(request.leaves)?)?;
        let mut text = format!("a log of {} leaves\n\n{}\n", units::count(request.leaves), table(&plan));
        for (layout, scheme, why) in &plan.refused {
            text += &format!("excluded: {layout} with {scheme} ({why})\n");
        }
        let all = request.leaves.saturating_mul(32);
        text += &format!(
            "\n{}\nbaseline: all leaf hashes are {}; a client that downloads them once ({} for each of {} \
             proofs) needs no private lookups\n\
             times: one core with {} byte products, or {} bytes read from memory, per nanosecond; a link \
             of 100 Mbit/s",
            plan.summary(&request),
            units::bytes(all),
            units::bytes(all / lookups.max(1)),
            units::count(lookups),
            work::OPS_PER_NANOSECOND,
            work::OPS_PER_NANOSECOND / work::READ_BYTE
        );
        Ok(Report::new(text, &PlanReport::new(&request, &plan)))
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
        let (_, _, checkpoint) = log::head(folder, key, origin, self.layout, checkpoint)?;
        Ok(checkpoint.size)
    }
}

fn table(plan: &LayoutRanking) -> String {
    let columns = "design | scheme | >lookups | >private | >public | >hint | >keys | >up | >down | >server | >client | >total";
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
    grid::grid(columns, plan.candidates.iter().map(row))
}

/// Layouts of a log, and their costs.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PlanReport<'a> {
    /// Number of leaves of the log.
    leaves: u64,
    /// Number of proofs of one client in an epoch.
    lookups: u64,
    /// Goal of the ranking.
    goal: &'static str,
    /// Byte products of a core in a nanosecond, by which times are computed.
    ops_per_nanosecond: u64,
    /// The cheapest layout.
    chosen: Option<CandidateReport<'a>>,
    /// The best layout of each family, the cheapest first.
    considered: Vec<CandidateReport<'a>>,
    /// Layouts that do not fit.
    refused: Vec<RefusedLayout<'a>>,
}

/// A layout with its cost.
#[derive(Serialize, JsonSchema)]
struct CandidateReport<'a> {
    /// Description of the layout.
    design: String,
    /// Name of the scheme.
    scheme: String,
    /// Number of lookups of a proof.
    lookups: u64,
    /// Bytes of the tables that are looked up in.
    private_bytes: u64,
    server_seconds: f64,
    client_seconds: f64,
    /// Seconds of a proof, with the transfer on a link of 100 Mbit/s.
    seconds: f64,
    #[serde(flatten)]
    price: &'a ProofCost,
}

/// A layout that does not fit.
#[derive(Serialize, JsonSchema)]
struct RefusedLayout<'a> {
    /// Description of the layout.
    design: &'a str,
    /// Name of the scheme.
    scheme: &'static str,
    /// Why it does not fit.
    why: &'a str,
}

impl<'a> PlanReport<'a> {
    fn new(request: &PlanRequest, plan: &'a LayoutRanking) -> Self {
        let refused = plan.refused.iter().map(|(design, scheme, why)| RefusedLayout { design, scheme, why });
        PlanReport {
            leaves: request.leaves,
            lookups: request.lookups,
            goal: request.goal.name(),
            ops_per_nanosecond: work::OPS_PER_NANOSECOND,
            chosen: plan.best().map(CandidateReport::new),
            considered: plan.candidates.iter().map(CandidateReport::new).collect(),
            refused: refused.collect(),
        }
    }
}

impl<'a> CandidateReport<'a> {
    fn new(Candidate { layout, price }: &'a Candidate) -> Self {
        CandidateReport {
            design: layout.title(),
            scheme: price.scheme.id.to_string(),
            lookups: layout.lookups(),
            private_bytes: layout.private_bytes(),
            server_seconds: price.server().as_secs_f64(),
            client_seconds: price.client().as_secs_f64(),
            seconds: price.time().as_secs_f64(),
            price,
        }
    }
}

/// The request for a plan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlanRequest {
    /// Number of leaves of the log.
    pub(crate) leaves: u64,
    /// Number of proofs that one client makes before the log's next epoch.
    pub(crate) lookups: u64,
    pub(crate) goal: CostGoal,
    /// Scheme to consider; all of them if there is none.
    pub(crate) scheme: Option<SchemeArg>,
}

/// A layout with its cost.
#[derive(Clone)]
pub(crate) struct Candidate {
    pub(crate) layout: Layout,
    pub(crate) price: ProofCost,
}

/// The ranking of all layouts.
pub(crate) struct LayoutRanking {
    /// Best layout of each family, the cheapest first. There is at least one.
    pub(crate) candidates: Vec<Candidate>,
    /// Excluded layouts: layout, scheme, reason.
    pub(crate) refused: Vec<(String, &'static str, String)>,
}

/// The schemes to consider: those of one server whose clients have no durable state and do not
/// stream whole tables, since the user has to decide about the others.
fn schemes(request: &PlanRequest) -> Vec<&'static SchemeEntry> {
    match request.scheme {
        Some(scheme) => vec![scheme.entry()],
        None => sotto_registry::SCHEMES.iter().copied().filter(|entry| is_plain(entry)).collect(),
    }
}

fn is_plain(entry: &SchemeEntry) -> bool {
    entry.query_servers == 1 && entry.servers == 1 && entry.state.is_none() && !streams(entry)
}

/// Whether clients of the scheme need all rows, which its parameters report for the smallest table.
fn streams(entry: &SchemeEntry) -> bool {
    let prepare = || {
        let params = (entry.select)(&TableShape::new(1, 1, 1)).ok()?;
        (entry.prepare)(&params, &mut sotto_prg::system_rng().ok()?).ok()
    };
    prepare().is_some_and(|prepare| prepare.needs().iter().any(|need| need.artifact == Artifact::Rows))
}

/// Computes the cost of layouts, and selects the best of each family.
pub(crate) fn choose(request: &PlanRequest, families: Vec<Vec<Layout>>) -> Result<LayoutRanking> {
    let mut prices = CostCache::new(request.lookups, request.goal.goal());
    let (mut candidates, mut refused) = (Vec::new(), Vec::new());
    for family in families {
        let mut best: Option<Candidate> = None;
        let mut not: Vec<(String, &'static str, String)> = Vec::new();
        for layout in family {
            for scheme in schemes(request) {
                match prices.of(&layout, scheme) {
                    Ok(price)
                        if best
                            .as_ref()
                            .is_none_or(|best| price.by(request.goal) < best.price.by(request.goal)) =>
                    {
                        best = Some(Candidate { layout: layout.clone(), price });
                    }
                    Ok(_) => {}
                    // The first reason of a family is enough.
                    Err(why) if not.iter().all(|(_, known, _)| *known != scheme.id.0) => {
                        not.push((layout.title(), scheme.id.0, why));
                    }
                    Err(_) => {}
                }
            }
        }
        if best.is_none() {
            refused.append(&mut not);
        }
        candidates.extend(best);
    }
    candidates.sort_by(|x, y| x.price.by(request.goal).total_cmp(&y.price.by(request.goal)));
    if candidates.is_empty() {
        let why = refused.first().map_or_else(
            || "no design fits".to_owned(),
            |(layout, scheme, why)| format!("{layout} with {scheme}: {why}"),
        );
        let text = format!("no scheme fits a log of {} leaves ({why})", request.leaves);
        return Err(Failure::new(Exit::Params, text).fix("give another --scheme or --design"));
    }
    Ok(LayoutRanking { candidates, refused })
}

impl LayoutRanking {
    /// The cheapest layout.
    pub(crate) fn best(&self) -> Option<&Candidate> {
        self.candidates.first()
    }

    /// The choice in one line, and the alternative.
    pub(crate) fn summary(&self, request: &PlanRequest) -> String {
        let Some((best, others)) = self.candidates.split_first() else { return String::new() };
        let cost = |candidate: &Candidate| match request.goal {
            CostGoal::Time => units::time(candidate.price.time()),
            CostGoal::ServerTime => units::time(candidate.price.server()),
            CostGoal::TotalBytes => units::bytes(candidate.price.bytes()),
        };
        let named = |candidate: &Candidate| {
            format!("{} with {}, {}", candidate.layout.title(), candidate.price.scheme.id, cost(candidate))
        };
        let others: Vec<_> = others.iter().map(named).collect();
        let over = if others.is_empty() { String::new() } else { format!("; over {}", others.join("; ")) };
        format!("{} per proof, by {} (--goal){over}", named(best), request.goal.name())
    }
}

/// Whether `sotto merkle build` chooses the layout by itself. A batch code is for comparison, since
/// it cannot serve some proofs.
pub(crate) fn can_be_chosen(layout: &Layout) -> bool {
    matches!(layout.kind, Kind::Design(_))
}
