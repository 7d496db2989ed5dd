//! Whitening of tables: seeds of their own, which are drawn again before too much was written under
//! one.

use crate::common::{self, Memory, folder, key, names, options};
use serde_json::json;
use sotto_catalog::{Catalog, CatalogError, SigningKey};
use sotto_core::{Epoch, Image, SchemeEntry, Section, TableShape};
use sotto_db::progress::silent;
use sotto_db::{EncodeOptions, TableDir, UpdateSummary, encode_table};
use sotto_prg::PublicSeed;
use sotto_testkit::memory::{MemoryRows, MemorySink};
use sotto_testkit::rng::seeded;

/// Rows per record in the tables below.
const PER_RECORD: u64 = 8;

/// A table of 256 records of FSpiral, with eight rows in each.
fn table() -> Memory {
    Memory::numbered(2048, 1024)
}

fn encode_with(dir: &TableDir, entry: &SchemeEntry, table: &Memory, set: &str, key: &SigningKey) {
    let options = EncodeOptions { set: Some(set.to_owned()), ..options(key) };
    encode_table(entry, table, &dir.lock().unwrap(), &options, &silent).unwrap();
}

fn encode(dir: &TableDir, table: &Memory) {
    encode_with(dir, &fspiral::ENTRY, table, "default", &key());
}

/// Writes one row of each of these records, in the image and in `table`.
fn update(dir: &TableDir, table: &mut Memory, records: impl IntoIterator<Item = u64>) -> UpdateSummary {
    let rows = records.into_iter().map(|record| record * PER_RECORD);
    update_rows(&fspiral::ENTRY, dir, table, rows)
}

fn update_rows(
    entry: &SchemeEntry,
    dir: &TableDir,
    table: &mut Memory,
    rows: impl Iterator<Item = u64>,
) -> UpdateSummary {
    let mut changes = String::new();
    for row in rows {
        let bytes = &mut table.bytes[row as usize * table.width..][..table.width];
        bytes.iter_mut().for_each(|byte| *byte ^= 0x5a);
        changes += &common::change_line(row, bytes);
    }
    common::update_rows(dir, entry, changes)
}

fn catalog(dir: &TableDir) -> Catalog {
    dir.open_latest().unwrap().catalog().clone()
}

fn mask(dir: &TableDir) -> String {
    catalog(dir).params["mask"].as_str().unwrap().to_owned()
}

fn number(dir: &TableDir, field: &str) -> u64 {
    catalog(dir).params[field].as_u64().unwrap()
}

fn resident(dir: &TableDir, epoch: u64) -> Vec<u8> {
    dir.open_epoch(Epoch(epoch)).unwrap().section(Section::Resident).unwrap().to_vec()
}

/// Checks that the newest epoch equals its rows encoded again, including the whitening.
fn is_as_if_encoded(dir: &TableDir, entry: &SchemeEntry, table: &Memory, set: &str) {
    let newest = dir.latest().unwrap().unwrap().0;
    let params = catalog(dir).params;
    encode_with(dir, entry, table, set, &key());
    assert_eq!(catalog(dir).params, params);
    assert!(resident(dir, newest) == resident(dir, newest + 1));
}

#[test]
fn a_mask_is_of_the_key_and_the_rows() {
    let table = table();
    let dirs = [(); 4].map(|()| folder());
    encode(&dirs[0].1, &table);
    encode(&dirs[1].1, &table);
    let other = SigningKey::generate(&mut seeded("another publisher"));
    encode_with(&dirs[2].1, &fspiral::ENTRY, &table, "default", &other);
    let mut changed = Memory { width: table.width, bytes: table.bytes.clone() };
    changed.bytes[77] ^= 1;
    encode(&dirs[3].1, &changed);
    let [one, same, of_other, of_changed] = dirs.each_ref().map(|(_, dir)| (mask(dir), resident(dir, 1)));
    assert!(one == same, "the same key and rows give the same image");
    assert!(one.0 != of_other.0 && one.1 != of_other.1, "another key, another mask");
    assert!(one.0 != of_changed.0 && of_other.0 != of_changed.0, "other rows, another mask");
    // The signing key that the seed is derived from is not revealed.
    assert!(!key().to_file().contains(&one.0));
}

/// Rows equal to a public whitening stream, so that under it all coefficients are zero; any other
/// line that a contributor wants is as easy.
#[test]
fn rows_made_against_a_mask_of_everyone_line_up_with_none() {
    let sentence = b"sotto cube: the mask on the data is the same for everyone";
    let once = PublicSeed(*blake3::hash(sentence).as_bytes());
    let mut made = Memory { width: 8192, bytes: vec![0; 64 * 8192] };
    for (record, bytes) in (0..).zip(made.bytes.chunks_mut(8192)) {
        once.stream("cube part", record << 32).fill(bytes);
    }
    let entry = &fspiral::ENTRY;
    let shape = TableShape { set: Some("default".into()), ..TableShape::new(64, 8192, 10) };
    let params = (entry.select)(&shape).unwrap();
    let under_once = (entry.server.whitening.unwrap().with_seed)(&params, once.0).unwrap();
    let sink = MemorySink::new();
    (entry.server.encode)(&under_once, &MemoryRows::new(8192, made.bytes.clone()), &sink).unwrap();
    let image = sink.into_image();
    assert!(image.section(Section::Resident).unwrap().iter().all(|byte| *byte == 0), "made against it");

    let (_temp, dir) = folder();
    encode(&dir, &made);
    assert!(mask(&dir) != once.to_string());
    let words = resident(&dir, 1);
    let zeros = words.as_chunks::<8>().0.iter().filter(|word| **word == [0; 8]).count();
    assert!(zeros < 4, "{zeros} words are zero of {}", words.len() / 8);
}

#[test]
fn a_mask_stays_until_too_much_of_a_column_was_written() {
    let (_temp, dir) = folder();
    let mut table = table();
    encode(&dir, &table);
    let first = mask(&dir);
    let (rows, columns, most) = (number(&dir, "rows"), 1 << number(&dir, "nu2"), number(&dir, "written"));
    assert!(most >= 2 && most == rows.div_ceil(8), "{most} of {rows}");

    // Writes as much of every column as is allowed, all at once.
    let summary = update(&dir, &mut table, 0..most * columns);
    assert!(!summary.reencoded && mask(&dir) == first);
    assert_eq!(summary.records_changed, most * columns);
    // One more write to one column.
    let summary = update(&dir, &mut table, [most * columns]);
    assert!(summary.reencoded && mask(&dir) != first);
    assert_eq!(summary.written_bytes, resident(&dir, 3).len() as u64);
    is_as_if_encoded(&dir, &fspiral::ENTRY, &table, "default");
}

/// Write counts add up over epochs, each of which is written by a process that knows only the
/// folder.
#[test]
fn writes_add_up_over_epochs_and_restarts() {
    let (_temp, dir) = folder();
    let mut table = table();
    encode(&dir, &table);
    let (columns, most) = (1 << number(&dir, "nu2"), number(&dir, "written"));
    let mut masks = vec![mask(&dir)];
    for round in 0..2 * (most + 1) {
        // Another column is written too, but less often.
        let also = (round % 2 == 0 && columns > 1).then_some(1);
        let summary = update(&dir, &mut table, [round % 3 * columns].into_iter().chain(also));
        assert_eq!(summary.reencoded, round % (most + 1) == most, "round {round} of {most}");
        if summary.reencoded {
            masks.push(mask(&dir));
        }
        assert_eq!(masks.last(), Some(&mask(&dir)), "round {round}");
        let kept = names(dir.path()).into_iter().filter(|name| name.ends_with(".written"));
        assert_eq!(kept.count(), 1, "only the newest epoch is updated");
    }
    assert!(masks.len() == 3 && masks[0] != masks[1] && masks[1] != masks[2]);
    is_as_if_encoded(&dir, &fspiral::ENTRY, &table, "default");
}

#[test]
fn what_nobody_counted_counts_as_written() {
    type Damage = fn(&TableDir, Epoch);
    let gone: Damage = |dir, epoch| std::fs::remove_file(dir.write_counts_path(epoch)).unwrap();
    let cut: Damage = |dir, epoch| {
        let text = std::fs::read(dir.write_counts_path(epoch)).unwrap();
        std::fs::write(dir.write_counts_path(epoch), &text[..text.len() - 1]).unwrap();
    };
    let foreign: Damage = |dir, epoch| {
        let text = std::fs::read_to_string(dir.write_counts_path(epoch)).unwrap();
        let at = text.find("\"catalog\":\"").unwrap() + 11;
        let other = if &text[at..=at] == "0" { "1" } else { "0" };
        std::fs::write(dir.write_counts_path(epoch), [&text[..at], other, &text[at + 1..]].concat()).unwrap();
    };
    for damage in [gone, cut, foreign] {
        let (_temp, dir) = folder();
        let mut table = table();
        encode(&dir, &table);
        let first = mask(&dir);
        damage(&dir, Epoch(1));
        assert!(update(&dir, &mut table, [5]).reencoded && mask(&dir) != first);
        assert!(!update(&dir, &mut table, [6]).reencoded, "counted from then on");
    }
}

/// The second scheme with whitening, whose noise sums over all rows.
#[test]
fn rows_of_slots_too() {
    let entry = &bgvpir::ENTRY;
    let (_temp, dir) = folder();
    let mut table = Memory::numbered(4096, 512);
    encode_with(&dir, entry, &table, "pow2", &key());
    let (period, most) = (number(&dir, "period"), number(&dir, "written"));
    assert!(most >= 1 && most < number(&dir, "records") / period);
    let first = mask(&dir);
    let summary = update_rows(entry, &dir, &mut table, (0..most).map(|row| row * period));
    assert!(!summary.reencoded && mask(&dir) == first);
    let summary = update_rows(entry, &dir, &mut table, [most * period].into_iter());
    assert!(summary.reencoded && mask(&dir) != first);
    is_as_if_encoded(&dir, entry, &table, "pow2");
}

#[test]
fn tables_without_a_mask_keep_no_count() {
    let (_temp, dir) = folder();
    common::encode(&dir, &simplepir::ENTRY, &Memory::numbered(100, 7)).unwrap();
    assert_eq!(names(dir.path()), ["epoch-00000001.sotto", "write.lock"]);
}

#[test]
fn a_catalog_without_a_mask_is_refused() {
    let (_temp, dir) = folder();
    encode(&dir, &table());
    let good = catalog(&dir);
    good.terms(&fspiral::ENTRY).unwrap();
    let bad = [
        json!(null),
        json!(0),
        json!(""),
        json!("00"),
        json!(mask(&dir).to_uppercase()),
        json!(mask(&dir) + "0"),
    ];
    let lacking = {
        let mut params = good.params.clone();
        params.as_object_mut().unwrap().remove("mask");
        params
    };
    let malformed = bad.into_iter().map(|mask| {
        let mut params = good.params.clone();
        params["mask"] = mask;
        params
    });
    for params in malformed.chain([lacking]) {
        let seed = params["mask"].to_string();
        let refused = Catalog { params, ..good.clone() }.terms(&fspiral::ENTRY);
        assert!(matches!(refused, Err(CatalogError::Params(_))), "{seed}: {refused:?}");
    }
    // Parameters with another seed than the signed one are those of another table.
    let mut params = good.params.clone();
    params["mask"] = json!("11".repeat(32));
    let refused = Catalog { params, ..good }.terms(&fspiral::ENTRY);
    assert!(matches!(refused, Err(CatalogError::Disagree { .. })), "{refused:?}");
}
