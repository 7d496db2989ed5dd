//! Batch queries: a record of each bucket, and the schemes that have tables of buckets.

use super::*;

#[test]
fn one_record_of_each_bucket_is_asked_for() {
    let entry = SchemeEntry::of::<Toy<'i'>>();
    assert_eq!(entry.batch.unwrap()(b"null").unwrap(), 2);
    let mut client = (entry.prepare)(b"null", &mut NoCoins).unwrap().finish().unwrap();
    let batch = client.batch().unwrap();
    let (queries, ticket) = batch.query_buckets(&[4, 4], &mut NoCoins).unwrap();
    assert_eq!(queries, [[0u8; 0]]);
    assert!(matches!(batch.recover_buckets(ticket, &[]), Err(crate::Error::Peer(_))));
    let (_, ticket) = batch.query_buckets(&[0, 4], &mut NoCoins).unwrap();
    assert_eq!(batch.recover_buckets(ticket, &[Vec::new()]).unwrap().len(), 2);
    assert!(matches!(
        batch.recover_buckets(AnyPending(Box::new(7)), &[]),
        Err(crate::Error::Misuse(Misuse::ForeignValue(_)))
    ));
    let refused = |places: &[u64]| match crate::check_bucket_places(places, 2, 5) {
        Err(crate::Error::Misuse(misuse)) => misuse,
        other => panic!("{places:?} gave {other:?}"),
    };
    assert_eq!(refused(&[0, 5]), Misuse::IndexPastEnd { index: 5, len: 5 });
    assert_eq!(refused(&[u64::MAX, 0]), Misuse::IndexPastEnd { index: u64::MAX, len: 5 });
    assert!([&[][..], &[0], &[0; 3]].map(refused).iter().all(|misuse| matches!(misuse, Misuse::Rule(_))));
}

#[test]
fn a_table_of_buckets_is_for_schemes_with_batches() {
    let select = |entry: SchemeEntry, rows, buckets| {
        let outcome = (entry.select)(&TableShape { buckets, ..TableShape::new(rows, 1, 1) });
        outcome.map(drop).map_err(|error| error.to_string())
    };
    let (plain, batched) = (SchemeEntry::of::<Toy<'z'>>(), SchemeEntry::of::<Toy<'i'>>());
    assert_eq!((select(plain, 6, 1), select(batched, 6, 3)), (Ok(()), Ok(())));
    assert!(select(plain, 6, 3).unwrap_err().contains("toy/1 asks for one record"));
    assert!(select(batched, 7, 3).unwrap_err().contains("7 rows are no 3 equal buckets"));
    assert!(select(batched, 6, 0).unwrap_err().contains("one bucket at least"));
}
