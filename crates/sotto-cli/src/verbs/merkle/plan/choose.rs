//! The choice of a layout: each family's cheapest one with the scheme that suits it best, and the
//! cheapest of all.

use super::layout::{Kind, Layout};
use super::price::{CostCache, CostGoal, ProofCost};
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::screen::units;
use crate::verbs::encode::SchemeArg;
use sotto_core::{Artifact, SchemeEntry, TableShape};

/// The request for a plan.
#[derive(Debug, Clone, Copy)]
pub(in crate::verbs::merkle) struct PlanRequest {
    /// Number of leaves of the log.
    pub(in crate::verbs::merkle) leaves: u64,
    /// Number of proofs that one client makes before the log's next epoch.
    pub(in crate::verbs::merkle) lookups: u64,
    pub(in crate::verbs::merkle) goal: CostGoal,
    /// Only scheme to consider.
    pub(in crate::verbs::merkle) scheme: Option<SchemeArg>,
}

/// A layout with its cost.
#[derive(Clone)]
pub(in crate::verbs::merkle) struct Candidate {
    pub(in crate::verbs::merkle) layout: Layout,
    pub(in crate::verbs::merkle) price: ProofCost,
}

/// The ranking of all layouts.
pub(in crate::verbs::merkle) struct LayoutRanking {
    /// Best layout of each family, the cheapest first. There is at least one.
    pub(in crate::verbs::merkle) candidates: Vec<Candidate>,
    /// Excluded layouts: layout, scheme, reason.
    pub(super) refused: Vec<(String, &'static str, String)>,
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
    entry.servers == 1 && entry.state.is_none() && !streams(entry)
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
pub(in crate::verbs::merkle) fn choose(
    request: &PlanRequest,
    families: Vec<Vec<Layout>>,
) -> Result<LayoutRanking> {
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
    pub(in crate::verbs::merkle) fn best(&self) -> Option<&Candidate> {
        self.candidates.first()
    }

    /// The choice in one line, and the alternative.
    pub(in crate::verbs::merkle) fn summary(&self, request: &PlanRequest) -> String {
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
pub(in crate::verbs::merkle) fn can_be_chosen(layout: &Layout) -> bool {
    matches!(layout.kind, Kind::Design(_))
}
