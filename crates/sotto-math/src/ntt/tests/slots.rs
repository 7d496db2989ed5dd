//! Arithmetic between slots, on all backends.

use super::*;

/// Slots that are worst for reductions, and some irregular ones.
fn operands(n: usize, q: &Modulus) -> Vec<Vec<u64>> {
    let top = q.value() - 1;
    vec![vec![top; n], vec![0; n], random(n, q, 5), random(n, q, 6), vec![top / 2 + 1; n], vec![1; n]]
}

#[test]
fn automorphisms_substitute_powers() {
    for n in [64, 128, 256, 1024, 4096] {
        let q = prime_below(1 << 30, n as u64);
        let plan = NttPlan::new(n, q).unwrap();
        let signed: Vec<i32> = (0..n as u64).map(|i| mix(i) as i32 / 4).collect();
        let slots = |x: &[i32]| {
            let mut x: Vec<u64> = x.iter().map(|&x| q.reduce_i64(x.into())).collect();
            plan.forward(&mut x);
            x
        };
        let x = slots(&signed);
        let some = [1, 3, 5, 7, 9, 11, 65, n / 2 + 1, n - 1, n + 1, 2 * n - 3, 2 * n - 1];
        for k in some.into_iter().chain((0..20).map(|i| mix(i) as usize % n * 2 + 1)) {
            let expected = slots(&substitute(k, &signed));
            let automorphism = plan.automorphism(k).unwrap();
            assert_eq!(automorphism.k(), k);
            for kernels in available() {
                let mut out = vec![7; n];
                automorphism.apply_with(kernels, &x, &mut out);
                assert!(out == expected, "n {n}, k {k}, {}", kernels.name());
            }
        }
        for k in [0, 2, n, 2 * n, 2 * n + 1] {
            assert!(plan.automorphism(k).is_none());
        }
    }
}

#[test]
fn substitution_by_hand() {
    // 1 + 2 X + 3 X^2 + 4 X^3 at X^3: X^6 = -X^2, X^9 = X.
    assert_eq!(substitute(3, &[1, 2, 3, 4]), [1, 4, -3, 2]);
    assert_eq!(substitute(7, &[1, 2, 3, 4]), [1, -4, -3, -2]);
}

#[test]
fn monomials() {
    for n in [64, 256] {
        for q in moduli(n) {
            let plan = NttPlan::new(n, q).unwrap();
            let n = n as i64;
            for e in [0, 1, 2, n - 1, n, n + 5, 2 * n, -1, -n, 1 - 2 * n, i64::MIN, i64::MAX] {
                let mut x = plan.monomial(e);
                plan.inverse(&mut x);
                let at = e.rem_euclid(2 * n);
                let mut expected = vec![0; n as usize];
                expected[(at % n) as usize] = if at < n { 1 } else { q.value() - 1 };
                assert_eq!(x, expected, "X^{e}, n {n}, q {}", q.value());
            }
        }
    }
}

#[test]
fn slot_by_slot() {
    let n = 128;
    for q in moduli(n) {
        let plan = NttPlan::new(n, q).unwrap();
        for (i, x) in operands(n, &q).into_iter().enumerate() {
            for y in operands(n, &q) {
                let m = random(n, &q, i as u64);
                let by = |f: &dyn Fn(usize) -> u64| (0..n).map(f).collect::<Vec<_>>();
                let sum = by(&|i| q.add(x[i], y[i]));
                let difference = by(&|i| q.sub(x[i], y[i]));
                let product = by(&|i| q.mul(x[i], y[i]));
                let odd = by(&|i| q.mul(difference[i], m[i]));
                for k in available() {
                    let about = format!("q {}, {}", q.value(), k.name());
                    let t = &plan.tables;
                    let mut out = [x.clone(), x.clone(), x.clone(), x.clone(), vec![7; n]];
                    let [a, s, p, c, o] = &mut out;
                    k.add(t, a, &y);
                    k.sub(t, s, &y);
                    k.mul(t, p, &y);
                    k.split(t, c, &y, &m, o);
                    assert_eq!(*a, sum, "sum, {about}");
                    assert_eq!(*s, difference, "difference, {about}");
                    assert_eq!(*p, product, "product, {about}");
                    assert_eq!((&*c, &*o), (&sum, &odd), "split, {about}");
                }
            }
        }
    }
}

#[test]
fn sums_of_products() {
    let n = 128;
    for q in moduli(n) {
        let plan = NttPlan::new(n, q).unwrap();
        let start = random(n, &q, 9);
        let operands = operands(n, &q);
        for count in [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 255, 256, 511, 2048] {
            // All the largest, then mixed.
            for mixed in [0, 1] {
                let a: Vec<&[u64]> = (0..count).map(|i| &operands[mixed * i % 6][..]).collect();
                let b: Vec<&[u64]> = (0..count).map(|i| &operands[mixed * i / 2 % 6][..]).collect();
                let mut added = start.clone();
                let mut alone = vec![0; n];
                for (a, b) in a.iter().zip(&b) {
                    plan.mul_acc_with(&simd::Scalar, &mut added, a, b);
                    plan.mul_acc_with(&simd::Scalar, &mut alone, a, b);
                }
                for k in available() {
                    let about = format!("{count} products, q {}, {}", q.value(), k.name());
                    let mut out = vec![7; n];
                    plan.sum_of_products_with(k, &a, &b, false, &mut out);
                    assert!(out == alone, "{about}");
                    let mut out = start.clone();
                    plan.sum_of_products_with(k, &a, &b, true, &mut out);
                    assert!(out == added, "added, {about}");
                }
            }
        }
    }
}

#[test]
fn sums_of_products_with_pairs() {
    for n in [64, 128, 1024] {
        for q in moduli(n).into_iter().filter(|q| q.bits() <= 30) {
            let plan = NttPlan::new(n, q).unwrap();
            for count in [0, 1, 2, 3, 8] {
                let top = vec![q.value() - 1; n];
                for made in [
                    |_: &Modulus, _: u64, top: &[u64]| top.to_vec(),
                    |q: &Modulus, i, top: &[u64]| random(top.len(), q, i),
                ] {
                    let list = |from: u64| (0..count).map(|i| made(&q, from + i, &top)).collect::<Vec<_>>();
                    let (a, first, second) = (list(10), list(20), list(30));
                    let pair =
                        |(x, y): (&Vec<u64>, &Vec<u64>)| x.iter().zip(y).map(|(x, y)| x | y << 32).collect();
                    let b: Vec<Vec<u64>> = first.iter().zip(&second).map(pair).collect();
                    let (a, b): (Vec<&[u64]>, Vec<&[u64]>) =
                        (a.iter().map(Vec::as_slice).collect(), b.iter().map(Vec::as_slice).collect());
                    let expected = [&first, &second].map(|rows| {
                        let mut out = vec![7; n];
                        let rows: Vec<&[u64]> = rows.iter().map(Vec::as_slice).collect();
                        plan.sum_of_products_with(&simd::Scalar, &a, &rows, false, &mut out);
                        out
                    });
                    for k in available() {
                        let (mut x, mut y) = (vec![7; n], vec![7; n]);
                        plan.sum_of_paired_products_with(k, &a, &b, [&mut x, &mut y]);
                        assert!([x, y] == expected, "n {n}, q {}, {count}, {}", q.value(), k.name());
                    }
                }
            }
        }
    }
}
