//! Tables of several buckets: how rows fill them, which are refused, and updates of a stack of one
//! table.

use crate::common::{Memory, all, encode, folder, key, names, options, rows_of, write};
use sotto_catalog::stack::{FORMAT, Shard};
use sotto_catalog::{BatchAccess, CatalogError, SigningKey, Stack, TableKind};
use sotto_core::{Epoch, SchemeEntry};
use sotto_db::audit;
use sotto_db::ingest::FileOptions;
use sotto_db::progress::silent;
use sotto_db::table::{Buckets, MappedTable, grouped};
use sotto_db::update::{ChangeFile, UpdateOptions, read_stack_update};
use sotto_db::{
    DbError, EncodeOptions, ImageFile, RowProofs, StackDir, TableDir, TableSource, encode_buckets,
};
use sotto_layers::batch_code::Params;
use sotto_layers::batch_code::code::CodeSizes;
use sotto_prg::PublicSeed;
use sotto_testkit::{CLEAR, CLEAR_BATCH};
use std::path::Path;
use std::sync::Arc;

/// Checks the rows of one bucket of an image, and that only zeros follow those of its table.
fn check_bucket(image: &ImageFile, bucket: usize, buckets: usize, right: &[u8]) {
    let rows = rows_of(image, &CLEAR_BATCH);
    let (found, rest) = rows.chunks(rows.len() / buckets).nth(bucket).unwrap().split_at(right.len());
    assert!(found == right, "bucket {bucket}");
    assert!(rest.iter().all(|byte| *byte == 0), "what fills bucket {bucket}");
}

#[test]
fn buckets_are_filled_to_whole_records() {
    // Rows that share a record, rows with a record of their own, and rows that span several.
    for width in [4, 11, 40, 3000] {
        for verified in [RowProofs::No, RowProofs::Yes] {
            let tables = [13, 8, 1, 11].map(|rows| Memory::numbered(rows, width));
            let parts: Vec<&dyn TableSource> = tables.iter().map(|table| table as &dyn TableSource).collect();
            let (_temp, dir) = folder();
            let key = key();
            let options = EncodeOptions { verified, ..options(&key) };
            let done = encode_buckets(&CLEAR_BATCH, &parts, &dir.lock().unwrap(), &options, &silent).unwrap();
            let image = dir.open_latest().unwrap();
            let terms = image.catalog().terms(&CLEAR_BATCH).unwrap();
            assert_eq!((terms.buckets, terms.packing.rows()), (4, done.rows));
            assert!(done.rows >= 4 * 13 && done.rows < 4 * (13 + terms.packing.rows_per_record()));
            assert_eq!(image.catalog().rows_root.path.is_some(), verified == RowProofs::Yes, "{width}");
            for (bucket, table) in tables.iter().enumerate() {
                check_bucket(&image, bucket, 4, &all(table));
            }
            assert!(audit(&CLEAR_BATCH, &image, &silent, &|| true).unwrap());
        }
    }
}

#[test]
fn one_table_is_no_bucket() {
    let (table, key) = (Memory::numbered(13, 4), key());
    let ((_temp, one), (_other, other)) = (folder(), folder());
    encode(&one, &CLEAR_BATCH, &table).unwrap();
    encode_buckets(&CLEAR_BATCH, &[&table], &other.lock().unwrap(), &options(&key), &silent).unwrap();
    let [one, other] = [one, other].map(|dir| dir.open_latest().unwrap());
    assert_eq!((one.catalog().rows, one.catalog().terms(&CLEAR_BATCH).unwrap().buckets), (13, 1));
    assert_eq!(one.catalog().rows_root, other.catalog().rows_root);
}

#[test]
fn what_is_no_table_of_buckets_is_refused() {
    let (a, b, wide) = (Memory::numbered(5, 4), Memory::numbered(3, 4), Memory::numbered(5, 8));
    let (_temp, dir) = folder();
    let key = key();
    let refused = |entry: &SchemeEntry, tables: &[&dyn TableSource], options: EncodeOptions<'_>| {
        let error = encode_buckets(entry, tables, &dir.lock().unwrap(), &options, &silent).unwrap_err();
        assert!(matches!(error, DbError::Scheme(_)), "{error}");
        error.to_string()
    };
    assert!(
        refused(&CLEAR, &[&a, &b], options(&key)).contains("buckets: a query of clear/1 fetches one record")
    );
    assert!(refused(&CLEAR_BATCH, &[&a, &wide], options(&key)).contains("rows of different widths"));
    assert!(refused(&CLEAR_BATCH, &[], options(&key)).contains("rows of different widths"));
    let room = EncodeOptions { headroom: 1, ..options(&key) };
    assert!(refused(&CLEAR_BATCH, &[&a, &b], room).contains("headroom is not possible"));
    assert_eq!(names(dir.path()), ["write.lock"]);

    // A catalog whose rows do not fill the buckets is refused.
    encode_buckets(&CLEAR_BATCH, &[&a, &b], &dir.lock().unwrap(), &options(&key), &silent).unwrap();
    let mut catalog = dir.open_latest().unwrap().catalog().clone();
    catalog.terms(&CLEAR_BATCH).unwrap();
    catalog.rows -= 1;
    let error = catalog.terms(&CLEAR_BATCH).unwrap_err();
    assert!(matches!(error, CatalogError::Disagree("the rows of the buckets")), "{error}");
}

/// A stack over a code, with one table of buckets and, if there are spare lookups, the whole table.
fn publish(folder: &Path, epoch: u64, table: &Memory, sizes: CodeSizes, key: &SigningKey) -> StackDir {
    let dir = StackDir::create(folder).unwrap();
    let params = Params::new(sizes, PublicSeed([5; 32]));
    let code = params.code().unwrap();
    let copy = MappedTable::copy(table, folder, &silent).unwrap();
    let buckets = Buckets::new(&copy, &code).unwrap();
    let tables = buckets.tables();
    let tables: Vec<&dyn TableSource> = tables.iter().map(|table| table as &dyn TableSource).collect();
    let groups = grouped(&CLEAR_BATCH, &tables, code.buckets());
    assert_eq!(grouped(&CLEAR, &tables, code.buckets()).len(), tables.len());
    let shards = groups.into_iter().enumerate().map(|(i, group)| {
        let name = format!("many-{i}").parse().unwrap();
        let folder = TableDir::create(&dir.table(&name)).unwrap();
        let options = EncodeOptions { table: name, ..options(key) };
        let done = encode_buckets(&CLEAR_BATCH, group, &folder.lock().unwrap(), &options, &silent).unwrap();
        Shard::of(folder.open_epoch(done.epoch).unwrap().catalog()).unwrap()
    });
    let stack = Stack {
        format: FORMAT.to_owned(),
        stack: "many".parse().unwrap(),
        epoch: Epoch(epoch),
        layers: BatchAccess::layers(&TableKind::Index, &[], &params),
        shards: shards.collect(),
        files: Vec::new(),
        anchor: None,
        attribution: None,
        created: 1,
        expires: None,
    };
    dir.publish(&stack, &[], key).unwrap();
    dir
}

/// Images of a stack's tables, in the epochs that it names.
fn images(dir: &StackDir) -> Vec<Arc<ImageFile>> {
    let named = dir.read().unwrap().1.shards;
    let open =
        |shard: &Shard| TableDir::open(&dir.table(&shard.table)).unwrap().open_epoch(shard.epoch).unwrap();
    named.iter().map(open).collect()
}

#[test]
fn a_stack_of_buckets_is_updated() {
    let key = key();
    let (before, after) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let sizes = CodeSizes { rows: 3000, items: 20, copies: 3, buckets: 10, spare: 6 };
    let mut table = Memory::numbered(3000, 6);
    let dir = publish(before.path(), 1, &table, sizes, &key);
    assert_eq!(images(&dir).len(), 2, "a table of 30 buckets, and the whole table");

    let changed = [0, 1, 77, 1234, 2999];
    let lines: String = changed.iter().map(|row| format!("{row},ee{row:010x}\n")).collect();
    let file = write(before.path(), "changes.csv", format!("row,value\n{lines}"));
    for row in changed {
        let bytes = [&[0xEE][..], &(row as u64).to_be_bytes()[3..]].concat();
        table.bytes[row * 6..][..6].copy_from_slice(&bytes);
    }
    let options = UpdateOptions {
        changes: ChangeFile {
            file: FileOptions { header: Some(true), ..FileOptions::default() },
            ..ChangeFile::default()
        },
        threads: Some(2),
        ..UpdateOptions::new(&key)
    };
    let find = |id: &str| Some(&CLEAR_BATCH).filter(|entry| entry.id.0 == id);
    let done = read_stack_update(find, &dir, Some(&file), &options, &silent).unwrap().apply(&silent).unwrap();
    assert_eq!((done.tables, done.tables_changed, done.rows_changed), (2, 2, 5));

    let fresh = publish(after.path(), 2, &table, sizes, &key);
    for (updated, fresh) in images(&dir).iter().zip(images(&fresh)) {
        assert!(
            rows_of(updated, &CLEAR_BATCH) == rows_of(&fresh, &CLEAR_BATCH),
            "an update is a fresh table"
        );
        assert_eq!(updated.catalog().rows_root, fresh.catalog().rows_root);
    }

    // Another anchor is another epoch of the stack, and of none of its tables.
    let anchor = "block-2".parse().ok();
    let options = UpdateOptions { anchor: anchor.clone(), ..UpdateOptions::new(&key) };
    let done = read_stack_update(find, &dir, None, &options, &silent).unwrap().apply(&silent).unwrap();
    assert_eq!((done.tables_changed, done.rows_changed, done.written_bytes), (0, 0, 0));
    let (_, stack) = dir.read().unwrap();
    assert_eq!((&stack.anchor, stack.epoch), (&anchor, done.epoch));
}
