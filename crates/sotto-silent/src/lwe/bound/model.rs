//! Tests of the proof's claims in rings small enough to count, and of its bound in one small enough
//! to measure.

use super::{against, proxies, vanishes_log2};
use sotto_lattice::noise;
use sotto_math::sample::Gaussian;
use sotto_testkit::rng::seeded;

/// The product a s modulo X^n + 1 and q.
fn times(a: &[i64], s: &[i64], q: i64) -> Vec<i64> {
    let n = a.len();
    let mut out = vec![0; n];
    for (i, a) in a.iter().enumerate() {
        for (j, s) in s.iter().enumerate() {
            let sign = if i + j < n { 1 } else { -1 };
            out[(i + j) % n] += sign * a * s;
        }
    }
    out.iter().map(|x| x.rem_euclid(q)).collect()
}

/// The value x(root) modulo q.
fn at(x: &[i64], root: i64, q: i64) -> i64 {
    x.iter().rev().fold(0, |sum, x| (sum * root + x).rem_euclid(q))
}

/// The roots of X^n + 1 modulo q.
fn roots(n: u32, q: i64) -> Vec<i64> {
    (1..q).filter(|x| (0..n).fold(1, |power, _| power * x % q) == q - 1).collect()
}

/// `x 2^bits / q` rounded to the nearest integer, minus the exact value, times q.
fn rounding(x: i64, bits: u32, q: i64) -> i64 {
    let exact = x << bits;
    (2 * exact + q) / (2 * q) * q - exact
}

#[test]
fn roundings_of_uniform_words_are_uniform_on_a_symmetric_grid() {
    for (q, bits) in [(97, 4), (97, 6), (12289, 8), (12289, 13)] {
        let mut seen: Vec<i64> = (0..q).map(|x| rounding(x, bits, q)).collect();
        seen.sort_unstable();
        assert_eq!(seen, (-(q - 1) / 2..=(q - 1) / 2).collect::<Vec<_>>(), "{q} {bits}");
        for u in [0.1, 1.0, 3.0, 10.0] {
            let mgf: f64 = seen.iter().map(|k| (u * *k as f64 / q as f64).exp()).sum::<f64>() / q as f64;
            assert!(mgf <= (u * u / 24.0).exp(), "{q} {u}: {mgf}");
        }
    }
}

#[test]
fn where_a_secret_vanishes_all_but_the_first_words_stay_free() {
    // n = 4, q = 17: every a of the ring is tried with a secret that vanishes at the first z roots.
    let (n, q) = (4, 17i64);
    let roots = roots(n, q);
    assert_eq!(roots.len(), 4);
    for z in 0..4 {
        // The product of the X - root has degree z, so it vanishes nowhere else.
        let s = roots[..z].iter().fold(vec![1, 0, 0, 0], |s, root| times(&s, &[-root, 1, 0, 0], q));
        assert_eq!(roots.iter().filter(|root| at(&s, **root, q) == 0).count(), z);
        let free = (4 - z) as u32;
        let mut seen = vec![0u32; 17usize.pow(free)];
        for code in 0..17i64.pow(4) {
            let a = [code % 17, code / 17 % 17, code / 289 % 17, code / 4913];
            let y = times(&a, &s, q);
            seen[y[z..].iter().fold(0, |sum, y| sum * 17 + *y as usize)] += 1;
        }
        assert!(seen.iter().all(|count| *count == 17u32.pow(z as u32)), "{z}");
    }
}

#[test]
fn secrets_vanish_no_oftener_than_bounded() {
    // n = 64, q = 257: one zero in every fourth secret, so that zeros are frequent enough to count.
    let (n, q, draws) = (64, 257i64, 1 << 13);
    let roots = roots(n, q);
    let (mut rng, gaussian) = (seeded("vanishing"), Gaussian::new(crate::lwe::ring::SIGMA));
    let mut at_least = [0u32; 3];
    for _ in 0..draws {
        let mut s = vec![0; n as usize];
        gaussian.fill(&mut rng, &mut s);
        let s: Vec<i64> = s.into_iter().map(i64::from).collect();
        let zeros = roots.iter().filter(|root| at(&s, **root, q) == 0).count();
        (0..3).filter(|z| *z <= zeros).for_each(|z| at_least[z] += 1);
    }
    for (z, count) in (0..).zip(at_least) {
        let (seen, most) =
            ((f64::from(count) / f64::from(draws)).log2(), vanishes_log2(n as usize, q as u32, z));
        assert!(count > 10 && seen <= most + 0.1, "{z}: {seen} {most}");
        // The measured value is not far below the bound either: C(n, z) counts a secret with more
        // zeros several times, which is the only loss.
        assert!(seen > most - 0.5, "{z}: {seen} {most}");
    }
}

#[test]
fn measured_noise_is_as_predicted_and_its_tail_below_the_bound() {
    // n = 64, Q = 12289, queries of 8 and of 14 bits: roundings dominate, then errors. One fixed A, as in use.
    let (n, q, blocks, draws) = (64usize, 12289i64, 4, 1 << 12);
    let mut rng = seeded("model");
    let wide = Gaussian::new(900.0);
    let mut draw = |gaussian: &Gaussian| {
        let mut x = vec![0; n];
        gaussian.fill(&mut rng, &mut x);
        x.into_iter().map(i64::from).collect::<Vec<_>>()
    };
    // Any fixed numbers will do for A; a sum of three wide Gaussians is uniform modulo Q up to 2^-7
    // of it.
    let a: Vec<Vec<i64>> = (0..blocks)
        .map(|_| {
            let [x, y, z] = [draw(&wide), draw(&wide), draw(&wide)];
            (0..n).map(|i| (x[i] + 37 * y[i] + 1361 * z[i]).rem_euclid(q)).collect()
        })
        .collect();
    let gaussian = Gaussian::new(crate::lwe::ring::SIGMA);
    for bits in [8, 14] {
        let scale = f64::from(bits).exp2() / q as f64;
        let noises: Vec<f64> = (0..draws)
            .map(|_| {
                let s = draw(&gaussian);
                let of_block = |a: &Vec<i64>, e: Vec<i64>| {
                    let words = times(a, &s, q);
                    let noise = |(y, e): (&i64, &i64)| {
                        let rho = rounding((y + e).rem_euclid(q), bits, q) as f64 / q as f64;
                        -128.0 * (scale * *e as f64 + rho)
                    };
                    words.iter().zip(&e).map(noise).sum::<f64>()
                };
                a.iter().map(|a| of_block(a, draw(&gaussian))).sum()
            })
            .collect();
        let parts = proxies((blocks * n) as u64, scale);
        let proxy = parts[0] + parts[1];
        let measured = noises.iter().map(|x| x * x).sum::<f64>() / f64::from(draws);
        // In bits of deviation; 4096 draws determine it to 0.02.
        let off = 0.5 * (measured / proxy).log2();
        assert!(off.abs() < 0.1, "{bits} bits: {off}");
        for deviations in [1.0, 1.5, 2.0, 2.5, 3.0] {
            let margin = deviations * proxy.sqrt();
            let beyond = noises.iter().filter(|x| x.abs() > margin).count() as f64 / f64::from(draws);
            let bound = noise::tail_log2(margin, proxy);
            assert!(beyond > 0.0 && beyond.log2() <= bound, "{bits} bits, {deviations}: {beyond} {bound}");
            assert!(
                noise::failure_apart_log2(margin, against(parts), 1.0) >= bound,
                "{bits} bits, {deviations}"
            );
        }
    }
}
