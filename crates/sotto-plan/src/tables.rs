//! The tables that a request asks, for a scheme: how keys lie in rows, and which buckets a batch code has.

use crate::workload::{TableData, Workload};
use sotto_core::{Goal, SchemeEntry};
use sotto_db::RowProofs;
use sotto_db::ingest::{ArrangementLimits, BandPolicy, CostModel, KeyArrangement, arrangement};
use sotto_layers::batch_code::code;
use sotto_oprf::OVERHEAD_BYTES;

/// Tables that a request asks alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TableGroup {
    /// How many there are.
    pub(crate) tables: u64,
    /// Rows of each.
    pub(crate) rows: u64,
    /// Rows that each has room for after them.
    pub(crate) room: u64,
    /// Bytes of a row.
    pub(crate) row_bytes: u64,
    /// Buckets of each, of each of which a query asks for a row.
    pub(crate) buckets: u64,
    /// Lookups that a request makes in each.
    pub(crate) visits: u64,
}

/// What a request asks.
#[derive(Debug, Clone)]
pub(crate) struct RequestTables {
    pub(crate) asked: Vec<TableGroup>,
    /// How keys lie in rows, if rows are asked by key.
    pub(crate) keys: Option<KeyArrangement>,
    /// Bytes of the catalog that say where.
    pub(crate) catalog_bytes: u64,
    /// log2 of how often a batch code fails.
    pub(crate) code_fails: f64,
    /// Whether rows are to be verified one by one.
    pub(crate) verified: RowProofs,
}

/// What parameters are asked for: a goal, or a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParamsRequest {
    pub(crate) goal: Goal,
    pub(crate) set: Option<String>,
}

impl RequestTables {
    /// Those of a workload.
    ///
    /// # Errors
    /// Why the scheme cannot, in words.
    pub(crate) fn of(
        work: &Workload,
        entry: &'static SchemeEntry,
        wish: &ParamsRequest,
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
                    goal: wish.goal,
                    set: wish.set.clone(),
                    batch,
                };
                let bands = if work.verified || batch.is_some() {
                    BandPolicy::Never
                } else {
                    BandPolicy::IfNoRowProofs
                };
                let open = ArrangementLimits { probes: None, slots: None, bands };
                let keys = arrangement(counted, open, &costing).map_err(|why| why.to_string())?;
                let keys = keys.ok_or("no parameters fit any arrangement of its keys")?;
                let sizes = keys.sizes(counted).map_err(|why| why.to_string())?;
                (Some(keys), (sizes.rows, 0, sizes.row_bytes), keys.probes(), sizes.catalog_bytes)
            }
        };
        let verified =
            if matches!(keys, Some(KeyArrangement::Band { .. })) { RowProofs::No } else { verified };
        let (rows, room, row_bytes) = whole;
        let whole = |visits| TableGroup { tables: 1, rows, room, row_bytes, buckets: 1, visits };
        let Some(most) = batch else {
            let asked = vec![whole(each.into())];
            return Ok(RequestTables { asked, keys, catalog_bytes, code_fails: f64::NEG_INFINITY, verified });
        };
        // Where a row's copies lie follows from how many rows there are, so the room is rows.
        let rows = rows.saturating_add(room);
        let whole = |visits| TableGroup { rows, room: 0, ..whole(visits) };
        let sizes =
            code::CodeSizes::fit(rows, most.saturating_mul(each as usize)).map_err(|why| why.to_string())?;
        let (buckets, bucket_rows) = ((sizes.copies * sizes.buckets) as u64, sizes.bucket_rows());
        let of_buckets = match entry.batch {
            Some(_) => TableGroup { rows: bucket_rows.saturating_mul(buckets), buckets, ..whole(1) },
            None => TableGroup { tables: buckets, rows: bucket_rows, ..whole(1) },
        };
        let asked =
            [(buckets > 0).then_some(of_buckets), (sizes.spare > 0).then(|| whole(sizes.spare as u64))];
        let asked = asked.into_iter().flatten().collect();
        Ok(RequestTables { asked, keys, catalog_bytes, code_fails: sizes.failure_log2(), verified })
    }

    /// Whether an encoder can be told how keys lie in rows, whatever else it is told.
    pub(crate) fn is_said(&self) -> bool {
        !matches!(self.keys, Some(KeyArrangement::Band { .. }))
    }

    /// The same without proofs, unless these are wanted whatever they cost.
    pub(crate) fn unproven(&self, wanted: bool) -> RequestTables {
        let verified = if wanted { self.verified } else { RowProofs::No };
        RequestTables { verified, ..self.clone() }
    }

    /// Queries of a request in tables without wide rows.
    pub(crate) fn together(&self) -> u64 {
        // A key's rows are asked for together too, and encoders leave their sum to the failure that each has.
        match self.code_fails {
            f64::NEG_INFINITY => 1,
            _ => self.asked.iter().map(|asked| asked.tables * asked.visits).sum(),
        }
    }
}
