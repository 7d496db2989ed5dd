//! Choosing a matrix for a table.
//!
//! A tall matrix has a large hint and small queries; a wide one the reverse. Which is cheaper
//! depends on the number of lookups before the hint changes, so [`TableShape::lookups_per_client`]
//! decides.

use crate::literal::{FRODO_SET, MAX_FRODO_RECORDS, MAX_RECORD_BYTES, MAX_RECORDS, ParamsLiteral, SET};
use sotto_core::{ParamsError, Result, TableShape};
use sotto_silent::lwe::bound::{self, MIN_ANSWER_BITS, QUERY_BITS};
use sotto_silent::lwe::dense::FRODO;
use sotto_silent::lwe::ring::{N, PUBLIC_SEED};
use sotto_silent::matrix_shape::{MatrixShape, cuts};
use sotto_silent::message::packed_bytes;

/// Table bytes that a server scans at the price of one byte on the wire.
///
/// At 25 GB/s of scanning this prices a transferred byte as a link of 100 Mbit/s does: enough to
/// break ties between shapes of which one makes the server read the table several times.
pub(crate) const SCANNED_PER_SENT: f64 = 2000.0;

/// The cheapest literal for a table.
///
/// ```
/// use sotto_core::{Goal, Params as _, TableShape};
/// use sotto_simplepir::params::Params;
///
/// let shape = TableShape::new(1_000_000, 32, 1);
/// let fast = Params::check(Params::select(&shape)?)?.report();
/// let small = TableShape { goal: Goal::TotalBytes, ..shape };
/// let small = Params::check(Params::select(&small)?)?.report();
/// let bytes = |costs: &sotto_core::Costs| costs.query_bytes + costs.answer_bytes;
/// assert!(bytes(&small.costs) <= bytes(&fast.costs));
/// # Ok::<(), sotto_core::Error>(())
/// ```
///
/// # Errors
/// [`ParamsError::NoFit`] for an empty table, or one larger than the limits allow.
pub fn select(shape: &TableShape) -> Result<ParamsLiteral> {
    if shape.set.as_deref() == Some(FRODO_SET) {
        return frodo(shape);
    }
    cheapest(shape, |cut| {
        let MatrixShape { record_bytes, records, lookups } = cut;
        let (query_bits, answer_bits) = word_sizes(record_bytes, records, cut.required_failure_log2(shape))?;
        let hint = record_bytes as f64 * N as f64 * 4.0;
        let sent = packed_bytes(records, query_bits) + packed_bytes(record_bytes, answer_bits);
        let scanned = record_bytes as f64 * records as f64 / SCANNED_PER_SENT;
        let per_row = lookups as f64 * (sent as f64 + scanned);
        let literal = ParamsLiteral {
            set: SET.into(),
            record_bytes,
            records,
            query_bits,
            answer_bits,
            seed: PUBLIC_SEED,
        };
        Some((hint + shape.lookups_per_client as f64 * per_row, literal))
    })
}

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
/// Those of [`select`].
pub(crate) fn cheapest<L>(shape: &TableShape, price: impl Fn(MatrixShape) -> Option<(f64, L)>) -> Result<L> {
    let no_fit =
        |why: &str| ParamsError::NoFit { rows: shape.rows, row_bytes: shape.row_bytes, why: why.into() };
    if shape.rows == 0 || shape.row_bytes == 0 {
        return Err(no_fit("a table has at least one row of at least one byte").into());
    }
    cuts(shape, 64, MAX_RECORD_BYTES)
        .filter(|cut| cut.records <= MAX_RECORDS)
        .filter_map(price)
        .min_by(|(x, _), (y, _)| x.total_cmp(y))
        .map(|(_, literal)| literal)
        .ok_or_else(|| {
            no_fit(
                "it needs more than about 2^19 records of at most 2^20 bytes, and their noise leaves no \
        margin",
            )
            .into()
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
    use crate::params::Params;
    use sotto_core::Params as _;

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
    fn limits_are_refused_not_wrapped() {
        for (rows, row_bytes) in [(0, 1), (1, 0), (u64::MAX, 1), (1, u64::MAX), (u64::MAX, u64::MAX)] {
            assert!(select(&shape(rows, row_bytes, u64::MAX)).is_err(), "{rows} {row_bytes}");
        }
    }

    #[test]
    fn frodo_has_a_record_for_each_row() {
        let of = |rows, row_bytes| {
            select(&TableShape { set: Some(FRODO_SET.into()), ..shape(rows, row_bytes, 1) })
        };
        // The paper's largest table: 4 MiB up.
        let literal = of(1 << 20, 1024).unwrap();
        let report = Params::check(literal.clone()).unwrap().report();
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

    proptest::proptest! {
        #[test]
        fn what_is_selected_passes_the_check(rows in 1u64..1 << 40, row_bytes in 1u64..1 << 24, lookups: u64) {
            if let Ok(literal) = select(&shape(rows, row_bytes, lookups)) {
                let lookups = row_bytes.div_ceil(literal.record_bytes) as f64;
                let report = Params::check(literal).unwrap().report();
                proptest::prop_assert!(report.failure_log2 + lookups.log2() <= -40.0);
            }
        }
    }
}
