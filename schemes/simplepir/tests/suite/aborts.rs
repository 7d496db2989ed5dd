//! What a host learns from whether a client aborts, if rows are verified: the README of sotto-silent, "What an abort tells".

use crate::noise::noise;
use crate::setup::{Table, literal};
use sotto_core::SumElement;
use sotto_silent::measure::shift_answer;
use sotto_testkit::aborts::{AbortAttack, whoever_makes_the_masks_finds_the_record};

/// Words of answers here have no bits cut off: a host can answer as finely as it likes.
const BITS: u32 = 26;
/// The value of one unit of a byte in a word.
const STEP: u64 = 1 << (BITS - 8);

/// A table of random bytes.
fn table(bytes: u64, records: u64) -> Table {
    let mut all = vec![0; (bytes * records) as usize];
    blake3::Hasher::new().finalize_xof().fill(&mut all);
    Table::new(literal(bytes, records, BITS as u8, BITS as u8), all)
}

#[test]
fn an_abort_tells_nothing_of_the_record() {
    for [bytes, records] in [[16, 32], [4, 256], [64, 8]] {
        let truth = table(bytes, records);
        let shift = &|answer, add: &dyn Fn(usize) -> u64| shift_answer(answer, BITS, add);
        AbortAttack { truth: &truth, element: SumElement::Byte, shift, step: STEP }.fails();
    }
}

#[test]
fn whoever_makes_the_hint_finds_the_record() {
    whoever_makes_the_masks_finds_the_record(&table(16, 32), 5, &[0, 13, 31]);
}

/// Shifted to the boundary, an answer is accepted if the noise of that query is below zero.
#[test]
fn a_shift_to_the_boundary_tells_the_noise() {
    let truth = table(4, 256);
    let mut client = truth.client();
    for lookup in 0..40 {
        let (label, row) = (format!("boundary {lookup}"), lookup % 4);
        let add = |at| if at == row { STEP / 2 } else { 0 };
        let host = |query| shift_answer(truth.honest(query), BITS, &add);
        let record = truth.unverified(&mut client, 100, &label, host);
        assert_eq!(truth.accepts(100, &record), noise(&truth, 100, &label)[row] < 0, "{label}");
    }
}
