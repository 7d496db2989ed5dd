use super::*;
use crate::matrix::mix;
use crate::simd::available;

fn prime(q: u64) -> Modulus {
    Modulus::new(q).unwrap()
}

fn pairs() -> Vec<ModulusPair> {
    let composite = Modulus::composite(prime(268369921), prime(249561089)).unwrap();
    let of = |a, b| ModulusPair::new(a, b).unwrap();
    let (p, p2) = (prime(1125899904679937), prime(1125899906826241));
    vec![
        of(p, p2),
        of(p2, p),
        of(prime(3), prime(5)),
        of(prime(257), p),
        of(p, prime(257)),
        of(composite, prime(16760833)),
        of(prime(16760833), composite),
        of(composite, p),
        of(prime(134176769), prime(268369921)),
        of(prime(268369921), prime(268361729)),
    ]
}

fn numbers(q: u128) -> Vec<u128> {
    let edges = [0, 1, q - 1, q / 2, q / 2 + 1, q / 3];
    let others = (0..201u64).map(|i| u128::from(mix(i)) << 64 | u128::from(mix(!i)));
    edges.into_iter().chain(others).map(|x| x % q).collect()
}

#[test]
fn refuses_what_is_not_coprime_or_too_large() {
    let composite = Modulus::composite(prime(268369921), prime(249561089)).unwrap();
    let large = Modulus::composite(prime(1073741789), prime(1073741783)).unwrap();
    assert!(ModulusPair::new(composite, composite).is_none());
    assert!(ModulusPair::new(composite, prime(268369921)).is_none());
    assert!(ModulusPair::new(prime(249561089), composite).is_none());
    assert!(ModulusPair::new(large, composite).is_none());
    assert!(ModulusPair::new(large, prime(1125899904679937)).is_some());
}

#[test]
fn lifting_inverts_residues() {
    for pair in pairs() {
        for x in numbers(pair.product()) {
            let [r, r_special] = pair.residues(x);
            assert_eq!(pair.lift(r, r_special), x, "{pair:?}");
        }
    }
}

#[test]
fn switching_rounds() {
    for pair in pairs() {
        let (q, special) = (pair.modulus(), pair.special());
        let numbers = numbers(pair.product());
        let residues: Vec<[u64; 2]> = numbers.iter().map(|&x| pair.residues(x)).collect();
        let [x, x_special] = [0, 1].map(|i| residues.iter().map(|r| r[i]).collect::<Vec<_>>());
        let rounded = |&x: &u128| {
            let special = u128::from(special.value());
            q.reduce_u128((x + special / 2) / special)
        };
        let expected: Vec<u64> = numbers.iter().map(rounded).collect();
        for k in available() {
            let mut correction = vec![7; x.len()];
            pair.centered_with(k, &x_special, &mut correction);
            let mut out = x.clone();
            pair.lower_with(k, &mut out, &correction);
            assert_eq!(out, expected, "{pair:?}, {}", k.name());
        }
    }
}

#[test]
fn numbers_are_carried_as_they_are() {
    for pair in pairs() {
        let (q, special) = (pair.modulus(), pair.special().value());
        let numbers: Vec<u64> = numbers(u128::from(special)).into_iter().map(|x| x as u64).collect();
        let edges = [q.value() - 1, q.value(), 2 * q.value() - 1, 2 * q.value()].map(|x| x.min(special - 1));
        let numbers: Vec<u64> = numbers.into_iter().chain(edges).collect();
        let expected: Vec<u64> = numbers.iter().map(|x| x % q.value()).collect();
        for k in available() {
            let mut out = vec![7; numbers.len()];
            pair.carried_with(k, &numbers, &mut out);
            assert_eq!(out, expected, "{pair:?}, {}", k.name());
        }
    }
}

#[test]
fn rounding_to_bits() {
    for pair in pairs() {
        let q = pair.modulus();
        let value = u128::from(q.value());
        let x: Vec<u64> = numbers(value).into_iter().map(|x| x as u64).collect();
        for bits in [0, 1, 2, 8, 18, 26, 49, 50, 60, 63] {
            let mut out = vec![7; x.len()];
            round_to_bits(q, &x, bits, &mut out);
            for (&x, &out) in x.iter().zip(&out) {
                let expected = ((u128::from(x) << bits) + value / 2) / value % (1 << bits);
                assert_eq!(u128::from(out), expected, "{x} mod {value} to {bits} bits");
            }
        }
    }
}
