//! Prints the time of arithmetic in a ring on this machine, for the backend in use.
//!
//! ```text
//! cargo run --release -p sotto-math --example rings
//! SOTTO_SIMD=avx2 cargo run --release -p sotto-math --example rings
//! ```
//!
//! One thread, microseconds for one polynomial, the best of several passes.

use sotto_math::gadget::Gadget;
use sotto_math::machine;
use sotto_math::modulus::Modulus;
use sotto_math::modulus_pair::ModulusPair;
use sotto_math::ntt::NttPlan;
use std::hint::black_box;
use std::time::Instant;

fn main() {
    println!("backend {}", machine::backend());
    let prime = |q| Modulus::new(q);
    let composite = || Modulus::composite(prime(268369921)?, prime(249561089)?);
    let moduli = [
        ("28-bit prime", prime(268369921)),
        ("40-bit prime", prime(1099510054913)),
        ("50-bit prime", prime(1125899904679937)),
        ("composite", composite()),
    ];
    for (name, q) in moduli {
        for n in [1024, 2048, 4096, 8192] {
            if let Some(plan) = q.and_then(|q| NttPlan::new(n, q)) {
                print!("{name:12} n {n:4}: ");
                ring(&plan);
            }
        }
    }
    let special = prime(1125899906826241);
    if let Some(pair) = prime(1125899904679937).zip(special).and_then(|(q, q2)| ModulusPair::new(q, q2)) {
        print!("two 50-bit primes: ");
        two(&pair, [(2, 31, 38), (3, 21, 37)]);
    }
    if let Some(pair) = composite().zip(prime(16760833)).and_then(|(q, q2)| ModulusPair::new(q, q2)) {
        print!("composite and 24 bits: ");
        two(&pair, [(4, 20, 0), (6, 15, 0)]);
    }
}

/// Microseconds of one run.
fn us(mut run: impl FnMut()) -> f64 {
    const REPEAT: u32 = 200;
    let pass = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        (0..REPEAT).for_each(|_| run());
        start.elapsed().as_secs_f64() * 1e6 / f64::from(REPEAT)
    };
    (0..40).map(|_| pass(&mut run)).fold(f64::INFINITY, f64::min)
}

/// A fast source of irregular numbers, aligned to cache lines: loads of 64 bytes across two lines
/// take twice as long.
fn noise(q: &Modulus, n: usize, seed: u64) -> &'static mut [u64] {
    let mix = |i: u64| {
        let z = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (z ^ z >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
    };
    let buffer = vec![0; n + 7].leak();
    let start = buffer.as_ptr().align_offset(64).min(7);
    let x = &mut buffer[start..start + n];
    x.iter_mut().zip(0..).for_each(|(x, i)| *x = q.reduce(mix(seed << 32 | i)));
    x
}

fn ring(plan: &NttPlan) {
    let (n, q) = (plan.n(), plan.modulus());
    let [x, y, m, out] = [1, 2, 3, 4].map(|seed| noise(q, n, seed));
    print!("forward {:6.2}", us(|| plan.forward(black_box(&mut *x))));
    print!(", inverse {:6.2}", us(|| plan.inverse(black_box(&mut *x))));
    if let Some(automorphism) = plan.automorphism(n / 4 + 1) {
        print!(", automorphism {:5.2}", us(|| automorphism.apply(black_box(&*x), &mut *out)));
    }
    print!(", add {:5.2}", us(|| plan.add(black_box(&mut *x), y)));
    print!(", mul {:5.2}", us(|| plan.mul(black_box(&mut *x), y)));
    print!(", split {:5.2}", us(|| plan.split(black_box(&mut *x), y, m, &mut *out)));
    let factors: Vec<&[u64]> = (10..26).map(|seed| &*noise(q, n, seed)).collect();
    for count in [4, 8] {
        let (a, b) = (&factors[..count], &factors[8..8 + count]);
        print!(", {count} products {:5.2}", us(|| plan.sum_of_products(black_box(a), b, &mut *out)));
    }
    for l in [2, 4] {
        let Some(gadget) = Gadget::new(l, q.bits().div_ceil(l), 0) else { continue };
        let mut digits = vec![0; n * l as usize];
        print!(", {l} digits {:5.2}", us(|| gadget.decompose(q, black_box(&*x), &mut digits)));
    }
    println!();
}

fn two(pair: &ModulusPair, gadgets: [(u32, u32, u32); 2]) {
    let n = 4096;
    let [x, correction] = [1, 2].map(|seed| noise(pair.modulus(), n, seed));
    let x_special = &*noise(pair.special(), n, 3);
    print!("n {n}: centered {:5.2}", us(|| pair.centered(black_box(x_special), &mut *correction)));
    print!(", lower {:5.2}", us(|| pair.lower(black_box(&mut *x), correction)));
    for (l, base, drop) in gadgets {
        let Some(gadget) = Gadget::new(l, base, drop) else { continue };
        let mut out = [vec![0; n * l as usize], vec![0; n * l as usize]];
        let [a, b] = &mut out;
        print!(
            ", {l} digits {:5.2}",
            us(|| gadget.decompose_pair(pair, [black_box(&*x), x_special], [a, b]))
        );
    }
    println!();
}
