use super::*;
use crate::fixture::{encrypted, exact, masks, phases, rings, secret, with_errors};
use crate::secret::SecretKey;

fn keys(ring: &Ring, secret: &SecretKey, rounds: Range<u32>, digits: u32) -> Vec<AutomorphismKey> {
    let gadget = exact(ring, ModulusLevel::Full, digits);
    let key = |round: u32| {
        let k = element(ring.n(), round);
        let masks = masks(u64::from(1000 * digits + 100 * round));
        let bodies = with_errors(round as u8, |errors| {
            AutomorphismKey::generate(ring, ModulusLevel::Full, &gadget, k, secret, masks, errors)
        });
        AutomorphismKey::assemble(ring, ModulusLevel::Full, &gadget, k, &bodies, masks).unwrap()
    };
    rounds.map(key).collect()
}

/// Expands a polynomial that holds the given lists, and checks the expected value of each
/// coefficient.
fn check(ring: &Ring, counts: SelectorCounts) {
    let s = secret(ring, 1);
    let expansion = Expansion::new(ring, counts).unwrap();
    let left_keys = keys(ring, &s, expansion.left_rounds(), 4);
    let right_keys = keys(ring, &s, expansion.right_rounds(), 6);
    let value = |i: usize| (i * i % 37) as i128 + 1;
    let unit = (ring.modulus(ModulusLevel::Full) >> 19) as i128;
    let mut small = vec![0u128; ring.n()];
    let stride = 1 + usize::from(counts.right > 0);
    for i in 0..counts.left {
        small[stride * i] = (value(i) * unit) as u128;
    }
    for i in 0..counts.right {
        small[2 * i + 1] = (value(i + 5) * unit) as u128;
    }
    let slots = ring.from_integers(ModulusLevel::Full, &small);
    let query = encrypted(ring, ModulusLevel::Full, &s, &slots, 0);
    let (left, right) = expansion.run(&left_keys, &right_keys, query, |leaf, c| (leaf, c.clone()));
    assert_eq!((left.len(), right.len()), (counts.left, counts.right));
    let both = [(left, expansion.left_rounds().end, 0), (right, expansion.right_rounds().end, 5)];
    for (leaves, rounds, first) in both {
        for (i, (leaf, c)) in leaves.iter().enumerate() {
            assert_eq!(*leaf, if first == 0 { ExpandedLeaf::Left(i) } else { ExpandedLeaf::Right(i) });
            let modulus = ring.modulus(ModulusLevel::Full) as i128;
            for (place, x) in phases(ring, &[&s], c)[0].iter().enumerate() {
                let expected = if place == 0 { (value(i + first) * unit) << rounds } else { 0 };
                let error = (x - expected).rem_euclid(modulus);
                // A bit out of place would be off by at least one unit.
                assert!(error.min(modulus - error) < unit, "leaf {i}, coefficient {place}: {error}");
            }
        }
    }
}

#[test]
fn leaves_are_the_coefficients() {
    for ring in rings(64) {
        for (left, right) in [(1, 0), (2, 0), (7, 0), (64, 0), (1, 1), (4, 7), (9, 3), (32, 32)] {
            check(&ring, SelectorCounts { left, right });
        }
    }
}

#[test]
fn threads_do_not_change_the_leaves() {
    let ring = &rings(256)[0];
    let counts = SelectorCounts { left: 64, right: 23 };
    for threads in [1, 4] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| check(ring, counts));
    }
}

#[test]
fn rounds_cover_the_lists() {
    let ring = &rings(64)[2];
    let rounds = |left, right| {
        Expansion::new(ring, SelectorCounts { left, right }).map(|e| (e.left_rounds(), e.right_rounds()))
    };
    assert_eq!(rounds(1, 0), Some((0..0, 0..0)));
    assert_eq!(rounds(64, 0), Some((0..6, 0..0)));
    assert_eq!(rounds(5, 9), Some((1..4, 0..5)));
    assert_eq!(rounds(32, 1), Some((1..6, 0..1)));
    for (left, right) in [(0, 0), (0, 4), (65, 0), (33, 1), (1, 33), (usize::MAX, 0), (1, usize::MAX)] {
        assert_eq!(rounds(left, right), None);
    }
}
