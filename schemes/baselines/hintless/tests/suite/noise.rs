//! Measured noise against the formulas, of what is particular to this scheme: `H s` under encryption. That of words is measured
//! where they are made, in `sotto-silent`.

use crate::{Table, bytes, literal};
use sotto_core::{Image as _, Section};
use sotto_hintless::linpir::{LinPir, RINGS, SIGMA, rings, server};
use sotto_hintless::literal::{PUBLIC_SEED, answer_noise, sum_noise};
use sotto_lattice::bgv::encrypt::errors;
use sotto_lattice::bgv::noise::Noise;
use sotto_lattice::bgv::{Ciphertext, SlotRing};
use sotto_silent::lwe::dense::HINTLESS;
use sotto_testkit::rng::seeded;

#[test]
fn noise_is_what_the_formulas_say() {
    for (name, literal) in [("few diagonals", literal(150, 40, 64)), ("many", literal(600, 40, 1024))] {
        let (records, block_rows) = (literal.record_bytes * literal.records, literal.block_rows);
        let table = Table::checked(literal, bytes(records as usize));
        let params = &table.params;
        let (sizes, rings) = (params.rows(), rings().unwrap());
        let mut rng = seeded(name);
        let s = HINTLESS.secret(&mut rng);
        let asking = LinPir::new(rings, PUBLIC_SEED, sizes);
        let (encrypted, secrets) = asking.encrypt(&s, &mut rng).unwrap();
        let serving = server::LinPir::new(rings, 0..RINGS, &PUBLIC_SEED, sizes).unwrap();
        let resident = table.image.section(Section::Resident).unwrap();
        let (_, image) = resident.split_at(params.matrix_bytes() as usize);
        let answers = serving.answers(image, &[&encrypted]).remove(0);
        for ((ring, secret), blocks) in rings.iter().zip(&secrets).zip(answers) {
            let level = ring.level(1).unwrap();
            let all: Vec<f64> = blocks
                .iter()
                .flat_map(|[body, mask]| {
                    errors(ring, secret, &Ciphertext::new(ring, level, &[body, mask])).to_vec()
                })
                .collect();
            let measured = all.iter().map(|e| e * e).sum::<f64>() / all.len() as f64;
            let largest = all.iter().fold(0f64, |largest, e| largest.max(e.abs()));
            let (model, t) = (Noise::average(ring, SIGMA), ring.ring().plain() as f64);
            let sums = sum_noise(&model, ring, block_rows / 2, (t * t - 1.0) / 12.0);
            let predicted = model.lowered(sums, ring.top());
            let apart = (measured / predicted).log2() / 2.0;
            println!("{name}: {apart:.2} bits from 2^{:.1}", predicted.log2() / 2.0);
            assert!(apart.abs() < 0.3, "{name}: {apart} bits");
            let (_, bound) = answer_noise(ring, block_rows / 2);
            assert!(measured < bound && largest < bound.sqrt() * 8.0, "{name}: {largest}");
        }
    }
}
