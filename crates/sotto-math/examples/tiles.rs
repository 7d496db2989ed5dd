//! Prints what the pass over tiles reaches on this machine, for the backend in use.
//!
//! ```text
//! GLIBC_TUNABLES=glibc.malloc.hugetlb=1 cargo run --release -p sotto-math --example tiles -- [MiB]
//! ```
//!
//! One thread. Blocks of the table are read plainly and scanned in turns, because neighbours
//! change what memory gives; a figure is the faster quartile of the blocks. The variable makes
//! the C library ask for large pages, which a mapped image gets in other ways.

use sotto_math::machine;
use sotto_math::modulus::Modulus;
use sotto_math::tiles::{Selectors, TileLayout, Words, scan};
use std::hint::black_box;
use std::time::Instant;

fn main() {
    let mib = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(1024usize);
    println!("backend {}; GB/s of a plain read and of the scan, GB/s times queries", machine::backend());
    let prime = Modulus::new(1125899904679937);
    let pair =
        Modulus::new(268369921).zip(Modulus::new(249561089)).and_then(|(a, b)| Modulus::composite(a, b));
    for (name, q) in [("50-bit prime", prime), ("pair of 28-bit primes", pair)] {
        let Some(form) = q.and_then(|q| Words::new(&q)) else { continue };
        for (n, rows, comps) in [(4096, 256, 2), (2048, 512, 2), (4096, 128, 2), (2048, 256, 3)] {
            let Some(layout) = TileLayout::new(n, rows, (mib << 20) / (8 * n * rows)) else { continue };
            println!("{name}, n = {n}, {rows} rows x {} columns, {comps} components", layout.cols());
            for count in [1, 2, 3, 4, 8] {
                measure(&form, &layout, comps, count);
            }
        }
    }
}

/// Numbers without pattern, quickly.
fn noise(i: u64) -> u64 {
    let z = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (z ^ z >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

fn measure(form: &Words, layout: &TileLayout, comps: usize, count: usize) {
    let (n, bytes) = (layout.n(), layout.bytes() as usize);
    // Aligned to a line, as a mapped image is. Any words are as fast as reduced ones.
    let mut buffer = vec![0u8; bytes + 64];
    let at = buffer.as_ptr().align_offset(64);
    let tiles = &mut buffer[at..at + bytes];
    for (i, word) in tiles.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        *word = (noise(i as u64) >> 14).to_le_bytes();
    }
    let queries: Vec<Selectors> = (0..count)
        .map(|q| {
            let mut selectors = Selectors::new(form, layout, comps);
            for row in 0..layout.rows() {
                for comp in 0..comps {
                    let slots: Vec<u64> =
                        (0..n).map(|i| noise((row * n + i) as u64 ^ (q as u64) << 40) >> 14).collect();
                    selectors.set(row, comp, &slots);
                }
            }
            selectors
        })
        .collect();
    let queries: Vec<&Selectors> = queries.iter().collect();
    let mut out = vec![vec![0u64; n * layout.cols() * comps]; count];
    let per_block = layout.cols() * comps * 8;
    // About 8 MiB to a piece.
    let step = ((8 << 20) / layout.block_bytes()).max(1);
    let (mut reads, mut scans) = (vec![], vec![]);
    for pass in 0..2 {
        for (i, piece) in tiles.chunks(step * layout.block_bytes()).enumerate() {
            let blocks = i * step..i * step + piece.len() / layout.block_bytes();
            let start = Instant::now();
            if (i + pass) % 2 == 0 {
                black_box(machine::read_pass(piece));
                reads.push(start.elapsed().as_secs_f64() / piece.len() as f64);
            } else {
                let mut views: Vec<&mut [u64]> = out
                    .iter_mut()
                    .map(|o| &mut o[blocks.start * per_block..blocks.end * per_block])
                    .collect();
                scan(form, layout, piece, blocks, &queries, &mut views);
                scans.push(start.elapsed().as_secs_f64() / piece.len() as f64);
            }
        }
    }
    let rate = |mut seconds: Vec<f64>| {
        seconds.sort_by(f64::total_cmp);
        1e-9 / seconds.get(seconds.len() / 4).copied().unwrap_or(f64::NAN)
    };
    let (read, scan) = (rate(reads), rate(scans));
    println!(
        "  {count} queries: read {read:5.1}, scan {scan:5.1} ({:3.0} %), aggregate {:5.1}",
        100.0 * scan / read,
        scan * count as f64
    );
}
