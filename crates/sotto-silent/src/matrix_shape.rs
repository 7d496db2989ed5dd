//! Dividing a table into records, and the price of a lookup: the first step of choosing parameters.

use sotto_core::{Costs, Goal, ParamsError, Result, TableShape, work};

/// The division of a table into records of some height.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatrixShape {
    /// Bytes in a record.
    pub record_bytes: u64,
    /// Number of records.
    pub records: u64,
    /// Number of records that hold one row; 1 if a record holds whole rows.
    pub lookups: u64,
}

impl MatrixShape {
    /// Records of about this height; `None` if there are too many to count.
    fn new(shape: &TableShape, height: u64) -> Option<Self> {
        if shape.row_bytes <= height {
            let rows = (height / shape.row_bytes).min(shape.rows);
            let records = shape.rows.div_ceil(rows);
            return Some(MatrixShape { record_bytes: rows * shape.row_bytes, records, lookups: 1 });
        }
        let lookups = shape.row_bytes.div_ceil(height);
        let records = shape.rows.checked_mul(lookups)?;
        // Heights are evened out, so that the last record of a row is not mostly padding.
        Some(MatrixShape { record_bytes: shape.row_bytes.div_ceil(lookups), records, lookups })
    }

    /// Queries that a client is expected to make in an epoch.
    pub fn queries(&self, shape: &TableShape) -> u64 {
        shape.lookups_per_client.max(1).saturating_mul(self.lookups)
    }

    /// log2 of the required failure bound of a record: a row that is spread over several records
    /// fails if any of them does.
    pub fn required_failure_log2(&self, shape: &TableShape) -> f64 {
        shape.required_failure_log2() - f64::from(self.lookups.next_power_of_two().ilog2())
    }
}

/// Divisions worth trying: records of 2^i and 3 * 2^i whole groups of `group_bytes` bytes, and of
/// the width of a row.
pub fn cuts(shape: &TableShape, group_bytes: u64, most_bytes: u64) -> impl Iterator<Item = MatrixShape> {
    let steps = (0..).map(move |i| group_bytes << i).take_while(move |height| *height <= most_bytes);
    let heights = steps.flat_map(|height| [height, height / 2 * 3]).chain([shape.row_bytes]);
    heights.filter(move |height| *height <= most_bytes).filter_map(|height| MatrixShape::new(shape, height))
}

/// Price of looking a row up, in nanoseconds of the server and of a link, by the goal of the table: of
/// one record, times those that hold a row, with a share of what a client fetches once.
pub fn price(shape: &TableShape, cut: &MatrixShape, costs: &Costs) -> f64 {
    let sent = |bytes: u64| (bytes * work::SENT_BYTE_NANOSECONDS) as f64;
    let once = sent(costs.artifact_bytes) / cut.queries(shape) as f64;
    let (up, down) = (sent(costs.query_bytes), sent(costs.answer_bytes) + once);
    let time = costs.server_ops as f64 / work::OPS_PER_NANOSECOND as f64;
    let record = match shape.goal {
        Goal::ServerTime => time + (up + down) / 4.0,
        Goal::QueryBytes => up + (time + down) / 1024.0,
        Goal::TotalBytes => up + down + time / 1024.0,
        Goal::Rate => down / cut.record_bytes as f64 + (time + up) / 1e12,
    };
    record * cut.lookups as f64
}

/// The literal with the lowest price. `too_large` says why a table has none.
///
/// # Errors
/// [`ParamsError::NoFit`] for an empty table, and for one without a literal.
pub fn cheapest<L, I: IntoIterator<Item = (f64, L)>>(
    shape: &TableShape,
    too_large: &str,
    priced: impl FnOnce() -> I,
) -> Result<L> {
    let no_fit =
        |why: &str| ParamsError::NoFit { rows: shape.rows, row_bytes: shape.row_bytes, why: why.into() };
    if shape.rows == 0 || shape.row_bytes == 0 {
        return Err(no_fit("a table has at least one row of at least one byte").into());
    }
    let cheapest = priced().into_iter().min_by(|(x, _), (y, _)| x.total_cmp(y));
    Ok(cheapest.map(|(_, literal)| literal).ok_or_else(|| no_fit(too_large))?)
}

/// The literal `selected`, unless its image is too large for its table: more than 8 bytes for each
/// byte of the table, and 4 MiB. Then the one with the lowest price of `small` that is not, if there is
/// one. `small` gets the most bytes of an image.
pub fn of_small_image<L, I: IntoIterator<Item = (f64, L)>>(
    shape: &TableShape,
    selected: L,
    image_bytes: impl Fn(&L) -> u64,
    small: impl FnOnce(u64) -> I,
) -> L {
    let table = shape.rows.saturating_mul(shape.row_bytes);
    let most = table.saturating_mul(8).saturating_add(4 << 20);
    if image_bytes(&selected) <= most {
        return selected;
    }
    let small = small(most).into_iter().filter(|(_, literal)| image_bytes(literal) <= most);
    small.min_by(|(x, _), (y, _)| x.total_cmp(y)).map_or(selected, |(_, literal)| literal)
}
