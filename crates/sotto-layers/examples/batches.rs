//! Prints how often batch codes fail, and what making one takes on this machine, on one thread.
//!
//! ```text
//! cargo run --release -p sotto-layers --example batches -- fail [batches] [height]...
//! cargo run --release -p sotto-layers --example batches -- make [height]...
//! cargo run --release -p sotto-layers --example batches -- round [rows at once]...
//! ```
//!
//! Tables are the nodes of a binary tree without the root, and requests have one node of each
//! layer: drawn at random among all nodes ("random"), or the path to a random leaf ("proofs", nodes
//! numbered by layers). `fail` counts the batches of which exact matching leaves more than 0, 1 and
//! 2 rows without a bucket, next to the bound, with a new seed for each thousand; `make` finds all
//! rows of all buckets, and then again with 32 bytes copied for each, bucket after bucket. `round`
//! plans requests for random rows of 2^21. Times are processor time, medians of three; a request of
//! `make` is timed on the wall, median of 300.

use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use sotto_core::Layer;
use sotto_layers::BatchCode;
use sotto_layers::batch_code::code::CodeSizes;
use sotto_layers::batch_code::permutation::Placement;
use sotto_layers::batch_code::permutation::{FeistelDomain, Permutations};
use sotto_prg::PublicSeed;
use std::hint::black_box;
use std::time::Instant;

fn main() -> sotto_core::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mut numbers = args.iter().skip(1).filter_map(|arg| arg.parse::<u64>().ok());
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    match args.first().map(String::as_str) {
        Some("fail") => {
            let batches = numbers.next().unwrap_or(100_000);
            println!("| h | requests | w | g | > 0 left over | bound | > 1 | bound | > 2 | bound |");
            println!("|---|---|---|---|---|---|---|---|---|---|");
            numbers.for_each(|height| fail(height, batches, &mut rng));
        }
        Some("make") => {
            println!(
                "| h | code (w, g, s) | tables of round functions, ms | rows, s | rows and bytes, s | a request, us |"
            );
            println!("|---|---|---|---|---|---|");
            numbers.try_for_each(|height| make(height, &mut rng))?;
        }
        Some("round") => {
            println!(
                "| rows | w | g | s | lookups | fails at most | steps | fitted, ms | checked, ms | a request, ms |"
            );
            println!("|---|---|---|---|---|---|---|---|---|---|");
            numbers.try_for_each(|items| round(items as usize, &mut rng))?;
        }
        _ => println!("fail, make or round"),
    }
    Ok(())
}

fn round(items: usize, rng: &mut ChaCha20Rng) -> sotto_core::Result<()> {
    let rows = 1 << 21;
    let sizes = CodeSizes::fit(rows, items)?;
    let code = BatchCode::new(sizes, &PublicSeed([7; 32]))?;
    let fitted = seconds(3, || CodeSizes::fit(rows, items).is_ok());
    let checked = seconds(3, || sizes.check().is_ok());
    let planned = seconds(3, || {
        let request: Vec<u64> = (0..items).map(|_| below(rows, rng)).collect();
        code.plan(&request, rng).is_ok()
    });
    let CodeSizes { copies, buckets, spare, .. } = sizes;
    println!(
        "| {items} | {copies} | {buckets} | {spare} | {} | 2^{:.1} | {} | {:.1} | {:.1} | {:.1} |",
        sizes.lookups(),
        sizes.failure_log2(),
        sizes.search_budget().steps,
        fitted * 1e3,
        checked * 1e3,
        planned * 1e3
    );
    Ok(())
}

fn below(n: u64, rng: &mut ChaCha20Rng) -> u64 {
    ((u128::from(rng.next_u64()) * u128::from(n)) >> 64) as u64
}

/// Counts failures of codes with 1.5 buckets for each row, and of the code that fits.
fn fail(height: u64, batches: u64, rng: &mut ChaCha20Rng) {
    let (rows, items) = ((2 << height) - 2, height as usize);
    let fit = CodeSizes::fit(rows, items).map(|sizes| (sizes.copies, sizes.buckets));
    let codes = [(3, items.div_ceil(2))].into_iter().chain(fit);
    for (copies, buckets) in codes.filter(|(copies, _)| *copies > 0) {
        for proofs in [false, true] {
            let mut over = [0u64; 3];
            let many = 1000;
            for _ in 0..batches / many {
                let mut seed = [0; 32];
                rng.fill_bytes(&mut seed);
                let permutations = Permutations::new(FeistelDomain::new(rows), &PublicSeed(seed));
                let batch = |rng: &mut ChaCha20Rng| -> Vec<u64> {
                    let leaf = rng.next_u64();
                    // Layer k begins after the 2^k - 2 nodes above it.
                    let node = |k: u64| (1 << k) - 2 + (leaf & ((1 << k) - 1));
                    if proofs {
                        return (1..=height).map(node).collect();
                    }
                    let mut batch = Vec::new();
                    while batch.len() < items {
                        // A row that is requested twice is fetched once.
                        let row = below(rows, rng);
                        if !batch.contains(&row) {
                            batch.push(row);
                        }
                    }
                    batch
                };
                let requested: Vec<u64> = (0..many).flat_map(|_| batch(rng)).collect();
                let positions = permutations.positions(copies, &requested);
                for i in 0..many as usize {
                    let lists: Vec<&[u64]> = positions.chunks_exact(requested.len()).collect();
                    let of_batch = |(copy, list): (usize, &&[u64])| {
                        let positions = list[i * items..][..items].iter();
                        positions.map(|p| copy * buckets + (*p % buckets as u64) as usize).collect()
                    };
                    let choices: Vec<_> = lists.iter().enumerate().map(of_batch).collect();
                    let left = left_over(&choices, copies * buckets);
                    over.iter_mut().take(left).for_each(|over| *over += 1);
                }
            }
            print!("| {height} | {} | {copies} | {buckets}", if proofs { "proofs" } else { "random" });
            for (spare, over) in over.iter().enumerate() {
                let bound = CodeSizes { rows, items, copies, buckets, spare }.failure_log2();
                let share = *over as f64 / batches as f64;
                print!(" | {over}: 2^{:.1} | 2^{bound:.1}", share.log2());
            }
            println!(" |");
        }
    }
}

/// Number of items that no maximum matching serves.
fn left_over(choices: &[Vec<usize>], buckets: usize) -> usize {
    fn reach(i: usize, choices: &[Vec<usize>], holders: &mut [usize], seen: &mut [bool]) -> bool {
        choices.iter().any(|list| {
            let v = list[i];
            if seen[v] {
                return false;
            }
            seen[v] = true;
            let reached = holders[v] == usize::MAX || reach(holders[v], choices, holders, seen);
            if reached {
                holders[v] = i;
            }
            reached
        })
    }
    let items = choices.first().map_or(0, Vec::len);
    let mut holders = vec![usize::MAX; buckets];
    (0..items).filter(|i| !reach(*i, choices, &mut holders, &mut vec![false; buckets])).count()
}

/// Processor time of this thread, if the system reports it.
fn processor() -> Option<f64> {
    let spent = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(spent.split(' ').next()?.parse::<f64>().ok()? / 1e9)
}

fn seconds<T>(rounds: usize, mut run: impl FnMut() -> T) -> f64 {
    let mut times: Vec<f64> = (0..rounds)
        .map(|_| {
            let (start, before) = (Instant::now(), processor());
            black_box(run());
            let (wall, after) = (start.elapsed().as_secs_f64(), processor());
            // The system counts in ticks, which are too long for very short measurements.
            before.zip(after).filter(|_| wall > 0.01).map_or(wall, |(before, after)| after - before)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn make(height: u64, rng: &mut ChaCha20Rng) -> sotto_core::Result<()> {
    let (rows, items) = ((2 << height) - 2, height as usize);
    let published = CodeSizes { rows, items, copies: 3, buckets: items.div_ceil(2), spare: 0 };
    // The least number of spare lookups that makes the code valid.
    let published = (published.spare..=items).map(|spare| CodeSizes { spare, ..published });
    let published = published.into_iter().find(|sizes| sizes.check().is_ok());
    for sizes in [Some(CodeSizes::fit(rows, items)?), published].into_iter().flatten() {
        let code = BatchCode::new(sizes, &PublicSeed([height as u8; 32]))?;
        let tables = seconds(3, || code.permutations().inverse(0));
        let mut sources = vec![0; 4096];
        let mut pass = |each: &mut dyn FnMut(&[u64])| -> sotto_core::Result<()> {
            let placement = Placement::new(&code);
            for bucket in 0..code.buckets() {
                let mut from = 0;
                while from < code.bucket_rows() {
                    let n = (code.bucket_rows() - from).min(sources.len() as u64) as usize;
                    placement.rows(bucket, from, &mut sources[..n])?;
                    each(&sources[..n]);
                    from += n as u64;
                }
            }
            Ok(())
        };
        let numbers = seconds(3, || {
            pass(&mut |sources| {
                black_box(sources.first());
            })
        });
        let table: Vec<[u8; 32]> = (0..rows).map(|row| [row as u8; 32]).collect();
        let mut bucket = vec![[0; 32]; code.bucket_rows() as usize];
        let bytes = seconds(3, || {
            let mut at = 0;
            pass(&mut |sources| {
                for source in sources {
                    // All buckets have the same length, and the next begins where the last one
                    // began.
                    bucket[at] = table.get(*source as usize).copied().unwrap_or([0; 32]);
                    at += 1;
                    at = if at == bucket.len() { 0 } else { at };
                }
            })
        });
        let requests: Vec<Vec<u64>> =
            (0..300).map(|_| (0..items).map(|_| below(rows, rng)).collect()).collect();
        let mut requests = requests.iter().cycle();
        let request = seconds(300, || requests.next().map(|request| code.plan(request, rng).is_ok()));
        println!(
            "| {height} | ({}, {}, {}) | {:.2} | {numbers:.3} | {bytes:.3} | {:.0} |",
            sizes.copies,
            sizes.buckets,
            sizes.spare,
            tables * 1e3 * sizes.copies as f64,
            request * 1e6
        );
    }
    Ok(())
}
