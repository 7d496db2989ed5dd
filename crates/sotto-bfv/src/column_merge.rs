//! Merged answers, whose columns of slots are rotated to different positions and summed: their
//! number, and how they are read.

use crate::layout::{BucketPlace, Layout};
use zeroize::Zeroizing;

/// Number of ciphertexts of an answer whose sums are merged.
pub fn answers(layout: &Layout) -> usize {
    layout.width.div_ceil(layout.merged)
}

/// Reads the numbers of each bucket's record out of the slots of merged answers, in time that does
/// not depend on the places.
pub fn read(
    layout: &Layout,
    answers: &[Zeroizing<Vec<u64>>],
    places: &[BucketPlace],
) -> Vec<Zeroizing<Vec<u64>>> {
    let record = |(bucket, place): (usize, &BucketPlace)| {
        let word = |k: usize| {
            let (lane, column) = layout.lane(bucket, k);
            let at = layout.turned(place.position, (column % layout.merged) as u64);
            answers.get(column / layout.merged).map_or(0, |slots| layout.pick(slots, lane, at))
        };
        Zeroizing::new((0..layout.words).map(word).collect())
    };
    places.iter().enumerate().map(record).collect()
}
