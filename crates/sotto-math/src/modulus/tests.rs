use super::*;
use proptest::prelude::*;

/// Primes that are small, close to powers of two on both sides, and the largest allowed.
const PRIMES: [u64; 9] =
    [3, 5, 257, 65537, 268369921, 4294967291, 4294967311, 1125899904679937, 1125899906842597];

/// Primes and products of two: tiny, of FSpiral, of unlike sizes, and close to 2^60.
fn moduli() -> Vec<Modulus> {
    let products =
        [(3, 5), (3, 257), (268369921, 249561089), (1125899906842597, 1021), (1073741789, 1073741783)];
    let prime = |q| Modulus::new(q).unwrap();
    let products = products.map(|(a, b)| Modulus::composite(prime(a), prime(b)).unwrap());
    PRIMES.into_iter().map(prime).chain(products).collect()
}

#[test]
fn products_of_two_distinct_primes_below_2_to_60() {
    let prime = |q| Modulus::new(q).unwrap();
    let q = Modulus::composite(prime(268369921), prime(249561089)).unwrap();
    assert_eq!((q.value(), q.bits()), (268369921 * 249561089, 56));
    assert_eq!(q.factors(), Some([268369921, 249561089]));
    assert_eq!(prime(5).factors(), None);
    assert!(Modulus::composite(prime(5), prime(5)).is_none());
    assert!(Modulus::composite(q, prime(5)).is_none());
    assert!(Modulus::composite(prime(5), Modulus::composite(prime(3), prime(7)).unwrap()).is_none());
    assert!(Modulus::composite(prime(1125899906842597), prime(1031)).is_none());
    assert!(Modulus::composite(prime(1125899906842597), prime(1125899904679937)).is_none());
}

#[test]
fn only_odd_primes_below_2_to_50() {
    for q in [0, 1, 2, 4, 9, 561, 3215031751, (1 << 50) + 55, u64::MAX, 4294967291 * 3] {
        assert!(Modulus::new(q).is_none(), "{q}");
    }
    for q in PRIMES {
        assert_eq!(Modulus::new(q).unwrap().value(), q);
    }
    let below_1000 = (0..1000).filter(|&q| is_prime(q)).count();
    assert_eq!(below_1000, 168);
}

#[test]
fn inverses() {
    for m in moduli() {
        let q = m.value();
        for a in [1, 2, q / 2, q - 1, q / 3 * 2 + 1] {
            if gcd(a, q) == 1 {
                assert_eq!(m.mul(a % q, m.inv(a % q)), 1, "{a} mod {q}");
            }
        }
        assert_eq!(m.inv(0), 0);
    }
}

#[test]
fn centering() {
    let m = Modulus::new(7).unwrap();
    let all: Vec<i64> = (0..7).map(|a| m.centered(a)).collect();
    assert_eq!(all, [0, 1, 2, 3, -3, -2, -1]);
}

proptest! {
    #[test]
    fn agrees_with_wide_integers(i in 0..moduli().len(), a: u64, b: u64, edge in 0u64..9) {
        let m = moduli()[i];
        let q = m.value();
        // Half of the operands are from the ends of the range, where reductions may fail.
        let a = if edge < 4 { (q - 1).saturating_sub(edge) } else { a % q };
        let b = if edge < 5 { (q - 1).saturating_sub(b % 2) } else { b % q };
        let (wa, wb, wq) = (u128::from(a), u128::from(b), u128::from(q));
        prop_assert_eq!(u128::from(m.mul(a, b)), wa * wb % wq);
        prop_assert_eq!(u128::from(m.add(a, b)), (wa + wb) % wq);
        prop_assert_eq!(u128::from(m.sub(a, b)), (wa + wq - wb) % wq);
        prop_assert_eq!(m.add(a, m.neg(a)), 0);
        prop_assert_eq!(m.reduce_i64(m.centered(a)), a);
    }

    #[test]
    fn signed_reduction(i in 0..moduli().len(), a: i64) {
        let m = moduli()[i];
        prop_assert_eq!(i128::from(m.reduce_i64(a)), i128::from(a).rem_euclid(i128::from(m.value())));
    }
}
