//! Prints what colouring a tree and finding a leaf's rows take on this machine, on one thread.
//!
//! `cargo run --release -p sotto-tree --example colouring -- [arity] [height]...`
//!
//! Medians of several runs; leaves are fresh for each walk. "written down" is the whole list of nodes, which no table
//! needs; it is left out where it would not fit.

use sotto_tree::{Colouring, Place, Shape};
use std::hint::black_box;
use std::time::Instant;

fn microseconds<T>(rounds: usize, mut run: impl FnMut(usize) -> T) -> f64 {
    let mut times: Vec<f64> = (0..rounds)
        .map(|round| {
            let start = Instant::now();
            black_box(run(round));
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() -> sotto_core::Result<()> {
    let args: Vec<u64> = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect();
    let arity = args.first().copied().unwrap_or(2) as u16;
    let heights = if args.len() > 1 { args[1..].to_vec() } else { vec![10, 16, 20, 24, 28, 30, 36] };
    println!(
        "| q | h | states | made, us | written down, ms | path, us | secret path, us | secret siblings, us |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for height in heights {
        let shape = Shape::new(arity, height as u8)?;
        let made = microseconds(21, |_| Colouring::new(shape));
        let colouring = Colouring::new(shape);
        let fits = shape.nodes() < u32::MAX.into() && height <= 30;
        let written = fits.then(|| microseconds(3, |_| colouring.classes()) / 1e3);
        let leaf = |i: usize| (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) % shape.leaves();
        let mut places: Vec<Place> = Vec::new();
        // Walks are shorter than a look at the clock.
        let each = |walk: &mut dyn FnMut(u64)| {
            microseconds(51, |round| (0..100).for_each(|i| walk(leaf(round * 100 + i)))) / 100.0
        };
        let path = each(&mut |leaf| drop(black_box(colouring.path_into(leaf, &mut places))));
        let secret = each(&mut |leaf| drop(black_box(colouring.secret_path(leaf))));
        let siblings = (arity == 2).then(|| each(&mut |leaf| drop(black_box(colouring.secret_copath(leaf)))));
        let or_none =
            |value: Option<f64>, digits: usize| value.map_or("-".into(), |v| format!("{v:.digits$}"));
        println!(
            "| {arity} | {height} | {} | {made:.0} | {} | {path:.2} | {secret:.2} | {} |",
            colouring.states(),
            or_none(written, 2),
            or_none(siblings, 2)
        );
    }
    Ok(())
}
