//! Rows by number that contain their length: in files, updated, and requested over a whole session.

use crate::common::{how, post, serve};
use bytes::Bytes;
use prost::Message;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use sotto_apple::client::{Client, config_request};
use sotto_apple::image::{PreviousEpoch, UseCaseKind, encode_index, open};
use sotto_apple::proto::{ConfigForm, ConfigResponse, PirConfig};
use sotto_apple::sets::WeakParams;
use sotto_catalog::RowForm;
use sotto_db::TableDir;
use sotto_db::image::header::FilePart;
use sotto_db::progress::silent;
use sotto_db::table::TableSource;
use std::collections::BTreeMap;
use std::path::Path;

/// Rows with two bytes of length before the longest value's bytes, which may differ from the form
/// of entries.
struct Lengthy(Vec<Vec<u8>>, usize);

impl TableSource for Lengthy {
    fn rows(&self) -> u64 {
        self.0.len() as u64
    }

    fn row_bytes(&self) -> usize {
        2 + self.1
    }

    fn read(&self, first: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        for (value, row) in self.0[first as usize..].iter().zip(out.chunks_exact_mut(self.row_bytes())) {
            let mut laid = value.clone();
            RowForm::Length(2).write_value(&mut laid, row.len()).unwrap();
            row.copy_from_slice(&laid);
        }
        Ok(())
    }
}

/// The entry as Apple's library encodes it: one byte of length for entries of up to 255 bytes, two
/// for longer ones, low byte first.
fn entry(value: &[u8], longest: usize) -> Vec<u8> {
    let length =
        if longest < 256 { vec![value.len() as u8] } else { (value.len() as u16).to_le_bytes().to_vec() };
    let zeros = vec![0; longest - value.len()];
    [length, value.to_vec(), zeros].concat()
}

fn values(count: usize, longest: usize) -> Vec<Vec<u8>> {
    let value = |i: usize| (0..(i * 37 + longest) % (longest + 1)).map(|j| (i * 3 + j) as u8).collect();
    let mut all: Vec<Vec<u8>> = (0..count).map(value).collect();
    // A value with zeros at its end that belong to it, an empty value, and the longest value.
    all[1] = vec![7, 0, 0];
    all[2] = Vec::new();
    all[3] = vec![9; longest];
    all
}

fn pir(response: &mut ConfigResponse) -> &mut PirConfig {
    let Some(ConfigForm::PirConfig(pir)) = &mut response.configs.get_mut("users").unwrap().config else {
        panic!("no table")
    };
    pir
}

fn entries(path: &Path) -> Vec<u8> {
    open(path, WeakParams::Reject).unwrap().image.file().bytes_of(FilePart::Entries).unwrap().to_vec()
}

#[test]
fn rows_of_any_length_come_back_as_they_were() {
    let mut rng = ChaCha20Rng::from_seed([21; 32]);
    // Several entries per plaintext, and three plaintexts per entry, with the length in the first.
    for (count, longest) in [(500, 255), (12, 4500)] {
        let dir = tempfile::tempdir().unwrap();
        let lock = TableDir::create(dir.path()).unwrap().lock().unwrap();
        let mut rows = values(count, longest);
        let source = Lengthy(rows.clone(), longest);
        let written = encode_index(&source, Some(RowForm::Length(2)), &how(1), &lock, &silent).unwrap();
        assert_eq!(
            (written.description.kind, written.description.value_bytes),
            (UseCaseKind::IndexWithLengths, longest as u64)
        );
        let expected: Vec<u8> = rows.iter().flat_map(|value| entry(value, longest)).collect();
        assert!(entries(&written.path) == expected);
        // Two rows change; one that is too long for its entry is refused.
        let change = |rows: &[(u64, Vec<u8>)]| {
            let before = PreviousEpoch::open(&lock, WeakParams::Reject).unwrap();
            before
                .change_rows(BTreeMap::from_iter(rows.iter().cloned()))
                .map(|update| update.apply(&silent).unwrap())
        };
        let beyond = [&[0xFF; 2][..], &vec![0; longest]].concat();
        assert!(longest < 256 || change(&[(0, beyond)]).is_err(), "a length that no row has");
        assert!(change(&[(0, vec![0; longest])]).is_err(), "a row without its length");
        (rows[5], rows[count - 1]) = (b"changed".to_vec(), Vec::new());
        let (written, _) =
            change(&[(5, entry(b"changed", longest)), (count as u64 - 1, entry(b"", longest))]).unwrap();

        let served = serve(open(&written.path, WeakParams::Reject).unwrap());
        let response = post(&served, "/config", config_request("users")).unwrap();
        let mut read = ConfigResponse::decode(response.clone()).unwrap();
        let shard = &pir(&mut read).shard_configs[0];
        assert_eq!((shard.entry_size, shard.num_entries), (longest as u64, count as u64));
        assert_eq!(pir(&mut read).encoding_entry_size, Some(true));
        let client = Client::learn("users", response.clone(), WeakParams::Reject, 7, &mut rng).unwrap();
        assert!(client.has_lengths() && client.rows() == Some(count as u64));
        post(&served, "/key", client.key_request(&mut rng)).unwrap();
        let requested = [0, 1, 2, 3, 5, count as u64 - 1, count as u64];
        let (body, pending) = client.query_rows(&requested, &mut rng).unwrap();
        let got = client.open(pending, post(&served, "/queries", body).unwrap()).unwrap();
        for (row, got) in requested.iter().zip(got) {
            assert_eq!(got.as_ref(), rows.get(*row as usize), "row {row} of {count}");
        }
        // A client whose configuration says nothing about lengths reads entries as they are; one
        // whose configuration of a keyword table does refuses it.
        let mut changed = |change: &dyn Fn(&mut PirConfig)| {
            change(pir(&mut read));
            let response = Bytes::from(read.encode_to_vec());
            Client::learn("users", response, WeakParams::Reject, 7, &mut rng)
        };
        let older = changed(&|pir| {
            pir.encoding_entry_size = None;
            pir.shard_configs[0].entry_size += if longest < 256 { 1 } else { 2 };
        });
        assert!(!older.unwrap().has_lengths());
        assert!(
            changed(&|pir| {
                pir.encoding_entry_size = Some(true);
                pir.shard_configs[0].entry_size = u64::MAX;
            })
            .is_err()
        );
    }
}

#[test]
fn text_and_rows_of_one_length_have_lengths_too() {
    let dir = tempfile::tempdir().unwrap();
    let lock = TableDir::create(dir.path()).unwrap().lock().unwrap();
    struct Text;
    impl TableSource for Text {
        fn rows(&self) -> u64 {
            2
        }
        fn row_bytes(&self) -> usize {
            4
        }
        fn read(&self, first: u64, out: &mut [u8]) -> sotto_core::Result<()> {
            out.copy_from_slice(&b"one\0four"[4 * first as usize..][..out.len()]);
            Ok(())
        }
    }
    let text = encode_index(&Text, Some(RowForm::Text), &how(1), &lock, &silent).unwrap();
    assert_eq!(entries(&text.path), b"\x03one\0\x04four");
    let whole = encode_index(&Text, Some(RowForm::Whole), &how(1), &lock, &silent).unwrap();
    assert_eq!(entries(&whole.path), b"\x04one\0\x04four");
    let plain = encode_index(&Text, None, &how(1), &lock, &silent).unwrap();
    assert_eq!(entries(&plain.path), b"one\0four");
    // Rows with an invalid length are refused.
    assert!(encode_index(&Text, Some(RowForm::Length(1)), &how(1), &lock, &silent).is_err());
}
