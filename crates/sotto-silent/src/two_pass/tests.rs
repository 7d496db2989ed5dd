//! The first pass: its noise, reading with rounded hints, and changes.

use super::bound::{WordNoise, variances_and_margin};
use super::*;
use crate::lwe::encrypt::LweVectorEncryptor;
use crate::lwe::hint::row;
use crate::lwe::ring::{Ring, switch};
use crate::pieces::{PartSection, Piece};
use sotto_core::{Image as _, PartIndex, RecordChange, Section, Sink as _};
use sotto_testkit::memory::{MemoryImage, MemoryRows, MemorySink};
use sotto_testkit::rng::seeded;
use std::sync::Arc;

const RESIDENT: Section = Section::Resident;

fn written(cut: &TwoPassLayout, records: Vec<u8>) -> MemoryImage {
    let sink = MemorySink::new();
    sink.reserve(RESIDENT, cut.first_bytes() + cut.second_bytes()).unwrap();
    write(cut, RESIDENT, &MemoryRows::new(cut.record_bytes as usize, records), &sink).unwrap();
    sink.into_image()
}

/// The words of a first query for a column, and its secret.
fn query(cut: &TwoPassLayout, column: u32, bits: u32, label: &str) -> (Vec<u64>, Zeroizing<Vec<i32>>) {
    let columns = cut.columns() as usize;
    let encryption = LweVectorEncryptor::new(Ring::new().unwrap(), columns.div_ceil(N));
    let mut rng = seeded(label);
    let s = encryption.secret(&mut rng);
    (encryption.unit(columns, column, &s, &mut rng, |word| switch(word, bits).into()), s)
}

/// The first pass over an image.
fn first_pass(cut: &TwoPassLayout, bits: u32, image: &MemoryImage) -> FirstPass {
    let pieces = [cut.first_bytes(), cut.second_bytes()].map(|bytes| Piece { bytes, part: 0..bytes });
    let held = PartSection::open(RESIDENT, Arc::new(image.clone()), &pieces).unwrap();
    FirstPass::new(*cut, PartIndex::WHOLE, bits, held)
}

/// A column of the second matrix.
fn column(cut: &TwoPassLayout, image: &MemoryImage, block: usize) -> Vec<u8> {
    let second = &image.section(RESIDENT).unwrap()[cut.first_bytes() as usize..];
    let layout = cut.second();
    (0..layout.rows()).map(|row| second[layout.offset(row, block)]).collect()
}

#[test]
fn columns_of_the_second_matrix_tell_the_records() {
    // Widths that divide no panel; a column that is not full; several strips.
    for (record_bytes, records, blocks) in [(1, 1, 1), (3, 4000, 256), (7, 50, 16), (1, 9000, 2), (64, 9, 2)]
    {
        let cut = TwoPassLayout { record_bytes, records, blocks };
        let table: Vec<u8> = (0..records * record_bytes).map(|i| (i * i / 7) as u8).collect();
        let image = written(&cut, table.clone());
        let first = first_pass(&cut, 26, &image);
        for requested in [0, records / 2, records - 1] {
            let [j, i] = cut.place(requested);
            let (words, s) = query(&cut, j, 26, "tells");
            let fresh = first.fresh(&[&first.planes(&words)]);
            let fresh = cut.by_byte(&fresh[0]);
            let fresh: Vec<u16> = fresh.iter().map(|of_byte| of_byte[i as usize] as u16).collect();
            let hint = column(&cut, &image, i as usize);
            let at = (requested * record_bytes) as usize;
            assert_eq!(
                record(&hint, &fresh, &s)[..],
                table[at..][..record_bytes as usize],
                "{cut:?} {requested}"
            );
        }
    }
}

#[test]
fn a_changed_image_is_a_fresh_one() {
    let cut = TwoPassLayout { record_bytes: 3, records: 1000, blocks: 128 };
    let mut table: Vec<u8> = (0..3000).map(|i| (i * 37) as u8).collect();
    let sink = MemorySink::holding(written(&cut, table.clone()));
    // Two neighbors, which are computed together, and one that stays unchanged.
    let changes =
        [(5, 0, vec![1, 2, 3]), (6, 2, vec![9]), (999, 1, vec![0x80, 0x7F]), (40, 0, vec![table[120]])];
    let changes = changes.map(|(record, offset, bytes)| RecordChange { record, offset, bytes });
    for RecordChange { record, offset, bytes } in &changes {
        table[(record * 3 + offset) as usize..][..bytes.len()].copy_from_slice(bytes);
    }
    let mut columns = Vec::new();
    update_image(&cut, RESIDENT, &changes, &sink, |entries| {
        columns.extend(entries.iter().map(|entry| entry.column));
        Ok(())
    })
    .unwrap();
    assert_eq!(sink.into_image().section(RESIDENT), written(&cut, table).section(RESIDENT));
    columns.sort_unstable();
    columns.dedup();
    assert_eq!(columns, [5, 6, 999 % 128]);
}

/// The errors of the first pass's words, in units of the query's modulus, where every byte is the
/// same.
fn noise(columns: usize, byte: u8, bits: u32, queries: usize) -> Vec<f64> {
    let cut = TwoPassLayout { record_bytes: 1, records: columns as u64, blocks: 1 };
    let first = first_pass(&cut, bits, &written(&cut, vec![byte; columns]));
    let ring = Ring::new().unwrap();
    let blocks: Vec<Vec<u64>> = (0..columns.div_ceil(N)).map(|k| ring.reversed_block(k)).collect();
    let hint = row(&ring, &blocks, &vec![byte as i8; columns]);
    let hint: Vec<u64> = hint.iter().map(|h| switch(*h, HINT_BITS).into()).collect();
    let noise = |i: usize| {
        let (words, s) = query(&cut, 0, bits, &format!("noise {i}"));
        let fresh = first.fresh(&[&first.planes(&words)])[0][0];
        let phase = (fresh as u32) << (32 - FRESH_BITS);
        let phase =
            phase.wrapping_sub(rounded_mask(&hint, HINT_BITS, &s)).wrapping_sub(u32::from(byte) << 24);
        f64::from(phase as i32) / f64::from(32 - bits).exp2()
    };
    (0..queries).map(noise).collect()
}

#[test]
fn the_first_passes_noise_is_what_the_formulas_say() {
    // With few columns, the rounding of the hint and that of the product dominate; with many,
    // errors or roundings of words.
    for (columns, bits) in [(4, 32), (6000, 25), (6000, 32)] {
        let noise = noise(columns, 0x80, bits, 300);
        let measured = noise.iter().map(|x| x * x).sum::<f64>() / noise.len() as f64;
        let words = WordNoise {
            columns: columns as u64,
            query_bits: bits as u8,
            answer_bits: FRESH_BITS as u8,
            mask_bits: Some(HINT_BITS as u8),
        };
        let ([errors, roundings], margin) = variances_and_margin(&words);
        let ([exact, _], _) = variances_and_margin(&WordNoise { mask_bits: None, ..words });
        // Roundings of the hint and of the product are uniform here, and of maximal size in the
        // bound.
        let product = f64::from(bits - FRESH_BITS).exp2();
        let predicted = exact + roundings + (errors - exact) / 3.0 + product * product / 12.0;
        // 300 samples determine a deviation to 0.06 bits.
        let off = (measured / predicted).log2() / 2.0;
        assert!(off.abs() < 0.3, "{columns} columns, {bits} bits: {off} bits");
        assert!(noise.iter().all(|x| x.abs() < margin + product / 2.0), "{columns} columns, {bits} bits");
    }
}
