//! Merged answers: the sums in slots of several columns, rotated into as few ciphertexts as they
//! fit.
//!
//! Every column's sum has the record's number at the requested position of each bucket, and zeros
//! at all others. So the second sum is rotated by one position and added to the first, the third by
//! two, and so on, as long as there are positions: by Horner's rule, with one key and one rotation
//! for each column. Column k of an answer is at the [`rotated_position`](crate::Layout::rotated_position) by
//! k.

#[cfg(feature = "server")]
use crate::evaluator::Evaluator;
#[cfg(feature = "server")]
use crate::layout::PlaintextForm;
use crate::layout::{BucketPlace, Layout};
#[cfg(feature = "server")]
use rayon::prelude::*;
#[cfg(feature = "server")]
use sotto_lattice::bgv::{Ciphertext, Scratch};
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
        let mut words = Zeroizing::new(Vec::with_capacity(layout.padded_words()));
        for part in 0..layout.split {
            for (slots, first) in answers.iter().zip((0..layout.width).step_by(layout.merged)) {
                let columns = layout.merged.min(layout.width - first);
                let numbers = layout.rotated_numbers(slots, bucket * layout.split + part, place.position);
                words.extend(numbers.iter().take(columns));
            }
        }
        words.truncate(layout.words);
        words
    };
    places.iter().enumerate().map(record).collect()
}

/// Returns a share's ciphertexts: columns in slots merged, others unchanged.
#[cfg(feature = "server")]
pub fn merged(evaluator: &Evaluator<'_>, columns: Vec<Ciphertext>) -> Vec<Ciphertext> {
    if evaluator.layout.form == PlaintextForm::Slots { merge(evaluator, &columns) } else { columns }
}

/// Merges the sums of all columns.
#[cfg(feature = "server")]
pub fn merge(evaluator: &Evaluator<'_>, columns: &[Ciphertext]) -> Vec<Ciphertext> {
    let one = |scratch: &mut Scratch, columns: &[Ciphertext]| {
        let mut rotated = Ciphertext::zero(evaluator.ring, columns[0].level(), 2);
        let (last, others) =
            columns.split_last().map_or((None, columns), |(last, others)| (Some(last), others));
        let mut sum = last.cloned().unwrap_or_else(|| rotated.clone());
        for column in others.iter().rev() {
            if let Some(rotation) = &evaluator.keys.rotation {
                rotation.apply(evaluator.ring, &sum, &mut rotated, scratch);
                std::mem::swap(&mut sum, &mut rotated);
            }
            sum.add(evaluator.ring, column);
        }
        sum
    };
    columns.par_chunks(evaluator.layout.merged).map_init(|| evaluator.scratch(), one).collect()
}
