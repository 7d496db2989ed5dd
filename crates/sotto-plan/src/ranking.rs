//! The plan: the best candidate of every scheme, ranked by a goal, and why other schemes are
//! excluded.

use crate::PlanError;
use crate::baseline::{self, Baseline};
use crate::calibration::Calibration;
use crate::candidate::Candidate;
use crate::choice::{FORMAT, PlanChoice};
use crate::machines;
use crate::price::RequestCost;
use crate::queueing::PassTime;
use crate::tables::{ParamsRequest, RequestTables};
use crate::workload::{RankBy, STAY_DAYS, ServerTrust, Workload};
use rayon::prelude::*;
use serde::Serialize;
use sotto_core::work::SENT_BYTE_NANOSECONDS;
use sotto_core::{Goal, SchemeEntry};
use sotto_db::ingest::KeyArrangement;

/// A scheme that does not fit a workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Exclusion {
    /// Name of the scheme.
    pub scheme: &'static str,
    /// Explanation of why it does not fit.
    pub why: String,
}

/// Result of planning.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plan {
    /// Name and version of the format.
    pub format: &'static str,
    /// Workload that was planned for.
    pub workload: Workload,
    /// Choices of the best candidate, for an encoder.
    pub chosen: Option<PlanChoice>,
    /// Candidates that fit, best first: one of each scheme, or all that differ.
    pub offers: Vec<Candidate>,
    /// Schemes that do not fit.
    pub refused: Vec<Exclusion>,
    /// Baselines to compare with.
    pub baselines: Vec<Baseline>,
}

/// Scope of the search for candidates.
#[derive(Clone, Copy, Default)]
pub struct SearchScope<'a> {
    /// The only scheme to consider; `None` for all.
    pub only: Option<&'static SchemeEntry>,
    /// Whether to return all layouts that differ, including those of named sets, and not only the
    /// best of each scheme.
    pub all: bool,
    /// Why a scheme is not considered, of schemes that the caller excludes.
    pub refuses: Option<&'a (dyn Fn(&SchemeEntry) -> Option<String> + Sync)>,
    /// Whether to leave out proofs that are not required: they would add a tenth at most, and take
    /// longest to place.
    pub unproven: bool,
}

/// Why a scheme is not taken unless somebody names it: `None` if it may be.
pub fn refusal_unless_named(entry: &SchemeEntry) -> Option<String> {
    let why = match entry {
        _ if entry.state.is_some() => "its clients have a state that must be neither lost nor copied",
        _ if entry.metadata.is_baseline => "it is there to be compared with",
        _ => return None,
    };
    Some(why.to_owned())
}

/// Makes a plan for a workload.
///
/// # Errors
/// [`PlanError::Workload`]. A plan in which no scheme fits is not an error.
pub fn plan(
    workload: &Workload,
    scope: SearchScope<'_>,
    calibration: Option<&Calibration>,
) -> Result<Plan, PlanError> {
    workload.check()?;
    let schemes = match scope.only {
        Some(entry) => vec![entry],
        None => sotto_registry::SCHEMES.to_vec(),
    };
    let looked: Vec<_> =
        schemes.par_iter().map(|entry| (*entry, fits(workload, entry, scope, calibration))).collect();
    let (mut offers, mut refused) = (Vec::new(), Vec::new());
    for (entry, found) in looked {
        match found {
            Ok(found) => offers.extend(found),
            Err(why) => refused.push(Exclusion { scheme: entry.id.0, why }),
        }
    }
    // Ties are broken by name, so that a plan is deterministic.
    offers.sort_by(|a, b| {
        let by = a.by(workload.aim).total_cmp(&b.by(workload.aim));
        by.then_with(|| a.choice.scheme.cmp(&b.choice.scheme))
    });
    Ok(Plan {
        format: FORMAT,
        workload: workload.clone(),
        chosen: offers.first().map(|offer| offer.choice.clone()),
        offers,
        refused,
        baselines: baseline::of(workload),
    })
}

/// The layouts of a scheme that fit, best first; or the reason why none does.
fn fits(
    work: &Workload,
    entry: &'static SchemeEntry,
    scope: SearchScope<'_>,
    calibration: Option<&Calibration>,
) -> Result<Vec<Candidate>, String> {
    trusted(work, entry)?;
    if let Some(why) = scope.refuses.and_then(|refuses| refuses(entry)) {
        return Err(why);
    }
    let first = ParamsRequest { goal: suits(work.aim), set: None };
    let tables = RequestTables::of(work, entry, &first)?;
    // The arrangement of keys is chosen once and given to the encoder, except for sums of rows,
    // which depend on their goal.
    let goals = Goal::ALL.into_iter().filter(|goal| *goal != suits(work.aim) && tables.is_independent());
    let sets = (entry.sets)().into_iter().filter(|_| scope.all && tables.is_independent());
    let sets = sets.map(|set| ParamsRequest { goal: Goal::default(), set: Some(set.name.to_owned()) });
    let goals = goals.map(|goal| ParamsRequest { goal, set: None });
    let requests: Vec<ParamsRequest> = std::iter::once(first).chain(goals).chain(sets).collect();
    // Placing proofs takes a hundred layouts to try, so it is done only for layouts that are good
    // without proofs.
    let plain = tables.unproven(work.verified);
    let try_request =
        |tables: &RequestTables, request: &ParamsRequest| offer(work, entry, request, tables, calibration);
    let found: Vec<_> = requests.par_iter().map(|request| (request, try_request(&plain, request))).collect();
    let mut refused: Option<String> = None;
    let mut offers: Vec<(&ParamsRequest, Candidate)> = Vec::new();
    for (request, found) in found {
        match found {
            // Several goals may choose the same parameters.
            Ok(offer) if offers.iter().all(|(_, known)| known.params_digests != offer.params_digests) => {
                offers.push((request, offer));
            }
            Ok(_) => {}
            Err(why) => refused = refused.or(Some(why)),
        }
    }
    offers.sort_by(|(_, a), (_, b)| a.by(work.aim).total_cmp(&b.by(work.aim)));
    let most = if scope.all { usize::MAX } else { 1 };
    let mut whole = Vec::new();
    for (request, plain) in offers {
        if whole.len() == most {
            break;
        }
        match if scope.unproven { Ok(plain) } else { try_request(&tables, request) } {
            Ok(offer) => whole.push(offer),
            Err(why) => refused = refused.or(Some(why)),
        }
    }
    match refused {
        Some(why) if whole.is_empty() => Err(why),
        _ => Ok(whole),
    }
}

/// Parameter goal that suits a ranking.
fn suits(aim: RankBy) -> Goal {
    match aim {
        RankBy::Bytes => Goal::TotalBytes,
        RankBy::Dollars | RankBy::Latency | RankBy::ServerTime | RankBy::Epoch => Goal::ServerTime,
    }
}

/// Checks that a scheme needs no more trust than is given, and offers what is required.
fn trusted(work: &Workload, entry: &SchemeEntry) -> Result<(), String> {
    if entry.servers > 1 && work.trust == ServerTrust::OneServer {
        return Err(format!(
            "needs {} servers of operators that do not share what they see (--trust two-servers)",
            entry.servers
        ));
    }
    if work.symmetric && work.batch.is_some() {
        return Err("a batch table cannot be symmetric".to_owned());
    }
    if work.symmetric && matches!(work.data, crate::TableData::Key { .. }) {
        return Err("a keyword table cannot be symmetric".to_owned());
    }
    Ok(())
}

/// Candidate of a scheme with the requested parameters, if it fits.
fn offer(
    work: &Workload,
    entry: &'static SchemeEntry,
    request: &ParamsRequest,
    tables: &RequestTables,
    calibration: Option<&Calibration>,
) -> Result<Candidate, String> {
    let price = RequestCost::of(work, entry, request, tables, calibration)?;
    let choice = PlanChoice {
        scheme: entry.id.to_string(),
        goal: request.goal.name().to_owned(),
        set: request.set.clone(),
        lookups: work.lookups_per_epoch(),
        verified: price.is_verified,
        symmetric: work.symmetric,
        batch: work.batch,
        keys: tables.keys.map(Into::into),
    };
    let offer = counted(work, entry, tables, &price, choice);
    let offer = Candidate { modeled: machines::over(work, entry, &price, &offer, calibration)?, ..offer };
    within(work, &offer)?;
    Ok(offer)
}

/// Converts costs of a request into seconds and dollars, on a link and machines.
fn counted(
    work: &Workload,
    entry: &SchemeEntry,
    tables: &RequestTables,
    price: &RequestCost,
    choice: PlanChoice,
) -> Candidate {
    let (link, machine) = (&work.link, &work.machine);
    let cores = f64::from(machine.cores);
    let alone = price.server_ns / 1e9;
    let pass = PassTime {
        alone: alone / (1.0 + (cores - 1.0) * price.spread),
        own: price.own,
        queries: price.queries,
    };
    let load = pass.under(work.peak());
    // Nothing is sent for a lookup in a download.
    let round_trip = if price.up > 0 { link.round_trip_ms / 1e3 } else { 0.0 };
    let link_s = round_trip
        + price.up as f64 * 8.0 / (link.up_mbit * 1e6)
        + price.down as f64 * 8.0 / (link.down_mbit * 1e6);
    let client_s = price.client_ns / 1e9;
    let around = link_s + client_s;
    // One-time costs are spread over all requests that a client makes while it stays.
    let lookups = work.lookups as f64 * STAY_DAYS;
    let epochs = (work.updates_per_day * STAY_DAYS).max(1.0).min(lookups);
    let fetched = price.once_down as f64 + (epochs - 1.0) * price.update as f64;
    let sent = price.keys as f64 * STAY_DAYS + price.hints as f64 * epochs;
    let server_s = alone * entry.query_servers as f64;
    let encode_s = price.encode_ns.map(|ns| ns / 1e9 * cores.min(2.0));
    let epoch_lookups = work.lookups_per_epoch() as f64;
    let in_epoch = (price.once_down as f64 + price.keys as f64 + price.hints as f64)
        + epoch_lookups * (price.up as f64 + price.down as f64);
    let core = machine.dollars_hour / 3600.0 / cores;
    // A server encodes once for all its clients.
    let all = work.clients as f64 * work.lookups as f64;
    let encoding = encode_s.unwrap_or(0.0) * work.updates_per_day * entry.servers as f64 / all;
    let dollars = (server_s + encoding) * core
        + (price.down as f64 + (fetched + price.hints as f64 * epochs) / lookups) / 1e9 * machine.dollars_gb;
    let keys = work.clients.saturating_mul(price.keys / entry.query_servers.max(1) as u64);
    let finite = |value: f64| Some(value).filter(|value| value.is_finite());
    let more = price.tables.iter().find_map(|(_, layout)| layout.report.abort_leakage);
    let abort_leakage = more.unwrap_or(entry.metadata.abort_leakage);
    let mut leaks = crate::leakage::of(entry, abort_leakage, price.keys, work.symmetric);
    if matches!(tables.keys, Some(KeyArrangement::Band { .. })) {
        leaks.push(crate::leakage::LeakageStatement("rows cannot be verified one by one".to_owned()));
    }
    Candidate {
        choice,
        title: entry.metadata.title,
        servers: entry.servers,
        params_digests: price.tables.iter().map(|(_, layout)| layout.report.digest.to_string()).collect(),
        tables: tables.groups.iter().map(|group| group.tables).sum(),
        queries: price.queries,
        up_bytes: price.up,
        down_bytes: price.down,
        once_bytes: price.once_down,
        keys_bytes: price.keys,
        hints_bytes: price.hints,
        update_bytes: price.update,
        bytes_in_all: (price.up + price.down) as f64 + (fetched + sent) / lookups,
        epoch_s: in_epoch * SENT_BYTE_NANOSECONDS as f64 / 1e9 + epoch_lookups * (server_s + client_s),
        server_s,
        client_s,
        link_s,
        latency_s: around + pass.alone,
        loaded_p50_s: around + load.p50,
        loaded_p99_s: around + load.p99,
        replicas: load.replicas,
        pass: load.pass,
        capacity: Some(load.capacity).filter(|capacity| capacity.is_finite()),
        memory_bytes: price.resident,
        disk_bytes: price.resident.saturating_mul(2).saturating_add(keys),
        client_bytes: price.client_bytes,
        client_state: price.is_state,
        encode_s,
        dollars: dollars * 1e6,
        security_bits: finite(price.security_bits),
        security_model: price.security_model.clone(),
        failure_log2: finite(price.failure_log2),
        leaks,
        calibrated: price.is_calibrated,
        modeled: None,
    }
}

/// Checks that a candidate is within the workload's limits.
fn within(work: &Workload, offer: &Candidate) -> Result<(), String> {
    let memory = offer.modeled.map_or(offer.memory_bytes, |cut| cut.memory_bytes);
    if memory > work.machine.memory_bytes {
        let mib = |bytes: u64| bytes.div_ceil(1 << 20);
        return Err(format!(
            "memory: needs {} MiB, a machine has {} MiB (--machines splits a table)",
            mib(memory),
            mib(work.machine.memory_bytes)
        ));
    }
    let latency = 1e3 * offer.modeled.map_or(offer.loaded_p50_s, |cut| cut.latency_s);
    if let Some(most) = work.most_latency_ms.filter(|most| latency > *most) {
        return Err(format!("latency: {latency:.0} ms, above the limit of {most:.0} ms"));
    }
    if let Some(most) = work.most_client_bytes.filter(|most| offer.client_bytes > *most) {
        return Err(format!("client state: {} bytes, above the limit of {most}", offer.client_bytes));
    }
    Ok(())
}
