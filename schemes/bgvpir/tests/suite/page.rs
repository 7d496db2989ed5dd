//! `spec/bgvpir.md`, tried out: a client written from the page alone, with the real server.
//!
//! Nothing here shares arithmetic, encodings or messages with the crates it tests: what the two sides understand of
//! each other is what the page says. The parameters are those of the known answers.

use rand_core::Rng as _;
use serde_json::Value;
use sotto_testkit::memory::{MemoryRows, MemorySink};
use sotto_testkit::naive_ring::{
    NaiveLimb, append_words, decode, encode, read_words, secret_product, stream,
};
use std::sync::{Arc, LazyLock};

fn each_vector(ring: &str) {
    let file: Value = serde_json::from_str(include_str!("../../vectors/bgvpir-1.json")).unwrap();
    let vectors = file["vectors"].as_array().unwrap().iter();
    // What the image holds of rows changes no byte of a client.
    let vectors = vectors.filter(|vector| vector["params"]["form"].is_null());
    for vector in vectors.filter(|vector| vector["params"]["ring"] == ring) {
        let (params, index) = (&vector["params"], vector["index"].as_u64().unwrap());
        let mut client = Client::new(params, vector["rng_label"].as_str().unwrap());
        let bytes = client.record_bytes();
        let len = params["records"].as_u64().unwrap() as usize * bytes;
        let records: Vec<u8> = (0..len as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();

        let (literal, sink) = (params.to_string().into_bytes(), MemorySink::new());
        let rows = MemoryRows::new(bytes, records.clone());
        (sotto_bgvpir::ENTRY.server.encode)(&literal, &rows, &sink).unwrap();
        let server = (sotto_bgvpir::ENTRY.server.open)(&literal, Arc::new(sink.into_image())).unwrap();
        let session = server.admit(&client.keys()).unwrap();
        let query = client.query(index);
        let answer = server.answer_many(&[(&session, query.as_slice())]).remove(0).unwrap();
        let record = &records[index as usize * bytes..][..bytes];
        assert!(client.read(index, &answer) == record, "{params}");
    }
}

#[test]
fn pow2() {
    each_vector("pow2");
}

#[test]
fn m8191() {
    each_vector("m8191");
}

/// The primes of the page's table.
const POW2: [u64; 4] = [1125889168998401, 1125874136383489, 1125818300956673, 1125809710891009];
const M8191: [u64; 4] = [1115595642470401, 1110100097433601, 1107901879418881, 1104604552396801];

pub(crate) struct Client {
    params: Value,
    is_pow2: bool,
    /// q_0, q_1, ... of keys, the last being P.
    limbs: Vec<NaiveLimb>,
    secret: Vec<i64>,
    /// Values of the secret modulo each prime.
    s: Vec<Vec<u64>>,
    rng: rand_chacha::ChaCha20Rng,
}

impl Client {
    pub(crate) fn new(params: &Value, label: &str) -> Self {
        let is_pow2 = params["ring"] == "pow2";
        let primes = if is_pow2 { POW2 } else { M8191 };
        let used = params["primes"].as_u64().unwrap() as usize + 1;
        let limb = |q: &u64| if is_pow2 { NaiveLimb::new(8192, &[*q]) } else { NaiveLimb::of_8191(*q) };
        let limbs: Vec<NaiveLimb> = primes[..used].iter().map(limb).collect();
        let mut rng = sotto_testkit::rng::seeded(label);
        let secret: Vec<i64> = (0..limbs[0].degree).map(|_| i64::from(rng.next_u32() % 3) - 1).collect();
        let s = limbs.iter().map(|limb| limb.values(&secret)).collect();
        Client { params: params.clone(), is_pow2, limbs, secret, s, rng }
    }

    fn of(&self, field: &str) -> usize {
        self.params[field].as_u64().unwrap() as usize
    }

    fn lengths(&self) -> Vec<usize> {
        let list = |field: &str| self.params[field].as_array().unwrap().clone();
        let both = [list("left"), list("right")].concat();
        both.iter().map(|length| length.as_u64().unwrap() as usize).collect()
    }

    /// Slots of a cycle, cycles, bits of data in a slot.
    fn slots(&self) -> (usize, usize, usize) {
        if self.is_pow2 { (4096, 2, 16) } else { (630, 1, 13) }
    }

    /// The slots of a block in a layer: beta, beta + p, ... of each cycle.
    fn places(&self, index: u64) -> Vec<usize> {
        let (cycle, cycles, _) = self.slots();
        let (period, beta) = (self.of("period"), index as usize % self.of("period"));
        (0..cycles).flat_map(|c| (0..cycle / period).map(move |i| c * cycle + beta + i * period)).collect()
    }

    pub(crate) fn record_bytes(&self) -> usize {
        self.of("layers") * self.places(0).len() * self.slots().2 / 8
    }

    /// A few coefficients that are small and not zero: what the law of errors is does not show.
    fn error(&mut self) -> Vec<i64> {
        let mut error = vec![0; self.secret.len()];
        for _ in 0..4 {
            let at = self.rng.next_u32() as usize % error.len();
            error[at] = i64::from(self.rng.next_u32() % 9) - 4;
        }
        error
    }

    /// "Keys".
    pub(crate) fn keys(&mut self) -> Vec<u8> {
        let seed = [0x33; 32];
        let (n, order, turn) =
            if self.is_pow2 { (8192, 16384, 5) } else { (8190, 8191, (0..13).fold(1, |x, _| x * 17 % 8191)) };
        // The secret that X -> X^turn makes s of: the coefficient at j turn of s is its coefficient at j.
        let signed = |at: usize| match at {
            at if at < n => self.secret[at],
            at if self.is_pow2 => -self.secret[at - n],
            _ => 0,
        };
        let before = |turn: usize| -> Vec<i64> {
            let before: Vec<i64> = (0..order).map(|j| signed(j * turn % order)).collect();
            match self.is_pow2 {
                true => before[..n].to_vec(),
                // X^8190 is minus all powers below it.
                false => before[..n].iter().map(|x| x - before[n]).collect(),
            }
        };
        let stride = self.params["stride"].as_u64().unwrap_or(1);
        let values = |secret: &[i64]| self.limbs.iter().map(|limb| limb.values(secret)).collect::<Vec<_>>();
        let (s, by_one) = (self.s.clone(), values(&before(turn)));
        let by_stride = (stride > 1).then(|| values(&before((0..stride).fold(1, |x, _| x * turn % order))));
        let square: Vec<Vec<u64>> =
            self.limbs.iter().zip(&s).map(|(limb, s)| s.iter().map(|x| limb.mul(*x, *x)).collect()).collect();
        let mut out = seed.to_vec();
        let special = self.limbs.last().unwrap().q;
        let queried = self.of("primes");
        let keys = [(&s, &by_one), (&square, &s)].into_iter().chain(by_stride.iter().map(|by| (&s, by)));
        for (index, (source, target)) in keys.flat_map(|key| std::iter::repeat_n(key, queried)).enumerate() {
            let error = self.error();
            let mut masks = stream(&seed, "bgvpir key", index as u64);
            for (k, limb) in self.limbs.iter().enumerate() {
                let gain = if k == index % queried { special % limb.q } else { 0 };
                let (mask, error) = (limb.mask(&mut masks), limb.values(&error));
                append_words(&mut out, limb.body(gain, &source[k], &error, [&mask, &target[k]]), 50);
            }
        }
        out
    }

    /// "Query".
    pub(crate) fn query(&mut self, index: u64) -> Vec<u8> {
        let (period, lengths) = (self.of("period"), self.lengths());
        let (mut alpha, beta) = (index as usize / period, index as usize % period);
        let mut s: Vec<u64> = Vec::new();
        for length in lengths.iter().rev() {
            let leaf = (0..*length).map(|at| u64::from(at == alpha % length));
            s = leaf.chain(s).collect();
            alpha /= length;
        }
        assert_eq!(alpha, 0);
        s.resize(period, 0);
        let (cycle, cycles, _) = self.slots();
        let slots: Vec<u64> = (0..cycle * cycles).map(|i| s[(i % cycle + period - beta) % period]).collect();
        let m: Vec<i64> = coefficients(self.is_pow2, &slots).iter().map(|c| *c as i64).collect();

        let (seed, error) = ([0x44; 32], self.error());
        let mut masks = stream(&seed, "bgvpir query", 0);
        let mut out = seed.to_vec();
        for (limb, s) in self.limbs.iter().zip(&self.s).take(self.of("primes")) {
            let divided = limb.inverse(if self.is_pow2 { 65537 } else { 2 });
            let (mask, m) = (limb.mask(&mut masks), limb.values(&m));
            let error = limb.values(&error);
            append_words(&mut out, limb.body(divided, &m, &error, [&mask, s]), 50);
        }
        out
    }

    /// "Answer".
    pub(crate) fn read(&self, index: u64, answer: &[u8]) -> Vec<u8> {
        let (degree, t) = (self.secret.len(), if self.is_pow2 { 65537 } else { 2 });
        let answer_bits = self.params["answer_bits"].as_array().unwrap();
        let [t_b, t_a] = [0, 1].map(|i| answer_bits[i].as_u64().unwrap() as u32);
        let (cycle, cycles, slot_bits) = self.slots();
        let (mut rest, mut bits) = (answer, Vec::new());
        for layer in 0..self.of("layers") as u64 {
            let mut next = |width: u32| {
                let (now, after) = rest.split_at((degree * width as usize).div_ceil(8));
                rest = after;
                read_words(now, width, degree)
            };
            let (body, mask) = (next(t_b), next(t_a));
            let hidden = secret_product(&mask, &self.secret);
            let read = |(body, hidden): (&u64, &u64)| {
                let phase = (body << (t_a - t_b)).wrapping_add(*hidden) & ((1 << t_a) - 1);
                let rounded = (u128::from(phase) * t + (1 << (t_a - 1))) >> t_a;
                ((t - rounded % t) % t) as u64
            };
            let m: Vec<u64> = body.iter().zip(&hidden).map(read).collect();
            let alpha = index / self.of("period") as u64;
            let digits = self.params["mask"].as_str().unwrap();
            let seed = std::array::from_fn(|i| u8::from_str_radix(&digits[2 * i..][..2], 16).unwrap());
            let mut white = vec![0; 2 * cycle * cycles];
            stream(&seed, "bgvpir row", alpha << 16 | layer).fill_bytes(&mut white);
            let places = self.places(index);
            for (slot, data) in places.iter().zip(read_slots(self.is_pow2, &m, &places)) {
                let white = u64::from(u16::from_le_bytes([white[2 * slot], white[2 * slot + 1]]));
                bits.extend((0..slot_bits).map(|k| (data ^ white) >> k & 1 == 1));
            }
        }
        assert!(rest.is_empty());
        let byte = |bits: &[bool]| bits.iter().rev().fold(0, |sum, bit| sum * 2 + u8::from(*bit));
        bits.chunks_exact(8).map(byte).take(self.record_bytes()).collect()
    }
}

const T: u64 = 65537;

/// The coefficients modulo t of the polynomial with these slots, cycle after cycle; most of them zero.
pub(crate) fn coefficients(is_pow2: bool, slots: &[u64]) -> Vec<u64> {
    if is_pow2 {
        return encode(T, slots);
    }
    // c_j = Tr(a z^(-j e)), j to 8190; the last by X^8190 = 1 + X + ... + X^8189.
    let traces: Vec<u64> = (0..1 << 13).map(trace).collect();
    let mut out = vec![0; 8191];
    for (slot, x) in slots.iter().enumerate().filter(|(_, x)| **x != 0) {
        let e = exponent(slot);
        for (j, c) in out.iter_mut().enumerate() {
            *c ^= traces[times(*x, at(8191 - j * e % 8191)) as usize];
        }
    }
    let last = out.pop().unwrap();
    out.iter().map(|c| c ^ last).collect()
}

/// The values of some of a polynomial's slots.
pub(crate) fn read_slots(is_pow2: bool, coefficients: &[u64], slots: &[usize]) -> Vec<u64> {
    if is_pow2 {
        let all = decode(T, coefficients);
        return slots.iter().map(|slot| all[*slot]).collect();
    }
    let filled = || coefficients.iter().enumerate().filter(|(_, c)| **c != 0);
    let value = |slot: &usize| {
        let e = exponent(*slot);
        filled().fold(0, |sum, (j, _)| sum ^ at(j * e % 8191))
    };
    slots.iter().map(value).collect()
}

/// 17^(13 i) modulo 8191.
fn exponent(slot: usize) -> usize {
    (0..13 * slot).fold(1, |e, _| e * 17 % 8191)
}

/// The product in GF(2)[z] modulo z^13 + z^4 + z^3 + z + 1.
fn times(a: u64, b: u64) -> u64 {
    let mut long = (0..13).filter(|k| b >> k & 1 == 1).fold(0, |sum, k| sum ^ a << k);
    (13..26).rev().for_each(|k| {
        if long >> k & 1 == 1 {
            long ^= 0b10_0000_0001_1011 << (k - 13);
        }
    });
    long
}

/// z to a power.
fn at(exponent: usize) -> u64 {
    static POWERS: LazyLock<Vec<u64>> =
        LazyLock::new(|| std::iter::successors(Some(1), |x| Some(times(*x, 2))).take(8191).collect());
    POWERS[exponent % 8191]
}

/// a + a^2 + a^4 + ... + a^(2^12), which is 0 or 1.
fn trace(a: u64) -> u64 {
    std::iter::successors(Some(a), |x| Some(times(*x, *x))).take(13).fold(0, |sum, x| sum ^ x)
}
