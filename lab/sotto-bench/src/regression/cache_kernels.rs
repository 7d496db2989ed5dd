//! Kernels on data in the caches, each in turns with a plain read of as many bytes there, or with
//! another kernel.

use super::memory::{PRIME, quotient};
use crate::median::{in_turns, timed};
use sotto_math::aes::{Aes, double};
use sotto_math::machine::read_pass;
use sotto_math::modulus::Modulus;
use sotto_math::ntt::NttPlan;
use sotto_math::rader::{RaderPlan, WORDS};
use std::hint::black_box;

/// A kernel in the caches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kernel {
    /// The transform of `n` values, modulo a prime of 50 bits.
    Forward { n: usize },
    /// The inverse transform of `n` values.
    Inverse { n: usize },
    /// The transform of 8191, against that of 16384 modulo the same prime.
    Rader,
    /// AES under one key, of a counter.
    Aes,
    /// A level of a tree of seeds.
    Double,
}

/// Blocks of AES: 16 KiB.
const BLOCKS: usize = 1024;

/// A prime that is 1 modulo 8191 and 32768.
const BOTH: u64 = 1115595642470401;

/// The kernel's speed relative to its reference; `None` if it has no tables for its numbers.
///
/// `bytes` are the read data, whose first bytes soon are in the cache.
pub(super) fn ratio(kernel: Kernel, bytes: &[u8], quick: bool) -> Option<f64> {
    let (turns, repeat) = if quick { (3, 20) } else { (41, 200) };
    let against = ReadBaseline { bytes, turns, repeat };
    match kernel {
        Kernel::Forward { n } | Kernel::Inverse { n } => {
            let plan = NttPlan::new(n, Modulus::new(PRIME)?)?;
            let mut buffer = vec![0; n + LINE_WORDS];
            let x = aligned(&mut buffer, n)?;
            match kernel {
                Kernel::Forward { .. } => against.read(n * 8, || plan.forward(black_box(&mut *x))),
                _ => against.read(n * 8, || plan.inverse(black_box(&mut *x))),
            }
        }
        Kernel::Rader => {
            let q = Modulus::new(BOTH)?;
            let (plan, long) = (RaderPlan::new(q)?, NttPlan::new(16384, q)?);
            let (mut short_words, mut long_words) =
                (vec![0; WORDS + LINE_WORDS], vec![0; 16384 + LINE_WORDS]);
            let (x, y) = (aligned(&mut short_words, WORDS)?, aligned(&mut long_words, 16384)?);
            Some(against.other(|| plan.forward(black_box(&mut *x)), || long.forward(black_box(&mut *y))))
        }
        Kernel::Aes => {
            let (key, mut out) = (Aes::new(&[1; 16]), vec![[0; 16]; BLOCKS]);
            let mut at = 0;
            against.read(BLOCKS * 16, || {
                key.grid(at, BLOCKS, 0, 1, black_box(&mut out));
                at += BLOCKS as u64;
            })
        }
        Kernel::Double => {
            let (keys, seeds) = ([Aes::new(&[1; 16]), Aes::new(&[2; 16])], vec![[3; 16]; BLOCKS / 2]);
            let mut out = vec![[0; 16]; BLOCKS];
            let [left, right] = &keys;
            against.read(BLOCKS * 16, || double(left, right, black_box(&seeds), black_box(&mut out)))
        }
    }
}

/// Words of a line of the cache.
const LINE_WORDS: usize = 8;

/// Words that begin at a cache line: otherwise the alignment would depend on the allocator, and the
/// ratio on the run.
fn aligned(buffer: &mut [u64], words: usize) -> Option<&mut [u64]> {
    let at = buffer.as_ptr().align_offset(8 * LINE_WORDS);
    buffer.get_mut(at..)?.get_mut(..words)
}

/// The data to read, the number of measurements, and the number of runs between two readings of the
/// clock.
struct ReadBaseline<'a> {
    bytes: &'a [u8],
    turns: usize,
    repeat: usize,
}

impl ReadBaseline<'_> {
    /// The ratio to a read of `bytes` bytes, as many as the kernel processes.
    fn read(&self, bytes: usize, work: impl FnMut()) -> Option<f64> {
        let bytes = self.bytes.get(..bytes)?;
        Some(self.other(work, || _ = black_box(read_pass(black_box(bytes)))))
    }

    fn other(&self, mut work: impl FnMut(), mut other: impl FnMut()) -> f64 {
        let works = || (0..self.repeat).for_each(|_| work());
        let others = || timed(|| (0..self.repeat).for_each(|_| other()));
        let (work, other) = in_turns(self.turns, works, others);
        quotient(other, work)
    }
}
