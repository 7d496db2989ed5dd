//! Measures packing 2,048 samples in the ring of silent schemes: with CDKS merge by merge, with
//! CDKS with masks that are known beforehand, and with InspiRING as these schemes do it. It runs on
//! one thread.
//! `cargo run --release -p sotto-silent --example packing`
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program to measure with")]

use sotto_core::{Image, Section, Sink};
use sotto_lattice::cdks::{self, Cdks};
use sotto_lattice::ciphertext::Ciphertext;
use sotto_lattice::encrypt::{ErrorSource, MaskSource, mask, phase};
use sotto_lattice::noise::steps::{self, GadgetNoise};
use sotto_lattice::ring::{ModulusLevel, Ring};
use sotto_lattice::scratch::Scratch;
use sotto_lattice::secret::SecretKey;
use sotto_math::gadget::Gadget;
use sotto_math::sample::Gaussian;
use sotto_prg::PublicSeed;
use sotto_silent::groups::{Groups, MaskLayout};
use sotto_silent::lattice::{self, N, NORM, PackingDigits, Q_BITS, SIGMA};
use sotto_silent::one_hot::OneHot;
use sotto_silent::packed_groups::PackedGroups;
use sotto_silent::plain_modulus::PlainModulus;
use sotto_silent::unit_vector::{MessageBits, VectorEncryptor};
use sotto_testkit::memory::MemorySink;
use sotto_testkit::rng::seeded;
use std::time::{Duration, Instant};

const LEVEL: ModulusLevel = ModulusLevel::Main;
const SEED: PublicSeed = PublicSeed([1; 32]);
const RUNS: usize = 9;
const KEY_MASKS: MaskSource<'static> = MaskSource { seed: &SEED, label: "keys", first: 0 };

/// Message bits without truncation, so that all noise comes from packing.
const BITS: MessageBits = MessageBits { query: Q_BITS, keys: Q_BITS, mask: Q_BITS, body: Q_BITS };

/// LWE samples of zero, without errors, so that all noise comes from packing.
struct Samples {
    ring: Ring,
    secret: SecretKey,
    masks: Vec<u64>,
    bodies: Vec<u64>,
}

impl Samples {
    fn new(ring: &Ring, secret: SecretKey) -> Self {
        let (mut masks, mut bodies) = (Vec::new(), Vec::new());
        for j in 0..ring.n() as u64 {
            let a = mask(ring, LEVEL, &SEED, "sample", j);
            let mut product = secret.slots(ring, LEVEL).to_vec();
            ring.mul(LEVEL, &mut product, &a);
            ring.inverse(LEVEL, &mut product);
            bodies.extend(product.first());
            masks.extend(a);
        }
        Samples { ring: ring.clone(), secret, masks, bodies }
    }

    /// log2 of the standard deviation of the noise of a packed ciphertext in slots.
    fn noise(&self, mask: &[u64], body: &[u64]) -> f64 {
        let errors = phase(&self.ring, LEVEL, &self.secret, mask, body);
        (errors.iter().map(|x| (*x as f64).powi(2)).sum::<f64>() / errors.len() as f64).log2() / 2.0
    }
}

/// A line of the printed table.
struct Measurement {
    name: &'static str,
    gadget: Gadget,
    key_polynomials: usize,
    known_bytes: u64,
    offline: Duration,
    online: Duration,
    /// The predicted and the measured noise.
    noise: [f64; 2],
}

fn timed<T>(f: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let out = f();
    (out, start.elapsed())
}

/// Runs `f` several times and returns the shortest time, since others use the machine too.
fn shortest<T>(f: impl Fn() -> T) -> (T, Duration) {
    let first = timed(&f);
    (1..RUNS).map(|_| timed(&f)).fold(first, |best, next| if next.1 < best.1 { next } else { best })
}

/// Noise variance of one key switch.
fn switch(ring: &Ring, gadget: &Gadget) -> f64 {
    let digits =
        GadgetNoise { count: gadget.digits(), base_log2: gadget.base_log2(), drop_log2: gadget.drop_log2() };
    steps::key_switch(ring.n(), &digits, ring.log2_q(LEVEL), SIGMA * SIGMA, NORM)
}

/// Packs with CDKS, merge by merge and with known masks.
fn merged(samples: &Samples, gadget: Gadget) -> [Measurement; 2] {
    let ring = &samples.ring;
    let gadgets = vec![gadget; ring.n().trailing_zeros() as usize];
    let law = Gaussian::new(SIGMA);
    let errors = &mut ErrorSource { law: &law, rng: &mut seeded("keys") };
    let keys = cdks::generate(ring, &gadgets, &samples.secret, KEY_MASKS, errors);
    let predicted = steps::cdks(gadgets.iter().map(|gadget| switch(ring, gadget))).log2() / 2.0;

    let assembled = cdks::assemble(ring, &gadgets, &keys, KEY_MASKS).unwrap();
    let cipher = |(mask, body): (&[u64], &u64)| {
        let whole = vec![*body; ring.n()];
        Ciphertext::new(ring, LEVEL, mask, [whole.as_slice()].into_iter())
    };
    let ciphers: Vec<Ciphertext> =
        samples.masks.chunks_exact(ring.n()).zip(&samples.bodies).map(cipher).collect();
    let (packed, online) =
        shortest(|| cdks::pack(ring, &assembled, ciphers.clone(), &mut Scratch::new(ring)));
    let line = |name, known_bytes, offline, online, noise| Measurement {
        name,
        gadget,
        key_polynomials: keys.len(),
        known_bytes,
        offline,
        online,
        noise: [predicted, noise],
    };
    let noise = samples.noise(packed.comp(0), packed.comp(1));
    let merging = line("CDKS", 0, Duration::ZERO, online, noise);

    let packing = Cdks::new(ring, &gadgets, KEY_MASKS).unwrap();
    let (known, offline) = timed(|| packing.known(&samples.masks));
    let (mut body, online) = shortest(|| packing.body(&known, &keys, &samples.bodies));
    ring.forward(LEVEL, &mut body);
    let bytes = 8 * (known.digits.len() * ring.n()) as u64;
    let noise = samples.noise(&known.mask, &body);
    [merging, line("CDKS, masks known", bytes, offline, online, noise)]
}

/// Packs with InspiRING: weights in an image, and a pass over them.
fn inspiring(samples: &Samples, keys: &[Vec<u64>]) -> Measurement {
    let ring = &samples.ring;
    let packed = PackedGroups::new(Groups::new(N, 1), BITS, MaskLayout::Whole).unwrap();
    let sink = MemorySink::new();
    sink.reserve(Section::Resident, packed.bytes()).unwrap();
    let write = || packed.write(0..1, |_| Ok(samples.masks.clone()), || (), Section::Resident.into(), &sink);
    let (written, offline) = timed(write);
    written.unwrap();
    let image = sink.into_image();
    let weights = image.section(Section::Resident).unwrap();
    let products = vec![samples.bodies.clone()];
    let (cipher, online) = shortest(|| {
        let keys = packed.keys(keys).unwrap();
        let sums = packed.weigh(weights, &[&keys]);
        packed.ciphers(weights, &[&keys], &sums, &products).pop().unwrap().pop().unwrap()
    });
    let predicted = steps::inspiring(N, &PackingDigits::TWO.digits, ring.log2_q(LEVEL), SIGMA * SIGMA, NORM);
    Measurement {
        name: "InspiRING",
        gadget: PackingDigits::TWO.gadget().unwrap(),
        key_polynomials: keys.len(),
        known_bytes: packed.bytes(),
        offline,
        online,
        noise: [predicted.log2() / 2.0, samples.noise(cipher.comp(0), cipher.comp(1))],
    }
}

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(compare);
}

fn compare() {
    let ring = lattice::ring().unwrap();
    let encryption = VectorEncryptor::new(1, PlainModulus::PAIR).unwrap();
    let (query, secret) = encryption.sum((1, N), OneHot::new(0, 1), BITS, &mut seeded("query"));
    let samples = Samples::new(&ring, secret);
    let gadgets =
        [(3, 17, 0), (4, 13, 0)].map(|(digits, base, drop)| Gadget::new(digits, base, drop).unwrap());
    let mut lines: Vec<Measurement> =
        gadgets.into_iter().flat_map(|gadget| merged(&samples, gadget)).collect();
    lines.push(inspiring(&samples, &query[1..]));
    println!(
        "packing          | digits x bits | keys KB | known MB | offline ms | online ms | noise: predicted, measured"
    );
    for line in lines {
        let keys = (line.key_polynomials * ring.n() * ring.q().bits() as usize).div_ceil(8) as f64 / 1e3;
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        println!(
            "{:17}| {} x {:2}        | {keys:7.1} | {:8.1} | {:10.1} | {:9.2} | 2^{:.1}, 2^{:.1}",
            line.name,
            line.gadget.digits(),
            line.gadget.base_log2(),
            line.known_bytes as f64 / 1e6,
            ms(line.offline),
            ms(line.online),
            line.noise[0],
            line.noise[1],
        );
    }
}
