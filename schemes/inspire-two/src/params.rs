//! Checked parameters, and their report.

use crate::literal::{KEY_BITS, MAX_BLOCKS, MAX_COLUMNS, MAX_RECORD_BYTES, ParamsLiteral};
use sotto_core::{ParamsDigest, ParamsReport, Result, Security, TableShape};
use sotto_silent::lattice::{self, N, SIGMA};
use sotto_silent::limits::{self, MASK_BITS, QUERY_BITS, field, in_range, within};
use sotto_silent::unit_vector::MessageBits;

/// Checked parameters.
#[derive(Debug, Clone)]
pub struct Params {
    literal: ParamsLiteral,
    security: Security,
    failure_log2: f64,
}

impl Params {
    /// Bytes in a record.
    pub fn record_bytes(&self) -> usize {
        self.literal.record_bytes as usize
    }
    /// Number of records.
    pub fn records(&self) -> u64 {
        self.literal.records
    }
    /// Columns of the grid.
    pub fn columns(&self) -> usize {
        self.literal.columns() as usize
    }
    /// Blocks of a column.
    pub fn blocks(&self) -> usize {
        self.literal.blocks as usize
    }
    /// Numbers of a record.
    pub fn numbers(&self) -> usize {
        self.literal.numbers()
    }
    /// Words of the second vector: none if there is one block.
    pub fn picks(&self) -> usize {
        self.literal.picks() as usize
    }
    /// The bits of both layers' messages.
    pub fn bits(&self) -> [MessageBits; 2] {
        self.literal.bits()
    }
    /// Bytes of a block's bodies.
    pub fn body_bytes(&self) -> usize {
        self.literal.body_bytes()
    }
    /// Numbers of each packed ciphertext of the second layer.
    pub fn groups(&self) -> [Vec<usize>; 2] {
        self.literal.groups()
    }
    /// The position of a record: its column, and the first row of its block.
    pub fn place(&self, record: u64) -> (u64, u64) {
        let blocks = self.literal.blocks;
        (record / blocks, record % blocks * 2 * self.numbers() as u64)
    }
    /// Byte planes into which the server divides the words of both vectors.
    pub fn planes(&self) -> [usize; 2] {
        self.literal.query_bits.map(|bits| usize::from(bits.div_ceil(8)))
    }
}

impl sotto_core::Params for Params {
    type Literal = ParamsLiteral;

    fn select(shape: &TableShape) -> Result<ParamsLiteral> {
        crate::select::select(shape)
    }

    fn check(literal: ParamsLiteral) -> Result<Self> {
        limits::public(&literal.set, &literal.seed)?;
        in_range("record_bytes", literal.record_bytes, MAX_RECORD_BYTES)?;
        in_range("blocks", literal.blocks, MAX_BLOCKS)?;
        if !literal.blocks.is_power_of_two() {
            return Err(field("blocks", "must be a power of two".into()));
        }
        in_range("records", literal.records, literal.blocks * MAX_COLUMNS)?;
        for bits in literal.query_bits {
            within("query_bits", bits, QUERY_BITS)?;
        }
        within("key_bits", literal.key_bits, KEY_BITS)?;
        for (name, [mask, body]) in [("inner_bits", literal.inner_bits), ("answer_bits", literal.answer_bits)]
        {
            within(name, mask, MASK_BITS)?;
            within(name, body, *MASK_BITS.start()..=mask)?;
        }
        let security = lattice::security()?;
        let failure_log2 = literal.failure_log2();
        limits::reliable(failure_log2)?;
        Ok(Params { literal, security, failure_log2 })
    }

    fn literal(&self) -> &ParamsLiteral {
        &self.literal
    }

    fn report(&self) -> ParamsReport {
        let literal = &self.literal;
        let [_, weights, masks, packing, end] = literal.starts();
        let failures = literal.failures_log2();
        ParamsReport {
            digest: ParamsDigest([0; 32]),
            records: literal.records,
            record_bytes: literal.record_bytes,
            costs: literal.costs(),
            security: self.security.clone(),
            failure_log2: self.failure_log2,
            details: sotto_core::report_details(|| {
                vec![
                    ("columns", literal.columns().to_string()),
                    ("blocks", literal.blocks.to_string()),
                    ("d", N.to_string()),
                    ("log2 q", format!("{:.3}", (lattice::Q as f64).log2())),
                    ("sigma", SIGMA.to_string()),
                    ("packed ciphertexts", literal.parts().len().to_string()),
                    ("bytes of weights", (masks - weights).to_string()),
                    ("bytes of masks", (packing - masks).to_string()),
                    ("bytes of the masks' weights", (end - packing).to_string()),
                    ("failure of the layers", format!("2^{:.0}, 2^{:.0}", failures[0], failures[1])),
                ]
            }),
        }
    }
}
