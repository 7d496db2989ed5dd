use super::{mul, trace, *};
use sotto_math::rader::ORDER;

fn ring() -> M8191 {
    M8191::standard(3).unwrap()
}

fn some_slots(seed: u64) -> Vec<u64> {
    (0..630).map(|i| (i + 1000 * seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 51).collect()
}

fn coefficients(ring: &M8191, slots: &[u64]) -> Vec<u64> {
    let mut out = vec![7; WORDS];
    ring.encode(slots, &mut out);
    out
}

fn slots(ring: &M8191, coefficients: &[u64]) -> Vec<u64> {
    let mut out = vec![7; SLOTS];
    ring.decode(coefficients, &mut out);
    out
}

/// The powers z^e, for `e` from 0 to 8190.
fn powers() -> Vec<u16> {
    std::iter::successors(Some(1), |power| Some(mul(*power, 2))).take(ORDER).collect()
}

/// Computes 17^(13 i) modulo 8191.
fn exponent(slot: usize) -> usize {
    (0..13 * slot).fold(1, |power, _| power * 17 % ORDER)
}

#[test]
fn slots_are_values_at_the_documented_points() {
    let (ring, powers) = (ring(), powers());
    // Not a polynomial that was made of slots, and the two extremes.
    let mixed = |j: usize| (j * j * j + 5 * j) >> 3 & 1;
    for f in [&mixed as &dyn Fn(usize) -> usize, &|_| 1, &|j| usize::from(j == 0)] {
        let polynomial: Vec<u64> = (0..WORDS).map(|j| if j < DEGREE { f(j) as u64 } else { 0 }).collect();
        let found = slots(&ring, &polynomial);
        for i in [0, 1, 2, 314, 629] {
            let g = exponent(i);
            let at = |j: usize| powers[j * g % ORDER];
            let value = (0..DEGREE).filter(|j| f(*j) == 1).fold(0, |sum, j| sum ^ at(j));
            assert_eq!(found[i], u64::from(value), "slot {i}");
        }
        assert_eq!(coefficients(&ring, &found), polynomial);
    }
}

#[test]
fn a_slot_alone_has_the_coefficients_of_the_closed_form() {
    let (ring, powers) = (ring(), powers());
    for (slot, value) in [(0, 1), (1, 1), (629, 1), (17, 0x1234), (300, 0x1FFF)] {
        let mut slots = vec![0; SLOTS];
        slots[slot] = value;
        let g = exponent(slot);
        let c: Vec<u64> = (0..ORDER)
            .map(|j| u64::from(trace(mul(value as u16, powers[(ORDER - j * g % ORDER) % ORDER]))))
            .collect();
        let mut expected: Vec<u64> = c[..DEGREE].iter().map(|x| x ^ c[DEGREE]).collect();
        expected.resize(WORDS, 0);
        assert!(coefficients(&ring, &slots) == expected, "slot {slot}");
    }
}

#[test]
fn rows_come_back_and_sums_are_sums() {
    let ring = ring();
    let (a, b) = (some_slots(1), some_slots(2));
    let (x, y) = (coefficients(&ring, &a), coefficients(&ring, &b));
    assert_eq!((slots(&ring, &x), slots(&ring, &y)), (a.clone(), b.clone()));
    let sum: Vec<u64> = x.iter().zip(&y).map(|(x, y)| x ^ y).collect();
    let expected: Vec<u64> = a.iter().zip(&b).map(|(a, b)| ring.slot_arithmetic(*a, *b)[0]).collect();
    assert_eq!(slots(&ring, &sum), expected);
    // One in every slot is the polynomial 1.
    let one = coefficients(&ring, &[1; SLOTS]);
    assert!(one[0] == 1 && one[1..].iter().all(|c| *c == 0));
}

/// Computes the product through the transform modulo a prime, which is greater than its
/// coefficients.
#[test]
fn products_of_plaintexts_are_products_of_slots() {
    let ring = ring();
    let (a, b) = (some_slots(3), some_slots(4));
    let (mut x, mut y) = (coefficients(&ring, &a), coefficients(&ring, &b));
    for (prime, plan) in ring.plans().iter().enumerate() {
        let mut product = x.clone();
        ring.forward(prime, &mut product);
        let mut factor = y.clone();
        ring.forward(prime, &mut factor);
        plan.mul(&mut product, &factor);
        assert_eq!(product[DEGREE..], [0, 0]);
        ring.inverse(prime, &mut product);
        let bits: Vec<u64> = product.iter().map(|c| plan.modulus().centered(*c) as u64 & 1).collect();
        let expected: Vec<u64> = a.iter().zip(&b).map(|(a, b)| ring.slot_arithmetic(*a, *b)[1]).collect();
        assert_eq!(slots(&ring, &bits), expected);
        std::mem::swap(&mut x, &mut y);
    }
}

#[test]
fn rotations_turn_slots_to_the_left() {
    let ring = ring();
    let before = some_slots(5);
    let plain = coefficients(&ring, &before);
    let small: Vec<i32> = plain.iter().map(|x| *x as i32).collect();
    for by in [0, 1, 2, 13, 315, 629, 630, 634] {
        let rotation = ring.rotation(by);
        let rotated = ring.rotate_small(&rotation, &small);
        let bits: Vec<u64> = rotated.iter().map(|x| *x as u64 & 1).collect();
        let expected: Vec<u64> = (0..SLOTS).map(|i| before[(i + by) % SLOTS]).collect();
        assert_eq!(slots(&ring, &bits), expected, "by {by}");
        let (mut x, mut out) = (plain.clone(), vec![7; WORDS]);
        ring.forward(1, &mut x);
        ring.rotate(&rotation, &x, &mut out);
        ring.inverse(1, &mut out);
        let q = ring.plans()[1].modulus();
        let residues: Vec<u64> = rotated.iter().map(|x| q.reduce_i64(i64::from(*x))).collect();
        assert!(out == residues, "by {by}");
    }
}

#[test]
fn the_standard_rings_have_primes_that_serve_both_transforms() {
    let ring = M8191::standard(4).unwrap();
    assert_eq!((ring.degree(), ring.plain(), ring.primes()), (8190, 2, 3));
    assert_eq!((ring.slots(), ring.cycles(), ring.words()), (630, 1, 8192));
    assert!(M8191::standard(1).is_none() && M8191::standard(5).is_none());
    let [a, b] = [M8191::PRIMES[0], 1125894253608961].map(|q| Modulus::new(q).unwrap());
    assert!(M8191::new(&[a, a]).is_none());
    assert!(M8191::new(&[a, b]).is_none());
}

/// The product by its definition: the product of polynomials, then the remainder.
fn product(a: u16, b: u16) -> u16 {
    let mut product = (0..BITS).filter(|i| b >> i & 1 == 1).fold(0u32, |sum, i| sum ^ u32::from(a) << i);
    for i in (BITS..2 * BITS).rev() {
        if product >> i & 1 == 1 {
            product ^= u32::from(MODULUS) << (i - BITS);
        }
    }
    product as u16
}

#[test]
fn products_are_those_of_polynomials() {
    for a in (0..1 << BITS).step_by(7) {
        for b in (0..1 << BITS).step_by(61).chain([1, 2, 8191]) {
            assert_eq!(mul(a, b), product(a, b), "{a} times {b}");
        }
    }
}

#[test]
fn x_generates_the_units() {
    let (mut power, mut order) = (2, 1);
    while power != 1 {
        (power, order) = (mul(power, 2), order + 1);
    }
    assert_eq!(order, 8191);
}

#[test]
fn the_conjugates_are_a_basis_and_its_dual() {
    let basis = conjugates(self_dual());
    for (i, a) in basis.iter().enumerate() {
        for (j, b) in basis.iter().enumerate() {
            assert_eq!(trace(mul(*a, *b)), u16::from(i == j));
        }
    }
    // Coordinates are traces.
    for a in (0..1 << BITS).step_by(13) {
        let sum = basis.iter().fold(0, |sum, b| sum ^ (b * trace(mul(a, *b))));
        assert_eq!(sum, a);
    }
}
