//! VBPIR's method: selectors by rotation, and a second dimension by multiplication.
//!
//! The first ciphertexts of a query have a one for each bucket, and zeroes: rotated by j positions,
//! the one at `position + j` moves to `position`. So ciphertext `r div count`, rotated
//! `r mod count` times, selects row r at the requested position, and other rows at other positions;
//! the last ciphertext of a query has a one at the requested position, and its product with the
//! sums leaves nothing else.

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
use sotto_lattice::bgv::rotation_grid::Rotations;
use sotto_math::modulus::divide;
use zeroize::Zeroizing;

/// The rotations of a few ciphertexts, and a product.
#[derive(Debug, Clone)]
pub struct RotatedSelectors {
    rows: usize,
    /// Ciphertexts of the first dimension.
    first: usize,
    /// Rotations of each ciphertext of the first dimension, to as many rows.
    rotations: Rotations,
    width: usize,
    keys: RequiredKeys,
}

impl Method for RotatedSelectors {
    const FORM: PlaintextForm = PlaintextForm::Slots;
    const STRIDED: bool = true;

    fn candidates(table: &CandidateTable) -> Vec<LayoutCandidate> {
        // More ciphertexts than needed save rotations.
        let least = table.needed.div_ceil(table.cycle_positions);
        let first: Vec<u64> = (0..4)
            .map(|doubled| least << doubled)
            .filter(|first| (1..=table.needed).contains(first))
            .collect();
        let numbers = |merged| {
            let of = move |first: &u64| {
                // A second key pays where there are many rotations.
                let best = Rotations::best_stride(table.needed.div_ceil(*first) as usize);
                [1, best.into()].map(|stride| LayoutCandidate {
                    rows: table.needed,
                    merged,
                    primes: 2,
                    queries: first + 1,
                    stride,
                })
            };
            first.iter().flat_map(of).collect::<Vec<_>>()
        };
        table.merges().flat_map(numbers).collect()
    }

    fn new(layout: &Layout, _: &'static RingSet) -> Result<Self, ParamsError> {
        let first = layout.queries.saturating_sub(1);
        let min = layout.rows.div_ceil(layout.cycle_positions());
        if !(min..=layout.rows).contains(&first) {
            let why =
                format!("must lie in {}..={}, so that rotations reach every row", min + 1, layout.rows + 1);
            return Err(ParamsError::Field { field: "queries", why });
        }
        if layout.primes != 2 {
            return Err(ParamsError::Field { field: "primes", why: "must be 2".into() });
        }
        let rotations = Rotations { places: layout.rows.div_ceil(first), stride: layout.stride };
        if rotations.stride == 0 || rotations.has_stride() && rotations.stride >= rotations.places {
            let why = "must be 1, or above it and below the rows that a ciphertext is rotated to".into();
            return Err(ParamsError::Field { field: "stride", why });
        }
        let stride = rotations.has_stride().then_some(rotations.stride * layout.gap());
        let keys = RequiredKeys { rotation: Some(layout.gap()), stride, square: true, rounds: 0 };
        Ok(RotatedSelectors { rows: layout.rows, first, rotations, width: layout.width, keys })
    }

    fn keys(&self) -> RequiredKeys {
        self.keys
    }

    fn query_plaintexts(&self, layout: &Layout, places: &[BucketPlace]) -> Vec<QueryPlaintext> {
        // The positions with the number of a ciphertext as their row, shifted by the rotations that
        // move them back.
        let turned = |place: &BucketPlace| {
            let (row, turns) = divide(place.row, self.rotations.places as u64);
            BucketPlace {
                row,
                position: layout.rotated_position(place.position, turns.wrapping_neg()),
                ..*place
            }
        };
        let ahead = Zeroizing::new(places.iter().map(turned).collect::<Vec<_>>());
        let first = |i: u64| (layout.marked(&ahead, |place| equal(place.row, i) & 1), 0);
        (0..self.first as u64).map(first).chain([(layout.marked(places, |_| 1), 0)]).collect()
    }

    fn noise(&self, ring: &Ring, layout: &Layout, written: f64) -> Noise {
        let (steps, top) = (steps(ring), ring.top());
        let second = steps.fresh();
        let turned = steps.rotated(second, self.rotations.depth() as u32, top);
        let sum = steps.rows(turned, self.rows as f64);
        let product = steps.tensor(second, sum, 1.0) + steps.key_switch(top);
        let worst =
            steps.chosen_tensor(second, steps.chosen_rows(turned, written, NORM_LOG2), 1.0, NORM_LOG2);
        let together =
            RoundedNoise::merged(&steps, layout, top, [product, worst], column_merge::answers(layout));
        Noise {
            steps: vec![
                ("noise: after the last rotation", turned),
                ("noise: of a column's sum", sum),
                ("noise: of its product", product),
                ("noise: of the columns together", together.variance),
            ],
            rounded: vec![together],
            inner_log2: steps.failure_log2(product, worst, top) + (self.width as f64).log2(),
        }
    }

    fn nanoseconds(&self, layout: &Layout, times: &RingTimes) -> f64 {
        let splits = (self.first * self.rotations.splits()) as f64;
        let turns =
            splits * times.split(2) + (self.rows - self.first) as f64 * (times.switch(2) - times.split(2));
        let products = layout.width as f64 * (times.tensor(2) + times.switch(2) + times.lower(1));
        turns + products + (layout.width - column_merge::answers(layout)) as f64 * times.switch(1)
    }

    #[cfg(feature = "server")]
    fn select(&self, evaluator: &Evaluator<'_>, mut query: Vec<Ciphertext>) -> SelectorSet {
        let second_dimension = query.split_off(query.len().saturating_sub(1));
        let mut rows: Vec<Ciphertext> =
            query.into_iter().flat_map(|c| evaluator.rotations(c, self.rotations.places)).collect();
        rows.truncate(self.rows);
        SelectorSet { tables: vec![rows], second_dimension }
    }

    #[cfg(feature = "server")]
    fn partial(
        &self,
        evaluator: &Evaluator<'_>,
        second_dimension: &[Ciphertext],
        columns: ColumnSums,
    ) -> Vec<Ciphertext> {
        let columns: Vec<Ciphertext> = columns.tables.into_iter().flatten().collect();
        let pairs: Vec<[&Ciphertext; 2]> = columns
            .iter()
            .flat_map(|column| second_dimension.iter().map(move |second| [second, column]))
            .collect();
        evaluator.products(&pairs, 1)
    }
}
