//! FastPIR's method: one-hot vectors without compression.
//!
//! The table is rows of plaintexts, and ciphertext i of a query has a one in the slot of the
//! requested record if that is in row i, and zeroes elsewhere: the paper's matrix-vector product,
//! column by column. A column's sum is the record's number in that slot and zero in all others, so
//! that the columns are rotated to different slots and summed to one ciphertext.

use sotto_bfv::candidates::{CandidateTable, LayoutCandidate};
#[cfg(feature = "server")]
use sotto_bfv::evaluator::{ColumnSums, Evaluator, SelectorSet};
use sotto_bfv::family::QueryPlaintext;
use sotto_bfv::layout::{BucketPlace, Layout, PlaintextForm, equal};
use sotto_bfv::noise::{NORM_LOG2, Noise, RoundedNoise, steps};
use sotto_bfv::rings::{Ring, RingSet, RingTimes};
use sotto_bfv::{Method, RequiredKeys, column_merge};
use sotto_core::ParamsError;
#[cfg(feature = "server")]
use sotto_lattice::bgv::Ciphertext;

/// A query of one ciphertext for each row.
#[derive(Debug, Clone)]
pub struct OneHot {
    rows: usize,
    keys: RequiredKeys,
}

impl Method for OneHot {
    const FORM: PlaintextForm = PlaintextForm::Slots;

    fn candidates(table: &CandidateTable) -> Vec<LayoutCandidate> {
        let numbers = |merged| LayoutCandidate {
            rows: table.needed,
            merged,
            primes: 1,
            queries: table.needed,
            stride: 1,
        };
        table.merges().map(numbers).collect()
    }

    fn new(layout: &Layout, _: &'static RingSet) -> Result<Self, ParamsError> {
        if layout.rows != layout.queries {
            return Err(ParamsError::Field { field: "queries", why: "must be the number of rows".into() });
        }
        let keys = RequiredKeys { rotation: Some(layout.gap()), ..RequiredKeys::default() };
        Ok(OneHot { rows: layout.rows, keys })
    }

    fn keys(&self) -> RequiredKeys {
        self.keys
    }

    fn query_plaintexts(&self, layout: &Layout, places: &[BucketPlace]) -> Vec<QueryPlaintext> {
        let mark = |row: u64| layout.marked(places, |place| equal(place.row, row) & 1);
        (0..self.rows as u64).map(|row| (mark(row), 0)).collect()
    }

    fn noise(&self, ring: &Ring, layout: &Layout, written: f64) -> Noise {
        let steps = steps(ring);
        let fresh = steps.fresh();
        let sum = steps.rows(fresh, self.rows as f64);
        let worst = steps.chosen_rows(fresh, written, NORM_LOG2);
        let together =
            RoundedNoise::merged(&steps, layout, ring.top(), [sum, worst], column_merge::answers(layout));
        Noise {
            steps: vec![
                ("noise: of a column's sum", sum),
                ("noise: of the columns together", together.variance),
            ],
            rounded: vec![together],
            inner_log2: f64::NEG_INFINITY,
        }
    }

    fn nanoseconds(&self, layout: &Layout, times: &RingTimes) -> f64 {
        (layout.width - column_merge::answers(layout)) as f64 * times.switch(1)
    }

    #[cfg(feature = "server")]
    fn select(&self, _: &Evaluator<'_>, query: Vec<Ciphertext>) -> SelectorSet {
        SelectorSet { tables: vec![query], second_dimension: Vec::new() }
    }

    #[cfg(feature = "server")]
    fn partial(&self, _: &Evaluator<'_>, _: &[Ciphertext], columns: ColumnSums) -> Vec<Ciphertext> {
        columns.tables.concat()
    }
}
