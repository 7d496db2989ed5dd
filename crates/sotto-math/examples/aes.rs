//! Prints the rates of AES and of the search that it feeds on this machine, for the backend in use.
//!
//! ```text
//! cargo run --release -p sotto-math --example aes
//! SOTTO_SIMD=avx2 cargo run --release -p sotto-math --example aes
//! ```
//!
//! One thread, outputs that stay in the first-level cache, other inputs in each pass; the best of
//! many passes. A block is ten rounds, so the upper limit of any code is clock times rounds per
//! cycle times blocks per register, over ten.

use sotto_math::aes::{Aes, double, widen};
use sotto_math::find::{Matches, Needle};
use sotto_math::machine;
use std::hint::black_box;
use std::time::Instant;

/// Outputs of a pass: 16 KiB.
const BLOCKS: usize = 1024;
/// Number of passes between two readings of the clock.
const REPEAT: u64 = 200;
const TRIALS: u64 = 300;

fn main() {
    println!("backend {}: giga-blocks/s", machine::backend());
    let keys = [Aes::new(&[1; 16]), Aes::new(&[2; 16])];
    let mut out = vec![[0; 16]; BLOCKS];
    for ny in [1, 4, 7, 32, BLOCKS] {
        let nx = BLOCKS / ny;
        let out = &mut out[..nx * ny];
        rate(&format!("grid of {nx} by {ny}"), nx * ny, |i| {
            keys[0].grid(i, nx, i << 20, ny, out);
            black_box(out.first_mut());
        });
    }
    let mut seeds = vec![[0; 16]; BLOCKS];
    keys[1].grid(0, BLOCKS, 0, 1, &mut seeds);
    rate("mmo", BLOCKS, |i| {
        vary(&mut seeds, i);
        keys[0].mmo(&seeds, &mut out);
        black_box(out.first_mut());
    });
    for n in [1, 4, 16, BLOCKS / 2] {
        rate(&format!("double of {n}"), 2 * n, |i| {
            vary(&mut seeds, i);
            double(&keys[0], &keys[1], &seeds[..n], &mut out[..2 * n]);
            black_box(out.first_mut());
        });
    }
    rate("widen", BLOCKS, |i| {
        vary(&mut seeds, i);
        widen(&keys[0], &seeds[..BLOCKS / 4], &mut out);
        black_box(out.first_mut());
    });
    search(&keys[0]);
}

/// Measures the search in offsets of blocks and tags of a list, of which one in 512 pairs is a hit,
/// as in the search for hints.
fn search(key: &Aes) {
    const WORDS: usize = 8192;
    let tag = |i: u64| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u16 & 1023;
    let tags: Vec<u16> = (0..WORDS as u64).map(tag).collect();
    let mut found = Matches::new(256);
    rate("search, giga-words", WORDS, |i| {
        found.clear();
        let needle = Needle { word: i as u16 & 1023, mask: 1023, tag: (i >> 3) as u16 & 1023 };
        key.find([i, 0], &tags, needle, 0, &mut found);
        black_box(&found);
    });
}

fn vary(seeds: &mut [[u8; 16]], i: u64) {
    if let Some(first) = seeds.first_mut() {
        first[..8].copy_from_slice(&i.to_le_bytes());
    }
    black_box(seeds);
}

/// Prints the best rate of many trials, and the median. The input of a pass differs in each.
fn rate(name: &str, items: usize, mut pass: impl FnMut(u64)) {
    let mut seconds: Vec<f64> = (0..TRIALS)
        .map(|trial| {
            let start = Instant::now();
            (0..REPEAT).for_each(|i| pass(trial * REPEAT + i));
            start.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    let giga = |seconds: f64| items as f64 * REPEAT as f64 / seconds / 1e9;
    let median = seconds.get(seconds.len() / 2).copied().unwrap_or(f64::NAN);
    let best = seconds.first().copied().unwrap_or(f64::NAN);
    println!("  {name:20} best {:6.3}, median {:6.3}", giga(best), giga(median));
}
