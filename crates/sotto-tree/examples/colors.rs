//! Measures colorings: writing a binary tree's classes, and finding the rows of a secret leaf:
//! `cargo run --release -p sotto-tree --example colors -- [HEIGHT ...]`.
//!
//! Medians, with the minimum in brackets, on one thread. Classes are written for up to 28 layers;
//! every row is compared with that of the walk for public leaves. With
//! `GLIBC_TUNABLES=glibc.malloc.hugetlb=1` the classes are on huge pages.

use sotto_tree::coloring::Coloring;
use sotto_tree::shape::PerfectTree;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Leaves that are looked up between two readings of the clock.
const LEAVES: u64 = 64;

fn main() -> sotto_core::Result<()> {
    let heights: Vec<u8> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    for height in if heights.is_empty() { vec![20, 24, 30] } else { heights } {
        let shape = PerfectTree::new(2, height)?;
        let coloring = Coloring::new(shape);
        if height <= 28 {
            print(
                height,
                "written down",
                1,
                times(7, || coloring.classes().map(|classes| _ = black_box(classes)))?,
            );
        }
        let leaf = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) & (shape.leaves() - 1);
        for i in 0..LEAVES {
            assert!(coloring.secret_path(leaf(i))? == coloring.path(leaf(i))?, "leaf {}", leaf(i));
            assert!(coloring.secret_copath(leaf(i))? == coloring.copath(leaf(i))?, "leaf {}", leaf(i));
        }
        let all = |rows: &dyn Fn(u64) -> sotto_core::Result<()>| {
            times(101, || (0..LEAVES).try_for_each(|i| rows(leaf(i))))
        };
        print(
            height,
            "path",
            LEAVES,
            all(&|leaf| coloring.secret_path(leaf).map(|rows| _ = black_box(rows)))?,
        );
        print(
            height,
            "copath",
            LEAVES,
            all(&|leaf| coloring.secret_copath(leaf).map(|rows| _ = black_box(rows)))?,
        );
    }
    Ok(())
}

fn times(
    repeats: usize,
    mut work: impl FnMut() -> sotto_core::Result<()>,
) -> sotto_core::Result<Vec<Duration>> {
    let mut times = Vec::with_capacity(repeats);
    for _ in 0..repeats {
        let began = Instant::now();
        work()?;
        times.push(began.elapsed());
    }
    times.sort();
    Ok(times)
}

fn print(height: u8, name: &str, of: u64, times: Vec<Duration>) {
    let [median, least] = [times.len() / 2, 0]
        .map(|at| times.get(at).copied().unwrap_or_default().as_secs_f64() * 1e6 / of as f64);
    println!("height {height}, {name}: {median:.2} us ({least:.2})");
}
