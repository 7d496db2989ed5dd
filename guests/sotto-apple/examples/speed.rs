//! Measures how long the steps of a keyword lookup take on one thread: `speed ROWS VALUE_BYTES
//! REPEATS`.
#![expect(clippy::unwrap_used, reason = "an example that measures")]

use prost::Message;
use sotto_apple::codec::Codec;
use sotto_apple::keyword::cuckoo::{CuckooOptions, KeywordRow};
use sotto_apple::keyword::hash;
use sotto_apple::keyword::table::{Shard, found, requested_buckets};
use sotto_apple::proto::{EncryptedIndices, SerializedEvaluationKey};
use sotto_apple::sets::{WeakParams, find};
use sotto_bfv::mulpir::Compression;
use sotto_lattice::bgv::SecretKey;
use std::time::{Duration, Instant};

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse().unwrap());
    let mut next = |otherwise| arguments.next().unwrap_or(otherwise);
    let (count, value_bytes, repeats) = (next(100_000), next(2), next(11));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| measure(count, value_bytes, repeats));
}

fn measure(count: usize, value_bytes: usize, repeats: usize) {
    let (kit, security) = find("n_4096_logq_27_28_28_logt_5").unwrap().kit(WeakParams::Reject).unwrap();
    let codec = Codec::new(kit).unwrap();
    println!("{} bits of security", security.unwrap().bits);
    let keys: Vec<String> = (0..count).map(|i| format!("+15550{i:08}")).collect();
    let value = |i: usize| (0..value_bytes).map(|j| (i * 31 + j * 7) as u8).collect::<Vec<u8>>();
    let values: Vec<Vec<u8>> = (0..count).map(value).collect();
    let rows: Vec<KeywordRow<'_>> =
        keys.iter().zip(&values).map(|(key, value)| KeywordRow { key: key.as_bytes(), value }).collect();
    let before = processor();
    let (shard, building) =
        timed(|| Shard::build(&codec, &rows, CuckooOptions { bucket_bytes: 1024, buckets: None }).unwrap());
    println!("building: {building:?}, {:?} of processor time, {:?}", processor() - before, shard.shape());

    let rng = &mut sotto_prg::system_rng().unwrap();
    let secret = SecretKey::sample(codec.kit().ring(), rng);
    let elements = shard.elements(&codec, Compression::None);
    let (keys_made, making) = timed(|| codec.make_keys(&secret, &elements, rng).encode_to_vec());
    let mut reading = Vec::new();
    let mut session = None;
    for _ in 0..repeats.min(5) {
        let (read, time) = timed(|| {
            let message = SerializedEvaluationKey::decode(bytes::Bytes::from(keys_made.clone())).unwrap();
            codec.take_keys(&message, &elements).unwrap()
        });
        (session, _) = (Some(read), reading.push(time));
    }
    println!("keys: {} B, made in {making:?}, read in {:?}", keys_made.len(), median(&mut reading));

    let mut answering = Vec::new();
    for i in 0..repeats {
        let (key, expected) = (&keys[i * 7919 % count], &values[i * 7919 % count]);
        let entries = requested_buckets(shard.shape(), hash(key.as_bytes()));
        let (query, asking) =
            timed(|| codec.query(&secret, shard.shape(), &entries, rng).unwrap().encode_to_vec());
        let (response, time) = timed(|| {
            let query = EncryptedIndices::decode(bytes::Bytes::from(query.clone())).unwrap();
            codec.answer(session.as_ref().unwrap(), &query, &shard.tables()).unwrap()
        });
        answering.push(time);
        let (opened, opening) = timed(|| codec.open(&secret, shard.shape(), &entries, &response).unwrap());
        assert_eq!(found(hash(key.as_bytes()), &opened).unwrap().as_ref(), Some(expected));
        if i == 0 {
            println!(
                "query: {} B in {asking:?}; response: {} B opened in {opening:?}",
                query.len(),
                response.encoded_len()
            );
        }
    }
    println!("answering: median {:?}, best {:?}", median(&mut answering), answering[0]);
}

fn timed<T>(f: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let out = f();
    (out, start.elapsed())
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Processor time of all threads of this process, as Linux counts it: on a shared machine it is
/// more reliable than a clock.
fn processor() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name, which may contain spaces: the twelfth and the thirteenth field, in hundredths
    // of a second.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().skip(11).take(2);
    Duration::from_millis(fields.filter_map(|field| field.parse::<u64>().ok()).sum::<u64>() * 10)
}
