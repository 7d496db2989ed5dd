//! Tables of several buckets: one secret and one set of keys for a record of each.

use crate::{Table, literal};
use sotto_core::{
    Artifact, BatchScheme as _, Image as _, OneServer, RecordChange, RecordIndex, Section, Server as _,
    SumScheme as _, TableShape, UpdateImage,
};
use sotto_silent::lattice::{self, N, Q, Q_BITS, VECTORS};
use sotto_silent::message::Query;
use sotto_silent::{MatrixLiteral as _, MatrixScheme};
use sotto_testkit::memory::MemorySink;
use sotto_testkit::rng::seeded;
use sotto_testkit::served::refuses;
use sotto_testkit::vectors::bytes;
use sotto_ypir_sp::literal::ParamsLiteral;
use sotto_ypir_sp::{ENTRY, YpirSp};
use std::collections::HashSet;

type Scheme = MatrixScheme<YpirSp>;

/// Parameters of a table of this many buckets of `records` records.
pub(crate) fn of_buckets(
    buckets: u64,
    [record_bytes, records, samples]: [u64; 3],
    query_bits: u8,
) -> ParamsLiteral {
    let one = literal([record_bytes, records * buckets, samples], [query_bits, 46], [20, 12]);
    ParamsLiteral { buckets: Some(buckets), ..one }
}

fn table(literal: ParamsLiteral) -> Table {
    let rows = bytes((literal.record_bytes * literal.records) as usize);
    Table::checked(literal, rows)
}

fn batch(table: &Table, places: &[u64], label: &str) -> Query {
    let mut client = table.client("prepare");
    let (OneServer(query), _) = Scheme::query_buckets(&mut client, places, &mut seeded(label)).unwrap();
    query
}

/// Checks a record of each bucket, single records, and a sum over the border of two buckets.
fn comes_back(table: &Table, label: &str) {
    let (buckets, each) = (table.params.buckets(), table.params.bucket_records());
    let mut client = table.client("prepare");
    for round in 0..3 {
        let places: Vec<u64> = (0..buckets).map(|bucket| (round * 7 + bucket * 3) % each).collect();
        let rng = &mut seeded(&format!("{label} {round}"));
        let (OneServer(query), pending) = Scheme::query_buckets(&mut client, &places, rng).unwrap();
        let answer = table.server.answer(&(), query).unwrap();
        let records = Scheme::recover_buckets(&mut client, pending, OneServer(answer)).unwrap();
        assert_eq!(records.len() as u64, buckets);
        for (bucket, (record, place)) in (0..).zip(records.iter().zip(places)) {
            assert!(record.bytes() == table.row(bucket * each + place), "{label}: bucket {bucket}");
        }
    }
    table.come_back(label);
    let (OneServer(query), pending) =
        Scheme::query_sum(&mut client, RecordIndex(each - 1), 0b1011, &mut seeded(label)).unwrap();
    let answer = table.server.answer(&(), query).unwrap();
    let sum = sotto_core::Client::<Scheme>::recover(&mut client, pending, OneServer(answer)).unwrap();
    let rows = [each - 1, each, each + 2].map(|row| table.row(row));
    let added = (0..sum.bytes().len()).map(|i| rows.iter().fold(0u8, |sum, row| sum.wrapping_add(row[i])));
    assert!(added.eq(sum.bytes().iter().copied()), "{label}: a sum over two buckets");
}

#[test]
fn records_of_all_buckets_come_back() {
    for samples in [2048, 1024] {
        comes_back(&table(of_buckets(2, [2100, 9, samples], 30)), "several groups");
        comes_back(&table(of_buckets(3, [70, 2100, samples], 30)), "several blocks");
    }
}

/// The bytes of a query are those of all vectors, and of one set of keys.
#[test]
fn keys_are_sent_once() {
    for (samples, keys) in [(2048, 2), (1024, 1)] {
        let key_bytes = keys * 46 * N as u64 / 8;
        let costs = |buckets| table(of_buckets(buckets, [70, 32, samples], 30)).params.costs();
        let [two, four] = [2, 4].map(costs);
        assert_eq!(two.query_bytes, 2 * 32 * 30 / 8 + key_bytes);
        assert_eq!(four.query_bytes, 4 * 32 * 30 / 8 + key_bytes);
        assert_eq!(four.answer_bytes, 2 * two.answer_bytes);
        assert_eq!(four.artifact_bytes, 2 * two.artifact_bytes);
    }
}

/// Under one secret no public polynomial occurs twice, also where a bucket has several blocks and the
/// last is not full; and none is that of a key.
#[test]
fn vectors_of_one_secret_share_no_polynomial() {
    let ring = lattice::ring().unwrap();
    for words in [1, N - 1, N, N + 1, 3 * N + 5] {
        let blocks = |bucket| lattice::first_block(bucket, words)..lattice::first_block(bucket + 1, words);
        let all: Vec<usize> = (0..5).flat_map(blocks).collect();
        assert!(all.len() == 5 * words.div_ceil(N) && all.iter().collect::<HashSet<_>>().len() == all.len());
    }
    let blocks: HashSet<Vec<u64>> = (0..40).map(|block| lattice::block(&ring, VECTORS[0], block)).collect();
    let keys = (0..2).map(|key| lattice::block(&ring, "silent keys", key));
    assert_eq!(blocks.len(), 40);
    assert!(keys.into_iter().all(|key| !blocks.contains(&key)));
}

/// If two buckets had the same polynomials, their vectors would differ by two errors where both have a
/// one at the same place, and the places could be read off the difference.
#[test]
fn vectors_of_two_buckets_differ_in_all_words() {
    let table = table(of_buckets(2, [70, 2048, 2048], 50));
    for places in [[5, 5], [5, 900]] {
        let Query(fields) = batch(&table, &places, "differ");
        let far = fields[0].iter().zip(&fields[1]).filter(|(a, b)| {
            let apart = a.abs_diff(**b);
            apart.min(Q - apart) > 1 << (Q_BITS - 12)
        });
        // A share of 2^-11 of uniform differences is that close.
        assert!(far.count() > 2030, "{places:?}");
    }
}

/// A query with the same places again has another secret, so also other keys.
#[test]
fn a_secret_serves_one_query() {
    let table = table(of_buckets(3, [70, 40, 2048], 30));
    let [Query(one), Query(other)] = ["one", "other"].map(|label| batch(&table, &[1, 2, 3], label));
    assert!(one.iter().zip(&other).all(|(one, other)| one != other));
}

/// A change in one bucket gives the image that encoding again gives.
#[test]
fn a_change_is_made_in_its_bucket() {
    let table = table(of_buckets(3, [2500, 7, 2048], 30));
    let change = |(record, offset)| {
        let bytes = table.row(record).iter().skip(offset as usize).take(9).map(|byte| byte ^ 0x55).collect();
        RecordChange { record, offset, bytes }
    };
    let changes = [(20, 2400), (1, 3), (9, 0)].map(change);
    for some in [&changes[..1], &changes[..]] {
        let mut rows = table.rows.clone();
        for change in some {
            let at = (change.record * 2500 + change.offset) as usize;
            rows[at..at + 9].copy_from_slice(&change.bytes);
        }
        let sink = MemorySink::holding(table.image.clone());
        Scheme::update_image(&table.params, some, &sink).unwrap();
        let (updated, encoded) = (sink.into_image(), Table::of(table.params.clone(), rows).image);
        for section in [Section::Resident, Section::Public(Artifact::Hint)] {
            let [updated, encoded] = [&updated, &encoded].map(|image| image.section(section).unwrap());
            assert!(updated == encoded, "{} changes, {section:?}", some.len());
        }
    }
}

#[test]
fn literals_of_unequal_and_too_many_buckets_are_refused() {
    let good = || of_buckets(4, [4096, 100, 2048], 30);
    let fields =
        [0, 1, 3, 1025].map(|buckets| ("buckets", ParamsLiteral { buckets: Some(buckets), ..good() }));
    let large = ParamsLiteral { buckets: Some(32), records: 3200, record_bytes: 1 << 20, ..good() };
    let few = ParamsLiteral { buckets: Some(1000), records: 500, ..good() };
    refuses::<Scheme>(good(), [], fields.into_iter().chain([("buckets", large), ("buckets", few)]));
    // A table of one bucket has one text.
    for buckets in [1, 2] {
        let params = (ENTRY.select)(&TableShape { buckets, ..TableShape::new(100, 16, 1) }).unwrap();
        let text = String::from_utf8(params).unwrap();
        assert_eq!(text.contains("buckets"), buckets > 1, "{text}");
    }
}
