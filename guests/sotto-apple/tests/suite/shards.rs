//! Lookups reveal nothing of their keys but what the caller allowed, for every configuration that a
//! client accepts.

use crate::common::{self, CODEC, how, post, serve};
use bytes::Bytes;
use proptest::prelude::*;
use prost::Message;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use sotto_apple::client::{
    Client, ConfigError, ConfigPolicy, KeySeed, ShardError, ShardFunction, ShardHistory, config_request,
};
use sotto_apple::config::id;
use sotto_apple::keyword::{bucket, buckets, hash};
use sotto_apple::proto::{
    Config, ConfigForm, ConfigResponse, DoubleMod, EvaluationKeyConfig, KeyStatus, KeywordPirParameters,
    OprfResponse, PirConfig, PirShardConfig, PirShardConfigs, RepeatedShardConfig, Requests, Response,
    Responses, Sharding, ShardingFunction, SymmetricPirClientConfig,
};
use sotto_apple::sets::{SETS, WeakParams};
use sotto_bfv::mulpir::{Compression, EntryShape, ValueTable};
use sotto_oprf::p384::SecretKey;
use std::collections::{BTreeMap, BTreeSet};

const USE_CASE: &str = "callers";

/// A server's description of a table, in the fields that it may choose.
#[derive(Debug, Clone)]
struct SentRequests {
    set: usize,
    hash_functions: Option<u64>,
    batch: u64,
    sharding: Option<Sharding>,
    /// Entries, bytes of an entry, and dimensions of each shard.
    shards: Vec<(u64, u64, [u64; 2])>,
    repeated: Option<u64>,
    /// Seed of a symmetric table's key.
    sealed: Option<u8>,
    has_lengths: Option<bool>,
    elements: Vec<u32>,
    keys_of: u64,
}

impl SentRequests {
    fn of(shards: u64, sharding: Option<Sharding>) -> Self {
        SentRequests {
            set: 1,
            hash_functions: Some(2),
            batch: 2,
            sharding,
            shards: vec![(4, 100, [2, 1])],
            repeated: Some(shards),
            sealed: None,
            has_lengths: None,
            elements: vec![3, 5],
            keys_of: 0,
        }
    }

    fn answer(&self) -> Bytes {
        let set = SETS[self.set].message();
        let keys = EvaluationKeyConfig {
            encryption_parameters: Some(set.clone()),
            galois_elements: self.elements.clone(),
            has_relin_key: true,
        };
        let shards: Vec<PirShardConfig> = self
            .shards
            .iter()
            .map(|(num_entries, entry_size, dimensions)| PirShardConfig {
                num_entries: *num_entries,
                entry_size: *entry_size,
                dimensions: dimensions.to_vec(),
                shard_id: None,
            })
            .collect();
        let pir = PirConfig {
            encryption_parameters: Some(set),
            keyword_pir_params: self.hash_functions.map(|num_hash_functions| KeywordPirParameters {
                num_hash_functions,
                sharding_function: self.sharding.clone().map(|it| ShardingFunction { function: Some(it) }),
                symmetric_pir_client_config: self.sealed.map(|seed| SymmetricPirClientConfig {
                    server_public_key: key_of(seed).public().bytes().to_vec().into(),
                    config_type: 1,
                }),
            }),
            algorithm: 1,
            batch_size: self.batch,
            evaluation_key_config_hash: id(&keys).to_vec().into(),
            pir_shard_configs: self.repeated.map(|shard_count| PirShardConfigs {
                repeated_shard_config: Some(RepeatedShardConfig {
                    shard_config: shards.first().cloned(),
                    shard_count,
                }),
            }),
            shard_configs: if self.repeated.is_some() { Vec::new() } else { shards },
            encoding_entry_size: self.has_lengths,
        };
        let config_id = id(&pir).to_vec().into();
        let config = Config { config: Some(ConfigForm::PirConfig(pir)), config_id };
        let key_info = vec![KeyStatus { timestamp: self.keys_of, key_config: Some(keys) }];
        ConfigResponse { configs: [(USE_CASE.to_owned(), config)].into(), key_info }.encode_to_vec().into()
    }

    fn learn(&self, max_shards: u64, history: &mut ShardHistory) -> Result<Client, ConfigError> {
        self.learn_as(USE_CASE, &mut ConfigPolicy { max_shards, ..ConfigPolicy::default() }, history)
    }

    fn learn_as(
        &self,
        _: &str,
        policy: &mut ConfigPolicy,
        history: &mut ShardHistory,
    ) -> Result<Client, ConfigError> {
        Client::of_config(USE_CASE, self.answer(), policy, history, &KeySeed::draw(7, &mut rng(1)))
    }
}

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

fn key_of(seed: u8) -> SecretKey {
    SecretKey::generate(&mut rng(seed)).unwrap()
}

fn double_mod(other_shard_count: u32) -> Option<Sharding> {
    Some(Sharding::DoubleMod(DoubleMod { other_shard_count }))
}

fn sharding() -> impl Strategy<Value = Option<Sharding>> {
    let few = prop_oneof![0..6u32, Just(u32::MAX)];
    prop_oneof![Just(None), Just(Some(Sharding::Sha256(Default::default()))), few.prop_map(double_mod)]
}

prop_compose! {
    fn config()(
        set in 0..2usize,
        hash_functions in prop_oneof![1 => Just(None), 1 => (0..4u64).prop_map(Some), 6 => (1..3u64).prop_map(Some)],
        is_odd in proptest::bool::weighted(0.05),
        sharding in sharding(),
        shards in prop::collection::vec((1..40u64, 1..3000u64, [1..6u64, 1..6u64]), 1..4),
        repeated in prop_oneof![Just(None), (0..4u64).prop_map(Some), Just(Some(65_536))],
        sealed in prop_oneof![6 => Just(None), 1 => (0..3u8).prop_map(Some)],
        has_lengths in prop_oneof![4 => Just(None), 1 => any::<bool>().prop_map(Some)],
        elements in prop::collection::vec(0..8192u32, 0..3),
        keys_of in 0..9u64,
    ) -> SentRequests {
        let batch = hash_functions.unwrap_or(1) + u64::from(is_odd);
        let elements = elements.into_iter().map(|element| element | 1).collect();
        SentRequests { set, hash_functions, batch, sharding, shards, repeated, sealed, has_lengths, elements, keys_of }
    }
}

/// Everything that a request contains outside of its ciphertexts, and the lengths of these.
fn in_the_clear(body: &[u8]) -> Vec<u8> {
    let mut requests = Requests::decode(body).unwrap();
    let mut lengths = vec![body.len()];
    for request in &mut requests.requests {
        if let Some(query) = request.pir_request.as_mut().and_then(|pir| pir.query.as_mut()) {
            lengths.push(query.ciphertexts.len());
            lengths.extend(query.ciphertexts.drain(..).map(|ciphertext| ciphertext.encoded_len()));
        }
        // A blinded element counts as a ciphertext: it is uniform.
        if let Some(oprf) = &mut request.oprf_request {
            oprf.query_element = vec![0; oprf.query_element.len()].into();
        }
    }
    let lengths = lengths.into_iter().flat_map(|length| length.to_le_bytes());
    requests.encode_to_vec().into_iter().chain(lengths).collect()
}

/// Requests for a key, and their shard.
fn asked(client: &Client, key: &[u8], sealed: Option<u8>) -> (Vec<Vec<u8>>, u32) {
    let shard =
        |body: &[u8]| Requests::decode(body).unwrap().requests[0].pir_request.as_ref().unwrap().shard_index;
    let Some(seed) = sealed.filter(|_| client.is_symmetric()) else {
        let (body, _) = match client.rows() {
            Some(rows) => client.query_rows(&[hash(key) % (rows + 2)], &mut rng(2)).unwrap(),
            None => client.query(&[key], &mut rng(2)).unwrap(),
        };
        return (vec![in_the_clear(&body)], shard(&body));
    };
    let (first, blindings) = client.ask_openings(&[key], &mut rng(3)).unwrap();
    let element = Requests::decode(&*first).unwrap().requests[0].oprf_request.clone().unwrap().query_element;
    let evaluated = key_of(seed).evaluate(&(*element).try_into().unwrap(), &mut rng(4)).unwrap();
    let oprf_response = Some(OprfResponse {
        evaluated_element: evaluated.element.to_vec().into(),
        proof: evaluated.proof.to_vec().into(),
    });
    let answer = Responses { responses: vec![Response { oprf_response, ..Default::default() }] };
    let openings = client.openings(blindings, answer.encode_to_vec().into()).unwrap();
    let (second, _) = client.ask_opened(openings, &mut rng(5)).unwrap();
    (vec![in_the_clear(&first), in_the_clear(&second)], shard(&second))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// By default a lookup reveals nothing of its key, whatever two configurations a server sends
    /// one after the other. Where a caller accepts more, a request follows from the shard, and
    /// there are no more shards than were accepted.
    #[test]
    fn what_is_sent_in_the_clear_is_the_same_for_all_keys(
        first in config(),
        second in config(),
        max_shards in prop_oneof![2 => Just(1), 1 => 2..8u64],
        keys in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 3),
        long in proptest::bool::weighted(0.1),
    ) {
        let keys = keys.into_iter().chain(long.then(|| vec![7; 70_000]));
        let keys: Vec<Vec<u8>> = keys.collect();
        let (mut history, mut revealed) = (ShardHistory::default(), vec![Vec::new(); keys.len()]);
        for config in [first, second] {
            let Ok(client) = config.learn(max_shards, &mut history) else { continue };
            prop_assert!(client.parts_revealed() <= max_shards);
            let mut by_shard = BTreeMap::new();
            for (key, revealed) in keys.iter().zip(&mut revealed) {
                let (sent, shard) = asked(&client, key, config.sealed);
                let same = by_shard.entry(shard).or_insert_with(|| sent.clone());
                prop_assert_eq!(same, &sent, "a request depends on its key");
                revealed.extend(sent);
            }
        }
        let distinct: BTreeSet<_> = revealed.iter().collect();
        prop_assert!(distinct.len() as u64 <= max_shards, "{} of {max_shards}", distinct.len());
    }
}

fn refused(outcome: Result<Client, ConfigError>) -> ShardError {
    match outcome {
        Err(ConfigError::Shards(why)) => why,
        other => panic!("{other:?}"),
    }
}

/// Two configurations, one after the other: by the Chinese remainder theorem both together reveal a
/// single key.
#[test]
fn a_configuration_that_changes_is_not_asked_under() {
    let mut history = ShardHistory::default();
    let sha = || Some(Sharding::Sha256(Default::default()));
    let why = refused(SentRequests::of(65_536, None).learn(1, &mut history));
    assert!(matches!(why, ShardError::TooMany { parts: 65_536, max: 1, .. }), "{why}");
    assert!(SentRequests::of(65_536, sha()).learn(65_536, &mut history).is_ok());
    assert!(
        SentRequests::of(65_536, None).learn(65_536, &mut history).is_ok(),
        "both words are of one function"
    );
    let why = refused(SentRequests::of(65_535, None).learn(65_536, &mut history));
    assert!(matches!(why, ShardError::Changed { .. }), "{why}");
    // A change that was accepted once is not accepted again in the same call.
    let function: ShardFunction = "sha256:65535".parse().unwrap();
    let mut policy = ConfigPolicy {
        max_shards: u64::MAX,
        accepted_change: Some(function.clone()),
        ..ConfigPolicy::default()
    };
    let changed = SentRequests::of(65_535, None);
    assert!(changed.learn_as(USE_CASE, &mut policy, &mut history).is_ok());
    policy.max_shards = 65_536;
    let why = refused(changed.learn_as(USE_CASE, &mut policy, &mut history));
    assert!(matches!(why, ShardError::TooMany { parts: 4_294_901_760, before: true, .. }), "{why}");
}

/// The shards of a symmetric table follow from the function's output at a key: under another key
/// they reveal something else.
#[test]
fn another_key_of_a_symmetric_table_is_another_function() {
    let mut history = ShardHistory::default();
    let sealed = |seed, shards| SentRequests { sealed: Some(seed), ..SentRequests::of(shards, None) };
    assert!(sealed(1, 2).learn(2, &mut history).is_ok());
    assert!(matches!(refused(sealed(2, 2).learn(2, &mut history)), ShardError::Changed { .. }));
    assert!(matches!(refused(SentRequests::of(2, None).learn(2, &mut history)), ShardError::Changed { .. }));
    // Where nothing is revealed, another key changes nothing.
    let mut history = ShardHistory::default();
    assert!(sealed(1, 1).learn(1, &mut history).is_ok());
    assert!(sealed(2, 1).learn(1, &mut history).is_ok());
}

#[test]
fn shards_that_follow_another_use_case_tell_as_much_as_they_do() {
    let learn = |other, shards, max| {
        SentRequests::of(shards, double_mod(other)).learn(max, &mut ShardHistory::default())
    };
    assert_eq!(learn(57, 10, 12).unwrap().parts_revealed(), 12, "the smallest shard has 5 remainders of 57");
    assert!(matches!(refused(learn(57, 10, 11)), ShardError::TooMany { parts: 12, .. }));
    assert_eq!(learn(1, 10, 1).unwrap().parts_revealed(), 1, "all keys are in the first shard");
    assert!(matches!(learn(0, 10, 100), Err(ConfigError::Core(_))));
    // The shard as Apple's clients compute it: (hash mod 57) mod 10.
    let client = learn(57, 10, 12).unwrap();
    for i in 0..40u32 {
        let key = i.to_le_bytes();
        assert_eq!(u64::from(asked(&client, &key, None).1), hash(&key) % 57 % 10);
    }
}

/// A table of one hash function has one table, and a response of half the length.
#[test]
fn one_hash_function() {
    let codec = &*CODEC;
    let count = 64;
    let keys: Vec<String> = (0..100).map(common::key).collect();
    let fill = |i: usize, out: &mut [u8]| {
        let mine = keys.iter().map(|key| hash(key.as_bytes())).filter(|hash| buckets(*hash, count)[0] == i);
        bucket::write(mine.map(|hash| (hash, &b"value"[..])), out);
    };
    let shape = EntryShape::new(count, 200, codec.kit().plaintext_bytes(), [3, 3], 1).unwrap();
    let table = ValueTable::encode(codec.kit(), &shape, fill).unwrap();
    let elements = sotto_bfv::mulpir::elements(codec.kit().degree(), shape.outputs(), Compression::None);
    let config = SentRequests {
        hash_functions: Some(1),
        batch: 1,
        shards: vec![(count as u64, 200, [3, 3])],
        repeated: None,
        elements: elements.iter().map(|element| *element as u32).collect(),
        ..SentRequests::of(1, None)
    };
    let client = config.learn(1, &mut ShardHistory::default()).unwrap();
    assert_eq!((client.rows(), client.shards()), (None, 1));
    let sent = sotto_apple::proto::EvaluationKeys::decode(&*client.key_request(&mut rng(8))).unwrap();
    let session = codec.take_keys(sent.keys[0].evaluation_key.as_ref().unwrap(), &elements).unwrap();
    let requested: Vec<&[u8]> = vec![keys[0].as_bytes(), keys[99].as_bytes(), b"nobody"];
    let (body, pending) = client.query(&requested, &mut rng(9)).unwrap();
    let answered = Requests::decode(&*body).unwrap().requests.into_iter().map(|request| {
        let query = request.pir_request.unwrap().query.unwrap();
        let pir_response = Some(codec.answer(&session, &query, &[&table]).unwrap());
        Response { pir_response, ..Default::default() }
    });
    let answer = Responses { responses: answered.collect() }.encode_to_vec();
    let got = client.open(pending, answer.into()).unwrap();
    assert_eq!(got, [Some(b"value".to_vec()), Some(b"value".to_vec()), None]);
    // Larger numbers of hash functions are unknown, and zero is invalid.
    for count in [0, 3, u64::MAX] {
        let config = SentRequests { hash_functions: Some(count), batch: count, ..SentRequests::of(1, None) };
        assert!(
            matches!(config.learn(1, &mut ShardHistory::default()), Err(ConfigError::Core(_))),
            "{count}"
        );
    }
}

/// A client accepts only one shard, even from our own server, unless configured otherwise.
#[test]
fn by_default_a_lookup_tells_nothing_of_its_key() {
    let dir = tempfile::tempdir().unwrap();
    common::write(dir.path(), common::rows(60), &how(3)).unwrap();
    let served = serve(sotto_apple::image::open(dir.path(), WeakParams::Reject).unwrap());
    let config = post(&served, "/config", config_request("users")).unwrap();
    let learned = Client::learn("users", config.clone(), WeakParams::Reject, 1, &mut rng(1));
    assert!(matches!(refused(learned), ShardError::TooMany { parts: 3, max: 1, .. }));
    assert_eq!(common::learn("users", config, 3, &mut rng(1)).unwrap().parts_revealed(), 3);
}
