//! Prints what the tree of a log takes on this machine, on one thread: nothing but hashing.
//!
//! `cargo run --release -p sotto-tree --example build -- [height]...`
//!
//! The best of three runs, over leaves that are fresh for each. "leaves" hashes entries of 8 bytes, "subtrees" what is
//! above, in runs of 256 as tiles have them, "runs" the same with every node told of, and "one by one" the same leaf by
//! leaf.

use sotto_tree::log::{Hash, Peaks, hash, subtree};
use std::hint::black_box;
use std::time::Instant;

/// Leaves of a tile.
const RUN: usize = 256;

fn seconds(mut run: impl FnMut(u64)) -> f64 {
    let time = |round| {
        let start = Instant::now();
        run(round);
        start.elapsed().as_secs_f64()
    };
    (0..3).map(time).fold(f64::INFINITY, f64::min)
}

/// The root over runs of hashes, each of them complete.
fn tree(leaves: &[Hash]) -> sotto_core::Result<Hash> {
    if leaves.len() <= RUN {
        return subtree::root(leaves);
    }
    let above = leaves.chunks(RUN).map(subtree::root).collect::<sotto_core::Result<Vec<_>>>()?;
    tree(&above)
}

fn main() -> sotto_core::Result<()> {
    let heights: Vec<u32> = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect();
    let heights = if heights.is_empty() { vec![20, 24] } else { heights };
    println!("| h | leaves, s | subtrees, s | runs, s | one by one, s |");
    println!("|---|---|---|---|---|");
    for height in heights {
        let mut leaves: Vec<Hash> = vec![[0; 32]; 1 << height];
        let hashed = seconds(|round| {
            for (index, leaf) in (round << height..).zip(&mut leaves) {
                *leaf = hash::leaf(&index.to_be_bytes());
            }
        });
        let mut roots = Vec::new();
        let runs = seconds(|round| {
            leaves[0][0] = round as u8;
            roots.push(tree(&leaves));
        });
        let mut same = 0;
        let together = seconds(|round| {
            leaves[0][0] = round as u8;
            let mut peaks = Peaks::new();
            peaks.extend(&leaves, |node| _ = black_box(node));
            same += usize::from(roots.iter().any(|root| root.as_ref().ok() == Some(&peaks.root())));
        });
        let single = seconds(|round| {
            leaves[0][0] = round as u8;
            let mut peaks = Peaks::new();
            leaves.iter().for_each(|leaf| peaks.append(*leaf, |node| _ = black_box(node)));
            same += usize::from(roots.iter().any(|root| root.as_ref().ok() == Some(&peaks.root())));
        });
        assert_eq!(same, 6, "all ways lead to one root");
        println!("| {height} | {hashed:.2} | {runs:.2} | {together:.2} | {single:.2} |");
    }
    Ok(())
}
