//! Our client and our server, on tables of our own.

use crate::common::{CODEC, Served, kit, learn, post_as};
use crate::lookups::same_file;
use bytes::Bytes;
use prost::Message;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use sotto_apple::client::{Client, config_request};
use sotto_apple::codec::Codec;
use sotto_apple::config::id;
use sotto_apple::keys::KeyMap;
use sotto_apple::keyword::cuckoo::{CuckooOptions, KeywordRow};
use sotto_apple::keyword::table::Shard;
use sotto_apple::keyword::{hash, shard};
use sotto_apple::processed;
use sotto_apple::proto::{
    ConfigForm, ConfigRequest, ConfigResponse, EncryptedIndices, EvaluationKey, EvaluationKeys, PirConfig,
    PirRequest, Requests, SerializedEvaluationKey,
};
use sotto_apple::service::{Service, UseCase};
use sotto_apple::sets::{SETS, WeakParams};
use sotto_bfv::mulpir::elements;
use sotto_bfv::mulpir::{Compression, EntryShape, ValueTable};
use sotto_lattice::bgv::SecretKey;

#[test]
fn every_entry_of_every_kind_of_table() {
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let secret = SecretKey::sample(kit().ring(), &mut rng);
    let fill = |i: usize, out: &mut [u8]| {
        (0..).zip(out).for_each(|(j, x): (usize, _)| *x = (i * 31 + j * 7 + 1) as u8)
    };
    // Several entries per plaintext, one, and two plaintexts per entry; equal dimensions, different
    // ones, and one of them 1.
    let cases: [(usize, usize, usize, Compression); 4] = [
        (200, 300, 1, Compression::None),
        (9, 2048, 2, Compression::Hybrid),
        (5, 3000, 1, Compression::Most),
        (1, 1, 3, Compression::None),
    ];
    for (count, bytes, batch, compression) in cases {
        let plaintexts = count.div_ceil((kit().plaintext_bytes() / bytes).max(1));
        let shape = EntryShape::new(
            count,
            bytes,
            kit().plaintext_bytes(),
            EntryShape::uneven(plaintexts, batch),
            batch,
        )
        .unwrap();
        let table = ValueTable::encode(kit(), &shape, fill).unwrap();
        let mut file = Vec::new();
        processed::write(&CODEC, &[&table], &mut file).unwrap();
        same_file(&[&table], &shape, &file);
        let elements = elements(kit().degree(), shape.outputs(), compression);
        let keys = CODEC.make_keys(&secret, &elements, &mut rng).encode_to_vec();
        let keys = SerializedEvaluationKey::decode(Bytes::from(keys)).unwrap();
        let keys = CODEC.take_keys(&keys, &elements).unwrap();
        for first in [0, count / 2, count - 1] {
            let entries: Vec<usize> = (0..batch).map(|j| (first + j) % count).collect();
            let query = CODEC.query(&secret, &shape, &entries, &mut rng).unwrap().encode_to_vec();
            let query = EncryptedIndices::decode(Bytes::from(query)).unwrap();
            let response = CODEC.answer(&keys, &query, &[&table]).unwrap();
            for (i, opened) in entries.iter().zip(CODEC.open(&secret, &shape, &entries, &response).unwrap()) {
                let mut expected = vec![0; bytes];
                fill(*i, &mut expected);
                assert_eq!(*opened, expected, "entry {i} of {count}");
            }
        }
        assert!(CODEC.query(&secret, &shape, &vec![count; batch], &mut rng).is_err());
        assert!(CODEC.query(&secret, &shape, &vec![0; batch + 1], &mut rng).is_err());
    }
}

/// Sets that pass the checks give readable answers, and refused sets would not.
#[test]
fn sets_whose_answers_are_readable() {
    let mut rng = ChaCha20Rng::from_seed([3; 32]);
    for set in SETS {
        let codec = Codec::new(set.kit(WeakParams::Reject).unwrap().0).unwrap();
        let kit = codec.kit();
        let secret = SecretKey::sample(kit.ring(), &mut rng);
        let fill = |_: usize, out: &mut [u8]| {
            (0..).zip(out).for_each(|(j, x): (usize, _)| *x = (j * j + 7 * j) as u8)
        };
        let bytes = kit.plaintext_bytes();
        let shape = EntryShape::new(8, bytes, bytes, [4, 2], 1).unwrap();
        let table = ValueTable::encode(kit, &shape, fill).unwrap();
        let elements = elements(kit.degree(), shape.outputs(), Compression::Most);
        let keys = codec.take_keys(&codec.make_keys(&secret, &elements, &mut rng), &elements).unwrap();
        let query = codec.query(&secret, &shape, &[1], &mut rng).unwrap();
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

/// A service with rows in this many shards, and its keys in memory.
fn served(rows: &[KeywordRow<'_>], shards: usize) -> Served {
    let codec = UseCase::codec(&SETS[1], WeakParams::Reject).unwrap();
    let build = |s: usize| {
        let mine: Vec<KeywordRow<'_>> =
            rows.iter().copied().filter(|row| shard(hash(row.key), shards) == s).collect();
        Shard::build(&codec, &mine, CuckooOptions { bucket_bytes: 512, buckets: Some(24) }).unwrap()
    };
    let shards = (0..shards).map(build).collect();
    let mut service = Service::new();
    let use_case = UseCase::new(SETS[1], codec.clone(), shards, Compression::None).unwrap();
    service.serve("users", use_case, 1);
    (service, KeyMap::default())
}

#[test]
fn a_whole_session_of_ours() {
    let mut rng = ChaCha20Rng::from_seed([4; 32]);
    let keys: Vec<String> = (0..600).map(|i| format!("user{i}@example.org")).collect();
    let rows: Vec<KeywordRow<'_>> =
        keys.iter().map(|key| KeywordRow { key: key.as_bytes(), value: &key.as_bytes()[..6] }).collect();
    for (shards, agent) in [(1, "x iOS/18.2"), (2, "x iOS/18.0"), (2, "x iOS/18.2")] {
        let served = served(&rows, shards);
        let response = post_as(agent, &served, "/config", config_request("users")).unwrap();
        let client = learn("users", response.clone(), shards as u64, &mut rng).unwrap();
        let requested = ["user0@example.org", "user599@example.org", "nobody@example.org", ""];
        let requested: Vec<&[u8]> = requested.iter().map(|key| key.as_bytes()).collect();
        let (body, _) = client.query(&requested, &mut rng).unwrap();
        assert_eq!(
            post_as(agent, &served, "/queries", body).unwrap_err().status,
            400,
            "before the keys came"
        );
        post_as(agent, &served, "/key", client.key_request(&mut rng)).unwrap();
        let (body, pending) = client.query(&requested, &mut rng).unwrap();
        let answer = post_as(agent, &served, "/queries", body).unwrap();
        let values = client.open(pending, answer).unwrap();
        let expected = [Some(b"user0@".to_vec()), Some(b"user59".to_vec()), None, None];
        assert_eq!(values, expected);

        // A configuration is sent once, and then confirmed; the server knows when the keys were
        // made.
        let again = ConfigResponse::decode(response).unwrap();
        let existing_config_ids = vec![again.configs["users"].config_id.clone()];
        let request = ConfigRequest { usecases: vec!["users".into()], existing_config_ids }.encode_to_vec();
        let response = ConfigResponse::decode(post_as(agent, &served, "/config", request).unwrap()).unwrap();
        assert_eq!(response.configs["users"].config, Some(ConfigForm::ReuseExistingConfig(true)));
        assert_eq!(response.key_info[0].timestamp, 77);
        let (_, pending) = client.query(&requested[..1], &mut rng).unwrap();
        assert!(client.open(pending, Bytes::new()).is_err(), "no answer at all");
    }
}

#[test]
fn a_new_configuration_beside_the_old_one() {
    let mut rng = ChaCha20Rng::from_seed([5; 32]);
    let keys: Vec<String> = (0..300).map(|i| format!("{i}")).collect();
    let rows: Vec<KeywordRow<'_>> =
        keys.iter().map(|key| KeywordRow { key: key.as_bytes(), value: b"old" }).collect();
    let agent = "x iOS/18.2";
    let (mut service, store) = served(&rows, 1);
    let response = post_as(
        agent,
        &(std::mem::take(&mut service), KeyMap::default()),
        "/config",
        config_request("users"),
    );
    assert_eq!(response.as_ref().map(|_| ()), Ok(()));
    let (first, _) = served(&rows, 1);
    let mut served = (first, store);
    let client = Client::learn("users", response.unwrap(), WeakParams::Reject, 1, &mut rng).unwrap();
    post_as(agent, &served, "/key", client.key_request(&mut rng)).unwrap();
    // Twice the buckets, then three times as many: the first configuration remains for one change.
    for (buckets, status) in [(48, 200), (72, 410)] {
        let codec = UseCase::codec(&SETS[1], WeakParams::Reject).unwrap();
        let options = CuckooOptions { bucket_bytes: 512, buckets: Some(buckets) };
        let shard = Shard::build(&codec, &rows, options).unwrap();
        served.0.serve("users", UseCase::new(SETS[1], codec, vec![shard], Compression::Most).unwrap(), 1);
        let (body, pending) = client.query(&[b"7"], &mut rng).unwrap();
        match post_as(agent, &served, "/queries", body) {
            Ok(answer) => assert_eq!(
                (client.open(pending, answer).unwrap(), status),
                (vec![Some(b"old".to_vec())], 200)
            ),
            Err(refused) => assert_eq!(refused.status, status),
        }
    }
}

#[test]
fn configurations_that_contradict_themselves() {
    let mut rng = ChaCha20Rng::from_seed([6; 32]);
    let rows = [KeywordRow { key: b"a", value: b"b" }];
    let served = served(&rows, 1);
    let response = post_as("x iOS/18.2", &served, "/config", config_request("users")).unwrap();
    let mut learn = |change: &dyn Fn(&mut PirConfig)| {
        let mut response = ConfigResponse::decode(response.clone()).unwrap();
        let Some(ConfigForm::PirConfig(pir)) = &mut response.configs.get_mut("users").unwrap().config else {
            panic!("no table")
        };
        change(pir);
        Client::learn("users", response.encode_to_vec().into(), WeakParams::Reject, 1, &mut rng).is_ok()
    };
    assert!(learn(&|_| ()));
    assert!(!learn(&|pir| pir.encryption_parameters.as_mut().unwrap().plaintext_modulus = 19));
    assert!(!learn(&|pir| pir.encryption_parameters.as_mut().unwrap().polynomial_degree = 1024));
    assert!(!learn(&|pir| pir.batch_size = 3));
    assert!(!learn(&|pir| pir.keyword_pir_params = None));
    assert!(!learn(&|pir| pir.shard_configs.clear()));
    assert!(!learn(&|pir| pir.evaluation_key_config_hash = vec![0; 32].into()));
    assert!(!learn(&|pir| pir.shard_configs[0].dimensions = vec![u64::MAX, u64::MAX]));
    assert!(!learn(&|pir| pir.shard_configs[0].dimensions = vec![1 << 20, 1]));
    assert!(!learn(&|pir| pir.shard_configs[0].dimensions.push(1)));
    assert!(!learn(&|pir| pir.shard_configs[0].num_entries = u64::MAX));
    assert!(!learn(&|pir| pir.shard_configs[0].entry_size = 0));
    assert!(Client::learn("another", response, WeakParams::Reject, 1, &mut rng).is_err());
}

#[test]
fn one_table_has_one_id_whatever_the_system() {
    let rows: Vec<KeywordRow<'_>> =
        [&b"1"[..], b"2", b"3", b"4"].map(|key| KeywordRow { key, value: b"v" }).into();
    let served = served(&rows, 2);
    let response = |agent: &str, existing: Bytes| {
        let request = ConfigRequest { usecases: vec!["users".into()], existing_config_ids: vec![existing] };
        let response = post_as(agent, &served, "/config", request.encode_to_vec()).unwrap();
        ConfigResponse::decode(response).unwrap().configs.remove("users").unwrap()
    };
    let [phone, old, mac, unknown] = [
        "com.apple.ciphermld/1.0 iOS/18.2 more",
        "com.apple.ciphermld/1.0 iOS/18.0 more",
        "com.apple.ciphermld/1.2 (Macintosh; OS X 15.2; 24C101) more",
        "another/1.0",
    ];
    let newest = response(phone, Bytes::new());
    let Some(ConfigForm::PirConfig(config)) = &newest.config else { panic!("no table") };
    assert_eq!((newest.config_id[..] == id(config), config.shard_configs.len()), (true, 0));
    assert_eq!(response(mac, Bytes::new()), newest);
    assert_eq!(response(unknown, Bytes::new()), newest);
    let listed = response(old, Bytes::new());
    let Some(ConfigForm::PirConfig(config)) = &listed.config else { panic!("no table") };
    assert_eq!((listed.config_id, config.shard_configs.len()), (newest.config_id.clone(), 2));
    // A phone whose system is upgraded does not receive the configuration again.
    assert_eq!(response(phone, newest.config_id).config, Some(ConfigForm::ReuseExistingConfig(true)));
}

#[test]
fn keys_that_come_with_a_lookup_go_before_those_that_came_earlier() {
    let mut rng = ChaCha20Rng::from_seed([8; 32]);
    let rows = [KeywordRow { key: b"a", value: b"here" }];
    let served = served(&rows, 1);
    let agent = "x iOS/18.2";
    let response = post_as(agent, &served, "/config", config_request("users")).unwrap();
    let mut learn = |timestamp| {
        Client::learn("users", response.clone(), WeakParams::Reject, timestamp, &mut rng).unwrap()
    };
    let (client, other) = (learn(1), learn(1));
    let mut rng = ChaCha20Rng::from_seed([9; 32]);
    let key = EvaluationKeys::decode(&*client.key_request(&mut rng)).unwrap().keys.remove(0);
    // Status and result of each lookup of a request.
    let mut ask = |served: &Served, lookups: usize, change: &dyn Fn(&mut PirRequest)| {
        let (body, pending) = client.query(&vec![&b"a"[..]; lookups], &mut rng).unwrap();
        let mut requests = Requests::decode(&*body).unwrap();
        requests.requests.iter_mut().filter_map(|part| part.pir_request.as_mut()).for_each(change);
        let answer = post_as(agent, served, "/queries", requests.encode_to_vec()).map_err(|no| no.status)?;
        client.open(pending, answer).map_err(|_| 0)
    };
    let brought = |change: &dyn Fn(&mut EvaluationKey)| {
        let mut key = key.clone();
        change(&mut key);
        move |part: &mut PirRequest| part.evaluation_key = Some(key.clone())
    };
    let here = |lookups| Ok(vec![Some(b"here".to_vec()); lookups]);
    assert_eq!(ask(&served, 1, &|_| ()), Err(400), "no keys yet");
    assert_eq!(ask(&served, 3, &brought(&|_| ())), here(3));
    assert!(served.1.lock().unwrap().is_empty(), "they are kept no longer than the request");
    // Other keys of that user, with which this lookup is not made.
    let sent = EvaluationKeys::decode(&*other.key_request(&mut ChaCha20Rng::from_seed([1; 32]))).unwrap();
    post_as(agent, &served, "/key", sent.encode_to_vec()).unwrap();
    assert_ne!(ask(&served, 1, &|_| ()), here(1));
    assert_eq!(ask(&served, 1, &brought(&|_| ())), here(1));
    // The metadata of keys may be omitted, but must not be of another configuration.
    let bare = |part: &mut PirRequest| {
        brought(&|key| key.metadata = None)(part);
        part.evaluation_key_metadata = None;
    };
    assert_eq!(ask(&served, 1, &bare), here(1));
    let foreign = |key: &mut EvaluationKey| key.metadata.as_mut().unwrap().identifier = vec![1; 32].into();
    assert_eq!(ask(&served, 1, &brought(&foreign)), Err(400));
    assert_eq!(ask(&served, 1, &brought(&|key| key.evaluation_key = None)), Err(400));
    assert_eq!(ask(&served, 1, &|part| part.evaluation_key_metadata = None), Err(400));
}
