//! Index lookups: tables, queries and responses.

use crate::recorded::{CODEC, kit, lists, read, secret};
use prost::Message;
use sotto_apple::processed;
use sotto_apple::proto::{EncryptedIndices, PirParameters, SerializedEvaluationKey};
use sotto_bfv::mulpir::{EntryShape, ValueTable};

#[test]
fn dimensions_alike_and_most_compression() {
    let (table, _) = lookups("b/b3_1000x64_even_maxcomp", &[777]);
    assert_eq!(table.shape().dimensions(), [6, 6]);
}

#[test]
#[ignore = "needs every recording"]
fn one_plaintext() {
    lookups_and_file("b/b1_100x1to16", &[0, 37, 99]);
}

#[test]
#[ignore = "needs every recording"]
fn a_short_second_dimension() {
    lookups_and_file("b/b2_1000x64", &[0, 501, 999]);
}

#[test]
#[ignore = "needs every recording"]
fn entries_of_two_chunks() {
    lookups_and_file("b/b4_10x3000_two_chunks", &[3, 9]);
}

fn lookups(case: &str, entries: &[usize]) -> (ValueTable, EntryShape) {
    let file = |name: &str| read(&format!("{case}/{name}"));
    let parameters = PirParameters::decode(&*file("pir_parameters.pb")).unwrap();
    let dimensions = [0, 1].map(|i| parameters.dimensions[i] as usize);
    let [count, bytes, batch] =
        [parameters.num_entries, parameters.entry_size, parameters.batch_size].map(|x| x as usize);
    let shape = EntryShape::new(count, bytes, kit().plaintext_bytes(), dimensions, batch).unwrap();
    let rows = lists(&format!("{case}/database.bin"));
    let entry = |i: usize, out: &mut [u8]| out[..rows[i].len()].copy_from_slice(&rows[i]);
    let table = ValueTable::encode(kit(), &shape, entry).unwrap();

    let key_config = parameters.evaluation_key_config.unwrap();
    let elements: Vec<usize> = key_config.galois_elements.iter().map(|x| *x as usize).collect();
    let keys = SerializedEvaluationKey::decode(&*file("evaluation_key.pb")).unwrap();
    let keys = CODEC.take_keys(&keys, &elements).unwrap();
    let secret = secret(&format!("{case}/secret_key.coeff.i8"));
    for i in entries {
        let query = EncryptedIndices::decode(&*file(&format!("query_{i}.pb"))).unwrap();
        let response = CODEC.answer(&keys, &query, &[&table]).unwrap();
        assert!(response.encode_to_vec() == file(&format!("response_{i}.pb")), "{case} {i}");
        let opened = CODEC.open(&secret, &shape, &[*i], &response).unwrap();
        assert_eq!(*opened[0], file(&format!("value_{i}.bin")), "{case} {i}");
    }

    (table, shape)
}

fn lookups_and_file(case: &str, entries: &[usize]) {
    let (table, shape) = lookups(case, entries);
    same_file(&[&table], &shape, &read(&format!("{case}/processed_database.bin")));
}

/// The tables equal the file, and are read from it.
pub(crate) fn same_file(tables: &[&ValueTable], shape: &EntryShape, file: &[u8]) {
    let mut written = Vec::new();
    processed::write(&CODEC, tables, &mut written).unwrap();
    assert!(written == file);
    let read = processed::read(&CODEC, shape, tables.len(), file).unwrap();
    let mut again = Vec::new();
    processed::write(&CODEC, &read.iter().collect::<Vec<_>>(), &mut again).unwrap();
    assert!(again == file);
    for damaged in [&file[..file.len() - 1], &file[..5], &[], &[file, &[0]].concat()] {
        assert!(processed::read(&CODEC, shape, tables.len(), damaged).is_err());
    }
    for (at, byte) in [(0, 2), (1, file[1] ^ 1), (5, 7)] {
        let mut damaged = file.to_vec();
        damaged[at] = byte;
        assert!(processed::read(&CODEC, shape, tables.len(), &damaged).is_err(), "{at}");
    }
}
