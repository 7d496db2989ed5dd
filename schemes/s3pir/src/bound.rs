//! The failure bound of lookups, the number of hints that a query examines, and the security model.
//!
//! A hint holds c/2 + 1 of the c partitions, and one of the w rows of each. So it contains a given
//! row with probability (c/2 + 1)/(c w), a little more than 1/(2w), and README.md proves that this
//! stays so whatever was requested before.

use std::f64::consts::LN_2;

/// Number of ids that the bounds assume to be void: 2^-32 for each partition of each id is
/// expected, and there are fewer than 64 plus four times that, except with probability 2^-128.
pub(crate) fn voids(ids: u64, c: u64) -> u64 {
    64 + (ids * c).div_ceil(1 << 30)
}

/// log2 of a bound on the probability that any of a client's P queries is for a row that no hint
/// contains.
pub(crate) fn failure_log2(hints: u64, pairs: u64, c: u64, w: u64) -> f64 {
    let live = hints.saturating_sub(voids(hints + pairs, c)) as f64;
    (pairs as f64).log2() + live * miss_log2(w)
}

/// The least number of hints for which [`failure_log2`] is at most `target`.
pub(crate) fn min_hints(pairs: u64, target: f64, w: u64, c: impl Fn(u64) -> u64) -> u64 {
    let live = (((pairs as f64).log2() - target) / -miss_log2(w)).ceil() as u64 + 1;
    let mut hints = live;
    // The margin grows by a fraction of the number added to M, so this ends after a few iterations.
    while hints - live < voids(hints + pairs, c(w)) {
        hints = live + voids(hints + pairs, c(w));
    }
    hints
}

/// log2 of a bound on the probability that one hint lacks a given row, 1 - 1/(2w).
fn miss_log2(w: u64) -> f64 {
    (-0.5 / w as f64).ln_1p() / LN_2
}

/// Number of candidates that a query examines. Candidates are the ids whose offset in the partition
/// is the row's, selected or not (1/w), those that have the row as their extra entry, and those
/// whose extra entry only has the row's tag (1/65535). That is a sum of nearly independent rare
/// events: twelve deviations and 32 above its mean leave 2^-100.
///
/// The last kind is so rare unless rows are requested again and again. Such a row becomes the extra
/// entry of all live hints that contain it, some forty, and they are candidates of every row with
/// its tag. Half a dozen such rows that share their tag exceed the number; among thousands of such
/// rows the probability of that is in the millionths. Then the hints that were promoted last are
/// left out, and the choice is uniform among the others. No lookup fails by that.
pub(crate) fn candidates(hints: u64, pairs: u64, c: u64, w: u64) -> u64 {
    let (ids, hints, c, w) = ((hints + pairs) as f64, hints as f64, c as f64, w as f64);
    let mean = ids / w + hints * (c / 2.0 + 1.0) / (c * w) + ids / 65535.0;
    (mean + 12.0 * mean.sqrt() + 32.0).ceil() as u64
}
