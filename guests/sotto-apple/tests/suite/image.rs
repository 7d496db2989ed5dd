//! Tables in files and tables in memory give the same answers, and invalid files are refused.

use crate::common::{CODEC, client, how, key, look_up, rows, serve, value, write};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use serde_json::{Value, json};
use sotto_apple::image::{ImageError, KeywordRows, PreviousEpoch, UseCaseDescription, UseCaseOptions, open};
use sotto_apple::keyword::cuckoo::{CuckooOptions, KeywordRow};
use sotto_apple::keyword::table::Shard;
use sotto_apple::sets::WeakParams;
use sotto_bfv::mulpir::{Compression, EntryShape, ValueTable};
use sotto_db::progress::silent;
use sotto_db::table::TableSource;
use sotto_db::{CopyBudget, DbError, ImageFile, ImageProblem, Residency, TableDir};
use sotto_lattice::bgv::SecretKey;
use std::os::unix::fs::FileExt;
use std::path::Path;

#[test]
fn keys_are_found_in_a_file() {
    let mut rng = ChaCha20Rng::from_seed([11; 32]);
    for shards in [1, 3] {
        let dir = tempfile::tempdir().unwrap();
        let written = write(dir.path(), rows(700), &how(shards)).unwrap();
        let shapes = &written.description.shards;
        assert_eq!((shapes.len(), written.description.rows(), written.description.epoch), (shards, 700, 1));
        assert!(
            shapes
                .iter()
                .all(|shape| (shape.entries, shape.dimensions) == (shapes[0].entries, shapes[0].dimensions))
        );
        // Opened by the folder and by the file's name.
        let opened = open(dir.path(), WeakParams::Reject).unwrap();
        assert_eq!(opened.digest, open(&written.path, WeakParams::Reject).unwrap().digest);
        assert_eq!((opened.name.as_str(), &opened.description), ("users", &written.description));
        opened.image.file().verify(&silent).unwrap();
        let served = serve(opened);
        let client = client(&served, &mut rng);
        let requested = [0, 7, 699, 700].map(key);
        let found = look_up(&served, &client, &requested, &mut rng).unwrap();
        assert_eq!(found, [Some(value(0)), Some(value(7)), Some(value(699)), None]);
    }
}

#[test]
fn the_same_rows_are_the_same_bytes() {
    let files: Vec<Vec<u8>> = [false, true]
        .map(|backwards| {
            let dir = tempfile::tempdir().unwrap();
            let mut rows = KeywordRows::default();
            let mut push = |i: usize| rows.push(key(i).as_bytes(), &value(i)).unwrap();
            if backwards {
                (0..300).rev().for_each(&mut push)
            } else {
                (0..300).for_each(push)
            }
            std::fs::read(write(dir.path(), rows, &how(2)).unwrap().path).unwrap()
        })
        .into();
    assert!(files[0] == files[1]);
}

/// A table in a file answers like one that was made in memory.
#[test]
fn a_mapped_table_answers_as_one_in_memory() {
    let mut rng = ChaCha20Rng::from_seed([12; 32]);
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), rows(600), &how(1)).unwrap();
    let opened = open(dir.path(), WeakParams::Reject).unwrap();
    let keys: Vec<String> = (0..600).map(key).collect();
    let values: Vec<Vec<u8>> = (0..600).map(value).collect();
    let rows: Vec<KeywordRow<'_>> =
        keys.iter().zip(&values).map(|(key, value)| KeywordRow { key: key.as_bytes(), value }).collect();
    let shard = Shard::build(&CODEC, &rows, CuckooOptions { bucket_bytes: 512, buckets: None }).unwrap();
    let mapped = opened.use_case.shards().first().unwrap();
    assert_eq!(mapped.shape(), shard.shape());
    for (mapped, ours) in mapped.tables().iter().zip(shard.tables()) {
        let [d0, d1] = ours.shape().dimensions();
        for (row, col) in (0..d0).flat_map(|row| (0..d1).map(move |col| (row, col))) {
            assert!(mapped.read(row, col) == ours.read(row, col), "{row} {col}");
        }
    }
    let secret = SecretKey::sample(CODEC.kit().ring(), &mut rng);
    let elements = shard.elements(&CODEC, Compression::None);
    let keys = CODEC.take_keys(&CODEC.make_keys(&secret, &elements, &mut rng), &elements).unwrap();
    let query = CODEC.query(&secret, shard.shape(), &[3, 5], &mut rng).unwrap();
    let answer = |shard: &Shard| CODEC.answer(&keys, &query, &shard.tables()).unwrap();
    assert_eq!(answer(mapped), answer(&shard));
    // A copy in memory answers the same.
    let copied =
        sotto_apple::image::open_in(dir.path(), WeakParams::Reject, Residency::Copy, &CopyBudget::new(None))
            .unwrap();
    assert!(copied.image.decide_placement().unwrap().is_copy);
    assert_eq!(answer(copied.use_case.shards().first().unwrap()), answer(&shard));
}

/// Rows of bytes, some of them longer than a plaintext.
pub(crate) struct Numbered(pub(crate) u64, pub(crate) usize);

impl TableSource for Numbered {
    fn rows(&self) -> u64 {
        self.0
    }

    fn row_bytes(&self) -> usize {
        self.1
    }

    fn read(&self, first: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        for (i, row) in (first..).zip(out.chunks_exact_mut(self.1)) {
            row.iter_mut().enumerate().for_each(|(j, x)| *x = (i * 31 + j as u64) as u8);
        }
        Ok(())
    }
}

#[test]
fn what_is_refused_before_a_file_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let refused =
        |rows: KeywordRows, how: &UseCaseOptions| write(dir.path(), rows, how).unwrap_err().to_string();
    let mut twice = rows(10);
    twice.push(key(3).as_bytes(), b"again").unwrap();
    assert!(refused(twice, &how(1)).starts_with("rows 4 and 11 have the same key"));
    let mut long = rows(10);
    long.push(b"long", &[1; 600]).unwrap();
    assert!(refused(long, &how(1)).starts_with("row 11 takes 611 bytes, a bucket has 512"));
    assert!(KeywordRows::default().push(b"longer", &[1; 70_000]).is_err());
    assert!(refused(KeywordRows::default(), &how(1)).contains("has no rows"));
    assert!(refused(rows(3), &how(50)).contains("choose fewer shards"));
    assert!(refused(rows(3), &UseCaseOptions { name: "a\nb".into(), ..how(1) }).contains("name"));
    let fixed = UseCaseOptions { buckets: Some(3), ..how(1) };
    assert!(refused(rows(1000), &fixed).contains("do not fit 3 buckets"));
    assert!(TableDir::open(dir.path()).unwrap().epochs().unwrap().is_empty());
}

#[test]
fn files_that_are_damaged_or_something_else() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(open(dir.path(), WeakParams::Reject), Err(ImageError::Db(DbError::Empty { .. }))));
    let path = write(dir.path(), rows(50), &how(1)).unwrap().path;
    // A table of ours is not accepted as one of Apple's, nor the reverse.
    let other = ImageFile::open(&path).unwrap_err();
    assert!(matches!(other, DbError::Image { problem: ImageProblem::Foreign, .. }), "{other}");
    let whole = std::fs::read(&path).unwrap();
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        change(&mut bytes);
        let path = dir.path().join("changed");
        std::fs::write(&path, bytes).unwrap();
        open(&path, WeakParams::Reject)
    };
    assert!(with(&|_| ()).is_ok());
    let description = whole.windows(8).position(|w| w == b"{\"format").unwrap();
    assert!(with(&|bytes| bytes.truncate(description)).is_err());
    assert!(with(&|bytes| bytes.truncate(100)).is_err());
    assert!(with(&|bytes| bytes.clear()).is_err());
    for at in [0, 8, 12, 33, 70, 100, description, whole.len() - 1] {
        assert!(with(&|bytes| bytes[at] ^= 1).is_err(), "{at}");
    }
    // The section that answers are computed from is checked only on request.
    let damaged = with(&|bytes| bytes[9000] ^= 1).unwrap();
    assert!(damaged.image.file().verify(&silent).is_err());
}

/// Nothing is answered from a file that was written to.
#[test]
fn a_file_that_is_written_to_is_not_answered_from() {
    let mut rng = ChaCha20Rng::from_seed([14; 32]);
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path(), rows(50), &how(1)).unwrap().path;
    let served = serve(open(&path, WeakParams::Reject).unwrap());
    let client = client(&served, &mut rng);
    assert_eq!(look_up(&served, &client, &[key(1)], &mut rng).unwrap(), [Some(value(1))]);
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(b"x", 5000).unwrap();
    file.set_len(file.metadata().unwrap().len() + 1).unwrap();
    assert_eq!(look_up(&served, &client, &[key(1)], &mut rng).unwrap_err().status, 503);
}

/// Writing a table strip by strip gives the table that is made in memory.
#[test]
fn strips_of_a_table_of_several_tiles() {
    let kit = CODEC.kit();
    let (count, bytes) = (300, 1500);
    let shape = EntryShape::new(count, bytes, kit.plaintext_bytes(), [75, 4], 1).unwrap();
    let entry =
        |i: usize, out: &mut [u8]| out.iter_mut().enumerate().for_each(|(j, x)| *x = (i * 7 + j) as u8);
    let table = ValueTable::encode(kit, &shape, entry).unwrap();
    let mut all = vec![0; shape.bytes_of_entries() as usize];
    all.chunks_exact_mut(bytes).enumerate().for_each(|(i, out)| entry(i, out));
    let mut out = vec![0; ValueTable::len(kit, &shape).unwrap() as usize];
    let read = |at: u64, out: &mut [u8]| {
        out.copy_from_slice(&all[at as usize..][..out.len()]);
        Ok(())
    };
    ValueTable::write(kit, &shape, &read, &mut |at, lines| {
        out[at as usize..][..lines.len()].copy_from_slice(lines);
        Ok(())
    })
    .unwrap();
    assert!(table.stored() == out);
}

/// A file with another description and valid digests.
fn forge(whole: &[u8], text: &[u8]) -> Vec<u8> {
    // The third entry of the section table at offset 64.
    let entry = 64 + 2 * 64;
    let number = |at: usize| u64::from_le_bytes(whole[at..at + 8].try_into().unwrap()) as usize;
    let (at, end) = (number(entry + 8), number(entry + 8) + number(entry + 16));
    assert_eq!((whole[entry], end), (9, whole.len()), "the description comes last");
    let mut forged = [&whole[..at], text].concat();
    let file_bytes = (forged.len() as u64).to_le_bytes();
    forged[16..24].copy_from_slice(&file_bytes);
    forged[entry + 16..entry + 24].copy_from_slice(&(text.len() as u64).to_le_bytes());
    forged[entry + 32..entry + 64].copy_from_slice(blake3::hash(text).as_bytes());
    let digest = blake3::Hasher::new().update(&forged[..32]).update(&forged[64..4096]).finalize();
    forged[32..64].copy_from_slice(digest.as_bytes());
    forged
}

fn described(path: &Path) -> (Vec<u8>, Value) {
    let described = open(path, WeakParams::Reject).unwrap().description;
    (std::fs::read(path).unwrap(), serde_json::to_value(described).unwrap())
}

#[test]
fn descriptions_that_do_not_fit_their_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path(), rows(200), &how(2)).unwrap().path;
    let (whole, described) = described(&path);
    let forged = |change: &dyn Fn(&mut Value)| {
        let mut changed = described.clone();
        change(&mut changed);
        std::fs::write(&path, forge(&whole, changed.to_string().as_bytes())).unwrap();
        open(&path, WeakParams::Reject)
    };
    assert!(forged(&|_| ()).is_ok());
    // Opened by its folder, the epoch must match the file's name.
    assert!(
        forged(&|description| description["epoch"] = json!(2)).is_ok()
            && open(dir.path(), WeakParams::Reject).is_err()
    );
    let shard = |field: &'static str, to: Value| {
        move |description: &mut Value| description["shards"][1][field] = to.clone()
    };
    let changes: Vec<Box<dyn Fn(&mut Value)>> = vec![
        Box::new(|description| description["format"] = json!("sotto-apple/2")),
        Box::new(|description| description["name"] = json!("")),
        Box::new(|description| description["name"] = json!("a".repeat(257))),
        Box::new(|description| description["set"] = json!("n_1")),
        Box::new(|description| description["set"] = json!("n_4096_logq_27_28_28_logt_4")),
        Box::new(|description| description["kind"] = json!("index")),
        Box::new(|description| description["kind"] = json!("range")),
        Box::new(|description| description["compression"] = json!("all")),
        Box::new(|description| description["more"] = json!(1)),
        Box::new(|description| description["tables"] = json!("00".repeat(32))),
        Box::new(|description| description["shards"] = json!([])),
        Box::new(|description| {
            description["shards"] = Value::Array(vec![description["shards"][0].clone(); 70_000])
        }),
        Box::new(|description| drop(description["shards"].as_array_mut().unwrap().pop())),
        Box::new(shard("entries", json!(0))),
        Box::new(shard("entries", json!(1))),
        Box::new(shard("entries", json!(u64::MAX))),
        Box::new(shard("entry_bytes", json!(0))),
        Box::new(shard("entry_bytes", json!(u64::MAX))),
        Box::new(shard("dimensions", json!([0, 0]))),
        Box::new(shard("dimensions", json!([1u64 << 40, 1u64 << 40]))),
        Box::new(shard("dimensions", json!([1u64 << 25, 1]))),
        Box::new(shard("dimensions", json!([1, 2, 3]))),
    ];
    for (i, change) in changes.iter().enumerate() {
        assert!(forged(change).is_err(), "{i}");
        let lock = TableDir::open(dir.path()).unwrap().lock().unwrap();
        assert!(PreviousEpoch::open(&lock, WeakParams::Reject).is_err(), "{i}");
    }
    std::fs::write(&path, forge(&whole, b"no JSON")).unwrap();
    assert!(matches!(open(&path, WeakParams::Reject), Err(ImageError::Description { .. })));
}

/// Any text gives a description or an error.
#[test]
fn any_text_is_read_to_an_end() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path(), rows(20), &how(1)).unwrap().path;
    let text = described(&path).1.to_string().into_bytes();
    assert!(UseCaseDescription::parse(&text).is_ok());
    for at in 0..text.len() {
        for byte in [0, b'"', b'9', b'}', b'-', 0xFF] {
            let mut changed = text.clone();
            changed[at] = byte;
            if let Ok(described) = UseCaseDescription::parse(&changed) {
                let _ = described.places(&crate::common::CODEC);
            }
        }
        assert!(UseCaseDescription::parse(&text[..at]).is_err());
    }
}
