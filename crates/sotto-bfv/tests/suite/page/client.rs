//! A client, written from the specification.

use crate::page::places::{Places, ring};
use rand_core::Rng as _;
use serde_json::Value;
use sotto_testkit::naive_ring::{
    NaiveLimb, append_words, decode, encode, read_words, secret_product, stream,
};

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
            let k = (0..self.places.gap()).fold(1, |k, _| k * 5 % (2 * n));
            keys.push((s.clone(), self.before(k)));
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
    pub(crate) fn read(&self, wanted: &[u64], answer: &[u8]) -> Vec<Vec<u8>> {
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
        wanted.iter().enumerate().map(record).collect()
    }
}
