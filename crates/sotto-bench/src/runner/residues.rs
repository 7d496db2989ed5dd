//! The yardstick: one multiplication modulo N, timed, and a small table answered for real beside what that foretells.

use crate::error::BenchError;
use crate::median::{Samples, ms};
use crate::report::{Residues, ResiduesTable};
use crate::residues::{self, Key};
use sotto_core::{CryptoRng, Sure};
use std::hint::black_box;
use std::time::Instant;

/// Multiplications timed together: one is too short for the clock.
const TOGETHER: u32 = 1000;

/// Columns of the small table, and rows: a matrix of 4,096 bits.
const SIDE: usize = 64;

/// What a table of each of these numbers of bits would take, with a modulus of `LIMBS` words.
pub(super) fn run<const LIMBS: usize>(
    sizes: &[u64],
    repeats: usize,
    rng: &mut dyn CryptoRng,
) -> Result<Option<Residues>, BenchError> {
    if sizes.is_empty() {
        return Ok(None);
    }
    let began = Instant::now();
    let key = Key::<LIMBS>::generate(rng);
    let keygen_ms = ms(began.elapsed());
    let mut matrix = vec![0u8; SIDE * SIDE / 8];
    rng.fill_bytes(&mut matrix);
    let column = (rng.next_u64() % SIDE as u64) as usize;
    let query = key.query(column, SIDE, rng);
    let (mut multiplying, mut answering) = (Samples::default(), Samples::default());
    let mut answer = Vec::new();
    for _ in 0..repeats.max(1) {
        let began = Instant::now();
        black_box(multiply(&query));
        multiplying.push(began.elapsed());
        let began = Instant::now();
        answer = residues::answer(&matrix, &query);
        answering.push(began.elapsed());
    }
    let multiplication_ns = ms(multiplying.median()) * 1e6 / f64::from(TOGETHER);
    for (row, number) in answer.iter().enumerate() {
        let byte = matrix.get((row * SIDE + column) / 8).copied().sure("a bit is one of the matrix");
        if key.open(number) != (byte >> (column % 8) & 1 == 1) {
            return Err(BenchError::WrongAnswer {
                case: "Kushilevitz-Ostrovsky".to_owned(),
                row: (row * SIDE + column) as u64,
                why: "the bit is the other one".to_owned(),
            });
        }
    }
    // A square for each column, and a product for each bit but the first of each row.
    let foretold = multiplication_ns * (SIDE * SIDE) as f64 / 1e6;
    let table = |bits: &u64| {
        let [up_bytes, down_bytes] = residues::bytes::<LIMBS>(*bits);
        let server_s = multiplication_ns * *bits as f64 / 1e9;
        ResiduesTable { table_bits: *bits, server_s, up_bytes, down_bytes }
    };
    Ok(Some(Residues {
        modulus_bits: LIMBS as u64 * 64,
        keygen_ms,
        multiplication_ns,
        small_table_bits: (SIDE * SIDE) as u64,
        small_server_ms: ms(answering.median()),
        small_foretold_ms: foretold,
        checked_answers_count: answer.len() as u64,
        tables: sizes.iter().map(table).collect(),
    }))
}

fn multiply<const LIMBS: usize>(numbers: &[residues::Number<LIMBS>]) -> Option<residues::Number<LIMBS>> {
    let (first, rest) = numbers.split_first()?;
    Some(rest.iter().cycle().take(TOGETHER as usize).fold(*first, |product, number| product.mul(number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_takes_a_multiplication_for_each_bit() {
        let mut rng = sotto_prg::system_rng().unwrap();
        let found = run::<8>(&[1 << 20, 1 << 25], 1, &mut rng).unwrap().unwrap();
        assert_eq!((found.modulus_bits, found.checked_answers_count), (512, 64));
        let [small, large] = found.tables.as_slice() else { panic!("two tables") };
        assert_eq!((small.up_bytes, small.down_bytes), (1024 * 64, 1024 * 64));
        assert!((large.server_s / small.server_s - 32.0).abs() < 1e-9);
        assert!(run::<8>(&[], 1, &mut rng).unwrap().is_none());
    }
}
