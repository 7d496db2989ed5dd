//! Parameters as a catalog states them, `l` bytes in a record, `m` records, `b` bits in a query word,
//! `t` bits in an answer word; and choosing them for a table.
//!
//! A tall matrix has a large hint and small queries; a wide one the reverse. Which is cheaper
//! depends on the number of lookups before the hint changes, so [`TableShape::lookups_per_client`]
//! decides.

use serde::{Deserialize, Serialize};
use sotto_core::{Costs, NamedSet, ParamsError, Result, Security, TableShape, work};
use sotto_math::matrix::PanelLayout;
use sotto_prg::PublicSeed;
use sotto_silent::MatrixLiteral;
use sotto_silent::limits::{field, in_range};
use sotto_silent::lwe::bound::{self, MIN_ANSWER_BITS, QUERY_BITS};
use sotto_silent::lwe::dense::{DenseLwe, FRODO, LOG2_Q as LOG2_WORD};
use sotto_silent::lwe::hint::{HintDownload, HintLiteral};
use sotto_silent::lwe::ring::{self, LOG2_Q, N, PUBLIC_SEED, SAMPLE_OPS, SIGMA};
use sotto_silent::matrix_shape::{self, MatrixShape, cuts};
use sotto_silent::message::{Field, Format, packed_bytes};

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

/// Bytes of a matrix in panels: rows padded to 64, columns to 4.
pub(crate) fn matrix_bytes(record_bytes: u64, records: u64) -> u64 {
    record_bytes.next_multiple_of(64) * records.next_multiple_of(4)
}

impl ParamsLiteral {
    /// The lattice, if it is not the one with rings.
    pub fn dense(&self) -> Option<DenseLwe> {
        Some(FRODO).filter(|dense| self.set == dense.name)
    }

    /// Words in a row of the hint: the lattice's dimension.
    pub fn n(&self) -> usize {
        self.dense().map_or(N, |dense| dense.n)
    }

    /// Bytes of the hint: l rows of n words.
    pub fn hint_bytes(&self) -> u64 {
        self.record_bytes * (self.n() as u64) * 4
    }

    /// Bytes of the matrix at the server: rows padded to 64, columns to 4.
    pub fn matrix_bytes(&self) -> u64 {
        matrix_bytes(self.record_bytes, self.records)
    }

    /// The layout of the matrix.
    pub fn layout(&self) -> PanelLayout {
        PanelLayout::new(self.record_bytes as usize, self.records as usize)
    }
}

impl HintLiteral for ParamsLiteral {
    /// Any word is valid modulo 2^32.
    fn hint(&self) -> HintDownload {
        let bytes = self.hint_bytes();
        if self.dense().is_some() { HintDownload::of_any_words(bytes) } else { HintDownload::new(bytes) }
    }
}

impl MatrixLiteral for ParamsLiteral {
    fn sets() -> Vec<NamedSet> {
        let about =
            "FrodoPIR (PoPETs 2023): plain LWE of n = 1774, one row in a record, a query word for each row";
        vec![NamedSet { name: FRODO_SET, about }]
    }

    fn select(shape: &TableShape) -> Result<Self> {
        if shape.set.as_deref() == Some(FRODO_SET) {
            return frodo(shape);
        }
        cheapest(shape, |cut| {
            let MatrixShape { record_bytes, records, lookups } = cut;
            let (query_bits, answer_bits) =
                word_sizes(record_bytes, records, cut.required_failure_log2(shape))?;
            let (set, seed) = (SET.into(), PUBLIC_SEED);
            let literal = ParamsLiteral { set, record_bytes, records, query_bits, answer_bits, seed };
            let sent = literal.query_bytes() + literal.answer_bytes();
            let scanned = record_bytes as f64 * records as f64 / SCANNED_PER_SENT;
            let per_row = lookups as f64 * (sent as f64 + scanned);
            Some((literal.hint_bytes() as f64 + shape.lookups_per_client as f64 * per_row, literal))
        })
    }

    fn check(&self) -> Result<Security> {
        let ParamsLiteral { record_bytes, records, query_bits, answer_bits, .. } = *self;
        let dense = self.dense();
        // Everything else is checked as in the other set.
        let (set, most) = dense.map_or((self.set.as_str(), MAX_RECORDS), |_| (SET, MAX_FRODO_RECORDS));
        check_shape(set, &self.seed, [record_bytes, records], most)?;
        if !QUERY_BITS.contains(&query_bits) || dense.is_some() && query_bits != 32 {
            return Err(field(
                "query_bits",
                format!("must lie in {QUERY_BITS:?}, and be 32 with {}", FRODO.name),
            ));
        }
        if !(MIN_ANSWER_BITS..=query_bits).contains(&answer_bits) {
            return Err(field("answer_bits", format!("must lie in {MIN_ANSWER_BITS}..=query_bits")));
        }
        dense.map_or_else(ring::security, |dense| dense.security())
    }

    fn shape(&self) -> [u64; 2] {
        [self.records, self.record_bytes]
    }

    fn query(&self) -> Format {
        Format::of(Field::words(self.records, self.query_bits.into()))
    }

    fn answer(&self) -> Format {
        Format::of(Field::words(self.record_bytes, self.answer_bits.into()))
    }

    fn failure_log2(&self) -> f64 {
        let ParamsLiteral { record_bytes, records, query_bits, answer_bits, .. } = *self;
        match self.dense() {
            None => bound::failure_log2(record_bytes, records, query_bits, answer_bits),
            Some(dense) => dense.failure_log2(record_bytes, records, answer_bits),
        }
    }

    fn work(&self) -> Costs {
        let word_ops = if self.dense().is_some() { DENSE_OPS } else { SAMPLE_OPS };
        Costs {
            artifact_bytes: self.hint_bytes(),
            // At most four planes: the products are made while the matrix comes from memory.
            server_ops: self.matrix_bytes() * work::READ_BYTE,
            // The mask is a product with the whole hint.
            client_ops: self.hint_bytes() * work::READ_BYTE + self.records * word_ops,
            resident_bytes: self.matrix_bytes() + self.hint_bytes(),
            ..Costs::default()
        }
    }

    fn details(&self) -> Vec<(&'static str, String)> {
        let ParamsLiteral { record_bytes, records, query_bits, answer_bits, .. } = *self;
        // Errors of a dense set are multiplied by the table in exact words: its bound holds for
        // tables that were made against A too.
        let ((deviation, margin), against, (log2_q, sigma)) = match self.dense() {
            None => {
                let noise = bound::deviation_and_margin(records, query_bits, answer_bits);
                let against = bound::against_log2(record_bytes, records, query_bits, answer_bits);
                (noise, against, (LOG2_Q, SIGMA))
            }
            Some(dense) => {
                let noise = dense.deviation_and_margin(records, answer_bits);
                (noise, self.failure_log2(), (LOG2_WORD, dense.errors.variance().sqrt()))
            }
        };
        vec![
            ("l", record_bytes.to_string()),
            ("m", records.to_string()),
            ("n", self.n().to_string()),
            ("log2 Q", format!("{log2_q:.6}")),
            ("sigma", sigma.to_string()),
            ("query bits", query_bits.to_string()),
            ("answer bits", answer_bits.to_string()),
            ("byte planes", query_bits.div_ceil(8).to_string()),
            ("hint bytes", self.hint_bytes().to_string()),
            ("noise sigma", format!("{deviation:.0} of a margin of {margin:.0}")),
            ("if made against A", format!("a lookup fails with at most 2^{against:.0}")),
        ]
    }
}

/// Checks the numbers `l` and `m`, for an existing set and seed, and at most `most` records.
pub(crate) fn check_shape(
    set: &str,
    seed: &PublicSeed,
    [record_bytes, records]: [u64; 2],
    most: u64,
) -> Result<()> {
    if set != SET {
        return Err(field("set", format!("must be the name of a set, such as \"{SET}\"")));
    }
    // A server that chose A could choose one with a trapdoor, so the seed is fixed for everyone.
    if *seed != PUBLIC_SEED {
        return Err(field("seed", format!("must be the scheme's public seed {PUBLIC_SEED}")));
    }
    in_range("record_bytes", record_bytes, MAX_RECORD_BYTES)?;
    in_range("records", records, most).map(drop)
}

/// Table bytes that a server scans at the price of one byte on the wire.
///
/// At 25 GB/s of scanning this prices a transferred byte as a link of 100 Mbit/s does: enough to
/// break ties between shapes of which one makes the server read the table several times.
pub(crate) const SCANNED_PER_SENT: f64 = 2000.0;

/// FrodoPIR's matrix: a row of the table is a record, and no word is rounded, as published.
fn frodo(shape: &TableShape) -> Result<ParamsLiteral> {
    let TableShape { rows: records, row_bytes: record_bytes, .. } = *shape;
    let fits = (1..=MAX_RECORD_BYTES).contains(&record_bytes) && (1..=MAX_FRODO_RECORDS).contains(&records);
    if !fits || FRODO.failure_log2(record_bytes, records, 32) > shape.required_failure_log2() {
        let why = "frodo has 1 to 2^24 rows of 1 to 2^20 bytes".into();
        return Err(ParamsError::NoFit { rows: records, row_bytes: record_bytes, why }.into());
    }
    let (set, seed) = (FRODO.name.into(), PUBLIC_SEED);
    Ok(ParamsLiteral { set, record_bytes, records, query_bits: 32, answer_bits: 32, seed })
}

/// The literal with the lowest price, among all heights that hold the table and for which `price`
/// returns one.
///
/// # Errors
/// The errors of [`matrix_shape::cheapest`].
pub(crate) fn cheapest<L>(shape: &TableShape, price: impl Fn(MatrixShape) -> Option<(f64, L)>) -> Result<L> {
    let too_large =
        "it needs more than about 2^19 records of at most 2^20 bytes, and their noise leaves no margin";
    matrix_shape::cheapest(shape, too_large, || {
        cuts(shape, 64, MAX_RECORD_BYTES).filter(|cut| cut.records <= MAX_RECORDS).filter_map(price)
    })
}

/// The word sizes with the fewest bytes in query and answer together.
///
/// They trade against each other: a bit less in every query word may cost three more in every answer
/// word.
fn word_sizes(record_bytes: u64, records: u64, target: f64) -> Option<(u8, u8)> {
    let reliable = |b, t| bound::failure_log2(record_bytes, records, b, t) <= target;
    QUERY_BITS
        .filter_map(|b| (MIN_ANSWER_BITS..=b).find(|t| reliable(b, *t)).map(|t| (b, t)))
        .min_by_key(|(b, t)| packed_bytes(records, *b) + packed_bytes(record_bytes, *t))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimplePir;
    use sotto_core::Params as _;
    use sotto_silent::{MatrixScheme, Params};
    use sotto_testkit::served::selects;

    fn select(shape: &TableShape) -> Result<ParamsLiteral> {
        ParamsLiteral::select(shape)
    }

    fn shape(rows: u64, row_bytes: u64, lookups_per_client: u64) -> TableShape {
        TableShape::new(rows, row_bytes, lookups_per_client)
    }

    #[test]
    fn many_lookups_make_a_taller_matrix() {
        let few = select(&shape(1 << 22, 32, 1)).unwrap();
        let many = select(&shape(1 << 22, 32, 100_000)).unwrap();
        assert!(few.record_bytes < many.record_bytes, "{few:?} {many:?}");
    }

    #[test]
    fn frodo_has_a_record_for_each_row() {
        let of = |rows, row_bytes| {
            select(&TableShape { set: Some(FRODO_SET.into()), ..shape(rows, row_bytes, 1) })
        };
        // The paper's largest table: 4 MiB up.
        let literal = of(1 << 20, 1024).unwrap();
        let report = Params::<SimplePir>::check(literal.clone()).unwrap().report();
        assert_eq!((literal.records, literal.record_bytes), (1 << 20, 1024));
        assert_eq!((report.costs.query_bytes, report.costs.answer_bytes), (4 << 20, 4096));
        assert_eq!(report.costs.artifact_bytes, 1024 * 1774 * 4);
        assert!(of(1 << 24, 1 << 20).is_ok());
        for (rows, row_bytes) in [(0, 1), (1, 0), ((1 << 24) + 1, 1), (1, (1 << 20) + 1)] {
            assert!(of(rows, row_bytes).is_err(), "{rows} {row_bytes}");
        }
    }

    #[test]
    fn a_record_holds_whole_rows_or_divides_one() {
        for (rows, row_bytes) in [(1, 1), (3, 255), (1 << 24, 2), (1000, 4097), (7, 3 << 20)] {
            let literal = select(&shape(rows, row_bytes, 100)).unwrap();
            let capacity = if literal.record_bytes >= row_bytes {
                assert_eq!(literal.record_bytes % row_bytes, 0);
                literal.record_bytes / row_bytes * literal.records
            } else {
                literal.records / row_bytes.div_ceil(literal.record_bytes)
            };
            assert!(capacity >= rows && capacity < 2 * rows.max(2), "{rows} {row_bytes} {literal:?}");
        }
    }

    #[test]
    fn what_is_selected_passes_the_check() {
        selects::<MatrixScheme<SimplePir>>(1 << 40, 1 << 24);
    }
}
