//! Tests of `spec/bfv.md`: a client written from the specification alone, with the real server.
//!
//! Nothing here shares arithmetic, encodings or messages with the tested crates: the two sides have
//! only the specification in common.

use rand_core::Rng as _;
use serde_json::{Value, json};
use sotto_core::{SchemeEntry, TableShape};
use sotto_testkit::memory::{MemoryRows, MemorySink};
use sotto_testkit::naive_ring::{
    NaiveLimb, append_words, decode, encode, read_words, secret_product, stream,
};
use std::sync::Arc;

/// Queries records of a table of this shape, and a record of each bucket.
fn check_lookups(entry: &'static SchemeEntry, shape: &TableShape) -> Value {
    let mut params: Value = serde_json::from_slice(&(entry.select)(shape).unwrap()).unwrap();
    params["mask"] = json!("07".repeat(32));
    asks_of(entry, params)
}

fn asks_of(entry: &'static SchemeEntry, params: Value) -> Value {
    let literal = params.to_string().into_bytes();
    let mut client = Client::new(entry.id.0.split('/').next().unwrap(), &params);
    let (bytes, each) = (client.places.record_bytes(), client.places.each);
    let len = params["records"].as_u64().unwrap() as usize * bytes;
    let records: Vec<u8> = (0..len as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let sink = MemorySink::new();
    (entry.server.encode)(&literal, &MemoryRows::new(bytes, records.clone()), &sink).unwrap();
    let server = (entry.server.open)(&literal, Arc::new(sink.into_image())).unwrap();
    let session = server.admit(&client.keys()).unwrap();
    let buckets = client.places.buckets as u64;
    for places in [
        vec![0; buckets as usize],
        vec![each - 1; buckets as usize],
        (0..buckets).map(|bucket| (bucket * 11 + 5) % each).collect(),
    ] {
        let query = client.query(&places);
        let answer = server.answer_many(&[(&session, query.as_slice())]).remove(0).unwrap();
        for (bucket, found) in client.read(&places, &answer).iter().enumerate() {
            let index = bucket * each as usize + places[bucket] as usize;
            assert!(*found == records[index * bytes..][..bytes], "{params}, bucket {bucket}");
        }
    }
    params
}

/// The parameters of a scheme's known answers.
fn vectors(entry: &'static SchemeEntry, file: &str) {
    let file: Value = serde_json::from_str(file).unwrap();
    for vector in file["vectors"].as_array().unwrap() {
        asks_of(entry, vector["params"].clone());
    }
}

/// Selected parameters, without buckets and with them, for records of several parts; and those of
/// the known answers.
fn slots(entry: &'static SchemeEntry, file: &str) {
    check_lookups(entry, &TableShape::new(9000, 6, 1000));
    let params = check_lookups(entry, &TableShape { buckets: 3, ..TableShape::new(3 * 300, 30, 1000) });
    assert!(params["split"].as_u64() > Some(1), "{params}");
    vectors(entry, file);
}

#[test]
fn fastpir() {
    slots(&fastpir::ENTRY, include_str!("../../../../schemes/fastpir/vectors/fastpir-1.json"));
}

#[test]
fn vbpir() {
    slots(&vbpir::ENTRY, include_str!("../../../../schemes/vbpir/vectors/vbpir-1.json"));
    // With a second key, whose last row of rotations is short.
    let strided = json!({
        "ring": "n8192-t65537-q100", "records": 21000, "buckets": 3, "record_words": 6, "split": 2, "rows": 7, "merged": 3,
        "primes": 2, "queries": 2, "stride": 3, "answer_bits": [19, 28], "written": 0, "mask": "07".repeat(32),
    });
    asks_of(&vbpir::ENTRY, strided);
}

#[test]
fn pirana() {
    slots(&pirana::ENTRY, include_str!("../../../../schemes/pirana/vectors/pirana-1.json"));
}

/// Every set; both second dimensions are in the known answers.
#[test]
fn sealpir() {
    for set in ["seal", "seal-12", "mul"] {
        let shape = TableShape { set: Some(set.into()), buckets: 3, ..TableShape::new(3 * 9, 5000, 1000) };
        check_lookups(&sealpir::ENTRY, &shape);
    }
    vectors(&sealpir::ENTRY, include_str!("../../../../schemes/sealpir/vectors/sealpir-1.json"));
}

pub(crate) struct Client {
    params: Value,
    scheme: String,
    pub(crate) places: Places,
    t: u64,
    /// q_0, q_1, ... and P.
    limbs: Vec<NaiveLimb>,
    secret: Vec<i64>,
    /// Values of the secret modulo each prime.
    s: Vec<Vec<u64>>,
    rng: rand_chacha::ChaCha20Rng,
}

impl Client {
    pub(crate) fn new(scheme: &str, params: &Value) -> Self {
        let (_, n, t, _, primes) = ring(params["ring"].as_str().unwrap());
        let limbs: Vec<_> = primes.iter().map(|q| NaiveLimb::new(n, &[*q])).collect();
        let mut rng = sotto_testkit::rng::seeded(scheme);
        let secret: Vec<i64> = (0..n).map(|_| i64::from(rng.next_u32() % 3) - 1).collect();
        let s = limbs.iter().map(|limb| limb.values(&secret)).collect();
        let places = Places::new(scheme, params);
        Client { params: params.clone(), scheme: scheme.to_owned(), places, t, limbs, secret, s, rng }
    }

    /// Small coefficients: the distribution of errors does not show.
    fn error(&mut self) -> Vec<i64> {
        (0..self.secret.len()).map(|_| i64::from(self.rng.next_u32() % 9) - 4).collect()
    }

    /// The values of the secret that X -> X^k maps to s: the coefficient of s at j k is its
    /// coefficient at j.
    fn before(&self, k: usize) -> Vec<Vec<u64>> {
        let n = self.secret.len();
        let signed = |at: usize| if at < n { self.secret[at] } else { -self.secret[at - n] };
        let before: Vec<i64> = (0..n).map(|j| signed(j * k % (2 * n))).collect();
        self.limbs.iter().map(|limb| limb.values(&before)).collect()
    }

    /// Section "Keys".
    pub(crate) fn keys(&mut self) -> Vec<u8> {
        let n = self.secret.len();
        let (s, square) = (self.s.clone(), {
            let squared = |(limb, s): (&NaiveLimb, &Vec<u64>)| s.iter().map(|x| limb.mul(*x, *x)).collect();
            self.limbs.iter().zip(&self.s).map(squared).collect::<Vec<Vec<u64>>>()
        });
        let queried = self.limbs.len() - 1;
        let mut keys = Vec::new();
        if self.places.slots {
            let stride = self.params["stride"].as_u64().unwrap_or(1) as usize;
            for times in if stride > 1 { vec![1, stride] } else { vec![1] } {
                let k = (0..times * self.places.gap()).fold(1, |k, _| k * 5 % (2 * n));
                keys.push((s.clone(), self.before(k)));
            }
        }
        if self.scheme == "vbpir"
            || self.scheme == "pirana"
            || self.scheme == "sealpir" && queried == 2 && self.places.blocks > 1
        {
            keys.push((square, s.clone()));
        }
        keys.extend((0..self.places.rounds()).map(|round| (s.clone(), self.before((n >> round) + 1))));
        let seed = [0x33; 32];
        let (mut out, special) = (seed.to_vec(), self.limbs[queried].q);
        for (index, (source, target)) in
            keys.iter().flat_map(|key| std::iter::repeat_n(key, queried)).enumerate()
        {
            let error = self.error();
            let mut masks = stream(&seed, "bfv key", index as u64);
            for (k, limb) in self.limbs.iter().enumerate() {
                let gain = if k == index % queried { special % limb.q } else { 0 };
                let (mask, error) = (limb.mask(&mut masks), limb.values(&error));
                let body = limb.body(gain, &source[k], &error, [&mask, &target[k]]);
                append_words(&mut out, body, limb.bits());
            }
        }
        out
    }

    /// Section "Query", for a place of each bucket.
    pub(crate) fn query(&mut self, places: &[u64]) -> Vec<u8> {
        let (seed, t) = ([0x44; 32], self.t);
        let mut out = seed.to_vec();
        for (index, numbers) in (0..).zip(self.places.asked(places)) {
            let coefficients = if self.places.slots { encode(t, &numbers) } else { numbers };
            let nearest = |c: &u64| *c as i64 - if *c > t / 2 { t as i64 } else { 0 };
            let m: Vec<i64> = coefficients.iter().map(nearest).collect();
            let (error, mut masks) = (self.error(), stream(&seed, "bfv query", index));
            for (limb, s) in self.limbs.iter().zip(&self.s).take(self.limbs.len() - 1) {
                let divided = limb.inverse(t << self.places.rounds());
                let (mask, m, error) = (limb.mask(&mut masks), limb.values(&m), limb.values(&error));
                append_words(&mut out, limb.body(divided, &m, &error, [&mask, s]), limb.bits());
            }
        }
        out
    }

    /// The coefficients that a ciphertext of `t_b` and `t_a` bits holds.
    fn opened(&self, bytes: &[u8], [t_b, t_a]: [u32; 2]) -> Vec<u64> {
        let (n, t) = (self.secret.len(), u128::from(self.t));
        let (body, mask) = bytes.split_at(n * t_b as usize / 8);
        let hidden = secret_product(&read_words(mask, t_a, n), &self.secret);
        let read = |(body, hidden): (u64, &u64)| {
            let phase = (body << (t_a - t_b)).wrapping_add(*hidden) & ((1 << t_a) - 1);
            let rounded = (u128::from(phase) * t + (1 << (t_a - 1))) >> t_a;
            ((t - rounded % t) % t) as u64
        };
        read_words(body, t_b, n).into_iter().zip(&hidden).map(read).collect()
    }

    /// Section "Answer": the record of each bucket.
    pub(crate) fn read(&self, requested: &[u64], answer: &[u8]) -> Vec<Vec<u8>> {
        let (places, n, bits) = (&self.places, self.secret.len(), self.places.bits);
        let sent = [0, 1].map(|i| self.params["answer_bits"][i].as_u64().unwrap() as u32);
        let each = answer.chunks_exact(n * (sent[0] + sent[1]) as usize / 8);
        let mut opened: Vec<Vec<u64>> = each.map(|bytes| self.opened(bytes, sent)).collect();
        if places.slots {
            opened.iter_mut().for_each(|numbers| *numbers = decode(self.t, numbers));
            assert_eq!(opened.len(), places.width.div_ceil(places.merged));
        } else if self.limbs.len() == 2 && places.blocks > 1 {
            let join = |three: &[Vec<u64>]| {
                let mut bytes = Vec::new();
                append_words(&mut bytes, three.concat(), bits as u32);
                self.opened(&bytes, [bits as u32 + 3, 2 * bits as u32 - 3])
            };
            opened = opened.chunks(3).map(join).collect();
        }
        let digits = self.params["mask"].as_str().unwrap();
        let seed = std::array::from_fn(|i| u8::from_str_radix(&digits[2 * i..][..2], 16).unwrap());
        let record = |(bucket, place): (usize, &u64)| {
            let mut white = vec![0; 2 * places.words];
            stream(&seed, "bfv record", places.masked(bucket, *place)).fill_bytes(&mut white);
            let number = |k: usize| {
                let masked = match places.slots {
                    true => {
                        let (answer, slot) = places.answered(bucket, *place, k);
                        opened[answer][slot]
                    }
                    false => opened[bucket * places.width + k / n][k % n],
                };
                (masked ^ u64::from(u16::from_le_bytes([white[2 * k], white[2 * k + 1]]))) & ((1 << bits) - 1)
            };
            let mut bytes = Vec::new();
            append_words(&mut bytes, (0..places.words).map(number), bits as u32);
            bytes.truncate(places.record_bytes());
            bytes
        };
        requested.iter().enumerate().map(record).collect()
    }
}

/// A ring of the specification's table: name, n, t, bits of data, primes.
type Ring = (&'static str, usize, u64, usize, &'static [u64]);

/// The two primes of 50 bits that slots have, and a third one; those that coefficients have.
const SLOTS: [u64; 3] = [1125889168998401, 1125874136383489, 1125818300956673];
const WIDE: [u64; 2] = [1125899904679937, 1125899903991809];
const NARROW: [u64; 3] = [34359697409, 34359451649, 68719403009];

const RINGS: [Ring; 5] = [
    ("n4096-t65537-q50", 4096, 65537, 16, SLOTS.split_at(2).0),
    ("n8192-t65537-q100", 8192, 65537, 16, &SLOTS),
    ("n4096-t2^14-q50", 4096, 1 << 14, 14, &WIDE),
    ("n4096-t2^12-q50", 4096, 1 << 12, 12, &WIDE),
    ("n4096-t2^10-q70", 4096, 1 << 10, 10, &NARROW),
];

/// The ring of a name.
pub(crate) fn ring(name: &str) -> Ring {
    RINGS.into_iter().find(|ring| ring.0 == name).unwrap()
}

/// The numbers of a literal, and what the specification derives from them.
pub(crate) struct Places {
    scheme: String,
    pub(crate) n: usize,
    pub(crate) bits: usize,
    pub(crate) slots: bool,
    pub(crate) buckets: usize,
    pub(crate) each: u64,
    pub(crate) words: usize,
    split: usize,
    rows: u64,
    pub(crate) merged: usize,
    pub(crate) queries: usize,
    lanes: usize,
    positions: u64,
    pub(crate) blocks: u64,
    pub(crate) width: usize,
}

impl Places {
    pub(crate) fn new(scheme: &str, params: &Value) -> Self {
        let of = |field: &str| params[field].as_u64().unwrap();
        let [buckets, words, split] = ["buckets", "record_words", "split"].map(|field| of(field) as usize);
        let (_, n, t, bits, _) = ring(params["ring"].as_str().unwrap());
        let (slots, each, rows) = (t == 65537, of("records") / buckets as u64, of("rows"));
        let lanes = if slots { (buckets * split).next_power_of_two() } else { 1 };
        let (positions, blocks, width) = match slots {
            true => (n / lanes, 1, words.div_ceil(split)),
            false => (1, each.div_ceil(rows), words.div_ceil(n)),
        };
        Places {
            scheme: scheme.to_owned(),
            n,
            bits,
            slots,
            buckets,
            each,
            words,
            split,
            rows,
            merged: of("merged") as usize,
            queries: of("queries") as usize,
            lanes,
            positions: positions as u64,
            blocks,
            width,
        }
    }

    pub(crate) fn record_bytes(&self) -> usize {
        self.words * self.bits / 8
    }

    /// g, by which a rotation moves slots.
    pub(crate) fn gap(&self) -> usize {
        (self.lanes / 2).max(1)
    }

    fn turns(&self) -> u64 {
        (self.n / 2 / self.gap()) as u64
    }

    /// The row, the block and the position of a place.
    fn place(&self, i: u64) -> (u64, u64, u64) {
        match self.slots {
            true => (i / self.positions, 0, i % self.positions),
            false => (i % self.rows, i / self.rows, 0),
        }
    }

    fn slot(&self, lane: usize, position: u64) -> usize {
        let g = self.gap();
        lane / g * self.n / 2 + position as usize * g + lane % g
    }

    fn turned(&self, position: u64, by: u64) -> u64 {
        let turns = self.turns();
        position / turns * turns + (position + turns - by % turns) % turns
    }

    /// The answer, and the slot in it, of number k of the record at a place.
    pub(crate) fn answered(&self, bucket: usize, i: u64, k: usize) -> (usize, usize) {
        let (column, lane) = (k % self.width, bucket * self.split + k / self.width);
        let position = self.turned(self.place(i).2, (column % self.merged) as u64);
        (column / self.merged, self.slot(lane, position))
    }

    /// The index of a record's whitening stream.
    pub(crate) fn masked(&self, bucket: usize, i: u64) -> u64 {
        bucket as u64 * self.rows * self.blocks * self.positions + i
    }

    /// S and c of sealpir.
    fn selectors(&self) -> (usize, usize) {
        let blocks = if self.blocks > 1 { self.blocks } else { 0 };
        let all = self.buckets * (self.rows + blocks) as usize;
        (all, all.div_ceil(self.queries))
    }

    /// Rounds of expansion.
    pub(crate) fn rounds(&self) -> u32 {
        if self.slots { 0 } else { self.selectors().1.next_power_of_two().trailing_zeros() }
    }

    /// The numbers of the plaintexts of a query for these places.
    pub(crate) fn asked(&self, places: &[u64]) -> Vec<Vec<u64>> {
        if !self.slots {
            let one_hot = |count: u64, requested: u64| (0..count).map(move |x| u64::from(x == requested));
            let mut all: Vec<u64> = Vec::new();
            for (row, block, _) in places.iter().map(|i| self.place(*i)) {
                all.extend(one_hot(self.rows, row));
                all.extend(one_hot(if self.blocks > 1 { self.blocks } else { 0 }, block));
            }
            assert_eq!(all.len(), self.selectors().0);
            let padded = |some: &[u64]| [some, &vec![0; self.n - some.len()]].concat();
            return all.chunks(self.selectors().1).map(padded).collect();
        }
        (0..self.queries).map(|i| self.marked(places, i)).collect()
    }

    fn marked(&self, places: &[u64], i: usize) -> Vec<u64> {
        let mut out = vec![0; self.n];
        for (bucket, place) in places.iter().enumerate() {
            let (row, _, position) = self.place(*place);
            let (there, position) = match self.scheme.as_str() {
                "fastpir" => (row == i as u64, position),
                "pirana" => (word(row).contains(&i), position),
                "vbpir" if i + 1 == self.queries => (true, position),
                "vbpir" => {
                    let h = self.rows.div_ceil(self.queries as u64 - 1);
                    (row / h == i as u64, self.turned(position, self.turns() - row % h % self.turns()))
                }
                other => unreachable!("{other}"),
            };
            for part in 0..self.split {
                out[self.slot(bucket * self.split + part, position)] = u64::from(there);
            }
        }
        out
    }
}

/// Where the ones of a row's word are: {0, 1}, {0, 2}, {1, 2}, {0, 3}, ...
fn word(row: u64) -> [usize; 2] {
    let (mut upper, mut before) = (1, 0);
    while before + upper <= row {
        before += upper;
        upper += 1;
    }
    [(row - before) as usize, upper as usize]
}
