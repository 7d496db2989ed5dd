//! Our client and our server, on tables of our own.

use crate::index::same_file;
use crate::recorded::{CODEC, kit};
use bytes::Bytes;
use prost::Message;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use sotto_apple::codec::Codec;
use sotto_apple::keyword::hash;
use sotto_apple::keyword::place::{Options, Row};
use sotto_apple::keyword::table::{Shard, asked, found};
use sotto_apple::processed;
use sotto_apple::proto::{EncryptedIndices, SerializedEvaluationKey};
use sotto_apple::service::UseCase;
use sotto_apple::sets::{SETS, Weak};
use sotto_bfv::mulpir::keys::elements;
use sotto_bfv::mulpir::{Compression, Shape, Table};
use sotto_lattice::bgv::Secret;

#[test]
fn every_entry_of_every_kind_of_table() {
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let secret = Secret::sample(kit().ring(), &mut rng);
    let fill = |i: usize, out: &mut [u8]| {
        (0..).zip(out).for_each(|(j, x): (usize, _)| *x = (i * 31 + j * 7 + 1) as u8)
    };
    // Several to a plaintext, one to each, two plaintexts to one; dimensions alike, not alike, and one of them 1.
    let cases: [(usize, usize, usize, Compression); 4] = [
        (200, 300, 1, Compression::None),
        (9, 2048, 2, Compression::Hybrid),
        (5, 3000, 1, Compression::Most),
        (1, 1, 3, Compression::None),
    ];
    for (count, bytes, batch, compression) in cases {
        let plaintexts = count.div_ceil((kit().plaintext_bytes() / bytes).max(1));
        let shape =
            Shape::new(count, bytes, kit().plaintext_bytes(), Shape::uneven(plaintexts, batch), batch)
                .unwrap();
        let table = Table::encode(kit(), &shape, fill).unwrap();
        let mut file = Vec::new();
        processed::write(&CODEC, &[&table], &mut file).unwrap();
        same_file(&[&table], &shape, &file);
        let elements = elements(kit().degree(), shape.outputs(), compression);
        let keys = CODEC.make_keys(&secret, &elements, &mut rng).encode_to_vec();
        let keys = SerializedEvaluationKey::decode(Bytes::from(keys)).unwrap();
        let keys = CODEC.take_keys(&keys, &elements).unwrap();
        for first in [0, count / 2, count - 1] {
            let entries: Vec<usize> = (0..batch).map(|j| (first + j) % count).collect();
            let query = CODEC.ask(&secret, &shape, &entries, &mut rng).unwrap().encode_to_vec();
            let query = EncryptedIndices::decode(Bytes::from(query)).unwrap();
            let response = CODEC.answer(&keys, &query, &[&table]).unwrap();
            for (i, opened) in entries.iter().zip(CODEC.open(&secret, &shape, &entries, &response).unwrap()) {
                let mut expected = vec![0; bytes];
                fill(*i, &mut expected);
                assert_eq!(*opened, expected, "entry {i} of {count}");
            }
        }
        assert!(CODEC.ask(&secret, &shape, &vec![count; batch], &mut rng).is_err());
        assert!(CODEC.ask(&secret, &shape, &vec![0; batch + 1], &mut rng).is_err());
    }
}

#[test]
fn keys_that_are_there_and_keys_that_are_not() {
    let mut rng = ChaCha20Rng::from_seed([2; 32]);
    let secret = Secret::sample(kit().ring(), &mut rng);
    let keys: Vec<String> = (0..500).map(|i| format!("user{i}@example.org")).collect();
    let rows: Vec<Row<'_>> =
        keys.iter().map(|key| Row { key: key.as_bytes(), value: &key.as_bytes()[..4] }).collect();
    let shard = Shard::build(&CODEC, &rows, Options { bucket_bytes: 600, buckets: None }).unwrap().unwrap();
    let elements = shard.elements(&CODEC, Compression::None);
    let sent = CODEC.make_keys(&secret, &elements, &mut rng);
    let session = CODEC.take_keys(&sent, &elements).unwrap();
    for (key, expected) in
        [("user0@example.org", true), ("user499@example.org", true), ("nobody@example.org", false)]
    {
        let places = asked(shard.shape(), hash(key.as_bytes()));
        let query = CODEC.ask(&secret, shard.shape(), &places, &mut rng).unwrap();
        let response = CODEC.answer(&session, &query, &shard.tables()).unwrap();
        let opened = CODEC.open(&secret, shard.shape(), &places, &response).unwrap();
        let value = found(hash(key.as_bytes()), &opened).unwrap();
        assert_eq!(value, expected.then(|| b"user".to_vec()), "{key}");
    }
}

/// What the gate lets pass is read rightly, and what it refuses would not be.
#[test]
fn sets_whose_answers_are_readable() {
    let mut rng = ChaCha20Rng::from_seed([3; 32]);
    for set in SETS {
        let codec = Codec::new(set.kit(Weak::Refused).unwrap().0).unwrap();
        let kit = codec.kit();
        let secret = Secret::sample(kit.ring(), &mut rng);
        let fill = |_: usize, out: &mut [u8]| {
            (0..).zip(out).for_each(|(j, x): (usize, _)| *x = (j * j + 7 * j) as u8)
        };
        let bytes = kit.plaintext_bytes();
        let shape = Shape::new(8, bytes, bytes, [4, 2], 1).unwrap();
        let table = Table::encode(kit, &shape, fill).unwrap();
        let elements = elements(kit.degree(), shape.outputs(), Compression::Most);
        let keys = codec.take_keys(&codec.make_keys(&secret, &elements, &mut rng), &elements).unwrap();
        let query = codec.ask(&secret, &shape, &[1], &mut rng).unwrap();
        let response = codec.answer(&keys, &query, &[&table]).unwrap();
        let opened = codec.open(&secret, &shape, &[1], &response).unwrap();
        let mut expected = vec![0; bytes];
        fill(1, &mut expected);
        assert_eq!(*opened[0] == expected, codec.check(&shape, Compression::Most).is_ok(), "{}", set.name);
        let shard = Shard::of_entries(&codec, 8, bytes, [4, 2], |_, _, _| ()).unwrap();
        let made = UseCase::new(set, codec.into(), vec![shard], Compression::Most);
        assert_eq!(made.is_err(), set.plain > 100, "{}", set.name);
    }
}
