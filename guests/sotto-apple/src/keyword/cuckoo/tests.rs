use super::super::bucket::read;
use super::super::buckets;
use super::*;

fn rows(keys: &[String]) -> Vec<KeywordRow<'_>> {
    let value = |i: usize| &[b'v'; 200][..if i % 100 == 7 { 200 } else { i * 7 % 41 }];
    keys.iter().enumerate().map(|(i, key)| KeywordRow { key: key.as_bytes(), value: value(i) }).collect()
}

fn keys(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("+1555{i:07}")).collect()
}

#[test]
fn every_row_is_in_one_of_its_buckets_once() {
    for (count, bucket_bytes, fixed) in
        [(1, 300, None), (1000, 1024, None), (3000, 300, None), (1000, 1024, Some(40))]
    {
        let keys = keys(count);
        let rows = rows(&keys);
        let placed = CuckooTables::new(&rows, CuckooOptions { bucket_bytes, buckets: fixed }).unwrap();
        assert!(placed.entry_bytes() <= bucket_bytes && fixed.is_none_or(|fixed| placed.buckets() == fixed));
        let mut found = vec![0; count];
        for table in 0..TABLES {
            for bucket in 0..placed.buckets() {
                let mut bytes = vec![0; placed.entry_bytes()];
                placed.write(&rows, table, bucket, &mut bytes);
                for (hash_of_row, value) in read(&bytes).unwrap() {
                    let i = rows.iter().position(|row| hash(row.key) == hash_of_row).unwrap();
                    assert_eq!(
                        (rows[i].value, buckets(hash_of_row, placed.buckets())[table]),
                        (value, bucket)
                    );
                    found[i] += 1;
                }
            }
        }
        assert!(found.iter().all(|times| *times == 1), "{count}");
        assert_eq!(CuckooTables::new(&rows, CuckooOptions { bucket_bytes, buckets: fixed }), Ok(placed));
    }
}

#[test]
fn buckets_are_nearly_full() {
    let keys = keys(20_000);
    let rows: Vec<KeywordRow<'_>> =
        keys.iter().map(|key| KeywordRow { key: key.as_bytes(), value: b"ab" }).collect();
    let placed = CuckooTables::new(&rows, CuckooOptions { bucket_bytes: 1024, buckets: None }).unwrap();
    let full = rows.len() * (ROW + 2) * 100 / (TABLES * placed.buckets() * 1024);
    assert!(full >= 90, "{full} %");
}

#[test]
fn rows_that_make_no_table() {
    let options = |bucket_bytes, buckets| CuckooOptions { bucket_bytes, buckets };
    let place = |rows: &[KeywordRow<'_>], options| CuckooTables::new(rows, options).map(|_| ());
    assert_eq!(place(&[], options(1024, None)), Err(TableError::Empty));
    let row = |key: &'static str, value: &'static [u8]| KeywordRow { key: key.as_bytes(), value };
    let twice = place(&[row("a", b""), row("b", b""), row("a", b"x")], options(1024, None));
    assert!(twice.unwrap_err().to_string().contains("\"a\""));
    let long = place(&[row("a", &[1; 100])], options(110, None));
    assert_eq!(long, Err(TableError::TooLong { key: "a".into(), bytes: 111, bucket: 110 }));
    assert_eq!(place(&[row("a", &[1; 100])], options(111, None)), Ok(()));
    assert!(matches!(place(&[row("a", b"")], options(0, None)), Err(TableError::TooLong { .. })));
    let many = keys(1000);
    let many: Vec<KeywordRow<'_>> =
        many.iter().map(|key| KeywordRow { key: key.as_bytes(), value: b"" }).collect();
    let refused = place(&many, options(1024, Some(4)));
    assert_eq!(refused, Err(TableError::NoPlace { rows: 1000, buckets: 4, bytes: 1024 }));
    // A bucket has at most 255 rows, however many bytes it has.
    assert!(place(&many, options(60_000, Some(1))).is_err());
    assert!(place(&many, options(60_000, None)).is_ok());
}
