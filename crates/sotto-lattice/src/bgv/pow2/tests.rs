use super::*;

fn ring(n: usize) -> Pow2 {
    let moduli = Pow2::PRIMES.map(|q| Modulus::new(q).unwrap());
    Pow2::new(n, Modulus::new(65537).unwrap(), &moduli[..3]).unwrap()
}

fn some_slots(ring: &Pow2, seed: u64) -> Vec<u64> {
    (0..ring.degree() as u64)
        .map(|i| (i + seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32)
        .map(|x| x % 65537)
        .collect()
}

fn coefficients(ring: &Pow2, slots: &[u64]) -> Vec<u64> {
    let mut out = vec![0; ring.words()];
    ring.encode(slots, &mut out);
    out
}

fn slots(ring: &Pow2, coefficients: &[u64]) -> Vec<u64> {
    let mut out = vec![0; ring.degree()];
    ring.decode(coefficients, &mut out);
    out
}

#[test]
fn products_of_plaintexts_are_products_of_slots() {
    let (ring, t) = (ring(64), 65537);
    let (a, b) = (some_slots(&ring, 1), some_slots(&ring, 2));
    let (x, y) = (coefficients(&ring, &a), coefficients(&ring, &b));
    assert_eq!(slots(&ring, &x), a);
    let mut product = vec![0; 64];
    for i in 0..64 {
        for j in 0..64 {
            let term = x[i] * y[j] % t;
            product[(i + j) % 64] += if i + j < 64 { term } else { t - term };
        }
    }
    product.iter_mut().for_each(|x| *x %= t);
    let expected: Vec<u64> = a.iter().zip(&b).map(|(a, b)| ring.slot_arithmetic(*a, *b)[1]).collect();
    assert_eq!(slots(&ring, &product), expected);
    assert_eq!(ring.slot_arithmetic(65536, 65536), [65535, 1]);
}

/// Compares a rotation of coefficients by values modulo each prime with that of small coefficients.
#[test]
fn rotations_turn_both_cycles_to_the_left() {
    for n in [64, 256] {
        let ring = ring(n);
        let half = n / 2;
        let before = some_slots(&ring, 3);
        let plain = coefficients(&ring, &before);
        let rotations = [0, 1, 2, 7, half - 1, half, half + 5].map(|by| (ring.turn(by), by % half, 0));
        for (turn, by, swap) in rotations.into_iter().chain([(ring.swap(), 0, half)]) {
            let after = |i: usize| before[((i / half * half + (i % half + by) % half) + swap) % n];
            let expected: Vec<u64> = (0..n).map(after).collect();
            let small: Vec<i32> = plain.iter().map(|x| *x as i32).collect();
            let turned = ring.rotate_small(&turn, &small);
            let reduced: Vec<u64> = turned.iter().map(|x| x.rem_euclid(65537) as u64).collect();
            assert_eq!(slots(&ring, &reduced), expected, "by {by}");
            for (prime, plan) in ring.plans().iter().enumerate() {
                let (mut x, mut out) = (plain.clone(), vec![0; n]);
                ring.forward(prime, &mut x);
                ring.rotate(&turn, &x, &mut out);
                ring.inverse(prime, &mut out);
                let residues: Vec<u64> =
                    turned.iter().map(|x| plan.modulus().reduce_i64(i64::from(*x))).collect();
                assert_eq!(out, residues, "by {by}, prime {prime}");
            }
        }
    }
}

#[test]
fn the_standard_rings_have_primes_that_are_one_modulo_both() {
    for count in 2..=4 {
        let ring = Pow2::standard(count).unwrap();
        assert_eq!((ring.degree(), ring.plain(), ring.primes()), (8192, 65537, count - 1));
        assert_eq!((ring.slots(), ring.cycles(), ring.words()), (4096, 2, 8192));
        assert!(ring.plans().iter().all(|plan| plan.modulus().value() % (65537 << 15) == 1));
    }
    assert!([0, 1, 5].iter().all(|count| Pow2::standard(*count).is_none()));
}

#[test]
fn rings_that_cannot_be_are_refused() {
    let [p, q] = [Pow2::PRIMES[0], Pow2::PRIMES[1]].map(|q| Modulus::new(q).unwrap());
    let [t, other] = [65537, 12289].map(|q| Modulus::new(q).unwrap());
    assert!(Pow2::new(64, t, &[p, q]).is_some());
    assert!(Pow2::new(64, t, &[p]).is_none());
    assert!(Pow2::new(64, t, &[p, p]).is_none());
    assert!(Pow2::new(64, t, &[p, t]).is_none());
    assert!(Pow2::new(60, t, &[p, q]).is_none());
    assert!(Pow2::new(8192, other, &[p, q]).is_none());
    assert!(Pow2::new(8192, t, &[p, other]).is_none());
    let product =
        Modulus::composite(Modulus::new(268369921).unwrap(), Modulus::new(249561089).unwrap()).unwrap();
    assert!(Pow2::new(64, t, &[p, product]).is_none());
}

#[test]
fn coefficients_need_no_plain_prime() {
    let primes = Pow2::PRIMES.map(|q| Modulus::new(q).unwrap());
    let ring = Pow2::of_coefficients(64, 1024, &primes).unwrap();
    let plain: Vec<u64> = (0..64).map(|i| i * 16 + 3).collect();
    let [mut coefficients, mut back] = [vec![0; 64], vec![0; 64]];
    ring.encode(&plain, &mut coefficients);
    ring.decode(&coefficients, &mut back);
    assert_eq!((&coefficients, &back), (&plain, &plain));
    assert_eq!(ring.slot_arithmetic(1000, 100), [76, 100_000 % 1024]);
    assert!(Pow2::of_coefficients(64, 1, &primes).is_none());
    assert!(Pow2::of_coefficients(64, 16, &[primes[0], primes[0]]).is_none());
}
