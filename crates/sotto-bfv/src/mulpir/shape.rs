//! Entries, dimensions, and the position of an entry.
//!
//! An entry that fits a plaintext shares it with as many others as fit. A longer one is split into
//! *chunks*, each of which has a plaintext to itself; chunk `k` of all entries is a table of its
//! own, and one query is answered from all of them. Plaintext `P` has the coordinates `P / d1` and
//! `P mod d1`.

use sotto_core::ParamsError;
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
            let (quotient, rest) = sotto_math::divide::divide(x as u64, by as u64);
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
}
