//! Prints the rate of each kernel on this machine, for the backend in use.
//!
//! ```text
//! cargo run --release -p sotto-math --example kernels -- [MiB of matrix]
//! SOTTO_SIMD=avx2 cargo run --release -p sotto-math --example kernels
//! ```
//!
//! One thread. Scans are the faster quartile of pieces of 8 MiB, interleaved with plain reads,
//! because other guests of the machine change its memory bandwidth; all other figures are the best
//! of several passes.

use sotto_math::bitslice::{self, GROUP, RUN_RECORDS, SelectionMatrices};
use sotto_math::machine;
use sotto_math::matrix::{PanelLayout, QueryPlanes, dot_rows, dot_rows_many, scan_planes};
use sotto_math::modulus::Modulus;
use sotto_math::ntt::NttPlan;
use sotto_math::sample::Gaussian;
use std::hint::black_box;
use std::time::Instant;

const COLS: usize = 32768;
/// Panels of 2 MiB in a piece.
const PIECE_PANELS: usize = 4;

fn main() {
    let mib = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(1024usize);
    println!("backend {}", machine::backend());
    scans(mib << 20);
    selections(mib << 20);
    transforms(1024, 4294828033);
    transforms(1024, 4294955009);
    transforms(2048, 268369921);
    transforms(4096, 268369921);
    transforms(2048, 1125899904679937);
    dots();
    samples();
}

/// Seconds of the fastest of `passes` runs.
fn best(passes: usize, mut run: impl FnMut()) -> f64 {
    let one = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    };
    (0..passes).map(|_| one(&mut run)).fold(f64::INFINITY, f64::min)
}

/// A fast source of irregular numbers.
fn noise(i: u64) -> u64 {
    let z = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (z ^ z >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

/// Measures reads and scans of one large matrix, piece by piece in turn: pieces are so short that
/// few are interrupted, and the matrix is so large that none is still in a cache.
fn scans(bytes: usize) {
    let layout = PanelLayout::new(bytes / COLS, COLS);
    // Aligned to a line: the image format is, too.
    let mut buffer = vec![0u8; layout.bytes() + 64];
    let at = buffer.as_ptr().align_offset(64);
    let matrix = &mut buffer[at..at + layout.bytes()];
    for (i, word) in matrix.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        *word = noise(i as u64).to_le_bytes();
    }
    let piece = PIECE_PANELS * layout.panel_bytes();
    println!(
        "matrix {} x {COLS}: GB/s of a plain read and of the scan, GB/s times queries",
        layout.padded_rows()
    );
    for planes in [3, 4, 5, 7, 8] {
        for count in [1, 2, 4, 8] {
            let words = |q: usize| (0..COLS as u64).map(|c| noise(c << 8 | q as u64)).collect::<Vec<_>>();
            let queries: Vec<_> =
                (0..count).map(|q| QueryPlanes::from_u64(&words(q), planes, &layout)).collect();
            let queries: Vec<_> = queries.iter().collect();
            let mut out = vec![vec![0i64; PIECE_PANELS * 64 * planes]; count];
            let (mut reads, mut scans) = (vec![], vec![]);
            for pass in 0..2 {
                for (i, piece) in matrix.chunks_exact(piece).enumerate() {
                    let mut views: Vec<&mut [i64]> = out.iter_mut().map(|o| &mut o[..]).collect();
                    if (i + pass) % 2 == 0 {
                        reads.push(best(1, || _ = black_box(machine::read_pass(piece))));
                    } else {
                        scans.push(best(1, || scan_planes(piece, &layout, &queries, &mut views)));
                    }
                }
            }
            let rate = |mut seconds: Vec<f64>| {
                seconds.sort_by(f64::total_cmp);
                let quartile = seconds.get(seconds.len() / 4).copied().unwrap_or(f64::NAN);
                piece as f64 / quartile / 1e9
            };
            let (read, scan) = (rate(reads), rate(scans));
            println!(
                "  {planes} planes, {count} queries: read {read:5.1}, scan {scan:5.1} ({:3.0} %), aggregate {:5.1}",
                100.0 * scan / read,
                scan * count as f64
            );
        }
    }
}

/// Measures reads and passes over records of several widths, in turn, each over all of the memory.
fn selections(bytes: usize) {
    let mut buffer = vec![1u8; bytes + 64];
    let at = buffer.as_ptr().align_offset(64);
    let records = &mut buffer[at..at + bytes];
    println!("records selected by a bit each, GB/s of a plain read and of the pass");
    for record_bytes in [8, 16, 32, 64, 96, 128, 256, 1024, 8192] {
        for queries in [1, 8, 32] {
            let groups = usize::div_ceil(queries, GROUP);
            // As a server does: as many selections as stay in the second-level cache.
            let runs = ((512 << 10) / (groups * size_of::<SelectionMatrices>())).clamp(1, 512);
            let turn = (runs * RUN_RECORDS * record_bytes).min(bytes);
            let runs = (turn / (record_bytes * 8)).div_ceil(64);
            let selections: Vec<SelectionMatrices> =
                (0..runs * groups).map(|i| std::array::from_fn(|k| noise((i * 64 + k) as u64))).collect();
            let mut sums = vec![0; groups * record_bytes * 8];
            let (mut reads, mut passes) = (vec![], vec![]);
            for _ in 0..5 {
                reads.push(best(1, || _ = black_box(machine::read_pass(records))));
                passes.push(best(1, || {
                    for turn in records.chunks_exact(turn) {
                        bitslice::scan(turn, record_bytes, queries, &selections, &mut sums);
                    }
                }));
            }
            let median = |mut seconds: Vec<f64>| {
                seconds.sort_by(f64::total_cmp);
                bytes as f64 / seconds.get(seconds.len() / 2).copied().unwrap_or(f64::NAN) / 1e9
            };
            let (read, pass) = (median(reads), median(passes));
            println!(
                "  {record_bytes:4} bytes, {queries:2} queries: read {read:5.1}, pass {pass:5.1} ({:3.0} %)",
                100.0 * pass / read
            );
        }
    }
}

fn transforms(n: usize, q: u64) {
    let Some(plan) = Modulus::new(q).and_then(|q| NttPlan::new(n, q)) else { return };
    let mut x: Vec<u64> = (0..n as u64).map(|i| noise(i) % q).collect();
    let b = x.clone();
    let bytes: Vec<i8> = (0..n as u64).map(|i| noise(i) as i8).collect();
    let mut acc = plan.accumulator();
    const REPEAT: usize = 1000;
    let ns =
        |mut run: Box<dyn FnMut() + '_>| best(20, || (0..REPEAT).for_each(|_| run())) * 1e9 / REPEAT as f64;
    println!("transforms of {n} modulo {q}, ns");
    println!("  forward                       {:7.0}", ns(Box::new(|| plan.forward(black_box(&mut x)))));
    println!("  inverse                       {:7.0}", ns(Box::new(|| plan.inverse(black_box(&mut x)))));
    println!(
        "  forward of bytes              {:7.0}",
        ns(Box::new(|| plan.forward_i8(black_box(&bytes), &mut x)))
    );
    println!(
        "  forward of bytes, mul and add {:7.0}",
        ns(Box::new(|| plan.forward_i8_mul_acc(black_box(&bytes), &b, &mut acc)))
    );
    println!(
        "  mul and add, wide             {:7.0}",
        ns(Box::new(|| plan.mul_acc_wide(&mut acc, black_box(&b), &b)))
    );
    println!(
        "  mul and add, reduced          {:7.0}",
        ns(Box::new(|| plan.mul_acc(&mut x, black_box(&b), &b)))
    );
}

fn dots() {
    const N: usize = 1024;
    let rows = 32768;
    let h: Vec<u32> = (0..(rows * N) as u64).map(|i| noise(i) as u32).collect();
    let s: Vec<i32> = (0..N as u64).map(|i| (noise(i) % 200) as i32 - 100).collect();
    let mut y = vec![vec![0; rows]; 4];
    let one = best(6, || dot_rows(&h, N, &s, &mut y[0]));
    let mut views: Vec<&mut [i64]> = y.iter_mut().map(|y| &mut y[..]).collect();
    let four = best(6, || dot_rows_many(&h, N, &[&s[..]; 4], &mut views));
    let rate = |seconds: f64| h.len() as f64 * 4.0 / seconds / 1e9;
    println!(
        "dot of 128 MiB: one vector {:.2} ms ({:.1} GB/s), four {:.2} ms",
        one * 1e3,
        rate(one),
        four * 1e3
    );
}

fn samples() {
    let Ok(mut rng) = sotto_prg::system_rng() else { return };
    let mut out = vec![0; 34 * 1024];
    for sigma in [6.4, 11.0] {
        let g = Gaussian::new(sigma);
        let seconds = best(20, || g.fill(&mut rng, black_box(&mut out)));
        println!("gaussian, sigma {sigma}: {:.3} ms for {} samples", seconds * 1e3, out.len());
    }
}
