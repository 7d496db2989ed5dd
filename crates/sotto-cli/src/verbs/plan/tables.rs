//! The plan as tables that fit a terminal.

use crate::screen::{grid, units};
use sotto_plan::{Baseline, Candidate, KeyChoice, Plan, TableData};
use std::time::Duration;

/// Formats seconds for a person.
fn time(seconds: f64) -> String {
    units::time(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

fn dollars(dollars: f64) -> String {
    if dollars < 0.01 { format!("{dollars:.4}") } else { units::digits(dollars) }
}

/// The whole plan as text.
pub(crate) fn text(plan: &Plan, times: &str) -> String {
    let mut parts = vec![table(plan)];
    if !plan.offers.is_empty() {
        parts.push(costs(plan));
        parts.push(keeps(plan));
        if plan.workload.machines > 1 {
            parts.push(modeled(plan));
        }
        parts.push(format!("what servers learn\n\n{}", leaks(plan)));
    }
    let baselines = plan.baselines.iter().map(|line| (line.name.as_str(), baseline(line)));
    parts.push(format!("without private lookups\n\n{}", grid::facts(baselines)));
    if !plan.refused.is_empty() {
        let why = plan.refused.iter().map(|refused| (refused.scheme, refused.why.clone()));
        parts.push(format!("excluded schemes\n\n{}", grid::facts(why)));
    }
    parts.push(grid::facts([("times", times.to_owned()), ("prices", prices(plan))]));
    parts.push(match plan.offers.first() {
        Some(best) => format!("by {}: {}", plan.workload.aim.name(), named(best)),
        None => "no scheme fits, for the reasons above".to_owned(),
    });
    parts.join("\n\n")
}

/// The table that is planned for, in a line.
fn table(plan: &Plan) -> String {
    let table = match &plan.workload.data {
        TableData::Row { rows, row_bytes, .. } => {
            format!("{} rows of {row_bytes} bytes", units::count(*rows))
        }
        TableData::Key { keys, value_bytes, .. } => {
            format!("{} keys with values of up to {value_bytes} bytes", units::count(*keys))
        }
    };
    let together =
        plan.workload.batch.map(|max_batch| format!(", up to {max_batch} per request")).unwrap_or_default();
    format!(
        "{table} ({}){together}; {} clients with {} requests per day each, {} per second at peak",
        units::bytes(plan.workload.table_bytes()),
        units::count(plan.workload.clients),
        units::count(plan.workload.lookups),
        units::digits(plan.workload.peak()),
    )
}

/// The name of a scheme with the goal of its parameters.
fn named(offer: &Candidate) -> String {
    let choice = &offer.choice;
    match &choice.set {
        Some(set) => format!("{} {set}", choice.scheme),
        None => format!("{} for {}", choice.scheme, choice.goal),
    }
}

fn costs(plan: &Plan) -> String {
    let columns =
        "scheme | >up | >down | >once | >update | >server | >latency | >peak p50 | >peak p99 | >$/10^6";
    let row = |offer: &Candidate| {
        let once = offer.once_bytes.saturating_add(offer.keys_bytes).saturating_add(offer.hints_bytes);
        vec![
            offer.choice.scheme.clone(),
            units::bytes(offer.up_bytes),
            units::bytes(offer.down_bytes),
            units::bytes(once),
            units::bytes(offer.update_bytes.saturating_add(offer.hints_bytes)),
            time(offer.server_s),
            time(offer.latency_s),
            time(offer.loaded_p50_s),
            time(offer.loaded_p99_s),
            dollars(offer.dollars),
        ]
    };
    grid::grid(columns, plan.offers.iter().map(row))
}

fn keeps(plan: &Plan) -> String {
    let columns =
        "scheme | for | >memory | >disk | >client | >machines | >security | >fails | proofs | keys in";
    let row = |offer: &Candidate| {
        let state = if offer.client_state { " *" } else { "" };
        vec![
            offer.choice.scheme.clone(),
            offer.choice.set.clone().unwrap_or_else(|| offer.choice.goal.clone()),
            units::bytes(offer.memory_bytes),
            units::bytes(offer.disk_bytes),
            format!("{}{state}", units::bytes(offer.client_bytes)),
            format!("{}", offer.replicas.saturating_mul(offer.servers as u64)),
            offer.security_bits.map_or_else(|| "any".to_owned(), |bits| format!("{bits:.0} bits")),
            offer.failure_log2.map_or_else(|| "never".to_owned(), |log2| format!("2^{log2:.0}")),
            if offer.choice.verified { "yes" } else { "no" }.to_owned(),
            match offer.choice.keys {
                None => "-".to_owned(),
                Some(KeyChoice::Sums) => "sums".to_owned(),
                Some(KeyChoice::Rows { probes, slots }) => format!("{probes} x {slots}"),
            },
        ]
    };
    let text = grid::grid(columns, plan.offers.iter().map(row));
    let states = plan.offers.iter().any(|offer| offer.client_state);
    if states { format!("{text}\n* state, which must not be lost or copied") } else { text }
}

fn modeled(plan: &Plan) -> String {
    let columns = "scheme | >memory each | >server | >latency | >partials | >$/10^6 | of";
    let row = |offer: &Candidate| {
        let cut = offer.modeled?;
        Some(vec![
            offer.choice.scheme.clone(),
            units::bytes(cut.memory_bytes),
            time(cut.server_s),
            time(cut.latency_s),
            units::bytes(cut.partials_bytes),
            dollars(cut.dollars),
            if cut.from_parts { "measured parts" } else { "equal parts" }.to_owned(),
        ])
    };
    format!(
        "modeled, not measured: the table cut over {} machines\n\n{}",
        plan.workload.machines,
        grid::grid(columns, plan.offers.iter().filter_map(row))
    )
}

/// What servers learn, grouped, since many schemes have the same leakage.
fn leaks(plan: &Plan) -> String {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for offer in &plan.offers {
        let leaks_text: Vec<&str> = offer.leaks.iter().map(|leak| leak.0.as_str()).collect();
        let (leaks_text, name) = (leaks_text.join("; "), offer.choice.scheme.as_str());
        match groups.iter_mut().find(|(known, _)| *known == leaks_text) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => groups.push((leaks_text, vec![name])),
        }
    }
    let lines = groups.iter().map(|(leaks_text, names)| ("", format!("{leaks_text}: {}", names.join(", "))));
    grid::facts(lines)
}

fn baseline(line: &Baseline) -> String {
    let once = if line.once_bytes > 0 {
        format!("{} once, {} per update, ", units::bytes(line.once_bytes), units::bytes(line.update_bytes))
    } else {
        format!("{} up, {} down, ", units::bytes(line.up_bytes), units::bytes(line.down_bytes))
    };
    let latency = if line.latency_s > 0.0 { time(line.latency_s) } else { "no time".to_owned() };
    format!(
        "{once}{latency} per request, $ {} per 10^6; servers learn: {}",
        dollars(line.dollars),
        line.leaks
    )
}

fn prices(plan: &Plan) -> String {
    let (machine, link) = (&plan.workload.machine, &plan.workload.link);
    format!(
        "$ {} per hour for {} cores and {}; $ {} per 10^9 bytes sent; {} Mbit/s down, {} up, {} ms round \
         trip; clients as fast as a core of the server",
        machine.dollars_hour,
        machine.cores,
        units::bytes(machine.memory_bytes),
        machine.dollars_gb,
        link.down_mbit,
        link.up_mbit,
        link.round_trip_ms
    )
}
