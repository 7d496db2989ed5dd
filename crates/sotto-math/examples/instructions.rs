//! Counts the instructions that each kernel retires on a 64-bit ARM processor, emulated by
//! `qemu-aarch64`.
//!
//! ```text
//! make neon-count
//! ```
//!
//! QEMU runs one instruction at a time and logs each (`-singlestep -d exec,nochain`); they are
//! counted between two lines that this program prints around one call of a kernel, and the cost of
//! the lines themselves, printed around nothing, is subtracted. Every count is exact. It is not a
//! time: an emulator has none, and instructions are not equally fast.

use sotto_math::aes::{Aes, descend, double, widen};
use sotto_math::bitslice::{self, SelectionMatrices};
use sotto_math::find::{Matches, Needle};
use sotto_math::gadget::Gadget;
use sotto_math::gather::{PartitionRows, RowPicks, gather};
use sotto_math::machine::read_pass;
use sotto_math::matrix::{PanelLayout, QueryPlanes, dot_rows_many, scan_planes};
use sotto_math::modulus::Modulus;
use sotto_math::modulus_pair::ModulusPair;
use sotto_math::ntt::NttPlan;
use sotto_math::parities::{PartitionWindow, RowOffsets};
use sotto_math::sample::Gaussian;
use sotto_math::tiles::{self, Selectors, TileLayout, WordFormat};
use sotto_math::{affine, rank, sha256};
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

const BEGIN: &str = "begin";
const END: &str = "end";

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [run, name] if run == "run" => run_once(name),
        [program, names @ ..] => table(program, names),
        _ => {
            println!("usage: instructions PROGRAM [CASE]..., where PROGRAM is this one, built for aarch64");
            Ok(())
        }
    }
}

/// Runs the emulated half: one call as a warm-up, and one that counts.
fn run_once(name: &str) -> std::io::Result<()> {
    let Some(case) = ALL.iter().find(|case| case.name == name) else { return Ok(()) };
    let Some(mut kernel) = (case.ready)() else { return Ok(()) };
    kernel();
    let mut out = std::io::stdout();
    writeln!(out, "{BEGIN}")?;
    kernel();
    writeln!(out, "{END}")
}

/// Prints a table of all cases, or of the requested ones.
fn table(program: &str, names: &[String]) -> std::io::Result<()> {
    println!("| kernel | what is counted | scalar | NEON | over scalar |\n|---|---|---|---|---|");
    let nothing = retired(program, "nothing", "scalar")?;
    let cases = ALL.iter().filter(|case| names.is_empty() || names.iter().any(|name| name == case.name));
    for case in cases.filter(|case| !case.what.is_empty()) {
        let scalar = retired(program, case.name, "scalar")?.saturating_sub(nothing);
        let backends: &[&str] =
            if case.name.starts_with("scan") { &["neondot", "neon"] } else { &["neondot"] };
        for backend in backends {
            let neon = retired(program, case.name, backend)?.saturating_sub(nothing);
            let without = if *backend == "neon" { ", without the products of bytes" } else { "" };
            let ratio = neon as f64 / scalar.max(1) as f64;
            println!("| `{}` | {}{without} | {scalar} | {neon} | {ratio:.2} |", case.name, case.what);
        }
    }
    Ok(())
}

/// Counts the instructions of the second call of a case.
fn retired(program: &str, name: &str, backend: &str) -> std::io::Result<u64> {
    let mut qemu = Command::new("qemu-aarch64")
        .args(["-L", "/usr/aarch64-linux-gnu", "-singlestep", "-d", "exec,nochain", "-D", "/dev/stdout"])
        .args([program, "run", name])
        .env("SOTTO_SIMD", backend)
        .stdout(Stdio::piped())
        .spawn()?;
    let (mut count, mut counting, mut whole) = (0, false, false);
    let mut line = Vec::new();
    if let Some(out) = qemu.stdout.take() {
        let mut out = BufReader::with_capacity(1 << 20, out);
        while out.read_until(b'\n', &mut line)? > 0 {
            match line.trim_ascii_end() {
                line if line == BEGIN.as_bytes() => counting = true,
                line if line == END.as_bytes() => (counting, whole) = (false, true),
                line if line.starts_with(b"Trace ") => count += u64::from(counting),
                _ => {}
            }
            line.clear();
        }
    }
    if qemu.wait()?.success() && whole {
        Ok(count)
    } else {
        Err(std::io::Error::other(format!("no count of {name}")))
    }
}

type Kernel = Box<dyn FnMut()>;

/// A kernel with its input.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) ready: fn() -> Option<Kernel>,
}

macro_rules! cases {
    ($($name:literal, $what:literal: $ready:expr;)*) => {
        pub(crate) const ALL: &[Case] = &[$(Case { name: $name, what: $what, ready: || $ready }),*];
    };
}

cases! {
    "nothing", "": kernel(|| ());
    "scan", "64 rows, 512 columns, words of 32 bits, one query": scan(4, 1);
    "scan-56", "the same with words of 56 bits": scan(7, 1);
    "ntt-28", "1024 slots, 28-bit prime": forward(268369921);
    "ntt-50", "1024 slots, 50-bit prime": forward(1125899904679937);
    "intt-28", "back": inverse(268369921);
    "intt-50", "back": inverse(1125899904679937);
    "ntt-bytes-mul", "1024 bytes, 32-bit prime, transformed, multiplied and added": bytes_mul_acc(4294828033);
    "mul-acc-wide", "1024 products, not reduced": mul_acc_wide(4294828033);
    "mul-acc", "1024 products, 50-bit prime": mul_acc(1125899904679937);
    "mul", "the same, not added": mul(1125899904679937);
    "add", "1024 sums": add(1125899904679937);
    "products-8", "1024 sums of 8 products": products(1125899904679937);
    "decompose", "1024 numbers of 50 bits, 3 digits": decompose();
    "lower", "1024 numbers": lower();
    "tiles-pairs", "64 by 4 polynomials, 64 slots, 28-bit primes": pass(composite(), 2);
    "tiles-residues", "the same, 50-bit prime": pass(Modulus::new(1125899904679937), 2);
    "dot", "16 rows of 1024 words, one vector": dot(1);
    "dot-4", "four vectors": dot(4);
    "select", "512 records of 64 bytes, one query": select(1);
    "select-8", "eight queries": select(8);
    "gauss", "1024 samples, sigma 6.4": gauss();
    "affine", "1024 lines": lines();
    "read", "16 KiB": read();
    "gather", "512 rows of 64 bytes": gathered();
    "add-rows", "256 sets of 16 rows of 64 bytes": folded();
    "tally", "4096 bytes": tally();
    "compare", "256 sets of 16 bytes": compare();
    "aes-grid", "256 blocks": aes(|key, _, out| key.grid(1, 1, 2, out.len(), out));
    "aes-mmo", "256 blocks": aes(|key, seeds, out| key.mmo(seeds, out));
    "aes-double", "128 seeds": aes(|key, seeds, out| double(key, key, &seeds[..128], out));
    "aes-widen", "64 seeds": aes(|key, seeds, out| widen(key, &seeds[..64], out));
    "aes-descend", "256 paths of 8 steps": aes(|_, seeds, out| descend(seeds, &[0, 1, 1, 0, 1, 0, 0, 1], out));
    "aes-find", "4096 words": find();
    "sha256", "64 nodes": nodes();
}

fn noise(i: u64) -> u64 {
    let z = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (z ^ z >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

fn bytes(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| noise(i) as u8).collect()
}

fn words(len: usize, q: u64) -> Vec<u64> {
    (0..len as u64).map(|i| noise(i) % q).collect()
}

fn kernel(run: impl FnMut() + 'static) -> Option<Kernel> {
    Some(Box::new(run))
}

fn composite() -> Option<Modulus> {
    Modulus::composite(Modulus::new(268369921)?, Modulus::new(249561089)?)
}

fn plan(q: u64) -> Option<NttPlan> {
    NttPlan::new(1024, Modulus::new(q)?)
}

fn scan(planes: usize, count: usize) -> Option<Kernel> {
    let layout = PanelLayout::new(64, 512);
    let (panels, query) = (bytes(layout.bytes()), words(512, u64::MAX));
    let query = QueryPlanes::from_u64(&query, planes, &layout);
    let mut out = vec![vec![0; 64 * planes]; count];
    kernel(move || {
        let mut out: Vec<&mut [i64]> = out.iter_mut().map(|out| &mut out[..]).collect();
        scan_planes(black_box(&panels), &layout, &vec![&query; count], &mut out);
    })
}

fn forward(q: u64) -> Option<Kernel> {
    let (plan, mut x) = (plan(q)?, words(1024, q));
    kernel(move || plan.forward(black_box(&mut x)))
}

fn inverse(q: u64) -> Option<Kernel> {
    let (plan, mut x) = (plan(q)?, words(1024, q));
    kernel(move || plan.inverse(black_box(&mut x)))
}

fn bytes_mul_acc(q: u64) -> Option<Kernel> {
    let (plan, b) = (plan(q)?, words(1024, q));
    let small: Vec<i8> = bytes(1024).into_iter().map(|x| x as i8).collect();
    let mut acc = plan.accumulator();
    kernel(move || plan.forward_i8_mul_acc(black_box(&small), &b, &mut acc))
}

fn mul_acc_wide(q: u64) -> Option<Kernel> {
    let (plan, b) = (plan(q)?, words(1024, q));
    let mut acc = plan.accumulator();
    kernel(move || plan.mul_acc_wide(&mut acc, black_box(&b), &b))
}

fn mul_acc(q: u64) -> Option<Kernel> {
    let (plan, b, mut x) = (plan(q)?, words(1024, q), words(1024, q));
    kernel(move || plan.mul_acc(&mut x, black_box(&b), &b))
}

fn mul(q: u64) -> Option<Kernel> {
    let (plan, b, mut x) = (plan(q)?, words(1024, q), words(1024, q));
    kernel(move || plan.mul(&mut x, black_box(&b)))
}

fn add(q: u64) -> Option<Kernel> {
    let (plan, b, mut x) = (plan(q)?, words(1024, q), words(1024, q));
    kernel(move || plan.add(&mut x, black_box(&b)))
}

fn products(q: u64) -> Option<Kernel> {
    let (plan, b, mut x) = (plan(q)?, words(1024, q), words(1024, q));
    kernel(move || plan.sum_of_products(&[black_box(&b[..]); 8], &[&b[..]; 8], &mut x))
}

fn decompose() -> Option<Kernel> {
    let (q, gadget) = (Modulus::new(1125899904679937)?, Gadget::new(3, 17, 0)?);
    let (x, mut out) = (words(1024, q.value()), vec![0; 3 * 1024]);
    kernel(move || gadget.decompose(&q, black_box(&x), &mut out))
}

fn lower() -> Option<Kernel> {
    let pair = ModulusPair::new(Modulus::new(1125899904679937)?, Modulus::new(1125899906826241)?)?;
    let (mut x, correction) = (words(1024, 1 << 49), words(1024, 1 << 48));
    kernel(move || pair.lower(black_box(&mut x), &correction))
}

fn pass(q: Option<Modulus>, comps: usize) -> Option<Kernel> {
    let form = WordFormat::new(&q?)?;
    let layout = TileLayout::new(form.packing(), 64, 64, 4)?;
    let (mut query, slots) = (Selectors::new(&form, &layout, comps), words(64, 1 << 49));
    (0..64).for_each(|row| (0..comps).for_each(|comp| query.set(row, comp, &slots)));
    let table = vec![0x15; layout.bytes() as usize];
    let mut out = vec![0; 64 * 4 * comps];
    kernel(move || {
        tiles::scan(&form, &layout, black_box(&table), 0..layout.blocks(), &[&query], &mut [&mut out])
    })
}

fn dot(count: usize) -> Option<Kernel> {
    let h: Vec<u32> = words(16 * 1024, 1 << 32).into_iter().map(|x| x as u32).collect();
    let s: Vec<i32> = words(1024, 200).into_iter().map(|x| x as i32 - 100).collect();
    let mut y = vec![vec![0; 16]; count];
    kernel(move || {
        let mut y: Vec<&mut [i64]> = y.iter_mut().map(|y| &mut y[..]).collect();
        dot_rows_many(black_box(&h), 1024, &vec![&s[..]; count], &mut y);
    })
}

fn select(queries: usize) -> Option<Kernel> {
    let records = bytes(512 * 64);
    let selections: Vec<SelectionMatrices> = vec![std::array::from_fn(|i| noise(i as u64))];
    let mut sums = vec![0; 64 * 8];
    kernel(move || bitslice::scan(black_box(&records), 64, queries, &selections, &mut sums))
}

fn gauss() -> Option<Kernel> {
    /// A source of bytes without the cost of a generator.
    struct Cheap(u64);
    impl rand_core::TryRng for Cheap {
        type Error = core::convert::Infallible;
        fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
            self.try_next_u64().map(|x| x as u32)
        }
        fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
            self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
            Ok(self.0)
        }
        fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Self::Error> {
            out.fill(self.0 as u8);
            Ok(())
        }
    }
    impl rand_core::TryCryptoRng for Cheap {}
    let (gaussian, mut rng, mut out) = (Gaussian::new(6.4), Cheap(1), vec![0; 1024]);
    kernel(move || gaussian.fill(&mut rng, black_box(&mut out)))
}

fn lines() -> Option<Kernel> {
    let (factors, mut out) = (vec![0x9E37_79B9; 1024], vec![0; 1024]);
    kernel(move || affine::affine(black_box(&factors), &factors, 17, &mut out))
}

fn read() -> Option<Kernel> {
    let data = bytes(16 << 10);
    kernel(move || _ = black_box(read_pass(black_box(&data))))
}

fn gathered() -> Option<Kernel> {
    let (table, halves) = (bytes(512 * 4 * 64), bytes(64));
    let offsets: Vec<u16> = (0..512).map(|i| noise(i) as u16).collect();
    let mut parities = [[0; 64]; 2];
    kernel(move || {
        let rows = PartitionRows { bytes: black_box(&table), row_bytes: 64, partition_rows: 4 };
        let [all, one] = &mut parities;
        gather(rows, RowPicks { offsets: &offsets, halves: &halves }, [all, one]);
    })
}

fn folded() -> Option<Kernel> {
    let mut window = PartitionWindow::new(64, 16, 16);
    window.absorb(&bytes(16 * 16 * 64));
    let offsets = vec![[7; 16]; 16 * 32];
    let chosen: Vec<u16> = (0..256).map(|i| noise(i) as u16).collect();
    let (mut parities, mut buffer) = (vec![0; 256 * 64], RowOffsets::new());
    kernel(move || window.add(black_box(&offsets), &chosen, &mut parities, &mut buffer))
}

fn tally() -> Option<Kernel> {
    let (values, mut equal) = (bytes(4096), vec![0; 64]);
    kernel(move || _ = black_box(rank::split(black_box(&values), 2048, &mut equal)))
}

fn compare() -> Option<Kernel> {
    let (values, bounds) = (vec![[7; 16]; 256], bytes(256));
    let (mut less, mut equal) = (vec![0; 256], vec![0; 256]);
    kernel(move || rank::compare(black_box(&values), &bounds, &mut less, &mut equal))
}

fn aes(run: fn(&Aes, &[[u8; 16]], &mut [[u8; 16]])) -> Option<Kernel> {
    let (key, seeds, mut out) = (Aes::new(&[1; 16]), vec![[3; 16]; 256], vec![[0; 16]; 256]);
    kernel(move || run(&key, black_box(&seeds), &mut out))
}

fn find() -> Option<Kernel> {
    let (key, mut found) = (Aes::new(&[1; 16]), Matches::new(64));
    let tags: Vec<u16> = (0..4096).map(|i| noise(i) as u16).collect();
    kernel(move || key.find([1, 2], black_box(&tags), Needle { word: 3, mask: 0xFF, tag: 5 }, 0, &mut found))
}

fn nodes() -> Option<Kernel> {
    let (pairs, mut out) = (vec![[[5; 32]; 2]; 64], vec![[0; 32]; 64]);
    kernel(move || sha256::nodes(black_box(&pairs), &mut out))
}
