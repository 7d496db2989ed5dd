//! What a host learns from whether a client aborts, if rows are verified: README.md, "What it gives away".

use crate::{Table, literal};
use sotto_core::SumElement;
use sotto_silent::measure::shift_answer;
use sotto_testkit::aborts::{AbortAttack, bisect, whoever_makes_the_masks_finds_the_record};
use sotto_testkit::vectors::bytes;

/// Where there is one block, its mask is the publisher's, and no query changes it. Words have all bits:
/// numbers have as many that a word's rounding differs a little from record to record.
#[test]
fn an_abort_tells_nothing_of_the_record_of_one_block() {
    for [record_bytes, records] in [[64, 40], [2048, 9]] {
        let literal = literal([record_bytes, records, 1], [50, 40], 46, [37, 30], [28, 19]);
        let truth = &Table::checked(literal, bytes((record_bytes * records) as usize));
        let shift = &|answer, add: &dyn Fn(usize) -> u64| shift_answer(answer, 30, add);
        AbortAttack { truth, element: SumElement::Pair, shift, step: 1 << (30 - 16) }.fails();
    }
}

#[test]
fn whoever_makes_the_masks_finds_it() {
    let truth = Table::checked(literal([64, 8, 1], [40, 40], 46, [37, 30], [28, 19]), bytes(64 * 8));
    whoever_makes_the_masks_finds_the_record(&truth, 3, &[0, 5]);
}

/// Where there are several, the masks of picked bodies come with the answer. So a host alters the bodies
/// of half of the blocks before it picks one of them, and an abort says in which half the record's block
/// is.
#[test]
fn a_host_finds_the_block() {
    let (record_bytes, blocks) = (20, 4);
    let literal = literal([record_bytes, 30, blocks], [45, 45], 46, [37, 24], [28, 19]);
    let truth = Table::checked(literal, bytes(20 * 30));
    let (client, numbers) = (&mut truth.client("prepare"), record_bytes / 2);
    for index in [0, 13, 29] {
        let found = bisect(2, |lookup, half| {
            // The bodies of one block after those of another, of 24 bits each, whose upper 16 are a number.
            let edit = |partial: &mut [u8]| {
                let bodies = partial.as_chunks_mut::<3>().0.iter_mut().take((numbers * blocks) as usize);
                for (at, [_, number, _]) in bodies.enumerate() {
                    *number = number.wrapping_add(half(at as u64 / numbers).into());
                }
            };
            let host = |query| truth.edited(query, &edit);
            !truth.accepts(index, &truth.unverified(client, index, &format!("block {lookup}"), host))
        });
        assert_eq!(found, index % blocks);
    }
}
