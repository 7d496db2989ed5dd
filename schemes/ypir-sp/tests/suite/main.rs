//! YPIR+SP from outside: noise, refusals, what a change touches.
#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed check fails its test"
)]

mod aborts;
mod buckets;
mod noise;
mod scales;

use sotto_core::{Artifact, Image as _, RecordChange, Section, UpdateImage};
use sotto_silent::lattice::{N, PUBLIC_SEED, SET};
use sotto_silent::message::Query;
use sotto_silent::unit_vector::largest;
use sotto_silent::{MatrixLiteral as _, MatrixScheme};
use sotto_testkit::memory::MemorySink;
use sotto_testkit::served::{InProcessServer, is_not_canonical, refuses, with_word};
use sotto_testkit::vectors::bytes;
use sotto_ypir_sp::YpirSp;
use sotto_ypir_sp::literal::ParamsLiteral;

/// A table, and a server that has it.
type Table = InProcessServer<MatrixScheme<YpirSp>>;

fn literal(
    [record_bytes, records, samples]: [u64; 3],
    [query_bits, key_bits]: [u8; 2],
    answer_bits: [u8; 2],
) -> ParamsLiteral {
    let (set, seed, buckets, scales) = (SET.into(), PUBLIC_SEED, None, None);
    let (block, number_bits) = (N as u64, 8);
    ParamsLiteral {
        set,
        record_bytes,
        records,
        buckets,
        samples,
        block,
        scales,
        number_bits,
        query_bits,
        key_bits,
        answer_bits,
        seed,
    }
}

/// The same in short blocks of so many records.
fn short(block: u64, literal: ParamsLiteral) -> ParamsLiteral {
    ParamsLiteral { block, ..literal }
}

/// Records of several groups and of one, in one block and in several, with fewer rows than a panel and
/// with more.
#[test]
fn records_in_short_blocks_come_back() {
    for (block, [record_bytes, records]) in [
        (1, [5000, 1]),
        (2, [5000, 3]),
        (4, [9000, 9]),
        (32, [70_000, 33]),
        (128, [100, 300]),
        (1024, [2050, 700]),
    ] {
        let literal = short(block, literal([record_bytes, records, 2048], [30, 46], [20, 12]));
        let table = Table::checked(literal, bytes((record_bytes * records) as usize));
        table.come_back(&format!("{block} {record_bytes} {records}"));
    }
}

/// A changed byte changes the digits and the mask of its group, and no others.
#[test]
fn a_change_in_short_blocks_touches_its_group_alone() {
    let literal = short(4, literal([5 * 2048, 6, 2048], [50, 50], [37, 30]));
    let table = Table::checked(literal, bytes(5 * 2048 * 6));
    let mut rows = table.rows.clone();
    let (record, offset) = (5, 4 * 2048 - 3);
    let change = vec![1, 2, 3, 4, 5, 6, 7];
    rows[record * 5 * 2048 + offset..][..7].copy_from_slice(&change);
    let change = RecordChange { record: record as u64, offset: offset as u64, bytes: change };
    let sink = MemorySink::holding(table.image.clone());
    MatrixScheme::<YpirSp>::update_image(&table.params, &[change], &sink).unwrap();
    let revised = sink.into_image();
    let blocks = table.params.short_blocks().unwrap();
    let (matrix, group) = (blocks.layout(&(0..5)).bytes(), blocks.digit_bytes() as usize);
    let [old, new] =
        [&table.image, &revised].map(|image| &image.section(Section::Resident).unwrap()[matrix..]);
    assert!(old[..3 * group] == new[..3 * group]);
    assert!(old[3 * group..4 * group] != new[3 * group..4 * group] && old[4 * group..] != new[4 * group..]);
    Table::opened(table.params.clone(), rows, revised).come_back("changed");
}

/// Records of several groups, the last of which is not full; of less than a group; of one byte.
#[test]
fn records_of_all_shapes_come_back() {
    for samples in [2048, 1024] {
        for [record_bytes, records] in [[5000, 9], [1, 3], [100, 2500]] {
            let literal = literal([record_bytes, records, samples], [30, 46], [20, 12]);
            let table = Table::checked(literal, bytes((record_bytes * records) as usize));
            table.come_back(&format!("{record_bytes} {records} {samples}"));
        }
    }
}

/// Answers are bodies: the masks are an artifact, and are the same for every query.
#[test]
fn masks_are_no_part_of_an_answer() {
    for samples in [2048u64, 1024] {
        let table = Table::checked(literal([5000, 9, samples], [30, 46], [20, 12]), bytes(5000 * 9));
        let groups = 5000u64.div_ceil(samples);
        let costs = table.params.costs();
        assert_eq!(costs.answer_bytes, groups * samples * 12 / 8);
        assert_eq!(costs.artifact_bytes, groups * 2048 * 20 / 8);
        assert_eq!(table.image.artifact(Artifact::Hint).unwrap().len() as u64, costs.artifact_bytes);
    }
}

#[test]
fn words_that_no_residue_is_cut_to_are_refused() {
    let table = Table::checked(literal([5000, 9, 2048], [50, 50], [37, 30]), bytes(5000 * 9));
    let (asked, _, _) = table.lookup(&mut table.client("prepare"), 3, "query");
    // The first word of the vector, and the first coefficient of a key; the padding of nine words.
    let key = 8 * asked.len() - N * 50;
    for (at, bits, word) in [(0, 50, largest(50) + 1), (key, 50, largest(50) + 1), (9 * 50, 1, 1)] {
        let bad = with_word(&asked, at, bits, word.into());
        assert!(is_not_canonical::<Query, _>(&table.params, &bad), "{at}");
    }
}

#[test]
fn literals_that_promise_too_much_are_refused() {
    let of = |record_bytes, records| literal([record_bytes, records, 2048], [26, 46], [19, 10]);
    let good = || of(4096, 1000);
    let fields = [
        ("set", ParamsLiteral { set: "n1024".into(), ..good() }),
        ("seed", ParamsLiteral { seed: sotto_prg::PublicSeed([1; 32]), ..good() }),
        ("record_bytes", of(0, 10)),
        ("record_bytes", of((1 << 20) + 1, 10)),
        ("records", of(4096, (1 << 20) + 1)),
        ("samples", literal([4096, 1000, 512], [26, 46], [19, 10])),
        ("samples", literal([4096, 1000, 0], [26, 46], [19, 10])),
        ("block", short(0, good())),
        ("block", short(3, good())),
        ("block", short(4096, good())),
        ("block", short(128, good())),
        ("block", short(16, literal([4096, 1000, 1024], [26, 46], [19, 10]))),
        ("query_bits", ParamsLiteral { query_bits: 51, ..good() }),
        ("query_bits", ParamsLiteral { query_bits: 15, ..good() }),
        ("key_bits", ParamsLiteral { key_bits: 39, ..good() }),
        ("answer_bits", ParamsLiteral { answer_bits: [38, 10], ..good() }),
        ("answer_bits", ParamsLiteral { answer_bits: [19, 20], ..good() }),
        ("answer_bits", ParamsLiteral { answer_bits: [19, 8], ..good() }),
    ];
    refuses::<MatrixScheme<YpirSp>>(good(), [of(4096, 1 << 20)], fields);
}

/// One byte changes the weights and the mask of its group, and no others.
#[test]
fn a_change_touches_its_group_alone() {
    let table = Table::checked(literal([5 * 2048, 3, 2048], [50, 50], [37, 30]), bytes(5 * 2048 * 3));
    let mut rows = table.rows.clone();
    rows[4 * 2048 + 7] ^= 1;
    let change = RecordChange { record: 0, offset: 4 * 2048 + 7, bytes: vec![rows[4 * 2048 + 7]] };
    let sink = MemorySink::holding(table.image.clone());
    MatrixScheme::<YpirSp>::update_image(&table.params, &[change], &sink).unwrap();
    let revised = sink.into_image();
    let matrix = table.params.layout().bytes();
    let [old, new] =
        [&table.image, &revised].map(|image| &image.section(Section::Resident).unwrap()[matrix..]);
    // Four rows for each of 2048 numbers, with a byte for each of 2048 coefficients of a key.
    let group = 4 * 2048 * 2048;
    assert!(old[..4 * group] == new[..4 * group]);
    assert!(old[4 * group..5 * group] != new[4 * group..5 * group]);
    let [old, new] = [&table.image, &revised].map(|image| image.artifact(Artifact::Hint).unwrap());
    let mask = 2048 * 37 / 8;
    assert!(old[..4 * mask] == new[..4 * mask] && old[4 * mask..] != new[4 * mask..]);
    Table::opened(table.params.clone(), rows, revised).come_back("changed");
}
