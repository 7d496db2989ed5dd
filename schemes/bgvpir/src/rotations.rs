//! How a query is turned to every place of what was folded: by one place at a time, and with a second key by a *stride* too.
//!
//! With one key, turns are a chain: each waits for the one before, and the last has the noise of all. With two, place
//! `k = i g + j` is in row `i` and column `j` of a grid, `g` being the stride:
//!
//! ```text
//!  0 - 1 - 2 - 3 - ...     even rows: by one place, from left to right
//!  |   |   |   |
//!  g   .   .   .           odd rows: by a stride, each from the place above it
//!  |
//!  2g - . - . - ...        the first column: by a stride
//! ```
//!
//! So no place is more than `i + j` turns away, pairs of rows do not wait for each other, and both turns of a
//! ciphertext of an even row share its digits, which are half of a turn's work (Halevi and Shoup, CRYPTO 2018): half of
//! the places are never split at all.

/// The turns of a query: how many places there are, and the stride, which is 1 where there is no second key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotations {
    /// Places, the query's own among them.
    pub places: usize,
    /// Places that the second key turns by.
    pub stride: usize,
}

impl Rotations {
    /// Whether there is a second key.
    pub fn has_stride(self) -> bool {
        self.stride > 1
    }

    /// The stride for so many places with which the way to the last of them is about the shortest.
    pub fn best_stride(places: usize) -> u32 {
        (places as f64).sqrt().ceil().max(1.0) as u32
    }

    /// Rows of the grid.
    pub fn rows(self) -> usize {
        self.places.div_ceil(self.stride)
    }

    /// Places in a row.
    pub fn row(self, i: usize) -> usize {
        self.places.saturating_sub(i * self.stride).min(self.stride)
    }

    /// Turns one after the other that the farthest place takes.
    pub fn depth(self) -> usize {
        (0..self.rows()).map(|i| i + self.row(i).saturating_sub(1)).max().unwrap_or(0)
    }

    /// Ciphertexts that are split into digits.
    pub fn splits(self) -> usize {
        if !self.has_stride() {
            return self.places.saturating_sub(1);
        }
        // Of an even row those with a place to the right, or below the ones after the first; and the first column for itself, so
        // that its leaps need not wait for turns.
        let row = |i: usize| self.row(i).saturating_sub(1).max(self.row(i + 1));
        self.rows() - 1 + (0..self.rows()).step_by(2).map(row).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_shorten_the_way_and_halve_the_splits() {
        let turns = |places, stride| Rotations { places, stride };
        assert_eq!((turns(182, 1).depth(), turns(182, 1).splits()), (181, 181));
        let best = turns(182, Rotations::best_stride(182) as usize);
        assert_eq!((best.stride, best.rows(), best.row(12), best.row(13)), (14, 13, 14, 0));
        assert_eq!((best.depth(), best.splits()), (12 + 13, 12 + 6 * 14 + 13));
        for (places, stride) in
            [(1, 1), (2, 2), (3, 2), (5, 2), (7, 3), (100, 10), (101, 10), (109, 10), (110, 10)]
        {
            let turns = turns(places, stride);
            assert_eq!((0..turns.rows()).map(|i| turns.row(i)).sum::<usize>(), places);
            let far = (0..places).map(|k| k / stride + if stride > 1 { k % stride } else { 0 }).max();
            assert_eq!(Some(turns.depth()), far, "{places} by {stride}");
        }
    }
}
