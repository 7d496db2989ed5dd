//! Candidate layouts of a table, of which a method tries some.

use crate::layout::{PlaintextForm, positions};
use crate::literal::Literal;
use crate::rings::RingSet;

/// A table for which a method proposes candidate layouts.
#[derive(Debug, Clone, Copy)]
pub struct CandidateTable {
    /// n: degree of the ring.
    pub degree: u64,
    /// Number of primes of a query.
    pub primes: usize,
    /// B: number of buckets.
    pub buckets: u64,
    /// Rows of the table if it has one block.
    pub needed: u64,
    /// Positions in one cycle of slots, around which a rotation moves them.
    pub cycle_positions: u64,
    /// Columns of a block.
    pub width: u64,
}

/// Numbers of a layout that a method chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayoutCandidate {
    /// See [`Literal::rows`].
    pub rows: u64,
    /// See [`Literal::merged`].
    pub merged: u64,
    /// See [`Literal::primes`].
    pub primes: usize,
    /// See [`Literal::queries`].
    pub queries: u64,
    /// See [`Literal::stride`].
    pub stride: u64,
}

impl CandidateTable {
    /// Makes the table of a draft; `None` if there are more lanes than numbers in a plaintext.
    pub(crate) fn of(form: PlaintextForm, ring: &RingSet, draft: &Literal) -> Option<Self> {
        let (degree, buckets) = (ring.degree as u64, u64::from(draft.buckets));
        let split = u64::from(draft.split);
        let positions = positions(form, ring.degree, buckets.saturating_mul(split));
        let words = u64::from(draft.record_words);
        (positions > 0).then(|| CandidateTable {
            degree,
            primes: ring.query_primes(),
            buckets,
            needed: (draft.records / buckets).div_ceil(positions),
            cycle_positions: positions.min(degree / 2),
            width: if form == PlaintextForm::Whole { words.div_ceil(degree) } else { words.div_ceil(split) },
        })
    }

    /// Numbers of columns that may share an answer: the largest that fits, and its halves, which
    /// add less noise.
    pub fn merges(&self) -> impl Iterator<Item = u64> + use<> {
        let max = self.cycle_positions.min(self.width).max(1);
        (0..).map(move |halved| max >> halved).take_while(|merged| *merged > 0)
    }
}

impl LayoutCandidate {
    /// Puts these numbers into a draft; `None` if they are out of a literal's range.
    pub(crate) fn of(self, draft: &Literal) -> Option<Literal> {
        let number = |x: u64| u32::try_from(x).ok();
        Some(Literal {
            rows: number(self.rows)?,
            merged: number(self.merged)?,
            queries: number(self.queries)?,
            stride: number(self.stride)?,
            primes: u8::try_from(self.primes).ok()?,
            ..draft.clone()
        })
    }
}
