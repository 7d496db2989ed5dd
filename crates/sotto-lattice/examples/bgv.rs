//! How long each step of BGV takes, on one thread: minimum and median, in microseconds.
//!
//! `cargo run --release -p sotto-lattice --example bgv`. Keys are random words, as good as any for time.

use sotto_lattice::bgv::keyswitch::SwitchKey;
use sotto_lattice::bgv::lower::lower;
use sotto_lattice::bgv::rows::product_sum;
use sotto_lattice::bgv::tensor::tensor;
use sotto_lattice::bgv::{
    Answer, AnswerBits, Cipher, Level, M8191, Pow2, Rns, RotationKey, Scratch, SlotRing, Table,
};
use sotto_lattice::encrypt::Masks;
use sotto_math::machine;
use sotto_prg::PublicSeed;
use std::hint::black_box;
use std::time::Instant;

const SEED: PublicSeed = PublicSeed([1; 32]);
const MASKS: Masks<'static> = Masks { seed: &SEED, label: "mask", first: 0 };

/// Rows and columns of the table: 256 MiB modulo two primes.
const ROWS: usize = 128;
const COLS: usize = 16;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("backend {}; minimum / median, us", machine::backend());
    ring(Pow2::standard(3), [19, 26]).ok_or("no such ring")?;
    ring(M8191::standard(3), [7, 13]).ok_or("no such ring")?;
    Ok(())
}

fn ring<R: SlotRing>(ring: Option<R>, bits: [u32; 2]) -> Option<()> {
    let rns = Rns::new(ring?)?;
    println!("degree {}, two primes and a special one", rns.ring().degree());
    steps(&rns, rns.top(), bits)?;
    rows(&rns, rns.top())
}

fn cipher<R: SlotRing>(rns: &Rns<R>, level: Level, parts: u64) -> Cipher {
    let words: Vec<Vec<u64>> = (0..parts).map(|i| rns.mask(level, &SEED, "part", i)).collect();
    let words: Vec<&[u64]> = words.iter().map(Vec::as_slice).collect();
    Cipher::new(rns, level, &words)
}

fn steps<R: SlotRing>(rns: &Rns<R>, level: Level, bits: [u32; 2]) -> Option<()> {
    let below = level.below()?;
    let mut scratch = Scratch::new(rns);
    let (mut x, ring) = (rns.mask(level, &SEED, "limb", 0), rns.ring());
    let words = ring.words();
    time("forward transform of one prime", || ring.forward(0, &mut x[..words]));
    time("inverse transform of one prime", || ring.inverse(0, &mut x[..words]));
    let mut slots = vec![1; ring.cycles() * ring.slots()];
    time("slots to coefficients", || ring.encode(&slots, &mut x[..words]));
    time("coefficients to slots", || ring.decode(&x[..words], &mut slots));
    let bodies: Vec<Vec<u64>> =
        (0..level.primes() as u64).map(|i| rns.mask(rns.full(), &SEED, "body", i)).collect();
    let key = RotationKey::assemble(rns, ring.turn(1), &bodies, MASKS)?;
    let c = cipher(rns, level, 2);
    let mut out = c.clone();
    time("rotation", || key.apply(rns, &c, &mut out, &mut scratch));
    let mut several = vec![c.clone(); 8];
    let (least, _) = measure(|| RotationKey::apply_all(&[&key; 8], rns, &c, &mut several, &mut scratch));
    println!("{:40} {:9.1}", "one of eight rotations of one ciphertext", least / 8.0);
    let square = SwitchKey::assemble(rns, &bodies, MASKS)?;
    let mut product = cipher(rns, level, 3);
    time("product of two ciphertexts", || tensor(rns, &[[&c, &c]], &mut product));
    let (least, _) = measure(|| tensor(rns, &[[&c, &c]; 16], &mut product));
    println!("{:40} {:9.1}", "one of a sum of sixteen products", least / 16.0);
    time("relinearisation", || square.relinearise(rns, &product, &mut out, &mut scratch));
    let mut low = Cipher::zero(rns, below, 2);
    time("a prime less", || lower(rns, &c, &mut low, &mut scratch));
    let bits = AnswerBits::new(rns, bits[0], bits[1])?;
    time("answer", || {
        black_box(Answer::new(rns, bits, &low));
    });
    Some(())
}

/// Per row, prime and part pair: 64 KiB of a table.
fn rows<R: SlotRing>(rns: &Rns<R>, level: Level) -> Option<()> {
    let table = Table::new(rns, level, ROWS, COLS)?;
    let ciphers = vec![cipher(rns, level, 2); ROWS];
    let queries = table.selectors(&ciphers);
    let bytes = table.layout().bytes() as usize;
    // Aligned to a line, as a mapped image is. Any words are as fast as reduced ones.
    let mut room = vec![0u8; bytes + 64];
    let at = room.as_ptr().align_offset(64).min(64);
    let tiles = &mut room[at..at + bytes];
    for (word, i) in tiles.as_chunks_mut::<8>().0.iter_mut().zip(0u64..) {
        *word = (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 15).to_le_bytes();
    }
    let blocks = table.layout().blocks();
    // Pieces of eight MiB, so that one that was disturbed does not spoil all.
    let step = (8 << 20) / table.layout().block_bytes();
    let mut sums = vec![0; blocks * table.block_words()];
    let mut pieces: Vec<f64> = Vec::new();
    for _ in 0..8 {
        for first in (0..blocks).step_by(step) {
            let range = first..(first + step).min(blocks);
            let tiles =
                &tiles[first * table.layout().block_bytes()..range.end * table.layout().block_bytes()];
            let sums = &mut sums[first * table.block_words()..range.end * table.block_words()];
            let scanned = range.len() as f64 / blocks as f64 * (ROWS * COLS) as f64;
            let start = Instant::now();
            table.scan(0, tiles, range, &[&queries[0]], &mut [sums]);
            pieces.push(start.elapsed().as_secs_f64() * 1e6 / scanned);
        }
    }
    pieces.sort_by(f64::total_cmp);
    print_line("one row of one prime, in tiles", (pieces[0], pieces[pieces.len() / 2]));

    let values: Vec<Vec<u64>> = (0..ROWS as u64).map(|i| rns.mask(level, &SEED, "row", i)).collect();
    let values: Vec<&[u64]> = values.iter().map(Vec::as_slice).collect();
    let ciphers: Vec<&Cipher> = ciphers.iter().collect();
    let mut out = Cipher::zero(rns, level, 2);
    let (least, middle) = measure(|| product_sum(rns, &ciphers, &values, &mut out));
    let each = (ROWS * level.primes()) as f64;
    print_line("one row of one prime, in slices", (least / each, middle / each));
    Some(())
}

fn time(name: &str, f: impl FnMut()) {
    print_line(name, measure(f));
}

fn print_line(name: &str, (least, middle): (f64, f64)) {
    println!("{name:40} {least:9.1} / {middle:9.1}");
}

/// Minimum and median.
fn measure(mut f: impl FnMut()) -> (f64, f64) {
    let mut times: Vec<f64> = (0..200)
        .map(|_| {
            let start = Instant::now();
            f();
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    (times[0], times[times.len() / 2])
}
