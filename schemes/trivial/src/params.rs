//! The number of records and their width, from which everything else follows.

use serde::{Deserialize, Serialize};
use sotto_core::{Costs, ParamsDigest, ParamsError, ParamsReport, Result, Security, TableShape, work};

/// Maximum bytes of a table, which a client holds in memory.
pub const MAX_TABLE_BYTES: u64 = 4 << 30;

/// Narrow rows are packed into records of up to this many bytes, since a client reads the number
/// of every record for a lookup, and an update sends whole records.
const PACKED_BYTES: u64 = 64;

/// Work of comparing the number of a record, in addition to reading its bytes.
const COMPARE: u64 = 1000;

/// Parameters as a catalog states them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsLiteral {
    /// Number of records.
    pub records: u64,
    /// Bytes of a record.
    pub record_bytes: u64,
}

/// Checked parameters.
#[derive(Debug, Clone)]
pub struct Params {
    literal: ParamsLiteral,
    record_bytes: usize,
}

impl Params {
    /// Number of records.
    pub fn records(&self) -> u64 {
        self.literal.records
    }

    /// Bytes of a record.
    pub fn record_bytes(&self) -> usize {
        self.record_bytes
    }

    /// Bytes of the table.
    pub fn table_bytes(&self) -> u64 {
        self.literal.records * self.literal.record_bytes
    }
}

impl sotto_core::Params for Params {
    type Literal = ParamsLiteral;

    fn select(shape: &TableShape) -> Result<ParamsLiteral> {
        let TableShape { rows, row_bytes, .. } = *shape;
        let packed = (PACKED_BYTES / row_bytes.max(1)).clamp(1, rows.max(1));
        let literal = packed
            .checked_mul(row_bytes)
            .map(|record_bytes| ParamsLiteral { records: rows.div_ceil(packed), record_bytes });
        literal.filter(|literal| table_bytes(literal).is_some()).ok_or_else(|| {
            let why = "a table to download has 1 byte to 4 GiB".to_owned();
            ParamsError::NoFit { rows, row_bytes, why }.into()
        })
    }

    fn check(literal: ParamsLiteral) -> Result<Self> {
        let record_bytes = usize::try_from(literal.record_bytes).ok();
        match record_bytes.filter(|_| table_bytes(&literal).is_some()) {
            Some(record_bytes) => Ok(Params { literal, record_bytes }),
            None => {
                let why = format!("times record_bytes must lie in 1..={MAX_TABLE_BYTES}");
                Err(ParamsError::Field { field: "records", why }.into())
            }
        }
    }

    fn literal(&self) -> &ParamsLiteral {
        &self.literal
    }

    fn report(&self) -> ParamsReport {
        let ParamsLiteral { records, record_bytes } = self.literal;
        ParamsReport {
            digest: ParamsDigest([0; 32]),
            records,
            record_bytes,
            costs: Costs {
                artifact_bytes: self.table_bytes(),
                client_ops: self.table_bytes() * work::READ_BYTE + records * COMPARE,
                resident_bytes: self.table_bytes(),
                ..Costs::default()
            },
            security: Security {
                bits: f64::INFINITY,
                model: "a lookup sends nothing".to_owned(),
                core_svp: None,
            },
            failure_log2: f64::NEG_INFINITY,
            abort_leakage: None,
            details: Vec::new(),
        }
    }
}

/// Bytes of a table, if there may be one.
fn table_bytes(literal: &ParamsLiteral) -> Option<u64> {
    let bytes = literal.records.checked_mul(literal.record_bytes);
    bytes.filter(|bytes| (1..=MAX_TABLE_BYTES).contains(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sotto_core::Params as _;

    #[test]
    fn narrow_rows_share_records_and_wide_ones_are_records() {
        for (rows, row_bytes, records, record_bytes) in [
            (1, 1, 1, 1),
            (100, 7, 12, 63),
            (1000, 64, 1000, 64),
            (3, 4096, 3, 4096),
            (1 << 22, 1024, 1 << 22, 1024),
        ] {
            let literal = Params::select(&TableShape::new(rows, row_bytes, 1)).unwrap();
            assert_eq!(literal, ParamsLiteral { records, record_bytes });
            assert_eq!(Params::check(literal).unwrap().table_bytes(), records * record_bytes);
        }
        for (records, record_bytes) in [(0, 1), (1, 0), (1 << 33, 1), (1 << 32, 1 << 32), (u64::MAX, 2)] {
            assert!(Params::check(ParamsLiteral { records, record_bytes }).is_err());
        }
    }
}
