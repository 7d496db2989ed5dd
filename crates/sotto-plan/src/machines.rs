//! Estimates for a table on several machines, each with a part. Nothing is measured as a whole: a
//! part and the joining of partial answers are measured on one machine, and the rest is computed.

use crate::calibration::Calibration;
use crate::candidate::{Candidate, SplitEstimate};
use crate::price::RequestCost;
use crate::workload::Workload;
use sotto_core::SchemeEntry;

/// Speed of the link between machines, in bytes per second: 10 Gbit/s.
const BYTES_A_SECOND: f64 = 1.25e9;

/// Seconds of a round trip between machines in one room.
const ROUND_TRIP: f64 = 0.2e-3;

/// Estimate for a candidate with its tables in parts; `None` if one machine is requested.
///
/// # Errors
/// An explanation why the scheme's tables cannot be cut.
pub(crate) fn over(
    work: &Workload,
    entry: &SchemeEntry,
    price: &RequestCost,
    whole: &Candidate,
    calibration: Option<&Calibration>,
) -> Result<Option<SplitEstimate>, String> {
    let machines = work.machines;
    if machines == 1 {
        return Ok(None);
    }
    let parts = entry.server.parts.ok_or("its tables cannot be split into parts")?;
    let mut partials = 0u64;
    for (group, layout) in &price.tables {
        let most = (parts.max_parts)(&layout.params).map_err(|why| why.to_string())?;
        if most < machines {
            return Err(format!("its tables have at most {most} parts, each on one machine"));
        }
        let queries =
            group.tables.saturating_mul(group.visits).saturating_mul(layout.packing.records_per_row() as u64);
        let answers =
            queries.saturating_mul(layout.report.costs.answer_bytes).saturating_mul(machines.into());
        partials = partials.saturating_add(answers);
    }
    let known = calibration.and_then(|calibration| calibration.part_rate(entry.id.0));
    let (all, join, long) =
        known.map_or((1.0, 0.0, 1.0), |parts| (parts.all.max(1.0), parts.join, parts.long));
    // A partial answer is as long as an answer, unless it was measured.
    let partials = partials as f64 * long;
    let count = f64::from(machines);
    let cores = 1.0 + (f64::from(work.machine.cores) - 1.0) * price.spread;
    let (parts_s, join_s) = (price.server_ns / 1e9 * all, join * count * price.queries as f64 / 1e9);
    let sent = ROUND_TRIP + partials / BYTES_A_SECOND;
    let alone = whole.latency_s - price.server_ns / 1e9 / cores;
    let server_s = (parts_s + join_s) * entry.query_servers as f64;
    let core = work.machine.dollars_hour / 3600.0 / f64::from(work.machine.cores);
    let memory = price.resident.div_ceil(machines.into());
    Ok(Some(SplitEstimate {
        machines,
        memory_bytes: memory,
        latency_s: alone + parts_s / count / cores + sent + join_s,
        server_s,
        partials_bytes: partials as u64,
        dollars: whole.dollars + (server_s - whole.server_s) * core * 1e6,
        from_parts: known.is_some(),
    }))
}
