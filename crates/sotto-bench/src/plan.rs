//! One case made ready to run: parameters chosen and checked, rows laid out, memory counted.

use crate::definition::Case;
use crate::error::BenchError;
use crate::report::{Modelled, Table, Traffic};
use crate::{Options, machine, report};
use serde_json::Value;
use sotto_catalog::Packing;
use sotto_core::{ParamsReport, SchemeEntry, Shape};

/// Memory for the program itself and for what scales with nothing.
const MARGIN_BYTES: u64 = 512 << 20;

/// A case, ready.
pub(crate) struct Plan<'a> {
    pub(crate) case: &'a Case,
    pub(crate) entry: &'static SchemeEntry,
    pub(crate) label: String,
    pub(crate) table: Table,
    pub(crate) params: Vec<u8>,
    pub(crate) report: ParamsReport,
    pub(crate) packing: Packing,
    pub(crate) threads: usize,
    pub(crate) lookups: usize,
}

/// A case that is ready, or why this scheme has no parameters for it.
pub(crate) enum Ready<'a> {
    Plan(Box<Plan<'a>>),
    NoFit(String),
}

/// The table of a case.
pub(crate) fn table(case: &Case) -> Table {
    Table {
        shape: report::shape(case.rows, case.row_bits),
        compare: case.compare.clone(),
        rows_count: case.rows,
        row_bits: case.row_bits,
        table_bytes: case.table_bytes(),
    }
}

impl<'a> Plan<'a> {
    /// Chooses and checks parameters.
    pub(crate) fn of(
        case: &'a Case,
        schemes: &[&'static SchemeEntry],
        options: &Options,
    ) -> Result<Ready<'a>, BenchError> {
        let table = table(case);
        let label = format!("{} {}", case.scheme, table.shape);
        let entry = find(case, schemes, &label)?;
        let fail = |step, why| BenchError::Scheme { case: label.clone(), step, why };
        let shape = Shape::new(case.stored_rows(), case.stored_row_bytes(), case.lookups_per_client);
        let selected = match (entry.select)(&shape) {
            Ok(params) => params,
            Err(sotto_core::Error::Params(why)) => return Ok(Ready::NoFit(why.to_string())),
            Err(why) => return Err(fail("choosing parameters", why)),
        };
        let params = overwrite(case, selected, &label)?;
        let report = (entry.report)(&params).map_err(|why| fail("checking parameters", why))?;
        let packing =
            Packing::new(shape.rows, shape.row_bytes, report.records, report.record_bytes).map_err(
                |why| BenchError::Params { case: label.clone(), why: format!("the rows do not fit: {why}") },
            )?;
        Ok(Ready::Plan(Box::new(Plan {
            case,
            entry,
            label,
            table,
            params,
            report,
            packing,
            threads: options.threads.unwrap_or(case.threads).max(1),
            lookups: if options.quick { case.lookups.min(3) } else { case.lookups },
        })))
    }

    /// Memory this case needs at once: the image and as much again of the artifacts for the client that holds
    /// them, the buffer of the read passes, and what an encoder may take on top of its image.
    pub(crate) fn needed_memory(&self) -> u64 {
        let costs = &self.report.costs;
        let image = costs.resident_bytes.max(self.case.table_bytes());
        let encoding = image.saturating_mul(13) / 10;
        let asking = image.saturating_add(costs.artifact_bytes).saturating_add(1 << 30);
        encoding.max(asking).saturating_add(MARGIN_BYTES)
    }

    /// Why the case is not run here, if it is not.
    pub(crate) fn refusal(&self, options: &Options) -> Option<String> {
        if let Some(available) = machine::available_memory().filter(|free| *free < self.needed_memory()) {
            let (needs, has) = (report::bytes(self.needed_memory()), report::bytes(available));
            return Some(format!("does not fit: needs {needs} of memory, {has} are available"));
        }
        (self.case.full && !options.full).then(|| "takes minutes: run with --full".to_owned())
    }

    /// The literal parameters.
    pub(crate) fn literal(&self) -> Value {
        serde_json::from_slice(&self.params).unwrap_or_default()
    }

    /// What travels, by the parameters.
    pub(crate) fn modelled(&self) -> Modelled {
        let costs = &self.report.costs;
        let queries = (self.packing.lookups() * self.entry.servers) as u64;
        Modelled {
            table: self.table.clone(),
            scheme: self.entry.id.to_string(),
            traffic: Traffic::new(
                costs.artifact_bytes,
                costs.keys_bytes.saturating_mul(self.entry.servers as u64),
                costs.query_bytes.saturating_mul(queries),
                costs.answer_bytes.saturating_mul(queries),
            ),
            resident_bytes: costs.resident_bytes,
            server_ops: costs.server_ops.saturating_mul(self.packing.lookups() as u64),
            read_floor_ms: None,
            security_bits: self.report.security.bits,
            failure_log2: self.packing.failure_log2(self.report.failure_log2),
        }
    }
}

/// A definition may leave the version out, so that it outlives the next one.
fn find(
    case: &Case,
    schemes: &[&'static SchemeEntry],
    label: &str,
) -> Result<&'static SchemeEntry, BenchError> {
    let named = |id: &str| id == case.scheme || id.split('/').next() == Some(&case.scheme);
    schemes.iter().copied().find(|entry| named(entry.id.0)).ok_or_else(|| BenchError::UnknownScheme {
        case: label.to_owned(),
        scheme: case.scheme.clone(),
        known: schemes.iter().map(|entry| entry.id.0).collect::<Vec<_>>().join(", "),
    })
}

/// Overwrites fields of selected parameters. Only fields that exist: a misspelt one would change nothing.
fn overwrite(case: &Case, selected: Vec<u8>, label: &str) -> Result<Vec<u8>, BenchError> {
    if case.params.is_empty() {
        return Ok(selected);
    }
    let refuse = |why: String| BenchError::Params { case: label.to_owned(), why };
    let mut literal: serde_json::Map<String, Value> = serde_json::from_slice(&selected)
        .map_err(|e| refuse(format!("parameters are no JSON object: {e}")))?;
    let fields = literal.keys().cloned().collect::<Vec<_>>().join(", ");
    for (field, value) in &case.params {
        let place =
            literal.get_mut(field).ok_or_else(|| refuse(format!("no field {field}; there are {fields}")))?;
        *place = value.clone();
    }
    serde_json::to_vec(&literal).map_err(|e| refuse(e.to_string()))
}
