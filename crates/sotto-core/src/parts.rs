//! Tables in parts: each part holds some bytes of the table and answers with a *partial*. Joined,
//! the partials of all parts are byte for byte the answer of the whole table, so a client neither
//! can nor must tell the difference.
//!
//! Every query goes to every part, so the parts that are used reveal nothing.

use crate::{Image, Misuse, Result, Scheme, Section, Server, TableMatrix};
use std::ops::Range;
use std::sync::Arc;

/// One of the equal parts of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartIndex {
    part: u32,
    parts: u32,
}

impl PartIndex {
    /// The only part of a table that is not split.
    pub const WHOLE: PartIndex = PartIndex { part: 0, parts: 1 };

    /// Makes the index of part `part` of `parts`, counted from 0; `None` if there is no such part.
    pub const fn new(part: u32, parts: u32) -> Option<PartIndex> {
        if part < parts { Some(PartIndex { part, parts }) } else { None }
    }

    /// All parts of a table of `parts` parts, in order.
    pub fn all(parts: u32) -> impl Iterator<Item = PartIndex> + Clone {
        (0..parts).map(move |part| PartIndex { part, parts })
    }

    /// Number of this part, counted from 0.
    pub const fn part(&self) -> u32 {
        self.part
    }

    /// Number of parts of the table.
    pub const fn parts(&self) -> u32 {
        self.parts
    }

    /// Range of `units` consecutive units that a part has. The ranges of all parts are consecutive
    /// and cover the units, and their lengths differ by at most one.
    pub fn share(&self, units: u64) -> Range<u64> {
        let before = |part: u32| (u128::from(units) * u128::from(part) / u128::from(self.parts)) as u64;
        before(self.part)..before(self.part + 1)
    }
}

/// The admitted keys of a scheme.
pub type SessionOf<S> = <<S as Scheme>::Server as Server<S>>::Session;

/// A scheme whose tables can be split into parts. All parts use the same session.
pub trait PartScheme: Scheme {
    /// An open part.
    type Part: Send + Sync + 'static;

    /// The precomputed values that a join needs besides the parameters: public, and the same for
    /// all queries.
    type Joiner: Send + Sync + 'static;

    /// The section that is split. A part's image has no other one.
    const SECTION: Section = Section::Resident;

    /// Largest number of parts that a table of these parameters can be split into, at least 1.
    fn max_parts(params: &Self::Params) -> u32;

    /// The byte ranges of the section that a part holds, in order. A part's image holds them
    /// concatenated. The ranges of different parts are disjoint, and together they cover the
    /// section.
    fn part_ranges(params: &Self::Params, cut: PartIndex) -> Vec<Range<u64>>;

    /// Opens a part without reading all of it.
    ///
    /// # Errors
    /// [`crate::Error::Peer`] if its section is missing or of the wrong size.
    fn open_part(params: &Self::Params, cut: PartIndex, image: Arc<dyn Image>) -> Result<Self::Part>;

    /// Exact bytes of the partial of this part.
    fn partial_bytes(params: &Self::Params, cut: PartIndex) -> usize;

    /// Admits a client's keys like [`Server::admit`], without a table.
    ///
    /// # Errors
    /// The errors of [`Server::admit`].
    fn admit(params: &Self::Params, keys: Self::Keys) -> Result<SessionOf<Self>>;

    /// Computes a part's partials of queries, in order, like [`Server::answer_many`].
    fn answer_part(part: &Self::Part, queries: Vec<(&SessionOf<Self>, Self::Query)>) -> Vec<Result<Vec<u8>>>;

    /// The matrices that passes over a part read, like [`Server::matrices`].
    fn part_matrices(_part: &Self::Part) -> Vec<TableMatrix<'_>> {
        Vec::new()
    }

    /// Precomputes what [`join`](Self::join) needs, once for a table.
    ///
    /// # Errors
    /// None for checked parameters.
    fn prepare_join(params: &Self::Params) -> Result<Self::Joiner>;

    /// Joins the partials of all parts to the answer to a query. The partials are in the order of
    /// the parts and have the lengths of [`Self::partial_bytes`].
    ///
    /// # Errors
    /// [`crate::Error::Peer`] for bytes that are not partials; the errors of
    /// [`Server::answer_many`].
    fn join(
        params: &Self::Params,
        joiner: &Self::Joiner,
        session: &SessionOf<Self>,
        query: Self::Query,
        partials: &[Vec<u8>],
    ) -> Result<Self::Answer>;
}

/// Adds partials by xor, for schemes whose answer is that sum.
///
/// # Errors
/// [`Misuse::Rule`] if there are no partials, or their lengths differ.
pub fn add_partials(partials: &[Vec<u8>]) -> Result<Vec<u8>> {
    let (first, rest) = partials.split_first().ok_or(UNEQUAL)?;
    let mut sum = first.clone();
    for partial in rest {
        if partial.len() != sum.len() {
            return Err(UNEQUAL.into());
        }
        sum.iter_mut().zip(partial).for_each(|(sum, byte)| *sum ^= byte);
    }
    Ok(sum)
}

const UNEQUAL: Misuse = Misuse::Rule("partials must have equal lengths, and there must be at least one");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_the_units_in_order_and_nearly_equal() {
        for (units, parts) in [(0, 1), (1, 1), (1, 3), (7, 3), (8, 4), (u64::MAX, 7), (1 << 40, u32::MAX)] {
            let mut end = 0;
            for cut in PartIndex::all(parts).take(1000) {
                let share = cut.share(units);
                assert_eq!(share.start, end);
                let (least, most) = (units / u64::from(parts), units.div_ceil(u64::from(parts)));
                assert!((least..=most).contains(&(share.end - share.start)), "{cut:?} of {units}");
                end = share.end;
            }
            assert!(parts > 1000 || end == units);
        }
        assert_eq!(PartIndex::new(u32::MAX - 1, u32::MAX).unwrap().share(u64::MAX).end, u64::MAX);
        assert!(
            PartIndex::new(0, 0).is_none()
                && PartIndex::new(3, 3).is_none()
                && PartIndex::new(2, 3).is_some()
        );
    }

    #[test]
    fn sums_are_of_equal_lengths() {
        assert_eq!(add_partials(&[vec![1, 2], vec![3, 4]]).unwrap(), [2, 6]);
        assert!(add_partials(&[]).is_err() && add_partials(&[vec![1], vec![1, 2]]).is_err());
    }
}
