//! Costs of a request with a scheme: bytes exactly as the scheme reports them, times by a
//! calibration.

use crate::calibration::{Calibration, LookupWork, SchemeRate};
use crate::tables::{ParamsRequest, RequestTables, TableGroup};
use crate::workload::Workload;
use sotto_catalog::catalog;
use sotto_core::layer::{failure_log2, gate};
use sotto_core::{Error, ParamsError, ParamsReport, SchemeEntry, TableShape};
use sotto_db::ingest::KeyArrangement;
use sotto_db::layout::{LayoutSearch, RecordLayout};
use sotto_oprf::{ELEMENT_BYTES, PROOF_BYTES};

/// Costs of a request, and of what a client needs before it.
#[derive(Debug, Clone)]
pub(crate) struct RequestCost {
    /// Bytes of all queries, to all servers.
    pub(crate) up: u64,
    /// Bytes of all answers, from all servers.
    pub(crate) down: u64,
    /// Bytes that a client downloads before its first request.
    pub(crate) once_down: u64,
    /// Bytes of evaluation keys, to all servers.
    pub(crate) keys: u64,
    /// Bytes of hint requests and hint responses per epoch.
    pub(crate) hints: u64,
    /// Bytes that a client downloads to move from one epoch to the next.
    pub(crate) update: u64,
    /// Nanoseconds of one server, on one thread.
    pub(crate) server_ns: f64,
    /// Nanoseconds of the client.
    pub(crate) client_ns: f64,
    /// Time that each further request of a pass adds, relative to the first.
    pub(crate) own: f64,
    /// Efficiency of a further thread, 0 to 1.
    pub(crate) spread: f64,
    /// Nanoseconds of encoding, if that was measured.
    pub(crate) encode_ns: Option<f64>,
    /// Number of queries to each server.
    pub(crate) queries: u64,
    /// Bytes that one server holds in memory.
    pub(crate) resident: u64,
    /// Bytes that a client stores.
    pub(crate) client_bytes: u64,
    /// Whether the stored bytes are durable state, which must not be lost.
    pub(crate) is_state: bool,
    /// Base-2 logarithm of a bound on the probability that a request fails.
    pub(crate) failure_log2: f64,
    /// Bits of security of the weakest table.
    pub(crate) security_bits: f64,
    pub(crate) security_model: String,
    /// Whether all rows are verified one by one.
    pub(crate) is_verified: bool,
    /// Whether times come from a measurement.
    pub(crate) is_calibrated: bool,
    /// Groups of tables of a request, with the layout of each.
    pub(crate) tables: Vec<(TableGroup, RecordLayout)>,
}

impl RequestCost {
    /// Costs of a request with a scheme.
    ///
    /// # Errors
    /// An explanation why the scheme cannot serve the tables.
    pub(crate) fn of(
        work: &Workload,
        entry: &'static SchemeEntry,
        request: &ParamsRequest,
        tables: &RequestTables,
        calibration: Option<&Calibration>,
    ) -> Result<RequestCost, String> {
        let mut price = RequestCost {
            up: 0,
            down: 0,
            once_down: tables.catalog_bytes,
            keys: 0,
            hints: 0,
            update: 0,
            server_ns: 0.0,
            client_ns: 0.0,
            own: 0.0,
            spread: 1.0,
            encode_ns: Some(0.0),
            queries: 0,
            resident: 0,
            client_bytes: tables.catalog_bytes,
            is_state: entry.state.is_some(),
            failure_log2: f64::NEG_INFINITY,
            security_bits: f64::INFINITY,
            security_model: String::new(),
            is_verified: true,
            is_calibrated: true,
            tables: Vec::new(),
        };
        let (mut visits, mut of_rows) = (Vec::new(), Vec::new());
        for (i, group) in tables.groups.iter().enumerate() {
            let layout = layout(work, entry, request, tables, group)?;
            price.add(work, entry, group, &layout, calibration)?;
            // A layer's failure is bounded by those of its tables; the code can fail in addition.
            let most = usize::try_from(group.tables.saturating_mul(group.visits)).unwrap_or(usize::MAX);
            visits.extend(std::iter::repeat_n(i, most.min(1 << 20)));
            of_rows.push(layout.packing.failure_log2(layout.report.failure_log2));
            price.tables.push((*group, layout));
        }
        let of_lookups = match tables.code_fails {
            f64::NEG_INFINITY => failure_log2(&visits, &of_rows),
            _ => gate(&visits, &of_rows).map_err(|why| why.to_string())?,
        };
        price.failure_log2 = failure_log2(&[0, 1], &[of_lookups, tables.code_fails]);
        if work.symmetric {
            // An element is evaluated, and the result includes its proof.
            price.up = price.up.saturating_add(ELEMENT_BYTES as u64);
            price.down = price.down.saturating_add((ELEMENT_BYTES + PROOF_BYTES) as u64);
        }
        Ok(price)
    }

    fn add(
        &mut self,
        work: &Workload,
        entry: &SchemeEntry,
        group: &TableGroup,
        layout: &RecordLayout,
        calibration: Option<&Calibration>,
    ) -> Result<(), String> {
        let (costs, queried) = (&layout.report.costs, entry.query_servers as u64);
        let each = layout.packing.records_per_row() as u64;
        if entry.state.is_some() && each > 1 {
            return Err("its hints are for one record, and a row spans several records".to_owned());
        }
        let lookups = group.tables.saturating_mul(group.visits);
        let queries = lookups.saturating_mul(each);
        let used = work.lookups_per_epoch().saturating_mul(group.visits).saturating_mul(each);
        // Spent hints are replaced.
        let times = if costs.budget == 0 { 1 } else { used.div_ceil(costs.budget).max(1) };
        let tree = layout.tree_bytes(group.rows.max(layout.packing.rows()));
        let once = costs.artifact_bytes.saturating_mul(times).saturating_add(tree);
        self.once_down = self.once_down.saturating_add(group.tables.saturating_mul(once));
        let keys = group.tables.saturating_mul(costs.keys_bytes);
        self.keys = self.keys.saturating_add(keys.saturating_mul(queried));
        self.hints = self.hints.saturating_add(hints(entry, layout, group.tables)?.saturating_mul(times));
        let update = update(work, entry, layout, times).saturating_add(tree);
        self.update = self.update.saturating_add(group.tables.saturating_mul(update));
        self.up = self.up.saturating_add(queries.saturating_mul(costs.query_bytes).saturating_mul(queried));
        self.down =
            self.down.saturating_add(queries.saturating_mul(costs.answer_bytes).saturating_mul(queried));
        self.queries = self.queries.saturating_add(queries.min(queries.saturating_mul(queried)));
        self.resident = self.resident.saturating_add(group.tables.saturating_mul(costs.resident_bytes));
        let kept = if costs.client_bytes > 0 { costs.client_bytes } else { costs.artifact_bytes };
        let kept = group.tables.saturating_mul(kept.saturating_add(tree));
        self.client_bytes = self.client_bytes.saturating_add(kept);
        self.is_verified &= layout.path.is_some() || entry.is_downloadable();
        if layout.report.security.bits <= self.security_bits {
            self.security_bits = layout.report.security.bits;
            self.security_model.clone_from(&layout.report.security.model);
        }
        let lookup = LookupWork {
            server_ops: costs.server_ops.saturating_mul(each),
            client_ops: costs.client_ops.saturating_mul(each),
            table_bytes: group.rows.saturating_mul(group.row_bytes),
        };
        let known = calibration.and_then(|calibration| calibration.rate(entry.id.0, lookup));
        self.is_calibrated &= known.is_some();
        let rate = known.unwrap_or_else(|| SchemeRate::usual(lookup.server_ops, lookup.client_ops));
        self.server_ns += rate.server_ns * lookups as f64;
        self.client_ns += rate.client_ns * lookups as f64;
        self.own = self.own.max(rate.own);
        self.spread = self.spread.min(rate.spread);
        let tables = group.tables as f64;
        self.encode_ns = self.encode_ns.zip(rate.encode_ns).map(|(sum, encode_ns)| sum + tables * encode_ns);
        Ok(())
    }
}

/// Layout that an encoder would choose.
fn layout(
    work: &Workload,
    entry: &'static SchemeEntry,
    request: &ParamsRequest,
    tables: &RequestTables,
    group: &TableGroup,
) -> Result<RecordLayout, String> {
    let shape = TableShape {
        lookups_per_request: tables.together(),
        buckets: group.buckets,
        sums: matches!(tables.keys, Some(KeyArrangement::Band { .. })),
        goal: request.goal,
        set: request.set.clone(),
        ..TableShape::new(group.rows.saturating_add(group.room), group.row_bytes, work.lookups_per_epoch())
    };
    let plan = LayoutSearch { entry, rows: group.rows, shape };
    let layout = plan.choose(tables.verified).map_err(|error| why(&error))?;
    catalog::gate(&layout.report, &layout.packing).map_err(|why| why.to_string())?;
    Ok(layout)
}

/// Bytes of the hint requests and hint responses by which a client gets all its hints, for schemes
/// with a hint server.
fn hints(entry: &SchemeEntry, layout: &RecordLayout, tables: u64) -> Result<u64, String> {
    let Some(hint_server) = entry.hint_server else { return Ok(0) };
    let (request_bytes, response_bytes) =
        (hint_server.sizes)(&layout.params).map_err(|why| why.to_string())?;
    let hint_requests =
        hint_requests(&layout.report).ok_or("its report lacks the number of hint requests")?;
    Ok(request_bytes.saturating_add(response_bytes).saturating_mul(hint_requests).saturating_mul(tables))
}

/// Number of hint requests by which a client gets all its hints, from the scheme's reported
/// details.
pub(crate) fn hint_requests(report: &ParamsReport) -> Option<u64> {
    report
        .details
        .iter()
        .find(|(name, _)| *name == "hint requests")
        .and_then(|(_, hint_requests)| hint_requests.parse().ok())
}

/// Bytes that a client downloads to move from one epoch to the next.
fn update(work: &Workload, entry: &SchemeEntry, layout: &RecordLayout, times: u64) -> u64 {
    let costs = &layout.report.costs;
    let all = costs.artifact_bytes.saturating_mul(times);
    if entry.patch.is_none() && entry.state.is_none() {
        return all;
    }
    // Deltas contain the changed records, and each record has several rows that may change.
    let rows = layout.packing.rows_per_record() as f64;
    let changed = layout.report.records as f64 * (1.0 - (1.0 - work.changed).powf(rows));
    let delta = (changed * (layout.report.record_bytes + 8) as f64) as u64;
    if entry.state.is_some() && all == 0 { delta } else { delta.min(all) }
}

/// Explanation of an error, without the table's name, which the plan states already.
fn why(error: &sotto_db::DbError) -> String {
    match error {
        sotto_db::DbError::Scheme(Error::Params(ParamsError::NoFit { why, .. })) => why.clone(),
        error => error.to_string(),
    }
}
