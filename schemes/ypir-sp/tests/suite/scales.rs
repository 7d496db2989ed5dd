//! Tables with several records in a column of the matrix, each at a scale of its own.

use crate::{Table, literal};
use sotto_core::{
    Artifact, Goal, Image as _, Misuse, Params as _, PartIndex, PartScheme, RecordChange, RecordIndex,
    Section, Server as _, SumScheme as _, TableShape, UpdateImage, Wire as _,
};
use sotto_silent::lattice::N;
use sotto_silent::message::Answer;
use sotto_silent::{MatrixLiteral as _, MatrixScheme, Params};
use sotto_testkit::memory::{MemoryImage, MemorySink};
use sotto_testkit::rng::seeded;
use sotto_testkit::served::refuses;
use sotto_testkit::vectors::bytes;
use sotto_ypir_sp::literal::ParamsLiteral;
use sotto_ypir_sp::{ENTRY, YpirSp};
use std::sync::Arc;

type Scheme = MatrixScheme<YpirSp>;

/// The same with several records in a column.
pub(crate) fn scaled(scales: [u8; 2], literal: ParamsLiteral) -> ParamsLiteral {
    ParamsLiteral { scales: Some(scales), ..literal }
}

/// The same with numbers of four bits.
pub(crate) fn nibbles(scales: [u8; 2], literal: ParamsLiteral) -> ParamsLiteral {
    ParamsLiteral { number_bits: 4, ..scaled(scales, literal) }
}

fn of(scales: [u8; 2], sizes: [u64; 3]) -> ParamsLiteral {
    scaled(scales, literal(sizes, [48, 46], [20, 12]))
}

fn table(literal: ParamsLiteral) -> Table {
    let rows = bytes((literal.record_bytes * literal.records) as usize);
    Table::checked(literal, rows)
}

fn looked_up(table: &Table, records: impl IntoIterator<Item = u64>) {
    let mut client = table.client("prepare");
    for record in records {
        let (_, _, row) = table.lookup(&mut client, record, &format!("record {record}"));
        assert!(row == table.row(record), "record {record}");
    }
}

/// Records of several groups and of one, in one block and in several; as many as fill the columns, and
/// fewer.
#[test]
fn records_at_all_scales_come_back() {
    for samples in [2048, 1024] {
        for (scales, [record_bytes, records]) in [
            ([3, 10], [5000, 9]),
            ([3, 9], [64, 7]),
            ([2, 12], [1, 3]),
            ([3, 11], [70, 6200]),
            ([2, 9], [100, 1]),
        ] {
            let table = table(of(scales, [record_bytes, records, samples]));
            looked_up(&table, (0..3).map(|i| i % records).chain([records / 2, records - 1]));
        }
        for (scales, [record_bytes, records]) in
            [([5, 6], [3000, 12]), ([6, 5], [33, 12_300]), ([2, 5], [1, 2])]
        {
            let table = table(nibbles(scales, of(scales, [record_bytes, records, samples])));
            looked_up(&table, (0..6).map(|i| i % records).chain([records / 2, records - 1]));
        }
    }
}

/// What records at lower scales leave is largest where all their numbers are at an end of their range.
#[test]
fn extreme_records_come_back() {
    let narrow = |scales| ParamsLiteral { answer_bits: [24, 13], ..of(scales, [2048, 300, 1024]) };
    // 0x78 is -8 and -8, and 0x77 is 7 and 7.
    let of_nibbles = [[5, 6], [6, 5], [3, 5]].map(|scales| (nibbles(scales, narrow(scales)), [0x78, 0x77]));
    let of_bytes = [[3, 9], [2, 9], [3, 10]].map(|scales| (narrow(scales), [0x80, 0x7f]));
    for (literal, [low, high]) in of_nibbles.into_iter().chain(of_bytes) {
        for fill in [[low, low], [high, high], [low, high], [high, low]] {
            let rows = (0..300).flat_map(|record| [fill[record % 2]; 2048]).collect();
            looked_up(&Table::checked(literal.clone(), rows), [0, 1, 2, 3, 4, 5, 299]);
        }
    }
}

/// The bytes of a query are those of a word for each column.
#[test]
fn a_word_is_for_all_records_of_a_column() {
    let params = Params::<YpirSp>::check(of([3, 10], [4096, 1000, 1024])).unwrap();
    assert_eq!(params.words(), 334);
    assert_eq!(params.query_bytes(), (334 * 48u64).div_ceil(8) + 46 * N as u64 / 8);
    assert_eq!(params.bucket_bytes(), 3 * 4096 * 336 + params.weight_bytes());
}

#[test]
fn encoded_records_are_read_back() {
    for literal in [of([3, 10], [130, 1000, 1024]), nibbles([5, 6], of([5, 6], [130, 1000, 1024]))] {
        let table = table(literal);
        let image = Arc::new(table.image.clone());
        let records = <Scheme as sotto_core::Scheme>::Server::records(&table.params, image).unwrap();
        for range in [0..1000, 1..3, 2..2, 998..1000, 500..700] {
            let mut rows = vec![0; range.len() * 130];
            records.read(range.start as u64, &mut rows).unwrap();
            assert!(rows == table.rows[range.start * 130..range.end * 130], "{range:?}");
        }
        let mut part = [0; 70];
        records.read_part(77, 60, &mut part).unwrap();
        assert_eq!(part, table.row(77)[60..]);
        assert!(records.read(999, &mut [0; 260]).is_err() && records.read_part(1000, 0, &mut part).is_err());
    }
}

/// Changes at all scales, over the ends of panels and groups, give the image that encoding again gives.
#[test]
fn changes_are_made_at_their_scales() {
    let five = vec![(0, 1000, 50), (1, 1000, 50), (38, 0, 2500), (39, 2499, 1)];
    for (literal, changes) in [
        (of([3, 10], [2500, 40, 1024]), five.clone()),
        (of([3, 10], [2500, 40, 2048]), vec![(20, 2400, 100)]),
        (of([3, 10], [70, 3000, 1024]), vec![(2999, 0, 70), (7, 63, 2), (8, 0, 1)]),
        (nibbles([5, 6], of([5, 6], [2500, 40, 1024])), five),
        (nibbles([4, 6], of([4, 6], [70, 3000, 2048])), vec![(2999, 69, 1), (7, 31, 2)]),
    ] {
        let record_bytes = literal.record_bytes;
        let table = table(literal);
        let mut rows = table.rows.clone();
        let change = |(record, offset, len): (u64, u64, usize)| {
            let at = (record * record_bytes + offset) as usize;
            rows[at..at + len].iter_mut().for_each(|byte| *byte ^= 0x55);
            RecordChange { record, offset, bytes: rows[at..at + len].to_vec() }
        };
        let changes: Vec<_> = changes.into_iter().map(change).collect();
        let sink = MemorySink::holding(table.image.clone());
        Scheme::update_image(&table.params, &changes, &sink).unwrap();
        let (updated, encoded) = (sink.into_image(), Table::of(table.params.clone(), rows).image);
        for section in [Section::Resident, Section::Public(Artifact::Hint)] {
            let [updated, encoded] = [&updated, &encoded].map(|image| image.section(section).unwrap());
            assert!(updated == encoded, "{:?} {section:?}", table.params);
        }
    }
}

/// The answers of any number of parts, joined, are that of the whole table.
#[test]
fn parts_of_several_scales_make_the_table() {
    for literal in [of([3, 10], [5000, 50, 1024]), nibbles([5, 6], of([5, 6], [2000, 50, 1024]))] {
        parts_make(&table(literal));
    }
}

fn parts_make(table: &Table) {
    let mut client = table.client("prepare");
    let (query, _) = table.query(&mut client, 31, &mut seeded("parts"));
    let query = || <Scheme as sotto_core::Scheme>::Query::take(&table.params, &query[0]).unwrap();
    let whole: Answer = table.server.answer(&(), query()).unwrap();
    let image = table.image.section(Section::Resident).unwrap();
    for parts in 1..=Scheme::max_parts(&table.params) {
        let partials: Vec<_> = PartIndex::all(parts)
            .map(|cut| {
                let ranges = Scheme::part_ranges(&table.params, cut).into_iter();
                let bytes = ranges.flat_map(|range| image[range.start as usize..range.end as usize].to_vec());
                let part = MemoryImage::default().with(Section::Resident, &bytes.collect::<Vec<_>>());
                let part = Scheme::open_part(&table.params, cut, Arc::new(part)).unwrap();
                Scheme::answer_part(&part, vec![(&(), query())]).remove(0).unwrap()
            })
            .collect();
        Scheme::prepare_join(&table.params).unwrap();
        let joined = Scheme::join(&table.params, &(), &(), query(), &partials).unwrap();
        assert!(joined.0 == whole.0, "{parts} parts");
    }
}

/// Sums are refused whatever is asked for, and are never selected away.
#[test]
fn tables_of_sums_have_one_scale() {
    let table = table(of([3, 10], [70, 3000, 1024]));
    let mut client = table.client("prepare");
    for ones in [0, 1, 0b101] {
        let refused = Scheme::query_sum(&mut client, RecordIndex(5), ones, &mut seeded("sum"));
        assert!(matches!(refused, Err(sotto_core::Error::Misuse(Misuse::Rule(_)))), "{ones}");
    }
    let select = |sums, buckets| {
        let shape =
            TableShape { sums, buckets, goal: Goal::TotalBytes, ..TableShape::new(1 << 15, 4096, 1000) };
        ParamsLiteral::select(&shape).unwrap()
    };
    assert!(select(true, 1).scales.is_none() && select(false, 4).scales.is_none());
    assert!(select(false, 1).scales.is_some());
}

/// The reference table, 2^15 x 32 KiB: a sixth fewer bytes at each goal than with one scale.
#[test]
fn scales_save_bytes() {
    for goal in [Goal::ServerTime, Goal::TotalBytes] {
        for lookups in [1, 1000] {
            let of = |sums| {
                let shape = TableShape { goal, sums, ..TableShape::new(1 << 15, 1 << 15, lookups) };
                Params::<YpirSp>::check(ParamsLiteral::select(&shape).unwrap()).unwrap()
            };
            let [one, several] = [true, false].map(of);
            assert!(several.epoch_bytes(lookups) * 6 < one.epoch_bytes(lookups) * 5, "{goal:?} {several:?}");
        }
    }
}

#[test]
fn literals_of_other_scales_are_refused() {
    let good = || of([3, 10], [4096, 1000, 1024]);
    let wrong = [[1, 10], [7, 9], [0, 10], [255, 255], [3, 8], [3, 17], [6, 9]];
    let fields = wrong.map(|scales| ("scales", scaled(scales, good())));
    let numbers =
        [0, 3, 5, 9, 255].map(|bits| ("number_bits", ParamsLiteral { number_bits: bits, ..good() }));
    let unscaled = ParamsLiteral { number_bits: 4, scales: None, ..good() };
    let fields = fields.into_iter().chain(numbers).chain([("number_bits", unscaled)]);
    let short = ParamsLiteral { block: 512, samples: 2048, ..good() };
    let buckets = ParamsLiteral { buckets: Some(4), ..good() };
    let unreliable = [
        ParamsLiteral { query_bits: 36, ..good() },
        scaled([3, 14], good()),
        scaled([3, 10], literal([4096, 1 << 20, 1024], [50, 50], [37, 37])),
    ];
    refuses::<Scheme>(good(), unreliable, fields.chain([("scales", short), ("scales", buckets)]));
    // A table of one scale has one text.
    for (sums, text) in [(false, r#","scales":[3,10],"#), (true, r#","samples":1024,"query_bits""#)] {
        let params = (ENTRY.select)(&TableShape { sums, ..TableShape::new(1 << 15, 4096, 1000) }).unwrap();
        assert!(String::from_utf8(params).unwrap().contains(text), "{text}");
    }
}
