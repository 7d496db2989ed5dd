//! Which numbers of a literal a method may have tried at a table.

use crate::layout::{PlaintextForm, positions};
use crate::literal::Literal;
use crate::rings::RingSet;

/// A table, before the numbers that a method has a choice of.
#[derive(Debug, Clone, Copy)]
pub struct CandidateTable {
    /// n.
    pub degree: u64,
    /// Primes of a query.
    pub primes: usize,
    /// B.
    pub buckets: u64,
    /// Rows if there is one block.
    pub needed: u64,
    /// Positions that turn around, in slots.
    pub turning: u64,
    /// Columns of a block.
    pub width: u64,
}

/// The numbers.
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
}

impl CandidateTable {
    /// The table of a draft; `None` if there are more buckets than a plaintext has numbers.
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
            turning: positions.min(degree / 2),
            width: if form == PlaintextForm::Whole { words.div_ceil(degree) } else { words.div_ceil(split) },
        })
    }

    /// How many columns may share an answer: as many as fit, and fewer, which have less noise together.
    pub fn merges(&self) -> impl Iterator<Item = u64> + use<> {
        let most = self.turning.min(self.width).max(1);
        (0..).map(move |halved| most >> halved).take_while(|merged| *merged > 0)
    }
}

impl LayoutCandidate {
    /// A draft with these numbers, if they are none that no literal has.
    pub(crate) fn of(self, draft: &Literal) -> Option<Literal> {
        let [rows, merged, queries] = [self.rows, self.merged, self.queries].map(u32::try_from);
        let (rows, merged, queries) = (rows.ok()?, merged.ok()?, queries.ok()?);
        Some(Literal { rows, merged, queries, primes: u8::try_from(self.primes).ok()?, ..draft.clone() })
    }
}
