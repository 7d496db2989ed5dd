//! Prints what the parts of S3PIR take on this machine, beside its peaks.
//!
//! ```text
//! GLIBC_TUNABLES=glibc.malloc.hugetlb=1 cargo run --release -p s3pir --example s3pir-passes -- [log2 rows] [row
//! bytes] [partitions] [queries]
//! ```
//!
//! One thread; seconds are those of the processor. Cuts are those of all ids, of 2^16 at most; the stream is the
//! first `partitions` of the table, all if not
//! said; both are scaled to the whole. Of the gather the figures are over queries, each with fresh offsets: what was asked
//! before is in a cache. The setting makes the C library ask for large pages, which are what a server's image lies in.

use s3pir::offline::cuts::cuts;
use s3pir::offline::pass::Fold;
use s3pir::params::Params;
use s3pir::prf::Prf;
use sotto_core::{Params as _, Result, Shape};
use sotto_math::aes::Aes;
use sotto_math::gather::{Picks, Rows, gather};
use sotto_math::machine;
use std::hint::black_box;
use std::time::Instant;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1).map_while(|arg| arg.parse::<usize>().ok());
    let (log2, row_bytes) = (args.next().unwrap_or(20), args.next().unwrap_or(32) as u64);
    let shape = Shape::new(1 << log2, row_bytes, u64::MAX);
    let params = Params::check(Params::select(&shape)?)?;
    let partitions = args.next().unwrap_or(usize::MAX).min(params.partitions());
    let queries = args.next().unwrap_or(1000);
    let (c, w) = (params.partitions(), params.partition_rows());
    println!("backend {}; 2^{log2} rows of {row_bytes} bytes: c = {c}, w = {w}", machine::backend());
    println!("M = {}, P = {}, AES {:.2} G blocks/s", params.hints(), params.pairs(), aes_peak());
    let prf = Prf::new(&params, &[7; 16]);
    if partitions > 0 {
        offline(&params, &prf, partitions);
    }
    if queries > 0 {
        online(&params, queries);
    }
    Ok(())
}

fn seconds(run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64()
}

/// The same without the time in which the processor did something else, where the system tells.
fn busy(run: impl FnOnce()) -> f64 {
    let spent = || {
        std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split(' ').next()?.parse::<u64>().ok()
    };
    let before = spent();
    let wall = seconds(run);
    before.zip(spent()).map_or(wall, |(before, after)| (after - before) as f64 / 1e9)
}

/// Numbers without pattern, quickly.
fn noise(i: u64) -> u64 {
    let z = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (z ^ z >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

fn fill(bytes: &mut [u8]) {
    for (i, word) in bytes.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        *word = noise(i as u64).to_le_bytes();
    }
}

/// Blocks that AES makes in a second, in units of 10^9: the best of several grids that fit the nearest cache.
fn aes_peak() -> f64 {
    let aes = Aes::new(&[1; 16]);
    let mut out = [[0; 16]; 1024];
    let one = |i: u64, out: &mut [[u8; 16]; 1024]| seconds(|| aes.grid(i, 1, 0, 1024, black_box(out)));
    let best = (0..1000).map(|i| one(i, &mut out)).fold(f64::INFINITY, f64::min);
    1024.0 / best / 1e9
}

fn offline(params: &Params, prf: &Prf, partitions: usize) {
    let ids = params.ids();
    let mut some = vec![0; ids.min(1 << 16)];
    let time = busy(|| cuts(prf, 0, black_box(&mut some))) * ids as f64 / some.len() as f64;
    let blocks = ids as f64 * params.partitions() as f64 / 16.0 / time / 1e9;
    println!("cuts    {time:8.3} s: {blocks:.2} G blocks/s");

    let mut fold = None;
    let (hints, all) = (params.hints() as u32, ids as u32);
    let begin = busy(|| fold = Fold::new(prf, params.row_bytes(), 0..hints, hints..all).ok());
    println!("begin   {begin:8.3} s: cuts and extra entries");
    let Some(mut fold) = fold else { return };
    let mut chunk = vec![0; 1 << 20];
    fill(&mut chunk);
    let bytes = partitions * params.partition_rows() * params.row_bytes();
    let time = busy(|| {
        for at in (0..bytes).step_by(chunk.len()) {
            fold.absorb(prf, &chunk[..chunk.len().min(bytes - at)]);
        }
    });
    let whole = time * params.partitions() as f64 / partitions as f64;
    // A hint adds the rows of half of the partitions, a pair those of all.
    let added = (params.hints() as f64 / 2.0 + params.pairs() as f64) * partitions as f64;
    let blocks = ids as f64 * partitions as f64 * (1.0 / 16.0 + 1.0 / 8.0);
    println!(
        "stream  {whole:8.3} s ({partitions} partitions in {time:.3} s): {:.2} ns an addition, {:.2} G blocks/s",
        time / added * 1e9,
        blocks / time / 1e9
    );
    println!("sum     {:8.3} s", begin + whole);
    black_box(fold.finish(prf));
}

fn online(params: &Params, queries: usize) {
    let bytes = params.rows() as usize * params.row_bytes();
    let mut table = vec![0; bytes + 64];
    // Aligned to a line: images are, too.
    let at = table.as_ptr().align_offset(64);
    let table = &mut table[at..at + bytes];
    fill(table);
    let read = seconds(|| _ = black_box(machine::read_pass(table)));
    println!("a plain read of the table {:.1} ms, {:.1} GB/s", read * 1e3, bytes as f64 / read / 1e9);
    let (c, w) = (params.partitions(), params.partition_rows());
    let rows = Rows { bytes: table, row_bytes: params.row_bytes(), partition_rows: w };
    let (mut zero, mut one) = (vec![0; params.row_bytes()], vec![0; params.row_bytes()]);
    let mut times: Vec<f64> = (0..queries as u64)
        .map(|q| {
            let offsets: Vec<u16> = (0..c as u64).map(|k| noise(q << 20 | k) as u16).collect();
            let halves: Vec<u8> =
                (0..c.div_ceil(8) as u64).map(|k| noise(q << 20 | k | 1 << 40) as u8).collect();
            let picks = Picks { offsets: &offsets, halves: &halves };
            seconds(|| gather(rows, picks, [black_box(&mut zero), &mut one])) * 1e6
        })
        .collect();
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    times.sort_by(f64::total_cmp);
    println!(
        "gather  mean {mean:.1} us, median {:.1}, nine of ten {:.1}: {:.1} ns a row",
        times[queries / 2],
        times[queries * 9 / 10],
        mean * 1e3 / c as f64
    );
}
