//! Whether what a server sees is uniform: a sum of squares, with keys and coins fixed, so that a test passes always or never.

/// How far counts of `cells` equally likely cells are from uniform: their sum of squares less its mean, in its
/// deviations. Below 4 for
/// uniform ones, but for one chance in thousands; cells that are not among the counts have none.
pub fn off(counts: &[u32], cells: usize) -> f64 {
    let expected = f64::from(counts.iter().sum::<u32>()) / cells as f64;
    assert!(expected > 3.0, "too few draws for so many cells");
    assert!(counts.iter().filter(|count| **count > 0).count() <= cells, "more cells than there are");
    let sum: f64 = counts.iter().map(|count| f64::from(*count).powi(2) / expected).sum();
    let freedom = (cells - 1) as f64;
    (sum - cells as f64 * expected - freedom) / (2.0 * freedom).sqrt()
}
