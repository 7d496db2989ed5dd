//! Checked parameters, and their report.

use crate::literal::{LEAF_RECORDS, MAX_PATH, MAX_RECORD_BYTES, MAX_RECORDS, ParamsLiteral, SubTable};
use sotto_core::{ParamsDigest, ParamsError, ParamsReport, Result, Security, TableShape};

/// Checked parameters.
#[derive(Debug, Clone)]
pub struct Params {
    literal: ParamsLiteral,
    record_bytes: usize,
    layers: Vec<SubTable>,
}

impl Params {
    /// Number of records, N.
    pub fn records(&self) -> u64 {
        self.literal.records
    }
    /// Bytes of a record, B.
    pub fn record_bytes(&self) -> usize {
        self.record_bytes
    }
    /// Leaves of the tree that stand for records.
    pub fn leaves(&self) -> u64 {
        self.literal.leaves()
    }
    /// Levels of the tree between root and leaves, n.
    pub fn depth(&self) -> usize {
        self.literal.depth()
    }
    /// The tables at the server: records without shared nodes, and then the shared nodes, level by
    /// level.
    pub fn layers(&self) -> &[SubTable] {
        &self.layers
    }
    /// Bytes of the table at the server.
    pub fn table_bytes(&self) -> u64 {
        self.layers.iter().map(SubTable::bytes).sum()
    }
    /// Bytes of a key: salt, root, one word for each level and one for the leaves, and the control
    /// bits.
    pub fn key_bytes(&self) -> usize {
        self.literal.key_bytes()
    }
}

impl sotto_core::Params for Params {
    type Literal = ParamsLiteral;

    fn select(shape: &TableShape) -> Result<ParamsLiteral> {
        crate::select::select(shape)
    }

    fn check(literal: ParamsLiteral) -> Result<Self> {
        if !(1..=MAX_RECORDS).contains(&literal.records) {
            return Err(field("records", format!("must lie in 1..={MAX_RECORDS}")));
        }
        let width = usize::try_from(literal.record_bytes).ok();
        let width = width.filter(|_| (8..=MAX_RECORD_BYTES).contains(&literal.record_bytes));
        if !literal.holds_path() {
            return Err(field(
                "path",
                format!("must be at most {MAX_PATH}, and leave bytes of a record for its row"),
            ));
        }
        match width.filter(|width| width.is_multiple_of(8)) {
            Some(record_bytes) => {
                let layers = literal.layers();
                Ok(Params { literal, record_bytes, layers })
            }
            None => Err(field("record_bytes", format!("must be a multiple of 8 in 8..={MAX_RECORD_BYTES}"))),
        }
    }

    fn literal(&self) -> &ParamsLiteral {
        &self.literal
    }

    fn report(&self) -> ParamsReport {
        let ParamsLiteral { records, record_bytes, path } = self.literal;
        ParamsReport {
            digest: ParamsDigest([0; 32]),
            records,
            record_bytes,
            costs: self.literal.costs(),
            security: Security {
                bits: 128.0,
                model:
                    "computational, if the two servers do not collude: search for a seed of 128 bits, with \
                        AES-128 as an ideal cipher under keys of the query's own"
                        .into(),
                core_svp: None,
            },
            failure_log2: f64::NEG_INFINITY,
            abort_leakage: None,
            details: sotto_core::report_details(|| {
                [
                    ("N", records.to_string()),
                    ("B", record_bytes.to_string()),
                    ("leaf", format!("{LEAF_RECORDS} records")),
                    ("n", self.depth().to_string()),
                ]
                .into_iter()
                .chain(
                    (path > 0).then(|| ("path", format!("{path} nodes, kept once for all that share them"))),
                )
                .collect()
            }),
        }
    }
}

fn field(field: &'static str, why: String) -> sotto_core::Error {
    ParamsError::Field { field, why }.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sotto_core::Params as _;

    #[test]
    fn a_key_grows_by_one_word_whenever_the_table_doubles() {
        let of = |records| Params::check(ParamsLiteral { records, record_bytes: 8, path: 0 }).unwrap();
        for (records, depth, bytes) in
            [(1, 0, 97), (512, 0, 97), (513, 1, 113), (1024, 1, 113), (1025, 2, 129), (1 << 20, 11, 275)]
        {
            assert_eq!((of(records).depth(), of(records).key_bytes()), (depth, bytes), "{records}");
        }
        assert_eq!(of(MAX_RECORDS).key_bytes(), 16 + 16 + 16 * 31 + 64 + 8);
    }

    #[test]
    fn only_whole_words_up_to_the_limits_are_taken() {
        let bad =
            [(0, 8), (MAX_RECORDS + 1, 8), (1, 0), (1, 7), (1, 12), (1, MAX_RECORD_BYTES + 8), (1, u64::MAX)];
        for (records, record_bytes) in bad {
            assert!(
                Params::check(ParamsLiteral { records, record_bytes, path: 0 }).is_err(),
                "{records} {record_bytes}"
            );
        }
        assert!(
            Params::check(ParamsLiteral { records: MAX_RECORDS, record_bytes: MAX_RECORD_BYTES, path: 0 })
                .is_ok()
        );
    }

    #[test]
    fn nodes_lie_behind_the_row_and_are_kept_once() {
        let of = |records, record_bytes, path| Params::check(ParamsLiteral { records, record_bytes, path });
        let params = of(1000, 256 + 3 * 32, 3).unwrap();
        let layers = params.layers();
        let found: Vec<_> = layers.iter().map(|l| (l.shift, l.start, l.width, l.at, l.items)).collect();
        let first = 1000 * 288;
        assert_eq!(
            found,
            [(0, 0, 288, 0, 1000), (1, 288, 32, first, 500), (2, 320, 32, first + 504 * 32, 250)]
        );
        assert_eq!(params.table_bytes(), first + 504 * 32 + 256 * 32);
        assert!(of(1000, 64, 2).is_err() && of(1000, 1024, MAX_PATH + 1).is_err());
        assert!(of(1000, 32 * 13, 12).is_ok() && of(1, 40, 1).is_ok());
    }
}
