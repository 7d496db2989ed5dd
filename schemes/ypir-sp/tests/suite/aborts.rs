//! What a host learns from whether a client aborts, if rows are verified: the README of sotto-silent, "What an abort tells".

use crate::buckets::of_buckets;
use crate::scales::scaled;
use crate::{Table, literal, short};
use sotto_core::{AbortLeakage, BatchScheme as _, OneServer, SumElement};
use sotto_silent::lattice::N;
use sotto_silent::measure::shift_answer;
use sotto_silent::message::Answer;
use sotto_silent::{MatrixLiteral as _, MatrixScheme};
use sotto_testkit::aborts::{AbortAttack, whoever_makes_the_masks_finds_the_record};
use sotto_testkit::rng::seeded;
use sotto_testkit::vectors::bytes;
use sotto_ypir_sp::YpirSp;
use sotto_ypir_sp::literal::ParamsLiteral;

type Scheme = MatrixScheme<YpirSp>;

/// Bits of a mask and of a body: a host can answer as finely as it likes.
const BITS: [u8; 2] = [37, 30];
/// The value of one unit of a byte in a word.
const STEP: u64 = 1 << (BITS[1] - 8);

fn table(literal: ParamsLiteral) -> Table {
    let literal = ParamsLiteral { answer_bits: BITS, ..literal };
    let rows = bytes((literal.record_bytes * literal.records) as usize);
    Table::checked(literal, rows)
}

/// Adds something to the words of all bytes. In short blocks most bytes have another sign.
fn shift(table: &Table, answer: Answer, add: &dyn Fn(usize) -> u64) -> Answer {
    let block = table.params.short_blocks().map_or(N, |blocks| blocks.block);
    let signed = |at: usize| if at % N < block { add(at) } else { add(at).wrapping_neg() };
    shift_answer(answer, BITS[1].into(), &signed)
}

/// Several groups, the last of which is not full; several blocks of a query; short blocks; buckets; with
/// words that are cut like those of selected parameters.
#[test]
fn an_abort_tells_nothing_of_the_record() {
    for literal in [
        literal([2100, 9, 2048], [26, 46], BITS),
        literal([2100, 9, 1024], [26, 44], BITS),
        literal([64, 2100, 1024], [26, 46], BITS),
        short(4, literal([2100, 13, 2048], [26, 46], BITS)),
        of_buckets(3, [2100, 5, 2048], 26),
    ] {
        let truth = &table(literal);
        let shift = &|answer, add: &dyn Fn(usize) -> u64| shift(truth, answer, add);
        AbortAttack { truth, element: SumElement::Byte, shift, step: STEP }.fails();
    }
}

#[test]
fn whoever_makes_the_masks_finds_it() {
    for literal in [
        literal([64, 8, 2048], [26, 46], BITS),
        literal([64, 8, 1024], [26, 46], BITS),
        short(8, literal([64, 8, 2048], [26, 46], BITS)),
        of_buckets(2, [64, 4, 1024], 26),
    ] {
        whoever_makes_the_masks_finds_the_record(&table(literal), 3, &[5]);
    }
}

/// In a column of several records a number has what those at lower scales leave in it, which the host
/// knows: near the boundary that decides. So such tables declare that a refusal tells of the record.
#[test]
fn where_a_column_has_several_records_a_refusal_tells_the_scale() {
    let scaled = scaled([3, 10], literal([64, 9, 1024], [48, 46], BITS));
    assert_eq!(
        (scaled.abort_leakage(), table(literal([64, 9, 1024], [26, 46], BITS)).params.abort_leakage()),
        (Some(AbortLeakage::Row), None)
    );
    // Every record at the lowest scale leaves an eighth of a unit, less a little, at the next.
    let truth = &Table::checked(scaled, vec![127; 64 * 9]);
    let client = &mut truth.client("prepare");
    let near = |at: usize| if at == 5 { STEP / 16 * 7 } else { 0 };
    let accepted: Vec<bool> = (0..9)
        .map(|index| {
            let host = |query| shift_answer(truth.honest(query), BITS[1].into(), &near);
            let record = truth.unverified(client, index, "scale", host);
            truth.accepts(index, &record)
        })
        .collect();
    assert_eq!(accepted.iter().filter(|is_accepted| **is_accepted).count(), 3, "{accepted:?}");
}

/// A host that spoils one bucket is refused, whichever bucket a single lookup is for; and by a lookup of
/// a record of each bucket, which checks them all. A check of one bucket's record alone would tell
/// whether that bucket was wanted.
#[test]
fn a_spoiled_bucket_is_refused_whichever_is_wanted() {
    let truth = &table(of_buckets(3, [64, 5, 1024], 26));
    let client = &mut truth.client("prepare");
    let words = truth.params.samples();
    for bucket in 0..3 {
        let spoiled = |at: usize| if at / words == bucket && at % words == 7 { STEP } else { 0 };
        for index in 0..15 {
            let host = |query| shift(truth, truth.honest(query), &spoiled);
            let record = truth.unverified(client, index, "bucket", host);
            assert!(!truth.accepts(index, &record), "record {index}, bucket {bucket}");
        }
        for places in [[0; 3], [4, 1, 3]] {
            let rng = &mut seeded("buckets");
            let (OneServer(query), pending) = Scheme::query_buckets(client, &places, rng).unwrap();
            let answer = shift(truth, truth.honest(query), &spoiled);
            let records = Scheme::recover_buckets(client, pending, OneServer(answer)).unwrap();
            for (other, (record, place)) in records.iter().zip(places).enumerate() {
                let is_accepted = truth.accepts(other as u64 * 5 + place, record.bytes());
                assert_eq!(is_accepted, other != bucket, "{places:?}, bucket {other}");
            }
        }
    }
}
