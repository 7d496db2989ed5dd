//! What it takes to pack 2,048 samples in the ring of silent schemes: by CDKS merge by merge, by CDKS with masks that are known
//! beforehand, and by InspiRING. `cargo run --release -p sotto-lattice --example packing`

use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use sotto_lattice::cdks::{self, Cdks};
use sotto_lattice::cipher::Cipher;
use sotto_lattice::encrypt::{Errors, Masks, mask, phase};
use sotto_lattice::inspiring::{Descent, Inspiring};
use sotto_lattice::noise::steps::{self, Digits};
use sotto_lattice::ring::{Level, Ring};
use sotto_lattice::scratch::Scratch;
use sotto_lattice::secret::{Law, Secret};
use sotto_math::gadget::Gadget;
use sotto_math::modulus::Modulus;
use sotto_math::sample::Gaussian;
use sotto_math::tiles::{Strip, gather, scan_turned, strips};
use sotto_prg::PublicSeed;
use std::time::{Duration, Instant};

const LEVEL: Level = Level::Main;
const SIGMA: f64 = 3.2;
const SEED: PublicSeed = PublicSeed([1; 32]);
const RUNS: usize = 9;
const KEY_MASKS: Masks<'static> = Masks { seed: &SEED, label: "keys", first: 0 };

/// LWE samples of zero, without errors: what is left after packing is the packing's own.
struct Samples {
    ring: Ring,
    secret: Secret,
    masks: Vec<u64>,
    bodies: Vec<u64>,
}

impl Samples {
    fn new(ring: &Ring, rng: &mut ChaCha20Rng) -> Self {
        let secret = Secret::sample(ring, Law::Ternary, rng);
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

    /// log2 of the standard deviation of what a packed ciphertext in slots has besides its message.
    fn noise(&self, mask: &[u64], body: &[u64]) -> f64 {
        let errors = phase(&self.ring, LEVEL, &self.secret, mask, body);
        (errors.iter().map(|x| (*x as f64).powi(2)).sum::<f64>() / errors.len() as f64).log2() / 2.0
    }
}

/// A line of the table.
struct Line {
    name: &'static str,
    gadget: Gadget,
    key_polynomials: usize,
    known_bytes: u64,
    offline: Duration,
    online: Duration,
    /// Predicted and measured.
    noise: [f64; 2],
}

fn timed<T>(f: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let out = f();
    (out, start.elapsed())
}

/// The shortest of several times: others use the machine too.
fn shortest<T>(f: impl Fn() -> T) -> (T, Duration) {
    let first = timed(&f);
    (1..RUNS).map(|_| timed(&f)).fold(first, |best, next| if next.1 < best.1 { next } else { best })
}

/// What a switch adds.
fn switch(ring: &Ring, gadget: &Gadget) -> f64 {
    let digits = digits(gadget);
    let norm = ring.n() as f64 * Law::Ternary.variance();
    steps::key_switch(ring.n(), &digits, ring.log2_q(LEVEL), SIGMA * SIGMA, norm)
}

fn digits(gadget: &Gadget) -> Digits {
    Digits { count: gadget.digits(), base_log2: gadget.base_log2(), drop_log2: gadget.drop_log2() }
}

/// CDKS, both ways.
fn merged(samples: &Samples, gadget: Gadget, rng: &mut ChaCha20Rng) -> Option<[Line; 2]> {
    let ring = &samples.ring;
    let gadgets = vec![gadget; ring.n().trailing_zeros() as usize];
    let law = Gaussian::new(SIGMA);
    let keys =
        cdks::generate(ring, &gadgets, &samples.secret, KEY_MASKS, &mut Errors { law: &law, rng: &mut *rng });
    let predicted = steps::cdks(gadgets.iter().map(|gadget| switch(ring, gadget))).log2() / 2.0;

    let assembled = cdks::assemble(ring, &gadgets, &keys, KEY_MASKS)?;
    let cipher = |(mask, body): (&[u64], &u64)| {
        let whole = vec![*body; ring.n()];
        Cipher::new(ring, LEVEL, mask, [whole.as_slice()].into_iter())
    };
    let ciphers: Vec<Cipher> =
        samples.masks.chunks_exact(ring.n()).zip(&samples.bodies).map(cipher).collect();
    let (packed, online) =
        shortest(|| cdks::pack(ring, &assembled, ciphers.clone(), &mut Scratch::new(ring)));
    let line = |name, known_bytes, offline, online, noise| Line {
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

    let packing = Cdks::new(ring, &gadgets, KEY_MASKS)?;
    let (known, offline) = timed(|| packing.known(&samples.masks));
    let (mut body, online) = shortest(|| packing.body(&known, &keys, &samples.bodies));
    ring.forward(LEVEL, &mut body);
    let bytes = 8 * (known.digits.len() * ring.n()) as u64;
    let noise = samples.noise(&known.mask, &body);
    Some([merging, line("CDKS, masks known", bytes, offline, online, noise)])
}

/// InspiRING.
fn inspiring(samples: &Samples, gadget: Gadget, rng: &mut ChaCha20Rng) -> Option<Line> {
    let ring = &samples.ring;
    let law = Gaussian::new(SIGMA);
    let errors = &mut Errors { law: &law, rng };
    let keys = Inspiring::generate(ring, &gadget, &samples.secret, KEY_MASKS, errors, ring.n());
    let packing = Inspiring::new(ring, &gadget, KEY_MASKS, ring.n())?;
    let layout = packing.layout(1)?;
    let mut table = vec![0; layout.bytes() as usize];
    let (mask, offline) = timed(|| {
        let mut descent = Descent::new(&packing, &samples.masks);
        let mut made = vec![0; ring.n() * packing.digits()];
        for strip in strips(&layout) {
            let mut cells = Vec::new();
            while cells.len() < strip.rows.len() && descent.next(&mut made) {
                let rows = strip.rows.clone().skip(cells.len());
                cells.extend(rows.zip(made.chunks_exact(ring.n())).map(|(row, x)| ((row, 0), x.to_vec())));
            }
            put(&layout, &strip, &cells, &mut table);
        }
        descent.finish()
    });
    let (mut body, online) = shortest(|| {
        let keys = packing.keys(&keys);
        let mut sums = vec![0; ring.n() * layout.cols()];
        let what = (&layout, packing.turns());
        scan_turned(packing.words(), what, &table, 0..layout.blocks(), &[&keys], &mut [&mut sums]);
        let mut sum = vec![0; ring.n()];
        gather(packing.words(), &layout, 1, &sums, 0..1, &mut [&mut sum]);
        packing.body(&samples.bodies, &sum)
    });
    ring.forward(LEVEL, &mut body);
    let norm = ring.n() as f64 * Law::Ternary.variance();
    let predicted = steps::inspiring(ring.n(), &digits(&gadget), ring.log2_q(LEVEL), SIGMA * SIGMA, norm);
    Some(Line {
        name: "InspiRING",
        gadget,
        key_polynomials: keys.len(),
        known_bytes: layout.bytes(),
        offline,
        online,
        noise: [predicted.log2() / 2.0, samples.noise(&mask, &body)],
    })
}

type Cell = ((usize, usize), Vec<u64>);

fn put(layout: &sotto_math::tiles::TileLayout, strip: &Strip, cells: &[Cell], table: &mut [u8]) {
    let mut bytes = vec![0; strip.block_bytes(layout) * layout.blocks()];
    strip.put(layout, cells, &mut bytes);
    for (block, bytes) in bytes.chunks_exact(strip.block_bytes(layout)).enumerate() {
        let start = strip.offset(layout, block) as usize;
        table[start..start + bytes.len()].copy_from_slice(bytes);
    }
}

fn main() {
    let ring = Modulus::new(1_125_899_904_679_937).and_then(|q| Ring::new(2048, q, None));
    let Some(ring) = ring else { return eprintln!("there is no such ring") };
    let mut rng = ChaCha20Rng::from_seed([2; 32]);
    let samples = Samples::new(&ring, &mut rng);
    let gadget = |(digits, base, drop)| Gadget::new(digits, base, drop);
    let mut lines = Vec::new();
    for gadget in [(3, 17, 0), (4, 13, 0)].into_iter().filter_map(gadget) {
        lines.extend(merged(&samples, gadget, &mut rng).into_iter().flatten());
    }
    lines.extend(gadget((2, 16, 18)).and_then(|gadget| inspiring(&samples, gadget, &mut rng)));
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
