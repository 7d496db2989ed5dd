//! Tables whose rows are masked: what is encoded of them, and how updates change it.

use crate::common::{Memory, folder, key, names, options, rows_of, write};
use sotto_catalog::SymmetricLayer;
use sotto_core::Epoch;
use sotto_db::mask::RowMasker;
use sotto_db::progress::silent;
use sotto_db::update::ChangeFile;
use sotto_db::{DbError, EncodeOptions, TableDir, encode_table};
use sotto_oprf::{Input, MaskVersion, OVERHEAD_BYTES, RowMask, SecretKey};
use sotto_testkit::{CLEAR, rng::seeded};

const WIDTH: usize = 20;
const STORED: usize = WIDTH + OVERHEAD_BYTES;

/// Encodes a table masked, as the folder's next epoch.
fn encode(dir: &TableDir, table: &Memory) -> Result<(), DbError> {
    let lock = dir.lock()?;
    let (signing, oprf) = (key(), lock.oprf_key(&mut seeded("oprf"))?);
    let options = options(&signing);
    let masker = RowMasker { table: &options.table, epoch: lock.next_epoch()?, key: &oprf };
    let masked = masker.table(table, dir.path(), Some(2), &silent)?;
    let options = EncodeOptions { layers: vec![SymmetricLayer::layer(&oprf.public())], ..options };
    encode_table(&CLEAR, &masked, &lock, &options, &silent).map(drop)
}

fn update(dir: &TableDir, lines: &str) -> Result<u64, DbError> {
    let done = crate::common::update(dir, &CLEAR, "changes.csv", lines, ChangeFile::default());
    done.map(|done| done.epoch.0)
}

/// The rows of an epoch as they are stored.
fn stored(dir: &TableDir, epoch: u64) -> Vec<Vec<u8>> {
    let rows = rows_of(&dir.open_epoch(Epoch(epoch)).unwrap(), &CLEAR);
    rows.chunks(STORED).map(<[u8]>::to_vec).collect()
}

fn open(key: &SecretKey, row: u64, stored: &[u8]) -> Option<Vec<u8>> {
    let input = Input::row("test", row, MaskVersion::of(stored)).unwrap();
    RowMask::new(&key.at(&input).unwrap()).open(stored).ok().map(|item| item.to_vec())
}

#[test]
fn each_row_opens_with_its_own_output_and_no_other() {
    let (_temp, dir) = folder();
    let table = Memory::numbered(30, WIDTH);
    encode(&dir, &table).unwrap();
    assert_eq!(names(dir.path()), ["epoch-00000001.sotto", "oprf.key", "write.lock"]);
    let key = dir.oprf_key().unwrap();
    let image = dir.open_latest().unwrap();
    assert_eq!(
        image.catalog().symmetric_layer().unwrap(),
        Some(SymmetricLayer { key: key.public(), item_bytes: WIDTH as u64 })
    );
    let stored = stored(&dir, 1);
    assert_eq!(stored.len(), 30);
    for (row, bytes) in stored.iter().enumerate() {
        assert_eq!(MaskVersion::of(bytes), MaskVersion(1));
        assert_eq!(open(&key, row as u64, bytes).as_deref(), Some(table.row(row)));
        assert!(open(&key, row as u64 + 1, bytes).is_none());
    }
    let file = std::fs::read(dir.image_path(Epoch(1))).unwrap();
    assert!(
        !file.windows(8).any(|bytes| bytes == &table.row(7)[..8]),
        "no part of a row stands in the image"
    );
}

#[test]
fn a_row_that_is_written_again_gets_another_mask() {
    let (_temp, dir) = folder();
    let table = Memory::numbered(30, WIDTH);
    encode(&dir, &table).unwrap();
    let line = format!("7,{}\n", "ab".repeat(WIDTH));
    assert_eq!(update(&dir, &line).unwrap(), 2);
    assert_eq!(update(&dir, &line).unwrap(), 3);
    let (key, epochs) = (dir.oprf_key().unwrap(), [1, 2, 3].map(|epoch| stored(&dir, epoch)));
    for (row, first) in epochs[0].iter().enumerate().filter(|(row, _)| *row != 7) {
        assert!(*first == epochs[1][row] && *first == epochs[2][row], "row {row} is as it was");
    }
    let versions = epochs.each_ref().map(|rows| MaskVersion::of(&rows[7]).0);
    assert_eq!(versions, [1, 2, 3]);
    assert_eq!(open(&key, 7, &epochs[1][7]), Some(vec![0xAB; WIDTH]));
    assert_eq!(open(&key, 7, &epochs[2][7]), Some(vec![0xAB; WIDTH]));
    // The same content written twice has nothing in common: no keystream is reused.
    let body = |epoch: usize| epochs[epoch][7][8..].to_vec();
    let equal = body(1).iter().zip(body(2)).filter(|(a, b)| *a == b).count();
    assert!(equal < 8, "{equal} of {} bytes", STORED - 8);
    // The mask of the old version does not open the new one.
    let old = RowMask::new(&key.at(&Input::row("test", 7, MaskVersion(2)).unwrap()).unwrap());
    assert!(old.open(&epochs[2][7]).is_err());
}

#[test]
fn a_masked_table_is_neither_changed_nor_published_without_its_key() {
    let (_temp, dir) = folder();
    let table = Memory::numbered(30, WIDTH);
    encode(&dir, &table).unwrap();
    let plain = crate::common::encode(&dir, &CLEAR, &table);
    assert!(matches!(plain, Err(DbError::WasMasked { .. })));
    let line = format!("7,{}\n", "ab".repeat(WIDTH));
    assert!(update(&dir, &format!("7,{}\n", "ab".repeat(WIDTH + 1))).is_err(), "wider than an item");
    std::fs::remove_file(dir.oprf_key_path()).unwrap();
    assert!(matches!(update(&dir, &line), Err(DbError::NoOprfKey { .. })));
    assert!(matches!(encode(&dir, &table), Err(DbError::NoOprfKey { .. })));
    let other = SecretKey::generate(&mut seeded("other")).unwrap();
    let path = dir.oprf_key_path();
    write(dir.path(), "oprf.key", other.to_file().as_bytes());
    assert!(matches!(update(&dir, &line), Err(DbError::KeyExposed(found)) if found == path));
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    assert!(matches!(update(&dir, &line), Err(DbError::OprfKey { .. })));
    write(dir.path(), "oprf.key", "no key");
    assert!(matches!(update(&dir, &line), Err(DbError::OprfKey { .. })));
    assert_eq!(dir.epochs().unwrap().len(), 1);
}
