//! Merging of sums in slots: they are rotated into as few ciphertexts as they fit.
//!
//! Every column's sum has the record's number at the requested position of each bucket, and zeros
//! at all others. So the second sum is rotated by one position and added to the first, the third by
//! two, and so on, as long as there are positions: by Horner's rule, with one key and one rotation
//! for each column. Column k of an answer is at the position [`turned`](crate::Layout::turned) by
//! k.

use super::evaluator::Evaluator;
use crate::family::Method;
use crate::layout::PlaintextForm;
use rayon::prelude::*;
use sotto_lattice::bgv::{Ciphertext, Scratch};

/// Returns a share's ciphertexts: columns in slots merged, others unchanged.
pub fn merged<M: Method>(desk: &Evaluator<'_>, columns: Vec<Ciphertext>) -> Vec<Ciphertext> {
    if M::FORM == PlaintextForm::Slots { merge(desk, &columns) } else { columns }
}

/// Merges the sums of all columns.
pub fn merge(desk: &Evaluator<'_>, columns: &[Ciphertext]) -> Vec<Ciphertext> {
    let one = |scratch: &mut Scratch, columns: &[Ciphertext]| {
        let mut turned = Ciphertext::zero(desk.ring, columns[0].level(), 2);
        let (last, others) =
            columns.split_last().map_or((None, columns), |(last, others)| (Some(last), others));
        let mut sum = last.cloned().unwrap_or_else(|| turned.clone());
        for column in others.iter().rev() {
            if let Some(turn) = &desk.keys.turn {
                turn.apply(desk.ring, &sum, &mut turned, scratch);
                std::mem::swap(&mut sum, &mut turned);
            }
            sum.add(desk.ring, column);
        }
        sum
    };
    columns.par_chunks(desk.layout.merged).map_init(|| desk.scratch(), one).collect()
}
