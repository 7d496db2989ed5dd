//! The possible layouts of a table in two passes, and their prices.

use super::{MAX_BLOCKS, MAX_RECORD_BYTES, TwoPassLayout};
use crate::matrix_shape;
use sotto_core::{Costs, Goal, Result, TableShape, work};

/// A layout, and its requirements.
#[derive(Debug, Clone, Copy)]
pub struct LayoutCandidate {
    /// The layout of the table.
    pub cut: TwoPassLayout,
    /// Number of records that hold one row.
    pub lookups: u64,
    /// log2 of the required failure bound of a record.
    pub required: f64,
}

impl LayoutCandidate {
    /// Whether the data beside the second matrix may take `bytes` bytes: at most four times the
    /// table, unless records have one byte.
    pub fn affords(&self, bytes: u64) -> bool {
        self.cut.record_bytes == 1 || bytes <= 4 * self.cut.first_bytes()
    }
}

/// The literal with the lowest price among all layouts for which `costs` returns one: the costs of
/// a lookup, and the literal.
///
/// # Errors
/// The errors of [`matrix_shape::cheapest`].
pub fn cheapest<L>(shape: &TableShape, costs: impl Fn(LayoutCandidate) -> Option<(Costs, L)>) -> Result<L> {
    let too_large = "it exceeds 2^16 blocks of about 2^19 records, or has too much noise";
    let priced = |candidate: LayoutCandidate| {
        let (costs, literal) = costs(candidate)?;
        Some((price(shape, &costs) * candidate.lookups as f64, literal))
    };
    matrix_shape::cheapest(shape, too_large, || candidates(shape).filter_map(priced))
}

/// Price of one lookup, in nanoseconds of the server and of a link.
fn price(shape: &TableShape, costs: &Costs) -> f64 {
    let sent = |bytes: u64| (bytes * work::SENT_BYTE_NANOSECONDS) as f64;
    let once = costs.artifact_bytes.saturating_mul(work::SENT_BYTE_NANOSECONDS) as f64;
    let (up, down) = (sent(costs.query_bytes), sent(costs.answer_bytes));
    let down = down + once / shape.lookups_per_client.max(1) as f64;
    let time = costs.server_ops as f64 / work::OPS_PER_NANOSECOND as f64;
    match shape.goal {
        Goal::ServerTime => time + (up + down) / 4.0,
        Goal::QueryBytes => up + (time + down) / 1024.0,
        Goal::TotalBytes => up + down + time / 1024.0,
        Goal::Rate => down + (time + up) / 1e6,
    }
}

/// All widths of records that divide a row evenly or hold it, with all numbers of blocks.
fn candidates(shape: &TableShape) -> impl Iterator<Item = LayoutCandidate> {
    let most = (0..=MAX_RECORD_BYTES.ilog2()).map(|log2| 1 << log2);
    let mut widths: Vec<u64> =
        most.map(|most| shape.row_bytes.div_ceil(shape.row_bytes.div_ceil(most))).collect();
    widths.dedup();
    let blocks = (0..=MAX_BLOCKS.ilog2()).map(|log2| 1u64 << log2);
    widths.into_iter().flat_map(move |record_bytes| {
        let lookups = shape.row_bytes.div_ceil(record_bytes);
        let required = shape.required_failure_log2() - (lookups as f64).log2();
        let records = shape.rows.checked_mul(lookups);
        let cut = move |blocks| Some(TwoPassLayout { record_bytes, records: records?, blocks });
        let cuts = blocks
            .clone()
            .filter_map(cut)
            .filter(|cut| cut.blocks / 2 < cut.records && cut.refusal().is_none());
        cuts.map(move |cut| LayoutCandidate { cut, lookups, required })
    })
}
