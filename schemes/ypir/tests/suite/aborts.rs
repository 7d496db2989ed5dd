//! What a host learns from whether a client aborts, if rows are verified: README.md, "What it gives away".

use crate::{Table, WIDEST, literal};
use sotto_testkit::aborts::{bisect, whoever_makes_the_masks_finds_the_record};
use sotto_testkit::vectors::bytes;

/// The masks of fresh numbers come with the answer. So a host that has the publisher's table, and masks
/// that are the publisher's, alters the words of half of the blocks before it selects one of them, and
/// an abort says in which half the record's block is.
#[test]
fn a_host_finds_the_block() {
    let (records, blocks, width) = (64, 8, 2);
    let truth = Table::checked(literal([width, records, blocks], WIDEST), bytes((width * records) as usize));
    let client = &mut truth.client("prepare");
    for index in [0, 13, 63] {
        let found = bisect(3, |lookup, half| {
            // The words of one block after those of another, of 16 bits each: one more in the upper byte
            // is one more in a byte of the record.
            let edit = |partial: &mut [u8]| {
                let words = partial.as_chunks_mut::<2>().0.iter_mut().take((width * blocks) as usize);
                for (at, [_, upper]) in words.enumerate() {
                    *upper = upper.wrapping_add(half(at as u64 / width).into());
                }
            };
            let host = |query| truth.edited(query, &edit);
            !truth.accepts(index, &truth.unverified(client, index, &format!("block {lookup}"), host))
        });
        assert_eq!(found, index % blocks);
    }
}

#[test]
fn whoever_makes_the_masks_finds_it() {
    let truth = Table::checked(literal([1, 8, 2], WIDEST), bytes(8));
    whoever_makes_the_masks_finds_the_record(&truth, 3, &[5]);
}
