//! Times the yardstick of the BGV-PIR paper, for tables of 2^25, 2^30 and 2^35 bits:
//! `cargo run --release -p sotto-bgvpir --example residues`.
//!
//! One multiplication modulo N is timed, and a small table answered for real beside what that foretells.

#![allow(clippy::indexing_slicing, clippy::panic, reason = "a wrong bit ends the program")]

#[path = "../tests/suite/residues.rs"]
mod residues;

use residues::{Key, LIMBS_3072, Number};
use sotto_core::CryptoRng;
use sotto_prg::system_rng;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Multiplications timed together: one is too short for the clock.
const TOGETHER: usize = 1000;

/// Columns of the small table, and rows: a matrix of 4,096 bits.
const SIDE: usize = 64;

const REPEATS: usize = 9;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rng: &mut dyn CryptoRng = &mut system_rng()?;
    let key = Key::<LIMBS_3072>::generate(rng);
    let mut matrix = vec![0; SIDE * SIDE / 8];
    rng.fill_bytes(&mut matrix);
    let column = (rng.next_u64() % SIDE as u64) as usize;
    let query = key.query(column, SIDE, rng);

    let multiplication = median(|| _ = black_box(multiply(&query))) / TOGETHER as u32;
    let mut answer = Vec::new();
    let answering = median(|| answer = residues::answer(&matrix, &query));
    for (row, number) in answer.iter().enumerate() {
        let bit = matrix[(row * SIDE + column) / 8] >> (column % 8) & 1 == 1;
        assert_eq!(key.open(number), bit, "row {row}");
    }

    // A square for each column, and a product for each bit but the first of each row.
    let foretold = multiplication * (SIDE * SIDE) as u32;
    println!("one multiplication modulo a number of {} bits: {multiplication:?}", 64 * LIMBS_3072);
    println!(
        "a table of {} bits: {answering:?}, foretold {foretold:?}, all {} bits right",
        SIDE * SIDE,
        answer.len()
    );
    println!("| table, bits | server | up, bytes | down, bytes |\n|---|---|---|---|");
    for log2 in [25, 30, 35] {
        let [up, down] = residues::bytes::<LIMBS_3072>(1 << log2);
        let server = multiplication.as_secs_f64() * (1u64 << log2) as f64;
        println!("| 2^{log2} | {server:.0} s | {up} | {down} |");
    }
    Ok(())
}

/// The median of several runs.
fn median(mut run: impl FnMut()) -> Duration {
    let mut time = || {
        let began = Instant::now();
        run();
        began.elapsed()
    };
    let mut times: [Duration; REPEATS] = std::array::from_fn(|_| time());
    times.sort();
    times[REPEATS / 2]
}

fn multiply(numbers: &[Number<LIMBS_3072>]) -> Option<Number<LIMBS_3072>> {
    let (first, rest) = numbers.split_first()?;
    Some(rest.iter().cycle().take(TOGETHER).fold(*first, |product, number| product.mul(number)))
}
