//! Selectors by rotation, and a second dimension that is multiplied.
//!
//! The first ciphertexts of a query have a one for each bucket, and zeroes: turned by j positions, the one that stood at
//! `position + j` stands at `position`. So ciphertext `r div count`, turned `r mod count` times, selects row r at the wanted
//! position, and other rows at other positions; the last ciphertext of a query has a one at the wanted position, and its product
//! with the sums leaves nothing else.

use sotto_bfv::cost::Times;
use sotto_bfv::family::{Asked, Open};
use sotto_bfv::layout::{Form, Layout, Place, equal};
use sotto_bfv::noise::{NORM_LOG2, Noise, Rounded, steps};
use sotto_bfv::rings::{Ring, RingSet};
#[cfg(feature = "server")]
use sotto_bfv::server::{
    desk::{Desk, Selected},
    merge::merge,
};
use sotto_bfv::tried::{Numbers, Tried};
use sotto_bfv::{Keyring, Method, merged};
use sotto_core::ParamsError;
use sotto_lattice::bgv::Answer;
#[cfg(feature = "server")]
use sotto_lattice::bgv::Cipher;
use sotto_math::divide::divide;
use zeroize::Zeroizing;

/// Rotations of a few ciphertexts, and a product.
#[derive(Debug, Clone)]
pub struct Rotated {
    rows: usize,
    /// Ciphertexts of the first dimension.
    first: usize,
    /// Rows that each ciphertext of the first dimension is turned to.
    count: usize,
    width: usize,
    answers: usize,
    keys: Keyring,
}

impl Method for Rotated {
    const FORM: Form = Form::Slots;

    fn tries(table: &Tried) -> Vec<Numbers> {
        // More ciphertexts than needed save turns.
        let least = table.needed.div_ceil(table.turning);
        let first: Vec<u64> =
            (0..4).map(|doubled| least << doubled).filter(|first| *first <= table.needed).collect();
        let numbers = |merged| {
            let of = move |first: &u64| Numbers { rows: table.needed, merged, primes: 2, queries: first + 1 };
            first.iter().map(of).collect::<Vec<_>>()
        };
        table.merges().flat_map(numbers).collect()
    }

    fn new(layout: &Layout, _: &'static RingSet) -> Result<Self, ParamsError> {
        let first = layout.queries.saturating_sub(1);
        if first < layout.rows.div_ceil(layout.turning()) || first > layout.rows {
            let why = "one more than there are turns to reach all rows".into();
            return Err(ParamsError::Field { field: "queries", why });
        }
        if layout.primes != 2 {
            return Err(ParamsError::Field { field: "primes", why: "2".into() });
        }
        let keys = Keyring { turn: Some(layout.gap()), square: true, rounds: 0 };
        let answers = merged::answers(layout);
        let count = layout.rows.div_ceil(first);
        Ok(Rotated { rows: layout.rows, first, count, width: layout.width, answers, keys })
    }

    fn keys(&self) -> Keyring {
        self.keys
    }

    fn answers(&self) -> usize {
        self.answers
    }

    fn ask(&self, layout: &Layout, places: &[Place]) -> Vec<Asked> {
        let rows: Zeroizing<Vec<(u64, u64)>> =
            Zeroizing::new(places.iter().map(|place| divide(place.row, self.count as u64)).collect());
        let ahead =
            |(place, (_, turns)): (&Place, &(u64, u64))| layout.turned(place.position, turns.wrapping_neg());
        let ahead = Zeroizing::new(places.iter().zip(rows.iter()).map(ahead).collect::<Vec<_>>());
        let wanted = Zeroizing::new(places.iter().map(|place| place.position).collect::<Vec<_>>());
        let first = (0..self.first as u64).map(|i| {
            let mark = |bucket| equal(rows.get(bucket).map_or(0, |(of, _): &(u64, u64)| *of), i) & 1;
            (layout.marked(&ahead, mark), 0)
        });
        first.chain([(layout.marked(&wanted, |_| 1), 0)]).collect()
    }

    fn read(
        &self,
        layout: &Layout,
        open: Open<'_>,
        answers: &[Answer],
        places: &[Place],
    ) -> Vec<Zeroizing<Vec<u64>>> {
        let answers: Vec<_> = answers.iter().map(|answer| open(answer, None)).collect();
        merged::read(layout, &answers, places)
    }

    fn noise(&self, ring: &Ring, layout: &Layout, written: f64) -> Noise {
        let (steps, top) = (steps(ring), ring.top());
        let second = steps.fresh();
        let turned = steps.rotated(second, self.count as u32 - 1, top);
        let sum = steps.rows(turned, self.rows as f64);
        let product = steps.tensor(second, sum, 1.0) + steps.key_switch(top);
        let worst =
            steps.chosen_tensor(second, steps.chosen_rows(turned, written, NORM_LOG2), 1.0, NORM_LOG2);
        let (mut alone, mut chosen, mut level) = (product, worst, top);
        while let Some(below) = level.below() {
            (alone, chosen, level) =
                (steps.lowered(alone, level), steps.chosen_lowered(chosen, level), below);
        }
        let columns = layout.merged as f64;
        let variance = columns * alone + (columns - 1.0) * steps.key_switch(level);
        Noise {
            steps: vec![
                ("noise: after the last rotation", turned),
                ("noise: of a column's sum", sum),
                ("noise: of its product", product),
                ("noise: of the columns together", variance),
            ],
            rounded: vec![Rounded {
                variance,
                chosen: columns * chosen,
                count: self.answers as f64,
                bits: None,
            }],
            inner_log2: steps.failure_log2(product, worst, top) + (self.width as f64).log2(),
        }
    }

    fn nanoseconds(&self, layout: &Layout, times: &Times) -> f64 {
        let turns = (self.rows - self.first) as f64 * times.switch(2);
        let products = layout.width as f64 * (times.tensor(2) + times.switch(2) + times.lower(1));
        turns + products + (layout.width - self.answers) as f64 * times.switch(1)
    }

    #[cfg(feature = "server")]
    fn select(&self, desk: &Desk<'_>, mut query: Vec<Cipher>) -> Selected {
        let kept = query.split_off(query.len().saturating_sub(1));
        let mut rows: Vec<Cipher> = query.into_iter().flat_map(|c| desk.turns(c, self.count)).collect();
        rows.truncate(self.rows);
        Selected { tables: vec![rows], kept }
    }

    #[cfg(feature = "server")]
    fn finish(&self, desk: &Desk<'_>, kept: &[Cipher], columns: Vec<Vec<Cipher>>) -> Vec<Cipher> {
        let columns: Vec<Cipher> = columns.into_iter().flatten().collect();
        let pairs: Vec<[&Cipher; 2]> =
            columns.iter().flat_map(|column| kept.iter().map(move |second| [second, column])).collect();
        merge(desk, &desk.products(&pairs, 1))
    }
}
