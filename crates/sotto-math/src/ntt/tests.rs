use super::*;
use crate::matrix::mix;
use crate::simd::available;

mod slots;

/// The largest prime `q = 1 mod 2n` below `limit`.
fn prime_below(limit: u64, n: u64) -> Modulus {
    let first = (limit - 2) / (2 * n) * (2 * n) + 1;
    (0..).find_map(|i| Modulus::new(first - i * 2 * n)).unwrap()
}

/// Moduli of all kinds of kernels. Primes of both reductions: small, 28 bits, just below 2^29 to
/// 2^32, 40 bits, just below 2^50; and the largest whose values are never reduced between levels.
/// Products of two primes: of 40 bits, which is narrow; of 52 and 56 bits, which are wide and not
/// reduced between levels; and just below 2^60.
fn moduli(n: usize) -> Vec<Modulus> {
    let n = n as u64;
    let edge = (1 << 52) / (2 * n);
    let mut moduli: Vec<_> =
        [17, 29, 30, 31, 32, 40, 46, 47, 50].map(|bits| prime_below(1 << bits, n)).to_vec();
    moduli.push(prime_below(edge, n));
    moduli.extend([268369921, 1125899904679937].map(|q| Modulus::new(q).unwrap()));
    let products = [(1 << 20, 1 << 20), (1 << 20, 1 << 32), (268369922, 249561090), (1 << 30, 1 << 30)];
    moduli.extend(products.map(|(a, b)| {
        let a = prime_below(a, n);
        let b = prime_below(b, n);
        let b = if a == b { prime_below(a.value(), n) } else { b };
        Modulus::composite(a, b).unwrap()
    }));
    moduli
}

fn random(n: usize, q: &Modulus, seed: u64) -> Vec<u64> {
    (0..n as u64).map(|i| q.reduce(mix(seed << 32 | i))).collect()
}

/// Inputs that are worst for lazy reductions, and an irregular one.
fn inputs(n: usize, q: &Modulus) -> Vec<Vec<u64>> {
    let top = q.value() - 1;
    let half = |i: usize, a: u64, b: u64| if i < n / 2 { a } else { b };
    vec![
        vec![0; n],
        vec![top; n],
        (0..n).map(|i| half(i, 0, top)).collect(),
        (0..n).map(|i| half(i, top, 0)).collect(),
        (0..n).map(|i| if i % 2 == 0 { top } else { 0 }).collect(),
        (0..n).map(|i| if mix(i as u64).is_multiple_of(2) { top } else { 0 }).collect(),
        random(n, q, 1),
    ]
}

#[test]
fn slots_are_values_at_the_documented_points() {
    for n in [64, 128, 256] {
        for q in moduli(n) {
            let plan = NttPlan::new(n, q).unwrap();
            let exponents: std::collections::BTreeSet<_> = (0..n).map(|s| plan.exponent(s)).collect();
            assert_eq!(exponents.len(), n);
            assert!(exponents.iter().all(|e| e % 2 == 1 && *e < 2 * n));
            for x in inputs(n, &q) {
                let value_at = |slot: usize| {
                    let point = q.pow(plan.root(), plan.exponent(slot) as u64);
                    x.iter().rev().fold(0, |sum, &c| q.add(q.mul(sum, point), c))
                };
                let expected: Vec<u64> = (0..n).map(value_at).collect();
                for k in available() {
                    let mut y = x.clone();
                    plan.forward_with(k, &mut y);
                    assert_eq!(y, expected, "n {n}, q {}, {}", q.value(), k.name());
                }
            }
        }
    }
}

#[test]
fn every_backend_agrees_and_inverts() {
    for n in [64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384] {
        for q in moduli(n.max(1 << 10)) {
            let plan = NttPlan::new(n, q).unwrap();
            for x in inputs(n, &q) {
                let mut slots = x.clone();
                plan.forward_with(&simd::Scalar, &mut slots);
                let mut from_slots = x.clone();
                plan.inverse_with(&simd::Scalar, &mut from_slots);
                for k in available() {
                    let about = format!("n {n}, q {}, {}", q.value(), k.name());
                    let mut y = x.clone();
                    plan.forward_with(k, &mut y);
                    assert!(y == slots, "forward, {about}");
                    plan.inverse_with(k, &mut y);
                    assert!(y == x, "there and back, {about}");
                    plan.inverse_with(k, &mut y);
                    assert!(y == from_slots, "inverse, {about}");
                }
            }
        }
    }
}

/// Transforms from a modulus that is smaller, up to four times as large, and larger than that.
#[test]
fn transforms_of_residues_of_another_modulus() {
    for n in [64, 128, 256, 4096] {
        for q in moduli(n) {
            let plan = NttPlan::new(n, q).unwrap();
            let others =
                [3, 12, 256].map(|quarters| (u128::from(q.value()) * quarters / 4).min(1 << 60) as u64);
            let others = others.into_iter().filter(|limit| (8 * n as u64..1 << 50).contains(limit));
            for special in others.map(|limit| prime_below(limit, n as u64)) {
                let Some(pair) = ModulusPair::new(q, special) else { continue };
                for x in inputs(n, &special) {
                    for carry in [ResidueLift::Unsigned, ResidueLift::Centered] {
                        let number = |x: &u64| match carry {
                            ResidueLift::Unsigned => q.reduce(*x),
                            ResidueLift::Centered => q.reduce_i64(special.centered(*x)),
                        };
                        let mut expected: Vec<u64> = x.iter().map(number).collect();
                        plan.forward_with(&simd::Scalar, &mut expected);
                        for k in available() {
                            let mut out = vec![7; n];
                            plan.forward_from_with(k, &pair, carry, &x, &mut out);
                            assert!(out == expected, "n {n}, {pair:?}, {carry:?}, {}", k.name());
                        }
                    }
                }
            }
            for x in inputs(n, &q) {
                let mut expected = x.clone();
                plan.inverse_with(&simd::Scalar, &mut expected);
                for k in available() {
                    let mut out = vec![7; n];
                    plan.inverse_to_with(k, &x, &mut out);
                    assert!(out == expected, "n {n}, q {}, {}", q.value(), k.name());
                }
            }
        }
    }
}

#[test]
fn products_are_negacyclic() {
    for n in [64, 128] {
        for q in moduli(n) {
            let plan = NttPlan::new(n, q).unwrap();
            let (a, b) = (random(n, &q, 2), random(n, &q, 3));
            let mut expected = vec![0; n];
            for i in 0..n {
                for j in 0..n {
                    let product = q.mul(a[i], b[j]);
                    let at = &mut expected[(i + j) % n];
                    *at = if i + j < n { q.add(*at, product) } else { q.sub(*at, product) };
                }
            }
            let (mut fa, mut fb, mut out) = (a.clone(), b.clone(), vec![0; n]);
            plan.forward(&mut fa);
            plan.forward(&mut fb);
            plan.mul_acc(&mut out, &fa, &fb);
            plan.inverse(&mut out);
            assert_eq!(out, expected, "n {n}, q {}", q.value());
        }
    }
}

#[test]
fn multiply_and_add() {
    let n = 128;
    for q in moduli(n) {
        let plan = NttPlan::new(n, q).unwrap();
        for (acc, (a, b)) in
            inputs(n, &q).into_iter().zip(inputs(n, &q).into_iter().zip(inputs(n, &q).into_iter().rev()))
        {
            for b in [&a, &b] {
                let expected: Vec<u64> = (0..n).map(|i| q.add(acc[i], q.mul(a[i], b[i]))).collect();
                for k in available() {
                    let mut out = acc.clone();
                    plan.mul_acc_with(k, &mut out, &a, b);
                    assert_eq!(out, expected, "q {}, {}", q.value(), k.name());
                }
            }
        }
    }
}

#[test]
fn signed_bytes() {
    for n in [64, 1024, 2048] {
        for q in moduli(2048) {
            let plan = NttPlan::new(n, q).unwrap();
            let fills: [&dyn Fn(u64) -> i8; 4] = [&|i| mix(i) as i8, &|_| -128, &|_| 127, &|i| {
                if mix(i).is_multiple_of(2) { -128 } else { 127 }
            }];
            for fill in fills {
                let bytes: Vec<i8> = (0..n as u64).map(fill).collect();
                let mut expected: Vec<u64> = bytes.iter().map(|&b| q.reduce_i64(b.into())).collect();
                plan.forward_with(&simd::Scalar, &mut expected);
                for k in available() {
                    let mut out = vec![7; n];
                    plan.forward_i8_with(k, &bytes, &mut out);
                    assert!(out == expected, "n {n}, q {}, {}", q.value(), k.name());
                }
            }
        }
    }
}

#[test]
fn wide_accumulation_of_many_blocks() {
    let n = 64;
    for q in moduli(n) {
        let plan = NttPlan::new(n, q).unwrap();
        let b = [random(n, &q, 8), vec![q.value() - 1; n]];
        for k in available() {
            // More products than fit without folding once.
            for count in [0, 1, 2, 4095, 4096, 4097, 9000u64] {
                let mut acc = plan.accumulator();
                let mut expected = vec![0; n];
                let bytes: Vec<i8> = (0..n as u64).map(|i| mix(i) as i8).collect();
                let mut slots = vec![0; n];
                plan.forward_i8(&bytes, &mut slots);
                for i in 0..count {
                    let b = &b[i as usize % 2];
                    if i % 3 == 0 {
                        plan.mul_acc_wide_with(k, &mut acc, &slots, b);
                    } else {
                        plan.forward_i8_mul_acc_with(k, &bytes, b, &mut acc);
                    }
                    plan.mul_acc_with(&simd::Scalar, &mut expected, &slots, b);
                }
                // Taken twice: the second time the accumulator must be empty.
                let mut out = vec![7; n];
                plan.take(&mut acc, &mut out);
                assert_eq!(out, expected, "{count} products, q {}, {}", q.value(), k.name());
                plan.take(&mut acc, &mut out);
                assert_eq!(out, vec![0; n]);
            }
        }
    }
}

#[test]
fn factors_up_to_52_bits() {
    let n = 64;
    let plan = NttPlan::new(n, moduli(n)[1]).unwrap();
    let top = vec![(1 << 52) - 1; n];
    for k in available() {
        let mut acc = plan.accumulator();
        for _ in 0..5000 {
            plan.mul_acc_wide_with(k, &mut acc, &top, &top);
        }
        let mut out = vec![0; n];
        plan.take(&mut acc, &mut out);
        let one = u128::from(top[0]);
        let expected = plan.modulus().reduce_u128(one * one % u128::from(plan.modulus().value()) * 5000);
        assert_eq!(out, vec![expected; n], "{}", k.name());
    }
}

#[test]
fn sums_of_the_largest_products() {
    let n = 64;
    for q in moduli(n) {
        let plan = NttPlan::new(n, q).unwrap();
        let top = vec![q.value() - 1; n];
        for k in available() {
            let mut acc = plan.accumulator();
            for _ in 0..600 {
                plan.mul_acc_wide_with(k, &mut acc, &top, &top);
            }
            let mut out = vec![0; n];
            plan.take(&mut acc, &mut out);
            assert_eq!(out, vec![q.reduce(600); n], "q {}, {}", q.value(), k.name());
        }
    }
}

#[test]
fn refuses_what_it_cannot_transform() {
    let q = prime_below(1 << 32, 1024);
    assert!(NttPlan::new(1024, q).is_some());
    assert!(NttPlan::new(32, q).is_none());
    assert!(NttPlan::new(1000, q).is_none());
    assert!(NttPlan::new(32768, prime_below(1 << 40, 32768)).is_none());
    let other = Modulus::new(4294967291).unwrap();
    assert!(NttPlan::new(1024, other).is_none());
    let small = prime_below(1 << 20, 1024);
    assert!(NttPlan::new(1024, Modulus::composite(small, q).unwrap()).is_some());
    assert!(NttPlan::new(1024, Modulus::composite(small, other).unwrap()).is_none());
    assert!(NttPlan::new(1024, Modulus::composite(other, small).unwrap()).is_none());
}
