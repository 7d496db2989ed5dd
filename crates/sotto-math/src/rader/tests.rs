use super::*;
use crate::matrix::mix;
use crate::simd::available;

/// The largest primes below 2^50 that are 1 modulo 2^15 * 8191 * 4095.
const PRIMES: [u64; 3] = [1115595642470401, 1110100097433601, 1107901879418881];

fn plan(q: u64) -> RaderPlan {
    RaderPlan::new(Modulus::new(q).unwrap()).unwrap()
}

/// The smallest prime that has a plan.
fn small_prime() -> u64 {
    let step = (ORDER * DEGREE) as u64;
    (1..).map(|i| i * step + 1).find(|&q| Modulus::new(q).is_some()).unwrap()
}

fn random(q: &Modulus, seed: u64) -> Vec<u64> {
    let x = (0..WORDS as u64).map(|i| if i < DEGREE as u64 { q.reduce(mix(seed << 32 | i)) } else { 0 });
    x.collect()
}

/// Inputs that are worst for lazy reductions, and an irregular one.
fn inputs(q: &Modulus) -> Vec<Vec<u64>> {
    let top = q.value() - 1;
    let made = |f: &dyn Fn(usize) -> u64| (0..WORDS).map(|i| if i < DEGREE { f(i) } else { 0 }).collect();
    vec![
        vec![0; WORDS],
        made(&|_| top),
        made(&|_| top / 2),
        made(&|_| top / 2 + 1),
        made(&|i| if mix(i as u64).is_multiple_of(2) { top / 2 } else { top / 2 + 1 }),
        made(&|i| if mix(i as u64).is_multiple_of(2) { top } else { 0 }),
        made(&|i| u64::from(i == 0)),
        made(&|i| u64::from(i == DEGREE - 1)),
        random(q, 1),
    ]
}

fn value_at(q: &Modulus, x: &[u64], point: u64) -> u64 {
    x[..DEGREE].iter().rev().fold(0, |sum, &c| q.add(q.mul(sum, point), c))
}

/// Computes 17^e modulo 8191.
fn exponent(e: usize) -> u64 {
    (0..e).fold(1, |power, _| power * GENERATOR as u64 % ORDER as u64)
}

#[test]
fn moduli_without_the_roots_have_no_plan() {
    let prime = |q| Modulus::new(q).unwrap();
    // 1 modulo 2^15 * 8191, but not modulo 4095; and 1 modulo 8190 alone.
    assert!(RaderPlan::new(prime(1125894253608961)).is_none());
    let other = (1..).map(|i| i * DEGREE as u64 + 1).find(|&q| Modulus::new(q).is_some()).unwrap();
    assert!(RaderPlan::new(prime(other)).is_none());
    let product = Modulus::composite(prime(small_prime()), prime(12289)).unwrap();
    assert!(RaderPlan::new(product).is_none());
    for q in PRIMES {
        assert_eq!((q - 1) % ((1 << 15) * 8191 * 4095), 0);
        assert!(q < 1 << 50 && RaderPlan::new(prime(q)).is_some());
    }
}

#[test]
fn values_are_those_at_the_documented_points() {
    for q in [PRIMES[0], small_prime()] {
        let plan = plan(q);
        let q = plan.modulus();
        assert_ne!(plan.root(), 1);
        assert_eq!(q.pow(plan.root(), ORDER as u64), 1);
        for (seed, x) in (0..).zip(inputs(q)) {
            let mut values = x.clone();
            plan.forward(&mut values);
            let some = (0..6).map(|i| mix(seed << 8 | i) as usize % DEGREE);
            for i in some.chain([0, 1, 4095, DEGREE - 1]) {
                let point = q.pow(plan.root(), exponent(i));
                assert_eq!(values[i], value_at(q, &x, point), "value {i} of input {seed}");
            }
            assert_eq!(values[DEGREE..], [0, 0]);
        }
    }
}

#[test]
fn every_backend_agrees_and_inverts() {
    for q in PRIMES.into_iter().chain([small_prime()]) {
        let plan = plan(q);
        for (i, x) in inputs(plan.modulus()).into_iter().enumerate() {
            let mut values = x.clone();
            plan.forward_with(&simd::Scalar, &mut values);
            let mut from_values = x.clone();
            plan.inverse_with(&simd::Scalar, &mut from_values);
            for k in available() {
                let about = format!("input {i}, q {q}, {}", k.name());
                let mut y = x.clone();
                plan.forward_with(k, &mut y);
                assert!(y == values, "forward, {about}");
                plan.inverse_with(k, &mut y);
                assert!(y == x, "there and back, {about}");
                plan.inverse_with(k, &mut y);
                assert!(y == from_values, "inverse, {about}");
            }
        }
    }
}

#[test]
fn products_are_modulo_the_cyclotomic_polynomial() {
    let plan = plan(PRIMES[1]);
    let q = plan.modulus();
    let a = random(q, 2);
    // A few terms, the highest among them.
    let terms: Vec<_> = [0, 1, 2, 90, 4095, 8188, 8189].iter().map(|&e| (e, q.reduce(mix(e)))).collect();
    let (mut b, mut expected) = (vec![0; WORDS], vec![0; WORDS]);
    for &(e, c) in &terms {
        b[e as usize] = c;
        for (i, &a) in a[..DEGREE].iter().enumerate() {
            let at = &mut expected[(i + e as usize) % ORDER];
            *at = q.add(*at, q.mul(a, c));
        }
    }
    plan.reduce(&mut expected);
    let mut product = a;
    plan.forward(&mut product);
    plan.forward(&mut b);
    product.iter_mut().zip(b).for_each(|(a, b)| *a = q.mul(*a, b));
    plan.inverse(&mut product);
    assert!(product == expected);
}

#[test]
fn automorphisms_rotate() {
    let plan = plan(PRIMES[2]);
    let q = plan.modulus();
    let small: Vec<i32> =
        (0..WORDS as u64).map(|i| if i < 8190 { mix(i) as i32 % 1000 } else { 0 }).collect();
    let reduced = |x: &[i32]| -> Vec<u64> {
        x.iter().map(|&x| (i64::from(x)).rem_euclid(q.value() as i64) as u64).collect()
    };
    let mut values = reduced(&small);
    plan.forward(&mut values);
    for by in [0, 1, 13, 4095, 8189, 8190 + 26] {
        // By the definition: X^i to X^(i k), and the coefficient of X^8190 subtracted from all
        // others.
        let k = exponent(by);
        let mut moved = vec![0; WORDS];
        for (i, &x) in reduced(&small)[..DEGREE].iter().enumerate() {
            moved[(i as u64 * k % ORDER as u64) as usize] = x;
        }
        plan.reduce(&mut moved);
        assert!(reduced(&substitute(by, &small)) == moved, "coefficients by {by}");
        plan.forward(&mut moved);
        let mut rotated = vec![7; WORDS];
        rotate(by, &values, &mut rotated);
        assert!(rotated == moved, "values by {by}");
    }
}

#[test]
fn circulants_are_their_matrices() {
    // Modulo a prime that has the roots of the grid and not those of a plan.
    let q = (1..).map(|i| i * DEGREE as u64 + 1).find_map(Modulus::new).unwrap();
    let h = |exponent: usize| q.reduce(mix(exponent as u64));
    let matrix = Circulant::new(q, h).unwrap();
    let x: Vec<u64> = random(&q, 3);
    let entry = |i: usize, j: usize| h(exponent(i) as usize * j % ORDER);
    let (mut values, mut coefficients) = (x.clone(), x.clone());
    matrix.to_values(&mut values);
    matrix.to_coefficients(&mut coefficients);
    for i in [0, 1, 2, 630, 4095, 8189] {
        let value = (1..DEGREE).fold(0, |sum, j| q.add(sum, q.mul(entry(i, j), x[j])));
        assert_eq!(values[i], value, "row {i}");
    }
    for j in [1, 2, 17, 8190] {
        let power = |e: usize| (0..DEGREE).scan(e, |e, _| Some(std::mem::replace(e, *e * GENERATOR % ORDER)));
        let sum = power(j).zip(&x).fold(0, |sum, (e, x)| q.add(sum, q.mul(h(e), *x)));
        assert_eq!(coefficients[j], sum, "column {j}");
    }
    assert_eq!((values[DEGREE..].to_vec(), coefficients[0], coefficients[ORDER]), (vec![0; 2], 0, 0));
}
