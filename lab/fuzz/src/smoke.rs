//! A runner for stable Rust: mutates valid inputs without looking at coverage. It finds what a decoder
//! forgot, not what hides behind five branches; that is libFuzzer's job.

use crate::Target;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Longest time any input may take before it counts as an attack that worked.
const SLOW: Duration = Duration::from_secs(10);

/// An input that did harm, and how.
type Harm = (Vec<u8>, String);

/// Feeds a target its seeds and kept inputs, and then mutations of them, for `limit`, and returns how
/// many inputs there were. The inputs of a `series` are the same on every run; their number is up to
/// the machine.
fn run(target: &Target, limit: Duration, series: &str) -> Result<u64, Harm> {
    let seeds = (target.seeds)();
    if seeds.is_empty() {
        return Err((Vec::new(), "the target has no seed".into()));
    }
    for seed in &seeds {
        if !feed(target, seed)? {
            return Err((seed.clone(), "a seed was refused: the target tests nothing".into()));
        }
    }
    let kept = target.kept().map_err(|why| (Vec::new(), why))?;
    for input in &kept {
        feed(target, input)?;
    }
    let seeds: Vec<Vec<u8>> = seeds.into_iter().chain(kept).collect();
    let series = format!("{}{series}", target.name);
    let mut rng = ChaCha20Rng::from_seed(*blake3::hash(series.as_bytes()).as_bytes());
    let (start, mut inputs) = (Instant::now(), seeds.len() as u64);
    while start.elapsed() < limit {
        feed(target, &mutate(&seeds, &mut rng))?;
        inputs += 1;
    }
    Ok(inputs)
}

/// Runs a target on a series of inputs, and returns their number. The empty series is that of
/// `make test`. An input that does harm is kept in `lab/fuzz/artifacts`, and the error says which one it is.
pub fn judge(target: &Target, limit: Duration, series: &str) -> Result<u64, String> {
    let (input, how) = match run(target, limit, series) {
        Ok(inputs) => return Ok(inputs),
        Err(harm) => harm,
    };
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/artifacts");
    let file = format!("{folder}/{}", target.name);
    let kept = fs::create_dir_all(folder).and_then(|()| fs::write(&file, &input));
    let place = if kept.is_ok() { format!("it is in {file}") } else { format!("{input:02x?}") };
    Err(format!("{} {how} on an input of {} bytes; {place}", target.name, input.len()))
}

/// Whether a target took an input.
fn feed(target: &Target, input: &[u8]) -> Result<bool, Harm> {
    let start = Instant::now();
    let result = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    let taken = result.map_err(|_| (input.to_vec(), "panicked".to_owned()))?;
    let took = start.elapsed();
    if took > SLOW { Err((input.to_vec(), format!("took {took:?}"))) } else { Ok(taken) }
}

/// A seed with one to four things done to it.
fn mutate(seeds: &[Vec<u8>], rng: &mut ChaCha20Rng) -> Vec<u8> {
    let mut input = seeds[below(rng, seeds.len())].clone();
    for _ in 0..=below(rng, 4) {
        match below(rng, 9) {
            0 | 1 => flip(&mut input, rng),
            2 => input.truncate(below(rng, input.len() + 1)),
            3 => extend(&mut input, rng),
            4 => splice(&mut input, &seeds[below(rng, seeds.len())], rng),
            5 | 6 => extreme_bytes(&mut input, rng),
            7 => extreme_digits(&mut input, rng),
            _ => repeat(&mut input, rng),
        }
    }
    input
}

/// A number below `end`; 0 if there is none.
fn below(rng: &mut ChaCha20Rng, end: usize) -> usize {
    (rng.next_u64() % (end as u64).max(1)) as usize
}

fn flip(input: &mut [u8], rng: &mut ChaCha20Rng) {
    let at = below(rng, input.len());
    if let Some(byte) = input.get_mut(at) {
        *byte ^= 1 << below(rng, 8);
    }
}

fn extend(input: &mut Vec<u8>, rng: &mut ChaCha20Rng) {
    let mut more = vec![0; 1 + below(rng, 64)];
    rng.fill_bytes(&mut more);
    input.extend(more);
}

/// The first part of one input and the last part of another.
fn splice(input: &mut Vec<u8>, other: &[u8], rng: &mut ChaCha20Rng) {
    input.truncate(below(rng, input.len() + 1));
    input.extend(&other[below(rng, other.len() + 1)..]);
}

/// Writes a number decoders trip over, in 1, 2, 4 or 8 bytes.
fn extreme_bytes(input: &mut [u8], rng: &mut ChaCha20Rng) {
    let width = 1 << below(rng, 4);
    let extremes = [0, 1, u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 1, 1 << 31, (1 << 32) - 1, 0x7F, 0x80];
    let bytes = extremes[below(rng, extremes.len())].to_le_bytes();
    let at = below(rng, (input.len() + 1).saturating_sub(width));
    if let Some(place) = input.get_mut(at..at + width) {
        place.copy_from_slice(&bytes[..width]);
    }
}

/// Replaces a run of digits in a text.
fn extreme_digits(input: &mut Vec<u8>, rng: &mut ChaCha20Rng) {
    let from = below(rng, input.len());
    let Some(start) = (from..input.len()).find(|at| input[*at].is_ascii_digit()) else { return };
    let end = (start..input.len()).find(|at| !input[*at].is_ascii_digit()).unwrap_or(input.len());
    let extremes =
        ["0", "-1", "1e999", "0.5", "4294967296", "9223372036854775808", "18446744073709551616", ""];
    input.splice(start..end, extremes[below(rng, extremes.len())].bytes());
}

/// Repeats a piece of the input where it stands.
fn repeat(input: &mut Vec<u8>, rng: &mut ChaCha20Rng) {
    let start = below(rng, input.len());
    let end = start + below(rng, (input.len() - start).min(64) + 1);
    let piece = input[start..end].to_vec();
    for _ in 0..=below(rng, 8) {
        input.splice(end..end, piece.iter().copied());
    }
}
