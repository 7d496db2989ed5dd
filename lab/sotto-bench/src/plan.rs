//! Preparing one case: parameters chosen and checked, rows laid out, memory counted.

use crate::definition::Case;
use crate::error::BenchError;
use crate::report::{FetchMethod, ModeledCase, TableFacts, Traffic};
use crate::{Options, report};
use serde_json::Value;
use sotto_catalog::Packing;
use sotto_core::{ExpectOrDefault, ParamsReport, SchemeEntry, TableShape};

/// Memory for the program itself and everything of constant size.
const MARGIN_BYTES: u64 = 512 << 20;

/// A case that is ready to run.
#[derive(Clone)]
pub(crate) struct PreparedCase<'a> {
    pub(crate) case: &'a Case,
    pub(crate) entry: &'static SchemeEntry,
    pub(crate) label: String,
    pub(crate) table: TableFacts,
    pub(crate) params: Vec<u8>,
    pub(crate) report: ParamsReport,
    pub(crate) packing: Packing,
    pub(crate) threads: usize,
    pub(crate) lookups: usize,
}

/// A case that is ready, or the reason why the scheme has no parameters for it.
pub(crate) enum CasePlan<'a> {
    Plan(Box<PreparedCase<'a>>),
    NoFit(String),
}

/// The table facts of a case.
pub(crate) fn table(case: &Case) -> TableFacts {
    TableFacts {
        shape: report::shape(case.rows, case.row_bits),
        compare: case.compare.clone(),
        rows_count: case.rows,
        row_bits: case.row_bits,
        table_bytes: case.table_bytes(),
    }
}

impl<'a> PreparedCase<'a> {
    /// Chooses and checks the parameters of a case.
    pub(crate) fn of(
        case: &'a Case,
        schemes: &[&'static SchemeEntry],
        options: &Options,
    ) -> Result<CasePlan<'a>, BenchError> {
        let table = table(case);
        let label = format!("{} {}", case.title(), table.shape);
        let entry = find(case, schemes, &label)?;
        let fail = |step, why| BenchError::Scheme { case: label.clone(), step, why };
        check_set(case, entry, &label)?;
        let shape = TableShape::new(case.stored_rows(), case.stored_row_bytes(), case.lookups_per_client);
        let shape = TableShape { goal: case.goal, set: case.set.clone(), buckets: case.buckets, ..shape };
        let selected = match (entry.select)(&shape) {
            Ok(params) => params,
            Err(sotto_core::Error::Params(why)) => return Ok(CasePlan::NoFit(why.to_string())),
            Err(why) => return Err(fail("choosing parameters", why)),
        };
        let params = overwrite(case, selected, &label)?;
        let report = (entry.report)(&params).map_err(|why| fail("checking parameters", why))?;
        let packing =
            Packing::new(shape.rows, shape.row_bytes, report.records, report.record_bytes).map_err(
                |why| BenchError::Params { case: label.clone(), why: format!("the rows do not fit: {why}") },
            )?;
        Ok(CasePlan::Plan(Box::new(PreparedCase {
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

    /// The failure of a step of this case.
    pub(crate) fn failed(&self, step: &'static str) -> impl Fn(sotto_core::Error) -> BenchError {
        move |why| BenchError::Scheme { case: self.label.clone(), step, why }
    }

    /// A recovered row that is not the generated one.
    pub(crate) fn wrong(&self, row: u64, why: String) -> BenchError {
        BenchError::WrongAnswer { case: self.label.clone(), row, why }
    }

    /// Memory of the case while it is queried: the image, and the artifacts of the client.
    fn held_memory(&self) -> u64 {
        let costs = &self.report.costs;
        let held = costs.resident_bytes.max(self.case.table_bytes());
        // Rows that are the table itself are one copy; a hint is an additional one.
        let artifacts = if costs.client_bytes > 0 { costs.client_bytes } else { costs.artifact_bytes };
        held.saturating_add(artifacts)
    }

    /// Memory that an encoder may take in addition to its image.
    fn encoding_memory(&self) -> u64 {
        self.report.costs.resident_bytes.max(self.case.table_bytes()).saturating_mul(3) / 10
    }

    /// The reason why the case is not run here, if any.
    pub(crate) fn refusal(&self, options: &Options, available: Option<u64>) -> Option<String> {
        let needed = needed_memory([self]);
        if let Some(available) = available.filter(|free| *free < needed) {
            let (needs, has) = (report::bytes(needed), report::bytes(available));
            return Some(format!("does not fit: needs {needs} of memory, {has} is available"));
        }
        (self.case.full && !options.full).then(|| "takes minutes: give --full".to_owned())
    }

    /// The literal parameters.
    pub(crate) fn literal(&self) -> Value {
        serde_json::from_slice(&self.params).expect_or_default("parameters are JSON")
    }

    /// The method of fetching rows, for the report.
    pub(crate) fn method(&self) -> FetchMethod {
        FetchMethod {
            scheme: self.entry.id.to_string(),
            set: self.case.set.clone(),
            goal: self.case.goal.name(),
            title: self.case.title(),
        }
    }

    /// The modeled traffic, by the parameters.
    pub(crate) fn modeled(&self) -> ModeledCase {
        let costs = &self.report.costs;
        let queries = (self.packing.records_per_row() * self.entry.query_servers) as u64;
        ModeledCase {
            table: self.table.clone(),
            method: self.method(),
            traffic: Traffic::new(
                costs.artifact_bytes,
                costs.keys_bytes.saturating_mul(self.entry.query_servers as u64),
                costs.query_bytes.saturating_mul(queries),
                costs.answer_bytes.saturating_mul(queries),
            ),
            resident_bytes: costs.resident_bytes,
            server_ops: costs.server_ops.saturating_mul(self.packing.records_per_row() as u64),
            read_floor_ms: None,
            security_bits: self.report.security.bits,
            failure_log2: self.packing.failure_log2(self.report.failure_log2),
        }
    }
}

/// Memory that cases in turns need at once: what each holds, plus the larger of the encoding space
/// of one of them and the buffer of the read passes.
pub(crate) fn needed_memory<'p, 'a: 'p>(plans: impl IntoIterator<Item = &'p PreparedCase<'a>>) -> u64 {
    let mut held = 0u64;
    let mut working = 1u64 << 30;
    for plan in plans {
        held = held.saturating_add(plan.held_memory());
        working = working.max(plan.encoding_memory());
    }
    held.saturating_add(working).saturating_add(MARGIN_BYTES)
}

/// Cases in turns, divided by the available memory: as many together as fit, in their order.
pub(crate) fn part<'a>(
    plans: Vec<Box<PreparedCase<'a>>>,
    available: Option<u64>,
) -> Vec<Vec<Box<PreparedCase<'a>>>> {
    let mut parts: Vec<Vec<Box<PreparedCase<'a>>>> = Vec::new();
    for plan in plans {
        let fits = |part: &&mut Vec<Box<PreparedCase<'a>>>| {
            let together = part.iter().chain(std::iter::once(&plan)).map(|plan| &**plan);
            available.is_none_or(|free| needed_memory(together) <= free)
        };
        match parts.last_mut().filter(fits) {
            Some(part) => part.push(plan),
            None => parts.push(vec![plan]),
        }
    }
    parts
}

/// A set that the scheme does not have is a mistake of the definition, not a table without parameters.
fn check_set(case: &Case, entry: &SchemeEntry, label: &str) -> Result<(), BenchError> {
    let Some(set) = &case.set else { return Ok(()) };
    let names: Vec<&str> = (entry.sets)().iter().map(|named| named.name).collect();
    if names.contains(&set.as_str()) {
        return Ok(());
    }
    let why = format!("{} has no set {set}, only {}", entry.id, names.join(", "));
    Err(BenchError::Params { case: label.to_owned(), why })
}

/// Whether one query of a case's scheme asks for a row of each bucket.
pub(crate) fn queries_buckets(case: &Case, schemes: &[&'static SchemeEntry]) -> bool {
    find(case, schemes, "").is_ok_and(|entry| entry.batch.is_some())
}

/// Finds a scheme by name. A definition may leave the version out, so that it outlives the next
/// one.
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

/// Overwrites fields of selected parameters. Only existing fields are allowed: a misspelled one
/// would change nothing.
fn overwrite(case: &Case, selected: Vec<u8>, label: &str) -> Result<Vec<u8>, BenchError> {
    if case.params.is_empty() {
        return Ok(selected);
    }
    let refuse = |why: String| BenchError::Params { case: label.to_owned(), why };
    let mut literal: serde_json::Map<String, Value> = serde_json::from_slice(&selected)
        .map_err(|e| refuse(format!("parameters are not a JSON object: {e}")))?;
    let fields = literal.keys().cloned().collect::<Vec<_>>().join(", ");
    for (field, value) in &case.params {
        let place = literal
            .get_mut(field)
            .ok_or_else(|| refuse(format!("unknown field {field}, expected one of {fields}")))?;
        *place = value.clone();
    }
    serde_json::to_vec(&literal).map_err(|e| refuse(e.to_string()))
}
