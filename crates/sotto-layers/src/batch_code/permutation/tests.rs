use super::{FeistelDomain, Permutations};
use proptest::prelude::*;
use sotto_prg::PublicSeed;

#[test]
fn domains_hold_hardly_more_than_the_table() {
    for rows in (1..3000).chain([(1 << 21) - 2, (1 << 25) - 2, 10_000_019, 1 << 36, (1 << 40) - 87]) {
        let FeistelDomain { a, b } = FeistelDomain::new(rows);
        assert!(a * b >= rows && a * b - rows <= rows.isqrt(), "{rows}: {a} {b}");
        assert!(a <= b && (rows < 4 || b <= 6 * a), "{rows}: {a} {b}");
        assert!(b < 1 << 32);
    }
    assert_eq!(FeistelDomain::new((1 << 21) - 2).len(), (1 << 21) - 2, "as many as a tree of 20 layers");
}

#[test]
fn every_row_has_one_position_in_each_copy() {
    for rows in [1, 2, 3, 5, 13, 64, 100, 997, 4096] {
        let permutations = Permutations::new(FeistelDomain::new(rows), &PublicSeed([3; 32]));
        let len = permutations.domain().len();
        let items: Vec<u64> = (0..len).collect();
        let positions = permutations.positions(3, &items);
        for (copy, list) in positions.chunks_exact(items.len()).enumerate() {
            let mut sorted = list.to_vec();
            sorted.sort();
            assert_eq!(sorted, items, "{rows} rows, copy {copy}");
            // The inverse gives the items again.
            let mut back = vec![0; items.len()];
            permutations.inverse(copy).items(0, 1, &mut back);
            for (position, item) in back.iter().enumerate() {
                assert_eq!(list[*item as usize], position as u64);
            }
        }
        if rows > 12 {
            let (first, second) = positions.split_at(items.len());
            assert_ne!(first, &second[..items.len()], "copies differ");
        }
    }
}

#[test]
fn another_seed_is_another_permutation() {
    let positions = |seed| {
        Permutations::new(FeistelDomain::new(1 << 20), &PublicSeed([seed; 32]))
            .positions(2, &[0, 1, 2, 3])
            .to_vec()
    };
    assert_eq!(positions(1), positions(1));
    assert_ne!(positions(1), positions(2));
}

/// Catalogs stay valid for years, so the positions of a seed must never change.
#[test]
fn positions_stay_what_they_were() {
    let permutations = Permutations::new(FeistelDomain::new(2_097_150), &PublicSeed([0; 32]));
    assert_eq!(*permutations.positions(2, &[0, 1, 2_097_149]), KNOWN);
}

const KNOWN: [u64; 6] = [1_579_045, 1_787_216, 298_963, 164_835, 751_833, 1_203_424];

proptest! {
    #[test]
    fn backwards_is_backwards(rows in 1u64..1 << 40, seed: [u8; 32], at: u64, step in 1u64..5000) {
        // Sides of a million have tables that take long to make.
        let rows = rows >> (at % 20 + 12);
        let permutations = Permutations::new(FeistelDomain::new(rows.max(1)), &PublicSeed(seed));
        let len = permutations.domain().len();
        let first = at % len;
        let n = ((len - first).div_ceil(step)).min(130) as usize;
        let mut items = vec![0; n];
        permutations.inverse(1).items(first, step, &mut items);
        let positions = permutations.positions(2, &items);
        for (i, position) in positions[n..].iter().enumerate() {
            prop_assert_eq!(*position, first + i as u64 * step);
        }
    }

    /// Two rows fall into the same bucket as often as two balls do.
    #[test]
    fn neighbors_part(seed: [u8; 32]) {
        let permutations = Permutations::new(FeistelDomain::new(100_000), &PublicSeed(seed));
        let items: Vec<u64> = (0..20_000).collect();
        let positions = permutations.positions(1, &items);
        let buckets: Vec<u64> = positions.iter().map(|position| position % 32).collect();
        for distance in [1, 2, 316, 317, 1000] {
            let equal = buckets.iter().zip(&buckets[distance..]).filter(|(x, y)| x == y).count() as f64;
            let mean = (items.len() - distance) as f64 / 32.0;
            prop_assert!((equal - mean).abs() < 7.0 * mean.sqrt(), "{distance}: {equal} of {mean}");
        }
    }
}
