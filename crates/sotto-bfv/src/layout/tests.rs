use super::*;
use crate::literal::NO_TABLES_MASK;

/// Makes a layout in plaintexts of 64 numbers.
fn layout(
    form: PlaintextForm,
    bits: u32,
    records: u64,
    [buckets, words, rows]: [u32; 3],
) -> Result<Layout, ParamsError> {
    let ring = RingSet::new("", "", 64, 1 << bits, bits, &[3, 5]);
    let literal = Literal {
        ring: String::new(),
        records: records * u64::from(buckets),
        buckets,
        record_words: words,
        split: 1,
        rows,
        merged: 1,
        primes: 1,
        queries: 1,
        stride: 1,
        answer_bits: [0; 2],
        written: 0,
        mask: NO_TABLES_MASK,
    };
    Layout::new(form, &ring, &literal)
}

#[test]
fn every_bucket_has_slots_of_its_own() {
    for (buckets, positions) in [(1, 64), (2, 32), (3, 16), (8, 8), (33, 1), (64, 1)] {
        let layout = layout(PlaintextForm::Slots, 16, 3 * positions as u64, [buckets, 2, 3]).unwrap();
        assert_eq!(layout.positions, positions);
        let mut seen = [false; 64];
        for bucket in 0..buckets as usize {
            for position in 0..positions {
                assert!(!std::mem::replace(&mut seen[layout.slot(bucket, position)], true));
            }
        }
    }
    assert!(layout(PlaintextForm::Slots, 16, 1, [65, 2, 1]).is_err());
    assert!(layout(PlaintextForm::Slots, 16, 64, [1, 2, 2]).is_err());
}

#[test]
fn turns_move_every_bucket() {
    for buckets in [1, 2, 5] {
        let layout = layout(PlaintextForm::Slots, 16, 7, [buckets, 2, 1]).unwrap();
        let slots: Vec<u64> = (0..64).collect();
        for by in [0, 1, 3, layout.cycle_positions() - 1] {
            let rotated: Vec<u64> = slots
                .chunks(32)
                .flat_map(|cycle| [&cycle[by * layout.gap()..], &cycle[..by * layout.gap()]].concat())
                .collect();
            for (bucket, position) in
                (0..buckets as usize).flat_map(|b| (0..layout.positions).map(move |p| (b, p)))
            {
                let to = layout.rotated_position(position as u64, by as u64) as usize;
                assert_eq!(rotated[layout.slot(bucket, to)], layout.slot(bucket, position) as u64);
            }
        }
    }
}

#[test]
fn records_are_their_numbers() {
    for bits in [10, 14, 16] {
        let layout = layout(PlaintextForm::Whole, bits, 5, [1, 100, 2]).unwrap();
        let record: Vec<u8> = (0..layout.record_bytes()).map(|i| (i * 37 + 11) as u8).collect();
        let words = layout.words_of(&record);
        assert!(words.len() == 100 && words.iter().all(|word| *word < 1 << bits));
        assert_eq!(layout.bytes_of(&words), record);
    }
    let layout = layout(PlaintextForm::Whole, 10, 5, [2, 100, 2]).unwrap();
    assert_eq!((layout.tables(), layout.blocks, layout.width, layout.cols()), (2, 3, 2, 6));
    assert_eq!(layout.place(3), BucketPlace { row: 1, block: 1, position: 0 });
}

#[test]
fn marks_are_in_lanes_of_their_buckets() {
    let layout = layout(PlaintextForm::Slots, 16, 16, [3, 1, 1]).unwrap();
    let places = [(5, 0), (6, 15), (7, 7)].map(|(row, position)| BucketPlace { row, block: 0, position });
    let slots = layout.marked(&places, |place| place.row);
    assert_eq!(slots.iter().filter(|slot| **slot > 0).count(), 3);
    let marks = [(0, 0), (1, 15), (2, 7)].map(|(lane, position)| slots[layout.slot(lane, position)]);
    assert_eq!(marks, [5, 6, 7]);
}

#[test]
fn rotated_numbers_are_at_rotated_positions() {
    for buckets in [1, 2, 5, 32, 64] {
        let layout = layout(PlaintextForm::Slots, 16, 1, [buckets, 1, 1]).unwrap();
        let slots: Vec<u64> = (100..164).collect();
        for (lane, position) in
            (0..buckets as usize).flat_map(|b| (0..layout.positions as u64).map(move |p| (b, p)))
        {
            let at = |by| layout.rotated_position(position, by as u64) as usize;
            let expected: Vec<u64> =
                (0..layout.cycle_positions()).map(|by| slots[layout.slot(lane, at(by))]).collect();
            assert_eq!(
                *layout.rotated_numbers(&slots, lane, position),
                expected,
                "{buckets} {lane} {position}"
            );
        }
    }
}
