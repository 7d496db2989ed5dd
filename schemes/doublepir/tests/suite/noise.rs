//! Measured noise of the second pass against the formulas; `sotto-silent` has that of the first. The secrets are known to this
//! test alone: it draws them a second time from the generator the client was given.

use crate::{Table, WIDEST, bytes, literal};
use sotto_core::{Artifact, Params as _};
use sotto_doublepir::DoublePir;
use sotto_silent::Client;
use sotto_silent::lwe::encrypt::LweVectorEncryptor;
use sotto_silent::lwe::ring::{N, Q, Ring, switch};
use sotto_silent::two_pass::bound::{WordNoise, variances_and_margin};
use sotto_testkit::rng::seeded;

/// Errors of an answer's words, as fractions of 2^32: the first `rows` of the second matrix, and
/// the fresh ones.
fn second_pass(
    table: &Table,
    client: &mut Client<DoublePir>,
    index: u64,
    label: &str,
    rows: usize,
) -> [Vec<i32>; 2] {
    let (_, answer, record) = table.lookup(client, index, label);
    assert_eq!(record, table.row(index), "{label}");
    let literal = table.params.literal();
    let mut rng = seeded(label);
    let columns = literal.cut().columns() as usize;
    let encryption = LweVectorEncryptor::new(Ring::new().unwrap(), columns.div_ceil(N));
    let s1 = encryption.secret(&mut rng);
    encryption.unit(columns, 0, &s1, &mut rng, |word| word);
    let s2 = encryption.secret(&mut rng);

    let (bits, [words, masks]) = (u32::from(literal.answer_bits), &answer.0.as_chunks().0[0]);
    let times = |row: &mut dyn Iterator<Item = u64>| -> i128 {
        row.zip(s2.iter()).map(|(word, s)| i128::from(word) * i128::from(*s)).sum()
    };
    // A message is a multiple of 2^24: what is left is the distance to the nearest.
    let left = |word: u64, mask: u32| ((word as u32) << (32 - bits)).wrapping_sub(mask) << 8;
    let fixed = table.image.artifact(Artifact::Hint).unwrap().chunks_exact(4 * N).take(rows).zip(words).map(
        |(hint, word)| {
            let mut hint = hint.as_chunks::<4>().0.iter().map(|word| u64::from(u32::from_le_bytes(*word)));
            let mask = times(&mut hint).rem_euclid(Q.into()) as u64;
            left(*word, switch(mask, 32)) as i32 >> 8
        },
    );
    let fresh =
        masks.chunks_exact(N).zip(&words[literal.cut().second_rows() as usize..]).map(|(row, word)| {
            let mask = times(&mut row.iter().copied()) as u32;
            left(*word, mask << (32 - u32::from(literal.mask_bits))) as i32 >> 8
        });
    [fixed.collect(), fresh.collect()]
}

fn mean_square(noise: &[f64]) -> f64 {
    noise.iter().map(|x| x * x).sum::<f64>() / noise.len() as f64
}

/// Bits between the deviation that was measured and the one of the formulas, where bytes are of this mean square in the place
/// of the largest, and roundings are uniform in the place of as large as can be.
fn apart(measured: f64, words: &WordNoise, square: f64) -> f64 {
    let exact = WordNoise { mask_bits: None, ..*words };
    let ([errors, roundings], _) = variances_and_margin(&exact);
    let ([with_masks, _], _) = variances_and_margin(words);
    let scale = f64::from(32 - u32::from(words.query_bits)).exp2();
    let answer = f64::from(words.query_bits - words.answer_bits).exp2();
    let answer = if answer > 1.0 { answer * answer / 12.0 } else { 0.0 };
    let predicted = (errors + roundings) * square / 16384.0 + (with_masks - errors) / 3.0 + answer;
    (measured / predicted / scale / scale).log2() / 2.0
}

/// Mean square of a byte that is uniform.
const UNIFORM: f64 = 65536.0 / 12.0;

#[test]
fn the_second_passes_noise_is_what_the_formulas_say() {
    let blocks = 1 << 11;
    for (name, bits) in [
        ("errors", WIDEST),
        ("short words", [32, 24, 24, 32]),
        ("short masks", [32, 32, 32, 21]),
        ("short answers", [32, 28, 12, 32]),
    ] {
        let table = Table::checked(literal([1, blocks, blocks], bits), bytes(blocks as usize));
        let [_, words] = table.params.literal().words();
        let exact = WordNoise { mask_bits: None, ..words };
        let (mut fixed, mut fresh) = (Vec::new(), Vec::new());
        // Two fresh rows a query; 128 of them know a deviation to 0.09 bits.
        let mut client = table.client("prepare");
        for i in 0..64 {
            let (index, rows) = (i * 11 % blocks, if i < 2 { 3072 } else { 1 });
            let [a, b] = second_pass(&table, &mut client, index, &format!("{name} {i}"), rows);
            fixed.extend(a.into_iter().map(f64::from));
            fresh.extend(b.into_iter().map(f64::from));
        }
        let off = apart(mean_square(&fixed), &exact, UNIFORM);
        assert!(off.abs() < 0.3, "{name}: {off} bits");
        let off = apart(mean_square(&fresh), &words, UNIFORM);
        assert!(off.abs() < 0.3, "{name}, fresh rows: {off} bits");
        let (_, margin) = variances_and_margin(&words);
        let scale = f64::from(32 - u32::from(words.query_bits)).exp2();
        let largest = fixed.iter().chain(&fresh).fold(0f64, |most, x| most.max(x.abs()));
        // The answer's rounding has been taken off the margin.
        let rounding = f64::from(32 - u32::from(words.answer_bits)).exp2() / 2.0;
        assert!(largest < margin * scale + rounding, "{name}: {largest}");
    }
}
