//! Apple's private lookups: requests of every kind, responses, buckets, sealed rows, processed databases and descriptions.

use bytes::Bytes;
use prost::Message;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use sotto_apple::codec::Codec;
use sotto_apple::config::ConfigDigest;
use sotto_apple::image::UseCaseDescription;
use sotto_apple::keyword::cuckoo::{CuckooOptions, KeywordRow};
use sotto_apple::keyword::table::Shard;
use sotto_apple::keyword::{bucket, hash};
use sotto_apple::processed;
use sotto_apple::proto::{
    ConfigForm, ConfigRequest, ConfigResponse, EvaluationKey, EvaluationKeyMetadata, EvaluationKeys,
    OprfRequest, PirRequest, PirResponse, Request, Requests,
};
use sotto_apple::service::{DecodeKeys, HttpRequest, KeyStore, Service, StoredKeys, UseCase};
use sotto_apple::sets::{SETS, WeakParams};
use sotto_apple::symmetric::{NAME_BYTES, RowKey, sealed};
use sotto_bfv::mulpir::{Compression, EntryShape};
use sotto_lattice::bgv::SecretKey as BfvSecretKey;
use sotto_oprf::p384::{SecretKey, blind};
use std::sync::{Arc, LazyLock, Mutex};

const NAME: &str = "numbers";
const SEALED: &str = "sealed";
const USER: &str = "somebody";
const AGENT: &str = "com.apple.ciphermld/1.0 iOS/18.2";
const KEYS: [&str; 3] = ["one", "two", "three"];

/// The keys that came last.
#[derive(Default)]
struct Last(Mutex<Option<(u64, Vec<u8>)>>);

/// Keys as messages: what was taken once is taken again.
impl KeyStore for Last {
    fn timestamp(&self, _: &str, _: &ConfigDigest) -> Option<u64> {
        self.0.lock().unwrap().as_ref().map(|(timestamp, _)| *timestamp)
    }

    fn get(&self, _: &str, _: &ConfigDigest, read: &DecodeKeys<'_>) -> Option<StoredKeys> {
        let (timestamp, sent) = self.0.lock().unwrap().clone()?;
        let stored = read(&sent).expect("keys that were taken are read again");
        assert_eq!(stored.timestamp, timestamp);
        Some(stored)
    }

    fn put(&self, _: &str, _: ConfigDigest, keys: StoredKeys, sent: &[u8]) {
        *self.0.lock().unwrap() = Some((keys.timestamp, sent.to_vec()));
    }
}

/// A service with a small table, a client's secret, and the right requests.
struct World {
    codec: Arc<Codec>,
    shape: EntryShape,
    service: Service,
    secret: BfvSecretKey,
    config: Vec<u8>,
    key: Vec<u8>,
    queries: Vec<u8>,
    evaluations: Vec<u8>,
    file: Vec<u8>,
    sealing: SecretKey,
}

/// A symmetric use case whose rows are sealed.
fn sealed_table(codec: &Arc<Codec>, sealing: &SecretKey) -> UseCase {
    // Buckets lie where a name says: what a placement takes for keys are names here.
    let rows: Vec<(Vec<u8>, Vec<u8>)> = KEYS
        .iter()
        .map(|key| {
            let name = sealing.at(key.as_bytes()).unwrap().bytes()[..NAME_BYTES].to_vec();
            (name, sealed(sealing, key.as_bytes(), key.as_bytes()).unwrap().1)
        })
        .collect();
    let rows: Vec<KeywordRow<'_>> = rows.iter().map(|(key, value)| KeywordRow { key, value }).collect();
    let shard = Shard::build(codec, &rows, CuckooOptions { bucket_bytes: 150, buckets: Some(2) }).unwrap();
    let use_case = UseCase::new(SETS[1], codec.clone(), vec![shard], Compression::None).unwrap();
    let again = SecretKey::from_file(&sealing.to_file()).unwrap();
    use_case.symmetric(sealing.public()).evaluated_by(again).unwrap()
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let mut rng = ChaCha20Rng::from_seed([7; 32]);
    let set = SETS[1];
    let codec = UseCase::codec(&set, WeakParams::Reject).unwrap();
    let rows = KEYS.map(|key| KeywordRow { key: key.as_bytes(), value: key.as_bytes() });
    let shard = Shard::build(&codec, &rows, CuckooOptions { bucket_bytes: 100, buckets: Some(2) }).unwrap();
    let shape = *shard.shape();
    let mut file = Vec::new();
    processed::write(&codec, &shard.tables(), &mut file).unwrap();
    let elements = shard.elements(&codec, Compression::None);
    let mut service = Service::new();
    let use_case = UseCase::new(set, codec.clone(), vec![shard], Compression::None).unwrap();
    service.serve(NAME, use_case, 0);
    let sealing = SecretKey::generate(&mut rng).unwrap();
    service.serve(SEALED, sealed_table(&codec, &sealing), 0);
    let asked = blind(KEYS[0].as_bytes().to_vec().into(), &mut rng).unwrap();
    let oprf_request =
        Some(OprfRequest { query_element: asked.element().to_vec().into(), ..Default::default() });
    let evaluated = Request { usecase: SEALED.into(), oprf_request, ..Default::default() };

    let config = ConfigRequest { usecases: vec![NAME.into()], ..Default::default() }.encode_to_vec();
    let response = send(&service, "/config", config.clone(), &Last::default()).unwrap();
    let response = ConfigResponse::decode(Bytes::from(response)).unwrap();
    let Some(ConfigForm::PirConfig(pir)) = &response.configs[NAME].config else { panic!("a configuration") };
    let identifier = pir.evaluation_key_config_hash.clone();
    let metadata = Some(EvaluationKeyMetadata { timestamp: 5, identifier });
    let secret = BfvSecretKey::sample(codec.kit().ring(), &mut rng);
    let evaluation_key = Some(codec.make_keys(&secret, &elements, &mut rng));
    let key = EvaluationKeys { keys: vec![EvaluationKey { metadata: metadata.clone(), evaluation_key }] };
    let query = codec.query(&secret, &shape, &[0, 1], &mut rng).unwrap();
    let request = PirRequest {
        query: Some(query),
        evaluation_key_metadata: metadata,
        configuration_hash: response.configs[NAME].config_id.clone(),
        ..Default::default()
    };
    let looked_up = Request { usecase: NAME.into(), pir_request: Some(request), ..Default::default() };
    let body = |request| Requests { requests: vec![request] }.encode_to_vec();
    let (key, queries, evaluations) = (key.encode_to_vec(), body(looked_up), body(evaluated));
    World { codec, shape, service, secret, config, key, queries, evaluations, file, sealing }
});

fn send(service: &Service, path: &str, body: Vec<u8>, store: &Last) -> Option<Vec<u8>> {
    let asked = HttpRequest { path, user: Some(USER), agent: Some(AGENT), body: body.into() };
    match service.answer(&asked, store, &mut ChaCha20Rng::from_seed([8; 32])) {
        Ok(answer) => Some(answer),
        Err(refused) => {
            assert!(matches!(refused.status, 400 | 404 | 410 | 413), "{refused:?}");
            None
        }
    }
}

/// A store with the right keys.
static KEYED: LazyLock<Last> = LazyLock::new(|| {
    let store = Last::default();
    send(&WORLD.service, "/key", WORLD.key.clone(), &store).unwrap();
    store
});

/// A request for configurations.
pub(crate) fn apple_config(data: &[u8]) -> bool {
    send(&WORLD.service, "/config", data.into(), &Last::default()).is_some()
}

pub(crate) fn configs() -> Vec<Vec<u8>> {
    vec![WORLD.config.clone()]
}

/// Evaluation keys. What is taken is kept, and nothing else.
pub(crate) fn apple_key(data: &[u8]) -> bool {
    let store = Last::default();
    let taken = send(&WORLD.service, "/key", data.into(), &store).is_some();
    assert!(taken || store.timestamp(USER, &[0; 32]).is_none(), "what is refused is not kept");
    taken
}

pub(crate) fn keys() -> Vec<Vec<u8>> {
    vec![WORLD.key.clone()]
}

/// Lookups, with the right keys there.
pub(crate) fn apple_queries(data: &[u8]) -> bool {
    send(&WORLD.service, "/queries", data.into(), &KEYED).is_some()
}

/// A lookup, and an evaluation.
pub(crate) fn querieses() -> Vec<Vec<u8>> {
    vec![WORLD.queries.clone(), WORLD.evaluations.clone()]
}

/// A sealed row. What opens is what was sealed.
pub(crate) fn apple_sealed(data: &[u8]) -> bool {
    let opening = RowKey::of(WORLD.sealing.at(KEYS[0].as_bytes()).unwrap());
    let Ok(value) = opening.open(data) else { return false };
    assert!(opening.seal(&value).unwrap() == data);
    true
}

/// One, and one without a byte.
pub(crate) fn sealeds() -> Vec<Vec<u8>> {
    let seal = |value: &[u8]| sealed(&WORLD.sealing, KEYS[0].as_bytes(), value).unwrap().1;
    vec![seal(b"a value"), seal(b"")]
}

/// A response, to whoever asked.
pub(crate) fn apple_response(data: &[u8]) -> bool {
    let Ok(response) = PirResponse::decode(data) else { return false };
    WORLD.codec.open(&WORLD.secret, &WORLD.shape, &[0, 1], &response).is_ok()
}

pub(crate) fn responses() -> Vec<Vec<u8>> {
    let answer = send(&WORLD.service, "/queries", WORLD.queries.clone(), &KEYED).unwrap();
    let answer = sotto_apple::proto::Responses::decode(Bytes::from(answer)).unwrap();
    vec![answer.responses[0].pir_response.as_ref().unwrap().encode_to_vec()]
}

/// A bucket. What is read is written again as it was.
pub(crate) fn apple_bucket(data: &[u8]) -> bool {
    let Some(rows) = bucket::read(data) else { return false };
    let mut again = vec![0; data.len()];
    bucket::write(rows.into_iter(), &mut again);
    assert!(again == data);
    true
}

pub(crate) fn buckets() -> Vec<Vec<u8>> {
    let mut bytes = vec![0; 60];
    bucket::write(KEYS.iter().map(|key| (hash(key.as_bytes()), key.as_bytes())), &mut bytes);
    vec![bytes, vec![0; 10]]
}

/// A processed database. What is read is written again as it was.
pub(crate) fn apple_database(data: &[u8]) -> bool {
    let Ok(tables) = processed::read(&WORLD.codec, &WORLD.shape, 2, data) else { return false };
    let mut again = Vec::new();
    processed::write(&WORLD.codec, &tables.iter().collect::<Vec<_>>(), &mut again).unwrap();
    // A plaintext of zeros may be written out.
    assert!(again == data || again.len() < data.len());
    true
}

pub(crate) fn databases() -> Vec<Vec<u8>> {
    vec![WORLD.file.clone()]
}

/// What a file of a table says of itself. What is read is written again as it was meant, and lies somewhere or is refused.
pub(crate) fn apple_description(data: &[u8]) -> bool {
    let Ok(described) = UseCaseDescription::parse(data) else { return false };
    let again = serde_json::to_vec(&described).unwrap();
    assert_eq!(UseCaseDescription::parse(&again).as_ref(), Ok(&described));
    described.places(&WORLD.codec).is_ok()
}

/// One of a keyword table, one of an index table, and one of a symmetric table.
pub(crate) fn descriptions() -> Vec<Vec<u8>> {
    let of = |kind: &str| {
        let tables = "00".repeat(32);
        format!(
            concat!(
                r#"{{"format":"sotto-apple/1","name":"a","epoch":1,"set":"{}","compression":"none","kind":{},"value":"text","#,
                r#""value_bytes":9,"shards":[{{"rows":20,"entries":8,"entry_bytes":1021,"dimensions":[2,2]}}],"tables":"{}"}}"#
            ),
            SETS[1].name, kind, tables
        )
    };
    let keyword = r#"{"keyword":{"form":"text","bucket_bytes":1024,"fixed":false}}"#;
    let digits: String = WORLD.sealing.public().bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let symmetric = of(keyword).replace(r#""shards""#, &format!(r#""oprf":"{digits}","shards""#));
    vec![of(keyword).into_bytes(), of(r#""index""#).into_bytes(), symmetric.into_bytes()]
}
