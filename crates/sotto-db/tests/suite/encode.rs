//! Encoding: every shape can be read back, and every failure leaves the folder as it was.

use crate::common::{Memory, all, encode, folder, key, names, options, rows_of};
use proptest::prelude::*;
use sotto_catalog::{CatalogError, Packing};
use sotto_core::{Epoch, Error, Image, RecordSource, SchemeEntry, Section, TableShape};
use sotto_db::progress::silent;
use sotto_db::{DbError, PackedRecords, TableDir, encode_table, inspect};
use sotto_testkit::{CLEAR, CLEAR_STATE, CLEAR_TWO};
use std::os::unix::fs::PermissionsExt;

#[test]
fn every_shape_comes_back() {
    for rows in [1, 2, 3, 100, 127, 128, 129] {
        for width in [1, 2, 7, 32, 255, 4096] {
            let (_temp, dir) = folder();
            let table = Memory::numbered(rows, width);
            let summary = encode(&dir, &CLEAR, &table).unwrap();
            let image = dir.open_latest().unwrap();
            image.verify(&silent).unwrap();
            assert_eq!(rows_of(&image, &CLEAR), table.bytes, "{rows} rows of {width}");
            assert_eq!(summary.image_bytes, image.header().file_bytes);
            assert_eq!(summary.records_per_row, width.div_ceil(1024));
        }
    }
}

#[test]
fn a_scheme_without_a_hint_has_no_artifact() {
    let (_temp, dir) = folder();
    let summary = encode(&dir, &CLEAR_TWO, &Memory::numbered(50, 8)).unwrap();
    let image = dir.open_latest().unwrap();
    assert_eq!((summary.artifact_bytes, image.catalog().servers), (0, 2));
    assert_eq!(image.catalog().client_artifacts().count(), 0, "the tree is for whoever has all rows");
}

#[test]
fn encoding_twice_makes_two_epochs_of_equal_sections() {
    let (_temp, dir) = folder();
    let table = Memory::numbered(300, 5);
    assert_eq!(encode(&dir, &CLEAR, &table).unwrap().epoch, Epoch(1));
    assert_eq!(encode(&dir, &CLEAR, &table).unwrap().epoch, Epoch(2));
    assert_eq!(dir.epochs().unwrap(), [Epoch(1), Epoch(2)]);
    let section = |epoch| dir.open_epoch(Epoch(epoch)).unwrap().section(Section::Resident).unwrap().to_vec();
    assert_eq!(section(1), section(2));
    assert!(matches!(dir.open_epoch(Epoch(3)), Err(DbError::NoEpoch { .. })));
    std::fs::rename(dir.image_path(Epoch(2)), dir.image_path(Epoch(3))).unwrap();
    assert!(matches!(dir.open_latest(), Err(DbError::Image { .. })), "a renamed image is not another epoch");
}

#[test]
fn one_writer_at_a_time_and_readers_beside_it() {
    let (_temp, dir) = folder();
    encode(&dir, &CLEAR, &Memory::numbered(3, 3)).unwrap();
    let lock = dir.lock().unwrap();
    assert!(matches!(encode(&dir, &CLEAR, &Memory::numbered(3, 3)), Err(DbError::Locked { .. })));
    assert_eq!(dir.open_latest().unwrap().catalog().epoch, Epoch(1));
    drop(lock);
    assert_eq!(encode(&dir, &CLEAR, &Memory::numbered(3, 3)).unwrap().epoch, Epoch(2));
}

#[test]
fn a_folder_holds_one_table_of_one_publisher() {
    let (_temp, dir) = folder();
    let table = Memory::numbered(3, 3);
    encode(&dir, &CLEAR, &table).unwrap();
    let (ours, other) =
        (key(), sotto_catalog::SigningKey::generate(&mut sotto_testkit::rng::seeded("other")));
    let lock = dir.lock().unwrap();
    let renamed = sotto_db::EncodeOptions { table: "else".parse().unwrap(), ..options(&ours) };
    let error = encode_table(&CLEAR, &table, &lock, &renamed, &silent).unwrap_err();
    assert!(matches!(error, DbError::OtherTable { .. }), "{error}");
    let error = encode_table(&CLEAR, &table, &lock, &options(&other), &silent).unwrap_err();
    assert!(matches!(error, DbError::OtherKey { .. }), "{error}");
    assert_eq!(dir.latest().unwrap(), Some(Epoch(1)));
}

#[test]
fn folders() {
    let (temp, dir) = folder();
    assert!(matches!(dir.open_latest(), Err(DbError::Empty { .. })));
    assert!(matches!(TableDir::open(&temp.path().join("none")), Err(DbError::Io { .. })));
    for name in ["epoch-1.sotto", "epoch-0000000x.sotto", "epoch-00000001.sotto.bak", "epoch-+0000001.sotto"]
    {
        crate::common::write(dir.path(), name, b"");
    }
    assert_eq!(dir.epochs().unwrap(), []);
}

#[test]
fn signing_keys_are_made_once_and_for_one_user() {
    let (_temp, dir) = folder();
    let mut rng = sotto_testkit::rng::seeded("keys");
    let first = dir.signing_key(None, &mut rng).unwrap().public();
    assert_eq!(dir.signing_key(None, &mut rng).unwrap().public(), first);
    let path = dir.path().join("signing.key");
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(dir.signing_key(Some(&path), &mut rng).unwrap().public(), first);

    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(matches!(dir.signing_key(None, &mut rng), Err(DbError::KeyExposed { .. })));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(&path, "no key").unwrap();
    assert!(matches!(dir.signing_key(None, &mut rng), Err(DbError::Catalog(_))), "and it is not replaced");
}

#[test]
fn a_lock_whose_file_was_removed_is_made_anew_and_holds() {
    let (_temp, dir) = folder();
    let path = dir.path().join(sotto_db::epoch::LOCK);
    let held = dir.lock().unwrap();
    // A refused encoder removes a lock file that it created.
    std::fs::remove_file(&path).unwrap();
    let next = dir.lock().unwrap();
    drop(held);
    assert!(matches!(dir.lock(), Err(DbError::Locked { .. })), "the next writer's lock holds");
    drop(next);
    dir.lock().unwrap();
}

#[test]
fn images_may_be_read_by_others() {
    let (_temp, dir) = folder();
    let image = encode(&dir, &CLEAR, &Memory::numbered(3, 3)).unwrap().image;
    let mode = std::fs::metadata(image).unwrap().permissions().mode();
    assert_eq!(mode & 0o200, 0o200);
    assert_eq!(mode & 0o133, 0, "readable, never writable by others nor executable");
}

#[test]
fn inspection_says_what_there_is() {
    let (_temp, dir) = folder();
    encode(&dir, &CLEAR, &Memory::numbered(100, 3)).unwrap();
    let image = dir.open_latest().unwrap();
    let found = inspect(&image, Some(&CLEAR)).unwrap();
    let names: Vec<_> = found.sections.iter().map(|section| section.name).collect();
    assert_eq!(names, ["resident", "hint", "tree", "catalog"]);
    assert_eq!(found.public_key, key().public().to_string());
    let scheme = found.scheme.as_ref().unwrap();
    assert_eq!(
        (scheme.records, scheme.record_bytes, scheme.records_per_row, scheme.capacity),
        (10, 30, 1, 100)
    );
    assert!(scheme.can_update);
    serde_json::to_string(&found).unwrap();
    assert!(inspect(&image, None).unwrap().scheme.is_none());
    assert!(inspect(&image, Some(&CLEAR_TWO)).is_err(), "another scheme's word is not taken");
}

/// A scheme in the clear with a changed encoder or report.
fn altered(change: impl FnOnce(&mut SchemeEntry)) -> SchemeEntry {
    let mut entry = CLEAR;
    change(&mut entry);
    entry
}

fn assert_untouched(entry: &SchemeEntry, expected: impl Fn(&DbError) -> bool) {
    let (_temp, dir) = folder();
    encode(&dir, &CLEAR, &Memory::numbered(3, 3)).unwrap();
    let before = names(dir.path());
    let error = encode(&dir, entry, &Memory::numbered(1000, 3)).unwrap_err();
    assert!(expected(&error), "{error}");
    assert_eq!(names(dir.path()), before);
}

#[test]
fn a_full_disk_leaves_no_half_image() {
    let entry = altered(|entry| {
        entry.server.encode = |_, rows, out| {
            out.reserve(Section::Resident, rows.records() * rows.record_bytes() as u64)?;
            out.write_at(Section::Resident, 0, &[1; 64])?;
            Err(std::io::Error::from(std::io::ErrorKind::StorageFull).into())
        };
    });
    assert_untouched(&entry, |error| {
        matches!(error, DbError::DiskFull { .. }) && error.to_string().contains("free some space")
    });
}

#[test]
fn a_table_that_outgrows_the_disk_is_refused_before_the_work() {
    let entry = altered(|entry| {
        entry.server.encode = |_, _, out| {
            out.reserve(Section::Resident, 1 << 60)?;
            panic!("the disk does not hold this");
        };
    });
    assert_untouched(&entry, |error| matches!(error, DbError::DiskFull { .. } | DbError::Io { .. }));
}

#[test]
fn a_catalog_and_its_scheme_agree_or_nobody_opens_the_table() {
    let (_temp, dir) = folder();
    encode(&dir, &CLEAR, &Memory::numbered(1000, 3)).unwrap();
    let catalog = dir.open_latest().unwrap().catalog().clone();
    assert_eq!(catalog.terms(&CLEAR).unwrap().buckets, 1);
    let disagreement = |change: fn(&mut SchemeEntry)| match catalog.terms(&altered(change)).unwrap_err() {
        CatalogError::Disagree(what) => what,
        other => panic!("{other}"),
    };
    assert_eq!(disagreement(|entry| entry.servers = 2), "the number of servers");
    assert_eq!(disagreement(|entry| entry.proven = true), "the row proofs");
    assert_eq!(
        disagreement(|entry| entry.report = |params| {
            let mut report = (CLEAR.report)(params)?;
            report.digest.0[0] ^= 1;
            Ok(report)
        }),
        "the digest of the parameters"
    );
    assert_eq!(
        disagreement(|entry| entry.report = |params| {
            let mut report = (CLEAR.report)(params)?;
            report.costs.artifact_bytes += 1;
            Ok(report)
        }),
        "the size of the artifacts"
    );
    // A client with durable state looks a row up in one record.
    let (_temp, dir) = folder();
    encode(&dir, &CLEAR, &Memory::numbered(10, 2000)).unwrap();
    let wide = dir.open_latest().unwrap().catalog().terms(&altered(|entry| entry.state = CLEAR_STATE.state));
    assert!(matches!(wide, Err(CatalogError::Disagree(what)) if what.contains("the width of a row")));
    assert!(catalog.terms(&altered(|entry| entry.state = CLEAR_STATE.state)).is_ok());
    let other = catalog.terms(&CLEAR_TWO).unwrap_err();
    assert!(matches!(other, CatalogError::WrongScheme { .. }), "{other}");
}

#[test]
fn the_least_security_and_the_largest_failure_are_accepted() {
    let report = (CLEAR.report)(&(CLEAR.select)(&TableShape::new(100, 8, 1)).unwrap()).unwrap();
    let packing = Packing::new(100, 8, report.records, report.record_bytes).unwrap();
    let gate = |bits: f64, failure_log2: f64| {
        let mut report = report.clone();
        (report.security.bits, report.failure_log2) = (bits, failure_log2);
        sotto_catalog::catalog::gate(&report, &packing)
    };
    assert!(gate(128.0, -40.0).is_ok());
    for (bits, failure_log2) in [(127.9, -40.0), (f64::NAN, -40.0), (128.0, -39.9), (128.0, f64::NAN)] {
        assert!(gate(bits, failure_log2).is_err(), "{bits} {failure_log2}");
    }
}

#[test]
fn parameters_that_are_too_weak_are_refused() {
    let weak = altered(|entry| {
        entry.report = |params| {
            let mut report = (CLEAR.report)(params)?;
            report.security.bits = 127.9;
            Ok(report)
        };
    });
    assert_untouched(&weak, |error| matches!(error, DbError::Scheme(Error::Params(_))));
    let unreliable = altered(|entry| {
        entry.report = |params| {
            let mut report = (CLEAR.report)(params)?;
            report.failure_log2 = -39.9;
            Ok(report)
        };
    });
    assert_untouched(&unreliable, |error| matches!(error, DbError::Scheme(Error::Params(_))));
}

#[test]
fn a_scheme_that_forgets_its_hint_is_found_out() {
    let entry = altered(|entry| {
        entry.server.encode = |_, rows, out| out.reserve(Section::Resident, rows.records());
    });
    assert_untouched(&entry, |error| matches!(error, DbError::Catalog(_)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Records have the bytes that the layout says, whichever range of them is read.
    #[test]
    fn packed_reads_agree_with_places(
        rows in 1usize..60, width in 1usize..40, record in 1u64..50, spare in 0u64..4,
        from in any::<prop::sample::Index>(), count in any::<prop::sample::Index>(),
    ) {
        let table = Memory::numbered(rows, width);
        let per_record = (record / width as u64).max(1);
        let lookups = (width as u64).div_ceil(record);
        let records = (rows as u64).div_ceil(per_record) * lookups + spare;
        let packing = Packing::new(rows as u64, width as u64, records, record).unwrap();
        let mut expected = vec![0; (records * record) as usize];
        for row in 0..rows {
            for place in packing.places(row as u64).unwrap() {
                let at = (place.record * record + place.offset) as usize;
                let part = &table.row(row)[place.bytes];
                expected[at..at + part.len()].copy_from_slice(part);
            }
        }
        let packed = PackedRecords::new(&table, packing).unwrap();
        let first = from.index(records as usize);
        let count = count.index(records as usize - first) + 1;
        let mut got = vec![0xee; count * record as usize];
        packed.read(first as u64, &mut got).unwrap();
        prop_assert_eq!(&got, &expected[first * record as usize..][..got.len()]);
        let one = &expected[first * record as usize..][..record as usize];
        let (start, end) = (count % record as usize, record as usize);
        for part in [start..end, 0..start, start..start, 0..end] {
            let mut got = vec![0xee; part.len()];
            packed.read_part(first as u64, part.start as u64, &mut got).unwrap();
            prop_assert_eq!(&got, &one[part]);
        }
        prop_assert!(packed.read_part(first as u64, 1, &mut vec![0; record as usize]).is_err());
        prop_assert!(packed.read_part(records, 0, &mut [0]).is_err());
        let mut past = vec![0; (count + records as usize - first) * record as usize];
        prop_assert!(packed.read(first as u64, &mut past).is_err());
        prop_assert_eq!(all(&table), table.bytes);
    }
}
