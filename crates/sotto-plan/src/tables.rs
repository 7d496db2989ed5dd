//! The tables that a request of a scheme queries: arrangement of keys in rows, and buckets of a
//! batch code.

use crate::workload::{TableData, Workload};
use sotto_core::{Goal, SchemeEntry, TableShape};
use sotto_db::RowProofs;
use sotto_db::batch_sizes::code_sizes;
use sotto_db::ingest::{ArrangementLimits, BandPolicy, CostModel, KeyArrangement, arrangement};
use sotto_oprf::OVERHEAD_BYTES;

/// Tables of equal shape that a request queries equally often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TableGroup {
    /// Number of tables.
    pub(crate) tables: u64,
    /// Rows of each table.
    pub(crate) rows: u64,
    /// Headroom of each table, in rows.
    pub(crate) room: u64,
    /// Bytes of a row.
    pub(crate) row_bytes: u64,
    /// Buckets of each table, of each of which a query fetches a row.
    pub(crate) buckets: u64,
    /// Number of lookups that a request makes in each table.
    pub(crate) visits: u64,
}

/// All tables that a request queries.
#[derive(Debug, Clone)]
pub(crate) struct RequestTables {
    pub(crate) groups: Vec<TableGroup>,
    /// Arrangement of keys in rows, if rows are requested by key.
    pub(crate) keys: Option<KeyArrangement>,
    /// Bytes of the catalog that describe the arrangement.
    pub(crate) catalog_bytes: u64,
    /// Base-2 logarithm of the probability that a batch code fails.
    pub(crate) code_fails: f64,
    /// Whether rows are verified one by one.
    pub(crate) verified: RowProofs,
}

/// Goal or named set that parameters are chosen for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParamsRequest {
    pub(crate) goal: Goal,
    pub(crate) set: Option<String>,
}

impl RequestTables {
    /// Tables of a request for a workload.
    ///
    /// # Errors
    /// An explanation why the scheme cannot serve them.
    pub(crate) fn of(
        work: &Workload,
        entry: &'static SchemeEntry,
        request: &ParamsRequest,
    ) -> Result<RequestTables, String> {
        let batch = work.batch.map(usize::from);
        let verified = match batch {
            _ if work.verified => RowProofs::Yes,
            Some(_) => RowProofs::No,
            None => RowProofs::IfCheap,
        };
        let (keys, whole, each, catalog_bytes) = match &work.data {
            TableData::Row { rows, row_bytes, room } => {
                let masked = if work.symmetric { OVERHEAD_BYTES as u64 } else { 0 };
                (None, (*rows, *room, row_bytes.saturating_add(masked)), 1, 0)
            }
            TableData::Key { counted, .. } => {
                let costing = CostModel {
                    entry,
                    lookups_per_client: work.lookups_per_epoch(),
                    goal: request.goal,
                    set: request.set.clone(),
                    batch,
                };
                let bands = if work.verified || batch.is_some() {
                    BandPolicy::Never
                } else {
                    BandPolicy::IfNoRowProofs
                };
                let open = ArrangementLimits { probes: None, slots: None, bands };
                let keys = arrangement(counted, open, &costing).map_err(|why| why.to_string())?;
                let keys = keys.ok_or("no parameters fit any layout of the keys")?;
                let sizes = keys.sizes(counted).map_err(|why| why.to_string())?;
                (Some(keys), (sizes.rows, 0, sizes.row_bytes), keys.probes(), sizes.catalog_bytes)
            }
        };
        let verified =
            if matches!(keys, Some(KeyArrangement::Band { .. })) { RowProofs::No } else { verified };
        let (rows, room, row_bytes) = whole;
        let whole = |visits| TableGroup { tables: 1, rows, room, row_bytes, buckets: 1, visits };
        let Some(most) = batch else {
            let groups = vec![whole(each.into())];
            return Ok(RequestTables {
                groups,
                keys,
                catalog_bytes,
                code_fails: f64::NEG_INFINITY,
                verified,
            });
        };
        // The places of a row's copies depend on the number of rows, so the headroom consists of
        // rows.
        let rows = rows.saturating_add(room);
        let whole = |visits| TableGroup { rows, room: 0, ..whole(visits) };
        let shape = TableShape {
            goal: request.goal,
            set: request.set.clone(),
            ..TableShape::new(rows, row_bytes, work.lookups_per_epoch())
        };
        let items = most.saturating_mul(each as usize);
        let sizes = code_sizes(entry, &shape, items).map_err(|why| why.to_string())?;
        let (buckets, bucket_rows) = ((sizes.copies * sizes.buckets) as u64, sizes.bucket_rows());
        let of_buckets = match entry.batch {
            Some(_) => TableGroup { rows: bucket_rows.saturating_mul(buckets), buckets, ..whole(1) },
            None => TableGroup { tables: buckets, rows: bucket_rows, ..whole(1) },
        };
        let groups =
            [(buckets > 0).then_some(of_buckets), (sizes.spare > 0).then(|| whole(sizes.spare as u64))];
        let groups = groups.into_iter().flatten().collect();
        Ok(RequestTables { groups, keys, catalog_bytes, code_fails: sizes.failure_log2(), verified })
    }

    /// Whether an encoder can be given the arrangement of keys independently of its other options.
    pub(crate) fn is_independent(&self) -> bool {
        !matches!(self.keys, Some(KeyArrangement::Band { .. }))
    }

    /// Tables without proofs, unless proofs are required at any cost.
    pub(crate) fn unproven(&self, require: bool) -> RequestTables {
        let verified = if require { self.verified } else { RowProofs::No };
        RequestTables { verified, ..self.clone() }
    }

    /// Number of queries of a request in tables without wide rows.
    pub(crate) fn together(&self) -> u64 {
        // The rows of a key are fetched together too, and encoders account for them in the failure
        // bound of each.
        match self.code_fails {
            f64::NEG_INFINITY => 1,
            _ => self.groups.iter().map(|group| group.tables * group.visits).sum(),
        }
    }
}
