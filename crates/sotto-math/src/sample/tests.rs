use super::*;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

/// Probability of each magnitude by the textbook formula.
fn formula(sigma: f64, len: usize) -> Vec<f64> {
    let rho = |k: usize| (-(k as f64).powi(2) / (2.0 * sigma * sigma)).exp();
    let total = 1.0 + 2.0 * (1..len + 50).map(rho).sum::<f64>();
    (0..len).map(|k| if k == 0 { 1.0 } else { 2.0 * rho(k) } / total).collect()
}

#[test]
fn the_table_is_the_distribution() {
    for sigma in [0.5, 1.0, 3.2, 6.4, 11.0, 25.0, 1000.0] {
        let g = Gaussian::new(sigma);
        let p = formula(sigma, g.thresholds.len());
        let mut below = 0;
        for (k, (&bound, p)) in g.thresholds.iter().zip(p).enumerate() {
            let table = (bound - below) as f64 / 2f64.powi(63);
            assert!((table - p).abs() < 1e-15, "sigma {sigma}, magnitude {k}: {table} for {p}");
            below = bound;
        }
        // The tail is cut where it is below 2^-64, and not much before.
        let tail = g.bound() as f64 / sigma;
        assert!((8.0..11.0).contains(&tail), "sigma {sigma}: {tail} sigma");
    }
}

#[test]
fn uniform_words_fall_where_the_table_says() {
    let g = Gaussian::new(11.0);
    for kernels in crate::simd::available() {
        let mut uniform = vec![];
        let mut expected = vec![];
        for (k, &bound) in g.thresholds.iter().enumerate() {
            // Far out, neighboring thresholds can be equal and are then reached together.
            let reached = |word| g.thresholds.partition_point(|&b| b <= word) as i32;
            assert!(reached(bound - 1) <= k as i32 && reached(bound) > k as i32);
            for (word, magnitude) in [(bound - 1, reached(bound - 1)), (bound, reached(bound))] {
                uniform.extend([word << 1, word << 1 | 1]);
                expected.extend([magnitude, -magnitude]);
            }
        }
        uniform.extend([0, 1, u64::MAX - 1, u64::MAX]);
        expected.extend([0, 0, g.bound(), -g.bound()]);
        let mut out = vec![77; uniform.len()];
        kernels.gauss(&g.thresholds, &uniform, &mut out);
        assert_eq!(out, expected, "{}", kernels.name());
    }
}

#[test]
fn moments_and_frequencies() {
    const COUNT: usize = 400_000;
    for (sigma, seed) in [(0.8, 1), (6.4, 2), (11.0, 3)] {
        let g = Gaussian::new(sigma);
        let mut out = vec![0; COUNT];
        g.fill(&mut ChaCha20Rng::from_seed([seed; 32]), &mut out);
        // The seeds are fixed, so the bounds, five standard errors wide, either always
        // hold or never.
        let n = COUNT as f64;
        let mean = out.iter().map(|&x| f64::from(x)).sum::<f64>() / n;
        assert!(mean.abs() < 5.0 * sigma / n.sqrt(), "sigma {sigma}: mean {mean}");
        let variance = out.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / n;
        let p = formula(sigma, g.thresholds.len());
        let expected: f64 = p.iter().enumerate().map(|(k, p)| p * (k as f64).powi(2)).sum();
        assert!(
            (variance - expected).abs() < 5.0 * (2.0 / n).sqrt() * expected,
            "sigma {sigma}: variance {variance}"
        );

        // Chi-square over signed values that are expected at least 20 times.
        let (mut chi, mut cells) = (0.0, 0.0);
        for (k, p) in p.iter().enumerate() {
            for sign in if k == 0 { &[1][..] } else { &[1, -1] } {
                let expected = p * n / if k == 0 { 1.0 } else { 2.0 };
                if expected >= 20.0 {
                    let seen = out.iter().filter(|&&x| x == sign * k as i32).count() as f64;
                    chi += (seen - expected).powi(2) / expected;
                    cells += 1.0;
                }
            }
        }
        let spread = (2.0f64 * cells).sqrt();
        assert!((chi - cells).abs() < 5.0 * spread, "sigma {sigma}: chi-square {chi} over {cells} cells");
    }
}

#[test]
fn every_backend_draws_the_same() {
    let g = Gaussian::new(11.0);
    for len in [0, 1, 7, 8, 31, 32, 33, 511, 512, 513, 2000] {
        let mut expected = vec![0; len];
        g.fill_with(&crate::simd::Scalar, &mut ChaCha20Rng::from_seed([5; 32]), &mut expected);
        for kernels in crate::simd::available() {
            let mut out = vec![99; len];
            g.fill_with(kernels, &mut ChaCha20Rng::from_seed([5; 32]), &mut out);
            assert_eq!(out, expected, "{} samples by {}", len, kernels.name());
        }
    }
}
