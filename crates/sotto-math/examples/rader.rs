//! Prints the time of the transform modulo the cyclotomic polynomial of 8191 on this machine, for
//! the backend in use.
//!
//! ```text
//! cargo run --release -p sotto-math --example rader
//! SOTTO_SIMD=scalar cargo run --release -p sotto-math --example rader
//! ```
//!
//! One thread, microseconds, the best of several passes. For comparison, the time of only the two
//! transforms of length 16384 that the common approach takes.

use sotto_math::machine;
use sotto_math::modulus::Modulus;
use sotto_math::ntt::NttPlan;
use sotto_math::rader::{DEGREE, RaderPlan, WORDS, rotate};
use std::hint::black_box;
use std::time::Instant;

fn main() {
    println!("backend {}", machine::backend());
    let Some(q) = Modulus::new(1115595642470401) else { return };
    let (Some(plan), Some(long)) = (RaderPlan::new(q), NttPlan::new(16384, q)) else { return };
    let mut x: Vec<u64> = (0..WORDS as u64)
        .map(|i| if i < DEGREE as u64 { i * i * i * 0x9E37_79B9 % q.value() } else { 0 })
        .collect();
    let mut out = x.clone();
    println!("8190 values        {:7.1}", us(|| plan.forward(black_box(&mut x))));
    println!("back               {:7.1}", us(|| plan.inverse(black_box(&mut x))));
    println!("rotation           {:7.1}", us(|| rotate(13, black_box(&x), &mut out)));
    let mut x = vec![1; 16384];
    println!("transform of 16384 {:7.1}", us(|| long.forward(black_box(&mut x))));
    println!("back               {:7.1}", us(|| long.inverse(black_box(&mut x))));
}

/// Microseconds of one run.
fn us(mut run: impl FnMut()) -> f64 {
    const REPEAT: u32 = 5;
    let pass = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        (0..REPEAT).for_each(|_| run());
        start.elapsed().as_secs_f64() * 1e6 / f64::from(REPEAT)
    };
    (0..400).map(|_| pass(&mut run)).fold(f64::INFINITY, f64::min)
}
