//! Tests of `spec/cube.md`: a client and a reader of images written from the specification alone,
//! with the real server.
//!
//! Nothing here shares arithmetic, layouts or messages with the tested crates: the two sides have
//! only the specification in common. The parameters are those of the known answers of all three
//! schemes.

use rand_core::Rng as _;
use serde_json::Value;
use sotto_core::{Image, SchemeEntry, Section};
use sotto_testkit::memory::{MemoryRows, MemorySink};
use sotto_testkit::naive_ring::{NaiveLimb, read_words, stream};
use std::sync::Arc;

fn each_vector(entry: &SchemeEntry, file: &str) {
    let file: Value = serde_json::from_str(file).unwrap();
    for vector in file["vectors"].as_array().unwrap() {
        let (params, index) = (&vector["params"], vector["index"].as_u64().unwrap());
        let label = vector["rng_label"].as_str().unwrap();
        let numbers = Numbers(params.clone());
        let record_bytes = numbers.of("record_bytes") as usize;
        let len = numbers.of("records") * numbers.of("record_bytes");
        let records: Vec<u8> = (0..len as u32).map(|i| (i.wrapping_mul(2654435761) >> 24) as u8).collect();
        let record = &records[index as usize * record_bytes..][..record_bytes];

        let literal = params.to_string().into_bytes();
        let sink = MemorySink::new();
        (entry.server.encode)(&literal, &MemoryRows::new(record_bytes, records.clone()), &sink).unwrap();
        let table = sink.into_image();
        assert!(
            record_of_image(&numbers, table.section(Section::Resident).unwrap(), index) == record,
            "{label}"
        );

        let server = (entry.server.open)(&literal, Arc::new(table)).unwrap();
        let mut client = Client::new(params, label);
        let session = server.admit(&client.keys()).unwrap();
        let query = client.query(index);
        let answer = server.answer_many(&[(&session, query.as_slice())]).remove(0).unwrap();
        assert!(client.read(index, &answer) == record, "{label}");
    }
}

#[test]
fn fspiral() {
    each_vector(&fspiral::ENTRY, include_str!("../../../../schemes/fspiral/vectors/fspiral-1.json"));
}

#[test]
fn onionpir() {
    each_vector(&onionpir::ENTRY, include_str!("../../../../schemes/onionpir/vectors/onionpir-1.json"));
}

#[test]
fn spiral() {
    each_vector(&spiral::ENTRY, include_str!("../../../../schemes/spiral/vectors/spiral-1.json"));
}

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

/// Reads a record out of an image, without any key.
pub(crate) fn record_of_image(numbers: &Numbers, image: &[u8], index: u64) -> Vec<u8> {
    let (n, primes, _) = moduli(numbers.text("ring"));
    let limb = NaiveLimb::new(n, &primes);
    let (side, nu2, p) = (numbers.of("n") as usize, numbers.of("nu2"), numbers.of("p_log2") as u32);
    let (row, column) = ((index >> nu2) as usize, (index & ((1 << nu2) - 1)) as usize);
    let matrix = numbers.text("form") == "matrix";
    let rows = numbers.of("rows") as usize * if matrix { side } else { 1 };
    let cols = (if matrix { side } else { side * side }) << nu2;
    let record_bytes = numbers.of("record_bytes") as usize;

    // The words of polynomial (r, c) of a unit's region, slot by slot.
    let polynomial = |unit: usize, (r, c): (usize, usize)| -> Vec<u64> {
        let (tile, group) = (r - r % 32, c - c % 4);
        let (tile_rows, group_cols) = (32.min(rows - tile), 4.min(cols - group));
        let b = if primes.len() == 1 { 5 } else { 8 };
        let h = |rows: usize| rows - rows / b;
        let lines = cols * (rows / 32 * h(32) + h(rows % 32));
        let word = |row: usize, slot: usize| {
            let line = tile / 32 * h(32) * cols + group * h(tile_rows) + h(row) * group_cols + (c - group);
            let at = unit * lines * n * 8 + (slot / 8 * lines + line) * 64 + slot % 8 * 8;
            u64::from_le_bytes(image[at..][..8].try_into().unwrap())
        };
        let row = r - tile;
        let first = row - row % b;
        let shared = row % b == b - 1;
        let own = |word: u64| if b == 5 { word & 0x3_FFFF_FFFF_FFFF } else { word & 0xFFF_FFFF_0FFF_FFFF };
        let last = |slot: usize| {
            let free = (0..b - 1).map(|i| (i as u32, word(first + i, slot)));
            free.fold(0, |last, (i, word)| match (b, i) {
                (5, 3) => last | word >> 50,
                (5, _) => last | word >> 52 << (38 - 12 * i),
                _ => last | (word >> 28 & 0xF) << (24 - 4 * i) | (word >> 60) << (56 - 4 * i),
            })
        };
        (0..n).map(|slot| if shared { last(slot) } else { own(word(row, slot)) }).collect()
    };
    let residue = |word: u64| match primes.len() {
        1 => word,
        _ => limb.joined(&primes, &[word & 0xFFFF_FFFF, word >> 32]),
    };
    let mut out = Vec::new();
    for part in 0.. {
        if out.len() >= record_bytes {
            break;
        }
        let (unit, k) = (part / (side * side), part % (side * side));
        let cell = match matrix {
            true => (row * side + k / side, ((k % side) << nu2) + column),
            false => (row, (k << nu2) + column),
        };
        let slots: Vec<u64> = polynomial(unit, cell).into_iter().map(residue).collect();
        let data = |x: u64| u128::from(if x > limb.q / 2 { (1 << p) - (limb.q - x) } else { x });
        let data: Vec<u128> = limb.interpolate(&slots).into_iter().map(data).collect();
        let mut bits = Vec::new();
        append(&mut bits, &data, p);
        out.extend(whitened(numbers, index, part as u64, &bytes(&bits)));
    }
    out.truncate(record_bytes);
    out
}

/// A polynomial modulo q, or modulo q and q': the coefficients of each.
pub(crate) type Poly = Vec<Vec<u64>>;

/// Polynomials modulo q, or modulo Q = q q'.
pub(crate) struct Ring {
    pub(crate) n: usize,
    pub(crate) limbs: Vec<NaiveLimb>,
}

impl Ring {
    pub(crate) fn modulus(&self) -> u128 {
        self.limbs.iter().map(|limb| u128::from(limb.q)).product()
    }

    pub(crate) fn bits(&self) -> u32 {
        128 - (self.modulus() - 1).leading_zeros()
    }

    pub(crate) fn small(&self, coefficients: &[i64]) -> Poly {
        self.limbs.iter().map(|limb| limb.reduced(coefficients)).collect()
    }

    pub(crate) fn numbers(&self, coefficients: &[u128]) -> Poly {
        let reduce =
            |limb: &NaiveLimb| coefficients.iter().map(|x| (x % u128::from(limb.q)) as u64).collect();
        self.limbs.iter().map(reduce).collect()
    }

    pub(crate) fn add(&self, a: &Poly, b: &Poly) -> Poly {
        let add = |(limb, (a, b)): (&NaiveLimb, (&Vec<u64>, &Vec<u64>))| {
            a.iter().zip(b).map(|(a, b)| (a + b) % limb.q).collect()
        };
        self.limbs.iter().zip(a.iter().zip(b)).map(add).collect()
    }

    pub(crate) fn scale(&self, a: &Poly, factor: u128) -> Poly {
        let scale = |(limb, a): (&NaiveLimb, &Vec<u64>)| {
            let factor = (factor % u128::from(limb.q)) as u64;
            a.iter().map(|a| limb.mul(*a, factor)).collect()
        };
        self.limbs.iter().zip(a).map(scale).collect()
    }

    pub(crate) fn negative(&self, a: &Poly) -> Poly {
        self.scale(a, self.modulus() - 1)
    }

    pub(crate) fn product(&self, a: &Poly, b: &Poly) -> Poly {
        self.limbs.iter().zip(a.iter().zip(b)).map(|(limb, (a, b))| limb.product(a, b)).collect()
    }

    /// The coefficients as numbers below the modulus.
    pub(crate) fn lift(&self, a: &Poly) -> Vec<u128> {
        let Some(second) = self.limbs.get(1) else { return a[0].iter().map(|x| u128::from(*x)).collect() };
        let q = self.limbs[0].q;
        let inverse = second.inverse(q % second.q);
        let lift = |(x, y): (&u64, &u64)| {
            let difference = (y + second.q - x % second.q) % second.q;
            u128::from(*x) + u128::from(q) * u128::from(second.mul(difference, inverse))
        };
        a[0].iter().zip(&a[1]).map(lift).collect()
    }

    /// Section "Masks": words of a stream, cut to the bits of the modulus, skipping those not below
    /// it; slots.
    pub(crate) fn mask(&self, seed: &[u8; 32], label: &str, index: u64) -> Poly {
        let mut stream = stream(seed, label, index);
        self.limbs.iter().map(|limb| limb.interpolate(&limb.mask(&mut stream))).collect()
    }
}

/// Words of some bits, the lowest bit first; whole bytes.
pub(crate) fn append(out: &mut Vec<bool>, words: &[u128], bits: u32) {
    out.extend(words.iter().flat_map(|word| (0..bits).map(move |bit| word >> bit & 1 == 1)));
    out.resize(out.len().next_multiple_of(8), false);
}

pub(crate) fn bytes(bits: &[bool]) -> Vec<u8> {
    bits.chunks(8).map(|byte| byte.iter().rev().fold(0, |sum, bit| sum * 2 + u8::from(*bit))).collect()
}
