//! Tables in parts: each part holds some bytes of the table and answers with a *partial*; the partials of all parts make the
//! answer that the whole table gives, to the last byte. So a client cannot tell, and need not know.
//!
//! Every part is asked for every query: which parts are asked says nothing.

use crate::{Image, Misuse, Result, Scheme, Section, Server};
use std::ops::Range;
use std::sync::Arc;

/// One of the equal parts that a table is cut into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartIndex {
    part: u32,
    parts: u32,
}

impl PartIndex {
    /// Part `part` of `parts`, counted from 0; `None` if there is no such part.
    pub const fn new(part: u32, parts: u32) -> Option<PartIndex> {
        if part < parts { Some(PartIndex { part, parts }) } else { None }
    }

    /// All of so many parts, in their order.
    pub fn all(parts: u32) -> impl Iterator<Item = PartIndex> + Clone {
        (0..parts).map(move |part| PartIndex { part, parts })
    }

    /// Which part, counted from 0.
    pub const fn part(&self) -> u32 {
        self.part
    }

    /// How many parts there are.
    pub const fn parts(&self) -> u32 {
        self.parts
    }

    /// This part's share of so many units that lie in a row. The shares of all parts are the units, in their order, and
    /// differ by one unit at most.
    pub fn share(&self, units: u64) -> Range<u64> {
        let before = |part: u32| (u128::from(units) * u128::from(part) / u128::from(self.parts)) as u64;
        before(self.part)..before(self.part + 1)
    }
}

/// Keys as they are once they are admitted.
pub type SessionOf<S> = <<S as Scheme>::Server as Server<S>>::Session;

/// A scheme whose tables can be cut into parts. A session is one and the same at all parts.
pub trait PartScheme: Scheme {
    /// An open part.
    type Part: Send + Sync + 'static;

    /// What a join needs beside the parameters: public, and the same for all queries.
    type Joiner: Send + Sync + 'static;

    /// The section that is cut. A part's image has no other one.
    const SECTION: Section = Section::Resident;

    /// The most parts that a table of these parameters can be cut into, at least 1.
    fn max_parts(params: &Self::Params) -> u32;

    /// Which bytes of the section a part holds, in their order. A part's image has them one after the other. Parts share no
    /// bytes, and together have all of them.
    fn part_ranges(params: &Self::Params, cut: PartIndex) -> Vec<Range<u64>>;

    /// Opens a part. Does not read it whole.
    ///
    /// # Errors
    /// [`crate::Error::Peer`] if its section is missing or of the wrong size.
    fn open_part(params: &Self::Params, cut: PartIndex, image: Arc<dyn Image>) -> Result<Self::Part>;

    /// Exact bytes of a partial of this part.
    fn partial_bytes(params: &Self::Params, cut: PartIndex) -> usize;

    /// Admits a client's keys: as [`Server::admit`], without a table.
    ///
    /// # Errors
    /// Those of [`Server::admit`].
    fn admit(params: &Self::Params, keys: Self::Keys) -> Result<SessionOf<Self>>;

    /// What a part makes of queries, in order; as [`Server::answer_many`].
    fn answer_part(part: &Self::Part, asks: Vec<(&SessionOf<Self>, Self::Query)>) -> Vec<Result<Vec<u8>>>;

    /// Makes what [`join`](Self::join) needs, once for a table.
    ///
    /// # Errors
    /// None for checked parameters.
    fn prepare_join(params: &Self::Params) -> Result<Self::Joiner>;

    /// The answer to a query: what the partials of all parts make, which are in order and as long as they must be.
    ///
    /// # Errors
    /// [`crate::Error::Peer`] for bytes that are no partials; those of [`Server::answer_many`].
    fn join(
        with: (&Self::Params, &Self::Joiner),
        ask: (&SessionOf<Self>, Self::Query),
        partials: &[Vec<u8>],
    ) -> Result<Self::Answer>;
}

/// Adds partials without carry, where that is what an answer is.
///
/// # Errors
/// [`Misuse::Rule`] if there are none, or they differ in length.
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

const UNEQUAL: Misuse = Misuse::Rule("partials that are added have equal lengths, and there is one at least");

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
