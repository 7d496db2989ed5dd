//! Measuring the noise of packed numbers: what schemes compare with their bounds. And what a host can add to an answer.

use crate::lattice::{N, NORM, PackingDigits, Q, Q_BITS, SIGMA};
use crate::message::Answer;
use crate::unit_vector::MessageBits;
use sotto_lattice::encrypt::phase;
use sotto_lattice::noise::steps;
use sotto_lattice::ring::{ModulusLevel, Ring};
use sotto_lattice::secret::SecretKey;

/// Errors in units of 1 modulo q.
#[derive(Debug, Clone, Default)]
pub struct Errors {
    squares: f64,
    largest: f64,
    count: f64,
}

impl Errors {
    /// Counts the distance of a phase from that of a number modulo p.
    pub fn add(&mut self, phase: f64, number: f64, p: u64) {
        let q = Q as f64;
        let error = (phase - number * q / p as f64 + q / 2.0).rem_euclid(q) - q / 2.0;
        self.squares += error * error;
        self.largest = self.largest.max(error.abs());
        self.count += 1.0;
    }

    /// The mean square.
    pub fn mean(&self) -> f64 {
        self.squares / self.count
    }

    /// The largest absolute value.
    pub fn largest(&self) -> f64 {
        self.largest
    }
}

/// The phases of the first numbers of `samples` that are packed together, in units of 1 modulo q: as
/// many as there are bodies.
pub fn phases(
    (ring, secret): (&Ring, &SecretKey),
    bits: MessageBits,
    samples: usize,
    [mask, body]: [&[u64]; 2],
) -> Vec<f64> {
    let apart = (N / 2 / samples).max(1);
    let polynomial = |words: &[u64], bits: u32, apart: usize| {
        // What a word stands for modulo q, to the nearest integer.
        let lift = |x: u64| ((u128::from(x) * u128::from(Q) + (1 << (bits - 1))) >> bits) as u64;
        let mut slots = vec![0; N];
        slots.iter_mut().step_by(apart).zip(words).for_each(|(slot, word)| *slot = lift(*word));
        ring.forward(ModulusLevel::Main, &mut slots);
        slots
    };
    let (a, b) = (polynomial(mask, bits.mask, 1), polynomial(body, bits.body, apart));
    let phase = phase(ring, ModulusLevel::Main, secret, &a, &b);
    phase.iter().step_by(apart).take(body.len()).map(|x| *x as f64).collect()
}

/// The variance that the formulas have for numbers of this mean square, with uniform roundings: of
/// `samples` numbers packed together, or of the sum of as many rotated ciphertexts as `terms`.
pub fn average(
    (samples, packing): (usize, PackingDigits),
    words: u64,
    square: f64,
    terms: u64,
    bits: MessageBits,
) -> f64 {
    let unit = |kept: u32| Q as f64 * (-f64::from(kept)).exp2();
    let keys = steps::truncated(SIGMA, Q_BITS.saturating_sub(bits.keys));
    let vector = words as f64 * square * steps::truncated(SIGMA, bits.dropped());
    let packing = steps::inspiring_few(N, samples, &packing.digits, (Q as f64).log2(), keys, NORM);
    terms as f64 * (vector + packing) + unit(bits.mask).powi(2) * NORM / 12.0 + unit(bits.body).powi(2) / 12.0
}

/// An answer with something added to each of its words, of `bits` bits, in the order of the answer.
#[must_use]
pub fn shift_answer(Answer(mut fields): Answer, bits: u32, add: &dyn Fn(usize) -> u64) -> Answer {
    for (at, word) in fields.iter_mut().flatten().enumerate() {
        *word = word.wrapping_add(add(at)) & ((1 << bits) - 1);
    }
    Answer(fields)
}
