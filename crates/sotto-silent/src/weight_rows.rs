//! Rows of packing weights, for groups of any size: from weights to signed bytes, and from these to
//! panels.

use crate::lattice::{N, PackingDigits};
use crate::matrix::{SectionOffset, write_part};
use sotto_core::{ExpectOrDefault, Misuse, Result, Sink};
use sotto_lattice::inspiring::PackWeights;
use sotto_math::matrix::PanelLayout;
use std::ops::Range;

/// Writes the rows of some numbers' weights, each of a key's words: for each number as many as a weight
/// has bytes, from the lowest on. The signed bytes of a weight are those of the weight plus 2^7 in each
/// byte, minus 2^7.
///
/// # Errors
/// [`Misuse::Rule`] if a weight needs more bytes.
pub(crate) fn put_rows(
    weights: &PackWeights<'_>,
    digits: PackingDigits,
    numbers: Range<usize>,
    rows: &mut [u8],
) -> Result<()> {
    let (bytes, words, first) = (digits.weight_bytes, digits.key_words(), numbers.start);
    let halves = 0x8080_8080_8080_8080 >> (64 - 8 * bytes);
    let (mut beyond, mut signed) = (0, [0; N]);
    weights.rows(numbers, |number, digit, weights| {
        for (signed, weight) in signed.iter_mut().zip(weights) {
            let sum = (*weight as u64).wrapping_add(halves);
            beyond |= sum >> (8 * bytes);
            *signed = (sum ^ halves) as u32;
        }
        let rows = rows.chunks_exact_mut(words).skip((number - first) * bytes).take(bytes);
        for (shift, row) in (0..).step_by(8).zip(rows) {
            let row = row.chunks_exact_mut(N).nth(digit).unwrap_or_default();
            row.iter_mut().zip(&signed).for_each(|(out, signed)| *out = (signed >> shift) as u8);
        }
    });
    if beyond != 0 {
        return Err(Misuse::Rule("a packing weight must fit its bytes").into());
    }
    Ok(())
}

/// Writes whole rows of a matrix at an offset, from row `first` on.
///
/// # Errors
/// Storage errors.
pub(crate) fn write_rows(
    layout: PanelLayout,
    at: SectionOffset,
    first: usize,
    rows: &[u8],
    out: &dyn Sink,
) -> Result<()> {
    let fill = |row: usize, bytes: &mut [u8]| {
        let row = rows.chunks_exact(layout.cols()).nth(row - first);
        bytes.copy_from_slice(row.expect_or_default("a row of those to write"));
    };
    write_part(layout, at, first..first + rows.len() / layout.cols(), 0..layout.cols(), fill, out)
}
