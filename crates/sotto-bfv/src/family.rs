//! What a scheme of the family says of itself.

use crate::candidates::{CandidateTable, LayoutCandidate};
use crate::column_merge;
use crate::cost::RingTimes;
use crate::layout::{BucketPlace, Layout, PlaintextForm};
use crate::noise::Noise;
use crate::rings::{Ring, RingSet};
#[cfg(feature = "server")]
use crate::server::evaluator::{ColumnSums, Evaluator, PartialShape, SelectorSet};
use sotto_core::{ParamsError, SchemeId};
#[cfg(feature = "server")]
use sotto_lattice::bgv::Ciphertext;
use sotto_lattice::bgv::{Answer, AnswerBits};
use std::fmt::Debug;
#[cfg(feature = "server")]
use std::ops::Range;
use zeroize::Zeroizing;

/// A scheme of the family.
pub trait Family: Send + Sync + 'static {
    /// The scheme's id.
    const ID: SchemeId;
    /// What it is, in a line.
    const TITLE: &'static str;
    /// How it asks.
    type Method: Method;

    /// Its sets, the default first.
    fn sets() -> &'static [ParamsSet];
}

/// A parameter set before it meets a table.
#[derive(Debug)]
pub struct ParamsSet {
    /// What a person types.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// Name of the ring.
    pub ring: &'static str,
    /// Whether it is tried for tables that name no set.
    pub tried: bool,
}

/// Which keys of evaluation a client registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RequiredKeys {
    /// Of the turn by so many slots.
    pub turn: Option<usize>,
    /// Of relinearization.
    pub square: bool,
    /// Of so many rounds of expansion.
    pub rounds: u32,
}

impl RequiredKeys {
    /// How many keys these are.
    pub fn count(&self) -> usize {
        usize::from(self.turn.is_some()) + usize::from(self.square) + self.rounds as usize
    }
}

/// A plaintext of a query: numbers in slots or coefficients, and by which power of two they are divided.
pub type QueryPlaintext = (Zeroizing<Vec<u64>>, u32);

/// What opens a ciphertext, of the bits of an answer unless others are given: its plaintext's numbers.
pub type DecryptFn<'a> = &'a dyn Fn(&Answer, Option<AnswerBits>) -> Zeroizing<Vec<u64>>;

/// How a query selects, at one table. All of it is public.
pub trait Method: Clone + Debug + Send + Sync + Sized + 'static {
    /// What numbers of plaintexts are.
    const FORM: PlaintextForm;

    /// The numbers worth trying at a table.
    fn tries(table: &CandidateTable) -> Vec<LayoutCandidate>;

    /// The method at a table.
    ///
    /// # Errors
    /// [`ParamsError::Field`] for what is out of its reach.
    fn new(layout: &Layout, ring: &'static RingSet) -> Result<Self, ParamsError>;

    /// The keys it needs.
    fn keys(&self) -> RequiredKeys;

    /// Ciphertexts of an answer: sums in slots, merged, unless it says otherwise.
    fn answers(&self, layout: &Layout) -> usize {
        column_merge::answers(layout)
    }

    /// The plaintexts of a query for one place in each bucket, in time that does not depend on them.
    fn ask(&self, layout: &Layout, places: &[BucketPlace]) -> Vec<QueryPlaintext>;

    /// The numbers of each bucket's record, with the public mask on them; in time that does not depend on the places.
    fn read(
        &self,
        layout: &Layout,
        open: DecryptFn<'_>,
        answers: &[Answer],
        places: &[BucketPlace],
    ) -> Vec<Zeroizing<Vec<u64>>> {
        let answers: Vec<_> = answers.iter().map(|answer| open(answer, None)).collect();
        column_merge::read(layout, &answers, places)
    }

    /// The noise of a lookup, of whose sums so many rows are at their worst.
    fn noise(&self, ring: &Ring, layout: &Layout, written: f64) -> Noise;

    /// Nanoseconds of an answer besides the pass over the table.
    fn nanoseconds(&self, layout: &Layout, times: &RingTimes) -> f64;

    /// A query's selectors, for each table as many as it has rows; and what is kept for the end.
    #[cfg(feature = "server")]
    fn select(&self, desk: &Evaluator<'_>, query: Vec<Ciphertext>) -> SelectorSet;

    /// What is made of some columns of each table, whatever the others are. Slots are merged afterwards.
    #[cfg(feature = "server")]
    fn share(&self, desk: &Evaluator<'_>, kept: &[Ciphertext], share: ColumnSums) -> Vec<Ciphertext>;

    /// How many ciphertexts that is, and of what shape: one for each column, of one prime, unless it says otherwise.
    #[cfg(feature = "server")]
    fn shared(&self, _: &Layout, cols: &Range<usize>) -> PartialShape {
        PartialShape { ciphers: cols.len(), parts: 2, primes: 1 }
    }

    /// The ciphertexts of an answer, at the last level, from what was made of all columns, in their order: laid side by side,
    /// unless it says otherwise.
    #[cfg(feature = "server")]
    fn finish(&self, _: &Evaluator<'_>, shares: Vec<Vec<Ciphertext>>) -> Vec<Ciphertext> {
        shares.concat()
    }
}
