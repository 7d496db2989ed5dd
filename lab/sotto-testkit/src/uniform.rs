//! Checks that a server's view is uniform: a sum of squares, with keys and coins fixed, so that a
//! test passes always or never.

/// The distance of counts of `cells` equally likely cells from uniform: their sum of squares minus
/// its mean, in units of its deviation. Below 4 for uniform ones, except with a probability of
/// thousandths; cells without a count have 0.
pub fn off(counts: &[u32], cells: usize) -> f64 {
    let expected = f64::from(counts.iter().sum::<u32>()) / cells as f64;
    assert!(expected > 3.0, "too few draws for so many cells");
    assert!(counts.iter().filter(|count| **count > 0).count() <= cells, "more cells than there are");
    let sum: f64 = counts.iter().map(|count| f64::from(*count).powi(2) / expected).sum();
    let freedom = (cells - 1) as f64;
    (sum - cells as f64 * expected - freedom) / (2.0 * freedom).sqrt()
}
