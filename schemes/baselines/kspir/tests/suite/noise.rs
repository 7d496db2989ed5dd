//! Measured noise against the formulas. The key is known to this test alone: it draws the secret a second time from the
//! generator the client was given.

use crate::{Table, literal};
use sotto_core::Wire;
use sotto_kspir::literal::{ParamsLiteral, Variances};
use sotto_kspir::ring::{LAW, N, NORM, T, log2_q, ring};
use sotto_lattice::encrypt::phase;
use sotto_lattice::ring::ModulusLevel;
use sotto_lattice::secret::SecretKey;
use sotto_math::bits::unpack_words;
use sotto_prg::PublicSeed;
use sotto_testkit::rng::seeded;

/// Bits of an answer in which hardly anything is rounded.
const WIDE: u8 = 42;

/// Mean square of what is in the answers besides the words, in units of 1 modulo q.
fn noise(table: &Table, lookups: u64) -> f64 {
    let ring = ring().unwrap();
    let q = ring.q().value();
    let (grid, mut client) = (table.params.grid(), table.client("noise"));
    let rng = &mut seeded("noise");
    PublicSeed::fresh(rng);
    let secret = SecretKey::sample(ring, LAW, rng);
    let (mut squares, mut count) = (0.0, 0.0);
    for i in 0..lookups {
        let index = i * 7919 % table.params.records;
        let (_, answer, record) = table.lookup(&mut client, index, &format!("noise {i}"));
        assert!(record == table.row(index), "{index}");
        let mut sent = Vec::new();
        answer.put(&table.params, &mut sent);
        for (page, words) in sent.chunks(sent.len() / grid.pages).zip(record.chunks(2 * N)) {
            let polynomial = |bytes: &[u8]| {
                let words = unpack_words(bytes, WIDE.into(), N).unwrap();
                // What a word stands for modulo q, to the nearest integer.
                let lift = |x: u64| ((u128::from(x) * u128::from(q) + (1 << (WIDE - 1))) >> WIDE) as u64;
                let mut slots: Vec<u64> = words.into_iter().map(lift).collect();
                ring.forward(ModulusLevel::Main, &mut slots);
                slots
            };
            let (mask, body) = page.split_at(page.len() / 2);
            let phase = phase(ring, ModulusLevel::Main, &secret, &polynomial(mask), &polynomial(body));
            for (i, pair) in words.chunks_exact(2).enumerate() {
                let (k, j) = (i / (N / grid.blocks), i % (N / grid.blocks));
                let word = i128::from(u16::from_le_bytes([pair[0], pair[1]]));
                let q = i128::from(q);
                // Of q / t times the word, the part below 1 does not matter beside the noise.
                let error =
                    (phase[j * grid.blocks + k] - word * q / i128::from(T) + q / 2).rem_euclid(q) - q / 2;
                (squares, count) = (squares + (error as f64).powi(2), count + 1.0);
            }
        }
    }
    squares / count
}

#[test]
fn noise_is_what_the_formulas_say() {
    // Of grids in which external products, the plaintexts' products, giant steps among them, and packing matter most.
    for (grid, lookups) in [([1, 2, 1, 2], 8), ([1, 256, 1, 32], 3), ([1, 32, 8, 4], 3), ([1, 2, 512, 2], 2)]
    {
        let literal = ParamsLiteral {
            answer_bits: [WIDE; 2],
            ..literal(u64::from(grid[1]) * u64::from(grid[2]), grid)
        };
        let mut records = vec![0; literal.records as usize * 2 * N];
        blake3::Hasher::new().finalize_xof().fill(&mut records);
        let table = Table::checked(literal, records);
        let measured = noise(&table, lookups).log2() / 2.0;
        let t = T as f64;
        let unit = (log2_q() - f64::from(WIDE)).exp2();
        let steps = Variances::average(&table.params.grid(), (t * t - 1.0) / 12.0).packed;
        let predicted = (steps + unit * unit * (NORM + 1.0) / 12.0).log2() / 2.0;
        println!("{grid:?}: 2^{measured:.2}, predicted 2^{predicted:.2}");
        assert!((measured - predicted).abs() < 0.3, "{grid:?}: 2^{measured:.2}, predicted 2^{predicted:.2}");
        assert!(Variances::most(&table.params.grid()).packed > steps);
    }
}
