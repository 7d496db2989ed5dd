//! Measured noise of the second pass against the formulas; `sotto-silent` has that of the first. The secrets are known to this
//! test alone: it draws them a second time from the generator the client was given.

use crate::{Table, WIDEST, literal};
use sotto_core::Artifact;
use sotto_lattice::secret::SecretKey;
use sotto_silent::bound::few_variances_and_margin;
use sotto_silent::lattice::{LAW, N, PackingDigits, Q, ring};
use sotto_silent::lwe::encrypt::LweVectorEncryptor;
use sotto_silent::lwe::ring::Ring;
use sotto_silent::measure::{Errors, average, phases};
use sotto_silent::plain_modulus::PlainModulus;
use sotto_silent::{Client, MatrixLiteral as _};
use sotto_testkit::rng::seeded;
use sotto_testkit::vectors::bytes;
use sotto_ypir::Ypir;

/// Counts the errors of an answer's numbers: of the packed ones, and of the fresh ones.
fn noise(table: &Table, client: &mut Client<Ypir>, index: u64, label: &str, errors: &mut [Errors; 2]) {
    let ring = ring().unwrap();
    let (_, answer, record) = table.lookup(client, index, label);
    assert_eq!(record, table.row(index), "{label}");
    let columns = table.params.cut().columns() as usize;
    let first = LweVectorEncryptor::new(Ring::new().unwrap(), columns.div_ceil(1024));
    let mut rng = seeded(label);
    let s = first.secret(&mut rng);
    first.unit(columns, 0, &s, &mut rng, |word| word);
    let secret = SecretKey::sample(&ring, LAW, &mut rng);
    let masks = table.params.masks().take(&mut table.image.artifact(Artifact::Hint).unwrap()).unwrap();
    let (packed, fresh) = answer.0.split_at(masks.len());
    let packed = masks.iter().zip(packed).collect();
    let fresh: Vec<_> = fresh.as_chunks().0.iter().map(|[mask, body]| (mask, body)).collect();
    for (parts, errors) in [packed, fresh].into_iter().zip(errors) {
        for (mask, body) in parts {
            let phases = phases((&ring, &secret), table.params.bits(), N, [mask, body]);
            // Numbers are multiples of q / p: what is left is the distance to the nearest.
            phases.iter().for_each(|phase| errors.add(*phase, (phase * 65536.0 / Q as f64).round(), 65536));
        }
    }
}

#[test]
fn noise_is_what_the_formulas_say() {
    let blocks = 1 << 11;
    for (name, bits) in [
        ("packing", WIDEST),
        ("short words", [32, 42, 50, 37, 37]),
        ("short masks", [32, 50, 50, 25, 25]),
        ("short bodies", [32, 50, 50, 37, 18]),
    ] {
        let table = Table::checked(literal([1, blocks, blocks], bits), bytes(blocks as usize));
        let (mut errors, mut client) = (<[Errors; 2]>::default(), table.client("prepare"));
        // One fresh number a query; 100 of them know a deviation to 0.1 bits.
        for i in 0..if name == "packing" { 3 } else { 100 } {
            noise(&table, &mut client, i * 11 % blocks, &format!("{name} {i}"), &mut errors);
        }
        let bits = table.params.bits();
        for (errors, samples) in errors.iter().zip([N, 1]) {
            let predicted = average((samples, PackingDigits::TWO), blocks, 2f64.powi(32) / 12.0, 1, bits);
            let off = (errors.mean() / predicted).log2() / 2.0;
            assert!(off.abs() < 0.3 || name == "packing" && samples == 1, "{name}, {samples}: {off} bits");
            let (variances, margin) = few_variances_and_margin(samples, blocks, PlainModulus::PAIR, bits);
            let body = (Q as f64 / f64::from(bits.body).exp2() / 2.0).powi(2) / 3.0;
            assert!(errors.mean() < variances.iter().sum::<f64>() * 1.3 + body, "{name}");
            let largest = errors.largest();
            assert!(largest < margin + Q as f64 / 2f64.powi(19), "{name}: {largest} {margin}");
        }
    }
}
