//! Parameters: `l` bytes in a record, `m` records, `b` bits in a query word, `t` bits in an answer word.

use serde::{Deserialize, Serialize};
use sotto_core::params::REQUIRED_FAILURE_LOG2;
use sotto_core::{
    Costs, NamedSet, ParamsDigest, ParamsError, ParamsReport, Result, Security, TableShape, work,
};
use sotto_math::matrix::PanelLayout;
use sotto_prg::PublicSeed;
use sotto_silent::lwe::bound::{self, MIN_ANSWER_BITS, QUERY_BITS};
use sotto_silent::lwe::dense::{DenseLwe, FRODO, LOG2_Q as LOG2_WORD};
use sotto_silent::lwe::ring::{self, LOG2_Q, N, PUBLIC_SEED, SIGMA};

/// The lattice set of all literals except for those of [`FRODO`]; [`ring`] holds its numbers.
pub use sotto_silent::lwe::ring::SET;

/// The set that is only used by name: FrodoPIR's matrix over its lattice set, [`FRODO`].
pub const FRODO_SET: &str = "frodo";

/// Maximum bytes of a record: with this many the hint is 4 GiB, the most that a client may have to
/// hold.
pub const MAX_RECORD_BYTES: u64 = 1 << 20;

/// Maximum number of records. The noise bound alone ends a little above or below, depending on the
/// other parameters; this keeps every size far from overflow.
pub const MAX_RECORDS: u64 = 1 << 19;

/// Maximum number of records with [`FRODO`]: queries are 64 MiB then. The noise bound alone ends at
/// some 2^26.
pub const MAX_FRODO_RECORDS: u64 = 1 << 24;

/// Operations for one query word: drawing an error, and the transforms; measured.
pub(crate) const SAMPLE_OPS: u64 = 1500;

/// Operations for one query word over a dense matrix, whose n words are computed; measured.
const DENSE_OPS: u64 = 1_200_000;

/// Parameters as a catalog states them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsLiteral {
    /// Name of the lattice set: [`SET`], or that of [`FRODO`].
    pub set: String,
    /// Bytes in a record: rows of the matrix, `l`.
    pub record_bytes: u64,
    /// Number of records: columns of the matrix, `m`.
    pub records: u64,
    /// Bits in a query word, `b`; 32 with [`FRODO`].
    pub query_bits: u8,
    /// Bits in an answer word, `t`.
    pub answer_bits: u8,
    /// Seed of the public matrix: [`PUBLIC_SEED`].
    pub seed: PublicSeed,
}

/// Checked parameters.
#[derive(Debug, Clone)]
pub struct Params {
    literal: ParamsLiteral,
    dense: Option<DenseLwe>,
    l: usize,
    m: usize,
    security: Security,
    failure_log2: f64,
}

impl Params {
    /// The lattice, if it is not the one with rings.
    pub fn dense(&self) -> Option<&DenseLwe> {
        self.dense.as_ref()
    }
    /// Words in a row of the hint: the lattice's dimension.
    pub fn n(&self) -> usize {
        self.dense.map_or(N, |dense| dense.n)
    }
    /// Rows of the matrix: bytes in a record.
    pub fn l(&self) -> usize {
        self.l
    }
    /// Columns of the matrix: number of records.
    pub fn m(&self) -> usize {
        self.m
    }
    /// Ring blocks that cover the columns.
    pub fn blocks(&self) -> usize {
        self.m.div_ceil(N)
    }
    /// Bits in a query word.
    pub fn query_bits(&self) -> u32 {
        u32::from(self.literal.query_bits)
    }
    /// Bits in an answer word.
    pub fn answer_bits(&self) -> u32 {
        u32::from(self.literal.answer_bits)
    }
    /// Byte planes into which the server divides a query word.
    pub fn planes(&self) -> usize {
        usize::from(self.literal.query_bits.div_ceil(8))
    }
    /// Bytes of the hint: l rows of n words.
    pub fn hint_bytes(&self) -> u64 {
        self.literal.record_bytes * (self.n() as u64) * 4
    }
    /// Bytes of the matrix at the server: rows padded to 64, columns to 4.
    pub fn matrix_bytes(&self) -> u64 {
        matrix_bytes(self.literal.record_bytes, self.literal.records)
    }
    /// The layout of the matrix.
    pub fn layout(&self) -> PanelLayout {
        PanelLayout::new(self.l, self.m)
    }
}

/// Bytes of a matrix in panels: rows padded to 64, columns to 4.
pub(crate) fn matrix_bytes(record_bytes: u64, records: u64) -> u64 {
    record_bytes.next_multiple_of(64) * records.next_multiple_of(4)
}

/// Bytes that hold `words` words of `bits` bits.
pub(crate) fn packed_bytes(words: u64, bits: u8) -> u64 {
    (words * u64::from(bits)).div_ceil(8)
}

impl sotto_core::Params for Params {
    type Literal = ParamsLiteral;

    fn select(shape: &TableShape) -> Result<ParamsLiteral> {
        crate::select::select(shape)
    }

    fn sets() -> Vec<NamedSet> {
        let about =
            "FrodoPIR (PoPETs 2023): plain LWE of n = 1774, one row in a record, a query word for each row";
        vec![NamedSet { name: FRODO_SET, about }]
    }

    fn check(literal: ParamsLiteral) -> Result<Self> {
        let ParamsLiteral { record_bytes, records, query_bits, answer_bits, .. } = literal;
        let dense = Some(FRODO).filter(|dense| literal.set == dense.name);
        // Everything else is checked as in the other set.
        let (set, most) = dense.map_or((literal.set.as_str(), MAX_RECORDS), |_| (SET, MAX_FRODO_RECORDS));
        let (l, m) = shape(set, &literal.seed, [record_bytes, records], most)?;
        if !QUERY_BITS.contains(&query_bits) || dense.is_some() && query_bits != 32 {
            return Err(field(
                "query_bits",
                format!("must lie in {QUERY_BITS:?}, and be 32 with {}", FRODO.name),
            ));
        }
        if !(MIN_ANSWER_BITS..=query_bits).contains(&answer_bits) {
            return Err(field("answer_bits", format!("must lie in {MIN_ANSWER_BITS}..=query_bits")));
        }
        let security = dense.map_or_else(ring::security, |dense| dense.security())?;
        let failure_log2 = match &dense {
            None => bound::failure_log2(record_bytes, records, query_bits, answer_bits),
            Some(dense) => dense.failure_log2(record_bytes, records, answer_bits),
        };
        Ok(Params { literal, dense, l, m, security, failure_log2: reliable(failure_log2)? })
    }

    fn literal(&self) -> &ParamsLiteral {
        &self.literal
    }

    fn report(&self) -> ParamsReport {
        let ParamsLiteral { record_bytes, records, query_bits, answer_bits, .. } = self.literal;
        // Errors of a dense set are multiplied by the table in exact words: its bound holds for
        // tables that were made against A too.
        let ((deviation, margin), against, (log2_q, sigma), word) = match &self.dense {
            None => {
                let noise = bound::deviation_and_margin(records, query_bits, answer_bits);
                let against = bound::against_log2(record_bytes, records, query_bits, answer_bits);
                (noise, against, (LOG2_Q, SIGMA), SAMPLE_OPS)
            }
            Some(dense) => {
                let noise = dense.deviation_and_margin(records, answer_bits);
                (noise, self.failure_log2, (LOG2_WORD, dense.errors.variance().sqrt()), DENSE_OPS)
            }
        };
        ParamsReport {
            digest: ParamsDigest([0; 32]),
            records,
            record_bytes,
            costs: Costs {
                artifact_bytes: self.hint_bytes(),
                keys_bytes: 0,
                query_bytes: packed_bytes(records, query_bits),
                answer_bytes: packed_bytes(record_bytes, answer_bits),
                // At most four planes: the products are made while the matrix comes from memory.
                server_ops: self.matrix_bytes() * work::READ_BYTE,
                // The mask is a product with the whole hint.
                client_ops: self.hint_bytes() * work::READ_BYTE + records * word,
                resident_bytes: self.matrix_bytes() + self.hint_bytes(),
                ..Costs::default()
            },
            security: self.security.clone(),
            failure_log2: self.failure_log2,
            details: sotto_core::report_details(|| {
                vec![
                    ("l", record_bytes.to_string()),
                    ("m", records.to_string()),
                    ("n", self.n().to_string()),
                    ("log2 Q", format!("{log2_q:.6}")),
                    ("sigma", sigma.to_string()),
                    ("query bits", query_bits.to_string()),
                    ("answer bits", answer_bits.to_string()),
                    ("byte planes", self.planes().to_string()),
                    ("hint bytes", self.hint_bytes().to_string()),
                    ("noise sigma", format!("{deviation:.0} of a margin of {margin:.0}")),
                    ("if made against A", format!("a lookup fails with at most 2^{against:.0}")),
                ]
            }),
        }
    }
}

/// The numbers `l` and `m`, for an existing set and seed, and at most `most` records.
pub(crate) fn shape(
    set: &str,
    seed: &PublicSeed,
    [record_bytes, records]: [u64; 2],
    most: u64,
) -> Result<(usize, usize)> {
    if set != SET {
        return Err(field("set", format!("must be the name of a set, as \"{SET}\"")));
    }
    // A server that chose A could choose one with a trapdoor, so the seed is fixed for everyone.
    if *seed != PUBLIC_SEED {
        return Err(field("seed", format!("must be the scheme's public seed {PUBLIC_SEED}")));
    }
    let l = in_range("record_bytes", record_bytes, MAX_RECORD_BYTES)?;
    Ok((l, in_range("records", records, most)?))
}

/// A failure bound, checked against the maximum.
pub(crate) fn reliable(log2: f64) -> Result<f64> {
    let required = REQUIRED_FAILURE_LOG2;
    match log2 <= f64::from(required) {
        true => Ok(log2),
        false => Err(ParamsError::Unreliable { log2, required }.into()),
    }
}

fn in_range(name: &'static str, value: u64, most: u64) -> Result<usize> {
    usize::try_from(value)
        .ok()
        .filter(|_| (1..=most).contains(&value))
        .ok_or_else(|| field(name, format!("must lie in 1..={most}")))
}

fn field(field: &'static str, why: String) -> sotto_core::Error {
    ParamsError::Field { field, why }.into()
}
