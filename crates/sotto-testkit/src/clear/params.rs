//! Parameters of the test schemes: the records, and nothing else.

use serde::{Deserialize, Serialize};
use sotto_core::wire::exact;
use sotto_core::{
    Costs, Image, Misuse, Params, ParamsDigest, ParamsError, ParamsReport, PeerMisbehaved, Result, Rows,
    Section, Security, Shape,
};
use std::marker::PhantomData;

/// What is written into a catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Literal {
    /// How many records, 1 to 2^32.
    pub records: u64,
    /// Bytes in each, 1 to 65536.
    pub record_bytes: u64,
}

/// What distinguishes one test scheme's parameters from another's.
pub(crate) trait Flavour: Send + Sync + 'static {
    /// Costs for a table.
    fn costs(literal: &Literal) -> Costs;
    /// What the scheme promises.
    fn security() -> Security;
}

/// Checked parameters.
pub(crate) struct ClearParams<F> {
    literal: Literal,
    flavour: PhantomData<fn() -> F>,
}

impl<F> ClearParams<F> {
    /// How many records.
    pub(crate) fn records(&self) -> u64 {
        self.literal.records
    }
    /// Bytes in each.
    pub(crate) fn record_bytes(&self) -> usize {
        self.literal.record_bytes as usize
    }
    /// Bytes of all records.
    pub(crate) fn table_bytes(&self) -> u64 {
        self.literal.records * self.literal.record_bytes
    }
}

impl<F> Clone for ClearParams<F> {
    fn clone(&self) -> Self {
        ClearParams { literal: self.literal.clone(), flavour: PhantomData }
    }
}

fn within(field: &'static str, value: u64, most: u64) -> Result<(), ParamsError> {
    if (1..=most).contains(&value) {
        return Ok(());
    }
    Err(ParamsError::Field { field, why: format!("must be 1 to {most}, is {value}") })
}

impl<F: Flavour> Params for ClearParams<F> {
    type Literal = Literal;

    /// Packs rows below 32 bytes and splits rows above 1024, so that tables in the clear meet all three
    /// ways in which rows can lie in records.
    fn select(shape: &Shape) -> Result<Literal> {
        let rows_per_record = (32 / shape.row_bytes.max(1)).max(1);
        let records_per_row = shape.row_bytes.div_ceil(1024).max(1);
        let record_bytes = if records_per_row > 1 { 1024 } else { shape.row_bytes * rows_per_record };
        let records = shape.rows.div_ceil(rows_per_record).saturating_mul(records_per_row);
        let literal = Literal { records, record_bytes };
        Self::check(literal.clone()).map_err(|error| ParamsError::NoFit {
            rows: shape.rows,
            row_bytes: shape.row_bytes,
            why: error.to_string(),
        })?;
        Ok(literal)
    }

    fn check(literal: Literal) -> Result<Self> {
        within("records", literal.records, 1 << 32)?;
        within("record_bytes", literal.record_bytes, 1 << 16)?;
        Ok(ClearParams { literal, flavour: PhantomData })
    }

    fn literal(&self) -> &Literal {
        &self.literal
    }

    fn report(&self) -> ParamsReport {
        ParamsReport {
            digest: ParamsDigest([0; 32]),
            records: self.literal.records,
            record_bytes: self.literal.record_bytes,
            costs: F::costs(&self.literal),
            security: F::security(),
            failure_log2: f64::NEG_INFINITY,
            details: Vec::new(),
        }
    }
}

/// Refuses records of another shape than the parameters'.
pub(crate) fn same_shape<F>(params: &ClearParams<F>, rows: &dyn Rows) -> Result<()> {
    if rows.records() != params.records() || rows.record_bytes() != params.record_bytes() {
        return Err(Misuse::Rule("records have another shape than the parameters").into());
    }
    Ok(())
}

/// The table of an image, checked for its size.
pub(crate) fn resident<'a, F>(params: &ClearParams<F>, image: &'a dyn Image) -> Result<&'a [u8]> {
    let table = image.section(Section::Resident).ok_or_else(|| PeerMisbehaved::Malformed {
        what: "image",
        why: "it has no resident section".into(),
    })?;
    exact("resident section", table, params.table_bytes() as usize)?;
    Ok(table)
}
