//! Entries, dimensions, the position of an entry, and the probability that an answer is wrong.
//!
//! An entry that fits a plaintext shares it with as many others as fit. A longer one is split into
//! *chunks*, each of which has a plaintext to itself; chunk `k` of all entries is a table of its
//! own, and one query is answered from all of them. Plaintext `P` has the coordinates `P / d1` and
//! `P mod d1`.
//!
//! **Noise.** Figures are variance proxies of the coefficients of an error, after Fan and
//! Vercauteren (2012) for the product, and for the worst data: every coefficient of the table is as
//! far from zero as possible. Errors have the deviation [`SIGMA`], and secrets are ternary.

use super::{Compression, RingContext, elements};
use crate::rings::SIGMA;
use sotto_core::ParamsError;
use sotto_core::params::REQUIRED_FAILURE_LOG2;
use sotto_lattice::bgv::SlotRing;
use sotto_lattice::noise::{failure_log2, uniform};
use std::ops::Range;

/// Largest number of plaintexts of a table: some 4 TiB of values.
const MAX_PLAINTEXTS: usize = 1 << 26;

/// Largest number of entries that one query asks for.
const MAX_BATCH: usize = 64;

/// Cost of making a selector, relative to [`COLUMN`].
const SELECTOR: usize = 1;
/// Cost of extending a column to further primes and multiplying it by its selector, relative to
/// [`SELECTOR`].
const COLUMN: usize = 2;

/// A table of equal entries, in plaintexts of a given size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryShape {
    entries: usize,
    entry_bytes: usize,
    plaintext_bytes: usize,
    dimensions: [usize; 2],
    batch: usize,
}

impl EntryShape {
    /// Checks a shape: `dimensions` must have room for all plaintexts, and a query asks for `batch`
    /// entries.
    ///
    /// # Errors
    /// [`ParamsError::Field`], which names the wrong number.
    pub fn new(
        entries: usize,
        entry_bytes: usize,
        plaintext_bytes: usize,
        dimensions: [usize; 2],
        batch: usize,
    ) -> Result<Self, ParamsError> {
        let field = |field, why: &str| Err(ParamsError::Field { field, why: why.into() });
        if entries == 0 || entry_bytes == 0 || plaintext_bytes == 0 {
            return field("entries", "must be at least 1, of at least one byte");
        }
        if !(1..=MAX_BATCH).contains(&batch) {
            return field("batch", "must be in 1..=64");
        }
        let shape = EntryShape { entries, entry_bytes, plaintext_bytes, dimensions, batch };
        let capacity = dimensions[0].saturating_mul(dimensions[1]);
        if capacity < shape.plaintexts() || capacity.saturating_mul(shape.chunks()) > MAX_PLAINTEXTS {
            return field("dimensions", "must hold all plaintexts, and at most 2^26");
        }
        Ok(shape)
    }

    /// Nearly equal dimensions for the given number of plaintexts.
    pub fn even(plaintexts: usize) -> [usize; 2] {
        let mut dimensions = [plaintexts.isqrt(); 2];
        for i in 0.. {
            if dimensions[0] * dimensions[1] >= plaintexts {
                break;
            }
            dimensions[i % 2] += 1;
        }
        dimensions
    }

    /// Dimensions with a short second one, which makes products of ciphertexts few, and with no
    /// more rounds of expansion for a query of `batch` entries than nearly equal dimensions.
    pub fn uneven(plaintexts: usize, batch: usize) -> [usize; 2] {
        let mut best = Self::even(plaintexts);
        let max = ((best[0] + best[1]) * batch).next_power_of_two();
        for second in (1..best[1]).rev() {
            let tried = [plaintexts.div_ceil(second), second];
            if (tried[0] + tried[1]) * batch > max {
                break;
            }
            best = tried;
        }
        best
    }

    /// Dimensions that this crate's server answers from fastest, whatever a client's keys cost.
    pub fn quickest(plaintexts: usize) -> [usize; 2] {
        let dimensions = |second: usize| [plaintexts.div_ceil(second), second];
        let tried = (1..=plaintexts.isqrt()).map(dimensions);
        let cost = |[first, second]: &[usize; 2]| SELECTOR * first + (SELECTOR + COLUMN) * second;
        tried.min_by_key(cost).unwrap_or([1, 1])
    }

    /// Number of entries.
    pub fn entries(&self) -> usize {
        self.entries
    }

    /// Bytes of each entry.
    pub fn entry_bytes(&self) -> usize {
        self.entry_bytes
    }

    /// Bytes of all entries, concatenated.
    pub fn bytes_of_entries(&self) -> u64 {
        self.entries as u64 * self.entry_bytes as u64
    }

    /// Bytes of a plaintext.
    pub fn plaintext_bytes(&self) -> usize {
        self.plaintext_bytes
    }

    /// Numbers of rows and columns of plaintexts.
    pub fn dimensions(&self) -> [usize; 2] {
        self.dimensions
    }

    /// Number of entries that a query asks for.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// Number of entries in a plaintext; 1 if an entry is longer.
    pub fn in_one(&self) -> usize {
        (self.plaintext_bytes / self.entry_bytes).max(1)
    }

    /// Number of chunks of an entry, each of which has a plaintext of its own.
    pub fn chunks(&self) -> usize {
        self.entry_bytes.div_ceil(self.plaintext_bytes)
    }

    /// Number of plaintexts of each chunk.
    pub fn plaintexts(&self) -> usize {
        self.entries.div_ceil(self.in_one())
    }

    /// Number of selectors for each requested entry.
    pub fn selectors(&self) -> usize {
        self.dimensions[0] + self.dimensions[1]
    }

    /// Number of selectors of a query.
    pub fn outputs(&self) -> usize {
        self.selectors() * self.batch
    }

    /// The coordinates of the plaintext that holds an entry, and the offset of the entry in its
    /// bytes, in time that depends on neither.
    pub fn place(&self, entry: usize) -> ([usize; 2], usize) {
        let divide = |x: usize, by: usize| {
            let (quotient, rest) = sotto_math::modulus::divide(x as u64, by as u64);
            (quotient as usize, rest as usize)
        };
        let (plaintext, within) = divide(entry, self.in_one());
        let (x0, x1) = divide(plaintext, self.dimensions[1]);
        ([x0, x1], within * self.entry_bytes)
    }

    /// The range of a plaintext's bytes in the concatenated entries; `None` for a plaintext past
    /// the last.
    pub fn range(&self, chunk: usize, [x0, x1]: [usize; 2]) -> Option<Range<u64>> {
        let plaintext = x0 * self.dimensions[1] + x1;
        let first = plaintext * self.in_one();
        let last = self.entries.min(first + self.in_one());
        let start = (first * self.entry_bytes + chunk * self.plaintext_bytes) as u64;
        let end = (last * self.entry_bytes) as u64;
        (plaintext < self.plaintexts()).then(|| start..end.min(start + self.plaintext_bytes as u64))
    }

    /// The bytes of a plaintext. `entry` writes one entry into zeroed bytes. `None` for a plaintext
    /// past the last.
    pub fn bytes(
        &self,
        chunk: usize,
        [x0, x1]: [usize; 2],
        mut entry: impl FnMut(usize, &mut [u8]),
    ) -> Option<Vec<u8>> {
        let plaintext = x0 * self.dimensions[1] + x1;
        let first = plaintext * self.in_one();
        if plaintext >= self.plaintexts() {
            return None;
        }
        let all = first..self.entries.min(first + self.in_one());
        let mut bytes = vec![0; all.len() * self.entry_bytes];
        all.zip(bytes.chunks_exact_mut(self.entry_bytes)).for_each(|(i, out)| entry(i, out));
        bytes.drain(..chunk * self.plaintext_bytes);
        bytes.resize(self.plaintext_bytes, 0);
        Some(bytes)
    }
}

impl RingContext {
    /// log2 of the probability that any coefficient of an answer is read wrongly, if its two
    /// polynomials are sent without `dropped` low bits.
    pub fn failure_log2(&self, shape: &EntryShape, compression: Compression, dropped: [u32; 2]) -> f64 {
        let ring = self.ring();
        let (n, t) = (self.degree() as f64, ring.ring().plain() as f64);
        let primes: Vec<f64> = ring.plans(ring.full()).map(|plan| plan.modulus().value() as f64).collect();
        let [first, second, special] = primes.as_array().copied().unwrap_or([1.0; 3]);
        // A secret's squared norm; rounding of both parts of a ciphertext, which the secret
        // multiplies.
        let secret = n * 2.0 / 3.0;
        let rounding = uniform(1.0) * (1.0 + secret);
        let digits = (first.powi(2) + second.powi(2)) / 3.0;
        let switch = digits * n * SIGMA.powi(2) / special.powi(2) + rounding;
        // Every round doubles the noise, and adds as many key switches as the keys require.
        let elements = elements(self.degree(), shape.outputs(), compression);
        let rounds = shape.outputs().min(self.degree()).next_power_of_two().ilog2();
        let selector = (0..rounds).fold(SIGMA.powi(2), |variance, round| {
            let exponent = self.degree().ilog2() - round;
            let powers = elements.iter().map(|element| element.ilog2());
            let power = powers.filter(|power| *power <= exponent).max().unwrap_or(exponent);
            2.0 * variance + f64::from(exponent - power).exp2() * switch
        });
        let [rows, columns] = shape.dimensions().map(|dimension| dimension as f64);
        let sum = rows * n * (t / 2.0).powi(2) * selector;
        // The multiple of q in a phase times the other's error, and t times that; and the messages
        // times errors.
        let product = n * (t.powi(2) * rounding * (sum + selector) + sum + (t / 2.0).powi(2) * selector);
        let all = columns * product + t.powi(2) * rounding + switch;
        let low = 4f64.powi(dropped[1] as i32) / 3.0 * secret;
        let variance = all / second.powi(2) + rounding + low;
        let margin = first / (2.0 * t) - f64::from(dropped[0]).exp2() - 1.0;
        failure_log2(margin, variance, n * (shape.chunks() * shape.batch()) as f64)
    }

    /// Checks that a lookup in tables of this shape fails rarely enough.
    ///
    /// # Errors
    /// [`ParamsError::Unreliable`] above 2^-40, with the figure.
    pub fn check(
        &self,
        shape: &EntryShape,
        compression: Compression,
        dropped: [u32; 2],
    ) -> Result<(), ParamsError> {
        let (log2, required) = (self.failure_log2(shape, compression, dropped), REQUIRED_FAILURE_LOG2);
        if log2 <= f64::from(required) { Ok(()) } else { Err(ParamsError::Unreliable { log2, required }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_have_room_and_are_those_of_others() {
        assert_eq!([1, 2, 3, 5, 33].map(EntryShape::even), [[1, 1], [2, 1], [2, 2], [3, 2], [6, 6]]);
        // As Apple's library chooses for its own tables.
        assert_eq!(EntryShape::uneven(32, 1), [11, 3]);
        assert_eq!(EntryShape::uneven(330, 2), [55, 6]);
        assert_eq!(EntryShape::uneven(20_081, 2), [467, 43]);
        for plaintexts in 1..2000 {
            for [a, b] in [
                EntryShape::even(plaintexts),
                EntryShape::uneven(plaintexts, 2),
                EntryShape::quickest(plaintexts),
            ] {
                assert!(a * b >= plaintexts && b >= 1, "{plaintexts}");
            }
        }
    }

    #[test]
    fn shapes_that_are_none() {
        let shape =
            |entries, bytes, dimensions, batch| EntryShape::new(entries, bytes, 2048, dimensions, batch);
        assert!(shape(1000, 64, [11, 3], 1).is_ok());
        assert!(shape(0, 64, [11, 3], 1).is_err());
        assert!(shape(1000, 0, [11, 3], 1).is_err());
        assert!(shape(1000, 64, [11, 2], 1).is_err());
        assert!(shape(1000, 64, [usize::MAX, 3], 1).is_err());
        assert!(shape(1000, usize::MAX, [1000, 1], 1).is_err());
        assert!(shape(1000, 64, [11, 3], 0).is_err());
        assert!(shape(1000, 64, [11, 3], 65).is_err());
    }

    #[test]
    fn every_entry_is_where_it_is_said_to_be() {
        for (entries, bytes, plaintext) in
            [(100, 16, 64), (10, 70, 64), (33, 64, 64), (7, 65, 64), (50, 30, 64)]
        {
            let fill = |i: usize, out: &mut [u8]| {
                (0..).zip(out).for_each(|(j, x): (usize, _)| *x = (i * 31 + j) as u8)
            };
            let of_chunk = EntryShape::new(entries, bytes, plaintext, [entries, 1], 1).unwrap().plaintexts();
            let shape = EntryShape::new(entries, bytes, plaintext, EntryShape::even(of_chunk), 1).unwrap();
            for i in 0..entries {
                let (at, from) = shape.place(i);
                let all: Vec<u8> =
                    (0..shape.chunks()).flat_map(|k| shape.bytes(k, at, fill).unwrap()).collect();
                let mut expected = vec![0; bytes];
                fill(i, &mut expected);
                assert_eq!(all[from..from + bytes], expected);
            }
            let mut one_after_the_other = vec![0; shape.bytes_of_entries() as usize];
            one_after_the_other.chunks_exact_mut(bytes).enumerate().for_each(|(i, out)| fill(i, out));
            let [a, b] = shape.dimensions();
            for (k, at) in (0..shape.chunks()).flat_map(|k| (0..a * b).map(move |p| (k, [p / b, p % b]))) {
                let range = shape.range(k, at).map(|range| range.start as usize..range.end as usize);
                let mut range = range.map(|range| one_after_the_other[range].to_vec());
                range.iter_mut().for_each(|bytes| bytes.resize(plaintext, 0));
                assert_eq!(range, shape.bytes(k, at, fill));
            }
            assert_eq!(shape.bytes(0, [a, b], fill), None);
        }
    }

    fn failure(t: u64, dimensions: [usize; 2], dropped: [u32; 2]) -> f64 {
        let context = RingContext::new(4096, t, &[134176769, 268369921, 268361729]).unwrap();
        let bytes = context.plaintext_bytes();
        let shape = EntryShape::new(dimensions[0] * dimensions[1], bytes, bytes, dimensions, 2).unwrap();
        let kinds = [Compression::None, Compression::Hybrid, Compression::Most];
        let failures = kinds.map(|kind| context.failure_log2(&shape, kind, dropped));
        assert!(failures.is_sorted(), "fewer keys, more noise");
        for (kind, failure) in kinds.into_iter().zip(failures) {
            assert_eq!(context.check(&shape, kind, dropped).is_ok(), failure <= -40.0);
        }
        failures[0]
    }

    #[test]
    fn small_plain_modulus_large_tables() {
        assert!(failure(17, [467, 43], [19, 11]) < -40.0);
        assert!(failure(17, [1500, 400], [19, 11]) < -40.0);
        assert!(failure(37, [467, 43], [18, 10]) < -40.0);
        assert!(failure(17, [2, 2], [22, 11]) > -40.0, "bits that are needed");
    }

    #[test]
    fn large_plain_moduli_leave_no_room_for_a_product() {
        assert!(failure(4099, [2, 1], [11, 3]) > -1.0);
        assert!(failure(65537, [1, 1], [8, 0]) > -1.0);
    }
}
