//! The traits by which a scheme of the family describes itself.

use crate::candidates::{CandidateTable, LayoutCandidate};
use crate::column_merge;
#[cfg(feature = "server")]
use crate::evaluator::{ColumnSums, Evaluator, PartialShape, SelectorSet};
use crate::layout::{BucketPlace, Layout, PlaintextForm};
use crate::literal::Literal;
use crate::noise::Noise;
use crate::rings::{self, Ring, RingSet, RingTimes};
use sotto_core::{ParamsError, SchemeId, SchemeMetadata};
#[cfg(feature = "server")]
use sotto_lattice::bgv::Ciphertext;
use sotto_lattice::bgv::{Answer, AnswerBits};
use std::fmt::Debug;
use std::marker::PhantomData;
#[cfg(feature = "server")]
use std::ops::Range;
use zeroize::Zeroizing;

/// The scheme of a family `F`.
pub struct Bfv<F>(PhantomData<fn() -> F>);

/// A scheme of the family.
pub trait Family: Send + Sync + 'static {
    /// The scheme's id.
    const ID: SchemeId;
    /// Publication, protection and state of the scheme.
    const METADATA: SchemeMetadata;
    /// How the scheme's queries select records.
    type Method: Method;

    /// The parameter sets of the scheme, the default first.
    fn sets() -> &'static [ParamsSet];
}

/// A parameter set, before it is fitted to a table.
#[derive(Debug)]
pub struct ParamsSet {
    /// Name of the set on the command line.
    pub name: &'static str,
    /// Description of the set in one line.
    pub about: &'static str,
    /// Name of the ring.
    pub ring: &'static str,
    /// Whether the set is tried for tables that name no set.
    pub tried: bool,
}

/// Finds the ring and makes the layout of a literal, if the scheme has a set of that ring.
///
/// # Errors
/// [`ParamsError::Field`] for a ring that no set has, and for numbers that do not fit it.
pub(crate) fn lay_out<F: Family>(literal: &Literal) -> Result<(&'static RingSet, Layout), ParamsError> {
    let known = |set: &ParamsSet| set.ring == literal.ring;
    if !F::sets().iter().any(known) {
        let why = "must be the ring of one of the scheme's parameter sets".into();
        return Err(ParamsError::Field { field: "ring", why });
    }
    let set = rings::find(&literal.ring)?;
    if literal.stride != 1 && !F::Method::STRIDED {
        return Err(ParamsError::Field {
            field: "stride",
            why: "must be 1, since no query is rotated".into(),
        });
    }
    Ok((set, Layout::new(F::Method::FORM, set, literal)?))
}

/// The evaluation keys that a client registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RequiredKeys {
    /// Number of slots that the rotation key rotates by, if there is one.
    pub rotation: Option<usize>,
    /// Number of slots that the second rotation key rotates by, if there is one.
    pub stride: Option<usize>,
    /// Whether there is a relinearization key.
    pub square: bool,
    /// Rounds of expansion that have a key.
    pub rounds: u32,
}

impl RequiredKeys {
    /// Number of keys.
    pub fn count(&self) -> usize {
        [self.rotation, self.stride].iter().flatten().count()
            + usize::from(self.square)
            + self.rounds as usize
    }
}

/// A plaintext of a query: numbers in slots or coefficients, and log2 of what they are divided by.
pub type QueryPlaintext = (Zeroizing<Vec<u64>>, u32);

/// Decrypts a ciphertext of an answer to the numbers of its plaintext. The ciphertext has the bits
/// of an answer unless others are given.
pub type DecryptFn<'a> = &'a dyn Fn(&Answer, Option<AnswerBits>) -> Zeroizing<Vec<u64>>;

/// How queries select records of one table. All of it is public.
pub trait Method: Clone + Debug + Send + Sync + Sized + 'static {
    /// The form of the numbers of a plaintext.
    const FORM: PlaintextForm;

    /// Whether a second key may rotate queries.
    const STRIDED: bool = false;

    /// The layouts worth trying for a table.
    fn candidates(table: &CandidateTable) -> Vec<LayoutCandidate>;

    /// Makes the method for a table.
    ///
    /// # Errors
    /// [`ParamsError::Field`] for a layout that the method does not support.
    fn new(layout: &Layout, ring: &'static RingSet) -> Result<Self, ParamsError>;

    /// The evaluation keys that the method needs.
    fn keys(&self) -> RequiredKeys;

    /// Number of ciphertexts of an answer; by default that of merged sums in slots.
    fn answers(&self, layout: &Layout) -> usize {
        column_merge::answers(layout)
    }

    /// The plaintexts of a query for one place in each bucket, in time that does not depend on the
    /// places.
    fn query_plaintexts(&self, layout: &Layout, places: &[BucketPlace]) -> Vec<QueryPlaintext>;

    /// Reads the numbers of each bucket's record, still whitened, in time that does not depend on
    /// the places.
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

    /// The noise of a lookup whose sums have `written` rows at their worst.
    fn noise(&self, ring: &Ring, layout: &Layout, written: f64) -> Noise;

    /// Nanoseconds of an answer in addition to the pass over the table.
    fn nanoseconds(&self, layout: &Layout, times: &RingTimes) -> f64;

    /// Makes a query's selectors, one for each row of each table, and the ciphertexts that
    /// [`Self::partial`] needs.
    #[cfg(feature = "server")]
    fn select(&self, evaluator: &Evaluator<'_>, query: Vec<Ciphertext>) -> SelectorSet;

    /// Makes the ciphertexts for some columns of each table, independently of the other columns.
    /// Slots are merged afterwards.
    #[cfg(feature = "server")]
    fn partial(
        &self,
        evaluator: &Evaluator<'_>,
        second_dimension: &[Ciphertext],
        sums: ColumnSums,
    ) -> Vec<Ciphertext>;

    /// Number and shape of the ciphertexts that [`Self::partial`] makes: by default one of one prime
    /// for each column.
    #[cfg(feature = "server")]
    fn partial_shape(&self, _: &Layout, cols: &Range<usize>) -> PartialShape {
        PartialShape { ciphers: cols.len(), parts: 2, primes: 1 }
    }

    /// Makes the ciphertexts of an answer, at the last level, from the partials of all columns in
    /// order: by default their concatenation.
    #[cfg(feature = "server")]
    fn finish(&self, _: &Evaluator<'_>, partials: Vec<Vec<Ciphertext>>) -> Vec<Ciphertext> {
        partials.concat()
    }
}
