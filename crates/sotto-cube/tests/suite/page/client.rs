//! A client of the family, written from the specification.

use crate::page::ring::{Poly, Ring, append, bytes};
use rand_core::Rng as _;
use serde_json::Value;
use sotto_testkit::naive_ring::{NaiveLimb, read_words, stream};

/// A literal, read from its JSON.
pub(crate) struct Numbers(pub(crate) Value);

impl Numbers {
    pub(crate) fn text(&self, field: &str) -> &str {
        self.0[field].as_str().unwrap()
    }

    pub(crate) fn of(&self, field: &str) -> u64 {
        self.0[field].as_u64().unwrap()
    }

    fn list(&self, field: &str) -> Vec<u32> {
        self.0[field].as_array().unwrap().iter().map(|x| x.as_u64().unwrap() as u32).collect()
    }

    /// A B^j, for each digit.
    fn powers(&self, field: &str) -> Vec<u128> {
        let gadget = self.list(field);
        (0..gadget[0]).map(|j| 1 << (gadget[2] + gadget[1] * j)).collect()
    }

    fn expanded(&self) -> bool {
        self.text("upload") == "expanded"
    }
}

fn depth(values: u64) -> u32 {
    values.next_power_of_two().ilog2()
}

/// The rings of the specification's table: N, the primes of q, q'.
pub(crate) fn moduli(name: &str) -> (usize, Vec<u64>, Option<u64>) {
    match name {
        "n4096-q50-q50" => (4096, vec![1125899904679937], Some(1125899903991809)),
        "n2048-q50" => (2048, vec![1125899904679937], None),
        "n4096-q56-q24" => (4096, vec![268369921, 249561089], Some(16760833)),
        "n2048-q56" => (2048, vec![268369921, 249561089], None),
        other => panic!("{other} is not on the page"),
    }
}

pub(crate) struct Client {
    pub(crate) numbers: Numbers,
    full: Ring,
    main: Ring,
    secret: Vec<i64>,
    packed: Vec<Vec<i64>>,
    rng: rand_chacha::ChaCha20Rng,
}

impl Client {
    pub(crate) fn new(params: &Value, label: &str) -> Self {
        let numbers = Numbers(params.clone());
        let (n, q, special) = moduli(numbers.text("ring"));
        let ring = |special: Option<u64>| {
            let limbs =
                std::iter::once(NaiveLimb::new(n, &q)).chain(special.map(|q| NaiveLimb::new(n, &[q])));
            Ring { n, limbs: limbs.collect() }
        };
        let mut rng = sotto_testkit::rng::seeded(label);
        // The distribution of the secret does not show: any small one is a client's.
        let mut small = || (0..n).map(|_| i64::from(rng.next_u32() % 3) - 1).collect::<Vec<_>>();
        let secret = small();
        let places = if numbers.text("form") == "plain" { 0 } else { numbers.of("n") };
        let packed = (0..places).map(|_| small()).collect();
        Client { full: ring(special), main: ring(None), secret, packed, rng, numbers }
    }

    fn error(&mut self, n: usize) -> Vec<i64> {
        (0..n).map(|_| i64::from(self.rng.next_u32() % 7) - 3).collect()
    }

    /// Appends the top bits of b = a s + e + m.
    fn body(&mut self, full: bool, bits: u32, a: &Poly, secret: &[i64], message: &Poly, out: &mut Vec<bool>) {
        let n = self.main.n;
        let error = self.error(n);
        let ring = if full { &self.full } else { &self.main };
        let masked = ring.product(a, &ring.small(secret));
        let body = ring.add(&ring.add(&masked, &ring.small(&error)), message);
        let cut = ring.bits() - bits;
        let top: Vec<u128> = ring.lift(&body).iter().map(|x| x >> cut).collect();
        append(out, &top, bits);
    }

    /// The keys, in the order of the specification.
    pub(crate) fn keys(&mut self) -> Vec<u8> {
        let seed = [0x11; 32];
        let mut keys: Vec<(bool, &str, Vec<Vec<i64>>, Vec<Poly>)> = Vec::new();
        let (rows, nu2) = (self.numbers.of("rows"), self.numbers.of("nu2"));
        let bit_rows = nu2 * u64::from(self.numbers.list("fold")[0]);
        let own = vec![self.secret.clone()];
        let mut round = |round: u32, gadget| {
            let n = self.full.n;
            let k = (n >> round) + 1;
            let mut image = vec![0; n];
            for (i, x) in self.secret.iter().enumerate() {
                let at = i * k % (2 * n);
                image[at % n] = if at < n { -*x } else { *x };
            }
            keys.push((true, gadget, own.clone(), vec![self.full.small(&image)]));
        };
        if self.numbers.expanded() {
            let first = u32::from(nu2 > 0);
            let (left, right) = (first + depth(rows), if nu2 > 0 { 1 + depth(bit_rows) } else { 0 });
            if nu2 > 0 && self.numbers.list("expand") == self.numbers.list("expand_right") {
                (0..left.max(right)).for_each(|j| round(j, "expand"));
            } else {
                (first..left).for_each(|j| round(j, "expand"));
                (0..right).for_each(|j| round(j, "expand_right"));
            }
        }
        let matrix = self.numbers.text("form") == "matrix";
        if self.numbers.list("convert")[0] > 0 {
            let targets = if matrix { self.packed.clone() } else { own.clone() };
            let s = self.full.small(&self.secret);
            let sources = targets.iter().map(|t| self.full.product(&s, &self.full.small(t))).collect();
            keys.push((true, "convert", targets, sources));
        }
        for place in 0..self.packed.len() {
            let minus = self.main.negative(&self.main.small(&self.secret));
            let zero = self.main.small(&vec![0; self.main.n]);
            let source = |i| if i == place { minus.clone() } else { zero.clone() };
            keys.push((false, "pack", self.packed.clone(), (0..self.packed.len()).map(source).collect()));
        }

        let mut out = Vec::new();
        let mut index = 0;
        for (full, gadget, targets, sources) in keys {
            let packing = gadget == "pack" || matrix && gadget == "convert";
            let bits = self.numbers.of(if packing { "pack_key_bits" } else { "key_bits" }) as u32;
            for power in self.numbers.powers(gadget) {
                let ring = if full { &self.full } else { &self.main };
                let a = ring.mask(&seed, "cube key", index);
                index += 1;
                let messages: Vec<Poly> = sources.iter().map(|source| ring.scale(source, power)).collect();
                for (target, message) in targets.iter().zip(&messages) {
                    self.body(full, bits, &a, target, message, &mut out);
                }
            }
        }
        [seed.to_vec(), bytes(&out)].concat()
    }

    /// The messages that the ciphertexts of a query encrypt.
    fn messages(&self, index: u64) -> Vec<Poly> {
        let (rows, nu2) = (self.numbers.of("rows"), self.numbers.of("nu2"));
        let (row, column) = (index >> nu2, index & ((1 << nu2) - 1));
        let ring = if self.numbers.expanded() { &self.full } else { &self.main };
        let p = self.numbers.of("p_log2");
        let step = (ring.modulus() + (1 << (p - 1))) >> p;
        let powers = self.numbers.powers("fold");
        if !self.numbers.expanded() {
            let constant = |value: u128| {
                let mut x = vec![0; ring.n];
                x[0] = value;
                ring.numbers(&x)
            };
            let mut out: Vec<Poly> = (0..rows).map(|r| constant(if r == row { step } else { 0 })).collect();
            for d in 0..nu2 {
                let bit = u128::from(column >> d & 1);
                let minus = ring.negative(&ring.small(&self.secret));
                if self.numbers.text("form") != "matrix" {
                    out.extend(powers.iter().map(|power| ring.scale(&minus, power * bit)));
                }
                out.extend(powers.iter().map(|power| constant(power * bit)));
            }
            return out;
        }
        let halved = |value: u128, times: u32| {
            let half = |x: u128, _| if x.is_multiple_of(2) { x / 2 } else { x.midpoint(ring.modulus()) };
            (0..times).fold(value, half)
        };
        let special = ring.modulus() / self.main.modulus();
        let mut f = vec![0; ring.n];
        if nu2 == 0 {
            f[row as usize] = halved(step, depth(rows));
            return vec![ring.numbers(&f)];
        }
        f[2 * row as usize] = halved(step, 1 + depth(rows));
        let rounds = 1 + depth(nu2 * powers.len() as u64);
        for d in (0..nu2 as usize).filter(|d| column >> d & 1 == 1) {
            for (j, power) in powers.iter().enumerate() {
                f[2 * (d * powers.len() + j) + 1] = halved(power * special, rounds);
            }
        }
        vec![ring.numbers(&f)]
    }

    pub(crate) fn query(&mut self, index: u64) -> Vec<u8> {
        let seed = [0x22; 32];
        let (full, bits) = (self.numbers.expanded(), self.numbers.of("query_bits") as u32);
        let mut out = Vec::new();
        for (i, message) in (0..).zip(self.messages(index)) {
            let ring = if full { &self.full } else { &self.main };
            let a = ring.mask(&seed, "cube query", i);
            let secret = self.secret.clone();
            self.body(full, bits, &a, &secret, &message, &mut out);
        }
        [seed.to_vec(), bytes(&out)].concat()
    }

    /// The record in an answer.
    pub(crate) fn read(&self, index: u64, answer: &[u8]) -> Vec<u8> {
        let n = self.main.n;
        let side = self.numbers.of("n") as usize;
        let [t_a, t_b] = *self.numbers.list("answer_bits") else { panic!("two numbers of bits") };
        let p = self.numbers.of("p_log2") as u32;
        let secrets = if self.packed.is_empty() { vec![self.secret.clone()] } else { self.packed.clone() };
        let mut rest = answer;
        let mut next = |bits: u32| {
            let (now, after) = rest.split_at(n * bits as usize / 8);
            rest = after;
            read_words(now, bits, n)
        };
        let record_bytes = self.numbers.of("record_bytes") as usize;
        let (mut record, mut unit) = (Vec::new(), 0);
        while record.len() < record_bytes {
            let mut parts = vec![Vec::new(); side * side];
            for j in 0..side {
                let a = next(t_a);
                for (i, secret) in secrets.iter().enumerate() {
                    let product = integer_product(&self.main.limbs[0], &a, secret);
                    let round = |(b, product): (u64, i64)| {
                        let phase = ((b << (t_a - t_b)) as i64 - product).rem_euclid(1 << t_a) as u128;
                        ((phase + (1 << (t_a - p - 1))) >> (t_a - p)) & ((1 << p) - 1)
                    };
                    let data: Vec<u128> = next(t_b).into_iter().zip(product).map(round).collect();
                    let mut bits = Vec::new();
                    append(&mut bits, &data, p);
                    let part = (unit * side * side + i * side + j) as u64;
                    parts[i * side + j] = whitened(&self.numbers, index, part, &bytes(&bits));
                }
            }
            record.extend(parts.concat());
            unit += 1;
        }
        assert!(rest.is_empty());
        record.truncate(record_bytes);
        record
    }
}

/// `a s` over the integers; its coefficients are far below half of q.
fn integer_product(limb: &NaiveLimb, a: &[u64], secret: &[i64]) -> Vec<i64> {
    let centered = |x: u64| if x > limb.q / 2 { x as i64 - limb.q as i64 } else { x as i64 };
    limb.product(a, &limb.reduced(secret)).into_iter().map(centered).collect()
}

/// Section "Whitening".
pub(crate) fn whitened(numbers: &Numbers, record: u64, part: u64, data: &[u8]) -> Vec<u8> {
    let digits = numbers.text("mask");
    let seed = std::array::from_fn(|i| u8::from_str_radix(&digits[2 * i..][..2], 16).unwrap());
    let mut mask = vec![0; data.len()];
    stream(&seed, "cube part", record << 32 | part).fill_bytes(&mut mask);
    data.iter().zip(mask).map(|(data, mask)| data ^ mask).collect()
}
