use super::super::code::CodeSizes;
use super::super::search_budget::THOROUGH;
use super::{FailureBound, LITTLE, coefficient, product};

/// The sum as written, without scaling, for small sizes that doubles can represent.
fn plain(sizes: &CodeSizes) -> f64 {
    let CodeSizes { rows, items, copies, buckets, spare } = *sizes;
    assert!(items <= THOROUGH, "no slack");
    let bound = FailureBound::new(rows, items);
    let most = items.min(rows as usize);
    let part = bound.places.div_ceil(buckets as u64);
    let term = |k: usize| {
        let t = k - spare - 1;
        if t >= copies * buckets {
            return 1.0;
        }
        let one = |x: usize| {
            let share = (x as f64 * part as f64 / bound.places as f64).min(1.0);
            let fits = x as u64 * part >= k as u64;
            if fits { bound.binomial(buckets, x).exp2() * share.powi(k as i32) } else { 0.0 }
        };
        let f: Vec<f64> = (0..=t.min(buckets)).map(one).collect();
        let power = (0..copies).fold(vec![1.0], |power, _| product(&power, &f, t));
        (bound.binomial(most, k).exp2() * coefficient(&power, t)).min(1.0)
    };
    (spare + 1..=most).map(term).sum::<f64>().log2()
}

#[test]
fn scaling_changes_nothing() {
    for rows in [1, 2, 3, 30, 64, 1000, 100_000, 1 << 40] {
        for items in [1, 2, 3, 8, 20, 40] {
            for copies in 1..=8 {
                for buckets in [1, 2, 5, 9, 23, 60] {
                    for spare in 0..items.min(3) {
                        let sizes = CodeSizes { rows, items, copies, buckets, spare };
                        let (scaled, plain) = (sizes.failure_log2(), plain(&sizes));
                        // Negligible terms count with their bound.
                        let little = (plain.exp2() + 40.0 * LITTLE.exp2()).log2() + 1e-9;
                        assert!(
                            scaled >= plain - 1e-9 && scaled <= little,
                            "{sizes:?}: {scaled} and {plain}"
                        );
                    }
                }
            }
        }
    }
}

/// The expected values were summed by another program with forty decimal digits and exponents of
/// any size.
#[test]
fn large_codes_are_bounded_right() {
    for (rows, items, copies, buckets, log2) in KNOWN {
        let found = CodeSizes { rows, items, copies, buckets, spare: 0 }.failure_log2();
        assert!((found - log2).abs() < 1e-6, "{items} items, {copies} copies, {buckets} buckets: {found}");
    }
}

const KNOWN: [(u64, usize, usize, usize, f64); 3] = [
    (5041, 300, 4, 97, -48.679_840_681_5),
    (262_144, 300, 3, 200, -1.592_371_273_5),
    (262_144, 600, 4, 190, -52.581_043_843_4),
];

#[test]
fn what_is_enough_is_no_more_than_a_verdict() {
    let bound = FailureBound::new(1 << 20, 300);
    let sizes = |buckets| CodeSizes { rows: 1 << 20, items: 300, copies: 4, buckets, spare: 0 };
    for buckets in [60, 80, 90, 95, 100, 200] {
        let whole = bound.log2(&sizes(buckets), f64::INFINITY);
        let verdict = bound.log2(&sizes(buckets), -40.0);
        assert_eq!(whole <= -40.0, verdict <= -40.0, "{buckets}");
        assert!(verdict <= whole);
    }
}
